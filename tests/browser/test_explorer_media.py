"""Heads on several media: a spot on one of them, a scrubber that plays a video, words and patches of all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headscope as hs
from tests.helpers.axe import violations
from tests.helpers.media_sample import cameras, kmers, looking, robot, series, video

pytest.importorskip("PIL.Image")

KEYS = '.hp > .boards > .board[data-end="to"]:not(.rolled) canvas'


def rest(page: Any) -> None:
    page.wait_for_selector(".hx:not([data-busy]):not([data-drawing])")


def light(page: Any, columns: int, rows: int, top: float, selector: str = KEYS) -> list[list[int]]:
    """How light the middles of so many columns and rows of a canvas are, below so much of its height."""
    return page.evaluate(
        "([selector, columns, rows, top]) => { const canvas = document.querySelector(selector);"
        " const { width, height } = canvas; const copy = new OffscreenCanvas(width, height);"
        " const pen = copy.getContext('2d', { willReadFrequently: true }); pen.drawImage(canvas, 0, 0);"
        " return Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, column) => {"
        " const y = height * (top + (1 - top) * (row + 0.5) / rows);"
        " const [r, g, b] = pen.getImageData(width * (column + 0.5) / columns, y, 1, 1).data; return r + g + b; })); }",
        [selector, columns, rows, top],
    )


def said(page: Any) -> str:
    return page.locator(".hp > .sub").first.inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_spot_on_one_camera_is_the_only_bright_area(open_page: Callable[..., Any], theme: str) -> None:
    page = open_page(hs.view(looking(cameras(), 4 + 2), scale="head", layer=0, heads=[0], theme=theme).html())
    top = 17 / page.locator(KEYS).bounding_box()["height"]
    found = light(page, 4, 2, top)
    spot = found[1].pop(2)
    assert spot > 2 * max(map(max, found))
    assert said(page).startswith("95% of what all queries look at is camera wrist")
    # A click on it shows what looks there, of which camera.
    box = page.locator(KEYS).bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.63, box["y"] + box["height"] * 0.8)
    page.mouse.move(0, 0)
    rest(page)
    title = page.locator('.board[data-end="from"] .cap').inner_text().lower()
    assert title == "which tokens look at patch[1,0] of camera wrist"


def test_a_scrubber_plays_a_video(open_page: Callable[..., Any]) -> None:
    page = open_page(hs.view(looking(video(), 5), scale="head", layer=0, heads=[0]).html())
    scrubber = page.get_by_role("slider", name="Frames")
    assert scrubber.input_value() == "0"
    assert "all" in page.locator(".looks output").all_inner_texts()
    scrubber.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('medium=1')")
    assert "frames 2–3" in page.locator(".looks output").all_inner_texts()
    rest(page)
    found = light(page, 2, 2, 17 / page.locator(KEYS).bounding_box()["height"])
    assert found[0][1] > 2 * max(found[0][0], *found[1])
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => location.hash.includes('medium=3')")
    page.get_by_role("button", name="Play").wait_for()  # it stops at the end
    scrubber.fill("0")
    page.wait_for_function("() => !location.hash.includes('medium')")
    assert not violations(page)


def test_a_page_opens_on_one_of_them(open_page: Callable[..., Any]) -> None:
    page = open_page(
        hs.view(looking(video(), 5), scale="head", layer=0, heads=[0]).html(), fragment="#medium=2"
    )
    assert page.get_by_role("slider", name="Frames").input_value() == "3"


def test_a_word_has_its_heat_on_all_cameras(open_page: Callable[..., Any]) -> None:
    page = open_page(hs.view(looking(robot(), 4 + 1, others=[0]), scale="head", layer=0, heads=[0]).html())
    assert page.locator(".talk .inline .hidden").all_inner_texts() == ["camera base", "camera wrist"]
    page.locator(".talk .word", has_text="it").click()
    page.mouse.move(0, 0)
    rest(page)
    canvas = '.talk .board[data-end="to"] canvas'
    found = light(page, 4, 2, 17 / page.locator(canvas).bounding_box()["height"], canvas)
    spot, other = found[0].pop(3), found[0].pop(0)
    assert spot > other > 1.5 * max(map(max, found))
    assert "of what “it” looks at is camera wrist" in said(page)


@pytest.mark.parametrize("axis", [cameras(), video(9), kmers("ATGC" * 30), series()])
def test_all_of_it_fits_a_phone(open_page: Callable[..., Any], axis: hs.Tokens) -> None:
    page = open_page(hs.view(looking(axis, 3), scale="head", layer=0, heads=[0]).html(), width=390)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
