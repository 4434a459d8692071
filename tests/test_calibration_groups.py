"""A small part of `benchmarks/calibration_groups.py`: its simulations, and what it writes."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "calibration_groups.py"


@pytest.fixture
def small() -> dict[str, Any]:
    """The benchmark with 8 heads of 4 measures."""
    module = runpy.run_path(str(BENCHMARK))
    names = module["drawn"].__globals__
    names.update(HEADS=8, MEASURES=4, SHAPES=np.tile(np.geomspace(0.3, 3.0, 4), 8))
    return names


@pytest.mark.slow
def test_short_and_long_texts_are_seldom_told_apart_and_a_difference_is(small: dict[str, Any]) -> None:
    case = small["Case"]("short and long", (12, 12), rows=((4, 12), (32, 96)))
    runs = [(0, 0, run) for run in range(50)]
    rates = {
        null: sum(small["found"](case, null, 0.0, None, run) for run in runs)
        for null in ("equal means", "equal distributions")
    }
    assert rates["equal means"] <= 8  # .08 of 50 is 4, and its error 2
    assert rates["equal distributions"] >= 9
    case = small["Case"]("equal but for the mean", (20, 20))
    assert sum(small["found"](case, "equal means", 2.5, None, run) for run in runs[:10]) >= 9


def test_intervals_hold_the_difference(small: dict[str, Any]) -> None:
    case = small["Case"]("1 to 9 texts", (8, 8), texts=0)
    rates = np.array([small["covered"](case, (0, 0, run)) for run in range(80)])
    rates = rates[np.isfinite(rates)]
    assert len(rates) > 40  # else too few effective documents
    assert 0.92 < rates.mean() < 0.98
