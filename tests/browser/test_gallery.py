"""Sixty states on the screen and as stills: what is said above, below and beside a picture is the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.views.explorer import Input
from headscope.views.gold import of_parts
from headscope.views.view import View
from tests.helpers import heard_sample, seen_sample, talk_sample
from tests.helpers.stills import SMALLEST
from tests.helpers.view_sample import neurons, some

pytestmark = pytest.mark.deep

SAID = """() => [...document.querySelectorAll(
  '.pane h2, .pane h3, .pane .answer, .pane .sub, .pane .cap, .pane .toks .t, .pane .mtok, .pane .word, .pane .goldkey span, .pane .collabels span, '
  + '.pane .rowlabels span, .pane .gridbox b, .pane .gap, .pane .axis b, .pane .axis em, .pane .lane bdi, .pane .spoken bdi')]
  .filter((e) => e.checkVisibility() && !e.closest('[data-export="no"], .summary, .panehead .field, .mini'))
  .map((e) => { const c = e.cloneNode(true); c.querySelectorAll('[data-export="no"]').forEach((x) => x.remove()); return c.textContent; })
"""  # fmt: skip
UNSAID = re.compile(r"[\s“”]+")  # a token in a sentence is bold on the screen, in a still it is quoted


def text() -> View:
    maps = {"self": some(heads=4)}
    slopes = [layer - 0.1 for layer in maps["self"].layers]
    links = of_parts([(3, 5), (6, 5), (1, 7)], maps)
    one = Input(
        maps, neurons={"self": neurons()}, matrices={"gradient": {"self": slopes}}, links=links, label="one"
    )
    return View([one], title="")


def two() -> View:
    return View(
        [Input({"self": some(heads=4)}, neurons={"self": neurons()}, label=name) for name in ("A", "B")]
    )


def picture() -> View:
    return hs.view(seen_sample.random_maps())


def sound() -> View:
    return hs.view(heard_sample.alike())


def talk() -> View:
    return hs.view(talk_sample.planted(talk_sample.axis()))


HEAD = {"scale": "head", "layer": 1, "heads": [2]}
PINS: list[dict[str, Any]] = [{}, {"pin": ("from", 3)}, {"pin": ("to", 3)}, {"between": (3, 1)}]
OF: dict[Callable[[], View], list[dict[str, Any]]] = {
    text: [
        *[{"scale": "model", **more} for more in ({}, {"draw": "heat"}, {"measure": "previous"}, {"special": False})],
        *[{"scale": "model", "measure": "entropy", "sort": True, **more} for more in ({}, {"theme": "dark"})],
        *[{**HEAD, "picture": name, **pin} for name in ("lines", "matrix", "text") for pin in PINS],
        *[{**HEAD, "scale": "neuron", **more} for more in (*PINS[:3], {"theme": "dark"})],
        *[{**HEAD, **more} for more in ({"heads": [0, 2]}, {"heads": [0, 1, 3], "aggregate": "mean"})],
        *[{**HEAD, **more} for more in ({"aggregate": "layers"}, {"threshold": 0.1}, {"top_k": 2}, {"gold": False})],
        *[{**HEAD, **more} for more in ({"unit": "words"}, {"filter": "ab"}, {"special": False}, {"sinks": False})],
        *[{**HEAD, "quantity": "gradient", "picture": name} for name in ("lines", "matrix", "text")],
        {**HEAD, "heads": [0, 2], "picture": "matrix"},
        *[{**HEAD, "picture": name, "theme": "dark", "pin": ("from", 3)} for name in ("lines", "matrix", "text")],
        {**HEAD, "picture": "matrix", "zoom": (2, 3, 1, 4)},
    ],
    two: [
        *[{**HEAD, "side": side, "picture": name} for side in ("both", "difference") for name in ("lines", "matrix", "text")],
        *[{"scale": "model", "side": side} for side in ("both", "difference")],
        {**HEAD, "scale": "neuron", "side": "both"},
    ],
    picture: [{"scale": "head", "picture": "image", "layer": 1, "heads": [1], **pin} for pin in PINS],
    sound: [{"scale": "head", "picture": "image", "layer": 0, "heads": [0], **pin} for pin in PINS[:3]],
    talk: [{"scale": "head", "picture": name, "layer": 0, "heads": [0]} for name in ("image", "lines", "matrix", "text")],
}  # fmt: skip
STATES = [pytest.param(make, state, id=f"{make.__name__}-{place}") for make, all in OF.items() for place, state in enumerate(all)]  # fmt: skip


def test_there_are_sixty() -> None:
    assert len(STATES) >= 60


@pytest.mark.parametrize(("make", "state"), STATES)
def test_a_still_says_what_the_screen_says(
    open_page: Any, make: Callable[[], View], state: dict[str, Any]
) -> None:
    view = make()
    view.state = {**view.state, **state}
    page = open_page(view.html(), width=1000, height=1000)
    page.wait_for_selector(".hx:not([data-busy]):not([data-drawing])")
    svg = view.picture("svg").decode()
    said = "".join(re.findall(r">([^<]+)</t(?:ext|span)>", svg))
    plain = UNSAID.sub("", unescape(said))
    missing = [
        each
        for each in page.evaluate(SAID)
        if squeezed(each) and squeezed(each) not in plain and squeezed(each).upper() not in plain
    ]
    assert missing == []
    assert min(float(size) for size in re.findall(r'font-size="([\d.]+)px"', svg)) >= SMALLEST - 0.01
    assert not np.isnan([float(x) for x in re.findall(r' (?:x|y|width|height)="([^"]+)"', svg)]).any()


def squeezed(text: str) -> str:
    return UNSAID.sub("", text)
