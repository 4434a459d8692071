"""Sentences that show what the best head of each relation does.

They are drawn by a seed, from those that are short enough for a page. A sentence that already stands in the
page is taken before another, so that a page holds few maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.analyses.links.examples import arcs, drawn, first_token, parted
from headscope.analyses.links.questions import ALL
from headscope.analyses.links.section import Drawn
from headscope.analyses.links.syntax.run import syntax
from headscope.analyses.links.syntax.section import Syntax
from headscope.analyses.links.syntax.statistics import DIRECTIONS, WITHOUT, predictions, table
from headscope.analyses.study import Study
from headscope.core.heads import Head
from headscope.core.link import Link, Span
from headscope.corpora import Example, builtin_trees
from headscope.corpora.relations import in_words
from headscope.runs.batches import examples
from headscope.runs.words import gold, head_maps
from headscope.views.blocks import LinkSentence, LinkShown
from headscope.views.payload import Pin
from headscope.views.section import Section

WORDS = 3, 16
"""The fewest and the most words of a sentence that is drawn."""

Maps = dict[Head, npt.NDArray[Any]]


def section(study: Study, *, seed: int = 0) -> list[Section]:
    """Table 1 on a treebank (the built-in one by default), and sentences for the best head of each relation."""
    pages = study.gallery
    model, treebank = study.model, study.treebank or builtin_trees()
    limit = study.sentences(study.treebank)
    result = syntax(model, treebank, seed=seed, limit=limit, progress=study.progress)
    rows: Any = table(result)
    best: dict[str, tuple[int, Head]] = {
        str(row.relation): (DIRECTIONS.index(str(row.direction)), Head(int(row.layer), int(row.head)))
        for row in rows.itertuples()
        if not row.few and row.relation not in (ALL, WITHOUT, "root")
    }
    inputs = _draw(examples(model, treebank, limit), best, seed)
    maps = head_maps(model, inputs, {head for _, head in best.values()})
    pages.room()
    indices: dict[int, int] = {}
    shown = {name: _shown(name, *best[name], inputs, maps, indices) for name in best}
    sentences: list[LinkSentence] = []
    columns = [
        in_words(name) for name, (direction, _) in best.items() if DIRECTIONS[direction] == "head->dep"
    ]
    for number in indices:
        words, heads, relations = gold(inputs[number])
        named = [
            Link(Span(word, word + 1), (Span(head, head + 1),), in_words(relation))
            for word, (head, relation) in enumerate(zip(heads.tolist(), relations, strict=True))
            if relation in best and head >= 0
        ]
        example = pages.add(inputs[number], named, columns)
        sentences.append(LinkSentence(words=[*words], spans=[], second=None, example=example))
    return [Syntax(result, sentences, shown, study.typed and study.typed.on("syntax", "--treebank"))]


def _draw(stream: Iterable[Example], names: Iterable[str], seed: int) -> list[Example]:
    """For each relation a uniform sample of the short sentences that have it, in an order of their own."""
    golds = ((example, gold(example)) for example in stream)
    short = (
        (example, relations) for example, (words, _, relations) in golds if WORDS[0] <= len(words) <= WORDS[1]
    )
    return drawn(short, names, seed)


def _shown(
    name: str,
    direction: int,
    head: Head,
    drawn: Sequence[Example],
    maps: Sequence[Maps],
    indices: dict[int, int],
) -> Drawn:
    """Sentences of a relation. `indices` are those of the page's sentences by their numbers, and grow."""
    shown: dict[int, LinkShown] = {}
    for number, example in enumerate(drawn):
        _, heads, relations = gold(example)
        words = np.flatnonzero(np.array(relations) == name)
        if words.size:
            weights = maps[number][head]
            predicted = predictions(weights[None])[direction][0][words]
            shown[number] = LinkShown(
                sentence=number,
                words=words.tolist(),
                pins=[
                    Pin(side="from" if direction == 0 else "to", place=first_token(example, word))
                    for word in words.tolist()
                ],
                targets=[[head] for head in heads[words].tolist()],
                predicted=predicted.tolist(),
                right=(predicted == heads[words]).tolist(),
                arcs=arcs(weights, direction == 0, words, (predicted, heads[words]), len(weights)),
            )
    return parted(shown, indices)
