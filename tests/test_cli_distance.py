"""`headscope distance`: its files, what it prints, and bad usage."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from headscope.analyses.distance.statistics import COLUMNS
from tests.helpers.typed import Typed

pytestmark = pytest.mark.slow


def test_files_and_words(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("The cat sat on the mat.\n\nIt was tired, so it slept.\n", encoding="utf-8")
    said = typed("distance", "a.txt", "-o", "d.csv", "--map", "m.json", "--meta", "meta.json", "--rows", 5)
    assert "d.csv: 5,184 rows" in said.err
    rows = pd.read_csv("d.csv")
    assert tuple(rows.columns) == COLUMNS
    assert (rows["n"] == 10).all()
    places = pd.DataFrame(json.loads(Path("m.json").read_text()))
    assert [*places.columns] == ["layer", "head", "paper", "x", "y"]
    assert len(places) == 72
    assert json.loads(Path("meta.json").read_text())["options"]["rows"] == 5


def test_figures_and_json(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("The cat sat on the mat.\n", encoding="utf-8")
    rows = typed("distance", "a.txt", "--map", "m.svg", "--preset", "clark2019", "--json").rows
    assert len(rows) == 72 * 72
    assert rows[1]["se"] is None  # one document
    told = typed("distance", "a.txt", "--rows", 5).out
    assert "mean distance of the heads of two layers, nats a token" in told
    assert "Heads of one layer are" in told
    assert "The first and the last layer" in told
    picture = Path("m.svg").read_text(encoding="utf-8")
    assert "by cluster" in picture
