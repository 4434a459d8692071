"""The report tells a story: what is on its first screen, in which order it goes on, how long it is, and what is folded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers.page_controls import ALL
from tests.helpers.tabs import Tabs

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TALL, LONG = 9_200, 4_700
"""At most so many pixels at 1,400 across, and so many words."""

WORDS = "text => text.trim().split(/\\s+/).length"
INSIDE = """one => { const box = one.getBoundingClientRect();
    return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight && box.right <= innerWidth; }"""
DRAWN = """one => one instanceof HTMLCanvasElement
    ? new Set(new Uint32Array(one.getContext("2d").getImageData(0, 0, one.width, one.height).data.buffer)).size
    : one.querySelectorAll("path, circle, text").length"""


@pytest.fixture
def page(open_page: Any, built_in: str) -> Any:
    return open_page(built_in)


@pytest.fixture(scope="module")
def read(tabs: Tabs, built_in: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page for tests that press nothing, opened once."""
    path = tmp_path_factory.mktemp("story") / "page.html"
    path.write_text(built_in, encoding="utf-8")
    tab = tabs.take(ALL, width=1400, height=900, scheme="light")
    yield tab.ready(path.as_uri())
    assert tab.errors == []
    tabs.give(tab)


def test_the_page_stays_short(read: Any) -> None:
    assert read.evaluate("document.documentElement.scrollHeight") < TALL
    assert read.evaluate(f"({WORDS})(document.body.innerText)") < LONG


def test_the_first_screen_is_the_whole_model_and_five_findings(read: Any) -> None:
    summary = read.locator("[data-section=summary]")
    cells = summary.locator(".besides .grid [data-row]")
    assert cells.count() == 72
    assert summary.locator(".besides .grid").evaluate(INSIDE)
    pictured = summary.locator(".besides > div > .findings > li")
    assert pictured.count() == 5
    for finding in pictured.all():
        assert finding.evaluate(INSIDE)
        pictures = finding.locator("canvas, svg")
        assert pictures.count() > 0
        for picture in pictures.all():
            assert picture.evaluate(INSIDE)
            assert picture.evaluate(DRAWN) > 5
        assert 2 <= len(finding.locator(".headline").inner_text().split()) <= 10
        assert not finding.locator("details").evaluate("one => one.open")  # intervals and choices, on demand
    assert pictured.locator(".charts [data-row]").count() > 3
    assert "…" not in "".join(pictured.locator("div > .charts text").all_text_contents())


def test_the_heads_that_stand_out_are_counted_once(read: Any) -> None:
    page = read.locator(".page")
    said = set(re.findall(r"(\d+)(?: of 72)? heads? (?:stand|have none)", page.inner_text()))
    lettered = page.locator(".besides .grid [data-row] + text").all_text_contents()
    assert said == {str(len([text for text in lettered if text.isalpha()]))}
    assert read.locator(".opened .answer").inner_text().startswith("On this input, ")


def test_no_finding_repeats_another(page: Any) -> None:
    page.locator(".besides details:has(.findings) > summary").click()
    told = page.locator("[data-section=summary] .findings p:not(.headline)")
    page.locator("[data-section=summary] .findings details").evaluate_all(
        "all => all.forEach(one => one.open = true)"
    )
    lines = told.all_inner_texts()
    assert len(lines) == len(set(lines)) > 5
    named = [set(line.locator(".headlink").all_inner_texts()) for line in told.all()]
    shares = ["more than half of" in line for line in lines]
    assert not any(shares)  # what a role says already
    assert named[0]


def test_colour_and_letter_say_what_a_head_does_and_a_cell_opens_it(page: Any) -> None:
    texts = page.locator(".besides .grid text").all_text_contents()
    key = {text.rpartition(" ")[0]: int(text.rpartition(" ")[2]) for text in texts if " " in text}
    assert key["previous token"] == 1
    letters = page.locator(".besides .grid [data-row] + text").all_text_contents()
    letters = [text for text in letters if text.isalpha()]
    assert len(set(letters)) == len(key) - 2  # a broad head has none, and those without a role
    assert 72 - len(letters) == key["none of these"] + key["broad"]
    page.locator(".besides .grid [data-row]").nth(12 + 8).click()
    assert page.locator(".openhead h2").inner_text() == "L1H8"
    assert page.locator(".besides .grid .ring").count() == 1
    page.locator(".besides .grid").press("ArrowDown")
    for key, head in (("", "L2H8"), ("ArrowRight", "L2H9"), ("ArrowUp", "L1H9"), ("ArrowLeft", "L1H8")):
        if key:
            page.locator(".besides .grid").press(key)
        page.wait_for_function(f"() => document.querySelector('.openhead h2').textContent === '{head}'")


def test_panels_by_layer_are_folded_where_no_head_stands_out(page: Any) -> None:
    for section in page.locator("[data-section=layers]").all():
        for chart in section.locator(".charts").first.locator("figcaption").all():
            assert "none above .5" not in chart.inner_text()
        for fold in section.locator("details:has(.charts)").all():
            assert not fold.evaluate("one => one.open")
            assert "in which no head is above .5" in fold.locator("summary").inner_text()
            fold.locator("summary").click()
            notes = fold.locator("figcaption .dim").all_inner_texts()
            assert set(notes) == {"none above .5"}


def test_paper_has_everything(page: Any) -> None:
    tables = page.locator(
        "section:not([data-section=heads]) .block:has(> .tablefoot > .allrows:not([hidden]))"
    )
    expected = [int(text.split()[1]) for text in tables.locator(".allrows").all_text_contents()]
    assert expected
    page.emulate_media(media="print")
    page.wait_for_selector(".allheads")
    assert page.locator("details:not([open])").count() == 0
    assert [table.locator("tbody tr:visible").count() for table in tables.all()] == expected


def test_a_word_is_explained_by_pointer_key_and_touch_and_on_paper(page: Any) -> None:
    word = page.locator("[data-section=summary] .term", has_text="sieve")
    page.locator("[data-section=summary] .findings details").evaluate_all(
        "all => all.forEach(one => one.open = true)"
    )
    tip = page.locator(".report > .tip.on")
    meaning = word.get_attribute("aria-description")
    assert "closest mention before with the same words" in meaning
    assert tip.count() == 0
    word.focus()
    assert tip.inner_text() == meaning
    page.keyboard.press("Escape")
    assert tip.count() == 0
    word.hover()
    assert tip.inner_text() == meaning
    page.mouse.move(5, 5)
    assert tip.count() == 0
    word.click()
    assert tip.inner_text() == meaning
    page.emulate_media(media="print")
    assert f"sieve ({meaning})" in word.locator("xpath=ancestor::p").inner_text()
    coref = page.locator("[data-section=coref]")
    assert f"sieve: {meaning}" in coref.locator(".note.paper").inner_text()  # a table has no room for it
    assert meaning not in coref.locator("table").inner_text()
