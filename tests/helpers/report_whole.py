"""A small report of every kind of section that needs no model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headscope.analyses.cards.section import Cards, ExampleCard, ShownExample
from headscope.analyses.distance.run import HeadPlane
from headscope.analyses.measure.section import classes
from headscope.analyses.roles.section import Roles
from headscope.analyses.roles.statistics import COLUMNS
from headscope.core.heads import Head
from headscope.reports.sections import Failed
from tests.helpers.report_sample import dataset, example, report_page

HEADS = [Head(layer, head) for layer in range(3) for head in range(4)]
ROLES = {Head(1, 2): "previous token", Head(0, 1): "separators"}


def roles() -> pd.DataFrame:
    named = (
        0.8, 0.75, 0.85, 0.5, 0.01, 1e-9, 2e-8, 12345, 0.02, 0.025, 60.0, "position", np.nan, 0.93,
        None, np.nan,
    )  # fmt: skip
    without = (*[np.nan] * 7, 0, *[np.nan] * 3, None, np.nan, np.nan, "previous token", 0.31)
    rows = [
        (
            *(head.layer, head.head, head.paper, ROLES.get(head, "none")),
            *(named if head in ROLES else without),
        )
        for head in HEADS
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table.attrs = {"tests": 99, "roles": {"previous token": "because"}, "untested": {"sink": "not causal"}}
    return table


def distances() -> xr.Dataset:
    """Heads on a line, so that the map is known: head k at k."""
    place = np.arange(len(HEADS), dtype=float) / 20
    found = np.abs(place[:, None] - place)
    coords: dict[str, Any] = {}
    for side in "ab":
        coords[f"head_{side}"] = [str(head) for head in HEADS]
        coords[f"layer_{side}"] = (f"head_{side}", [head.layer for head in HEADS])
        coords[f"index_{side}"] = (f"head_{side}", [head.head for head in HEADS])
    axes = ("head_a", "head_b")
    return xr.Dataset(
        {"distance": (axes, found, {"units": "nats a token"})}, coords=coords, attrs={"n": 500, "meta": "{}"}
    )


def card(head: Head) -> ExampleCard:
    return ExampleCard(
        head,
        [ROLES[head]] if head in ROLES else [],
        "previous" if head in ROLES else "entropy",
        "share" if head in ROLES else "nats",
        head not in ROLES,
        [ShownExample(1, 0.9, 1, 10)],
        [ShownExample(1, 0.9, 1, 10), ShownExample(0, 0.4, None, 5), ShownExample(2, 0.1, None, 1)],
    )


def whole_report() -> str:
    """A report of every kind of section that needs no model, with three examples."""
    words = (["[CLS]", *(f"{name}{i}" for i in range(9)), "[SEP]"] for name in ("ant", "bee", "cow"))
    panels = {"Attention to": {"separators": "sep", "first": "first"}}
    return report_page(
        dataset(),
        [example(pieces=pieces, seed=seed) for seed, pieces in enumerate(words)],
        sections=[
            *classes(dataset(), "By kind", "About kinds.", panels, "headscope measure --limit 3"),
            Roles(roles(), documents=60, command="headscope roles"),
            HeadPlane(distances(), ROLES, command="headscope distance --map map.csv"),
            Cards([card(head) for head in HEADS], 40, 3),
            Failed("probes", "Not made: probes", "RuntimeError: <b>no</b> memory", "headscope report"),
        ],
    )
