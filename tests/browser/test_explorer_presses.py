"""Every control of an explorer, pressed in turn and in random order: nothing may be thrown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.views.explorer import Input, explorer_page
from tests.helpers import view_sample

pytestmark = pytest.mark.browser

PRESSES = 120
PRESS = """async ([times, seed]) => {
  // A download is made, and not handed over: a browser asks about the second.
  const click = HTMLAnchorElement.prototype.click;
  HTMLAnchorElement.prototype.click = function () { if (!this.download) click.call(this); };
  // As a script reaches them, and a keyboard does: hidden ones too.
  const all = () => [...document.querySelectorAll(".hx :is(button, select, input, canvas, [role=listbox], [role=listbox] > *, .hvbody, .nvbody)")];
  let state = seed;
  const random = below => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
  const press = (control, shiftKey) => {
    const box = control.getBoundingClientRect();
    const at = { bubbles: true, cancelable: true, shiftKey, clientX: box.x + random(Math.ceil(box.width) + 1), clientY: box.y + random(Math.ceil(box.height) + 1) };
    if (control.matches("select")) {
      control.selectedIndex = random(control.length);
      control.dispatchEvent(new Event("change", at));
    } else if (control.matches("input[type=range]")) {
      control.value = random(Number(control.max) + 1);
      control.dispatchEvent(new Event("input", at));
    } else if (control.matches("input")) {
      control.value = ["cat", "", "no such token"][random(3)];
      control.dispatchEvent(new Event("input", at));
      control.dispatchEvent(new KeyboardEvent("keydown", { ...at, key: "Enter" }));
    } else {
      const pointer = { ...at, isPrimary: true, pointerType: "mouse" };
      for (const name of ["pointerover", "pointermove", "pointerup"]) control.dispatchEvent(new PointerEvent(name, pointer));
      control.dispatchEvent(new MouseEvent("click", { ...at, detail: 1 }));
    }
  };
  const rest = frames => new Promise(done => { const wait = () => (frames-- > 0 ? requestAnimationFrame(wait) : done()); wait(); });
  const pressed = [];
  const names = control => control.ariaLabel || control.textContent || control.tagName;
  const list = times ? Array.from({ length: times }) : all();
  for (const [turn, one] of list.entries()) {
    const controls = one ? null : all();
    const control = one ?? controls[random(controls.length)];
    pressed.push(names(control));
    press(control, !one && random(4) === 0);
    // Some presses come before the last one has been drawn.
    if (one || random(8) === 0) await rest(1);
    document.querySelector("dialog[open]")?.close();
    if (document.querySelector(".failure")) return [document.querySelector(".failure").textContent, ...pressed.slice(-12)];
  }
  await rest(3);
  return [];
}"""
"""Press all controls (0 times: each once, in turn) and say what failed, and after which presses."""


def same() -> Tokens:
    return Tokens(["[CLS]", "the", "cat", "sat", "[SEP]"], special_mask=np.array([1, 0, 0, 0, 1], bool))


def random_maps(queries: Tokens, keys: Tokens, seed: int = 0) -> AttentionMaps:
    draw = np.random.default_rng(seed)
    return AttentionMaps(list(draw.dirichlet(np.full(len(keys), 0.4), (2, 4, len(queries)))), queries, keys)


def gradient(maps: AttentionMaps) -> dict[str, Any]:
    return {"gradient": {"self": [layer * 1e-3 - 1e-4 for layer in maps.layers]}}


def paired(seed: int = 0, **more: Any) -> Input:
    maps = view_sample.some(heads=4, seed=seed, **more)
    return Input({"self": maps}, f"input {seed}", {"self": view_sample.neurons()}, gradient(maps))


PAGES: dict[str, Callable[[], tuple[list[Input], dict[str, Any]]]] = {
    "neurons": lambda: ([paired()], {}),
    "causal": lambda: ([paired(causal=True)], {"scale": "neuron"}),
    "two inputs": lambda: ([paired(0), paired(1)], {}),
    "difference": lambda: ([paired(0), paired(1)], {"side": "difference"}),
    "other lengths": lambda: (
        [paired(0), Input({"self": random_maps(same(), same())}, "")],
        {"side": "both"},
    ),
    "cross": lambda: ([Input({"cross": random_maps(same(), view_sample.tokens())}, "")], {}),
    "all heads": lambda: ([paired()], {"heads": [0, 1, 2, 3], "picture": "matrix"}),
    "one token": lambda: ([Input({"self": random_maps(Tokens(["a"]), Tokens(["a"]))}, "")], {}),
    "no token": lambda: ([Input({"self": random_maps(Tokens([]), Tokens([]))}, "")], {}),
}


def page_of(kind: str) -> str:
    inputs, state = PAGES[kind]()
    return explorer_page(inputs, state=state)


def test_each_control_of_a_fresh_page_can_be_pressed(open_page: Callable[..., Any]):
    page = open_page(page_of("neurons"))
    assert page.evaluate(PRESS, [0, 1]) == []


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "kind"), list(enumerate(PAGES)))
def test_controls_can_be_pressed_in_any_order(open_page: Callable[..., Any], seed: int, kind: str):
    page = open_page(page_of(kind))
    assert page.evaluate(PRESS, [PRESSES, seed]) == [], f"seed {seed}"


def test_an_input_without_tokens_says_so(open_page: Callable[..., Any]):
    page = open_page(page_of("no token"))
    assert page.locator(".gap").inner_text() == "This input has no tokens."
    page.get_by_title("Save this picture as PNG").click()
    page.locator(".message", has_text="There is nothing to save. This input has no tokens.").wait_for()


def test_an_input_without_neurons_says_so(open_page: Callable[..., Any]):
    inputs, _ = PAGES["other lengths"]()
    page = open_page(explorer_page(inputs, state={"side": "both", "scale": "neuron"}))
    assert page.locator(".gap:visible").all_inner_texts() == [
        "Input 2: q and k were not captured (neurons=True)."
    ]
    assert page.locator(".nv:visible").count() == 1
