"""Roles on pictures and in sounds: those that were planted, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headscope as hs
from tests.helpers.planted_vision import planted_vit
from tests.helpers.small_models import whisper_parts

LOOKS = [["around", "row", "column", "near"], ["far", "cls", "bright", "even"]]
ROLES = {
    "around": "around it",
    "row": "same row",
    "column": "same column",
    "cls": "[CLS]",
    "bright": "artefacts",
    "far": "broad",
    "even": "broad",
    "near": "none",
}


def pictures(count: int) -> list[Any]:
    draw = np.random.default_rng(0)
    return [draw.integers(0, 255, (60 + 20 * place, 80, 3)).astype(np.uint8) for place in range(count)]


@pytest.mark.slow
def test_planted_heads_have_their_roles() -> None:
    model = hs.load(planted_vit(LOOKS, artefacts=[20, 47, 130]))
    table: Any = hs.roles(model, hs.corpora.images(pictures(6)))
    found = {(row.layer, row.head): row.role for row in table.itertuples()}
    assert found == {
        (layer, head): ROLES[name] for layer, row in enumerate(LOOKS) for head, name in enumerate(row)
    }
    assert table.attrs["untested"] == {"registers": "the inputs have no registers"}
    assert "itself" in table.attrs["not_found"]


@pytest.mark.slow
def test_without_artefacts_no_head_looks_at_them() -> None:
    model = hs.load(planted_vit([["bright", "cls", "even", "around"]]))
    table: Any = hs.roles(model, hs.corpora.images(pictures(6)))
    assert table.attrs["untested"]["artefacts"] == "no patch has a norm far above the rest"
    assert table.set_index("head").loc[0, "role"] == "none"


def test_sounds_have_roles_of_their_own() -> None:
    model = hs.load(whisper_parts(2))
    draw = np.random.default_rng(0)
    some = [(draw.normal(0, 0.1, 4_000 + 1_000 * place).astype(np.float32), 16_000) for place in range(6)]
    table: Any = hs.roles(model, hs.corpora.sounds(some))
    tested = {*table["role"], *table["nearest"].dropna(), *table.attrs["not_found"]}
    # Even attention gives the silence after such short sounds more than .8: no head can be known to look there.
    assert tested - {"none"} <= {"itself", "near in time", "silence after it", "broad"}
