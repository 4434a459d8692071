"""Stills of a text beside its picture: what is dark on the picture, and how each word is shaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.maps import AttentionMaps
from headscope.views import figure as figures
from headscope.views.canvas import Canvas
from headscope.views.explorer import Input
from headscope.views.figure_picture import HeadPicture, looks
from headscope.views.figure_talk import TextPicture, talks
from headscope.views.palette import LIGHT
from headscope.views.selection import Selection
from tests.helpers.talk_sample import WORDS, axis, planted

HEAD = {"scale": "head", "layer": 0, "heads": [0], "picture": "image", "unit": "words"}


class Recorder(Canvas):
    """Paper that remembers what was put on it."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.images: list[np.ndarray] = []
        self.shades: list[tuple[float, float, float]] = []
        self.written: list[tuple[float, float, str, Any]] = []

    def rectangle(self, x: float, y: float, width: float, height: float, fill: Any, **more: Any) -> None:
        if fill is not None:
            self.shades.append((x + width / 2, y + height / 2, more.get("alpha", 1.0)))

    def image(self, x: float, y: float, width: float, height: float, pixels: Any, least: int = 96) -> None:
        self.images.append(pixels)

    def text(self, x: float, y: float, text: str, size: float, colour: Any = None, **more: Any) -> None:
        self.written.append((x, y, text, colour))

    def shade(self, word: str) -> float:
        """How strongly a word is shaded."""
        x, y = next((x, y) for x, y, text, _ in self.written if text == word)
        return next((alpha for a, b, alpha in self.shades if abs(a - x) < 0.6 and abs(b - y) < 0.6), 0.0)


def drawn(maps: AttentionMaps, state: Mapping[str, Any]) -> Recorder:
    selection = Selection(Input({"self": maps}), {**HEAD, **state})
    paper = Recorder(500, 400, LIGHT)
    TextPicture(selection, 480, paper).draw(paper, 0, 0)
    return paper


def light(paper: Recorder, x: float, y: float) -> int:
    """How light the picture is at shares of its width and height."""
    pixels = paper.images[0]
    return int(pixels[int(y * pixels.shape[0]), int(x * pixels.shape[1])].astype(int).sum())


def test_words_are_shaded_by_what_they_give_to_the_picture() -> None:
    paper = drawn(planted(axis()), {})
    assert [text for _, _, text, _ in paper.written if text in WORDS] == WORDS
    assert paper.shade("cup") == pytest.approx(0.52)
    # The others give .006 of their attention to the picture, "cup" gives .7.
    assert paper.shade("Where") == pytest.approx(0.52 * np.sqrt(0.006 / 0.7), rel=0.02)
    assert light(paper, 1 / 6, 0.25) > light(paper, 5 / 6, 0.75) + 60
    assert len(paper.images) == 2  # the picture, and the one within the text


def test_a_word_shows_its_patches_and_a_patch_its_words() -> None:
    maps = planted(axis())
    word = drawn(maps, {"pin": ("from", 11)})
    assert "where cup looks" in {text for _, _, text, _ in word.written}
    # .6 on the first patch, .1 on the second: the root of a sixth of it is not dark.
    assert light(word, 0.5, 0.25) > light(word, 5 / 6, 0.75) + 40
    patch = drawn(maps, {"pin": ("to", 1)})
    assert "how much each word looks at patch[0,0]" in {text for _, _, text, _ in patch.written}
    assert patch.shade("cup") == pytest.approx(0.52)
    assert patch.shade("the") < 0.05
    # What stands before the patch cannot see it.
    assert next(colour for _, _, text, colour in patch.written if text == "<s>") == LIGHT.ink3


def test_the_mean_is_over_the_text_alone() -> None:
    maps = planted(axis())
    selection = Selection(Input({"self": maps}), {**HEAD, "unit": "pieces"})
    matrix = selection.drawn_heads()[-1].matrix
    np.testing.assert_allclose(
        looks(selection, matrix, selection.sees(), "text")[1:7], maps.layers[0][0][7:, 1:7].mean(0), atol=1e-6
    )


def test_several_pictures_stand_in_the_text() -> None:
    paper = drawn(planted(axis(2)), {"heads": [0, 1]})
    assert len(paper.images) == 1 + 2 + 2
    assert {"L0H0", "L0H1"} <= {text for _, _, text, _ in paper.written}


def test_what_is_drawn_for_which_axes() -> None:
    text = Selection(Input({"self": planted(axis())}), HEAD)
    assert talks(text)
    assert figures._drawing(text) is TextPicture  # pyright: ignore[reportPrivateUsage]
    grid = hs.Grid(2, 3, prefix=["[CLS]"], picture=axis().picture)
    patches = Selection(
        Input({"self": hs.wrap(np.full((1, 1, 7, 7), 1 / 7), grid)}), {**HEAD, "unit": "pieces"}
    )
    assert not talks(patches)
    assert figures._drawing(patches) is HeadPicture  # pyright: ignore[reportPrivateUsage]
    crossed = AttentionMaps([np.full((1, 2, 7), 1 / 7)], hs.Tokens(["a", "b"]), grid, kind="cross")
    across = Selection(Input({"cross": crossed}), {**HEAD, "unit": "pieces"})
    assert talks(across)
    paper = Recorder(500, 400, LIGHT)
    TextPicture(across, 480, paper).draw(paper, 0, 0)
    assert paper.shade("a") == paper.shade("b") > 0.5


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_it_is_saved_as_each_kind_of_file(kind: str, tmp_path: Any) -> None:
    view = hs.view(planted(axis()), pin=("from", 11), scale="head", layer=0, heads=[0])
    assert view.save(tmp_path / f"talk.{kind}", dots=100).stat().st_size > 4000
