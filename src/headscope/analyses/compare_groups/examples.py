"""The report's section on two groups of labelled inputs, with a typical input of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headscope.analyses.cards.section import gallery
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
    pages = gallery(study)
    assert study.pairs is not None
    command = study.typed and study.typed.on("compare groups", "--pairs", "--label")
    result = groups(study.model, study.pairs, **study.run)
    section = Groups(result.figures, command=command)
    if pages.show is None:
        return [section]
    pages.room(BYTES)
    labels = [
        f"{letter} · {group['label']}" for letter, group in zip("AB", section.meta["groups"], strict=True)
    ]
    indices: dict[tuple[int, ...], int | None] = {}
    examples: dict[tuple[str, Head], int] = {}
    listed: Any = section.listed
    for row in listed.itertuples():
        head = Head(int(row.layer), int(row.head))
        typical = result.typical(str(row.measure), head)
        key = tuple(map(id, typical))
        if key not in indices:
            indices[key] = _put(study.model, typical, labels, pages)
        if (index := indices[key]) is not None:
            examples[str(row.measure), head] = index
    return [replace(section, examples=examples)]


def _put(model: Model, inputs: tuple[Tokens, Tokens], labels: list[str], pages: Gallery) -> int | None:
    """The index of the example with these inputs; None where they are too long, or there is no room."""
    if max(map(len, inputs)) > LONGEST:
        return None
    first, second = (
        replace(look(model, tokens), neurons={}, label=label)
        for tokens, label in zip(inputs, labels, strict=True)
    )
    return pages.put(Beside(first, second, {"side": "both"}))
