"""Sentences that show what the best head of each relation does.

They are drawn by a seed, from those that are short enough for a page. A sentence that already stands in the
page is taken before another, so that a page holds few maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.analyses.cards.section import gallery
from headscope.analyses.study import Study
from headscope.analyses.syntax.run import syntax
from headscope.analyses.syntax.section import Looked, Shown, Syntax, Tree
from headscope.analyses.syntax.statistics import ALL, DIRECTIONS, WITHOUT, predictions, table
from headscope.corpora import Example, builtin_trees
from headscope.heads import Head
from headscope.stream.long import examples
from headscope.stream.words import gold, head_maps
from headscope.views.section import Section

WORDS = 3, 16
"""The fewest and the most words of a sentence that is drawn."""

DRAWN = 24
"""How many sentences are looked at for each relation."""

EACH = 3
"""How many are shown where a head is right, and where it is wrong."""

LEAST = 0.04
"""The least attention that is drawn."""

Maps = dict[Head, npt.NDArray[Any]]


def section(study: Study, *, seed: int = 0) -> list[Section]:
    """Table 1 on a treebank (the built-in one by default), and sentences for the best head of each relation."""
    pages = gallery(study)
    model, treebank = study.model, study.treebank or builtin_trees()
    found = syntax(model, treebank, seed=seed, **study.run)
    best: dict[str, tuple[int, Head]] = {
        str(row.relation): (DIRECTIONS.index(str(row.direction)), Head(int(row.layer), int(row.head)))
        for row in _rows(table(found))
        if not row.few and row.relation not in (ALL, WITHOUT, "root")
    }
    drawn = _draw(examples(model, treebank, study.limit), best, seed)
    maps = head_maps(model, drawn, {head for _, head in best.values()})
    pages.room()
    places: dict[int, int] = {}
    shown = {name: _shown(name, *best[name], drawn, maps, places) for name in best}
    trees: list[Tree] = []
    for number in places:
        words, heads, relations = gold(drawn[number])
        trees.append(Tree(words, heads.tolist(), relations, pages.add(drawn[number])))
    command = study.typed and study.typed.on("syntax", "--treebank")
    return [Syntax(found, trees, shown, command)]


def _rows(made: Any) -> Iterator[Any]:
    return iter(made.itertuples())


def _draw(stream: Iterable[Example], names: Iterable[str], seed: int) -> list[Example]:
    """For each relation a uniform sample of the short sentences that have it, in an order of their own."""
    draw = np.random.default_rng(seed)
    counts = dict.fromkeys(names, 0)
    kept: dict[str, list[int]] = {name: [] for name in counts}
    held: dict[int, Example] = {}
    for number, example in enumerate(stream):
        words, _, relations = gold(example)
        if not WORDS[0] <= len(words) <= WORDS[1]:
            continue
        for name in counts.keys() & set(relations):
            counts[name] += 1
        for name in sorted(counts.keys() & set(relations)):
            slot = len(kept[name]) if len(kept[name]) < DRAWN else int(draw.integers(counts[name]))
            if slot < DRAWN:
                kept[name][slot : slot + 1] = [number]
                held[number] = example
        if len(held) > 4 * DRAWN * max(1, len(kept)):
            held = {one: held[one] for own in kept.values() for one in own}
    numbers = sorted(set[int]().union(*kept.values()))
    return [held[numbers[place]] for place in draw.permutation(len(numbers))]


def _shown(
    name: str,
    direction: int,
    head: Head,
    drawn: Sequence[Example],
    maps: Sequence[Maps],
    places: dict[int, int],
) -> Shown:
    """Sentences of a relation. `places` tells those of the section by their numbers, and grows."""
    both: tuple[list[int], list[int]] = ([], [])
    known: dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]] = {}
    for number, example in enumerate(drawn):
        _, heads, relations = gold(example)
        words = np.array([word for word, own in enumerate(relations) if own == name], np.int64)
        if not words.size:
            continue
        predicted = predictions(maps[number][head][None])[direction][0]
        right = predicted[words] == heads[words]
        known[number] = words, predicted[words], right
        both[0 if right.all() else 1].append(number)
    made: list[list[Looked]] = []
    for numbers in both:
        kept = sorted(numbers, key=lambda number: number not in places)[:EACH]
        made.append([])
        for number in kept:
            sentence = places.setdefault(number, len(places))
            words, predicted, right = known[number]
            arcs = _arcs(maps[number][head], direction, words, predicted, gold(drawn[number])[1])
            made[-1].append(Looked(sentence, words.tolist(), predicted.tolist(), right.tolist(), arcs))
    return Shown(made[0], made[1], len(known))


def _arcs(
    weights: npt.NDArray[Any],
    direction: int,
    words: npt.NDArray[np.int64],
    predicted: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int64],
) -> list[tuple[int, int, float]]:
    """What is drawn: attention of at least `LEAST`, and that to or from a head or a choice of the relation."""
    drawn = weights >= LEAST
    for others in (predicted, heads[words]):
        one, other = (words, others) if direction == 0 else (others, words)
        drawn[one, other] = True
    np.fill_diagonal(drawn, False)
    return [(int(one), int(other), float(weights[one, other])) for one, other in np.argwhere(drawn)]
