"""The report's section on two groups of labelled inputs, with a typical input of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headscope.analyses.cards.section import gallery
from headscope.analyses.compare_groups import statistics as two_groups
from headscope.analyses.compare_groups.run import groups
from headscope.analyses.compare_groups.section import Groups
from headscope.analyses.study import Gallery, Study, look
from headscope.heads import Head
from headscope.models import Model
from headscope.tokens import Tokens
from headscope.views.section import Beside, Section

BYTES = 1_500_000
"""Up to how many bytes of maps the examples add to the page."""

LONGEST = 128
"""The most tokens of an input that is shown."""


def section(study: Study) -> list[Section]:
    """Two groups of labelled texts or pairs, and inputs that show the rows the page lists."""
    pages, model = gallery(study), study.model
    assert study.pairs is not None
    command = study.typed and study.typed.on("compare groups", "--pairs", "--label")
    found = groups(model, study.pairs, **study.run)
    made = Groups(found.figures, command=command)
    if pages.show is None:
        return [made]
    pages.room(BYTES)
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
            places[both] = _put(model, [found.inputs.tokens[number] for number in both], made, pages)
        place = places[both]
        if place is not None:
            examples[str(row.measure), head] = place
    return [replace(made, examples=examples)]


def _put(model: Model, tokens: list[Tokens], made: Groups, pages: Gallery) -> int | None:
    if max(map(len, tokens)) > LONGEST:
        return None
    labels = [f"{letter} · {one['label']}" for letter, one in zip("AB", made.meta["groups"], strict=True)]
    one, two = (
        replace(look(model, own), neurons={}, label=label) for own, label in zip(tokens, labels, strict=True)
    )
    return pages.put(Beside(one, two, {"side": "both"}))
