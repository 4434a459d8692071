"""The sections that a whole report adds: kinds of tokens, roles, the map of heads, cards."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.report_whole import ROLES, whole_report

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def html() -> str:
    return whole_report()


def opened(page: Any, layer: int, head: int, fragment: str = "") -> None:
    page.wait_for_function(
        """([layer, head, fragment]) => document.querySelector(".explorer h2:not(.gridpane *)").textContent ===
            `Layer ${layer}, head ${head}` && !document.querySelector(".hx[data-busy]") && location.hash.includes(fragment)""",
        arg=[layer, head, fragment],
    )
    assert page.locator(".openhead h2").inner_text() == f"L{layer}H{head}"


def test_every_section_is_there_with_its_caption_and_command(open_page: Any, html: str):
    page = open_page(html)
    for kind, text, command in (
        ("classes >> nth=0", "About kinds.", "headscope measure --limit 3"),
        ("roles", "99 tests over 60 documents", "headscope roles"),
        ("clusters", "500 tokens", "headscope distance --map map.csv"),
    ):
        section = page.locator(
            f"[data-section={kind}]" if ">>" not in kind else "[data-section=classes]"
        ).first
        assert text in section.text_content()
        assert section.locator(".again code").inner_text() == command
    assert "40 short inputs were scored" in page.locator("[data-section=cards] > .foot").text_content()
    failed = page.locator("[data-section=failed]")
    assert failed.locator(".why").inner_text() == "RuntimeError: <b>no</b> memory"
    assert "Heads with a role: previous token, separators" in page.locator(".findings").first.inner_text()


def test_the_map_says_what_a_point_is(open_page: Any, html: str):
    page = open_page(html)
    name = page.locator("[data-section=clusters] .plot text", has_text="L1H2").first
    name.scroll_into_view_if_needed()
    dot = page.locator("[data-section=clusters] .plot").nth(1).locator("[data-row]").last
    dot.hover(force=True)
    tip = page.locator(".report > .tip.on").inner_text()
    assert "nearest: " in tip
    assert any(role in tip for role in ROLES.values())
    key = page.locator("[data-section=clusters] .plot").nth(1).locator("text").all_text_contents()
    assert key[-3:] == ["separators (1)", "previous token (1)", "none of these (10)"]


def test_a_card_opens_its_head_on_its_examples(open_page: Any, html: str):
    page = open_page(html, fragment="#head=L1H2")
    cards = page.locator(".card")
    assert [each.get_attribute("data-head") for each in cards.all()] == ["L0H1", "L1H2"]
    one = page.locator(".card[data-head=L0H1]")
    assert "separators" in one.locator("header").inner_text()
    one.locator(".line").first.click()
    opened(page, 0, 1, "example=1")
    assert page.locator(".toks.l .tok").nth(1).inner_text() == "bee0"
    one.locator(".tenth").nth(1).click()
    opened(page, 0, 1, "example=0")
    assert page.locator(".toks.l .tok").nth(1).inner_text() == "ant0"
    one.locator(".tenth").nth(2).hover()
    assert "10th tenth" in page.locator(".report > .tip.on").inner_text()
    one.locator(".tenth").nth(2).click()
    opened(page, 0, 1, "example=2")
    assert one.locator(".tenths > .none").count() == 7
    page.locator(".card[data-head=L1H2] header .headlink").click()
    opened(page, 1, 2)


def test_colours_follow_the_ground_and_nothing_is_wider_than_the_window(open_page: Any, html: str):
    page = open_page(html)
    dot = page.locator("[data-section=clusters] [data-row]").first
    before = dot.get_attribute("fill")
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector(".hs[data-theme=dark]")
    assert dot.get_attribute("fill") != before
    box = "document.querySelector('.opened')"
    for width in (380, 620, 800, 1079, 1080, 1280, 1600):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth"), width
