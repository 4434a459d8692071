"""The roles of two models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import headscope as hs
from headscope.analyses.roles import run
from headscope.errors import InputError
from headscope.models import Model


@pytest.fixture(scope="module", autouse=True)
def once() -> Iterator[None]:
    """What is known of a model's heads is found once, from fewer repeats and needles than by default."""
    known: dict[Model, pd.DataFrame] = {}

    def every_role(model: Model, *arguments: Any, **options: Any) -> pd.DataFrame:
        if model not in known:
            known[model] = run.every_role(model, *arguments, **options)
        return known[model]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headscope.analyses.compare.roles.run.every_role", every_role)
        patch.setattr(run, "SEQUENCES", 16)
        patch.setattr(run, "NEEDLES", 4)
        patch.setattr(run, "NEEDLE_TEXT", 96)
        yield


@pytest.mark.slow
def test_models_of_other_shapes_are_compared_by_role(demo: Model, stories: Model) -> None:
    found = hs.compare.roles(demo, stories, hs.corpora.builtin(), limit=40)
    by = found.by_role.set_index("role")
    assert by.loc["previous token", "heads_a"] == 1
    assert by.loc["previous token", "share_b"] == by.loc["previous token", "heads_b"] / 40
    with pytest.raises(InputError, match="heads have no counterparts"):
        _ = found.changes
