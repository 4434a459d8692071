"""Regions of gold links, drawn on the picture that a head looks at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headscope as hs
from tests.helpers.seen_sample import picture

pytest.importorskip("PIL.Image")

RIGHT, WRONG = (0x6A, 0x3F, 0xC4), (0xC2, 0x50, 0x0A)
"""The colours of links that a head gets right, and of those that it does not, in the light theme."""

SOME = 40
"""Pixels of such a colour that the picture itself may have."""

BOARD = '.hp > .boards > .board[data-end="{}"]:not(.rolled) canvas'


def page_of(open_page: Callable[..., Any], **state: Any) -> Any:
    """[CLS] looks at patch[0,1] in L0H0 and at patch[1,2] in L0H1; the link is to a region around the former."""
    axis = hs.Grid(2, 3, prefix=["[CLS]"], picture=picture())
    found = np.full((1, 2, 7, 7), 0.02)
    found[0, 0, :, 2] = found[0, 1, :, 6] = 0.88
    links = [("cls", hs.Region((44, 4, 76, 36)))]
    return open_page(
        hs.view(hs.wrap(found, axis), links=links, scale="head", pin=("from", 0), **state).html()
    )


def ink(page: Any, end: str, color: tuple[int, int, int]) -> int:
    """How many pixels of a board are of a colour, or nearly."""
    return page.evaluate(
        "([selector, color]) => { const canvas = document.querySelector(selector);"
        " const copy = new OffscreenCanvas(canvas.width, canvas.height);"
        " const context = copy.getContext('2d', { willReadFrequently: true });"
        " context.drawImage(canvas, 0, 0);"
        " const { data } = context.getImageData(0, 0, canvas.width, canvas.height); let count = 0;"
        " for (let at = 0; at < data.length; at += 4)"
        " count += color.every((value, part) => Math.abs(data[at + part] - value) < 24) ? 1 : 0;"
        " return count; }",
        [BOARD.format(end), list(color)],
    )


@pytest.mark.parametrize(("head", "color", "other"), [(0, RIGHT, WRONG), (1, WRONG, RIGHT)])
def test_a_region_is_outlined_by_whether_the_head_looks_there(
    open_page: Callable[..., Any], head: int, color: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    page = page_of(open_page, layer=0, heads=[head])
    assert ink(page, "to", color) > 3 * SOME
    assert ink(page, "to", other) < SOME
    assert ink(page, "from", color) < SOME
    assert ("1 right" if color == RIGHT else "1 wrong") in page.locator(".goldkey").inner_text()


def test_without_gold_links_the_picture_is_bare(open_page: Callable[..., Any]) -> None:
    page = page_of(open_page, layer=0, heads=[0], gold=False)
    assert ink(page, "to", RIGHT) < SOME
