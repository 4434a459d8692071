"""The roles of two models."""

from __future__ import annotations

import pytest

import headscope as hs
from headscope.errors import InputError
from headscope.models import Model


@pytest.mark.slow
@pytest.mark.usefixtures("few_repeats")
def test_models_of_other_shapes_are_compared_by_role(demo: Model, stories: Model) -> None:
    found = hs.compare.roles(demo, stories, hs.corpora.builtin(), limit=12)
    by = found.by_role.set_index("role")
    assert by.loc["previous token", "heads_a"] == 1
    assert by.loc["previous token", "share_b"] == by.loc["previous token", "heads_b"] / 40
    with pytest.raises(InputError, match="heads have no counterparts"):
        _ = found.changes
