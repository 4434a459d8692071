"""Where a model looks as it writes about a picture: by hand, and by a loop over its own maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.measures.choose import surface
from headscope.measures.dataset import description, names
from headscope.measures.perceived import ANSWERS
from headscope.models import Model
from tests.helpers.small_models import llava_parts

ROWS = [
    [10, 0, 0, 0, 0, 0, 0],
    [4, 6, 0, 0, 0, 0, 0],
    [2, 3, 5, 0, 0, 0, 0],
    [1, 2, 3, 4, 0, 0, 0],
    [1, 1, 1, 3, 4, 0, 0],
    [2, 1, 2, 1, 1, 3, 0],  # generated
    [1, 3, 1, 0, 2, 2, 1],  # generated
]
PHOTO = np.random.default_rng(1).integers(0, 255, (40, 60, 3)).astype(np.uint8)


def answer(generated: bool = True) -> hs.AttentionMaps:
    """``<s> patch patch What ? a cat``, the last two written."""
    place = np.arange(7 if generated else 5)
    classes = {"image": (place == 1) | (place == 2), "question": (place == 3) | (place == 4)}
    if generated:
        classes["generated"] = place > 4
    axis = hs.Tokens(["<s>", "p", "p", "What", "?", "a", "cat"][: len(place)], classes=classes)
    return hs.wrap(np.array(ROWS, float)[None, None, : len(place), : len(place)] / 10, axis, causal=True)


def test_answers_by_hand() -> None:
    found = surface(answer(), ["answers"])
    assert found["to_image"].item() == pytest.approx((0.3 + 0.4) / 2)
    assert found["to_question"].item() == pytest.approx((0.2 + 0.2) / 2)
    assert found["to_written"].item() == pytest.approx((0.3 + 0.3) / 2)
    assert found["to_image_chance"].item() == pytest.approx((2 / 6 + 2 / 7) / 2)
    assert found["to_written_chance"].item() == pytest.approx((1 / 6 + 2 / 7) / 2)
    assert found["to_image_n"].item() == 2


def test_where_nothing_was_written_the_words_behind_the_picture_count() -> None:
    found = surface(answer(generated=False), ["answers"])
    assert found["to_image"].item() == pytest.approx((0.5 + 0.2) / 2)
    assert found["to_question"].item() == pytest.approx((0.4 + 0.7) / 2)
    assert description(found)["absent"] == {"to_written": "the inputs have no words that were generated"}


def test_a_text_without_a_picture_says_so() -> None:
    text = hs.wrap(np.full((1, 1, 3, 3), 1 / 3), ["a", "b", "c"])
    with pytest.raises(InputError, match="to_image: the inputs have no picture among their tokens"):
        surface(text, ["answers"])
    assert names(surface(text, ["answers", "entropy"])) == ["entropy"]


def test_answers_of_a_model_by_a_loop_over_its_own_maps() -> None:
    model = hs.load(llava_parts())
    parts: Any = hs.generate(model, "What is on it?", image=PHOTO, max_new_tokens=6, min_new_tokens=6)
    found = surface(parts["language"], list(ANSWERS))
    ready: Any = dict(model.inputs([parts["language"].query]))
    model.module.set_attn_implementation("eager")
    with torch.no_grad():
        own = model.module(**ready, output_attentions=True).attentions
    size = len(parts["language"].query)
    question, written = size - 5 - 10, size - 5
    for layer, weights in enumerate(own):
        for head, rows in enumerate(weights[0].double().numpy()):
            shares = [[], [], []]
            for query in range(written, size):
                for place, share in enumerate(shares):
                    start, end = ((0, question), (question, written), (written, query + 1))[place]
                    share.append(sum(rows[query, key] for key in range(start, end)))
            for name, share in zip(ANSWERS, shares, strict=True):
                np.testing.assert_allclose(found[name].values[layer, head], np.mean(share), atol=1e-5)


def test_what_a_model_wrote_about_many_pictures_is_measured_as_its_maps_say(llava: Model) -> None:
    options: Any = {"max_new_tokens": 4, "min_new_tokens": 4}
    written: list[Any] = [
        hs.generate(llava, "What is on it?", image=each, **options)["language"]  # pyright: ignore[reportIndexIssue, reportArgumentType, reportCallIssue]
        for each in (PHOTO, PHOTO[::-1])
    ]
    answers = [Example(tokens=maps.query, document=place) for place, maps in enumerate(written)]
    measured = hs.measure(llava, answers, measures=["answers"])
    for name in ANSWERS:
        own = np.mean([surface(maps, [name])[name].values for maps in written], 0)
        np.testing.assert_allclose(measured[name], own, atol=1e-5)
    assert (measured["to_written_n"] == 2 * 3).all()
