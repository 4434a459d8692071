"""Real examples of what each head does: from a corpus of any size, few enough for a page, shared by the heads.

Every input is scored for every head by the measure of the head's leading role (for a head without one by how sharply
it looks: entropy, lowest first). While the corpus streams by, memory holds the strongest inputs of each head and a
uniform sample of all inputs, from which deciles are told. Then inputs are chosen, one after another, each the one that
serves most heads that are still without a strong example, or without one of its decile.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.heads import Head
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.corpora.batches import batch_key
from headscope.measures.choose import choose
from headscope.models import Model
from headscope.runs.batches import tokens_of, tokens_per_batch
from headscope.runs.task import Task

STRONGEST = 8
"""How many of its strongest inputs are kept for each head."""

SAMPLE = 256
"""How many inputs of the corpus are sampled to tell deciles."""

BATCH = 32
_OF_DECILE = 0.15  # what an example of another decile is worth, beside a first strong example
_TOP = 3  # strong examples of a card


class ShownExample(NamedTuple):
    """An example of the page, by its place, with a head's score on it.

    Attributes:
        example: its place.
        score: of the head on this very input.
        rank: from 1, the strongest of all inputs; None where it is not among the first.
        decile: from 1 to 10, the strongest tenth.
    """

    example: int
    score: float
    rank: int | None
    decile: int


@dataclass(frozen=True)
class ExampleCard:
    """One head.

    Attributes:
        head: which.
        roles: what it does.
        measure: by whose value its examples are ordered.
        units: of the score.
        least: whether the smallest values come first (entropy).
        strongest: examples among the strongest, strongest first.
        sample: an example of each decile that the page has one of, strongest first.
    """

    head: Head
    roles: Sequence[str]
    measure: str
    units: str
    least: bool
    strongest: Sequence[ShownExample]
    sample: Sequence[ShownExample]


@dataclass(frozen=True)
class CardOrder:
    """By what a head's inputs are ordered: the measure's name and units, and whether the least comes first."""

    measure: str
    units: str = "share"
    least: bool = False


LOWEST_ENTROPY = CardOrder("entropy", "nats", least=True)


@dataclass(frozen=True)
class Chosen:
    """The inputs of a page, and a card a head that names them by their places. `inputs` is how many were scored."""

    examples: Sequence[Example]
    cards: Sequence[ExampleCard]
    inputs: int


@dataclass
class _Kept:
    """What is known of the inputs so far.

    `inputs` holds each kept input with its scores ``[head]``, larger for stronger, NaN where a head has none on it, and
    what is the same in inputs that are the same;
    `top` the numbers of each head's strongest inputs ``[head rank]`` (-1: none), `scores` theirs; `sample` the numbers
    of a uniform sample.
    """

    inputs: dict[int, tuple[Example, Floats, Hashable]] = field(
        default_factory=dict[int, tuple[Example, Floats, Hashable]]
    )
    top: Ints = field(default_factory=lambda: np.zeros((0, STRONGEST), np.int64))
    scores: Floats = field(default_factory=lambda: np.zeros((0, STRONGEST)))
    sample: list[int] = field(default_factory=list[int])
    count: int = 0


def choose_examples(
    model: Model,
    inputs: Iterable[Example],
    scored: Mapping[Head, CardOrder],
    roles: Mapping[Head, Sequence[str]],
    *,
    count: int,
    every: bool = False,
    seed: int = 0,
) -> Chosen:
    """Choose inputs that show what each head does.

    Args:
        model: from `headscope.load`.
        inputs: encoded; short enough to be read on a page.
        scored: by what the inputs of a head are ordered; by default the lowest entropy.
        roles: of the heads, for their cards.
        count: how many inputs to choose, at most.
        every: take the inputs as they are, all of them, in their order.
        seed: of the sample.
    """
    names = list(dict.fromkeys(["entropy", *(by.measure for by in scored.values())]))
    task = Task(model, choose(names))
    draw = np.random.default_rng(seed)
    kept = _Kept()
    heads: list[Head] = []
    order: list[CardOrder] = []
    for batch, layers, values in _values(task, inputs):
        if not heads:
            heads = [Head(layer, head) for layer in layers for head in range(values.shape[3])]
            order = [scored.get(head, LOWEST_ENTROPY) for head in heads]
        _add(kept, batch, _scores(values, names, order), draw, everything=every)
    if not heads:
        return Chosen([], [], 0)
    numbers = np.array(list(kept.inputs))
    examples, scored_as, identities = zip(*kept.inputs.values(), strict=True)
    scores = np.stack(scored_as)
    deciles = _deciles(scores, scores[np.isin(numbers, kept.sample)])
    strong = np.stack([(kept.top == number).any(1) for number in numbers])
    rows = range(len(numbers)) if every else _cover(strong, deciles, identities, count)
    cards: list[ExampleCard] = []
    for place in np.flatnonzero(np.isfinite(scores).any(axis=0)):
        head, by = heads[place], order[place]
        shown = [
            ShownExample(
                index,
                float(-scores[row, place] if by.least else scores[row, place]),
                int((kept.scores[place] > scores[row, place]).sum()) + 1 if strong[row, place] else None,
                int(deciles[row, place]),
            )
            for index, row in enumerate(rows)
            if np.isfinite(scores[row, place])
        ]
        cards.append(_card(head, by, roles.get(head, ()), shown))
    return Chosen([examples[row] for row in rows], cards, kept.count)


def _values(task: Task, inputs: Iterable[Example]) -> Iterator[tuple[list[Example], Sequence[int], Floats]]:
    """Figures of single inputs, batch by batch: ``[input measure layer head]``, NaN where no row counts."""
    there = (example for example in inputs if example.tokens is not None)
    for batch in _batches(task.model, there):
        sums = task.run([tokens_of(example) for example in batch])
        by = np.where(sums.divisors > 0, sums.divisors, np.nan)
        yield batch, sums.layers, sums.sums / by


def _batches(model: Model, examples: Iterable[Example]) -> Iterator[list[Example]]:
    """Examples in their order, those together that a model takes together."""
    most = tokens_per_batch(BATCH, model)
    batch: list[Example] = []
    for example in examples:
        tokens = tokens_of(example)
        fits = len(batch) < BATCH and (len(batch) + 1) * len(tokens) <= most
        if batch:
            first = tokens_of(batch[0])
            moved = 0 < model.same_length < max(len(first), len(tokens))
            if moved or not fits or batch_key(tokens) != batch_key(first):
                yield batch
                batch = []
        batch.append(example)
    if batch:
        yield batch


def _scores(values: Floats, names: Sequence[str], order: Sequence[CardOrder]) -> Floats:
    """Of each input for each head ``[input head]``, larger for stronger."""
    flat = values.reshape(len(values), len(names), -1)
    measure = np.array([names.index(by.measure) for by in order])
    sign = np.array([-1.0 if by.least else 1.0 for by in order])
    return flat[:, measure, np.arange(len(order))] * sign


def _add(
    kept: _Kept, examples: Sequence[Example], scores: Floats, draw: np.random.Generator, *, everything: bool
) -> None:
    """Take in some inputs, and let go of those that are no longer among the strongest or in the sample."""
    heads = scores.shape[1]
    if not len(kept.top):
        kept.top, kept.scores = np.full((heads, STRONGEST), -1), np.full((heads, STRONGEST), -np.inf)
    numbers = np.arange(kept.count, kept.count + len(examples))
    for number, example, row in zip(numbers.tolist(), examples, scores, strict=True):
        kept.inputs[number] = (_light(example), row, _identity(tokens_of(example)))
        if len(kept.sample) < SAMPLE or everything:
            kept.sample.append(number)
        elif (slot := int(draw.integers(number + 1))) < SAMPLE:
            kept.sample[slot] = number
    kept.count += len(examples)
    both = np.concatenate([kept.scores, np.where(np.isfinite(scores), scores, -np.inf).T], 1)
    which = np.concatenate([kept.top, np.broadcast_to(numbers, (heads, len(numbers)))], 1)
    best = np.argsort(-both, axis=1, kind="stable")[:, :STRONGEST]
    kept.scores, kept.top = np.take_along_axis(both, best, 1), np.take_along_axis(which, best, 1)
    kept.top[~np.isfinite(kept.scores)] = -1
    wanted = {*kept.top.ravel().tolist(), *kept.sample}
    for number in [number for number in kept.inputs if number not in wanted]:
        del kept.inputs[number]


def _light(example: Example) -> Example:
    """An example as it is kept: a picture or a sound is read again where it is shown."""
    return replace(example, tokens=None) if tokens_of(example).media else example


def _identity(tokens: Tokens) -> Hashable:
    """The same for inputs that are the same: their pieces, and what is in a picture or a sound."""
    return tuple(tokens.pieces), *(zlib.crc32(medium.array.tobytes()) for medium in tokens.media)


def _deciles(scores: Floats, sample: Floats) -> Ints:
    """The decile of each input among the sample ``[input head]``, from 1 to 10, the strongest; 0 without a score."""
    known = np.maximum(np.isfinite(sample).sum(0), 1)
    below = np.array([(sample < row).sum(0) + 0.5 * (sample == row).sum(0) for row in scores])
    deciles = np.minimum(np.floor(10 * below / known), 9).astype(np.int64) + 1
    return np.where(np.isfinite(scores), deciles, 0)


def _cover(strong: Bools, deciles: Ints, identities: Sequence[Hashable], count: int) -> list[int]:
    """The inputs that serve most heads, greedily: their rows, the most useful first, none twice."""
    heads = np.arange(len(strong[0]))
    covered = np.zeros((len(heads), 11), np.bool_)
    covered[:, 0] = True
    served = np.zeros(len(heads))
    left = np.ones(len(identities), np.bool_)
    rows: list[int] = []
    taken: set[Hashable] = set()
    while len(rows) < count and left.any():
        gain = (strong * 0.5**served).sum(1) + _OF_DECILE * (~covered[heads, deciles]).sum(1)
        best = int(np.argmax(np.where(left, gain, -1.0)))
        left[best] = False
        if identities[best] in taken:
            continue
        taken.add(identities[best])
        rows.append(best)
        served += strong[best]
        covered[heads, deciles[best]] = True
    return rows


def _card(head: Head, by: CardOrder, roles: Sequence[str], examples: Sequence[ShownExample]) -> ExampleCard:
    """What the examples, in the order of the page, say of a head."""
    ranked = sorted(examples, key=lambda example: example.score if by.least else -example.score)
    strongest = [example for example in ranked if example.rank is not None][:_TOP]
    by_decile: dict[int, ShownExample] = {}
    for example in examples:  # not the strongest of each decile
        by_decile.setdefault(example.decile, example)
    sample = [by_decile[decile] for decile in sorted(by_decile, reverse=True)]
    return ExampleCard(head, roles, by.measure, by.units, by.least, strongest, sample)
