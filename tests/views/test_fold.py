"""Pictures within a text as one token: to it the sum over its tokens, from it their mean."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.core.maps import AttentionMaps
from headscope.views import explorer, fold
from headscope.views.explorer import Input, explorer_payload
from headscope.views.view import View
from tests.helpers.talk_sample import PIECES, WORDS, axis, planted

TWO = axis(2)
PATCHES = 6


def random(tokens: hs.Tokens, seed: int = 0) -> AttentionMaps:
    weights = np.tril(np.random.default_rng(seed).gamma(0.5, 1, (2, 3, len(tokens), len(tokens))) + 1e-3)
    return AttentionMaps(
        list((weights / weights.sum(-1, keepdims=True)).astype(np.float32)), tokens, tokens, causal=True
    )


def by_loop(matrix: np.ndarray, groups: list[list[int]]) -> np.ndarray:
    """A map between groups: the mean over queries of the sum over keys."""
    return np.array(
        [
            [np.mean([sum(matrix[q, k] for k in keys) for q in queries]) for keys in groups]
            for queries in groups
        ]
    )


def test_pictures_within_a_text_are_found() -> None:
    assert fold.pictures(axis()) == [(1, 7)]
    assert fold.pictures(TWO) == [(1, 7), (8, 14)]
    assert [fold.name(TWO, place) for place in range(2)] == ["picture 1", "picture 2"]
    # No text, or nothing but special tokens around the patches: nothing to fold.
    assert fold.pictures(hs.Grid(2, 3, prefix=["[CLS]"], picture=axis().picture)) == []
    assert fold.pictures(hs.Frames(4, 0.1, hs.Sound(np.zeros(3200, np.float32), 8000))) == []
    assert fold.pictures(hs.Tokens(["a", "b"])) == []


def test_a_sound_within_a_text_is_folded_too() -> None:
    frames = hs.Frames(2, 0.1, hs.Sound(np.zeros(1600, np.float32), 8000))
    tokens = hs.Axis({"before": ["a"], "sound": frames, "after": ["b"]})
    assert fold.pictures(tokens) == [(1, 3)]
    assert fold.groups(tokens, words=False, unfolded=()).tolist() == [0, 1, 1, 2]
    assert fold.name(tokens, 0) == "sound"


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("unfolded", [(), (1,), (0, 1), None])
def test_what_each_token_is_part_of_by_hand(words: bool, unfolded: Any) -> None:
    number = fold.groups(TWO, words=words, unfolded=unfolded)
    one = 6 if unfolded is None or 0 in unfolded else 1
    two = 6 if unfolded is None or 1 in unfolded else 1
    text = len(WORDS) if words else len(PIECES) - 1
    assert number.max() + 1 == 1 + one + 1 + two + text
    assert (np.diff(number) >= 0).all()


@pytest.mark.parametrize(
    ("state", "names"),
    [
        ({}, ["picture 1", "picture 2"]),
        ({"unfolded": [0], "pin": ("to", 10)}, ["patch[0,0]", "picture 2"]),
        ({"picture": "matrix"}, ["picture 1", "picture 2"]),
    ],
)
def test_a_still_shows_pictures_as_one(state: dict[str, Any], names: list[str]) -> None:
    one = Input({"self": random(TWO)})
    found = (
        View(
            [one], {"scale": "head", "picture": "lines", "unit": "pieces", "layer": 1, "heads": [2], **state}
        )
        .picture("svg")
        .decode()
    )
    for name in ("patch[0,0]", "picture 1", "picture 2"):
        assert (f">{name}<" in found) == (name in names), name


def test_image_tokens_are_no_special_tokens() -> None:
    tokens = axis()
    marked = hs.Tokens(
        tokens.pieces, special_mask=np.arange(len(tokens)) < 7, media=tokens.media, places=tokens.places
    )
    assert fold.special(marked).tolist() == [True] + [False] * (len(tokens) - 1)


def test_the_payload_says_what_is_a_picture_and_has_thumbnails_with_it_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explorer, "_SMALL", 10)
    maps = random(TWO)
    payload, blobs = explorer_payload([Input({"self": maps})])
    part = payload["inputs"][0]["parts"][0]
    expected = [{"start": 1, "end": 7, "name": "picture 1"}, {"start": 8, "end": 14, "name": "picture 2"}]
    assert part["key"].get("images") == expected
    assert "folds" in part
    ref = part["folds"]
    codes = np.frombuffer(gzip.decompress(blobs.buffers[ref["data"]]), np.uint8).reshape(ref["shape"])
    number = fold.groups(TWO, words=False, unfolded=())
    groups = [np.flatnonzero(number == place).tolist() for place in range(number.max() + 1)]
    np.testing.assert_allclose((codes[4] / 255.0) ** 2, by_loop(maps.layers[1][1], groups), atol=0.004)
    text, _ = explorer_payload([Input({"self": hs.wrap(np.eye(2)[None, None], ["a", "b"])})])
    assert "folds" not in text["inputs"][0]["parts"][0]


def test_the_grid_is_given_what_the_text_gives_to_the_picture() -> None:
    tokens = axis()
    maps = random(tokens)
    payload, blobs = explorer_payload([Input({"self": maps})])
    ref = payload["inputs"][0]["parts"][0].get("looks")
    codes = np.frombuffer(gzip.decompress(blobs.buffers[ref["data"]]), np.uint8).reshape(ref["shape"])
    mean = maps.layers[1][2][1 + PATCHES :, 1 : 1 + PATCHES].mean(0)
    np.testing.assert_allclose((codes[5, 1 : 1 + PATCHES] / 255.0) ** 2, mean / mean.max(), atol=0.004)


def test_a_state_names_pictures_that_are_there() -> None:
    maps = planted(axis())
    view = hs.view(maps, layer=0, heads=[0], picture="lines", unfolded=[0])
    assert view.state["unfolded"] == [0]
    assert hs.view(maps, **view.state).state == view.state
    assert view.state["unit"] == "words"


def test_inputs_of_as_many_shown_tokens_can_be_subtracted() -> None:
    """Pictures of another number of patches are one token each: the texts around them are what is compared."""
    one = planted(axis())
    view = hs.view(
        one, against=planted(axis()), side="difference", scale="head", picture="lines", layer=0, heads=[0]
    )
    assert b"difference" in view.picture("svg")
