"""Inputs that show what the best head of each label does, drawn by a seed from those that are short enough for a page.

An input that already stands in the page is taken before another, so that a page holds few maps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np

from headscope.analyses.links.engine import LinkEngine, Maps
from headscope.analyses.links.questions import AskedExample, ReadDirection, Way
from headscope.analyses.links.run import Links, links
from headscope.analyses.links.section import BestHeads, Drawn, Linked
from headscope.analyses.sample import Sample
from headscope.analyses.study import Study
from headscope.core.arrays import Bools, Ints
from headscope.core.heads import Head
from headscope.core.words import joined
from headscope.errors import InputError
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
    result = links(model, corpus, seed=seed, limit=limit, progress=study.progress)
    made = Linked(result, command=study.typed and study.typed.on("links", "--links"))
    return [shown_on(made, study, engine, engine.asked(corpus, limit), SIZE, seed)]


def shown_on(
    made: BestHeads,
    study: Study,
    engine: LinkEngine,
    asked: Iterable[AskedExample],
    size: tuple[int, int],
    seed: int,
) -> BestHeads:
    """A section with inputs that show the best heads, of at least and at most so many words or tokens."""
    ways = {way.name: way for way in engine.ways}
    best = {row[1]: (ways[row.direction], Head.at(row)) for row in made.kinds if not row.few}
    short = (item for item in asked if size[0] <= item.question.key.size <= size[1])
    inputs = drawn(((item, _labels(item)) for item in short), best, seed)
    maps = engine.maps(inputs, {head for _, head in best.values()})
    pages, called = study.gallery, made.terms.called
    pages.room()
    indices: dict[int, int] = {}
    shown = {
        name: _shown(name, way, [by_head[head] for by_head in maps], inputs, indices)
        for name, (way, head) in best.items()
    }
    columns = [called(name) for name, (way, _) in best.items() if way.direction == "column"]
    sentences: list[LinkSentence] = []
    for one in (inputs[number] for number in indices):
        named = [replace(link, label=called(link.label)) for link in engine.links(one) if link.label in best]
        sentences.append(_sentence(one, pages.add(one, named, columns)))
    return replace(made, sentences=sentences, examples=shown)


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


def choices(weights: Maps, read: ReadDirection, way: Way) -> tuple[Ints, Bools]:
    """What a head chooses for each source, −1: nothing, and whether it is right, ``[source]``."""
    lines = weights if way.direction == "row" else weights.T
    masked = np.where(read.allowed[way.candidates], lines[read.source], -1.0)
    chosen = np.where(masked.max(1) > 0, masked.argmax(1), -1)
    return chosen, (chosen >= 0) & read.target[np.arange(len(chosen)), chosen]


def _labels(asked: AskedExample) -> set[str]:
    question = asked.question
    return {label for label, bare in zip(question.labels, question.bare, strict=True) if not bare}


def _shown(
    name: str, way: Way, maps: Sequence[Maps], inputs: Sequence[AskedExample], indices: dict[int, int]
) -> Drawn:
    """Inputs of a label where a head is right on all its links, and where it is not.

    `indices` are the places of inputs on the page by their numbers; those come first, and it grows.
    """
    shown: dict[int, LinkShown] = {}
    row = way.direction == "row"
    for number, (asked, weights) in enumerate(zip(inputs, maps, strict=True)):
        question, read = asked.question, asked.question.read[way.direction]
        links = np.flatnonzero((np.array(question.labels) == name) & ~question.bare)
        if not links.size:
            continue
        words = read.source[links]
        predicted, right = (values[links] for values in choices(weights, read, way))
        targets = [np.flatnonzero(mask) for mask in read.target[links]]
        pairs = [(word, target) for word, places in zip(words, targets, strict=True) for target in places]
        pairs += [(word, other) for word, other in zip(words, predicted, strict=True) if other >= 0]
        sources, others = np.array(pairs, np.int64).reshape(-1, 2).T
        shown[number] = LinkShown(
            sentence=number,
            words=words.tolist(),
            pins=[
                Pin(side="from" if row else "to", place=int(question.key.groups[word][0]))
                for word in cast("list[int]", words.tolist())
            ],
            targets=[places.tolist() for places in targets],
            predicted=predicted.tolist(),
            right=right.tolist(),
            arcs=_arcs(weights, row, sources, others, question.key.size),
        )
    kinds: list[list[LinkShown]] = []
    for kind in (True, False):
        numbers = [number for number, one in shown.items() if all(one["right"]) is kind]
        numbers = sorted(numbers, key=lambda number: number not in indices)[:SHOWN]
        kinds.append(
            [{**shown[number], "sentence": indices.setdefault(number, len(indices))} for number in numbers]
        )
    return Drawn(*kinds, looked=len(shown))


def _arcs(weights: Maps, row: bool, words: Ints, others: Ints, size: int) -> list[list[float]]:
    """What is drawn: attention of at least `LEAST`, and that between words and others, of which each is query in a row.

    Of spans of several words, which follow the first `size` units, only what is named is drawn.
    """
    strong = weights >= LEAST
    strong[size:] = strong[:, size:] = False
    strong[(words, others) if row else (others, words)] = True
    np.fill_diagonal(strong, False)
    return [[start, end, round(float(weights[start, end]), 3)] for start, end in np.argwhere(strong).tolist()]


def _sentence(asked: AskedExample, example: int | None) -> LinkSentence:
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
