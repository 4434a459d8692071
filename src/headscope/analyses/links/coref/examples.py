"""Mentions that show what the best heads choose as antecedents, drawn as the sentences of syntax."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.analyses.links.coref import statistics
from headscope.analyses.links.coref.run import around, coreference, pieces, windows
from headscope.analyses.links.coref.section import Coref, label_of
from headscope.analyses.links.examples import first_token
from headscope.analyses.sample import Sample
from headscope.analyses.study import Study
from headscope.core.heads import Head
from headscope.core.link import Link, Span
from headscope.corpora import Corpus, Example, builtin_trees
from headscope.models import Model
from headscope.runs.words import head_maps
from headscope.views.blocks import MentionShown, MentionText
from headscope.views.payload import Pin
from headscope.views.section import Section

SHOWN = 3
"""How many mentions are shown where a head is right, and where it is wrong."""

WINDOW = 48
"""The most tokens of a text that is shown with its mentions."""

TEXTS = 48
"""How many such texts are looked at."""


def section(study: Study, *, seed: int = 0) -> list[Section]:
    """Table 2 on a corpus (the built-in one by default), and mentions for the best heads."""
    pages = study.gallery
    model, corpus = study.model, study.coref or builtin_trees()
    limit = study.sentences(study.coref)
    result = coreference(model, corpus, seed=seed, limit=limit, progress=study.progress)
    best: dict[statistics.Candidates, Head] = {
        kind: statistics.best_head(result, kind) for kind in statistics.CANDIDATES
    }
    drawn = _texts(model, corpus, limit, seed)
    maps = head_maps(model, drawn, set(best.values()))
    annotations = [statistics.annotated(example) for example in drawn]
    pages.room()
    indices: dict[int, int] = {}
    shown: dict[str, list[MentionShown]] = {
        kind: _shown([by_head[head] for by_head in maps], drawn, annotations, kind, indices)
        for kind, head in best.items()
    }
    places = {place: number for number, place in indices.items()}
    named: dict[int, list[tuple[statistics.Candidates, int]]] = {}
    for kind in best:
        for choice in shown[kind]:
            named.setdefault(places[choice["window"]], []).append((kind, choice["mention"]))
    shown_texts: list[MentionText] = []
    for number in indices:
        example, (mentions, _) = drawn[number], annotations[number]
        spans = zip(example.mentions or (), mentions, strict=True)
        shown_texts.append(
            MentionText(
                words=[*(example.words or ())],
                mentions=[[span.start, span.end, mention.head] for span, mention in spans],
                example=pages.add(example, _links(example, annotations[number], named[number])),
                spaces=None if example.spaces is None else [*example.spaces],
            )
        )
    command = study.typed and study.typed.on("coref", "--coref")
    return [Coref(result, shown_texts, shown, WINDOW, command)]


def _texts(model: Model, corpus: Iterable[Example], limit: int | None, seed: int) -> list[Example]:
    """A uniform sample of the short runs of sentences in which a mention can be evaluated."""

    def fitting() -> Iterator[Example]:
        document, last = -1, None
        special = around(model)
        for example in islice(corpus, limit):
            fits = pieces(model, example) + special <= WINDOW
            document += example.document != last or not fits
            last = example.document
            if fits:
                yield replace(example, document=document)

    draw = np.random.default_rng(seed)
    sample = Sample[Example](TEXTS, draw)
    for example in windows(model, Corpus("short sentences", fitting), WINDOW):
        if statistics.annotated(example)[1]:
            sample.add(example)
    return [sample.items[index] for index in draw.permutation(len(sample.items))]


def _shown(
    maps: Sequence[npt.NDArray[Any]],
    drawn: Sequence[Example],
    annotations: Sequence[tuple[list[statistics.Mentioned], list[statistics.Item]]],
    kind: statistics.Candidates,
    indices: dict[int, int],
) -> list[MentionShown]:
    """Mentions of different texts for which a head is right, and wrong ones. `indices` is as for sentences."""
    shown: list[MentionShown] = []
    for right in (True, False):
        texts = sorted(range(len(drawn)), key=lambda number: number not in indices)
        chosen = (_choice(maps[number], drawn[number], annotations[number], kind, right) for number in texts)
        choices = ((number, choice) for number, choice in zip(texts, chosen, strict=True) if choice)
        for number, choice in islice(choices, SHOWN):
            shown.append({**choice, "window": indices.setdefault(number, len(indices))})
    return shown


def _links(
    example: Example,
    annotation: tuple[list[statistics.Mentioned], list[statistics.Item]],
    named: Sequence[tuple[statistics.Candidates, int]],
) -> list[Link]:
    """The mentions that are shown, each linked to the head words of its antecedents, among what a head chooses from."""
    mentions, evaluated = annotation

    def spans(words: Iterable[int]) -> tuple[Span, ...]:
        return tuple(Span(word, word + 1) for word in sorted({*words}))

    links: list[Link] = []
    for kind, place in named:
        item = next(item for item in evaluated if item.mention is mentions[place])
        among = statistics.candidates(kind, item, mentions, len(example.words or ()))
        (source,) = spans([item.mention.head])
        links.append(Link(source, spans(item.right), label_of(kind), candidates=spans(map(int, among))))
    return links


def _choice(
    weights: npt.NDArray[Any],
    example: Example,
    annotation: tuple[list[statistics.Mentioned], list[statistics.Item]],
    kind: statistics.Candidates,
    right: bool,
) -> MentionShown | None:
    """What a head chooses for the first mention of a text for which it is right, or wrong."""
    mentions, evaluated = annotation
    for item in evaluated:
        among = statistics.candidates(kind, item, mentions, len(example.words or ()))
        row = weights[item.mention.head]
        word = int(among[row[among].argmax()])
        if (word in item.right) is right:
            return MentionShown(
                window=-1,
                mention=next(index for index, mention in enumerate(mentions) if mention is item.mention),
                predicted=word,
                weight=round(float(row[word]), 4),
                antecedents=[
                    index
                    for index, mention in enumerate(mentions)
                    if mention.cluster == item.mention.cluster and mention.head < item.mention.head
                ],
                right=right,
                pin=Pin(side="from", place=first_token(example, item.mention.head)),
            )
    return None
