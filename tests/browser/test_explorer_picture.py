"""Heads drawn on the picture that they look at: where a query looks, what looks at a key, the grid, several heads."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.maps import AttentionMaps

PIL = pytest.importorskip("PIL.Image")

AXE = Path(__file__).resolve().parents[2] / "frontend/node_modules/axe-core/axe.min.js"
WIDE, HIGH = 120, 80


def picture() -> hs.Picture:
    pixels = np.full((HIGH, WIDE, 3), 200, np.uint8)
    pixels[:40, :40] = (220, 60, 40)
    return hs.Picture(pixels, "red corner")


def maps(layers: int = 2, heads: int = 3, rows: int = 2, columns: int = 3) -> AttentionMaps:
    """Each head of a grid with [CLS]: all queries look at [CLS] a little, and at one patch, which is the head's own."""
    axis = hs.Grid(rows, columns, prefix=["[CLS]"], picture=picture())
    count = len(axis)
    found = np.full((layers, heads, count, count), 0.1 / count)
    for layer in range(layers):
        for head in range(heads):
            found[layer, head, :, 1 + (layer * heads + head) % (count - 1)] += 0.9
    found[0, 0, 2] = 0.0
    found[0, 0, 2, 0] = 0.25
    found[0, 0, 2, 5] = 0.75
    return hs.wrap(found, axis)


def brightness(page: Any, selector: str, x: float, y: float) -> int:
    """How light a canvas is at a place of the picture, in its pixels."""
    return page.evaluate(
        "([selector, x, y]) => { const canvas = document.querySelector(selector);"
        " const copy = new OffscreenCanvas(canvas.width, canvas.height);"
        " const context = copy.getContext('2d', { willReadFrequently: true });"
        " context.drawImage(canvas, 0, 0);"
        " const [r, g, b] = context.getImageData(Math.round(x * canvas.width), Math.round(y * canvas.height), 1, 1).data;"
        " return r + g + b; }",
        [selector, x / WIDE, y / HIGH],
    )


def test_the_head_opens_on_the_picture(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(layer=0, heads=[1], scale="head"))
    assert page.get_by_role("radio", name="Picture", exact=True).last.get_attribute("aria-checked") == "true"
    assert page.locator(".hp .board").count() == 2
    assert page.locator(".hp .others button").all_inner_texts()[0].startswith("[CLS]")
    # Head 1 looks at patch[0,1]: it stays light, others darken.
    to = '.board[data-end="to"] canvas'
    assert brightness(page, to, 60, 20) > 1.8 * brightness(page, to, 100, 60)
    assert "patch[0,1]" in page.locator(".hp .sub").inner_text()


def shown(**state: Any) -> str:
    return hs.view(maps(), **state).html()


def test_a_click_on_a_patch_shows_where_it_looks_and_what_looks_there(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(layer=0, heads=[0], scale="head"))
    start, to = (f'.board[data-end="{end}"] canvas' for end in ("from", "to"))
    box = page.locator(start).bounding_box()
    page.mouse.click(box["x"] + box["width"] * 60 / WIDE, box["y"] + box["height"] * 20 / HIGH)
    page.mouse.move(0, 0)
    assert "where patch[0,1] looks" in page.locator('.board[data-end="to"] .cap').inner_text().lower()
    # It gives .25 to [CLS] and .75 to patch[1,1].
    share = page.locator('.board[data-end="to"] .others button i').inner_text()
    assert float(share) == pytest.approx(0.25, abs=0.004)
    assert brightness(page, to, 60, 60) > 2 * brightness(page, to, 20, 20)
    said = page.locator(".hp .sub").inner_text()
    assert re.fullmatch(
        r"Of what patch\[0,1\] looks at 7[45]\.\d % is the picture, most of it patch\[1,1\] \(0\.7[45]\d\)\.",
        said,
    )
    page.wait_for_function("() => decodeURIComponent(location.hash).includes('pin=from,2')")
    page.keyboard.press("Escape")
    page.locator('.board[data-end="to"] .others button').click()
    page.mouse.move(0, 0)
    assert "which tokens look at [cls]" in page.locator('.board[data-end="from"] .cap').inner_text().lower()
    assert brightness(page, start, 60, 20) > 2 * brightness(page, start, 20, 20)


def test_smooth_opacity_and_other_pictures(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(layer=0, heads=[1], scale="head"))
    to = '.board[data-end="to"] canvas'
    dark = brightness(page, to, 100, 60)
    page.get_by_label("Opacity").fill("20")
    assert brightness(page, to, 100, 60) > 1.3 * dark
    page.get_by_label("Opacity").fill("80")
    assert brightness(page, to, 82, 20) == pytest.approx(brightness(page, to, 100, 20), abs=12)
    page.get_by_label("smooth").check()
    assert brightness(page, to, 82, 20) > 1.2 * brightness(page, to, 110, 20)
    page.get_by_role("radio", name="Matrix").click()
    page.wait_for_selector("figure.matrix.big")
    assert not page.locator(".hp").is_visible()
    page.get_by_role("radio", name="Lines", exact=True).last.click()
    page.wait_for_selector(".hv .toks.r")


def test_several_heads_are_small_pictures(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(layer=1, heads=[0, 1, 2], scale="head"))
    assert page.locator(".hp .several .cap").all_inner_texts() == ["L1H0", "L1H1", "L1H2"]


def test_the_grid_shows_each_head_on_the_picture(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(scale="model"))
    canvas = page.locator(".gridbox canvas").first
    size = canvas.evaluate("canvas => [canvas.width, canvas.height]")
    light = page.evaluate(
        "() => { const canvas = document.querySelector('.gridbox canvas'); const context = canvas.getContext('2d');"
        " const { data, width } = context.getImageData(0, 0, canvas.width, canvas.height);"
        " const cell = Math.round(canvas.width / 3);"
        " const at = (x, y) => { const place = 4 * (Math.round(y) * width + Math.round(x)); return data[place] + data[place + 1] + data[place + 2]; };"
        " return [0, 1, 2].map((head) => [0.17, 0.5, 0.83].map((x) => at((head + x * 0.97) * cell, 0.34 * cell))); }"
    )
    # In each of the first row's cells the head's own patch is the lightest.
    assert size[0] > 100
    for head in range(3):
        assert int(np.argmax(light[head])) == head, light
    page.get_by_role("radio", name="Heat").click()
    assert page.locator(".legend").first.is_visible()


def test_text_has_no_picture(open_page: Callable[..., Any]) -> None:
    page = open_page(hs.view(hs.wrap(np.eye(3)[None, None], ["a", "b", "c"]), scale="head").html())
    assert page.get_by_role("radio", name="Picture", exact=True).count() == 0
    assert not page.locator(".hp").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_the_picture_is_accessible(open_page: Callable[..., Any], scheme: str, width: int) -> None:
    page = open_page(shown(layer=0, heads=[0], scale="head", pin=("from", 2)), scheme=scheme, width=width)
    found = page.evaluate(
        f"{AXE.read_text()}; axe.run().then(({{ violations }}) => violations.map(({{ id }}) => id))"
    )
    assert found == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.slow
def test_large_models_of_vision_are_drawn_and_answer(open_page: Callable[..., Any]) -> None:
    """24 × 16 heads on 37 × 37 patches: the grid is there, and a head opens on the picture."""
    axis = hs.Grid(37, 37, prefix=["[CLS]"], picture=hs.Picture(np.full((518, 518, 3), 120, np.uint8)))
    count = len(axis)
    dice = np.random.default_rng(0)
    rows = dice.dirichlet(np.full(count, 0.3), size=(24, 16)).astype(np.float32)
    layers = [np.broadcast_to(heads[:, None], (16, count, count)) for heads in rows]
    whole = AttentionMaps([layers[at] for at in (0, 23)], axis, axis, index=[0, 23])
    page = open_page(hs.view(whole, scale="model").html())
    page.locator(".gridbox canvas").first.click(position={"x": 40, "y": 40})
    page.wait_for_selector(".hp canvas")
