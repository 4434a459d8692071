"""The section on where attention goes: the figures of `headscope.measure`, and where they are seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import headscope as hs
from headscope.analyses.example_maps import look
from headscope.analyses.measure.run import measure
from headscope.analyses.positions.section import positions, section
from headscope.analyses.study import Study
from headscope.measures.choose import choose
from headscope.models import Model
from headscope.views.blobs import Blobs

TEXTS = [
    "Once upon a time there was a little girl who had a small red ball and a very big dog.",
    "One day they went to the park, and they saw a bird in the tall green tree by the lake.",
]


def made(model: Model) -> tuple[Any, Study]:
    corpus = hs.corpora.texts(TEXTS)
    study = Study(model, corpus, ["positions"], 1, figures=[measure(model, corpus)])
    study.inputs.append(look(model, TEXTS[0]))
    (found,) = section(study)
    return found.info(Blobs()), study


def test_a_causal_model_looks_back(stories: Model) -> None:
    info, study = made(stories)
    expected = [("tokens", "1"), ("tokens", "2–4"), ("tokens", "5+")]
    assert [(one["group"], one["label"]) for one in info["columns"]][:3] == expected
    before = [one["label"] for one in info["columns"] if one["group"] == "before"]
    assert before[-5:] == ["9–16", "5–8", "3–4", "2", "1"]
    assert info["columns"][-1]["group"] == "itself"
    measures = [one["measure"] for one in info["columns"]]
    again = hs.measure(stories, study.corpus, measures=measures)
    for one in info["columns"]:
        assert_allclose(one["value"], again[one["measure"]].values, rtol=1e-4, atol=1e-6)
        assert_allclose(one["chance"], again[f"{one['measure']}_chance"].values, rtol=1e-5)
        assert np.array_equal(one["n"], again[f"{one['measure']}_n"].values)


@pytest.mark.slow
def test_an_encoder_looks_both_ways(demo: Model) -> None:
    info, _ = made(demo)
    groups = [one["group"] for one in info["columns"]]
    before, after = (
        [one["label"] for one in info["columns"] if one["group"] == each] for each in ("before", "after")
    )
    assert sorted(set(groups), key=groups.index) == ["tokens", "before", "itself", "after"]
    assert before == after[::-1]


def test_a_figure_is_seen_in_a_row_that_has_it(stories: Model) -> None:
    info, study = made(stories)
    maps: Any = study.inputs[0]
    maps = maps.first
    for one in info["columns"]:
        (of,) = choose([one["measure"]])
        rows = of.select(maps.query, True)
        assert one["example"][1][2] == (0 if rows.any() else -1)
        assert rows[one["place"][1][2]] or not rows.any()


def test_what_is_known_is_not_measured_again(stories: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def watched(*inputs: Any, **options: Any) -> Any:
        asked.append(options["measures"])
        return measure(*inputs, **options)

    monkeypatch.setattr("headscope.analyses.positions.section.measure", watched)
    corpus = hs.corpora.texts(TEXTS)
    known = measure(stories, corpus)
    found = positions(stories, corpus, known=known)
    assert not {"first", "previous", "current"} & set(asked[0])
    assert found["previous"].equals(known["previous"])
    assert "entropy" not in found
