"""The dots beside a finding of the summary."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headscope.reports.leads import Finding, lead

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
