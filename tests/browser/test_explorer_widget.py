"""The widget's module in a page that plays the notebook: a model with traits, buffers and messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.views.blobs import Blobs
from headscope.views.explorer import Input, explorer_payload
from headscope.views.widget import asked_again
from tests.helpers import widget_page
from tests.helpers.page_controls import ALL
from tests.helpers.small_models import save_llama
from tests.helpers.view_sample import neurons, some

pytestmark = pytest.mark.browser

NOTEBOOK = """
const heard = {}, sent = [];
const model = { get: name => traits[name], set: (name, value) => { traits[name] = value; }, save_changes() { sent.push("saved"); },
  on: (event, run) => { (heard[event] ??= []).push(run); }, off: (event, run) => { heard[event] = heard[event].filter(x => x !== run); },
  send: content => { sent.push(content);
    if (window.lost) return;
    setTimeout(() => (heard["msg:custom"] ?? []).forEach(run => run({ kind: "exact", id: content.id }, [new DataView(Float32Array.from([0.123456, 0.5, 0.25, 0.126544]).buffer)]))); } };
window.notebook = { traits, sent, tell(state) { traits.state = state; heard["change:state"].forEach(run => run()); } };
window.notebook.close = render(model);
"""


@pytest.fixture
def notebook(tab: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """A page that plays the notebook of a widget, after a script."""

    def start(payload: Any, blobs: Blobs, script: str = "") -> Any:
        address = widget_page.write(tmp_path, NOTEBOOK, payload, blobs.buffers)
        return tab(address, width=1100, height=900, script=ALL + script)

    return start


@pytest.fixture
def page(notebook: Callable[..., Any]) -> Any:
    axis = Tokens(["a", "b", "c", "d"])
    weights = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3, 4)).astype(np.float32)
    maps = AttentionMaps(list(weights), axis, axis)
    page = notebook(*explorer_payload([Input({"self": maps})], state={"layer": 1, "heads": [0]}))
    page.wait_for_selector(".hx .gridbox")
    page.wait_for_selector(".hx[data-busy]", state="detached")
    return page


def state(page: Any) -> dict:
    told = json.loads(page.evaluate("JSON.stringify(notebook.traits.state)"))
    return {key: value for key, value in told.items() if key != "sent"}


def test_the_state_follows_the_clicks_and_leads_them(page: Any):
    assert page.locator(".rightpane h2").inner_text() == "Layer 1, head 0"
    page.locator(".chips button").nth(2).click()
    assert state(page) == {"layer": 1, "heads": [0, 2]}
    page.evaluate("notebook.tell({layer: 0, heads: [1], threshold: 0.1})")
    page.wait_for_selector(".hx[data-busy]", state="detached")
    title = page.locator(".rightpane h2")
    assert title.inner_text() == "Layer 0, head 1"
    assert page.locator(".hx").get_attribute("data-theme") == "light"
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    page.locator(".hx[data-theme=dark]").wait_for()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("a")  # keys belong to the view that has the focus
    assert title.inner_text() == "Layer 0, head 1"
    page.locator(".hx").focus()
    page.keyboard.press("a")
    assert title.inner_text() == "Layer 0, 3 heads"
    page.evaluate("notebook.close()")
    assert page.locator("#cell *").count() == 0


def test_exact_values_of_a_pair_are_asked_of_the_kernel(page: Any):
    page.locator(".hv .toks.l .tok .t").nth(2).click()
    page.locator(".hv .toks.r .tok .t").nth(0).hover()
    page.locator(".tip.on td.n", has_text="0.123456").wait_for()
    question = page.evaluate("notebook.sent.find(each => each.kind === 'exact')")
    assert question == {
        "kind": "exact", "id": 1, "input": 0, "part": "self", "layer": 1, "head": 0,
        "quantity": "weights", "side": "from", "place": 2,
    }  # fmt: skip


def test_what_a_lost_kernel_has_leaves_the_picture_that_is_there(notebook: Callable[..., Any]) -> None:
    """Nobody answers, and a minute is short."""
    given = [Input({"self": some(heads=4)}, neurons={"self": neurons()})]
    payload, blobs = explorer_payload(given, state={"scale": "neuron", "layer": 0, "heads": [0]})
    for name in asked_again(payload):
        del blobs.buffers[name]
    lost = "window.lost = true; const later = setTimeout; window.setTimeout = (run, wait) => later(run, Math.min(wait ?? 0, 99));"
    page = notebook(payload, blobs, lost)
    page.wait_for_selector(".hx[data-scale=neuron]:not([data-busy])")
    page.get_by_role("button", name="Next layer").click()
    page.locator(
        ".message.problem", has_text="Python, which has the rest of this view, does not answer"
    ).wait_for()
    assert page.locator(".rightpane h2").inner_text() == "Layer 0, head 0, neuron by neuron"
    assert state(page)["layer"] == 0
    page.get_by_role("radio", name="Head").click()  # what is here is shown, and nothing more is said
    page.wait_for_selector(".hx[data-scale=head]:not([data-busy])")
    assert not page.locator(".message").is_visible()


def test_the_sources_of_an_answer_are_a_widget_too(notebook: Callable[..., Any], tmp_path: Path) -> None:
    size = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48}
    writer = hs.load(save_llama(tmp_path / "small", **size))
    view = hs.why(writer, "The cat sat here. A dog ran.", " It slept.").view(writer)
    page = notebook(view.payload, view.blobs)
    page.locator("[data-span='1']").click()
    page.locator(".detail li button").first.click()
    page.wait_for_selector(".hx[data-scale=head]:not([data-busy])")
    page.evaluate("notebook.close()")
    assert page.locator("#cell > *").count() == 0
