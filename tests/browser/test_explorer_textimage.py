"""Models of text and pictures: words beside the picture, and pictures within a text that unfold into their patches."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import headscope as hs
from tests.helpers.axe import violations
from tests.helpers.talk_sample import COLUMNS, HIGH, PIECES, ROWS, WIDE, WORDS, axis, planted

pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.browser

BOARD = ".talk .board:not([hidden]) canvas"


def shown(pictures: int = 1, generated: int = 0, **state: Any) -> str:
    maps = planted(axis(pictures, generated))
    return hs.view(maps, **{"layer": 0, "heads": [0], "scale": "head", **state}).html()


def light(page: Any, x: float, y: float) -> int:
    """How light the picture is at a place, in its pixels."""
    return page.evaluate(
        "([selector, x, y]) => { const canvas = document.querySelector(selector);"
        " const copy = new OffscreenCanvas(canvas.width, canvas.height);"
        " const context = copy.getContext('2d', { willReadFrequently: true }); context.drawImage(canvas, 0, 0);"
        " const [r, g, b] = context.getImageData(Math.round(x * canvas.width), Math.round(y * canvas.height), 1, 1).data;"
        " return r + g + b; }",
        [BOARD, x / WIDE, y / HIGH],
    )


def shade(page: Any, word: str) -> float:
    """How strongly a word is shaded, in per cent."""
    value = page.get_by_role("button", name=word, exact=True).evaluate(
        "element => element.style.getPropertyValue('--shade')"
    )
    return float(value.rstrip("%"))


def click_patch(page: Any, x: float, y: float) -> None:
    box = page.locator(BOARD).bounding_box()
    page.mouse.click(box["x"] + box["width"] * x / WIDE, box["y"] + box["height"] * y / HIGH)
    page.mouse.move(2, 2)


def names(tokens: Any) -> list[str]:
    """What tokens are called, with the mark before one that is a picture."""
    return [text.strip().replace("\n", "") for text in tokens.all_inner_texts()]


def fragment(page: Any, text: str) -> None:
    page.wait_for_function("text => decodeURIComponent(location.hash).includes(text)", arg=text)


def test_a_word_shows_its_patches(open_page: Callable[..., Any]) -> None:
    page = open_page(shown())
    assert page.locator(".talk .word").all_inner_texts() == ["<s>", *WORDS]
    page.get_by_role("button", name="cup", exact=True).click()
    page.mouse.move(2, 2)
    fragment(page, "pin=from,10")
    assert page.locator(".talk .board .cap").first.inner_text().lower() == "where “cup” looks"
    # The mean of its two pieces: .6 on patch[0,0], .1 on patch[0,1], so .7 on the picture.
    said = page.locator(".talk > .sub").inner_text()
    assert said.startswith("70% of what “cup” looks at is the picture, most of it patch[0,0] (0.")
    assert light(page, 60, 20) > light(page, 100, 60) + 40
    # A word that looks elsewhere leaves the picture dark.
    page.get_by_role("button", name="is", exact=True).click()
    page.mouse.move(2, 2)
    assert page.locator(".talk .inline i").inner_text() == "0.6%"


def test_a_patch_shows_which_words_and_patches_look_at_it(open_page: Callable[..., Any]) -> None:
    page = open_page(shown())
    click_patch(page, 20, 20)
    fragment(page, "pin=to,1")
    assert shade(page, "cup") > 45
    assert shade(page, "the") < 5
    assert page.locator(".talk .beside .cap").inner_text().lower() == "how much each word looks at patch[0,0]"
    assert (
        page.locator(".talk > .sub")
        .inner_text()
        .startswith("Of the words “cup” looks most at patch[0,0] (0.")
    )
    # The patch is of the last row of queries that see it: what stands before it cannot.
    click_patch(page, 100, 60)
    fragment(page, "pin=to,6")
    assert page.get_by_role("button", name="<s>", exact=True).get_attribute("title") == "<s>: not seen"


def test_the_question_is_turned_round(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(heads=[1], pin=("from", 10)))
    page.get_by_role("button", name="Turn round: what looks at it").click()
    fragment(page, "pin=to,10")
    assert page.locator(".talk .beside .cap").inner_text().lower() == "how much each word looks at “cup”"
    assert page.get_by_role("button", name="cup", exact=True).get_attribute("title") == "cup: 1.000"
    # Now a click on a patch asks where it looks, beside the word until that is let go.
    click_patch(page, 60, 20)
    fragment(page, "between=2,10")
    page.get_by_role("button", name="cup", exact=True).click()
    fragment(page, "pin=from,2")
    assert page.locator(".talk .board:not([hidden]) .cap").inner_text().lower() == "where patch[0,1] looks"


def test_words_and_patches_are_reached_by_keys(open_page: Callable[..., Any]) -> None:
    page = open_page(shown())
    page.locator(BOARD).focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    fragment(page, "pin=to,2")
    page.keyboard.press("Tab")
    page.keyboard.press("Home")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.textContent") == "Where"
    fragment(page, "between=7,2")  # a word beside the patch


def test_a_picture_within_a_text_is_one_thumbnail_that_unfolds(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(picture="lines", unit="pieces"))
    right = page.locator(".hv .toks.r .tok")
    assert names(right) == ["<s>", "▸picture", *(p.replace("Ġ", "").replace("up", "‿up") for p in PIECES[1:])]
    # To the picture is the sum over its patches: .6 of "c", .8 of "up".
    page.locator(".hv .toks.l .tok", has_text=re.compile("^c$")).click()
    said = page.locator(".rightpane .hidden p[role=status]")
    page.wait_for_function("element => element.textContent !== ''", arg=said.element_handle())
    found = re.search(r"c looks most at picture (0\.\d+)", said.inner_text())
    assert found is not None
    assert float(found[1]) == pytest.approx(0.6, abs=0.008)
    page.locator(".hv .toks.r .thumb").click()
    fragment(page, "unfolded=0")
    page.wait_for_selector(".hx:not([data-busy])")
    texts = names(right)
    assert len(texts) == len(PIECES) + ROWS * COLUMNS
    assert texts[1:3] == ["▾patch[0,0]", "patch[0,1]"]
    assert page.locator(".hv .toks.r i.crop").count() == ROWS * COLUMNS
    # The pinned token is still the one; the first patch folds the picture again.
    fragment(page, "pin=from,10")
    page.locator(".hv .toks.l .thumb.turns").click()
    page.wait_for_function("() => !location.hash.includes('unfolded')")
    assert right.count() == len(PIECES) + 1


@pytest.mark.parametrize(
    ("state", "width", "scheme"),
    [
        ({"picture": "image", "heads": [0, 1]}, 1400, "dark"),
        ({"picture": "lines"}, 390, "light"),
    ],
)
def test_text_and_picture_are_accessible(
    state: dict[str, Any], scheme: str, width: int, open_page: Callable[..., Any]
) -> None:
    page = open_page(shown(pin=("from", 10), **state), scheme=scheme, width=width)
    assert violations(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
