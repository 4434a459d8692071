"""Where things stand: the head's picture within the first screen, heads large enough to be seen, and nothing that moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens
from headscope.views.explorer import Input, explorer_page
from tests.helpers.page_controls import settled
from tests.helpers.tabs import Tabs

pytestmark = pytest.mark.browser

SIZES = ((1280, 800), (1920, 1080), (2560, 1440), (390, 844), (640, 400), (700, 700))
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


def opened(tab: Any, html: str, tmp_path: Any, size: tuple[int, int] = (1280, 800)) -> Any:
    tab.page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    tab.ready((tmp_path / "page.html").as_uri())
    settled(tab.page)
    return tab.page


@pytest.mark.parametrize("name", PAGES)
def test_the_head_is_within_the_first_screen(
    tab: Any, pages: dict[str, str], name: str, tmp_path: Any
) -> None:
    cells = "document.querySelector('.ring:not(.hov)').getBoundingClientRect().width"
    for size in SIZES:
        page = opened(tab, pages[name], tmp_path, size)
        width, height = size
        found = page.evaluate(SEEN)
        where = f"{name} at {width} × {height}"
        picture, grid, ring = found["pictures"][0], found["grids"][0], found["ring"][0]
        assert picture["top"] < 0.7 * height, where
        seen = min(picture["bottom"], height) - picture["top"]
        assert seen >= min(picture["height"], 0.3 * height), where
        assert found["wide"] == width, where
        assert found["cut"] == 0, where
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


def test_all_of_32_by_32_heads_are_in_sight(tab: Any, tmp_path: Any) -> None:
    page = opened(tab, explorer_page([one(32, 32, 8)]), tmp_path)
    grid = page.locator(".gridscroll")
    assert grid.evaluate("e => e.scrollHeight - e.clientHeight") <= 0
    assert grid.bounding_box()["y"] + grid.bounding_box()["height"] < 0.9 * 800


def test_parts_and_steppers_share_a_row_of_a_phone(tab: Any, tmp_path: Any) -> None:
    maps = PAGES["short"][0].parts["self"]
    parts = {
        name: replace(maps, kind=kind)
        for name, kind in (("encoder", "encoder"), ("decoder", "self"), ("cross", "cross"))
    }
    page = opened(tab, explorer_page([Input(parts, WORDS)]), tmp_path, (390, 844))
    row = [page.get_by_role("radiogroup", name="Part"), *page.locator(".stepper:visible").all()]
    boxes = [each.bounding_box() for each in row]
    assert len(boxes) == 3
    assert max(box["y"] for box in boxes) < min(box["y"] + box["height"] for box in boxes)


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


def test_the_colours_of_neurons_are_told_above_them(tab: Any, tmp_path: Any) -> None:
    one = PAGES["short"][0]
    q, k = ([np.random.default_rng(seed).normal(size=(12, 14, 8)) for _ in range(6)] for seed in (1, 2))
    neurons = Neurons(q=q, k=k, scaling=[1.0] * 6, bias=[None] * 6, softcap=[None] * 6, sinks=[None] * 6)
    html = explorer_page([Input(one.parts, WORDS, neurons={"self": neurons})], state={"scale": "neuron"})
    page = opened(tab, html, tmp_path)
    key, axis = page.locator(".dkey").bounding_box(), page.locator(".axis.n span").first.bounding_box()
    assert abs(key["x"] - axis["x"]) < 2
    assert 0 <= axis["y"] - key["y"] - key["height"] < 16


TYPE = """() => {
  document.querySelectorAll('details').forEach(one => { one.open = true; });
  document.querySelectorAll('.hx.quiet .panel').forEach(one => one.classList.add('open'));
  const found = {};
  for (const e of document.querySelectorAll('body :not(script, style, option)')) {
    const own = [...e.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    const { width, height } = e.getBoundingClientRect();
    if (!own || width * height <= 1 || !e.checkVisibility()) continue;
    const at = e.getScreenCTM?.();
    const scale = at ? Math.hypot(at.a, at.b) : 1;
    const size = scale * parseFloat(getComputedStyle(e).fontSize);
    (found[Math.round(100 * size) / 100] ??= []).push(`${e.tagName}.${e.className.baseVal ?? e.className}: ${e.textContent.slice(0, 20)}`);
  }
  return Object.entries(found).map(([size, who]) => [Number(size), who[0]]);
}"""
LETTERED = """() => {
  const font = Object.getOwnPropertyDescriptor(CanvasRenderingContext2D.prototype, 'font');
  window.lettered = [];
  Object.defineProperty(CanvasRenderingContext2D.prototype, 'font', { ...font, set(value) { lettered.push(value); font.set.call(this, value); } });
}"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["explorer", "report"])
def test_type_has_five_sizes(
    tab: Any, pages: dict[str, str], built_in: str, tmp_path: Any, where: str
) -> None:
    tab.page.add_init_script(f"({LETTERED})()")
    views = (
        [("report", "")]
        if where == "report"
        else [(name, view) for name in ("short", "two inputs") for view in ("head", "model")]
    )
    for name, view in views:
        page = opened(tab, built_in if name == "report" else pages[name], tmp_path)
        if view:
            page.locator(f".scale [data-v={view}]").click()
        if view == "model":
            page.get_by_label("Measure").first.select_option("previous")
        settled(page)
        found = page.evaluate(TYPE)
        assert {size for size, _ in found} <= {11, 12, 13, 15, 24}, [
            one for one in found if one[0] not in {11, 12, 13, 15, 24}
        ]
        settled(page)
        small = page.evaluate("lettered.filter(font => parseFloat(/([\\d.]+)px/.exec(font)[1]) < 11)")
        assert small == [], name
        assert all(
            "tnum" in one
            for one in page.locator("td.n").evaluate_all(
                "all => all.map(e => getComputedStyle(e).fontFeatureSettings)"
            )
        )
