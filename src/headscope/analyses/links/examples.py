"""Inputs that show what the best head of each label does, drawn by a seed from those that are short enough for a page.

An input that already stands in the page is taken before another, so that a page holds few maps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from headscope.analyses.links.questions import ALL, Asked, Direction
from headscope.analyses.links.run import Links, links
from headscope.analyses.links.section import Drawn, Linked
from headscope.analyses.links.statistics import table
from headscope.analyses.sample import Sample
from headscope.analyses.study import Study
from headscope.core.arrays import Ints
from headscope.core.heads import Head
from headscope.core.link import Span, located
from headscope.core.words import joined
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.runs.batches import tokens_of
from headscope.views.blocks import LinkSentence, LinkShown
from headscope.views.payload import Pin
from headscope.views.section import Section

SIZE = 2, 32
"""The fewest and the most words or tokens of an input that is drawn."""

DRAWN = 24
"""How many inputs are looked at for each label."""

SHOWN = 3
"""How many are shown where a head is right, and where it is wrong."""

LEAST = 0.04
"""The least attention that is drawn."""

Map = npt.NDArray[Any]
Item = TypeVar("Item")


def section(study: Study, *, seed: int = 0) -> list[Section]:
    """The best head of each label of the links that were given, and inputs that show it."""
    model, corpus = study.model, study.links
    if corpus is None:
        raise InputError("links: expected a corpus with links, found none")
    limit = study.sentences(corpus)
    engine = Links(model)
    first = next(engine.asked(corpus, limit), None)
    if first is not None and first.question.crossed:
        raise InputError(
            "links: expected links within what the encoder reads, found some to what the decoder reads: heads of "
            "cross-attention are not on this page; headscope links has their table"
        )
    pages = study.gallery
    result = links(model, corpus, seed=seed, limit=limit, progress=study.progress)
    rows: Any = table(result)
    best: dict[str, tuple[Direction, Head]] = {
        str(row.label): (row.direction, Head(int(row.layer), int(row.head)))
        for row in rows.itertuples()
        if not row.few and (row.label != ALL or len(rows) == 1)
    }
    asked = (item for item in engine.asked(corpus, limit) if SIZE[0] <= item.question.key.size <= SIZE[1])
    inputs = drawn(((item, _labels(item)) for item in asked), best, seed)
    maps = [engine.maps(item, {head for _, head in best.values()}) for item in inputs]
    pages.room()
    indices: dict[int, int] = {}
    shown = {
        name: _shown(name, direction, [by_head[head] for by_head in maps], inputs, indices)
        for name, (direction, head) in best.items()
    }
    sentences: list[LinkSentence] = []
    columns = [name for name, (direction, _) in best.items() if direction == "column"]
    for number in indices:
        one = inputs[number]
        sentences.append(_sentence(one, pages.add(one, engine.links(one), columns)))
    return [Linked(result, sentences, shown, study.typed and study.typed.on("links", "--links"))]


def drawn(items: Iterable[tuple[Item, Collection[str]]], names: Iterable[str], seed: int) -> list[Item]:
    """For each name a uniform sample of the items that have it, in an order of their own."""
    draw = np.random.default_rng(seed)
    samples: dict[str, Sample[tuple[int, Item]]] = {name: Sample(DRAWN, draw) for name in names}
    for number, (item, labels) in enumerate(items):
        for name in sorted(samples.keys() & set(labels)):
            samples[name].add((number, item))
    unique = dict(
        sorted((item for sample in samples.values() for item in sample.items), key=lambda item: item[0])
    )
    kept = list(unique.values())
    return [kept[index] for index in draw.permutation(len(kept))]


def parted(shown: Mapping[int, LinkShown], indices: dict[int, int]) -> Drawn:
    """Inputs where a head is right on all links, and where it is not, by their numbers.

    `indices` are the places of those on the page, which come first; it grows.
    """
    kinds: list[list[LinkShown]] = []
    for kind in (True, False):
        numbers = [number for number, link in shown.items() if all(link["right"]) is kind]
        numbers = sorted(numbers, key=lambda number: number not in indices)[:SHOWN]
        kinds.append(
            [{**shown[number], "sentence": indices.setdefault(number, len(indices))} for number in numbers]
        )
    return Drawn(*kinds, looked=len(shown))


def arcs(weights: Map, row: bool, words: Ints, others: Iterable[Ints], size: int) -> list[list[float]]:
    """What is drawn: attention of at least `LEAST`, and that between the words and these others.

    Args:
        weights: the map.
        row: whether a word is the query of what belongs to it.
        words: of the links.
        others: for each word another one.
        size: how many are words; the rest are spans of several, of which only what is named is drawn.
    """
    strong = weights >= LEAST
    strong[size:] = strong[:, size:] = False
    for other in others:
        strong[(words, other) if row else (other, words)] = True
    np.fill_diagonal(strong, False)
    return [[start, end, round(float(weights[start, end]), 3)] for start, end in np.argwhere(strong).tolist()]


def first_token(example: Example, word: int) -> int:
    """The token at which a word begins."""
    return int(located(Span(word, word + 1), "words", tokens_of(example))[0][0])


def _labels(asked: Asked) -> set[str]:
    question = asked.question
    return {label for label, bare in zip(question.labels, question.bare, strict=True) if not bare}


def _shown(
    name: str, direction: Direction, maps: Sequence[Map], inputs: Sequence[Asked], indices: dict[int, int]
) -> Drawn:
    """Inputs of a label. `indices` are those of the page's by their numbers, and grow."""
    shown: dict[int, LinkShown] = {}
    for number, (asked, weights) in enumerate(zip(inputs, maps, strict=True)):
        question, read = asked.question, asked.question.read[direction]
        (allowed,) = read.allowed.values()
        links = np.flatnonzero((np.array(question.labels) == name) & ~question.bare)
        if not links.size:
            continue
        words, row = read.source[links], direction == "row"
        lines = np.where(allowed[links], (weights if row else weights.T)[words], -1.0)
        chosen = lines.argmax(1)
        some = np.take_along_axis(lines, chosen[:, None], 1)[:, 0] > 0
        right = some & read.target[links, chosen]
        targets = [np.flatnonzero(mask) for mask in read.target[links]]
        pairs = [(word, target) for word, places in zip(words, targets, strict=True) for target in places]
        pairs += zip(words[some], chosen[some], strict=True)
        sources, others = np.array(pairs, np.int64).reshape(-1, 2).T
        shown[number] = LinkShown(
            sentence=number,
            words=words.tolist(),
            pins=[
                Pin(side="from" if row else "to", place=int(question.key.groups[word][0]))
                for word in cast("list[int]", words.tolist())
            ],
            targets=[places.tolist() for places in targets],
            predicted=np.where(some, chosen, -1).tolist(),
            right=right.tolist(),
            arcs=arcs(weights, row, sources, [others], question.key.size),
        )
    return parted(shown, indices)


def _sentence(asked: Asked, example: int | None) -> LinkSentence:
    """The words or tokens of an input."""
    axis = asked.question.key
    second = next(iter(np.flatnonzero(axis.text).tolist()), None)
    if axis.unit == "words":
        words = [*(asked.words or ())[:second], *(asked.pair_words or ())][: axis.size]
    else:
        pieces, texts = axis.tokens.pieces, axis.tokens.texts or [""] * len(axis.tokens)
        words = [
            "".join(texts[int(token)] for token in group).strip()
            or joined([pieces[int(token)] for token in group])
            for group in axis.groups[: axis.size]
        ]
    return LinkSentence(
        words=words,
        spans=[[axis.first[unit], axis.last[unit]] for unit in range(axis.size, len(axis.groups))],
        second=second,
        example=example,
    )
