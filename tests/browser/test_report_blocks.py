"""Tables of sections: sorted, filtered, and in the address so that a link shows the same."""

from __future__ import annotations

from typing import Any

import pytest

from headscope.reports.page import report_page
from tests.helpers import linguistics_sample as sample
from tests.helpers.report_sample import dataset

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def html() -> str:
    return report_page(dataset(), sections=[sample.probes()])


def shown(page: Any) -> list[str]:
    """The first cells of the rows that are seen, those that are printed below them among them."""
    cells = page.locator("[data-section=probes] tbody tr th")
    return [cell.inner_text() for cell in cells.all() if cell.is_visible()]


def wait_for(page: Any, fragment: str, there: bool = True) -> None:
    page.wait_for_function("([text, there]) => location.hash.includes(text) === there", arg=[fragment, there])


def test_a_column_sorts_both_ways_and_back(open_page: Any, html: str) -> None:
    page = open_page(html)
    before = shown(page)
    assert before[:2] == ["right-branching", "attention"]
    heading = page.locator("[data-section=probes] thead th", has_text="UAS").first
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert shown(page) == ["attention", "right-branching", *before[2:]]
    wait_for(page, "sort.probes.probes=-uas")
    page.keyboard.press("Enter")  # the heading that sorted keeps the focus
    assert heading.get_attribute("aria-sort") == "ascending"
    assert shown(page) == before
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") is None
    wait_for(page, "sort.", there=False)


def test_words_and_figures_filter_rows(open_page: Any, html: str) -> None:
    page = open_page(html, fragment="#sort.probes.probes=control")
    assert shown(page)[:2] == ["attention", "right-branching"], "what has no value is last"
    page = open_page(html)
    field = page.get_by_label("Filter: Probes")
    for asked, rows in (
        ("uas>.5", ["attention"]),
        ("UAS < .5", ["right-branching"]),
        ("uas>.9", []),
        ("atten", ["attention"]),
    ):
        field.fill(asked)
        assert shown(page) == rows
        assert page.locator("[data-section=probes] [role=status]").inner_text() == f"{len(rows)} of 2 rows"
    wait_for(page, "find.probes.probes=atten")
    page.reload()
    page.wait_for_selector("#headscope[data-ready=true]")
    assert shown(page) == rows
    assert field.input_value() == "atten"
    field.fill("nonsense>1")
    assert field.get_attribute("aria-invalid") == "true"
    assert shown(page)[:2] == ["right-branching", "attention"]


def test_the_address_says_which_section_was_asked_for(open_page: Any, html: str) -> None:
    page = open_page(html)
    page.locator(".contents a[href='#probes']").click()
    wait_for(page, "section=probes")
    hash = page.evaluate("location.hash")
    again = open_page(html, height=400, fragment=hash)
    again.wait_for_function(
        "Math.abs(document.querySelector('#probes').getBoundingClientRect().top) < innerHeight && scrollY > 0"
    )
