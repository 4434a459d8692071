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


def test_intervals_cover_from_8_documents_on(calibration) -> None:
    rows = [row for row in cells(calibration.intervals(2000)) if row[0].split(",")[0] != "5"]
    covers = [float(row[place]) for row in rows for place in (2, 5)]
    assert len(covers) == 20
    assert all(0.925 <= cover <= 0.97 for cover in covers)
    before = [float(row[place]) for row in rows for place in (1, 4) if row[0].startswith("8, unequal")]
    assert max(before) < 0.88  # what ±1.96 standard errors cover


@pytest.mark.slow
def test_roles_are_drawn_from_real_documents(calibration, shared: Path) -> None:
    names, s, n = calibration.population(200)
    assert names == list(calibration.WANTED)
    assert n["entropy"].shape == (len(s["entropy"]),)
    assert s["entropy"].shape[1] == 72
    assert 0 < len(n["bag_of_words"]) <= len(n["entropy"])


def test_broad_heads_do_not_make_other_roles_false(calibration) -> None:
    (*_, row) = cells(calibration.families(100))
    together, apart = map(float, row[1:])
    assert together > 0.08
    assert apart < 0.05


def test_tables_stand_between_their_marks(calibration) -> None:
    page = Path(__file__).parents[2] / "benchmarks" / "calibration.md"
    text = page.read_text(encoding="utf-8")
    for part in calibration.PARTS:
        again = calibration.written(text, part, "| new |")
        assert again.count("| new |") == 1
