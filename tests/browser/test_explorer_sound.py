"""Heads drawn on a sound: spectrogram, lanes over time, words where they are heard and where they look, playback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.attention.parts import Parts
from tests.helpers.axe import violations
from tests.helpers.heard_sample import SECONDS, alike, cross

pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.browser

SLIDER = '.snd canvas[role="slider"]'


def shown(maps: hs.AttentionMaps, *, with_sound: bool = True, **state: Any) -> str:
    given = {"layer": 0, "heads": [0], "scale": "head", **state}
    return hs.view(maps, sound=with_sound, **given).html()


def level(
    page: Any, selector: str, time: float, height: float, span: tuple[float, float] = (0, SECONDS)
) -> int:
    """How light a canvas over time is at a time and a share of its height; of the lanes the numbers are left out."""
    return page.evaluate(
        "([selector, x, y, numbers]) => { const canvas = document.querySelector(selector);"
        " const copy = new OffscreenCanvas(canvas.width, canvas.height);"
        " const context = copy.getContext('2d', { willReadFrequently: true });"
        " context.fillStyle = '#fff'; context.fillRect(0, 0, copy.width, copy.height);"
        " context.drawImage(canvas, 0, 0); const wide = canvas.width - numbers;"
        " const [r, g, b] = context.getImageData(Math.round(x * wide), Math.round(y * canvas.height), 1, 1).data;"
        " return r + g + b; }",
        [selector, (time - span[0]) / (span[1] - span[0]), height, 34 if "lanes" in selector else 0],
    )


def at(page: Any, selector: str, time: float, height: float = 0.5) -> tuple[float, float]:
    """Where a time stands on a canvas, on the screen."""
    box = page.locator(selector).bounding_box()
    wide = box["width"] - (34 if "lanes" in selector else 0)
    return box["x"] + wide * time / SECONDS, box["y"] + box["height"] * height


def fragment(page: Any, text: str) -> None:
    page.wait_for_function("text => decodeURIComponent(location.hash).includes(text)", arg=text)


def test_a_word_or_a_lane_is_chosen_and_the_rest_of_the_sound_fades(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(cross()))
    # The tone of "it", 1,000 of 4,000 Hz, is dark until another word is chosen.
    tone = lambda: level(page, SLIDER, 0.7, 0.75)  # noqa: E731
    before = tone()
    page.get_by_role("button", name="so", exact=True).click()
    page.mouse.move(5, 5)
    fragment(page, "pin=from,1")
    assert tone() > before + 150
    page.mouse.click(*at(page, ".snd .lanes", 1.0, 2.5 / 5))
    page.mouse.move(5, 5)
    fragment(page, "pin=from,2")
    assert tone() == pytest.approx(before, abs=60)
    said = page.locator(".snd .sub").inner_text()
    assert said.startswith("it: most at 0.70–0.72 s (0.60")
    assert page.locator('.snd .tok[aria-selected="true"]').inner_text() == "it"


def test_what_sounds_is_followed(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(alike(), follow=True, time=0.5))
    cap = page.locator(".snd .cap")
    assert cap.inner_text().lower() == "where 0.50s looks"
    # The frame of half a second looks at that of .74 s.
    assert level(page, ".snd .lanes", 0.75, 0.45) < 500 < level(page, ".snd .lanes", 0.5, 0.45)
    page.keyboard.press(" ")
    page.wait_for_function("() => parseFloat(document.querySelector('.snd .told').textContent) > 0.8")
    page.keyboard.press(" ")
    page.get_by_role("button", name="Play").wait_for()
    assert cap.inner_text().lower() != "where 0.50s looks"
    # Without a pointer: the arrow keys move the line by a frame, Enter lets its frame stay.
    page.locator(SLIDER).focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator(SLIDER).get_attribute("aria-valuenow") == "0.05"
    assert cap.inner_text().lower() == "where 0.04s looks"
    page.keyboard.press("Enter")
    fragment(page, "pin=from,2")


def test_a_stretch_is_shown_closer(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(cross(), span=(1.0, 2.0)))
    assert page.locator(".snd .spoken bdi").all_inner_texts() == ["was"]
    page.locator(".snd .told").click()
    page.keyboard.press("+")
    fragment(page, "span=1.167,1.833")
    page.keyboard.press("0")
    page.wait_for_function("() => !location.hash.includes('span=1')")
    assert page.locator(".snd .spoken bdi").all_inner_texts() == ["so", "it", "was"]


def told(page: Any, holds: str) -> None:
    """Wait until the time that is told is so."""
    page.wait_for_function(f"() => (text => {holds})(document.querySelector('.snd .told').textContent)")


def test_a_sound_is_played_from_where_it_is_clicked_to_its_end(open_page: Callable[..., Any]) -> None:
    page = open_page(shown(cross(), span=(0.0, 1.0)))
    assert "8 kHz, one channel, 32 kB" in page.locator(".snd .soundtools").inner_text()
    box = page.locator(SLIDER).bounding_box()
    page.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"])
    page.get_by_role("button", name="Pause").wait_for()
    told(page, "parseFloat(text) > 0.85")
    page.wait_for_function("() => /span=/.test(location.hash)")  # it goes along
    page.keyboard.press(" ")
    page.get_by_role("button", name="Play").wait_for()
    stands = page.locator(".snd .told").inner_text()
    time = float(stands.split(" / ")[0])
    assert 0.85 < time < 2
    page.wait_for_function("() => /time=/.test(location.hash)")
    found = float(page.evaluate("() => /time=([0-9.]+)/.exec(location.hash)[1]"))
    assert found == pytest.approx(time, abs=0.006)
    assert page.locator(".snd .told").inner_text() == stands
    page.get_by_role("button", name="Play").click()
    told(page, "text === '2.00 / 2.00 s'")
    page.get_by_role("button", name="Play").click()
    told(page, "parseFloat(text) < 1")
    told(page, "text === '2.00 / 2.00 s'")
    page.locator(SLIDER).focus()  # after its end the line still goes where it is sent
    for key in ("Shift+Tab", "Tab", "Home"):
        page.keyboard.press(key)
    told(page, "parseFloat(text) < 1.5")


def test_a_part_without_the_sound_does_not_lose_its_picture(open_page: Callable[..., Any]) -> None:
    text = hs.wrap(np.eye(5)[None, None], ["<s>", "a", "b", "c", "d"])
    view = hs.view(Parts({"cross": cross(), "decoder": text}), scale="head", layer=0, heads=[0], sound=False)
    page = open_page(view.html(), scheme="dark", width=390)
    assert page.get_by_role("button", name="Play").count() == 0
    assert "The sound itself is not in this page" in page.locator(".snd .soundtools").inner_text()
    page.mouse.click(*at(page, SLIDER, 1.0))
    fragment(page, "time=1")
    assert violations(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("radio", name="Decoder").click()
    page.wait_for_selector(".hv .toks.r")
    assert page.locator(".snd").is_hidden()
    page.get_by_role("radio", name="Cross").click()
    page.wait_for_selector(".snd .lanes")
