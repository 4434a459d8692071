"""The section on artefacts says what was planted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.artefacts.run import artefacts, marked
from headscope.analyses.artefacts.section import Artefacts
from headscope.analyses.artefacts.statistics import to_artefacts
from headscope.models import Model
from headscope.views.blobs import Blobs
from tests.helpers import section_blocks
from tests.helpers.planted_vision import planted_vit

PLANTED = [20, 47, 130]


@pytest.fixture(scope="module")
def model() -> Model:
    return hs.load(planted_vit([["around", "cls", "even", "row"], ["bright", "cls", "even", "far"]], PLANTED))


def pictures() -> Any:
    draw = np.random.default_rng(0)
    return hs.corpora.images([draw.integers(0, 255, (90, 120, 3)).astype(np.uint8) for _ in range(6)])


def test_what_was_planted_is_told(model: Model) -> None:
    made = Artefacts(artefacts(model, pictures()), "headscope artefacts")
    info = made.info(Blobs())
    assert " 1.5% (" in info["about"]
    assert " of 1,176 patches: norm above " in info["about"]
    drawn: Any = info["blocks"][0]
    spread, by_layer, where = drawn["charts"]
    assert sum(spread["rows"]["y"]) == 6 * 196
    above = [y for y, colour in zip(spread["rows"]["y"], spread["rows"]["colour"], strict=True) if colour]
    assert sum(above) == 6 * 3
    other, own = (line["y"][-1] for line in by_layer["lines"])
    assert own > made.result["cutoff"] > other
    assert sum(value is not None and value > 0 for value in where["rows"]["colour"]) == 3
    best, *others = section_blocks.rows(info, "heads")
    assert (best["layer"], best["head"]) == (1, 0)
    assert best["attention"] > 0.9
    assert len(others) == 7
    (finding,) = made.findings()
    said = "".join(part["text"] for part in finding)
    assert said.startswith("1.5% of 1,176 patches are artefacts, with a norm above ")
    assert next(part["text"] for part in finding if part["layer"] is not None) == "L1H0"


def test_none_are_told_too() -> None:
    plain = hs.load(planted_vit([["around", "cls", "even", "row"]]))
    made = Artefacts(artefacts(plain, pictures()))
    info: Any = made.info(Blobs())
    assert "None of 1,176 patches: no norm is above " in info["about"]
    (drawn,) = info["blocks"]
    assert [chart["kind"] for chart in drawn["charts"]] == ["bars", "layers"]
    ((said,),) = made.findings()
    assert said["text"].startswith("No patch is an artefact: none has a norm above ")


def test_as_a_measure_they_are_what_measuring_marked_pictures_gives() -> None:
    """In float64, as batches of other sizes round otherwise; of pictures of other brightness, so that they differ."""
    model = hs.load(
        planted_vit([["around", "cls", "even", "row"], ["bright", "cls", "even", "far"]], PLANTED)
    )
    model.module.double()
    draw = np.random.default_rng(1)
    shades = [draw.integers(0, top, (90, 120, 3)).astype(np.uint8) for top in (20, 60, 90, 150, 220, 255)]
    corpus = hs.corpora.images(shades)
    result = artefacts(model, corpus)
    found = to_artefacts(result)
    examples = list(marked(model, corpus.encoded(model), result))
    assert [np.flatnonzero(each.tokens.classes["artefact"]).tolist() for each in examples[:2]] == [  # pyright: ignore[reportOptionalMemberAccess]
        [1 + place for place in PLANTED]
    ] * 2
    measured = hs.measure(model, examples, measures=["to_artefact"])
    assert (abs(found["to_artefact_skewness"]) > 0.1).sum() >= 3
    for part in ("", "_se", "_n", "_chance", "_documents", "_skewness"):
        own, other = found[f"to_artefact{part}"], measured[f"to_artefact{part}"]
        expected = other.broadcast_like(own) if other.ndim < own.ndim else other
        # A skewness is of third powers: residuals of 5e-4 of the sums leave 1e-10 of them, and these have 1e-15.
        near = 1e-5 if part == "_skewness" else 1e-12
        np.testing.assert_allclose(own, expected.transpose(*own.dims), atol=near, err_msg=part)
