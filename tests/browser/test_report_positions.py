"""The section on where attention goes by distance and position."""

from __future__ import annotations

from typing import Any

import pytest

import headscope as hs
from headscope.models import Model
from tests.helpers.pages import table

pytestmark = pytest.mark.browser

TEXTS = [
    "Once upon a time there was a little girl who had a small red ball and a very big dog.",
    "One day they went to the park, and they saw a bird in the tall green tree by the lake.",
]
PART = "[data-section=positions]"


@pytest.fixture(scope="module")
def corpus() -> Any:
    return hs.corpora.texts(TEXTS)


@pytest.fixture(scope="module")
def html(demo: Model, corpus: Any) -> str:
    return hs.report(demo, corpus, sections=["positions", "table"], examples=2)


def rows(page: Any) -> list[dict[str, str]]:
    return table(page.locator(f"{PART} .saves").get_by_role("button", name="CSV"))


def test_a_cell_opens_a_head_on_the_figure_that_it_shows(open_page: Any, html: str) -> None:
    page = open_page(html)
    found = [row for row in rows(page) if row["measure"] == "offset-2" and row["layer"] == "4"]
    best = max(found, key=lambda row: float(row["value"]))
    columns = page.evaluate(
        "() => JSON.parse(document.getElementById('headscope-payload').textContent)"
        ".sections.find(one => one.kind === 'positions').columns.map(one => one.measure)"
    )
    at = columns.index("offset-2")
    maps = page.locator(f"{PART} .plot")
    assert maps.count() == 2
    assert not maps.nth(1).is_visible()
    click(maps.nth(0), columns, at, 4)
    page.wait_for_function(
        "() => document.querySelector('.openhead h2').textContent.startsWith('L4') && "
        "!document.querySelector('.hx[data-busy]')"
    )
    assert page.locator(".openhead h2").inner_text() == f"L4H{best['head']}"
    header = page.locator(".openhead .figure > *").all_inner_texts()
    assert header[:2] == ["2 before", f"{float(best['value']):.3f}"]
    assert page.locator(".explorer .toks .tok.pin").count() > 0
    assert page.locator(f"{PART} .positions summary").inner_text() == "Heads of layer 4"
    assert maps.nth(1).is_visible()
    click(maps.nth(1), columns, at, 7)
    page.wait_for_function("() => document.querySelector('.openhead h2').textContent === 'L4H7'")
    tip = page.locator(".report > .tip.on").inner_text()
    assert "2 before" in tip
    assert "uniform attention" in tip


def click(map_: Any, columns: list[str], column: int, row: int) -> None:
    """Point at a cell, and click on it."""
    cell = map_.locator(f"[data-row='{row * len(columns) + column}']")
    cell.hover()
    cell.click()
