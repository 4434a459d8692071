"""The roles of two models."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd
import pytest

import headscope as hs
from headscope.analyses.roles.run import every_role
from headscope.corpora.perceived import shipped
from headscope.models import Model
from headscope.runs.task import Task
from headscope.views.blocks import rows_of
from headscope.views.terminal import written
from tests.helpers.compared_models import perturbed
from tests.helpers.small_models import seeing, small_bert
from tests.helpers.small_tokenizers import demo as wordpiece


@pytest.mark.slow
def test_each_model_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told of each is what is told of it alone."""
    a = small_bert(wordpiece())
    b = perturbed(a, 1, 0)
    corpus = hs.corpora.texts(
        [f"The cat sat on the {what}, and it slept." for what in ("mat", "hat", "bed") * 3]
    )
    alone = [every_role(model, corpus) for model in (a, b)]
    read: Counter[Any] = Counter()
    measured = Task.measured
    monkeypatch.setattr(
        Task, "measured", lambda self, *given: read.update([self.model]) or measured(self, *given)
    )
    found = hs.compare.roles(a, b, corpus)
    assert read == {a: 1, b: 1}
    for mine, theirs in zip(found.tests, alone, strict=True):
        pd.testing.assert_frame_equal(mine, theirs)
        assert mine.attrs["meta"]["model"] == theirs.attrs["meta"]["model"]
    assert found.changes["paired"].any()


@pytest.mark.slow
@pytest.mark.usefixtures("few_repeats")
def test_models_of_other_shapes_are_compared_by_role(demo: Model, stories: Model) -> None:
    found = hs.compare.roles(demo, stories, hs.corpora.builtin(), limit=12)
    by = found.by_role.set_index("role")
    assert by.loc["previous token", "heads_a"] == 1
    assert by.loc["previous token", "share_b"] == by.loc["previous token", "heads_b"] / 40


@pytest.mark.slow
def test_models_of_pictures_are_compared() -> None:
    model = seeing()
    found = hs.compare.roles(model, model, shipped("images"))
    assert set(found.changes["role"]) <= set(found.tests[0]["role"])
    assert not found.changes.empty
    assert (found.changes["change"] == "kept").all()
    named, table = f"{model.name} · {shipped('images').name}", found.by_role
    assert repr(found).startswith(f"The roles of two models\n{named}")
    assert written(rows_of(table)) in repr(found)
    assert found._repr_html_().startswith(f"<p><b>The roles of two models</b><br>{named}")
