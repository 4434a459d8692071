"""Two chosen tokens: all heads ranked by the weight between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps
from headscope.views.explorer import Input, explorer_page
from tests.helpers.view_sample import neurons, some

pytestmark = pytest.mark.browser

MAPS = some(layers=3, heads=4)


def page_of(*parts: AttentionMaps, **state: Any) -> str:
    one = Input({maps.kind: maps for maps in parts}, "one", {"self": neurons(3)} if parts[0] is MAPS else {})
    return explorer_page([one], state={"scale": "head", "layer": 1, "heads": [1], **state})


def ranked(query: int, key: int, maps: AttentionMaps = MAPS) -> list[str]:
    """The heads by one weight, from the maps themselves, as bytes have it."""
    codes = np.round(np.sqrt(maps.weights[:, :, query, key]) * 255)
    return [
        f"L{at // codes.shape[1]}H{at % codes.shape[1]}"
        for at in np.argsort(-codes, axis=None, kind="stable")
    ]


def listed(page: Any, way: int) -> list[str]:
    rows = page.locator(".way").nth(way).locator(".standing")
    return [row.get_attribute("data-head") for row in rows.all()]


def fragment(page: Any, text: str, there: bool = True) -> None:
    """Wait until the address has this, or has it no longer."""
    page.wait_for_function(
        "([text, there]) => decodeURIComponent(location.hash).includes(text) === there", arg=[text, there]
    )


def test_two_clicks_rank_all_heads_in_both_directions(open_page: Callable[..., Any]):
    page = open_page(page_of(MAPS))
    page.locator(".hv .toks.l .tok").nth(3).click()
    assert not page.locator(".between").is_visible()
    page.locator(".hv .toks.r .tok").nth(1).click()
    assert [listed(page, 0), listed(page, 1)] == [ranked(3, 1), ranked(1, 3)]
    assert page.locator(".way h4").all_text_contents() == ["cat → it", "it → cat"]
    first = page.locator(".way").nth(0).locator(".standing").nth(0)
    best = MAPS.weights[:, :, 3, 1].max()
    assert float(first.locator(".val").inner_text()) == pytest.approx(best, abs=0.01)
    assert page.locator(".hv .tok.pin").all_inner_texts() == ["cat", "it"]
    fragment(page, "between=3,1")

    name = ranked(1, 3)[2]
    page.locator(".way").nth(1).locator(".standing").nth(2).click()
    page.wait_for_function(
        f"() => document.querySelector('.standing[aria-selected=true]')?.dataset.head === '{name}'"
    )
    assert page.locator(".standing[aria-selected=true]").evaluate_all(
        "rows => rows.map(row => row.dataset.head)"
    ) == [name, name]
    assert page.locator(".rightpane h2").first.inner_text() == f"Layer {name[1]}, head {name[3]}"

    page.locator(".hv .toks.l .tok").nth(2).click()  # another token takes the source's place
    assert listed(page, 0) == ranked(2, 1)
    page.keyboard.press("Escape")  # the one that was chosen last goes first
    assert not page.locator(".between").is_visible()
    fragment(page, "between", False)
    fragment(page, "pin=to,1")
    page.keyboard.press("Escape")
    fragment(page, "pin", False)
    assert page.locator(".rightpane h2").first.is_visible()


def test_a_ranking_is_turned_round_and_the_address_says_so(open_page: Callable[..., Any]):
    page = open_page(page_of(MAPS, between=(3, 1)))
    page.get_by_role("button", name="largest first").click()
    codes = np.round(np.sqrt(MAPS.weights[:, :, 3, 1]) * 255)
    smallest = [f"L{at // 4}H{at % 4}" for at in np.argsort(codes, axis=None, kind="stable")]
    assert listed(page, 0) == smallest
    fragment(page, "ascending=true")
    page.reload()
    page.wait_for_selector(".between:visible")
    assert listed(page, 0) == smallest
    page.get_by_role("button", name="smallest first").click()
    assert listed(page, 0) == ranked(3, 1)
    fragment(page, "ascending", False)


def test_keys_choose_and_open(open_page: Callable[..., Any]):
    page = open_page(page_of(MAPS))
    page.locator(".hv .toks.l").focus()
    for key in ("Home", "ArrowDown", "Enter", "ArrowRight", "End", "Enter"):
        page.keyboard.press(key)
    assert listed(page, 0) == ranked(1, 7)
    page.locator(".way .standings").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    name = ranked(1, 7)[1]
    assert page.locator(".rightpane h2").first.inner_text() == f"Layer {name[1]}, head {name[3]}"


def test_a_cell_of_the_matrix_and_a_neuron_choose_too(open_page: Callable[..., Any]):
    page = open_page(page_of(MAPS, picture="matrix"))
    box = page.locator(".matrix.big .ov").bounding_box()
    cell = box["width"] / 8
    for column in (1, 5):  # the row, and a cell of the row
        page.mouse.click(box["x"] + (column + 0.5) * cell, box["y"] + 2.5 * cell)
    assert listed(page, 0) == ranked(2, 5)
    page.keyboard.press("3")
    page.wait_for_selector(".nv:not([hidden])")
    page.locator(".nv .toks.r .tok").nth(6).click()
    assert listed(page, 0) == ranked(2, 6)
    page.keyboard.press("1")  # the grid of the model alone keeps the ranking
    assert page.locator(".between").is_visible()
