"""Stills of a text beside its picture: what is dark on the picture, and how each word is shaded."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.core.maps import AttentionMaps
from tests.helpers.colours import DARK, LIGHT
from tests.helpers.stills import Still, Stills, against_reversed, alpha
from tests.helpers.talk_sample import WORDS, axis, heard, planted

pytest.importorskip("py_mini_racer")

HEAD: dict[str, Any] = {"scale": "head", "layer": 0, "heads": [0], "picture": "image", "unit": "words"}


@functools.cache
def stills(kind: str = "one") -> Stills:
    grid = hs.Grid(2, 3, prefix=["[CLS]"], picture=axis().picture)
    crossed = AttentionMaps([np.full((1, 2, 7), 1 / 7)], hs.Tokens(["a", "b"]), grid, kind="cross")
    shown = {
        "one": lambda: hs.view(planted(axis())),
        "written": lambda: hs.view(planted(axis(generated=2))),
        "pictures": lambda: hs.view(planted(axis(2))),
        "cross": lambda: hs.view(crossed),
        "patches": lambda: hs.view(hs.wrap(np.full((1, 1, 7, 7), 1 / 7), grid)),
        "sound": lambda: hs.view(heard()),
        "two": lambda: against_reversed(planted(axis())),
    }
    return Stills(shown[kind](), HEAD)


def still(kind: str = "one", width: float = 6.9, **state: Any) -> Still:
    return stills(kind)(width=width, **state)


def shade(found: Still, word: str) -> float:
    """How strongly a word is shaded."""
    text = found.text(word)
    under = (
        each
        for each in found.of("rect")
        if each.element.get("fill") != LIGHT.bg
        and each.x + each.at("x") <= text.x + text.at("x") <= each.x + each.at("x") + each.at("width")
        and each.y + each.at("y") <= text.y + text.at("y") <= each.y + each.at("y") + each.at("height")
    )
    return next((alpha(each.element) for each in under), 0.0)


def test_words_are_shaded_by_what_they_give_to_the_picture() -> None:
    found = still()
    assert [text for text in found.texts if text in WORDS] == WORDS
    assert shade(found, "cup") == pytest.approx(0.52)
    # The others give .006 of their attention to the picture, "cup" gives .7.
    assert shade(found, "Where") == pytest.approx(0.52 * np.sqrt(0.006 / 0.7), abs=0.01)
    dark = found.pixels[0][..., 3]
    assert dark[0, 0] < dark[-1, -1] - 100
    assert "how much of each word's attention is on the picture" in found.said
    assert "% of what the text looks at is the picture, most of it patch[0,0]" in found.said


def test_a_word_shows_its_patches_and_a_patch_its_words() -> None:
    word = still(pin=["from", 11])
    assert "where “cup” looks" in word.texts
    assert "70% of what “cup” looks at is the picture, most of it patch[0,0]" in word.said
    # .6 on the first patch, .1 on the second: the root of a sixth of it is not dark.
    dark = word.pixels[0][..., 3]
    high, wide = dark.shape
    assert [bool(dark[high // 4, x] < dark[-1, -1]) for x in (wide // 6, wide // 2, 5 * wide // 6)] == [
        True,
        True,
        False,
    ]
    patch = still(pin=["to", 1])
    assert "how much each word looks at patch[0,0]" in patch.texts
    assert shade(patch, "cup") == pytest.approx(0.52)
    assert shade(patch, "the") < 0.05
    # What stands before the patch cannot see it.
    assert patch.text("<s>").element.get("fill") == LIGHT.ink3
    assert "Of the words “cup” looks most at patch[0,0]" in patch.said


@pytest.mark.parametrize(
    ("kind", "state", "photos", "texts"),
    [
        ("one", {}, 1 + 1 + 2, set()),
        # The picture, two within the text, two heads, two layers.
        ("pictures", {"heads": [0, 1]}, 1 + 2 + 2 + 2, {"L0H0", "L0H1", "and"}),
        ("written", {}, 1 + 1 + 2, {"written by the model"}),
        ("cross", {}, 1 + 1, {"a", "b"}),
        # Patches alone are no text.
        ("patches", {}, 2, {"from (query)", "[CLS]"}),
    ],
)
def test_pictures_stand_where_they_are_read(
    kind: str, state: dict[str, Any], photos: int, texts: set[str]
) -> None:
    found = still(kind, **state)
    assert len(found.of("svg")) == photos
    assert texts <= set(found.texts)


def test_a_sound_within_a_text_is_called_one() -> None:
    found = still("sound", unit="pieces")
    assert "how much of each word's attention is on the sound" in found.said
    assert "% of what the text looks at is the sound" in found.said
    assert [text for text in found.texts if text in ("Listen", "What", "?")] == ["Listen", "What", "?"]


def test_across_each_word_is_shaded_alike_where_it_looks_alike() -> None:
    found = still("cross")
    assert shade(found, "a") == shade(found, "b") > 0.5
    assert "the text" in still("cross", pin=["from", 1]).texts


def test_a_difference_has_the_colours_of_its_signs() -> None:
    found = still("two", side="difference", theme="dark")
    fills = {each.element.get("fill") for each in found.of("rect") if each.at("height") == 22}
    assert {DARK.diverging[1], DARK.diverging[5]} & fills
    assert "Blue: more in the first than in the second; orange: less." in found.said
