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
def test_statements_and_sources_light_one_another_up_and_heads_open(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    size = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48}
    writer = hs.load(save_llama(tmp_path / "small", **size))
    found = hs.why(writer, TEXT, " It slept. The dog sat.")
    q = np.ones_like(found["statement_q"].values)
    masked = found["statement_masked"].values.copy()
    q[0, 1], masked[0, 1] = 0.01, 5.0
    changed = found.assign(
        statement_q=(("statement", "span"), q), statement_masked=(("statement", "span"), masked)
    )
    page = open_page(changed.view(writer).html())
    statement, source = page.locator("[data-statement='0']"), page.locator("[data-span='1']")
    statement.hover()
    assert page.locator(".prompt .lit").all_text_contents() == [source.text_content()]
    assert "nats the statement loses without it" in page.locator(".scale").inner_text()
    source.hover()
    assert page.locator(".answer .lit").all_text_contents() == [statement.text_content()]
    page.locator("[data-span='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert source.get_attribute("aria-pressed") == "true"
    detail = page.locator(".detail")
    assert "A dog ran." in detail.inner_text()
    assert "Without it the answer" in detail.inner_text()
    head = detail.locator("li button").first
    name = head.inner_text()
    head.click()
    page.wait_for_selector(".hx[data-scale=head]:not([data-busy])")
    layer, number = name.removeprefix("L").split("H")
    assert f"Layer {layer}, head {number}" in page.locator(".rightpane h2").inner_text()
    assert "1 GOLD LINK" in page.locator(".goldkey").inner_text().upper()
