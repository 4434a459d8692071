"""Heads drawn on the picture that they look at: where a query looks, what looks at a key, layers, rollout, the grid."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.core.maps import AttentionMaps
from headscope.views import images as seeing
from tests.helpers.axe import violations
from tests.helpers.pages import saved
from tests.helpers.seen_sample import HIGH, WIDE, picture, random_maps

pytest.importorskip("PIL.Image")

FROM, TO = ('.hp > .boards > .board[data-end="from"]', '.hp > .boards > .board[data-end="to"]:not(.rolled)')
ROLLED = ".hp .rolled"


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


def rest(page: Any) -> None:
    page.wait_for_selector(".hx:not([data-busy]):not([data-drawing])")


def shown(**state: Any) -> str:
    return hs.view(maps(), **state).html()


def said(page: Any) -> str:
    return page.locator(".hp > .sub").first.inner_text()


def press(page: Any, selector: str, x: float, y: float) -> None:
    """Click a place of the picture, and leave it."""
    box = page.locator(f"{selector} canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] * x / WIDE, box["y"] + box["height"] * y / HIGH)
    page.mouse.move(0, 0)
    rest(page)


def test_a_click_on_a_patch_shows_where_it_looks_and_what_looks_there(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(layer=0, heads=[0], scale="head"))
    assert page.get_by_role("radio", name="Picture", exact=True).last.get_attribute("aria-checked") == "true"
    assert page.locator(".hp .board:visible").count() == 2
    buttons = page.locator(f"{FROM} .others button").all_inner_texts()
    assert buttons == ["mean of all", "mean of patches", "[CLS]"]
    press(page, FROM, 60, 20)
    assert "where patch[0,1] looks" in page.locator(f"{TO} .cap").inner_text().lower()
    # It gives .25 to [CLS] and .75 to patch[1,1].
    share = page.locator(f"{TO} .others button i").inner_text()
    assert float(share) == pytest.approx(0.25, abs=0.004)
    assert brightness(page, f"{TO} canvas", 60, 60) > 2 * brightness(page, f"{TO} canvas", 20, 20)
    assert re.fullmatch(
        r"7[45]% of what patch\[0,1\] looks at is the picture, most of it patch\[1,1\] \(0\.7[45]\d\)\. Dark: .*",
        said(page),
    )
    page.wait_for_function("() => decodeURIComponent(location.hash).includes('pin=from,2')")
    page.keyboard.press("Escape")
    page.locator(f"{TO} .others button").click()
    page.mouse.move(0, 0)
    assert "which tokens look at [cls]" in page.locator(f"{FROM} .cap").inner_text().lower()
    assert brightness(page, f"{FROM} canvas", 60, 20) > 2 * brightness(page, f"{FROM} canvas", 20, 20)
    page.keyboard.press("Escape")
    page.keyboard.press("s")  # special tokens are hidden: a click is still of the patch under it
    rest(page)
    press(page, FROM, 60, 20)
    assert "where patch[0,1] looks" in page.locator(f"{TO} .cap").inner_text().lower()


def test_pictures_are_chosen_and_saved(open_page: Callable[..., Any]) -> None:
    page = open_page(hs.view(random_maps(), layer=0, heads=[0, 1], scale="head", rollout=True).html())
    assert page.locator(f"{ROLLED} .cap").inner_text().lower() == "rollout to layer 0"
    assert "Abnar & Zuidema 2020" in page.locator(".hp .about").inner_text()
    drawing = saved(page.get_by_role("button", name="SVG", exact=True))
    assert drawing.count("<image") >= 3 + 2 + 3, "the pictures, both heads, the layers"
    assert "Rollout" in drawing
    page.get_by_role("switch", name="Rollout").click()
    assert not page.locator(ROLLED).is_visible()
    page.get_by_label("Opacity").fill("4")
    page.get_by_role("switch", name="Smooth").click()
    page.wait_for_function(
        "() => ['rollout=false', 'smooth=true', 'opacity='].every(each => location.hash.includes(each))"
    )
    page.get_by_role("radio", name="Matrix").click()
    page.wait_for_selector("figure.matrix.big")
    assert not page.locator(".hp").is_visible()
    page.keyboard.press("m")
    page.wait_for_selector(".hp .boards canvas")
    page.get_by_role("radio", name="Lines", exact=True).last.click()
    page.wait_for_selector(".hv .toks.r")


def test_several_heads_are_small_pictures_that_open(open_page: Callable[..., Any]) -> None:
    page = open_page(hs.view(maps(2, 16), layer=1, heads=list(range(16)), scale="head").html())
    small = page.locator(".hp .several button")
    assert small.all_inner_texts() == [f"L1H{head}" for head in range(16)]
    assert page.evaluate(
        "() => { const room = document.querySelector('.hp').getBoundingClientRect();"
        " return [...document.querySelectorAll('.hp .several button')].every((each) =>"
        " each.getBoundingClientRect().right <= room.right + 1); }"
    )
    # Head h of layer 1 looks at patch 16 + h, counted on.
    for head in (0, 15):
        patch = (16 + head) % 6
        canvas = f'.hp .several [data-head="{head}"] canvas'
        place = (20 + 40 * (patch % 3), 20 + 40 * (patch // 3))
        other = (20 + 40 * ((patch + 1) % 3), 20 + 40 * (patch // 3))
        assert brightness(page, canvas, *place) > 1.3 * brightness(page, canvas, *other)
    small.nth(1).click()
    rest(page)
    page.wait_for_function("() => location.hash.includes('heads=1')")
    assert not page.locator(".hp .several").is_visible()


def test_layers_are_a_strip_that_opens_them(open_page: Callable[..., Any]) -> None:
    page = open_page(hs.view(maps(5, 2), layer=3, heads=[1], scale="head").html())
    rest(page)
    layers = page.locator(".hp .layers button")
    assert layers.all_inner_texts() == ["0", "1", "2", "3", "4"]
    assert [each.get_attribute("aria-pressed") for each in layers.all()] == ["false"] * 3 + ["true", "false"]
    layers.nth(1).click()
    rest(page)
    page.wait_for_function("() => location.hash.includes('layer=1')")
    # the mean over both heads: two patches are light
    page.get_by_role("radio", name="Mean of heads").click()
    rest(page)
    canvas = '.hp .layers [data-layer="0"] canvas'
    both = [brightness(page, canvas, x, 20) for x in (20, 60, 100)]
    assert min(both[:2]) > 1.3 * both[2]
    page.locator(".hp .layers [aria-pressed=true]").focus()
    for key in ("Shift+Tab", "Tab", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("() => document.activeElement.dataset.layer") == "2"
    page.keyboard.press("Enter")
    rest(page)
    page.wait_for_function("() => location.hash.includes('layer=2')")
    assert page.evaluate("() => document.activeElement.dataset.layer") == "2"
    # one stop of the Tab key
    assert page.locator(".hp .layers button[tabindex='0']").count() == 1


def test_the_strip_is_whole_when_a_layer_is_opened_meanwhile(open_page: Callable[..., Any]) -> None:
    axis = hs.Grid(12, 18, prefix=["[CLS]"], picture=picture())
    weights = np.full((9, 1, 217, 217), 0.1 / 217)
    for layer in range(9):  # [CLS] looks at a patch of its own in each layer
        weights[layer, 0, 0, 1 + 20 * layer] += 0.9
    weights[:, :, 1:] = 1 / 217
    page = open_page(hs.view(hs.wrap(weights, axis), layer=3, scale="head").html())
    for layer in (4, 3):  # both are decoded, most others are not
        page.locator(f'.hp .layers [data-layer="{layer}"]').click()
        rest(page)
    page.evaluate(
        "() => { document.querySelector('.hp .others [data-place=\"0\"]').click();"
        " document.querySelector('.hp .layers [data-layer=\"4\"]').click(); }"
    )
    page.wait_for_function("() => location.hash.includes('layer=4') && location.hash.includes('pin')")
    rest(page)
    for layer in range(9):
        row, column = divmod(20 * layer, 18)
        canvas = f'.hp .layers [data-layer="{layer}"] canvas'
        at = ((column + 0.5) * WIDE / 18, (row + 0.5) * HIGH / 12)
        assert brightness(page, canvas, *at) > 1.3 * brightness(page, canvas, (at[0] + 50) % WIDE, at[1])


def test_patches_are_reached_by_keyboard(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(layer=0, heads=[0], scale="head"))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.closest('.board')?.dataset.end") == "from"
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    assert "where patch[1,0] looks" in page.locator(f"{TO} .cap").inner_text().lower()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("() => decodeURIComponent(location.hash).includes('pin=from,2')")
    assert "patch[0,1]" in page.locator(f"{FROM} canvas").get_attribute("aria-label")


@pytest.mark.parametrize(
    ("state", "width", "scheme"), [({"pin": ("from", 2)}, 390, "light"), ({"heads": [0, 1, 2]}, 1400, "dark")]
)
def test_the_picture_is_accessible(
    state: dict[str, Any], width: int, scheme: str, open_page: Callable[..., Any]
) -> None:
    html = hs.view(maps(3, 3), **{"layer": 1, "heads": [0], "scale": "head", "rollout": True, **state}).html()
    page = open_page(html, scheme=scheme, width=width)
    rest(page)
    assert violations(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("deep", "side", "weights"),
    [(2, 20, "5 million"), pytest.param(24, 37, "721 million", marks=pytest.mark.deep)],
)
def test_large_models_of_vision_are_drawn_and_answer(
    deep: int, side: int, weights: str, open_page: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 heads a layer on many patches: the grid is there, and a head opens on the picture."""
    count = side**2 + 1
    monkeypatch.setattr(seeing, "WHOLE", min(seeing.WHOLE, deep * 16 * count**2 // 10))
    axis = hs.Grid(side, side, prefix=["[CLS]"], picture=hs.Picture(np.full((518, 518, 3), 120, np.uint8)))
    rows = np.random.default_rng(0).dirichlet(np.full(count, 0.3), size=(deep, 16)).astype(np.float32)
    layers = [np.broadcast_to(heads[:, None], (16, count, count)) for heads in rows]
    whole = AttentionMaps(layers, axis, axis)
    with pytest.warns(
        hs.errors.HeadscopeWarning, match=f"{16 * deep} heads on {count:,} tokens are {weights} weights"
    ):
        html = hs.view(whole, scale="model").html()
    page = open_page(html)
    page.locator(".gridbox canvas").first.click(position={"x": 40, "y": 40})
    page.wait_for_selector(".hp canvas")
    rest(page)
    assert page.locator(".hp .layers button").count() == deep
    press(page, FROM, 60, 40)
    assert page.locator(f"{TO} .cap").inner_text().lower().startswith("where patches[")
