"""Reports on pictures and sounds in a browser: each name of a head opens it on the picture, or on the sound."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.axe import violations
from tests.helpers.perceived_reports import of_pictures, of_sounds

pytestmark = [pytest.mark.browser, pytest.mark.slow]
pytest.importorskip("PIL.Image")

GLANCES = "[data-section=summary] button.glance canvas, .card .shot canvas"
COLOURS = """one => { const pen = one.getContext("2d");
    return new Set(new Uint32Array(pen.getImageData(0, 0, one.width, one.height).data.buffer)).size; }"""
SETTLED = "() => !document.querySelector('.hx[data-busy], .hx[data-drawing]')"


@pytest.fixture(scope="module")
def pictures(build_once: Any) -> str:
    return build_once("of-pictures", of_pictures)


@pytest.fixture(scope="module")
def sounds(build_once: Any) -> str:
    return build_once("of-sounds", of_sounds)


def look(page: Any, selector: str) -> Any:
    """The canvas that this selects, when everything is drawn."""
    page.wait_for_function(SETTLED)
    canvas = page.locator(selector).first
    canvas.scroll_into_view_if_needed()
    return canvas


def test_heads_are_drawn_on_their_pictures(open_page: Any, pictures: str) -> None:
    page = open_page(pictures, width=390)
    assert page.locator("h1").inner_text() == "Where ViTModel looks"
    assert "12 pictures" in page.locator(".facts").inner_text()
    shown = page.locator(GLANCES)
    assert shown.count() >= 6
    for canvas in shown.all():
        assert canvas.evaluate(COLOURS) > 50
    wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(wide)
    assert violations(page, "#headscope", runOnly=["wcag2a", "wcag2aa"]) == []


def test_a_name_opens_the_head_on_a_picture_and_the_patch_that_looks_is_chosen(
    open_page: Any, pictures: str
) -> None:
    page = open_page(pictures)
    row = page.locator("[data-section=roles] tr", has_text="same row")
    row.click()
    assert page.locator(".openhead h2").inner_text() == "L0H1"
    assert page.locator(".openhead .figure").inner_text().startswith("same row")
    assert look(page, ".explorer .hp .board canvas").evaluate(COLOURS) > 50
    said = page.locator(".explorer .hp > .sub").first.inner_text()
    assert "% of what patch[" in said
    page.evaluate("location.hash = '#head=L0H2'")
    page.wait_for_function("() => document.querySelector('.openhead h2').textContent === 'L0H2'")
    card = page.locator(".known .shot").first
    example = card.get_attribute("data-example")
    card.click()
    page.wait_for_function(SETTLED)
    assert page.locator(".openhead h2").inner_text() == "L0H2"
    assert page.locator("select.example").evaluate("one => one.selectedIndex") == int(example)
    page.wait_for_function("text => location.hash.includes(text)", arg="pin=")


def test_artefacts_open_where_they_are_looked_at(open_page: Any, pictures: str) -> None:
    page = open_page(pictures)
    section = page.locator("[data-section=artefacts]")
    assert "1.5%" in section.inner_text()
    assert section.locator(".plot svg").count() == 3
    first = section.locator("tbody tr").first
    assert first.locator("th").inner_text() == "L1H2"
    first.click()
    assert page.locator(".openhead h2").inner_text() == "L1H2"
    page.wait_for_function(SETTLED)
    # Most of what it gives goes to one of the three patches.
    said = page.locator(".explorer .hp > .sub").first.inner_text()
    assert any(f"patch[{place // 14},{place % 14}]" in said for place in (20, 47, 130))


def test_heads_are_drawn_on_their_sounds(open_page: Any, sounds: str) -> None:
    page = open_page(sounds, scheme="dark")
    assert "6 sounds" in page.locator(".facts").inner_text()
    shown = page.locator(GLANCES)
    assert shown.count() > 0
    for canvas in shown.all():
        assert canvas.evaluate(COLOURS) > 3
    link = page.locator("[data-section=summary] .headlink").first
    name = link.inner_text()
    link.click()
    assert page.locator(".openhead h2").inner_text() == name
    assert look(page, ".explorer .snd canvas").evaluate(COLOURS) > 3


def test_a_head_of_the_decoder_opens_in_its_part(open_page: Any, sounds: str) -> None:
    page = open_page(sounds)
    row = page.locator("[data-looks]").first
    name = row.get_attribute("data-looks")
    row.click()
    assert (
        page.locator("[data-looks][aria-selected]").count() == 0
    )  # heads of the decoder are not the open one
    page.wait_for_function(SETTLED)
    assert (
        page.locator(".explorer .seg", has_text="Cross").locator("[aria-checked=true]").inner_text()
        == "Cross"
    )
    assert name in page.locator(".explorer").inner_text()
    page.wait_for_function("text => location.hash.includes(text)", arg="view.part=cross")
