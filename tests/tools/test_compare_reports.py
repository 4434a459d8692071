"""tools/compare_reports.py finds every difference between the data of two pages, and none where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compare_reports import main

from headscope.reports.page import report_page
from tests.helpers import report_sample


def write(path: Path, **changes: Any) -> str:
    measures = report_sample.dataset(**changes.get("meta", {}))
    for name, values in changes.get("values", {}).items():
        measures[name][0, 3] = values
    example = report_sample.example(pieces=changes.get("pieces", ["[CLS]", "a", "b", "[SEP]"]))
    path.write_text(report_page(measures, examples=[example]), encoding="utf-8")
    return str(path)


@pytest.fixture
def old(tmp_path: Path) -> str:
    return write(tmp_path / "old.html")


def test_the_same_data(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = write(tmp_path / "new.html", meta={"created": "2027-01-01T00:00:00", "seconds": 99.0})
    assert main([old, new]) == 0
    assert main([old, new, "--ignore", "created"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["seconds: 12.5 → 99.0"]


def test_the_last_bit_of_a_figure(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    value = report_sample.dataset()["next"][0, 3].item()
    new = write(tmp_path / "new.html", values={"next": np.nextafter(value, 1)})
    assert main([old, new]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("value.values: 1 of 72 values, first [1, 0, 3]: ") for line in lines), lines


def test_a_map_of_an_example(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = write(tmp_path / "new.html", pieces=["[CLS]", "a", "c", "[SEP]"])
    assert main([old, new]) == 1
    assert '"b" → "c"' in capsys.readouterr().out
    assert main([old, write(tmp_path / "long.html", pieces=["[CLS]", "a", "[SEP]"])]) == 1
    assert "layers.0.values: float64 [4, 4, 4] → float64 [4, 3, 3]" in capsys.readouterr().out


def test_a_section_more(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main([old, write(tmp_path / "new.html", meta={"title": "none", "failed": 3, "name": "b-model"})]) == 1
    )
    assert 'model.name: "a-model" → "b-model"' in capsys.readouterr().out


def test_what_is_no_report(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.html"
    empty.write_text("<html></html>")
    assert main([old, str(empty)]) == 2
    assert "no headscope payload" in capsys.readouterr().err
    torn = tmp_path / "torn.html"
    torn.write_text(Path(old).read_text(encoding="utf-8").replace('id="headscope-data-0-1"', 'id="gone"'))
    assert main([old, str(torn)]) == 2
    assert "array 0-1 is missing" in capsys.readouterr().err
