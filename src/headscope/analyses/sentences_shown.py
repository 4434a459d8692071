"""The report's sections of syntax, coreference and probes, with sentences that show what heads do.

The sentences are drawn by a seed, from those that are short enough for a page. A sentence that already stands in the
page is taken before another, so that a page holds few maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope.analyses.coref.run import coreference, windows
from headscope.analyses.coref.section import Chosen, Coref, Window
from headscope.analyses.coref.statistics import CANDIDATES, Item, Mentioned, candidates, items, mentioned
from headscope.analyses.probes.run import KINDS, probe
from headscope.analyses.probes.section import Probes
from headscope.analyses.syntax.run import syntax
from headscope.analyses.syntax.section import Looked, Shown, Syntax, Tree
from headscope.analyses.syntax.statistics import ALL, DIRECTIONS, WITHOUT, predictions, table
from headscope.corpora import Corpus, Example, builtin_trees
from headscope.errors import InputError
from headscope.heads import Head
from headscope.models import Model
from headscope.reports.page import Beside
from headscope.stream.long import examples
from headscope.stream.words import gold, word_maps
from headscope.tokens import Tokens
from headscope.views.explorer import Input

LINGUISTIC = ("syntax", "coref", "probes")
"""The sections, by the names that ``--sections`` takes."""

WORDS = 3, 16
"""The fewest and the most words of a sentence that is drawn."""

DRAWN = 24
"""How many sentences are looked at for each relation."""

EACH = 3
"""How many are shown where a head is right, and where it is wrong."""

WINDOW = 48
"""The most tokens of a text that is shown with its mentions."""

TEXTS = 48
"""How many such texts are looked at."""

LEAST = 0.04
"""The least attention that is drawn."""

BYTES = 1_500_000
"""Up to how many bytes of maps each section adds to the page's examples."""

TRAINED = 400
"""The most sentences of a treebank that probes are trained and scored on."""

PROBES = tuple(kind for kind in KINDS if kind != "structural")
"""The probes of a report. Structural ones, which keep the hidden states of every layer, would take longest."""

SMALL = 1000
"""Sentences that probes need to be trained on for anything to be concluded."""

_BATCH = 32
Maps = dict[Head, npt.NDArray[Any]]


@dataclass
class Gallery:
    """The page's examples, to which sections add theirs.

    Attributes:
        inputs: the examples.
        show: makes one of tokens; None where the page has no examples.
    """

    inputs: list[Input | Beside]
    show: Callable[[Tokens], Input] | None
    _left: int = field(default=0, init=False)

    def room(self, size: int = BYTES) -> None:
        """Begin a section, which may add so many bytes."""
        self._left = size

    def add(self, example: Example) -> int | None:
        """Its place among the examples; None where there is no room for it."""
        if self.show is None or example.tokens is None:
            return None
        return self.put(replace(self.show(example.tokens), neurons={}))

    def put(self, made: Input | Beside, *, must: bool = False) -> int | None:
        """The place of an example that was made; None where there is no room for it, unless it must be there."""
        inputs = [made.first, made.second] if isinstance(made, Beside) else [made]
        size = sum(layer.size for one in inputs for maps in one.parts.values() for layer in maps.layers)
        if size > self._left and not must:
            return None
        self._left -= size
        self.inputs.append(made)
        return len(self.inputs) - 1


def syntax_section(
    model: Model,
    treebank: Corpus | None,
    gallery: Gallery,
    *,
    limit: int | None = None,
    seed: int = 0,
    progress: bool = False,
    command: str | None = None,
) -> Syntax:
    """Table 1 on a treebank (the built-in one by default), and sentences for the best head of each relation."""
    treebank = builtin_trees() if treebank is None else treebank
    found = syntax(model, treebank, limit=limit, seed=seed, progress=progress)
    best: dict[str, tuple[int, Head]] = {
        str(row.relation): (DIRECTIONS.index(str(row.direction)), Head(int(row.layer), int(row.head)))
        for row in _rows(table(found))
        if not row.few and row.relation not in (ALL, WITHOUT, "root")
    }
    drawn = _draw(examples(model, treebank, limit), best, seed)
    maps = _maps(model, drawn, {head for _, head in best.values()})
    gallery.room()
    places: dict[int, int] = {}
    shown = {name: _shown(name, *best[name], drawn, maps, places) for name in best}
    trees: list[Tree] = []
    for number in places:
        words, heads, relations = gold(drawn[number])
        trees.append(Tree(words, heads.tolist(), relations, gallery.add(drawn[number])))
    return Syntax(found, trees, shown, command)


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


def _maps(model: Model, drawn: Sequence[Example], heads: set[Head]) -> list[Maps]:
    """The maps over words of these heads, for each example."""
    found: list[Maps] = [{} for _ in drawn]
    for start in range(0, len(drawn), _BATCH):
        numbers = range(start, min(start + _BATCH, len(drawn)))

        def look(layer: int, maps: npt.NDArray[Any], numbers: Sequence[int] = numbers) -> None:
            for head in heads:
                if head.layer == layer:
                    for place, number in enumerate(numbers):
                        count = len(drawn[number].words or ())
                        found[number][head] = maps[place, head.head, :count, :count]

        word_maps(model, [drawn[number] for number in numbers], look)
    return found


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


def coref_section(
    model: Model,
    corpus: Corpus | None,
    gallery: Gallery,
    *,
    limit: int | None = None,
    seed: int = 0,
    progress: bool = False,
    command: str | None = None,
) -> Coref:
    """Table 2 on a corpus (the built-in one by default), and mentions for the best heads."""
    corpus = builtin_trees() if corpus is None else corpus
    found = coreference(model, corpus, limit=limit, seed=seed, progress=progress)
    best: dict[str, Head] = {}
    for name, place in zip(found["candidates"].values, found["best"].values, strict=True):
        layer, head = divmod(int(place), found.sizes["head"])
        best[str(name)] = Head(int(found["layer"].values[layer]), int(found["head"].values[head]))
    drawn = _texts(model, corpus, limit, seed)
    maps = _maps(model, drawn, set(best.values()))
    own = [_mentions(example) for example in drawn]
    gallery.room()
    places: dict[int, int] = {}
    shown = {
        kind: _chosen([own_maps[best[kind]] for own_maps in maps], drawn, own, kind, places)
        for kind in CANDIDATES
    }
    made = [
        Window(
            drawn[number].words or (),
            [
                (span.start, span.end, one.head)
                for span, one in zip(drawn[number].mentions or (), own[number][0], strict=True)
            ],
            gallery.add(drawn[number]),
            drawn[number].spaces,
        )
        for number in places
    ]
    return Coref(found, made, shown, WINDOW, command)


def _texts(model: Model, corpus: Iterable[Example], limit: int | None, seed: int) -> list[Example]:
    """A uniform sample of the short runs of sentences in which a mention can be evaluated."""

    def fitting() -> Iterator[Example]:
        document, last = -1, None
        around = len(model.encode("A")) - sum(model.count(["A"]))
        for example in islice(corpus, limit):
            fits = sum(model.count([" ".join(example.words or ())])) + around <= WINDOW
            document += example.document != last or not fits
            last = example.document
            if fits:
                yield replace(example, document=document)

    draw = np.random.default_rng(seed)
    kept: list[Example] = []
    count = 0
    for example in windows(model, fitting(), WINDOW):
        if not _mentions(example)[1]:
            continue
        count += 1
        slot = len(kept) if len(kept) < TEXTS else int(draw.integers(count))
        if slot < TEXTS:
            kept[slot : slot + 1] = [example]
    return [kept[place] for place in draw.permutation(len(kept))]


def _mentions(example: Example) -> tuple[list[Mentioned], list[Item]]:
    found = mentioned(
        example.mentions or (),
        example.words or (),
        example.heads or (),
        example.tags or (),
        example.features or (),
    )
    return found, items(found)


def _chosen(
    maps: Sequence[npt.NDArray[Any]],
    drawn: Sequence[Example],
    own: Sequence[tuple[list[Mentioned], list[Item]]],
    kind: Any,
    places: dict[int, int],
) -> list[Chosen]:
    """Mentions of different texts for which a head is right, and wrong ones. `places` is as for sentences."""
    shown: list[Chosen] = []
    for wanted in (True, False):
        count = 0
        for number in sorted(range(len(drawn)), key=lambda number: number not in places):
            if count == EACH:
                break
            mentions, evaluated = own[number]
            for item in evaluated:
                among = candidates(kind, item, mentions, len(drawn[number].words or ()))
                row = maps[number][item.mention.head]
                word = int(among[row[among].argmax()])
                if (word in item.right) is wanted:
                    earlier = [place for place, one in enumerate(mentions) if _before(one, item.mention)]
                    place = next(i for i, one in enumerate(mentions) if one is item.mention)
                    window = places.setdefault(number, len(places))
                    shown.append(Chosen(window, place, word, float(row[word]), earlier, wanted))
                    count += 1
                    break
    return shown


def _before(one: Mentioned, mention: Mentioned) -> bool:
    return one.cluster == mention.cluster and one.head < mention.head


def probes_section(
    model: Model,
    treebank: Corpus | None,
    *,
    limit: int | None = None,
    seed: int = 0,
    progress: bool = False,
    command: str | None = None,
) -> Probes:
    """Table 3, on the first sentences of a treebank: every fourth document (or sentence) is scored on.

    Raises `InputError` for fewer than eight sentences.
    """
    corpus = builtin_trees() if treebank is None else treebank
    read = list(examples(model, corpus, min(limit or TRAINED, TRAINED)))
    several = len({example.document for example in read}) >= 4
    sides: Mapping[bool, list[Example]] = {True: [], False: []}
    for number, example in enumerate(read):
        sides[(example.document if several else number) % 4 == 3].append(example)
    train, dev = sides[False], sides[True]
    if min(len(train) // 3, len(dev)) < 2:
        raise InputError(f"{corpus.name}: expected at least 8 sentences for probes, found {len(read)}")
    found: xr.Dataset = probe(model, train, dev, kinds=PROBES, seed=seed, progress=progress)
    small = (
        f"Too small to conclude from: trained on {len(train):,} sentences and scored on {len(dev):,}."
        if len(train) < SMALL
        else None
    )
    return Probes(found, corpus.name, len(train), len(dev), small, command)
