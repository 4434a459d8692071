"""The dots beside a finding of the summary, and the map of what heads are known to do."""

from __future__ import annotations

from typing import Any, cast

import xarray as xr

from headscope.core.heads import Head
from headscope.reports.leads import Finding, lead
from headscope.views.marks import map_of_marks
from headscope.views.reasons import because

VALUES = {
    "label": ["all", "all but punct, root", "allele", "owner", "owner", "few", "cause", "place"],
    "layer": [0, 0, 1, 0, 1, 0, 0, None],
    "head": [0, 0, 2, 3, 0, 1, 1, None],
    "accuracy": [0.99, 0.98, 0.5, 0.4, 0.7, 0.97, 0.6, 0.1],
    "baseline_accuracy": [0.1, 0.1, 0.2, 0.3, None, 0.1, 0.1, 0.1],
    "rare": [False, False, False, False, False, True, False, False],
}


def test_dots_are_of_the_best_rows_and_of_no_row_over_all() -> None:
    table: dict[str, Any] = {
        "kind": "table",
        "values": VALUES,
        "reasons": [None] * 8,
        "faint": "rare",
        "columns": [{"name": "baseline_accuracy", "label": "best\noffset"}],
        "more": [],
    }
    shown = [{"kind": "blocks", "name": "links", "blocks": [table]}]
    made = lead(Finding([], "links", "Heads connect"), shown, xr.Dataset(), examples=False)
    (chart,) = next(block for block in made["blocks"] if block["kind"] == "chart")["charts"]
    assert chart["y"]["names"] == ["owner", "cause", "allele"]
    assert chart["y"]["opposite"] == ["70%", "60%", "50%"]
    assert chart["x"]["title"] == "tick: best offset"
    assert chart["rows"] == {
        "x": [0.7, 0.6, 0.5, 0.4],
        "y": [0, 1, 2, 0],
        "link": ["L1H0", "L0H1", "L1H2", "L0H3"],
        "against": [None, 0.1, 0.2, 0.3],
    }


def test_a_cell_of_the_first_map_opens_the_figure_of_its_own_mark() -> None:
    first, second, third = (Head(0, 0), Head(0, 1), Head(1, 0))
    marks = {
        "best at antecedents": {second: because("finds the antecedent of", "78%")},
        "dependencies": {
            first: because("finds the subject of", "48%"),
            second: because("finds all of", "48%"),
        },
    }
    title, charts = cast("Any", map_of_marks)([first, second, third], marks, out={"dependencies"})
    assert "".join(part["text"] for part in title["parts"]) == "2 of 3 heads stand out"
    assert [reason and reason["figure"] for reason in charts["reasons"]] == ["48%", "78%", None]
    assert charts["charts"][0]["rows"]["colour"] == [1, 0, None]
    assert charts["tips"] == ["dependencies", "best at antecedents, dependencies", "none of these"]
