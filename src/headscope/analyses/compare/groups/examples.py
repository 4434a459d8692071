"""The report's section on two groups of labelled inputs, with a typical input of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from headscope.analyses.compare.groups.run import groups
from headscope.analyses.compare.groups.section import GroupsSection
from headscope.analyses.example_maps import look, side_by_side
from headscope.analyses.study import Study
from headscope.core.heads import Head
from headscope.core.maps import AttentionMaps
from headscope.views.explorer import Input
from headscope.views.payload import Pin
from headscope.views.reasons import definition, nearest_rows
from headscope.views.section import Section, SideBySide

BYTES = 1_500_000
"""Up to how many bytes of maps the examples add to the page."""

LONGEST = 128
"""The most tokens of an input that is shown."""


def section(study: Study) -> list[Section]:
    """Two groups of labelled texts or pairs, and inputs that show the rows the page lists."""
    pages = study.gallery
    assert study.pairs is not None
    command = study.typed and study.typed.on("compare groups", "--pairs", "--label")
    result = groups(study.model, study.pairs, **study.run)
    section = GroupsSection(result.figures, command=command)
    if pages.show is None:
        return [section]
    pages.room(BYTES)
    labels = [str(group["label"]) for group in section.meta["groups"]]
    indices: dict[tuple[int, int], int | None] = {}
    views: dict[int, Input] = {}  # of the inputs that are on the page
    examples: dict[tuple[str, Head], int] = {}
    pins: dict[tuple[str, Head], Pin] = {}
    listed: Any = section.listed
    for row in listed.itertuples():
        head = Head.at(row)
        typical = result.typical(str(row.measure), head)
        key = id(typical[0]), id(typical[1])
        if key not in indices:
            indices[key] = None
            if max(map(len, typical)) <= LONGEST:
                a, b = (views.get(id(tokens)) or look(study.model, tokens) for tokens in typical)
                indices[key] = pages.put(side_by_side((a, b), labels, {"side": "both"}))
                if indices[key] is not None:
                    views.update(zip(key, (a, b), strict=True))
        if (index := indices[key]) is not None:
            examples[str(row.measure), head] = index
            view = pages.inputs[index]
            assert isinstance(view, SideBySide)
            if (pin := _pin(str(row.measure), view.first.first, head, float(row.group_a))) is not None:
                pins[str(row.measure), head] = pin
    return [replace(section, examples=examples, pins=pins)]


def _pin(name: str, maps: AttentionMaps, head: Head, mean: float) -> Pin | None:
    """The row of A's typical input whose figure is nearest to the mean of A; None for a measure that has no rows."""
    measure = definition(name)
    layer = list(maps.index).index(head.layer)
    rows = measure and nearest_rows(measure, maps, layer, [head.head], np.array([mean]))
    return None if rows is None else Pin(side="from", place=int(rows.query[0]))
