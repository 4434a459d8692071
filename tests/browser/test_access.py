"""Access: axe's rules, stops of the Tab key, where the focus goes, the browser's history, and what moves while a page loads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headscope.views.explorer import Input, explorer_page
from tests.helpers.axe import violations
from tests.helpers.page_controls import ALL
from tests.helpers.report_whole import whole_report
from tests.helpers.tabs import Tab, Tabs
from tests.helpers.view_sample import neurons, some

pytestmark = pytest.mark.browser

SHIFTS = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""

PICTURE = """() => document.activeElement.matches(
  "canvas[tabindex='0'], [role=listbox], [role=application]") && document.activeElement.closest(".left, .rightpane") !== null"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An explorer of a pair with everything that a control is for, and a whole report."""
    maps = {"self": some(heads=4)}
    inputs = [Input(maps, "a pair", neurons={"self": neurons(key_heads=4)})]
    folder = tmp_path_factory.mktemp("access")
    html = {"explorer": explorer_page(inputs, state={"layer": 0, "heads": [0]}), "report": whole_report()}
    for name, text in html.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in html}


@pytest.fixture
def visit(tabs: Tabs, pages: dict[str, Path]) -> Iterator[Callable[..., Any]]:
    taken: list[Tab] = []

    def go(name: str, width: int = 1400, fragment: str = "", scheme: str = "light", **options: Any) -> Any:
        taken.append(
            tabs.take(ALL, SHIFTS, width=width, height=900, scheme=scheme, bypass_csp=True, **options)
        )
        return taken[-1].ready(f"{pages[name].as_uri()}{fragment}")

    yield go
    for tab in taken:
        tabs.give(tab)


def rest(page: Any) -> None:
    """Until all is drawn and the address written."""
    page.wait_for_selector(".hx:not([data-busy]):not([data-drawing])")
    later(page)


def later(page: Any) -> None:
    """Until the page has done what it puts off: its clock, not ours, which goes on where the page has to wait."""
    page.evaluate("new Promise((done) => setTimeout(done, 250))")


@pytest.mark.parametrize("name", ["explorer", "report"])
def test_axe_finds_nothing(name: str, visit: Callable[..., Any]) -> None:
    page = visit(name)
    for width, scheme in (
        (1400, "light"),
        (390, "dark"),
    ):  # on a phone a report's head is closed, and stays so
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        for key in ("1", "2", "3") if name == "explorer" else ("",):
            if key:
                page.keyboard.press(key)
            rest(page) if width > 390 or name == "explorer" else later(page)
            assert violations(page) == [], (scheme, width, key)


@pytest.mark.parametrize(("name", "width"), [("explorer", 1400), ("report", 390)])
def test_little_moves_while_a_page_loads(name: str, width: int, visit: Callable[..., Any]) -> None:
    page = visit(name, width)
    later(page)
    assert page.evaluate("window.shift") < 0.1


def test_the_picture_of_an_explorer_is_few_stops_away(visit: Callable[..., Any]) -> None:
    page = visit("explorer", fragment="#scale=head")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the picture"
    stops = 1
    while not page.evaluate(PICTURE):
        page.keyboard.press("Tab")
        stops += 1
        assert stops <= 10
    assert stops > 3  # there are controls on the way
    page.reload()
    page.wait_for_selector("#headscope[data-ready]")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('.left, .rightpane, .gridpane') !== null")


def test_arrow_keys_go_through_a_toolbar_that_was_reached_by_keys(visit: Callable[..., Any]) -> None:
    page = visit("explorer", fragment="#scale=head")
    focused = "document.activeElement.textContent"
    page.get_by_role("radio", name="Head").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Home")
    assert page.evaluate(focused).startswith("Model")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused).startswith("Head")
    page.keyboard.press("End")
    assert page.evaluate(focused) == "Less"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused).startswith("Model")
    assert page.locator(".rightpane h2").inner_text() == "Layer 0, head 0"
    page.locator(
        ".tools [role=switch]:visible"
    ).first.click()  # with the mouse the arrow keys stay those of the heads
    page.keyboard.press("ArrowRight")
    assert page.locator(".rightpane h2").inner_text() == "Layer 0, head 1"


def test_back_leads_to_the_head_and_the_scale_before(visit: Callable[..., Any]) -> None:
    page = visit("explorer", fragment="#scale=head")
    title = page.locator(".rightpane h2")
    page.keyboard.press("ArrowRight")
    rest(page)
    page.keyboard.press("s")  # no step of the history: the head is the same
    rest(page)
    page.keyboard.press("3")
    rest(page)
    assert title.inner_text() == "Layer 0, head 1, neuron by neuron"
    page.go_back()
    rest(page)
    assert title.inner_text() == "Layer 0, head 1"
    assert "special=false" in page.url
    page.go_back()
    rest(page)
    assert title.inner_text() == "Layer 0, head 0"
    page.go_forward()
    rest(page)
    assert title.inner_text() == "Layer 0, head 1"


def test_a_report_goes_to_the_open_head_and_back(visit: Callable[..., Any]) -> None:
    page = visit("report")
    heading = page.locator(".opened h2").first
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the open head"
    page.keyboard.press("Enter")
    assert heading.evaluate("(element) => element === document.activeElement")
    stops = 0
    while not page.evaluate(PICTURE):
        page.keyboard.press("Tab")
        stops += 1
        assert stops <= 10
    for number in (
        page.locator("[data-section=cards] .line").first,
        page.locator("[data-section=roles] .headname").first,
    ):
        page.evaluate("() => (document.querySelector('details.more').open = true)")
        number.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        assert number.evaluate("(element) => element === document.activeElement")
        page.keyboard.press("Enter")
        rest(page)
        assert heading.evaluate("(element) => element === document.activeElement")
        page.keyboard.press("Tab")
        page.keyboard.press("Escape")
        assert number.evaluate("(element) => element === document.activeElement")


def test_back_leads_to_the_head_of_a_report_before(visit: Callable[..., Any]) -> None:
    page = visit("report")
    heading = page.locator(".opened h2").first
    first = heading.inner_text()
    page.locator(".grid").first.focus()
    page.keyboard.press("ArrowRight")
    rest(page)
    second = heading.inner_text()
    assert second != first
    page.go_back()
    rest(page)
    assert heading.inner_text() == first
    page.go_forward()
    rest(page)
    assert heading.inner_text() == second


@pytest.mark.parametrize("name", ["explorer", "report"])
def test_a_link_is_copied(name: str, visit: Callable[..., Any]) -> None:
    page = visit(name, permissions=("clipboard-read", "clipboard-write"))
    page.keyboard.press("ArrowDown")
    page.get_by_role("button", name="Link", exact=True).click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    assert ("layer=1" if name == "explorer" else "head=L") in page.url


TARGETS = """(least) => [...document.querySelectorAll("button, select, summary, a[href], [role=option], input")].flatMap((each) => {
  if (!each.checkVisibility({ visibilityProperty: true }) || each.closest(".hidden, .skip, dialog")) return [];
  each.scrollIntoView({ block: "center", behavior: "instant" });
  const { left, top, width, height } = each.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  const mine = (dy) => each.contains(document.elementFromPoint(x, y + dy));
  if (height > 3 * least || !mine(0)) return [];
  let [up, down] = [0, 0];
  while (up < least && mine(-up - 1)) up++;
  while (down < least && mine(down + 1)) down++;
  return up + down + 1 < least ? [`${each.closest('[class]').className} in ${each.parentElement.className} ${each.textContent.slice(0, 30)}: ${up + down + 1}`] : [];
})"""
FINGER = {"has_touch": True, "is_mobile": True}


@pytest.mark.parametrize("name", ["explorer#scale=head", "explorer#scale=neuron", "report"])
def test_fingers_have_targets_and_their_own_words(name: str, visit: Callable[..., Any]) -> None:
    kind, _, fragment = name.partition("#")
    page = visit(kind, 390, fragment and f"#{fragment}", **FINGER)
    rest(page) if kind == "explorer" else later(page)
    assert page.evaluate("() => matchMedia('(pointer: coarse)').matches")
    assert page.evaluate(TARGETS, 24) == []
    words = page.inner_text("body").lower()
    assert not {"hover", "click", "esc"} & set(words.replace("-", " ").split())
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
