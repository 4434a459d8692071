"""The simulations of docs/statistics.md, small: the tables of benchmarks/calibration.md are of many more runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def calibration(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import calibration

    yield calibration
    sys.modules.pop("calibration")


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


@pytest.mark.slow
def test_intervals_cover_from_8_documents_on(calibration) -> None:
    rows = [row for row in cells(calibration.intervals(2000)) if row[0].split(",")[0] != "5"]
    covers = [float(row[place]) for row in rows for place in (2, 5)]
    assert len(covers) == 20
    assert all(0.925 <= cover <= 0.97 for cover in covers)
    before = [float(row[place]) for row in rows for place in (1, 4) if row[0].startswith("8, unequal")]
    assert max(before) < 0.88  # what ±1.96 standard errors cover
