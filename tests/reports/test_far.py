"""Sentences on how far heads look, from figures made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.reports.summary import far


def said(values: dict[str, Any], chance: dict[str, Any]) -> list[tuple[str | None, str, str]]:
    arrays = [
        {name: np.asarray(each, np.float64) for name, each in some.items()} for some in (values, chance)
    ]
    found = far(arrays[0], arrays[1], [0, 3], [0, 2])
    return [(about, "".join(part["text"] for part in parts), headline) for about, parts, headline in found]


def test_distance_grows_and_is_seen_in_its_heads() -> None:
    values = {"distance_pixels": [[20, 60], [100, 140]], "cls": [[0, 0.0004], [0.25, 0.75]]}
    assert said(values, {"distance_pixels": [110, 110], "cls": [0.005, 0.005]}) == [
        (
            "distance_pixels",
            "Mean attention distance grows from 40 px in layer 0 to 120 px in layer 3 (even attention: 110 px); "
            "farthest L3H2 (140 px) and closest L0H0 (20 px).",
            "Attention distance grows from first to last layer",
        ),
        (None, "In layer 0 L0H0 looks closest (20 px), L0H2 farthest (60 px).", ""),
        (
            "cls",
            "Heads give [CLS] <0.1% of their attention on average in layer 0, and 50% in layer 3; even attention "
            "would give 0.5%.",
            "Heads give [CLS] <0.1%, in the last layer 50%",
        ),
    ]


def test_distance_in_seconds_may_stay_or_fall() -> None:
    chance = {"distance_seconds": [np.nan, np.nan]}
    same = said({"distance_seconds": [[1.0, 1.2], [1.1, 1.15]]}, chance)
    assert same[0][1].startswith(
        "Mean attention distance stays about the same, from 1.10 s in layer 0 to 1.12 s"
    )
    falls = said({"distance_seconds": [[1.0, np.nan], [0.5, 0.4]]}, chance)
    assert falls[0][1].startswith(
        "Mean attention distance falls from 1.00 s in layer 0 to 0.45 s in layer 3; farthest"
    )


def test_of_texts_nothing_is_said() -> None:
    assert said({"cls": [[0.1, 0.2], [0.3, 0.4]]}, {"cls": [0.1, 0.1]}) == []
