"""The report's section on two groups of labelled inputs, with a typical input of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headscope.analyses.compare_groups import statistics as two_groups
from headscope.analyses.compare_groups.run import groups
from headscope.analyses.compare_groups.section import Groups
from headscope.analyses.sentences_shown import Gallery
from headscope.corpora import Corpus
from headscope.heads import Head
from headscope.models import Model
from headscope.reports.page import Beside
from headscope.tokens import Tokens
from headscope.views.explorer import Input

BYTES = 1_500_000
"""Up to how many bytes of maps the examples add to the page."""

LONGEST = 128
"""The most tokens of an input that is shown."""


def groups_section(
    model: Model,
    pairs: Corpus,
    gallery: Gallery,
    look: Callable[[Model, Tokens], Input],
    *,
    limit: int | None = None,
    progress: bool = False,
    command: str | None = None,
) -> Groups:
    """Two groups of labelled texts or pairs, and inputs that show the rows the page lists.

    Args:
        model: of the report.
        pairs: labelled inputs, from `headscope.corpora.pairs`.
        gallery: the page's examples.
        look: the maps of a model on an input.
        limit, progress: as for `headscope.compare.groups`.
        command: what gives the same figures.
    """
    found = groups(model, pairs, limit=limit, progress=progress)
    made = Groups(found.figures, command=command)
    if gallery.show is None:
        return made
    gallery.room(BYTES)
    names = [one.name for one in found.inputs.measures]
    layers = list(found.inputs.layers)
    places: dict[tuple[int, int], int | None] = {}
    examples: dict[tuple[str, Head], int] = {}
    listed: Any = made.listed
    for row in listed.itertuples():
        head = Head(int(row.layer), int(row.head))
        at = (names.index(str(row.measure)), layers.index(head.layer), head.head)
        both = two_groups.typical(found.inputs.values, found.second, at)
        if both not in places:
            places[both] = _put(model, [found.inputs.tokens[number] for number in both], made, gallery, look)
        place = places[both]
        if place is not None:
            examples[str(row.measure), head] = place
    return replace(made, examples=examples)


def _put(
    model: Model, tokens: list[Tokens], made: Groups, gallery: Gallery, look: Callable[[Model, Tokens], Input]
) -> int | None:
    if max(map(len, tokens)) > LONGEST:
        return None
    labels = [f"{letter} · {one['label']}" for letter, one in zip("AB", made.meta["groups"], strict=True)]
    one, two = (
        replace(look(model, own), neurons={}, label=label) for own, label in zip(tokens, labels, strict=True)
    )
    return gallery.put(Beside(one, two, {"side": "both"}))
