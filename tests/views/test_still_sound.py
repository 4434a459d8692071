"""Stills of heads on a sound: what lies where on the time axis, and what is said."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import headscope as hs
from tests.helpers.heard_sample import SECONDS, WORDS, alike, cross, middle
from tests.helpers.stills import Still, Stills, against_reversed, alpha

pytest.importorskip("py_mini_racer")

HEAD: dict[str, Any] = {"scale": "head", "layer": 0, "heads": [0], "picture": "image"}
WIDE = 6.9


@functools.cache
def stills(kind: str = "cross") -> Stills:
    shown = {
        "cross": lambda: hs.view(cross()),
        "long": lambda: hs.view(cross(10.0)),
        "alike": lambda: hs.view(alike()),
        "two": lambda: against_reversed(cross()),
    }
    return Stills(shown[kind](), HEAD)


def still(kind: str = "cross", width: float = WIDE, **state: Any) -> Still:
    return stills(kind)(width=width, **state)


def peaks(found: Still, span: tuple[float, float] = (0, SECONDS)) -> list[tuple[float, str]]:
    """When each lane is highest, in seconds, and its colour."""
    spectrogram = next(each for each in found.of("svg"))
    lanes: list[tuple[float, str]] = []
    for lane in found.of("path"):
        corners = np.array(re.findall(r"[ML](\S+) ([^ML]+)", lane.element.get("d", "")), float)
        if len(corners) < 5:
            continue  # a mark
        high = corners[corners[:, 1] == corners[:, 1].min(), 0]
        share = (lane.x + high.mean() - spectrogram.x) / spectrogram.at("width")
        lanes.append((span[0] + share * (span[1] - span[0]), lane.element.get("fill", "")))
    return lanes


def colours(theme: str = "light") -> Any:
    from tests.helpers.colours import DARK, LIGHT

    return DARK if theme == "dark" else LIGHT


def test_each_query_has_a_lane_that_is_highest_where_it_looks() -> None:
    found = still()
    lanes = peaks(found)
    assert [colour for _, colour in lanes] == [colours().accent] * 5
    np.testing.assert_allclose(
        [time for time, _ in lanes], [middle(time) for time in (0.0, 0.25, 0.7, 1.4, 1.4)], atol=0.005
    )
    assert [found.texts.count(name) for name in ("<s>", "w", "‿as")] == [1] * 3
    # Above the sound, in the brackets of what is heard, and where one piece is a word as a lane's name.
    assert [found.texts.count(word) for word in ("so", "it", "was")] == [3, 3, 2]


def test_words_stand_where_their_attention_is_largest() -> None:
    found = still()
    spectrogram = found.of("svg")[0]
    for word, begin, end in WORDS:
        place = found.text(word)
        time = (place.x + place.at("x") - spectrogram.x) / spectrogram.at("width") * SECONDS
        assert time == pytest.approx((begin + end) / 2, abs=0.06)
    assert "words stand where the weight of L0H0 is largest" in found.said
    assert "the weight of L0H1" in still(heads=[0, 1]).said


def test_the_spectrogram_fades_where_the_chosen_query_does_not_listen() -> None:
    def faded(found: Still) -> float:
        """The share of the spectrogram that lies under the paper."""
        wide, height = (found.of("svg")[0].at(name) for name in ("width", "height"))
        veils = [
            each for each in found.of("rect") if each.at("height") == height and 0.7 < alpha(each.element) < 1
        ]
        return sum(each.at("width") for each in veils) / wide

    assert faded(still()) == 0
    assert faded(still(pin=["from", 2])) == pytest.approx(1 - 0.02 / SECONDS, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_spectrogram_is_in_the_ink_of_its_theme(theme: str) -> None:
    found = still(theme=theme)
    (matrix,) = found.all("feColorMatrix")
    rows = np.array(matrix.get("values", "").split(), float).reshape(4, 5)
    silence = rows[:3] @ [251 / 255, 0, 0, 1, 1] * 255
    np.testing.assert_allclose(silence, (247, 248, 248) if theme == "light" else (21, 25, 28), atol=0.1)


def test_several_heads_have_a_lane_each_in_their_colours() -> None:
    found = still(heads=[1, 2], pin=["from", 2])
    assert [colour for _, colour in peaks(found)] == [colours().heads[1], colours().heads[2]]
    np.testing.assert_allclose(
        [time for time, _ in peaks(found)], [middle(0.04), middle(SECONDS - 0.02)], atol=0.005
    )
    assert {"L0H1", "L0H2", "each head: where it looks"} <= set(found.texts)


def test_frames_by_frames_are_a_map_on_the_same_axis() -> None:
    found = still("alike", follow=True, time=0.5)
    assert "where 0.50s looks" in found.texts
    (pixels,) = found.pixels
    dark = pixels[..., :3].astype(int).sum(-1)
    # Each frame's darkest is 12 frames later.
    rows = [dark[int((row + 0.5) * len(dark) / 100)] for row in range(80)]
    places = [np.flatnonzero(row == row.min()).mean() / len(row) * 100 for row in rows]
    np.testing.assert_allclose(places, np.arange(80) + 12.5, atol=0.6)
    (image,) = found.of("image")
    assert image.x + image.at("x") == pytest.approx(found.of("svg")[0].x, abs=0.5)
    assert still("alike", heads=[0, 1]).pixels == []


def test_numbers_of_a_difference_have_its_sign() -> None:
    one = cross()
    even = replace(one, layers=[np.full_like(layer, 1 / layer.shape[-1]) for layer in one.layers])
    most = f"{0.6 - 1 / len(one.key):.2f}".lstrip("0")
    pin = ["to", int(one.layers[0][0][1].argmax())]
    for a, b, number in ((one, even, most), (even, one, f"−{most}")):
        texts = Stills(hs.view(a, against=b), HEAD)(width=WIDE, side="difference", pin=pin).texts
        assert [text for text in texts if text in (most, f"−{most}")] == [number]


def test_a_line_stands_where_it_was_put() -> None:
    def lines(found: Still) -> int:
        return sum(each.at("width") == 1.5 for each in found.of("rect"))

    assert lines(still(time=0.6)) == 1
    assert lines(still()) == 0
    assert lines(still(time=0.6, span=[1.0, 2.0])) == 0


def test_a_stretch_is_drawn_closer() -> None:
    found = still(span=[1.0, 2.0])
    assert [found.texts.count(word) for word in ("so", "it", "was")] == [1, 1, 2]
    assert peaks(found, (1.0, 2.0))[-1][0] == pytest.approx(middle(1.4), abs=0.005)
    assert "2.0 s" in found.texts


def test_the_silence_behind_a_sound_is_told() -> None:
    found = still("long", heads=[2], pin=["from", 1])
    assert re.search(r"9\d% on the silence after the sound, which is not shown", found.said)
    # Its words look behind what is shown, and stand nowhere.
    assert "words stand" not in found.said
    assert "not shown" not in still("long", heads=[2], span=[0, 10]).said


def test_a_difference_has_two_colours() -> None:
    found = still("two", side="difference")
    assert "blue: more in the first than in the second; orange: less" in found.said
    assert "words stand" not in found.said
    assert len({colour for _, colour in peaks(found)}) == 2
