"""What can be saved from a report: every table as CSV and as Parquet, every picture as SVG."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.helpers.report_whole import whole_report

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"
PAPER = "#ffffff"


@pytest.fixture(scope="module")
def html() -> str:
    return whole_report()


def saved(page: Any, button: Any) -> tuple[str, bytes]:
    """A file and its name. Chromium lets a page save ten files a second."""
    page.wait_for_timeout(100)
    with page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def saves(page: Any, kind: str) -> list[Any]:
    return page.locator(".saves").get_by_role("button", name=kind, exact=True).all()


def test_every_section_with_figures_has_them_as_csv_and_as_parquet(open_page: Any, html: str) -> None:
    page = open_page(html)
    sections = page.locator("section[data-section]").evaluate_all(
        "all => all.map(one => [one.dataset.section, one.querySelectorAll('.saves button').length])"
    )
    assert {kind for kind, count in sections if not count} == {"summary", "failed"}
    both = list(zip(saves(page, "CSV"), saves(page, "Parquet"), strict=True))
    assert len(both) == sum(kind not in ("summary", "failed") for kind, _ in sections) + 1  # clusters: two
    names: set[str] = set()
    for csv, parquet in both:
        name, text = saved(page, csv)
        other, data = saved(page, parquet)
        assert (name[-4:], other) == (".csv", name[:-4] + ".parquet")
        names.add(name)
        read = pq.read_table(io.BytesIO(data))
        typed = {field.name: str(field.type) for field in read.schema}
        table = read.to_pandas()
        expected = pd.read_csv(io.BytesIO(text))
        assert list(table.columns) == list(expected.columns)
        assert len(table) == len(expected) > 0
        for column, kind in typed.items():
            assert (column in ("layer", "head", "n", "rank", "decile", "layer_a")) <= (kind == "int64")
            assert (column in ("value", "se", "score", "q", "x", "distance")) <= (kind == "double")
            assert (column in ("paper", "measure", "role", "text")) <= (kind == "string")
            found = table[column]
            assert (found.isna() == expected[column].isna()).all(), column
            there = found.notna()
            assert (found[there] == expected[column][there]).all(), column
    assert len(names) == len(both)


def test_pictures_stand_alone_and_are_light(open_page: Any, html: str, tmp_path: Path) -> None:
    page = open_page(html, scheme="dark")
    drawn = saves(page, "SVG")
    assert len(drawn) == len(
        page.locator(
            "[data-section=measures], [data-section=layers], [data-section=classes], [data-section=clusters]"
        ).all()
    )
    title = page.locator("[data-section=measures] h2").inner_text()
    for button in drawn:
        name, data = saved(page, button)
        root = ET.fromstring(data)
        assert root.tag == f"{SVG}svg"
        assert next(iter(root)).tag == f"{SVG}title"
        assert root[0].text
        assert root[1].get("fill") == PAPER
        text = data.decode()
        assert not re.search(r"""(?:href|src|url)\s*[=(]\s*["']?(?!#)(?!url\(#)\w""", text), name
        assert "var(--" not in text
        assert "<image" not in text
        path = tmp_path / name
        path.write_bytes(data)
    assert page.locator("#headscope").get_attribute("data-theme") == "dark"
    assert any(title in path.read_text() for path in tmp_path.glob("*.svg"))
    layers = page.locator("[data-section=layers]").first
    folded = layers.locator("details .chart h3").all_text_contents()
    assert folded
    picture = saved(page, layers.get_by_role("button", name="SVG", exact=True))[1].decode()
    assert all(title in picture for title in folded)
    assert layers.locator("details[open]").count() == 0
