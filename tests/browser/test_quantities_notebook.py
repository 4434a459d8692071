"""Gradients and norms a click away: in a saved page where they are there or named, in a widget where Python computes them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens
from headscope.views.explorer import Input
from headscope.views.view import Computed, View
from headscope.views.widget import asked_again
from tests.helpers import widget_page
from tests.helpers.page_controls import ALL
from tests.helpers.patience import PATIENCE, eventually

pytestmark = pytest.mark.browser

TOKENS = Tokens(["[CLS]", "a", "b", "c"])
OFFERS = [{"name": "gradient", "how": "quantities=x"}, {"name": "norms", "how": "quantities=y"}]
DRAW = "[aria-label=Draw] button"

NOTEBOOK = """
const heard = [];
const model = { get: name => traits[name], set: (name, value) => { traits[name] = value; }, save_changes() {},
  on: (event, run) => { if (event === "msg:custom") heard.push(run); }, off() {},
  send: async content => {
    if (!["quantity", "reads", "arrays"].includes(content.kind)) return;
    for (const [message, buffers] of JSON.parse(await window.python(JSON.stringify(content)))) {
      for (const run of heard) run(message, buffers.map(view));
    }
  } };
window.traits = traits;
render(model);
"""


def shown(fails: str | None = None, explain: Any = None, **options: Any) -> View:
    draw = np.random.default_rng(0)
    maps = AttentionMaps(list(draw.dirichlet(np.ones(4), (2, 3, 4))), TOKENS, TOKENS)
    vectors = [draw.normal(size=(3, 4, 8)) for _ in range(2)]
    none = [None, None]
    q_and_k = Neurons(vectors, vectors, [8**-0.5] * 2, none, none, none)
    slopes = [np.full((3, 4, 4), -0.25 * (layer + 1)) for layer in range(2)]

    def compute(name: str) -> list[Computed]:
        if fails is not None:
            raise RuntimeError(fails)
        if name == "gradient":
            return [Computed({"self": slopes}, "a number")]
        return [Computed({"self": [abs(each) for each in slopes]}, None, {"self": vectors})]

    return View(
        [Input({"self": maps}, neurons={"self": q_and_k})],
        offers=OFFERS,
        compute=compute,
        explain=explain,
        **options,
    )


@pytest.fixture
def notebook(chromium: Any, tmp_path: Path) -> Iterator[Callable[[View], Any]]:
    """A page that plays the notebook, with the view's own answers."""
    context = chromium.new_context(viewport={"width": 1200, "height": 1000}, offline=True)
    context.set_default_timeout(1000 * PATIENCE)
    context.add_init_script(ALL)
    errors: list[str] = []

    def start(view: View) -> Any:
        class Widget:
            def __init__(self) -> None:
                self.sent: list[Any] = []

            def send(self, message: Any, buffers: Any = ()) -> None:
                self.sent.append((message, [base64.b64encode(each).decode() for each in buffers]))

        address = widget_page.write(
            tmp_path, NOTEBOOK, view.payload, view.blobs.buffers, asked_again(view.payload)
        )
        view._widget = widget = Widget()

        def python(question: str) -> str:
            widget.sent = []
            widget.send(*view.answer(json.loads(question)))
            return json.dumps(widget.sent)

        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.expose_function("python", python)
        page.goto(address)
        page.wait_for_selector(".hx .gridbox")
        page.wait_for_selector(".hx[data-busy]", state="detached")
        return page

    yield start
    context.close()
    assert errors == []


def test_a_widget_asks_python_for_what_is_not_there(notebook: Callable[[View], Any]) -> None:
    page = notebook(shown())
    assert page.locator(DRAW).all_inner_texts() == ["Weights", "Gradient", "‖αvWₒ‖"]
    page.get_by_role("radio", name="Gradient").click()
    page.locator(f"{DRAW}[data-v=gradient][aria-checked=true]").wait_for()
    assert "gradient of a number in place of the weights" in page.locator(".status").inner_text()
    assert page.evaluate("traits.state.quantity") == "gradient"
    assert page.locator(".message").is_hidden()
    page.keyboard.press("ArrowDown")
    page.locator(".hv .toks.l .tok .t").nth(1).click()
    page.locator(".hv .toks.r .tok .t").nth(2).hover()
    page.locator(".tip.on td.n", has_text="−0.5").wait_for()
    page.get_by_role(
        "radio", name="Neuron"
    ).click()  # q and k, which the notebook does not keep, and what is added
    page.get_by_role("switch", name="Values").click()
    page.locator(".axis.n", has_text="‖αvWₒ‖").wait_for()
    assert "value" in page.locator(".axis.n").inner_text()
    assert page.locator(".message.problem").count() == 0


def test_a_busy_mark_while_python_computes(notebook: Callable[[View], Any]) -> None:
    page = notebook(shown())
    page.clock.install()
    page.evaluate(
        "() => { const ask = window.python; window.python = async text => { await new Promise(go => window.go = go); return ask(text); }; }"
    )
    page.get_by_role("radio", name="Gradient").click()
    page.locator(f"{DRAW}[data-v=gradient][aria-busy=true]").wait_for()
    assert page.locator(".message").inner_text() == "Python computes the gradient…"
    page.clock.fast_forward("01:00")
    assert "gradient… No answer for a minute: it is busy, or gone." in page.locator(".message").inner_text()
    page.get_by_role("radio", name="‖αvWₒ‖").click()  # one at a time
    page.evaluate("window.go()")
    page.locator(f"{DRAW}[data-v=gradient][aria-checked=true]").wait_for()
    assert page.locator("[aria-busy=true]").count() == 0


def test_what_python_cannot_compute_is_a_sentence(notebook: Callable[[View], Any]) -> None:
    page = notebook(shown("no memory is left"))
    page.get_by_role("radio", name="Gradient").click()
    page.locator(".message.problem").wait_for()
    assert page.locator(".message").inner_text() == "This cannot be computed: RuntimeError: no memory is left"
    assert page.locator(f"{DRAW}[data-v=weights]").get_attribute("aria-checked") == "true"


def test_python_is_asked_why_a_line_is_there(
    notebook: Callable[[View], Any], open_page: Callable[..., Any]
) -> None:
    def explain(asked: Any) -> Any:
        bars = [{"name": "the rest", "term": 1.5}]
        line = {"layer": asked["layer"], "head": asked["head"], "query": asked["query"], "key": 1}
        return {**line, "contrast": 1.5, "position": None, "capped": False, "by_key": bars, "by_query": bars}

    view = shown(explain=explain, state={"scale": "head", "layer": 1, "heads": [2], "pin": ("from", 3)})
    saved = open_page(view.html())
    page = notebook(view)
    page.locator(".writers h3", has_text="Why L1H2 looks from “c” at “a”").wait_for()
    saved.locator(".writers", has_text="a page made with reads=True").wait_for()
    saved.keyboard.press("Escape")
    saved.locator(".writers").wait_for(state="hidden")


def test_a_saved_page_names_what_adds_them(open_page: Callable[..., Any]) -> None:
    view = shown(state={"scale": "neuron"})
    page = open_page(view.html())
    for name, how in (("gradient", "x"), ("norms", "y")):
        button = page.locator(f"{DRAW}[data-v={name}]")
        assert button.is_disabled()
        assert button.get_attribute("title") == f"not in this page: quantities={how} adds it"
    values = page.get_by_role("switch", name="Values")
    assert values.is_disabled()
    assert "quantities=y adds it" in values.get_attribute("title")
    view.add("gradient")
    page = open_page(view.html())
    page.get_by_role("radio", name="Head").click()
    page.get_by_role("radio", name="Gradient").click()
    page.locator(".status", has_text="gradient of a number in place").wait_for()
    assert page.locator(f"{DRAW}[data-v=norms]").is_disabled()


def test_a_click_on_a_line_gives_all_numbers_of_its_pair(open_page: Callable[..., Any]) -> None:
    weights = np.zeros((1, 1, 4, 4)) + np.eye(4)[[0, 0, 0, 3]]
    gradient = [np.arange(16.0).reshape(1, 4, 4) / 1000]
    maps = AttentionMaps(list(weights), TOKENS, TOKENS)
    view = View(
        [Input({"self": maps}, matrices={"gradient": {"self": gradient}, "norms": {"self": gradient}})]
    )
    page = open_page(view.html())
    left, right = (page.locator(f".hv .toks.{side}").bounding_box() for side in "lr")
    row = page.locator(".hv .toks.l .tok").first.bounding_box()
    middle = (left["x"] + left["width"] + right["x"]) / 2
    tip = ""

    def told() -> bool:
        """The line from row 2 to row 0 is half way between the two at the middle: on row 1."""
        nonlocal tip
        page.mouse.click(middle, row["y"] + 1.5 * row["height"])
        tip = page.locator(".tip.on").inner_text()
        return "gradient" in tip and "αv" in tip

    eventually(told, "other matrices are decoded while nothing else is to be done")
    assert tip.startswith("b → [CLS]")
    numbers = dict(re.findall(r"(L0H0|gradient|‖αvWₒ‖)\s+([\d.]+)", tip))
    assert float(numbers["L0H0"]) == 1.0
    assert float(numbers["gradient"]) == pytest.approx(0.008, abs=2e-4)
    assert float(numbers["‖αvWₒ‖"]) == pytest.approx(0.008, abs=2e-4)
    page.mouse.click(middle, row["y"] + 2.7 * row["height"])  # no line is near
    assert page.locator(".tip.on").count() == 0
    page.keyboard.press("m")
    box = page.locator(".big .ov").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 8, box["y"] + box["height"] * 5 / 8)
    assert re.search(
        r"b → \[CLS\]\s+.*L0H0\s+1\.000\s+gradient\s+0\.00", page.locator(".tip.on").inner_text(), re.S
    )
