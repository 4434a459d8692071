"""Nothing drawn is stale: after a walk through states a page shows what one shows that was opened there."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from headscope.views.view import View
from tests.browser.test_gallery import HEAD, OF, picture, sound, talk, text, two

pytestmark = pytest.mark.deep

# Nothing is under way, nor was it begun since.
SETTLED = """async () => {
  const drawn = () => document.querySelector('.hx:not([data-busy]):not([data-drawing])') !== null;
  return drawn() && await new Promise((done) => setTimeout(() => done(drawn()), 60));
}"""
# Every canvas that is not blank, and every element with its own text and its attributes: not what remembers the way here
# (where a key would move, where a sound was played).
SHOWS = """() => {
  const found = [];
  for (const canvas of document.querySelectorAll('.pane canvas')) {
    if (!canvas.checkVisibility() || !canvas.width || !canvas.height) continue;
    const blank = document.createElement('canvas');
    [blank.width, blank.height] = [canvas.width, canvas.height];
    const drawn = canvas.toDataURL();
    if (drawn !== blank.toDataURL()) found.push(`${canvas.parentElement.className} ${canvas.className} ${drawn}`);
  }
  const left = new Set(['id', 'tabindex', 'data-used', 'aria-activedescendant']);
  const sorted = (value) => value.split(/[; ]+/).filter(Boolean).sort().join(' ');
  for (const each of document.querySelectorAll('.pane *')) {
    if (each.closest('[hidden], .hidden, .told, .playhead, canvas')) continue;
    const attributes = [...each.attributes].filter(({ name, value }) => value && !left.has(name));
    const texts = [...each.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data);
    const said = attributes.map(({ name, value }) => `${name}=${sorted(value)}`).sort();
    found.push([each.localName, ...said, ...texts].join(' ').replace(/blob:[^"]*/, ''));
  }
  return found;
}"""

PICTURE = {"scale": "head", "picture": "image", "layer": 1, "heads": [1]}
SOUND = {"scale": "head", "picture": "image", "layer": 0, "heads": [0]}
MORE: dict[Callable[[], View], list[dict[str, Any]]] = {
    text: [
        *[{**HEAD, **more} for more in ({"renormalise": True}, {"layer": 0}, {"zoom": (1, 2, 1, 2)}, {"gold": False, "picture": "matrix"})],
        *[{**HEAD, "scale": "neuron", **more} for more in ({"layer": 0}, {"special": False}, {"values": True}, {"gold": False})],
        *[{"scale": "model", "measure": "entropy", **more} for more in ({"sort": True, "ascending": True}, {"least": 1}, {"gold": False})],
        *[{"scale": "model", **more} for more in ({"sinks": False}, {"unit": "words"}, {"quantity": "gradient"}, {"between": (3, 1)})],
        {"scale": "model", "between": (3, 1), "ascending": True},
    ],
    two: [{**HEAD, **more} for more in ({"input": 1}, {"input": 0}, {"side": "difference", "between": (1, 2)})],
    picture: [
        *[{**PICTURE, **more} for more in ({"smooth": True}, {"opacity": 0.3}, {"queries": "patches"}, {"strip": "mean"}, {"rollout": True})],
        *[{**PICTURE, **more} for more in ({"heads": [0, 1]}, {"heads": [0, 1], "layer": 0}, {"theme": "dark"}, {"special": False})],
        *[{"scale": "model", **more} for more in ({}, {"draw": "heat"}, {"theme": "dark"})],
    ],
    sound: [
        *[{**SOUND, **more} for more in ({"time": 0.5}, {"time": 0.5, "follow": True}, {"span": (0.2, 0.6)}, {"theme": "dark"})],
        *[{"scale": "model", **more} for more in ({}, {"span": (0.2, 0.6)}, {"theme": "dark"})],
    ],
    talk: [{**SOUND, **more} for more in ({"unfolded": [0]}, {"unfolded": [0], "picture": "lines"}, {"pin": ("from", 1)}, {"theme": "dark"})],
}  # fmt: skip


def fragment(state: dict[str, Any]) -> str:
    def said(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)

    return "#" + "&".join(f"{key}={said(value)}" for key, value in state.items())


@pytest.mark.parametrize("make", OF, ids=lambda make: make.__name__)
def test_a_page_shows_its_state_however_it_came_there(open_page: Any, make: Callable[[], View]) -> None:
    html = make().html()
    walked = open_page(html, width=1400)
    fresh = open_page(html, width=1400)
    address = fresh.url
    states = [*OF[make], *MORE[make]] * 2
    random.Random(0).shuffle(states)
    for state in states:
        there = fragment(state)
        walked.evaluate("(there) => void (location.hash = there)", there)
        fresh.goto("about:blank")
        fresh.goto(address + there)
        for page in (walked, fresh):
            page.wait_for_function(SETTLED)
        # Small pictures in a text are painted when their image has been read: what is stale stays so.
        for _ in range(20):
            shown, expected = walked.evaluate(SHOWS), fresh.evaluate(SHOWS)
            if shown == expected:
                break
            walked.wait_for_timeout(100)
        stale = [each[:200] for each, other in zip(shown, expected, strict=False) if each != other]
        assert (stale, len(shown)) == ([], len(expected)), there
