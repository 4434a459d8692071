"""The first sentence of a page, and all heads' answer to the token that is pointed at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.models import Model
from headscope.views.explorer import Input, explorer_page
from tests.helpers.tabs import Tabs
from tests.helpers.view_sample import PIECES, some

pytestmark = pytest.mark.browser

MAPS = some(layers=3, heads=4)
TEXT = "The animal didn't cross the street because it was too tired."
GRID = ".gridbox canvas"
SHADES = """([selector, at]) => {
  const canvas = document.querySelector(selector), ratio = canvas.width / canvas.getBoundingClientRect().width;
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  return at.map(([x, y]) => [...copy.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data].slice(0, 3));
}"""
TOP = "element => element.getBoundingClientRect().top + scrollY"


def page_of(**state: Any) -> str:
    return explorer_page([Input({"self": MAPS}, "one")], state={"layer": 1, "heads": [1], **state})


def best(query: int | None, key: int | None) -> list[tuple[str, int]]:
    """The heads by the largest weight of a token on another that is not special, in bytes, with that weight."""
    weights = MAPS.weights[:, :, query] if query is not None else MAPS.weights[:, :, :, key]
    says = [place for place, piece in enumerate(PIECES) if piece[0] != "[" and place not in (query, key)]
    codes = np.round(np.sqrt(weights[..., says].max(-1)) * 255)
    order = np.argsort(-codes, axis=None, kind="stable")
    return [(f"L{at // 4}H{at % 4}", round(100 * (codes.ravel()[at] / 255) ** 2)) for at in order]


def names(page: Any) -> list[str]:
    return page.locator(".answer .link").all_inner_texts()


def says(page: Any, begins: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('.answer').textContent.startsWith(text)", arg=begins
    )


@pytest.mark.slow
def test_the_first_sentence_has_the_figures_of_the_api(open_page: Callable[..., Any], demo: Model) -> None:
    page = open_page(hs.view(demo, TEXT).html(), quiet=True)
    maps = hs.capture(demo, TEXT)
    sentence = page.locator(".answer").inner_text()
    name, query, key = (page.locator(".answer b").nth(at).inner_text() for at in range(3))
    assert sentence.startswith(f"{name} looks from {query} to {key}, ")
    opened = hs.Head.parse(name)
    assert page.locator(".rightpane h2").inner_text() == f"Layer {opened.layer}, head {opened.head}"
    places = [list(maps.query.pieces).index(piece) for piece in (query, key)]
    weight = maps.layers[opened.layer][opened.head][places[0], places[1]]
    assert f"to {key}, {round(100 * float(weight))}%; " in sentence
    page.locator(".answer").hover()  # the picture shows the link, and the sentence stays
    marked = [page.locator(f".hv .toks.{side} .tok.on").all_inner_texts() for side in "lr"]
    assert (marked, page.locator(".answer").inner_text()) == ([[query], [key]], sentence)
    page.mouse.move(0, 0)
    assert page.locator(".hv .tok.on").count() == 0
    page.locator(".hv .toks.l .tok").nth(places[0]).click()
    first = hs.measure(demo, hs.corpora.texts([TEXT]), measures=["first"])["first"].values
    count = int(page.locator(".roles li", has_text="[CLS]").locator("b").inner_text())
    assert 0 < count <= (first > 0.5).sum()
    assert sentence.endswith(f"; {count} of {first.size} heads look mostly at [CLS] (a sink).")
    assert (
        sum(map(int, page.locator(".roles li b").all_inner_texts())) == first.size
    )  # each head has one role
    grid = "() => document.querySelector('.gridbox canvas').toDataURL()"
    legend = page.locator(".roles button", has_text="[CLS]")
    every = page.evaluate(grid)
    legend.click()  # heads of other roles fade
    page.wait_for_function(f"before => ({grid})() !== before", arg=every)
    assert legend.get_attribute("aria-pressed") == "true"
    legend.click()
    page.wait_for_function(f"before => ({grid})() === before", arg=every)


def test_a_token_under_the_mouse_is_asked_of_all_heads(open_page: Callable[..., Any]) -> None:
    page = open_page(page_of())
    at_rest = page.locator(".answer").inner_text()
    top = page.locator(".hv").evaluate(TOP)
    left, right = page.locator(".hv .toks.l .tok"), page.locator(".hv .toks.r .tok")
    left.nth(3).hover()
    says(page, "Most from cat: ")
    expected = best(3, None)[:6]
    assert names(page) == [name for name, _ in expected]
    assert f"{expected[0][0]} {expected[0][1]}% to " in page.locator(".answer").inner_text()
    right.nth(3).hover()
    says(page, "Most to cat: ")
    assert names(page) == [name for name, _ in best(None, 3)[:6]]
    page.mouse.move(5, 5)
    says(page, at_rest)

    # A row is stripes across a cell, a pair one shade.
    left.nth(3).click()
    says(page, "Most from cat: ")
    cell = page.locator(GRID).evaluate("canvas => canvas.getBoundingClientRect().width / 4")
    inside = [[cell * (0.5 + step / 20), cell * 0.9 * shade] for step in range(-3, 4) for shade in (0.5, 0.8)]
    shades = np.array(page.evaluate(SHADES, [GRID, inside]))
    assert (shades[::2] == shades[1::2]).all()
    assert len(np.unique(shades, axis=0)) > 1
    right.nth(1).hover()
    says(page, "From cat to it: ")
    assert len(np.unique(np.array(page.evaluate(SHADES, [GRID, inside])), axis=0)) == 1
    assert page.locator(".hv").evaluate(TOP) == top, "nothing moves under the mouse"

    page.mouse.move(5, 5)
    says(page, "Most from cat: ")
    name = names(page)[1]
    page.locator(".answer .link").nth(1).click()
    assert page.locator(".rightpane h2").inner_text() == f"Layer {name[1]}, head {name[3]}"
    says(page, "Most from cat: ")  # the token stays
    page.locator(".answer .token").nth(1).click()  # where that head looks: the second token
    page.wait_for_function("() => decodeURIComponent(location.hash).includes('between=3,')")
    for begins in ("Most from cat: ", f"{name} "):
        page.keyboard.press("Escape")
        says(page, begins)


def test_a_finger_asks_and_lets_go(tabs: Tabs, tmp_path: Any) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_of(), encoding="utf-8")
    size = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}
    tab = tabs.take(scheme="light", **size)
    page = tab.ready(path.as_uri())
    top = page.locator(".hv").evaluate(TOP)
    page.locator(".hv .toks.l .tok").nth(3).tap()
    says(page, "Most from cat: ")
    assert page.locator(".hv").evaluate(TOP) == top
    assert page.locator(".answer").evaluate("answer => answer.getBoundingClientRect().bottom") > 0, (
        "it stays in sight"
    )
    page.locator(".hv .toks.r .tok").nth(1).tap()
    says(page, "From cat to it: ")
    page.locator(".hv .toks.r .tok").nth(1).tap()
    says(page, "Most from cat: ")
    page.locator(".hv .toks.l .tok").nth(3).tap()
    says(page, "L1H1 ")
    tabs.give(tab)


def test_an_address_has_the_tokens_and_large_maps_are_read_for_them(
    open_page: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.views.explorer._SMALL", 0)  # the grid is drawn from thumbnails
    page = open_page(page_of(pin=("from", 3)))
    page.mouse.move(1, 1)  # off the tokens, wherever it was before
    says(page, "Most from cat: ")
    page.wait_for_function("() => !document.querySelector('.answer').textContent.includes('are read')")
    assert names(page) == [name for name, _ in best(3, None)[:6]]
