"""Where things stand: the head's picture within the first screen, heads large enough to be seen, and nothing that moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.views.explorer import Input, explorer_page
from tests.helpers.page_controls import settled
from tests.helpers.tabs import Tabs

pytestmark = pytest.mark.browser

SIZES = ((1280, 800), (1920, 1080), (390, 844), (640, 400), (700, 700))
SHIFTS = """window.shifts = [];
new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(e => e.value)))
  .observe({ type: 'layout-shift', buffered: true });"""
SEEN = """() => {
  const seen = all => [...document.querySelectorAll(all)].filter(e => e.checkVisibility());
  const box = e => e.getBoundingClientRect().toJSON();
  return {
    pictures: seen('.rightpane :is(.hv .scroll, .matrix.big .mframe)').map(box),
    grids: seen('.gridscroll').map(box),
    ring: seen('.ring:not(.hov)').map(box),
    legends: seen('.roles').map(box),
    cut: seen('.roles, .answer').filter(e => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight).length,
    // From where a number beside the grid ends to where the next begins.
    apart: ['.collabels', '.rowlabels'].flatMap(labels => {
      const across = labels === '.collabels';
      const boxes = [...document.querySelector(labels).querySelectorAll('span')].filter(e => e.textContent).map(e => {
        const range = document.createRange();
        range.selectNodeContents(e);
        const { left, right, top, bottom } = range.getBoundingClientRect();
        return across ? [left, right] : [top + 3, bottom - 3]; // a line is taller than its digits
      });
      return boxes.slice(1).map(([from], at) => from - boxes[at][1]);
    }),
    wide: document.documentElement.scrollWidth,
    sizes: seen('body *').filter(e => !e.children.length && e.innerText).map(e => getComputedStyle(e).fontSize),
    // A choice among several is one control.
    controls: seen(':is(.bar, .tools) :is(button:not([role=radio]), [role=radiogroup], select, input)')
      .map(e => e.innerText || e.ariaLabel),
  };
}"""
WORDS = "The animal did not cross the street because it was too tired ."


def one(layers: int, heads: int, tokens: int, words: str = WORDS) -> Input:
    weights = np.random.default_rng(0).dirichlet(np.full(tokens, 0.3), (layers, heads, tokens))
    pieces = [*words.split(), *(f"token{place}" for place in range(tokens))][:tokens]
    axis = Tokens(["[CLS]", *pieces[1:]], special_mask=np.arange(tokens) == 0)
    return Input({"self": AttentionMaps(list(weights.astype(np.float32)), axis, axis)}, words)


PAGES: dict[str, list[Input]] = {
    "short": [one(6, 12, 14)],
    "long": [one(6, 12, 128)],
    "decoder": [one(30, 9, 14)],
    "large": [one(80, 64, 8)],
    "two inputs": [one(6, 12, 14), one(6, 12, 14, "The animal did not cross the street because it was too wide .")],
}  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: explorer_page(inputs) for name, inputs in PAGES.items()}


@pytest.fixture
def tab(tabs: Tabs) -> Iterator[Any]:
    one = tabs.take(SHIFTS, width=1280, height=800, scheme="light")
    yield one
    assert one.errors == []
    tabs.give(one)


def opened(tab: Any, html: str, tmp_path: Any) -> Any:
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    tab.ready((tmp_path / "page.html").as_uri())
    settled(tab.page)
    return tab.page


@pytest.mark.parametrize("name", PAGES)
def test_the_head_is_within_the_first_screen(
    tab: Any, pages: dict[str, str], name: str, tmp_path: Any
) -> None:
    cells = "document.querySelector('.ring:not(.hov)').getBoundingClientRect().width"
    for width, height in SIZES if name == "short" else SIZES[:3:2]:
        tab.page.set_viewport_size({"width": width, "height": height})
        page = opened(tab, pages[name], tmp_path)
        found = page.evaluate(SEEN)
        where = f"{name} at {width} × {height}"
        picture, grid, ring = found["pictures"][0], found["grids"][0], found["ring"][0]
        assert picture["top"] < 0.7 * height, where
        seen = min(picture["bottom"], height) - picture["top"]
        assert seen >= min(picture["height"], 0.3 * height), where
        assert found["wide"] == width, where
        assert found["cut"] == 0, where
        assert {*found["sizes"]} <= {"0px", "11px", "12px", "13px", "15px", "24px"}, where
        assert min(found["apart"], default=9) >= 2, where
        assert page.evaluate(cells) >= 10, where
        assert grid["bottom"] <= height, where
        assert grid["left"] <= ring["left"] < ring["right"] <= grid["right"], where
        assert len(found["controls"]) <= 12, (where, found["controls"])
        for legend in found["legends"][:1]:  # under its grid, and not under a picture that stands below it
            assert grid["bottom"] <= legend["top"], where
            assert legend["bottom"] <= picture["top"] or picture["top"] < grid["bottom"], where
        for one, other in zip(found["pictures"], found["pictures"][1:], strict=False):
            if width >= 1280:  # two inputs are read row by row
                assert one["top"] == other["top"], where
        # What is wide is used: nothing but the margin is left beside what is drawn.
        right = max(
            box["right"]
            for box in page.locator(".pane > *").evaluate_all(
                "all => all.map(e => e.getBoundingClientRect())"
            )
        )
        assert width - right <= 40, where
        # The grid stays while the page is scrolled.
        page.mouse.move(width / 2, height - 10)
        page.evaluate("scrollTo(0, 1e6)")
        if len(found["grids"]) == 1:
            top, bottom = page.locator(".gridscroll").evaluate(
                "e => [e.getBoundingClientRect().top, e.getBoundingClientRect().bottom]"
            )
            assert min(bottom, height) - max(top, 0) >= 0.8 * (bottom - top), where


def test_what_opens_moves_nothing(tab: Any, pages: dict[str, str], tmp_path: Any) -> None:
    page = opened(tab, pages["short"], tmp_path)
    places = "() => [...document.querySelectorAll('.bar *, .tools > *, .pane *')].filter(e => e.checkVisibility() && !e.closest('.panel')).map(e => { const b = e.getBoundingClientRect(); return [e.className, b.x, b.y] })"
    before = page.evaluate(places)
    page.evaluate("shifts.length = 0")
    for name, inside in (("More", ".chips"), ("Save", "[title='Save this picture as SVG']")):
        page.get_by_role("button", name=name, exact=True).click()
        assert page.locator(inside).is_visible()
        settled(page)
        assert page.evaluate(places) == before
        page.keyboard.press("Escape")
        assert not page.locator(inside).is_visible()
    page.keyboard.press("/")
    assert page.get_by_label("Find a token").is_visible()
    assert page.evaluate("shifts.length") == 0
    page.get_by_role("switch", name="Rows sum to 1").click()
    settled(page)
    tools = "() => [...document.querySelectorAll('.tools > :not(.panel)')].map(e => e.getBoundingClientRect().toJSON())"
    rows = page.evaluate(tools)
    assert page.get_by_role("button", name="More · 1").is_visible()
    page.get_by_role("switch", name="Special tokens").click()
    page.get_by_label("Weakest line").fill("40")
    page.locator(".chips button").nth(3).click()
    settled(page)
    assert page.evaluate(tools) == rows  # the bar does not grow with use


def test_a_press_on_the_theme_is_seen_and_copied_does_not_stay(
    tab: Any, pages: dict[str, str], tmp_path: Any
) -> None:
    page = opened(tab, pages["short"], tmp_path)
    shown = "document.querySelector('.hx').dataset.theme"
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector(f".hx[data-theme={scheme}]")
        for wanted in ({"light", "dark"} - {scheme}).pop(), scheme:
            page.get_by_label("Theme: ").click()
            assert page.evaluate(shown) == wanted
        assert page.get_by_label("Theme: auto").is_visible()
    page.get_by_role("button", name="Save").click()
    link = page.locator("[title='Copy a link to this view']")
    page.evaluate("navigator.clipboard.writeText = async () => {}")
    page.clock.install()
    link.click()
    page.get_by_text("Copied", exact=True).wait_for()
    page.clock.run_for(1500)
    assert not page.get_by_text("Copied", exact=True).is_visible()


def test_a_long_input_opens_as_a_matrix_and_has_lines_for_what_is_pinned(
    tab: Any, pages: dict[str, str], tmp_path: Any
) -> None:
    page = opened(tab, pages["long"], tmp_path)
    assert page.locator(".matrix.big").is_visible()
    page.get_by_role("radio", name="Lines").click()
    settled(page)
    inked = "c => new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer).some(Boolean)"
    assert not any(page.eval_on_selector_all(".hv .base", f"all => all.map({inked})"))
    assert "Point at a token" in page.locator(".hv .sub").inner_text()
    page.locator(".hv .toks.l .tok").nth(3).click()
    settled(page)
    assert page.eval_on_selector(".hv .over", inked)
    page.wait_for_function("() => location.hash.includes('picture=')")
    page.reload()
    page.wait_for_selector("#headscope[data-ready]")
    assert page.locator(".hv").is_visible()  # what is chosen stays in the address


def test_arrow_keys_go_where_the_grid_does(tab: Any, pages: dict[str, str], tmp_path: Any) -> None:
    page = opened(tab, pages["decoder"], tmp_path)
    ring = "() => { const b = document.querySelector('.ring:not(.hov)').getBoundingClientRect(); return [b.x, b.y] }"
    page.locator(".gridbox canvas").focus()
    for there, back, axis in (("ArrowRight", "ArrowLeft", 0), ("ArrowDown", "ArrowUp", 1)):
        page.keyboard.press(back)
        settled(page)
        before = page.evaluate(ring)
        page.keyboard.press(there)
        settled(page)
        after = page.evaluate(ring)
        assert after[axis] > before[axis]
        assert after[1 - axis] == before[1 - axis]
