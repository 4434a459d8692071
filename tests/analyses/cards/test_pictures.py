"""Examples among pictures of several sizes, against figures of each alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.cards.run import CardOrder, choose_examples
from headscope.core.heads import Head
from headscope.models import Model
from tests.helpers.small_models import sharpen

HEADS = [Head(0, head) for head in range(4)]


@pytest.fixture(scope="module")
def dinov2() -> Model:
    """A model that reads pictures of any size."""
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 32}
    module = transformers.Dinov2Model(transformers.Dinov2Config(**size, patch_size=14))
    processor = transformers.BitImageProcessor(
        do_center_crop=False, size={"shortest_edge": 42}, do_rescale=True
    )
    return hs.load((sharpen(module), processor))


def pictures() -> list[Any]:
    draw = np.random.default_rng(0)
    shapes = [(42, 42), (42, 70), (70, 42), (42, 70), (42, 42), (42, 84)]
    some = [draw.integers(0, 255, (*shape, 3)).astype(np.uint8) for shape in shapes]
    return [*some, some[1].copy()]


def test_pictures_are_scored_in_their_order_and_none_comes_twice(dinov2: Model) -> None:
    corpus = hs.corpora.images(pictures())
    scored = {head: CardOrder("distance_share") for head in HEADS}
    chosen = choose_examples(dinov2, corpus.encoded(dinov2), scored, {}, count=20)
    assert chosen.inputs == 7
    names = [example.source for example in chosen.examples]
    assert sorted(names) == [f"images[{place}]" for place in range(6)]  # the last is the second again
    assert all(example.tokens is None and example.image is not None for example in chosen.examples)
    alone = [
        hs.measure(dinov2, hs.corpora.images([each]), measures=["distance_share"])["distance_share"].values[0]
        for each in pictures()
    ]
    for card in chosen.cards:
        for shown in card.strongest:
            place = int(names[shown.example].removeprefix("images[").rstrip("]"))
            assert shown.score == pytest.approx(alone[place][card.head.head], abs=1e-6)
        best = max(range(6), key=lambda place: alone[place][card.head.head])
        assert names[card.strongest[0].example] == f"images[{best}]"
