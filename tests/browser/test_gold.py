"""Gold links over the pictures: outlines that say by their shape whether a head is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from headscope.core.link import Link, Span
from headscope.core.maps import AttentionMaps
from headscope.views.explorer import Input, explorer_page
from headscope.views.gold import of_parts
from tests.helpers.page_controls import settled
from tests.helpers.view_sample import neurons, tokens

pytestmark = pytest.mark.browser

RIGHT, WRONG = (0x6A, 0x3F, 0xC4), (0xC2, 0x50, 0x0A)

COUNT = """(canvas, [colour, box]) => {
  const scale = canvas.width / canvas.getBoundingClientRect().width;
  const [x, y, w, h] = (box ?? [0, 0, canvas.width / scale, canvas.height / scale]).map(at => Math.round(at * scale));
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const data = copy.getImageData(x, y, w, h).data;
  let count = 0;
  for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200 && colour.every((c, i) => Math.abs(data[at + i] - c) < 24)) count++;
  return count;
}"""


def maps() -> AttentionMaps:
    """Head 0 looks from "cat" at "##s" (of the word "its") and from "it" at "cat"; head 1 the other way to [SEP]."""
    weights = np.full((1, 2, 8, 8), 0.02)
    weights[0, 0, 3, 2] = weights[0, 0, 1, 3] = weights[0, 1, 3, 6] = 0.86
    weights /= weights.sum(-1, keepdims=True)
    return AttentionMaps(list(weights), tokens(), tokens())


LINKS = [Link(Span(1, 2), (Span(0, 1),), "poss"), Link(Span(3, 4), (Span(5, 6),), "far", unit="tokens")]


def page_of(**state: Any) -> str:
    found = maps()
    neuron = neurons(1, heads=2)
    one = Input({"self": found}, "one", {"self": neuron}, links=of_parts(LINKS, {"self": found}))
    return explorer_page([one], state={"scale": "head", "layer": 0, "heads": [0], **state})


def count(page: Any, selector: str, colour: tuple[int, int, int], box: list[float] | None = None) -> int:
    return page.eval_on_selector(selector, COUNT, [colour, box])


def test_the_head_view_says_right_and_wrong(open_page: Callable[..., Any]):
    page = open_page(page_of())
    key = page.locator(".goldkey")
    assert key.inner_text().split("\n")[:3] == ["2 GOLD LINKS", "1 right", "1 wrong"]
    assert count(page, ".hv .over", RIGHT) > 100
    assert count(page, ".hv .over", WRONG) > 100
    page.locator(".hv .toks.l .tok").nth(3).hover()
    tip = page.locator(".tip.on").inner_text()
    assert "✓ poss" in tip
    assert "cat → it ##s" in tip
    assert "✗ far" in tip
    assert "looks at ##s" in tip
    page.mouse.move(5, 5)
    page.keyboard.press("ArrowRight")
    settled(page)
    assert key.inner_text().split("\n")[:2] == ["2 GOLD LINKS", "2 wrong"]
    assert count(page, ".hv .over", RIGHT) == 0

    page.keyboard.press("g")
    settled(page)
    assert not key.is_visible()
    assert count(page, ".hv .over", WRONG) == 0
    page.wait_for_function("() => location.hash.includes('gold=false')")
    page.get_by_role("switch", name="Gold links").click()
    settled(page)
    assert count(page, ".hv .over", WRONG) > 100
