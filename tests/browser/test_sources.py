"""The sources of an answer on a page: what lights up, what a press and keys do, and the head that is opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from tests.helpers.small_models import save_llama

TEXT = "The cat sat here. A dog ran. It was late. The bird sang."


@pytest.mark.slow
def test_words_and_sources_light_one_another_up_and_heads_open(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    size = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48}
    writer = hs.load(save_llama(tmp_path / "small", **size))
    found = hs.why(writer, TEXT, " It slept. The dog sat.")
    q = np.ones_like(found["statement_q"].values)
    q[0, 1] = 0.01
    drop = np.zeros_like(found["drop"].values)
    drop[1, found["written"].values.tolist().index(" d")] = 5.0
    changed = found.assign(statement_q=(("statement", "span"), q), drop=(("span", "token"), drop))
    page = open_page(changed.view(writer).html())
    words = [*page.locator("[data-word]").all()]
    source, detail = page.locator("[data-span='1']"), page.locator(".detail")
    words[4].hover()
    assert "nats “dog” loses without it" in page.locator(".scale").inner_text()
    assert page.locator(".prompt .lit").all_text_contents() == [source.text_content()]
    source.hover()
    assert page.locator(".answer .lit").all_text_contents() == ["dog"]
    words[0].hover()
    page.mouse.down()
    words[2].hover()
    page.mouse.up()
    pressed = page.locator(".answer [aria-pressed=true]")
    assert pressed.all_text_contents() == ["It", "slept", "."], "a stretch that is dragged over"
    assert "The sources of statement 0" in detail.inner_text()
    assert [cell.inner_text() for cell in detail.locator("tr", has_text="dog").locator("td").all()][
        2
    ] == ".010"
    finger = page.context.new_cdp_session(page)
    for kind, word in (("touchStart", 1), ("touchMove", 2), ("touchMove", 3), ("touchEnd", None)):
        box = None if word is None else words[word].bounding_box()
        points = [] if box is None else [{"x": box["x"] + 2, "y": box["y"] + 5}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert pressed.all_text_contents() == ["slept", ".", "The"], "a stretch that a finger is dragged over"
    words[1].focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    assert pressed.all_text_contents() == ["slept", "."]
    assert detail.locator("th").all_inner_texts() == ["part", "nats"], "no q is made up for a stretch"
    detail.get_by_text("The whole statement").click()
    assert pressed.all_text_contents() == ["It", "slept", "."]
    words[5].click()
    words[5].click()
    assert pressed.count() == 0, "a second press frees it"
    page.locator("[data-span='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert source.get_attribute("aria-pressed") == "true"
    assert "A dog ran." in detail.inner_text()
    assert "Without it the answer" in detail.inner_text()
    head = detail.locator("li button").first
    name = head.inner_text()
    head.click()
    page.wait_for_selector(".hx[data-scale=head]:not([data-busy])")
    layer, number = name.removeprefix("L").split("H")
    assert f"Layer {layer}, head {number}" in page.locator(".rightpane h2").inner_text()
    assert "1 GOLD LINK" in page.locator(".goldkey").inner_text().upper()
