"""The first seconds of what is typed in: what stands there at once, what moves when the model answers, and what it says
of a head that is off. How long it takes is measured by ``benchmarks/first_seconds.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import headscope as hs
from headscope.live.first import first_inputs
from headscope.live.standalone import carry, standalone_page
from headscope.models import Model
from tests.helpers.standalone_models import TEXT, model_of

ANSWERED = (
    "() => { const live = document.querySelector('.live'), hx = document.querySelector('.stage .hx');"
    " return hx && !hx.dataset.busy && !hx.dataset.drawing && !live.dataset.reading; }"
)
SHIFTS = """window.shifts = 0;
new PerformanceObserver((list) => { for (const each of list.getEntries()) window.shifts += each.value; })
  .observe({ type: "layout-shift", buffered: true });
window.focused = [];
document.addEventListener("focusin", ({ target }) => window.focused.push(target.tagName));"""
MOST = 0.05
"""The most that a page may move by itself, as browsers count it."""


def stands_still(page: Any) -> None:
    """Nothing has moved, and nothing has taken the focus."""
    assert page.evaluate("() => window.shifts") <= MOST
    assert page.evaluate("() => window.focused") == []


def test_serve_opens_on_an_answer(served: str, tab: Callable[..., Any], demo: Model) -> None:
    width = 390
    silent = "WebSocket = class extends EventTarget { send() {} close() {} };"
    # What stands there before the model has said anything.
    first = tab(served, width=width, height=800, script=silent)
    first.get_by_label("Text", exact=True).wait_for()
    examples = [each["name"] for each in first_inputs(demo)]
    assert first.locator(".top > *").all_inner_texts() == ["headscope", demo.name]
    assert first.locator(".examples button").all_inner_texts() == examples
    assert len(examples) == 4
    page = tab(served, width=width, height=844, script=SHIFTS)
    page.wait_for_function(ANSWERED)
    stands_still(page)
    for label in ("Text", "Pair"):
        assert page.get_by_label(label, exact=True).input_value() != ""
        there = [each.get_by_label(label, exact=True).bounding_box() for each in (first, page)]
        assert there[0] == there[1]
    assert page.locator(".near button.unit").count() > 5
    assert page.locator(".hv .toks.r .tok").count() > 5
    page.keyboard.press("ArrowDown")  # a key is the picture's, with no click before
    page.wait_for_function("() => location.hash.includes('layer=')")


def test_a_word_changes_when_a_head_is_off_and_clearing_clears(
    served: str, tab: Callable[..., Any], demo: Model
) -> None:
    page = tab(served)
    page.wait_for_function(ANSWERED)
    examples = [example for example in first_inputs(demo) if "look" in example]
    for example in examples:
        page.get_by_role("button", name=example["name"], exact=True).click()
        page.wait_for_function(ANSWERED)
        assert page.get_by_label("Text", exact=True).input_value() == example["input"]["text"]
        assert example["look"] == page.locator(".story p").inner_text()
        page.locator(".rightpane h2", has_text=f"Layer {example['layer']}, head {example['head']}").wait_for()
    page.get_by_role("button", name=examples[0]["name"], exact=True).click()
    page.wait_for_function(ANSWERED)
    page.locator(".whatif summary").click()
    off = page.locator(".offers").get_by_role("button", name="off", exact=True)
    before = off.bounding_box()
    off.click()
    page.locator(".says td.number").nth(1).wait_for()
    one, other = page.locator(".says td.number").all_text_contents()
    assert one != other
    assert off.bounding_box()["y"] == before["y"]  # what was pressed stays under the pointer
    page.get_by_label("Text", exact=True).fill("")
    assert not page.locator(".stage .hx").is_visible()
    assert page.locator(".says td.number").count() == 0
    assert page.locator(".empty").is_visible()
    page.get_by_label("Text", exact=True).fill("The cat sat.")
    page.wait_for_function(ANSWERED)
    page.locator(".hv .toks.r .tok", has_text="sat").first.wait_for()
    assert page.locator(".stage .hx").is_visible()


def test_a_page_with_its_model_stands_still_when_it_wakes(tab: Callable[..., Any], tmp_path: Path) -> None:
    model = model_of("Llama")
    path = tmp_path / "page.html"
    html = standalone_page(hs.view(model, TEXT), carry(model, {"text": TEXT}))
    path.write_text(html, encoding="utf-8")
    page = tab(path.as_uri(), script=SHIFTS)
    rest = "window.Worker = class { postMessage() {} terminate() {} };"
    first = tab(path.as_uri(), script=rest)  # it never wakes
    first.wait_for_selector(".hv .toks.r .tok")
    page.wait_for_function(ANSWERED)
    page.wait_for_selector(".says tbody tr")
    stands_still(page)
    places = [each.locator(".rightpane").bounding_box() for each in (first, page)]
    assert places[0] == places[1]
    assert first.locator(".examples button").count() == 3
    page.set_viewport_size({"width": 390, "height": 844})
    assert "Unpacking" in first.locator(".lost").inner_text()
    # The figure that rounding has changed says so, where it stands.
    endings = [each.locator(".answer").inner_text().endswith(" (rounded weights).") for each in (first, page)]
    assert endings == [False, True]
    assert "rounded weights" in page.locator(".says").inner_text()
