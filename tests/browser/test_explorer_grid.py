"""The grid's pictures follow: what is pointed at answers first, what is not made yet stands under a veil."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.views import explorer
from headscope.views.explorer import Input

pytestmark = pytest.mark.browser

LAYERS, HEADS, N = 8, 4, 70

GATE = """() => {
  const real = Response.prototype.arrayBuffer;
  const gate = new Promise((open, fail) => { window.open_gate = open; window.fail_gate = () => fail(new Error("a layer is missing")); });
  gate.catch(() => undefined);
  Response.prototype.arrayBuffer = async function () { await gate; return real.call(this); };
}"""
"""Nothing more is decoded until the gate is opened."""

CELLS = """(c, [layers, heads]) => {
  const cell = document.querySelector(".collabels span").getBoundingClientRect().width;
  const box = c.getBoundingClientRect(), scale = c.width / box.width, found = [];
  const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(c, 0, 0);
  const turned = document.querySelector(".collabels [data-layer]") !== null;
  const step = at => document.querySelectorAll(".collabels span")[at].getBoundingClientRect().x - box.x;
  const down = at => document.querySelectorAll(".rowlabels span")[at].getBoundingClientRect().y - box.y;
  for (let layer = 0; layer < layers; layer++) for (let head = 0; head < heads; head++) {
    const side = Math.floor(cell * scale) - 2;
    const data = copy.getImageData(Math.round(step(turned ? layer : head) * scale) + 1, Math.round(down(turned ? head : layer) * scale) + 1, side, side).data;
    found.push(data.join());
  }
  return found;
}"""
"""The pixels of every cell."""


@pytest.fixture(scope="module")
def html() -> str:
    pieces = ["[CLS]", *(f"w{place}" for place in range(N - 2)), "[SEP]"]
    special = np.array([piece.startswith("[") for piece in pieces])
    tokens = Tokens(pieces, special_mask=special)
    weights = np.random.default_rng(3).dirichlet(np.full(N, 0.05), (LAYERS, HEADS, N))
    maps = AttentionMaps(list(weights.astype(np.float32)), tokens, tokens)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer, "_SMALL", 0)  # as a page of more weights: not all layers are decoded at once
        return explorer.explorer_page([Input({"self": maps}, "random")], state={"layer": 0, "heads": [0]})


def cells(page: Any) -> list[str]:
    return page.eval_on_selector(".gridbox canvas", CELLS, [LAYERS, HEADS])


def drawn(page: Any) -> None:
    page.wait_for_selector(".hx:not([data-busy]):not([data-drawing])")


def answered(page: Any, words: str) -> None:
    page.locator(".status", has_text=words).wait_for()
    page.wait_for_selector(".hx[data-busy]", state="detached")


def change(page: Any, name: str) -> None:
    page.get_by_role("switch", name=name).click()


def test_renormalised_thumbnails_follow_the_head(open_page: Callable[..., Any], html: str) -> None:
    page = open_page(html, fragment="#special=false&picture=lines")
    before = cells(page)
    page.evaluate(GATE)
    change(page, "Rows sum to 1")
    answered(page, "rows renormalised")
    page.wait_for_selector(".hx[data-drawing]")
    page.locator(".hv .toks.l .tok .t").nth(1).hover()  # the head answers while its layers are waited for
    assert page.locator(".hv .toks.l .tok.on").count() == 1
    veiled = cells(page)
    changed = sum(a != b for a, b in zip(before, veiled, strict=True))
    assert changed == len(before)  # new, or under the veil
    page.evaluate("open_gate()")
    page.mouse.move(1, 1)
    page.wait_for_function("() => !document.querySelector('.answer').textContent.startsWith('Most')")
    drawn(page)
    after = cells(page)
    assert all(a != b for a, b in zip(before, after, strict=True))
    assert sum(a != b for a, b in zip(veiled, after, strict=True)) >= (LAYERS - 2) * HEADS
    fresh = open_page(html, fragment="#special=false&renormalise=true")
    assert cells(fresh) == after


def test_a_further_change_cancels_what_is_pending(open_page: Callable[..., Any], html: str) -> None:
    page = open_page(html, fragment="#special=false&picture=lines")
    before = cells(page)
    page.evaluate(GATE)
    change(page, "Rows sum to 1")
    page.wait_for_selector(".hx[data-drawing]")
    change(page, "Rows sum to 1")
    answered(page, "raw weights")
    drawn(page)
    assert cells(page) == before
    page.evaluate("open_gate()")
    page.evaluate(
        "new Promise(done => { let n = 20; const f = () => n-- ? requestAnimationFrame(f) : done(); f(); })"
    )
    assert cells(page) == before


def test_a_grid_of_another_size_begins_with_empty_cells(open_page: Callable[..., Any], html: str) -> None:
    page = open_page(html, fragment="#special=false&picture=lines")
    page.evaluate(GATE)
    change(page, "Rows sum to 1")
    page.wait_for_selector(".hx[data-drawing]")
    page.keyboard.press("1")
    page.locator(".hx[data-scale=model]").wait_for()
    page.wait_for_selector(".hx[data-busy]", state="detached")
    assert len(set(cells(page)[-HEADS:])) == 1  # hatched alone
    page.evaluate("open_gate()")
    drawn(page)
    assert len(set(cells(page))) == LAYERS * HEADS


def test_a_layer_that_cannot_be_read_is_a_sentence(open_page: Callable[..., Any], html: str) -> None:
    page = open_page(html)
    page.evaluate(GATE)
    change(page, "Rows sum to 1")
    page.wait_for_selector(".hx[data-drawing]")
    page.evaluate("fail_gate()")
    page.locator(".failure").wait_for()
    assert page.locator(".failure").inner_text() == "This cannot be shown: a layer is missing."
    page.wait_for_selector(".hx[data-drawing]", state="detached")


@pytest.fixture(scope="module")
def wide() -> str:
    """Three layers of 40 heads, the later ones with more on the previous token."""
    tokens = Tokens([f"w{place}" for place in range(6)])
    share = np.linspace(0.05, 0.95, 120).reshape(3, 40, 1, 1)
    previous = np.eye(6, k=-1) + np.eye(6) * (np.arange(6) == 0)
    weights = share * previous + (1 - share) / 6
    maps = AttentionMaps(list(weights.astype(np.float32)), tokens, tokens)
    return explorer.explorer_page([Input({"self": maps}, "wide")], state={"layer": 0, "heads": [0]})


def test_a_grid_of_more_heads_than_have_room_moves_sideways(open_page: Callable[..., Any], wide: str) -> None:
    page = open_page(wide, fragment="#scale=model")
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".hx.tiny").wait_for()
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    box = page.locator(".gridscroll")
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") > 100
    assert box.evaluate("box => box.scrollLeft") == 0
    page.evaluate("location.hash = '#scale=model&layer=1&heads=39'")
    page.wait_for_function("() => document.querySelector('.gridscroll').scrollLeft > 100")
    for head in (39, 0, 20):
        page.evaluate(f"location.hash = '#scale=model&layer=1&heads={head}'")
        page.wait_for_function(f"() => /L1H{head}(?!\\d)/.test(document.querySelector('.hx').textContent)")
        drawn(page)
        ring, inside = page.locator(".ring:not(.hov)").bounding_box(), box.bounding_box()
        assert inside["x"] <= ring["x"]
        assert ring["x"] + ring["width"] <= inside["x"] + inside["width"]
    page.set_viewport_size({"width": 1400, "height": 900})
    page.locator(".hx.wide").wait_for()
    drawn(page)
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") == 0


def test_a_sorted_head_without_room_for_its_name_says_it_when_open_or_pointed_at(
    open_page: Callable[..., Any], wide: str
) -> None:
    page = open_page(wide, fragment="#scale=model&measure=previous&sort=true&layer=2&heads=38")
    drawn(page)
    ring, canvas = page.locator(".ring:not(.hov)"), page.locator(".gridbox canvas")
    named = "ring => getComputedStyle(ring, '::after').content"
    assert ring.evaluate(named) == '"L2H38"'
    assert "L2H38 is open, previous token 0.9" in canvas.get_attribute("aria-label")
    assert "number 2 of 120" in canvas.get_attribute("aria-label")
    canvas.hover(position={"x": 5, "y": 5})
    assert page.locator(".tip b").first.inner_text() == "L2H39"
    page.evaluate("location.hash = '#scale=model&layer=2&heads=38'")
    page.wait_for_function("() => !document.querySelector('.ring[data-name]')")
    assert ring.evaluate(named) == "none"
