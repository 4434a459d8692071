"""The neuron view on captured models: what it shows adds up, whatever a family does between q·k and softmax."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from headscope.live.view import view
from headscope.models.model import Model
from headscope.views.explorer import Input, explorer_page
from tests.helpers import view_sample
from tests.helpers.families import build, family

pytestmark = pytest.mark.browser


def page_of(name: str, open_page: Callable[..., Any], **state: Any) -> tuple[Any, Any]:
    found = family(name)
    inputs = {key: value[:1] for key, value in found.inputs.items()}
    shown = view(Model(build(found)), inputs=inputs, scale="neuron", exact=True, **state)
    return open_page(shown.html(), height=1200), shown


def settled(page: Any) -> None:
    page.wait_for_selector(".hx:not([data-busy]):not([data-drawing])")


def point(page: Any, row: int) -> dict[str, float] | None:
    """What the tip of one key's score says: its numbers by label; None where the query cannot see the key."""
    heading = page.locator(".axis.n span", has_text="softmax").bounding_box()
    token = page.locator(".nv .toks.r .tok").nth(row).bounding_box()
    page.mouse.move(heading["x"] + 10, token["y"] + token["height"] / 2)
    tip = page.locator(".tip.on")
    if "cannot see" in tip.inner_text():
        return None
    labels = tip.locator("td:not(.n)").all_inner_texts()
    texts = tip.locator("td.n").all_inner_texts()
    return {label: float(text.replace("−", "-")) for label, text in zip(labels, texts, strict=True)}


def adds_up(page: Any, shown: Any, query: int, part: str | None = None) -> list[dict[str, float] | None]:
    """Every key of the pinned query: the steps give the score, and softmax of the scores is the weight."""
    state = shown.state
    layer, head = state["layer"], state["heads"][0]
    exact = shown.matrix(layer, head, part=part)[query]
    rows = page.locator(".nv .toks.r .tok:not(.sink)").count()
    assert rows == len(exact)
    found = [point(page, row) for row in range(rows)]
    sink = point(page, rows) if page.locator(".nv .tok.sink").count() else None
    for numbers, weight in zip(found, exact, strict=True):
        assert (numbers is None) == (weight == 0)
        if numbers is None:
            continue
        assert numbers["softmax: weight"] == pytest.approx(weight, abs=6e-5)
        scale = [value for label, value in numbers.items() if label[0] in "÷×"]
        total = (scale or [numbers["q · k"]])[0] + numbers.get("bias", 0.0)
        (score,) = [label for label in numbers if label.startswith("score")]
        if capped := re.search(r"±([\d.]+)$", score):
            total = float(capped[1]) * np.tanh(total / float(capped[1]))
        assert numbers[score] == pytest.approx(total, abs=0.0151)
    scores = {at: next(v for k, v in n.items() if k.startswith("score")) for at, n in enumerate(found) if n}
    powers = {at: np.exp(score) for at, score in scores.items()}
    whole = sum(powers.values()) + (np.exp(sink["logit"]) if sink else 0.0)
    for at, power in powers.items():
        assert power / whole == pytest.approx(exact[at], rel=0.02, abs=1e-4)
    if sink:
        assert sink["takes"] == pytest.approx(1 - exact.sum(), abs=1e-4)
    return found


CASES = {
    "Llama": ("÷ √8", "Key head 1 serves query heads 2 to 3."),
    "Gemma 2": (None, "Scores are capped softly: "),
    "gpt-oss": ("÷ √8", "A learned sink, no token, takes part of each row."),
    "Mistral": ("÷ √8", "A mask hides some keys"),
    "T5": ("+ bias", "A bias of the pair's positions is added"),
    "Granite": ("× 0.3", None),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown_adds_up(name: str, open_page: Callable[..., Any]) -> None:
    scale, note = CASES[name]
    query = 8
    layer = 0
    page, shown = page_of(name, open_page, layer=layer, heads=[2], pin=("from", query))
    heading = page.locator(".axis.n").inner_text()
    about = page.locator(".nvhead").inner_text()
    if scale:
        assert scale in heading
    if note:
        assert note in about
    if name == "Llama":
        assert "key head 1" in heading
    if "bias" in about:
        assert "+ bias" in heading
    found = adds_up(page, shown, query)
    if name == "Mistral":
        assert [numbers is None for numbers in found] == [not 4 < key <= query for key in range(len(found))]
    if name == "T5":
        assert any(numbers["bias"] != 0 for numbers in found if numbers)
    page.mouse.move(5, 5)


def test_cross_attention(open_page: Callable[..., Any]) -> None:
    page, shown = page_of("T5", open_page, part="cross", layer=1, heads=[3], pin=("from", 2))
    assert page.locator(".nv .toks.l .tok").count() == 7
    assert page.locator(".nv .toks.r .tok").count() == 12
    adds_up(page, shown, 2, "cross")


def test_a_query_pointed_at_while_other_keys_are_on_their_way(open_page: Callable[..., Any]) -> None:
    """The next layer's weights and neurons are there, its gradient is not, when all keys are shown again."""
    maps = view_sample.some(layers=6, heads=4)
    gradient = {"gradient": {"self": [layer * 1e-3 for layer in maps.layers]}}
    one = Input({"self": maps}, "", {"self": view_sample.neurons(layers=6)}, gradient)
    page = open_page(explorer_page([one], state={"scale": "neuron", "filter": "ab", "layer": 2}))
    few = page.locator(".nv .toks.r .tok").count()
    assert few < page.locator(".nv .toks.l .tok").count()
    page.wait_for_timeout(500)  # the next layer is unpacked when nothing else is to be done
    waited = page.evaluate(
        """() => {
          const all = () => [...document.querySelectorAll(".hx :is(button, [role=radio])")];
          const press = (name) => all().find((each) => name === (each.ariaLabel || each.textContent)).click();
          press("Next layer");
          press("Gradient");
          press("All");
          const at = { bubbles: true, isPrimary: true, pointerType: "mouse" };
          const token = document.querySelector(".nv .toks.l .tok");
          for (const name of ["pointerover", "pointermove"]) token.dispatchEvent(new PointerEvent(name, at));
          return document.querySelectorAll(".nv .toks.r .tok").length;
        }"""
    )
    assert waited == few
    settled(page)
    assert page.locator(".nv .toks.r .tok").count() == 8


def test_a_neuron_is_read_by_pointing_at_its_bar_and_by_keys(open_page: Callable[..., Any]) -> None:
    """Its number and its values stand in words below the bars, which the arrows go through."""
    maps, found = view_sample.some(heads=4), view_sample.neurons()
    one = Input({"self": maps}, neurons={"self": found})
    page = open_page(
        explorer_page(
            [one], state={"scale": "neuron", "layer": 0, "heads": [1], "pin": ("from", 3)}, exact=True
        )
    )
    chart, told = page.locator(".nv .vector canvas"), page.locator(".nv .vector .index")
    assert told.inner_text() == "Point at a bar, or press ← →, to read a neuron."
    chart.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    key = int(maps.layers[0][1, 3].argmax())
    q, k = found.q[0][1, 3, 1], found.k[0][0, key, 1]
    said = f"Neuron 1: q {q:+.2f}, k {k:+.2f}, q × k {q * k:+.2f}".replace("-", "−")
    assert told.inner_text() == said == chart.get_attribute("aria-valuetext")
    assert chart.get_attribute("aria-valuenow") == "1"
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 74 + 7.5 * (box["width"] - 82) / 8, box["y"] + 20)
    assert told.inner_text().startswith("Neuron 7: q ")
    assert page.locator(".hx").get_attribute("data-scale") == "neuron"
