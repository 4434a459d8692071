from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope.analyses.measure.figure import figure
from tests.helpers.report_sample import dataset

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("options", "noun"),
    [({"preset": "clark2019"}, "inputs"), ({"by": "document"}, "documents"), ({}, "tokens")],
)
def test_the_noun_of_what_a_figure_is_a_mean_over_comes_with_its_number(
    demo: Any, options: dict[str, Any], noun: str
) -> None:
    found = hs.measure(demo, hs.corpora.builtin(), limit=4, measures=["previous"], **options)
    assert found["previous_n"].attrs["units"] == noun
    assert f"means over up to {int(found['previous_n'].max()):,} {noun} " in figure(found, "previous").caption


def test_a_variability_is_a_mean_over_inputs(demo: Any) -> None:
    found = hs.contribution.variability(demo, hs.corpora.builtin(), limit=4)
    assert "means over up to 4 inputs " in figure(found, "variability").caption


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_files_by_suffix(tmp_path: Path, theme: Any):
    drawn = hs.figure(dataset(), "sep", theme=theme)
    svg = drawn.save(tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "separators" in svg
    assert "headscope report --text text.txt" in svg  # what made it
    assert re.search("#0f1214" if theme == "dark" else "#ffffff", svg)
    assert drawn.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert drawn.save(tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("width", "pixels"), [("column", 317), ("page", 662), (5, 480)])
def test_the_width_is_that_of_a_paper(width: Any, pixels: int) -> None:
    assert (
        hs.figure(dataset(), "previous", width=width)
        .picture("svg")
        .startswith(f'<svg xmlns="http://www.w3.org/2000/svg" width="{pixels}"'.encode())
    )
