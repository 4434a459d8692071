"""Mentions that show what the best heads choose as antecedents, drawn as the sentences of syntax."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from headscope.analyses.links.coref import statistics
from headscope.analyses.links.coref.run import Antecedents, around, coreference, of_word, pieces
from headscope.analyses.links.coref.section import Coref, label_of
from headscope.analyses.links.engine import Maps
from headscope.analyses.links.examples import choices
from headscope.analyses.links.questions import AskedExample, Way
from headscope.analyses.sample import Sample
from headscope.analyses.study import Study
from headscope.core.link import Link
from headscope.corpora import Corpus, Example, builtin_trees
from headscope.views.blocks import MentionShown, MentionText
from headscope.views.payload import Pin
from headscope.views.section import Section

SHOWN = 3
"""How many mentions are shown where a head is right, and where it is wrong."""

WINDOW = 48
"""The most tokens of a text that is shown with its mentions."""

TEXTS = 48
"""How many such texts are looked at."""


class _Shown(NamedTuple):
    """A text by its number, what is shown of it, and the mention's link."""

    text: int
    mention: MentionShown
    link: Link


def section(study: Study, *, seed: int = 0) -> list[Section]:
    """Table 2 on a corpus (the built-in one by default), and mentions for the best heads."""
    pages = study.gallery
    model, corpus = study.model, study.coref or builtin_trees()
    limit = study.sentences(study.coref)
    result = coreference(model, corpus, seed=seed, limit=limit, progress=study.progress)
    engine = Antecedents(model, WINDOW)
    texts = _texts(engine, corpus, limit, seed)
    best = {way.name: statistics.best_head(result, way.name) for way in engine.ways}
    maps = engine.maps(texts, {*best.values()})
    pages.room()
    indices: dict[int, int] = {}
    shown = {
        way.name: _shown([by_head[best[way.name]] for by_head in maps], engine, texts, way, indices)
        for way in engine.ways
    }
    windows: list[MentionText] = []
    for number in indices:
        text, (mentions, _) = texts[number], statistics.annotated(texts[number])
        links = [one.link for some in shown.values() for one in some if one.text == number]
        windows.append(
            MentionText(
                words=[*(text.words or ())],
                mentions=[
                    [span.start, span.end, mention.head]
                    for span, mention in zip(text.mentions or (), mentions, strict=True)
                ],
                example=pages.add(text, links),
                spaces=None if text.spaces is None else [*text.spaces],
            )
        )
    command = study.typed and study.typed.on("coref", "--coref")
    examples = {name: [one.mention for one in some] for name, some in shown.items()}
    return [Coref(result, windows, examples, WINDOW, command)]


def _texts(
    engine: Antecedents, corpus: Iterable[Example], limit: int | None, seed: int
) -> list[AskedExample]:
    """A uniform sample of the short runs of sentences in which a mention can be evaluated."""

    def fitting() -> Iterator[Example]:
        document, last = -1, None
        special = around(engine.model)
        for example in islice(corpus, limit):
            fits = pieces(engine.model, example) + special <= WINDOW
            document += example.document != last or not fits
            last = example.document
            if fits:
                yield replace(example, document=document)

    draw = np.random.default_rng(seed)
    sample = Sample[AskedExample](TEXTS, draw)
    for text in engine.asked(Corpus("short sentences", fitting)):
        if text.question.labels:
            sample.add(text)
    return [sample.items[index] for index in draw.permutation(len(sample.items))]


def _shown(
    maps: Sequence[Maps],
    engine: Antecedents,
    texts: Sequence[AskedExample],
    way: Way,
    indices: dict[int, int],
) -> list[_Shown]:
    """Mentions of different texts for which a head is right, and wrong ones. `indices` is as for sentences."""
    shown: list[_Shown] = []
    for right in (True, False):
        numbers = sorted(range(len(texts)), key=lambda number: number not in indices)
        firsts = (_choice(maps[number], engine, texts[number], number, way, right) for number in numbers)
        for choice in islice(filter(None, firsts), SHOWN):
            choice.mention["window"] = indices.setdefault(choice.text, len(indices))
            shown.append(choice)
    return shown


def _choice(
    weights: Maps, engine: Antecedents, text: AskedExample, number: int, way: Way, right: bool
) -> _Shown | None:
    """What a head chooses for the first mention of a text for which it is right, or wrong."""
    read = text.question.read[way.direction]
    predicted, hits = choices(weights, read, way)
    places = np.flatnonzero((hits == right) & (predicted >= 0))
    if not places.size:
        return None
    place = int(places[0])
    mentions, items = statistics.annotated(text)
    mention, word = items[place].mention, int(predicted[place])
    among = np.flatnonzero(read.allowed[way.candidates][place]).tolist()
    return _Shown(
        number,
        MentionShown(
            window=-1,
            mention=next(index for index, other in enumerate(mentions) if other is mention),
            predicted=word,
            weight=round(float(weights[mention.head, word]), 4),
            antecedents=[
                index
                for index, other in enumerate(mentions)
                if other.cluster == mention.cluster and other.head < mention.head
            ],
            right=right,
            pin=Pin(side="from", place=int(text.question.key.groups[mention.head][0])),
        ),
        replace(engine.links(text)[place], label=label_of(way.name), candidates=tuple(map(of_word, among))),
    )
