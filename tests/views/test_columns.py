from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.measures.choose import surface
from headscope.views.columns import PER_INPUT, from_input
from headscope.views.inputs import Included
from tests.helpers.heard_sample import alike, cross
from tests.helpers.seen_sample import random_maps
from tests.helpers.talk_sample import axis as talk
from tests.helpers.talk_sample import planted
from tests.helpers.view_sample import some


def asked(generated: int) -> Tokens:
    """A picture, what is asked of it, and so many words that were written."""
    tokens = talk(generated=generated)
    image = np.isfinite(np.asarray(tokens.boxes)).all(1)
    written = np.arange(len(tokens)) >= len(tokens) - generated
    question = ~image & ~written & ~np.asarray(tokens.special_mask)
    return replace(tokens, classes={**tokens.classes, "image": image, "question": question})


def windowed() -> AttentionMaps:
    """Heads of which the second sees only its neighbours."""
    maps = some()
    near = np.abs(np.arange(8)[:, None] - np.arange(8)) <= 1
    sight = np.stack([np.ones((8, 8), bool), near, near])
    layers = [np.where(sight, layer, 0) for layer in maps.layers]
    layers = [layer / layer.sum(-1, keepdims=True) for layer in layers]
    return AttentionMaps(layers, maps.query, maps.key, visible=[sight, sight])


@pytest.mark.parametrize("maps", [some(), some(causal=True), windowed()], ids=["whole", "causal", "windows"])
def test_figures_of_an_input_are_those_of_a_corpus_of_it(maps: AttentionMaps) -> None:
    found = {column.name: column.values for column in from_input(Included(maps, None, None))}
    names = PER_INPUT["text"]
    expected = surface(maps, [name for name in names if name in found])
    assert set(found) == {name for name in names if not (maps.causal and name == "next")}
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], atol=1e-6, err_msg=name)


def test_heads_that_are_left_out_change_nothing() -> None:
    whole, one = (from_input(Included(windowed(), *kept)) for kept in ((None, None), ([1], [2])))
    for mine, column in zip(one, whole, strict=True):
        np.testing.assert_array_equal(mine.values, column.values[1:, 2:])


def test_an_input_of_one_token_has_no_previous_one() -> None:
    axis = Tokens(["it"])
    maps = AttentionMaps([np.ones((1, 1, 1), np.float32)], axis, axis)
    found = {column.name: column.values.item() for column in from_input(Included(maps, None, None))}
    assert np.isnan(found["previous"])
    assert found["current"] == 1.0


@pytest.mark.parametrize(
    ("maps", "names"),
    [
        (
            random_maps(),
            ["distance_pixels", "locality", "same_row", "same_column", "cls", "to_register", "entropy"],
        ),
        (planted(asked(2)), ["to_image", "to_question", "to_written", "first", "entropy"]),
        (planted(asked(0)), ["to_image", "to_question", "first", "entropy"]),
        (alike(), ["distance_seconds", "locality_seconds", "diagonality", "entropy"]),
        (cross(), ["largest", "entropy"]),  # words that look at frames have no place among them
    ],
    ids=["picture", "picture in a text", "and its question", "sound", "words and sound"],
)
def test_of_pictures_and_sounds_what_is_measured_means_something_there(
    maps: AttentionMaps, names: list[str]
) -> None:
    found = from_input(Included(maps, None, None))
    assert [column.name for column in found] == names
    expected = surface(maps, names) if maps.kind != "cross" else None
    for column in found if expected else []:
        np.testing.assert_allclose(column.values, expected[column.name], atol=1e-5, err_msg=column.name)
