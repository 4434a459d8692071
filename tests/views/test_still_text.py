"""Stills of the text, shaded by what a head looks at: shades and figures by hand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.views.explorer import Input
from tests.helpers.stills import SMALLEST, Stills

TEXT = {"scale": "head", "picture": "text", "layer": 0, "heads": [0], "unit": "pieces"}
PIECES = ["[CLS]", "The", "un", "##happy", "cat"]
WEIGHTS = np.array(
    [
        [0.6, 0.1, 0.1, 0.1, 0.1],
        [0.5, 0.1, 0.1, 0.2, 0.1],
        [0.5, 0.0, 0.0, 0.5, 0.0],
        [0.2, 0.1, 0.1, 0.2, 0.4],
        [0.6, 0.16, 0.04, 0.2, 0.0],
    ]
)


@pytest.fixture(scope="module")
def stills() -> Stills:
    tokens = Tokens(PIECES, special_mask=np.arange(5) == 0, word_ids=np.array([-1, 0, 1, 1, 2]))
    return Stills([Input({"self": AttentionMaps([WEIGHTS[None]], tokens, tokens)})], exact=True)


def shades(svg: str) -> dict[str, str]:
    """The colour behind each token."""
    boxes = re.findall(r'<rect [^>]*rx="3" fill="(#\w+)"[^>]*/><text[^>]*>([^<]*)</text>', svg)
    return {text: fill for fill, text in boxes}


@pytest.mark.parametrize(
    ("state", "said", "darkest"),
    [
        ({}, "Shaded by what each token receives on average, darkest at “##happy” (0.240).", "happy"),
        ({"pin": ("from", 4)}, "Shaded by what “cat” looks at, darkest at “##happy” (0.200); 60% is on special", "happy"),
        ({"pin": ("to", 4)}, "Shaded by how much each token looks at “cat”, darkest at “##happy” (0.400).", "happy"),
    ],
)  # fmt: skip
def test_each_token_by_its_share(stills: Stills, state: dict[str, Any], said: str, darkest: str) -> None:
    assert said in stills({**TEXT, **state}).said
    found = shades(stills({**TEXT, **state}).svg)
    assert found[darkest] == min(found.values(), key=lambda hex: int(hex[1:3], 16))


def test_a_shade_is_the_root_of_the_share_beside_the_largest(stills: Stills) -> None:
    """Of .2, the largest but for special tokens, .16 has √.8 of 52 % accent on the paper."""
    found = shades(stills({**TEXT, "pin": ("from", 4)}).svg)
    accent, paper = 0x0F, 0xFF  # the red of #0f7b78 on white
    assert int(found["The"][1:3], 16) == round(paper + 0.52 * 0.8**0.5 * (accent - paper))
    assert int(found["happy"][1:3], 16) == round(paper + 0.52 * (accent - paper))


def test_a_word_is_read_as_one_and_lines_keep_their_width(stills: Stills) -> None:
    places = [float(x) for x in re.findall(r'<text x="([\d.]+)" y="12"', stills(TEXT).svg)]
    assert len(places) == len(PIECES)
    gaps = np.diff(places)
    assert gaps[2] < gaps[1] + gaps[3]  # "un" and "happy" stand together
    narrow = stills(TEXT, width=1.2).svg
    assert (
        max(float(y) for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)"[^>]*font-size="13px"', narrow)) > 12
    )
    assert stills(TEXT, width=1.2).smallest() >= SMALLEST


def test_what_a_causal_query_cannot_see_is_not_shaded() -> None:
    tokens = Tokens(["a", "b", "c"])
    weights = np.tril(np.ones((3, 3))) / np.arange(1, 4)[:, None]
    still = Stills([Input({"self": AttentionMaps([weights[None]], tokens, tokens, causal=True)})])
    svg = still({**TEXT, "pin": ("from", 1)}).svg
    found = shades(svg)
    assert "c" not in found
    inks = {text: ink for ink, text in re.findall(r'fill="(#\w+)">([abc])</text>', svg)}
    assert inks["c"] != inks["a"], "it is grey"
    assert {"a", "b"} <= set(found)
