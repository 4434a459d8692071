"""Stills of heads on a sound: what lies where on the time axis, and what the caption says."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.views import figure as figures
from headscope.views.canvas import Canvas
from headscope.views.explorer import Input
from headscope.views.figure_sound import HeadSound, peaks, shown_span, sounds, ticks
from headscope.views.palette import DARK, LIGHT
from headscope.views.selection import Selection
from tests.helpers.heard_sample import SECONDS, WORDS, alike, cross, middle

HEAD = {"scale": "head", "layer": 0, "heads": [0], "picture": "image"}


class Recorder(Canvas):
    """Paper that remembers what was put on it."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.bars: list[tuple[np.ndarray, str]] = []
        self.images: list[tuple[float, float, float, float, np.ndarray]] = []
        self.written: list[tuple[float, float, str]] = []

    def rectangles(self, boxes: Any, fills: Any, alphas: Any = None) -> None:
        self.bars.append((np.asarray(boxes, float), fills))

    def image(self, x: float, y: float, width: float, height: float, pixels: Any, least: int = 96) -> None:
        self.images.append((x, y, width, height, pixels))

    def text(self, x: float, y: float, text: str, *rest: Any, **more: Any) -> None:
        self.written.append((x, y, text))


def drawn(maps: Any, state: Mapping[str, Any]) -> tuple[HeadSound, Recorder]:
    selection = Selection(Input({"self": maps}), {**HEAD, **state})
    paper = Recorder(400, 400, DARK if state.get("theme") == "dark" else LIGHT)
    drawing = HeadSound(selection, 380, paper)
    drawing.draw(paper, 0, 0)
    return drawing, paper


def at(paper: Recorder, x: float, span: tuple[float, float] = (0, SECONDS)) -> float:
    """The time at a place on the paper."""
    left, _, width, _, _ = paper.images[0]
    return span[0] + (x - left) / width * (span[1] - span[0])


def test_each_query_has_a_lane_that_is_highest_where_it_looks() -> None:
    _, paper = drawn(cross(), {})
    assert len(paper.bars) == 5
    for (bars, colour), time in zip(paper.bars, (0.0, 0.25, 0.7, 1.4, 1.4), strict=True):
        assert colour == LIGHT.accent
        x, _, width, _ = bars[bars[:, 3].argmax()]
        assert at(paper, x + width / 2) == pytest.approx(middle(time), abs=1e-6)
        # By the root of the weight: .604 stands beside .004.
        tall = np.sort(bars[:, 3])
        assert tall[0] / tall[-1] == pytest.approx(np.sqrt(0.004 / 0.604), rel=1e-6)
    names = [text for _, _, text in paper.written]
    assert [names.count(name) for name in ("<s>", "so", "it", "w", "as", "was")] == [1, 3, 3, 1, 1, 2]


def test_words_stand_where_their_attention_is_largest() -> None:
    selection = Selection(Input({"cross": cross()}), HEAD)
    found = peaks(selection, selection.drawn_heads()[-1].matrix)
    assert [(peak.text, peak.rows) for peak in found] == [("so", [1]), ("it", [2]), ("was", [3, 4])]
    times = [peak.time for peak in found]
    np.testing.assert_allclose(times, [middle((begin + end) / 2) for _, begin, end in WORDS])
    _, paper = drawn(cross(), {})
    for word, begin, end in WORDS:
        x = next(x for x, _, text in paper.written if text == word)
        assert at(paper, x) == pytest.approx((begin + end) / 2, abs=0.03)


def test_the_spectrogram_fades_where_the_chosen_query_does_not_listen() -> None:
    _, rest = drawn(cross(), {})
    _, chosen = drawn(cross(), {"pin": ("from", 2)})

    def darkest(paper: Recorder, time: float) -> int:
        pixels = paper.images[0][4]
        return int(pixels[:, round(time / SECONDS * pixels.shape[1]), 0].min())

    assert darkest(chosen, middle(0.7)) == pytest.approx(darkest(rest, middle(0.7)), abs=3)
    assert darkest(chosen, 0.3) > darkest(rest, 0.3) + 80
    _, dark = drawn(cross(), {"theme": "dark"})
    assert dark.images[0][4][0, -1].tolist() == [
        int(DARK.track[place : place + 2], 16) for place in (1, 3, 5)
    ]


def test_several_heads_have_a_lane_each_in_their_colours() -> None:
    _, paper = drawn(cross(), {"heads": [1, 2], "pin": ("from", 2)})
    assert [colour for _, colour in paper.bars] == [LIGHT.heads[1], LIGHT.heads[2]]
    for (bars, _), time in zip(paper.bars, (0.04, 1.98), strict=True):
        x, _, width, _ = bars[bars[:, 3].argmax()]
        assert at(paper, x + width / 2) == pytest.approx(middle(time), abs=1e-6)
    assert {"L0H1", "L0H2", "each head: where it looks"} <= {text for _, _, text in paper.written}


def test_frames_by_frames_are_a_map_on_the_same_axis() -> None:
    drawing, paper = drawn(alike(), {"follow": True, "time": 0.5})
    assert drawing.mapped
    assert drawing.row == 25
    assert "where 0.50s looks" in {text for _, _, text in paper.written}
    pixels = paper.images[1][4].astype(int).sum(-1)
    # Each frame's darkest is 12 frames later.
    np.testing.assert_array_equal(pixels[:80].argmin(1), np.arange(80) + 12)
    assert paper.images[1][0] == paper.images[0][0]


def test_what_sounds_at_the_line_is_chosen_only_where_it_is_followed() -> None:
    assert drawn(alike(), {"time": 0.5})[0].row is None
    assert drawn(cross(), {"time": 0.705, "follow": True})[0].column == 35
    assert drawn(cross(), {"time": 0.705, "follow": True, "pin": ("from", 1)})[0].row == 1


def test_a_stretch_is_drawn_closer() -> None:
    drawing, paper = drawn(cross(), {"span": (1.0, 2.0)})
    assert drawing.span == (1.0, 2.0)
    names = [text for _, _, text in paper.written]
    assert names.count("was") == 2
    assert names.count("it") == 1  # its lane alone
    bars = paper.bars[3][0]
    x, _, width, _ = bars[bars[:, 3].argmax()]
    assert at(paper, x + width / 2, (1.0, 2.0)) == pytest.approx(middle(1.4), abs=1e-6)


def test_spans_and_ticks_are_those_of_the_page() -> None:
    """The examples of ``frontend/test/sound.test.ts``."""
    assert shown_span(None, 30, 2) == (0, 2)
    assert shown_span(None, 30, 29) == (0, 30)
    assert shown_span([28, 33], 30, 2) == (25, 30)
    assert shown_span([1, 1.01], 30, 2) == (1, 1.1)
    assert ticks(0, 8, 4) == ([0, 2, 4, 6, 8], 0)
    found, digits = ticks(1.05, 1.5, 5)
    assert [f"{each:.{digits}f}" for each in found] == ["1.1", "1.2", "1.3", "1.4", "1.5"]


def test_the_caption_says_what_is_shown() -> None:
    svg = figures.picture(
        "svg", [Input({"cross": cross(10.0)})], {**HEAD, "heads": [2], "pin": ("from", 1)}
    ).decode()
    text = " ".join(html.unescape(each) for each in re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    assert "0.00–2.00 s of 10.00 s" in text
    assert "heights and shades by the root of the weight" in text
    # Its words look behind what is shown, and stand nowhere.
    assert "above the sound each word" not in text
    assert re.search(r"9[0-9]\.\d % on the silence after the sound", text)


def test_the_caption_says_of_which_head_the_words_are() -> None:
    drawing, _ = drawn(cross(), {"heads": [1, 0]})
    assert "above the sound each word where the weight of L0H0 is largest" in drawing.notes()


def test_what_is_no_axis_of_frames_is_drawn_as_before() -> None:
    text = hs.wrap(np.eye(3)[None, None], ["a", "b", "c"])
    assert not sounds(Selection(Input({"self": text}), {}))
    assert sounds(Selection(Input({"self": alike()}), {}))
    assert (
        figures._drawing(Selection(Input({"self": alike()}), {**HEAD, "picture": "matrix"})) is not HeadSound
    )  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_a_sound_is_saved_as_each_kind_of_file(kind: str, tmp_path: Any) -> None:
    view = hs.view(cross(), pin=("from", 2), time=0.6, scale="head", layer=0, heads=[0])
    place = view.save(tmp_path / f"sound.{kind}", dots=100)
    assert place.stat().st_size > 5000
