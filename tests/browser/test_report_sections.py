"""The sections that a whole report adds: kinds of tokens, roles, the map of heads, cards."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope.analyses.roles.statistics import COLUMNS
from tests.helpers.report_whole import HEADS, ROLES, whole_report

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


def saved(page: Any, section: str, kind: str) -> str:
    with page.expect_download() as download:
        page.locator(f"[data-section={section}] .saves").first.get_by_role("button", name=kind).first.click()
    assert download.value.suggested_filename.startswith("a-model-")
    return Path(download.value.path()).read_text(encoding="utf-8")


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


def test_layers_by_their_distance(open_page: Any, html: str):
    page = open_page(html)
    page.locator("[data-section=clusters] summary", has_text="Layer by layer").click()
    cells = page.locator("[data-section=clusters] details .plot text").all_text_contents()
    # Layers 0 and 1 are four heads apart, each a twentieth: on average 0.2.
    assert cells[9:11] == [".20", ".40"], cells
    assert "p = " in page.locator("[data-section=clusters]").inner_text()


def test_a_card_opens_its_head_on_its_examples(open_page: Any, html: str):
    page = open_page(html, fragment="#head=L1H2")
    cards = page.locator(".card")
    assert cards.count() == 2
    one = page.locator(".card[data-head=L0H1]")
    assert "separators" in one.locator("header").inner_text()
    assert "1 of 12" in one.locator(".best").inner_text()
    one.locator(".line").click()
    opened(page, 0, 1, "example=1")
    assert page.locator(".toks.l .tok").nth(1).inner_text() == "bee0"
    assert one.get_attribute("data-open") is not None
    one.locator(".tenth").nth(1).click()
    opened(page, 0, 1, "example=0")
    assert page.locator(".toks.l .tok").nth(1).inner_text() == "ant0"
    one.locator(".tenth").nth(2).hover()
    assert "10th tenth" in page.locator(".report > .tip.on").inner_text()
    one.locator(".tenth").nth(2).click()
    opened(page, 0, 1, "example=2")
    assert one.locator(".tenths > .none").count() == 7
    page.get_by_role("switch", name="All 12 heads").click()
    assert cards.count() == 12
    page.locator(".card[data-head=L2H3] header .headlink").click()
    opened(page, 2, 3)
    page.get_by_role("switch", name="All 12 heads").click()
    assert [each.get_attribute("data-head") for each in cards.all()] == ["L0H1", "L1H2", "L2H3"]


def test_what_is_saved(open_page: Any, html: str):
    page = open_page(html)
    rows = list(csv.DictReader(io.StringIO(saved(page, "roles", "CSV"))))
    assert list(rows[0]) == list(COLUMNS)
    assert [row["role"] for row in rows] == [ROLES.get(head, "none") for head in HEADS]
    assert [row["paper"] for row in rows] == [head.paper for head in HEADS]
    rows = list(csv.DictReader(io.StringIO(saved(page, "clusters", "CSV"))))
    assert list(rows[0])[:5] == ["layer", "head", "paper", "x", "y"]
    place = np.array([float(row["x"]) for row in rows])
    assert np.allclose(np.abs(np.diff(place)), 0.05, atol=1e-3)
    rows = list(csv.DictReader(io.StringIO(saved(page, "cards", "CSV"))))
    assert len(rows) == 12 * 4
    assert rows[0]["text"].startswith("bee0")
    rows = list(csv.DictReader(io.StringIO(saved(page, "classes", "CSV"))))
    assert {row["measure"] for row in rows} == {"sep", "first"}
    for section, least in (("classes", 24), ("clusters", 24), ("layers", 48)):
        drawn = ET.fromstring(saved(page, section, "SVG"))
        assert len([each for each in drawn.iter() if each.get("data-row")]) >= least
        assert all(each.get("class") is None for each in drawn.iter())
        texts = {"".join(each.itertext()) for each in drawn.iter() if each.tag.endswith("text")}
        assert texts & {"Attention to", "by layer", "previous token"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_ground(open_page: Any, html: str, scheme: str):
    page = open_page(html, scheme=scheme)
    first = page.locator("[data-section=clusters] [data-row]").first
    before = first.get_attribute("fill")
    page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
    page.wait_for_function(
        "before => document.querySelector('[data-section=clusters] [data-row]').getAttribute('fill') !== before",
        arg=before,
    )
    page.emulate_media(media="print")
    page.wait_for_selector(".hs[data-theme=light]")
    assert not page.locator(".saves").first.is_visible()
    assert page.locator(".again").first.is_visible()


@pytest.mark.parametrize("width", [390, 700, 1000, 1400])
def test_nothing_is_wider_than_the_window(open_page: Any, html: str, width: int):
    page = open_page(html, width=width, height=800)
    page.get_by_role("switch", name="All 12 heads").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
