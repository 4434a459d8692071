from __future__ import annotations

import warnings

import numpy as np
import pytest

from headscope.errors import HeadscopeWarning
from headscope.maps import wrap
from headscope.views import canvas, fonts
from headscope.views.canvas import Canvas, label
from headscope.views.digits import number
from headscope.views.explorer import Input
from headscope.views.figure import picture
from headscope.views.palette import LIGHT

ABOUT = {"title": "", "description": "", "creator": ""}


def one(*pieces: str) -> Input:
    count = len(pieces)
    return Input({"self": wrap(np.full((1, 1, count, count), 1 / count), list(pieces))})


@pytest.fixture
def poor(monkeypatch):
    """A machine whose fonts have ASCII, and one of them 猫."""

    def characters(family: str) -> frozenset[int]:
        return frozenset([*range(128), *([ord("猫")] if family == "DejaVu Serif" else [])])

    monkeypatch.setattr(fonts, "_characters", characters)
    fonts._other.cache_clear()
    yield
    fonts._other.cache_clear()


class TestText:
    def test_it_is_never_mathematics(self) -> None:
        paper = Canvas(10, 10, LIGHT)
        assert paper.text_width("$x_1$", 8.0) > paper.text_width("x_1", 8.0)
        assert paper.text_width("$x_{$", 8.0) > 0  # not valid mathematics
        svg = picture("svg", [one("$x_1$", "$\\frac$", "</script>")], {"scale": "head"}).decode()
        for piece in ("$x_1$", "$\\frac$", "&lt;/script&gt;"):
            assert svg.count(f">{piece}</text>") == 2
        assert picture("png", [one("$x_{$")], {"scale": "head"}, dots=50)

    def test_widths_grow_with_the_text(self) -> None:
        paper = Canvas(10, 10, LIGHT)
        assert paper.text_width("iiii", 8.0) == pytest.approx(4 * paper.text_width("i", 8.0), rel=0.05)
        assert paper.text_width("abc", 16.0) == pytest.approx(2 * paper.text_width("abc", 8.0), rel=0.05)

    def test_what_cannot_be_seen_is_shown(self) -> None:
        assert [label("\u200b"), label("a\tb"), label("\x01"), label("")] == ["\ufffd", "a⇥b", "␁", "␣"]
        assert label("👩\u200d👧") == "👩\u200d👧"

    def test_numbers_as_in_the_page(self) -> None:
        assert [number(x, 1.0) for x in (0.541, 1.0, 0.004, -0.25)] == [".54", "1.0", "", "−.25"]
        assert [number(x, 0.01) for x in (0.0034, -0.00012, 0.00001)] == ["0.0034", "−0.00012", ""]
        assert [number(x, 400.0) for x in (312.4, 21.3, 3.456)] == ["312", "21", "3.5"]


class TestFonts:
    def test_one_sentence_says_what_cannot_be_drawn(self, poor) -> None:
        shown = one("ж", "é", "a")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert picture("png", [shown], {"scale": "head"}, dots=50)
        assert [each.category for each in caught] == [HeadscopeWarning]
        assert str(caught[0].message).startswith("no font on this machine has")
        assert {"ж", "é"} <= set(str(caught[0].message))

    def test_an_svg_takes_the_fonts_of_its_reader(self, poor) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert "ж" in picture("svg", [one("ж")], {"scale": "head"}).decode()

    def test_another_font_that_has_the_character(self, poor) -> None:
        families = fonts.installed(canvas.FONTS)
        assert fonts.covering(families, "猫") == [*families, "DejaVu Serif"]
        assert fonts.covering(families, "cat") == list(families)
        assert fonts.lacking(families, "猫ж") == {"ж"}

    def test_nothing_is_said_of_what_can_be_drawn(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Canvas(10, 10, LIGHT).save("png", ABOUT, 50)
            assert picture("png", [one("cat", "é", "\u200b", "ж")], {"scale": "head"}, dots=50)

    def test_a_font_that_cannot_be_read_has_nothing(self) -> None:
        assert fonts._characters("no such family") == frozenset()
