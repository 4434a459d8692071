"""Mentions that show what the best heads choose as antecedents, drawn as the sentences of syntax are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.analyses.cards.section import gallery
from headscope.analyses.coref.run import coreference, windows
from headscope.analyses.coref.section import Chosen, Coref, Window
from headscope.analyses.coref.statistics import CANDIDATES, Item, Mentioned, candidates, items, mentioned
from headscope.analyses.study import Study
from headscope.corpora import Example, builtin_trees
from headscope.heads import Head
from headscope.models import Model
from headscope.stream.words import head_maps
from headscope.views.section import Section

EACH = 3
"""How many mentions are shown where a head is right, and where it is wrong."""

WINDOW = 48
"""The most tokens of a text that is shown with its mentions."""

TEXTS = 48
"""How many such texts are looked at."""


def section(study: Study, *, seed: int = 0) -> list[Section]:
    """Table 2 on a corpus (the built-in one by default), and mentions for the best heads."""
    pages = gallery(study)
    model, corpus = study.model, study.coref or builtin_trees()
    found = coreference(model, corpus, seed=seed, **study.run)
    best: dict[str, Head] = {}
    for name, place in zip(found["candidates"].values, found["best"].values, strict=True):
        layer, head = divmod(int(place), found.sizes["head"])
        best[str(name)] = Head(int(found["layer"].values[layer]), int(found["head"].values[head]))
    drawn = _texts(model, corpus, study.limit, seed)
    maps = head_maps(model, drawn, set(best.values()))
    own = [_mentions(example) for example in drawn]
    pages.room()
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
            pages.add(drawn[number]),
            drawn[number].spaces,
        )
        for number in places
    ]
    command = study.typed and study.typed.on("coref", "--coref")
    return [Coref(found, made, shown, WINDOW, command)]


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
