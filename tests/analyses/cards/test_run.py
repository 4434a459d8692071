"""Examples of heads, against scores that are computed from whole maps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.cards import run as cards
from headscope.analyses.cards.run import CardOrder, choose_examples
from headscope.core.heads import Head
from headscope.corpora import Example
from headscope.models import Model
from tests.helpers.small_models import sharpen

SUBJECTS = ("the cat", "a very old dog", "nobody", "the children of the village", "my aunt")
VERBS = ("slept .", "saw the moon , and then the stars .", "ran ?", "sang a song to the king !", "left")
TEXTS = [f"{subject} {verb}" for subject in SUBJECTS for verb in VERBS]
PREVIOUS, NONE = hs.Head(0, 2), hs.Head(3, 4)
SCORED = {PREVIOUS: CardOrder("previous")}


def examples(model: Any) -> Iterator[Example]:
    for place, text in enumerate(TEXTS):
        yield Example(tokens=model.encode(text), document=place)


@pytest.fixture(scope="module")
def scores(demo: Any) -> dict[hs.Head, list[float]]:
    """Of each text: the weight that L0H2 gives to the previous token, and the entropy of L3H4."""
    found: dict[hs.Head, list[float]] = {PREVIOUS: [], NONE: []}
    for text in TEXTS:
        maps = hs.capture(demo, text)
        found[PREVIOUS].append(float(np.diagonal(maps[PREVIOUS], -1).mean()))
        rows = np.asarray(maps[NONE], np.float64)
        found[NONE].append(float(-(rows * np.log(rows)).sum(-1).mean()))
    return found


def text_of(tokens: Any) -> str:
    return " ".join(piece for piece in tokens.pieces if not piece.startswith("["))


@pytest.mark.slow
@pytest.mark.parametrize(("strongest", "sample"), [(8, 256), (3, 6)])
def test_scores_and_ranks_are_those_of_all_inputs(
    demo: Any, scores: Any, monkeypatch: Any, strongest: int, sample: int
) -> None:
    monkeypatch.setattr(cards, "STRONGEST", strongest)
    monkeypatch.setattr(cards, "SAMPLE", sample)
    monkeypatch.setattr(cards, "BATCH", 4)
    chosen = choose_examples(demo, examples(demo), SCORED, {PREVIOUS: ["previous token"]}, count=7)
    assert chosen.inputs == len(TEXTS)
    assert len(chosen.examples) == 7
    texts = [text_of(example.tokens) for example in chosen.examples]
    assert len(set(texts)) == 7
    assert len(chosen.cards) == 72
    for head, sign in ((PREVIOUS, 1), (NONE, -1)):
        (card,) = [one for one in chosen.cards if one.head == head]
        assert (card.measure, card.least) == (("previous", False) if sign > 0 else ("entropy", True))
        order = np.argsort(-sign * np.array(scores[head]))
        for shown in (*card.strongest, *card.sample):
            place = TEXTS.index(texts[shown.example])
            assert abs(shown.score - scores[head][place]) < 1e-4
            rank = int(np.flatnonzero(order == place)[0]) + 1
            assert shown.rank == (rank if rank <= strongest else None)
            if sample >= len(TEXTS):
                assert abs(shown.decile - (11 - rank / 2.5)) <= 1
        assert [one.rank for one in card.strongest] == sorted(one.rank for one in card.strongest)
        assert [one.decile for one in card.sample] == sorted(
            {one.decile for one in card.sample}, reverse=True
        )
    (card,) = [one for one in chosen.cards if one.head == PREVIOUS]
    assert card.roles == ["previous token"]


def test_most_heads_get_a_strong_example_and_many_deciles(demo: Any) -> None:
    chosen = choose_examples(demo, examples(demo), SCORED, {}, count=12)
    assert np.mean([bool(card.strongest) for card in chosen.cards]) > 0.9
    assert np.mean([len(card.sample) for card in chosen.cards]) > 5


@pytest.mark.slow
def test_little_is_kept_of_a_long_corpus(demo: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(cards, "STRONGEST", 1)
    monkeypatch.setattr(cards, "SAMPLE", 3)
    monkeypatch.setattr(cards, "BATCH", 2)
    sizes: list[int] = []
    add = cards._add

    def counted(kept: Any, *rest: Any, **more: Any) -> None:
        add(kept, *rest, **more)
        sizes.append(len(kept.inputs))
        assert set(kept.inputs) <= {*kept.top.ravel().tolist(), *kept.sample}

    monkeypatch.setattr(cards, "_add", counted)
    only = {hs.Head(layer, head): CardOrder("previous") for layer in range(6) for head in range(12)}
    choose_examples(demo, examples(demo), only, {}, count=2)
    assert len(sizes) == 13
    assert max(sizes) < len(TEXTS)


@pytest.mark.slow
def test_your_own_come_all_in_their_order(demo: Any) -> None:
    chosen = choose_examples(demo, examples(demo), {}, {}, count=0, every=True)
    assert [text_of(example.tokens) for example in chosen.examples] == TEXTS


def test_nothing_of_nothing(demo: Any) -> None:
    chosen = choose_examples(demo, [], {}, {}, count=3)
    assert (chosen.examples, chosen.cards, chosen.inputs) == ([], [], 0)


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
