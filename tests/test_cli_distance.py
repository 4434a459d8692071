"""`headscope distance`: its files, what it prints, and bad usage."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from headscope.analyses.distance.arrangement import MAP_COLUMNS
from headscope.analyses.distance.run import KIND
from headscope.analyses.distance.statistics import COLUMNS
from headscope.cli import main

pytestmark = pytest.mark.slow


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["headscope", "distance", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_files_and_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("The cat sat on the mat.\n\nIt was tired, so it slept.\n", encoding="utf-8")
    done = run(monkeypatch, "a.txt", "-o", "d.csv", "--map", "m.json", "--meta", "meta.json", "--rows", "5")
    assert done == 0
    said = capsys.readouterr()
    assert "mean distance of the heads of two layers, nats a token" in said.out
    assert "within a layer" in said.out
    assert "the first and the last layer" in said.out
    assert "d.csv: 5,184 rows" in said.err
    rows = pd.read_csv("d.csv")
    assert tuple(rows.columns) == COLUMNS
    assert (rows["n"] == 10).all()
    places = pd.DataFrame(json.loads(Path("m.json").read_text()))
    assert tuple(places.columns) == MAP_COLUMNS
    assert len(places) == 72
    assert json.loads(Path("meta.json").read_text())["options"]["rows"] == 5


def test_figures_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("The cat sat on the mat.\n", encoding="utf-8")
    assert (
        run(monkeypatch, "a.txt", "--map", "m.svg", "--theme", "dark", "--preset", "clark2019", "--json") == 0
    )
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 72 * 72
    assert rows[1]["se"] is None  # one document
    picture = Path("m.svg").read_text(encoding="utf-8")
    assert "by cluster" in picture
    assert "#0f1214" in picture


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "d.svg"], "d.svg: expected a name that ends in .parquet, .csv, .json, .tex, .nc, found .svg"),
        (
            ["--map", "m.nc"],
            "m.nc: expected a name that ends in .parquet, .csv, .json, .tex, .svg, .pdf, .png",
        ),
        (["-o", "nowhere/d.csv"], "nowhere/d.csv: cannot be written"),
        (["--rows", "0"], "rows: expected at least 1, found 0"),
        (["missing.txt"], "missing.txt"),
    ],
)
def test_bad_usage_is_one_line_and_code_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *arguments) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert message in found.err
    assert len(found.err.strip().splitlines()) == 1


@pytest.mark.slow
def test_shards_and_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table of the parts is that of one run, digit for digit; the map is made of all parts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headscope.analyses.distance.run.BLOCK", 2)
    monkeypatch.setattr("headscope.analyses.distance.run.KIND", replace(KIND, span=1))
    monkeypatch.setattr("headscope.runs.blocks.BYTES", 14)
    names = ("cat", "dog", "cow", "hen", "bee", "ant")
    Path("a.txt").write_text("\n\n".join(f"The {name} sat." for name in names), encoding="utf-8")
    assert run(monkeypatch, "a.txt", "-o", "plain.csv", "--resume", "kept") == 0
    for number in (1, 2):
        capsys.readouterr()
        assert run(monkeypatch, "a.txt", "-o", f"{number}.nc", "--shard", f"{number}/2") == 0
        found = capsys.readouterr()
        assert found.out == ""
        assert f"{number}.nc: shard {number}/2 of 3 blocks" in found.err
    monkeypatch.setattr("sys.argv", ["headscope", "merge", "2.nc", "1.nc", "-o", "m.csv", "--map", "m.svg"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    assert Path("m.csv").read_bytes() == Path("plain.csv").read_bytes()
    assert "within a layer" in capsys.readouterr().out
    assert Path("m.svg").stat().st_size > 4000
    for arguments, message in (
        (["a.txt", "--shard", "1/2"], "--shard: expected -o PART.nc for what the shard found, found no -o"),
        (["a.txt", "--shard", "1/2", "-o", "p.nc", "--map", "m.csv"], "--map: expected no shard, found one"),
        (
            ["a.txt", "--rows", "3", "--resume", "kept"],
            "a checkpoint of another run: options.rows: expected 3",
        ),
    ):
        assert run(monkeypatch, *arguments) == 2
        found = capsys.readouterr().err
        assert message in found
        assert len(found.strip().splitlines()) == 1
