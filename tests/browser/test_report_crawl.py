"""A walk through the whole report: everything that leads somewhere is followed, and nothing may complain."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EXTERNAL: set[str] = set()
"""Addresses outside that a report links to: none."""

EACH = 3
"""How many of each kind of thing are tried in each section."""

OPENERS = {
    "summary": {"headlink"},
    "measures": {"grid", "entry"},
    "layers": {"point"},
    "classes": {"point"},
    "roles": {"headname", "headlink"},
    "clusters": {"point"},
    "atlas": {"point"},
    "syntax": {"headname", "sentence"},
    "coref": {"headname", "mentions"},
    "probes": set[str](),
    "positions": {"range"},
    "compare": {"cell"},
    "cards": {"headlink", "line", "tenth"},
    "heads": {"headname"},
    "absent": set[str](),
    "methods": set[str](),
}
"""What opens a head, by the kind of section; more may."""

KINDS = {
    "grid": ".grid > canvas",
    "point": ".plot svg circle:not(.ring):not(.hov)",
    "cell": "rect.cell",
    "range": ".ranges > canvas",
    **{
        name: f".{name}"
        for name in ("headlink", "headname", "entry", "line", "tenth", "sentence", "mentions")
    },
}

FAR = "L5H0"
PRESSED = ".page button, .page summary, .topbar button"
NAMES = f"""[...document.querySelectorAll({PRESSED!r})].map(one => one.closest(".saves") || !one.checkVisibility() ? "" :
    `${{one.closest("section")?.dataset.section}} ${{one.closest("thead") ? "sort" : one.className}}`)"""
SETTLED = "() => !document.querySelector('.hx[data-busy]')"


def some(count: int) -> list[int]:
    """The first, a middle one, the last."""
    return sorted({0, count // 2, count - 1})[:EACH] if count else []


def opened(page: Any) -> tuple[str, str]:
    """The head that is open, and the example."""
    page.wait_for_function(SETTLED)
    return (
        page.locator(".openhead h2").inner_text(),
        page.locator("select.example").evaluate("select => String(select.selectedIndex)"),
    )


def far(page: Any) -> None:
    """Open a head that no role has, on the first example, once the address says what is open."""
    page.wait_for_function(
        "() => !location.hash || location.hash.startsWith(`#head=${document.querySelector('.openhead h2').textContent}&`)"
    )
    page.evaluate("name => { location.hash = `#head=${name}&example=0&at=${performance.now()}` }", FAR)
    page.wait_for_function(
        "name => location.hash.startsWith(`#head=${name}&`) && !location.hash.includes('&at=')", arg=FAR
    )
    page.wait_for_function(SETTLED)


def press(page: Any, mark: Any) -> None:
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def named(mark: Any) -> str | None:
    """The head that something says it opens."""
    text = f"{mark.get_attribute('aria-label') or ''} {mark.inner_text() if mark.evaluate('one => one instanceof HTMLElement') else ''}"
    found = re.search(r"\bL\d+H\d+\b", text)
    return found[0] if found else None


def test_every_section_is_there_and_the_page_is_small(open_page: Any, built_in: str) -> None:
    page = open_page(built_in)
    there = page.locator("section[data-section]").evaluate_all("all => all.map(one => one.dataset.section)")
    assert set(there) == set(OPENERS)
    assert len(built_in.encode()) < 10_000_000
    assert page.locator(".failure, [data-section=failed]").count() == 0
    for section in page.locator("section[data-section]").all():
        kind = section.get_attribute("data-section")
        buttons = set(section.locator(".saves button").all_inner_texts())
        if kind != "summary":
            assert {"CSV", "Parquet"} <= buttons, kind
        if section.locator(".plot svg, .grid, .cases svg.arcs, rect.cell").count():
            assert "SVG" in buttons, kind
        assert (section.locator(".again code").count() == 1) == (kind not in ("summary", "absent", "methods"))


def test_every_link_leads_somewhere(open_page: Any, built_in: str) -> None:
    page = open_page(built_in)
    links = page.locator("a[href]")
    inside = [link for link in links.all() if link.get_attribute("href").startswith("#")]
    outside = {link.get_attribute("href") for link in links.all()} - {
        link.get_attribute("href") for link in inside
    }
    assert outside == EXTERNAL
    assert all(address.startswith("https://") for address in outside)
    titled = page.locator("section[data-section] h2").count()
    assert len(inside) == len({link.get_attribute("href") for link in inside}) == titled
    before = opened(page)
    for link in inside:
        target = link.get_attribute("href")[1:]
        link.click()
        page.wait_for_function(
            """id => { const box = document.getElementById(id).getBoundingClientRect();
                return box.height > 0 && box.top < innerHeight && box.bottom > 0; }""",
            arg=target,
        )
        assert page.locator(f"[id='{target}'] h2").inner_text() == link.text_content()
        assert opened(page) == before
        page.wait_for_function("() => location.hash.startsWith('#head=')")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_an_address_of_a_section_opens_there(open_page: Any, built_in: str) -> None:
    page = open_page(built_in, fragment="#heads-that-attend-alike")
    assert 0 <= page.locator("[data-section=clusters] h2").bounding_box()["y"] < 300


def test_everything_that_stands_for_a_head_opens_it(open_page: Any, built_in: str) -> None:
    page = open_page(built_in)
    for note in page.locator(".page details > summary").all():
        note.click()
    for section in page.locator("section[data-section]").all():
        kind = section.get_attribute("data-section")
        for opener, selector in KINDS.items():
            far(page)
            marks = section.locator(f"{selector}:visible")
            places = some(marks.count())
            assert places or opener not in OPENERS[kind], (kind, opener)
            for place in places:
                far(page)
                mark = marks.nth(place)
                example = mark.get_attribute("data-example")
                head = named(mark)
                if kind == "syntax" and opener == "headname":  # there the button is the relation
                    head = mark.locator("xpath=ancestor::tr").locator("td b").first.inner_text()
                press(page, mark)
                where = (kind, opener, head)
                now = opened(page)
                assert now[0] == head if head else re.fullmatch(r"L\d+H\d+", now[0]), where
                assert now[1] == (example or now[1]), where
                assert page.locator(f"tr[aria-selected=true]:has-text('{now[0]}')").count(), where


def test_everything_that_can_be_pressed_can_be(open_page: Any, built_in: str) -> None:
    """Measures, switches, sorting, folded notes and the explorer's own row: none of them complains."""
    page = open_page(built_in)
    pressed = 0
    groups: dict[str, list[Any]] = {}
    names = page.evaluate(NAMES)
    for mark, name in zip(page.query_selector_all(PRESSED), names, strict=True):
        if name:
            groups.setdefault(name, []).append(mark)
    for marks in groups.values():
        for place in some(len(marks)):
            if marks[place].is_visible():
                marks[place].click()
            page.wait_for_function(SETTLED)
            pressed += 1
    assert pressed > 30
    strips = page.locator(".strips canvas")
    for place in some(strips.count()):
        press(page, strips.nth(place))
        page.wait_for_function(SETTLED)
    page.get_by_role("button", name="Enlarge").click()
    page.get_by_role("button", name="Back to the report").click()
    page.get_by_role("button", name="Row in the table").click()
    assert page.evaluate("document.activeElement.className") == "headname"


def test_every_download_gives_a_file(open_page: Any, built_in: str) -> None:
    page = open_page(built_in)
    names: list[str] = []
    for button in page.locator(".saves button").all():
        page.wait_for_timeout(100)  # Chromium lets a page save ten files a second
        with page.expect_download() as download:
            button.click()
        names.append(download.value.suggested_filename)
        data = Path(download.value.path()).read_bytes()
        kind = names[-1].rpartition(".")[2]
        assert data.startswith({"csv": b"", "parquet": b"PAR1", "svg": b"<svg "}[kind])
        assert len(data) > 20
    assert len(names) == len(set(names)) > 30
