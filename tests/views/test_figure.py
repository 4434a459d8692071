from __future__ import annotations

import html
import io
import re
from typing import Any

import numpy as np
import pytest

from headscope.errors import InputError
from headscope.maps import AttentionMaps, wrap
from headscope.tokens import Tokens
from headscope.views.canvas import Canvas, label, readable
from headscope.views.digits import weight as short
from headscope.views.explorer import Input
from headscope.views.figure import caption, figure, picture
from headscope.views.figure_grid import Grid, _strongest, pooled
from headscope.views.figure_head import EACH, MOST, HeadLines, kept, strip_alpha
from headscope.views.palette import DARK, LIGHT, diverging, palette, ramp, sequential
from headscope.views.selection import Selection, texts
from tests.helpers.view_sample import PIECES, neurons, some, tokens

pytestmark = pytest.mark.slow


def svg_texts(one: Input | list[Input], **state: Any) -> list[str]:
    svg = picture("svg", [one] if isinstance(one, Input) else one, state).decode()
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def test_lines_of_equal_weights_are_those_of_the_first_keys() -> None:
    """How a processor sorts says nothing of ties; the strongest is drawn last, over the others."""
    even, peak = np.full((1, 90), 1 / 90), np.full((1, 90), 0.005)
    peak[0, 70] = 0.555
    for row, expected in ((even, [0, 1, 2]), (peak, [70])):
        ends, _ = _strongest(row, 0.0, 0.0, 90 / 0.88)
        np.testing.assert_allclose(ends[:, 3] - 0.06 * 90 / 0.88 - 0.5, expected, atol=1e-9)


def rectangle(weight: float) -> AttentionMaps:
    """A head of 3 queries that give one key this weight and share out the rest over 15 others."""
    row = np.full(16, (1 - weight) / 15)
    row[5] = weight
    weights = np.tile(row, (1, 1, 3, 1))
    return wrap(weights, list("abc"), [f"k{place}" for place in range(16)], kind="cross")


def test_a_head_is_sharp_or_spread_out_by_its_entropy_beside_that_of_even_attention() -> None:
    def said(maps: AttentionMaps) -> str:
        found = svg_texts(Input({"cross": maps}), scale="head", layer=0, heads=[0])
        return " ".join(text for text in found if text.endswith(("on this input", "weights are 0")))

    assert said(rectangle(1.0)) == "sharp, entropy 0.0 nats on this input"
    assert said(rectangle(1 / 16)) == "spread out, entropy 2.8 nats on this input"
    off = wrap(np.zeros((1, 1, 3, 16)), list("abc"), list("abcdefghijklmnop"), kind="cross", partial=True)
    assert said(off) == "switched off: its weights are 0"


class TestColours:
    def test_the_scale_is_that_of_the_explorer(self) -> None:
        # the stops of the palette stand where the root of the weight is k / 6
        found = sequential((np.arange(7) / 6) ** 2, LIGHT)
        expected = [[int(stop[place : place + 2], 16) for place in (1, 3, 5)] for stop in LIGHT.sequential]
        assert np.abs(found.astype(int) - expected).max() <= 2
        assert found[0].tolist() == [0xF6, 0xF8, 0xF8]
        assert sequential(1.0, DARK).tolist() == [0xEF, 0xFF, 0xF6]

    @pytest.mark.parametrize("colours", [LIGHT, DARK])
    def test_lightness_is_monotone(self, colours) -> None:
        lightness = ramp(colours.sequential).astype(float) @ [0.2126, 0.7152, 0.0722]
        steps = np.diff(lightness) * (1 if colours is DARK else -1)
        assert (steps > -0.75).all()

    def test_signs(self) -> None:
        low, middle, high = diverging([-1.0, 0.0, 1.0], LIGHT).astype(int)
        assert low[0] > low[2]
        assert high[2] > high[0]
        assert np.ptp(middle) <= 3


class TestSelection:
    def test_special_tokens_are_of_the_text_they_end(self) -> None:
        assert texts(tokens()).tolist() == [0, 0, 0, 0, 0, 1, 1, 1]

    def test_a_filter_takes_rows_and_columns(self) -> None:
        maps = some()
        found = Selection(Input({"self": maps}), {"filter": "ab"})
        assert found.query.pieces == tuple(PIECES[1:4])
        assert found.key.pieces == tuple(PIECES[5:7])
        np.testing.assert_array_equal(found.matrix(1, 2), maps.a_to_b().layers[1][2])

    def test_without_special_tokens_renormalised(self) -> None:
        maps = some()
        found = Selection(Input({"self": maps}), {"special": False, "renormalise": True})
        kept_ = [1, 2, 3, 5, 6]
        expected = maps.layers[0][0][np.ix_(kept_, kept_)]
        np.testing.assert_allclose(found.matrix(0, 0), expected / expected.sum(-1, keepdims=True))

    def test_words(self) -> None:
        maps = some()
        found = Selection(Input({"self": maps}), {"unit": "words"})
        np.testing.assert_allclose(found.matrix(1, 1), maps.words().layers[1][1])
        assert found.query.pieces[1] == "its"

    def test_aggregates(self) -> None:
        maps = some()
        one = Input({"self": maps})
        mean = Selection(one, {"heads": [0, 2], "layer": 1, "aggregate": "mean"}).drawn_heads()
        np.testing.assert_allclose(mean[0].matrix, maps.layers[1][[0, 2]].mean(0))
        largest = Selection(one, {"heads": [0, 2], "layer": 1, "aggregate": "max"}).drawn_heads()
        np.testing.assert_allclose(largest[0].matrix, maps.layers[1][[0, 2]].max(0))
        layers = Selection(one, {"heads": [0], "aggregate": "layers"}).drawn_heads()
        np.testing.assert_allclose(layers[0].matrix, maps.weights[:, 0].mean(0))
        assert layers[0].name == "Head 0, mean of all layers"

    def test_another_matrix(self) -> None:
        maps = some()
        slopes = [-layer for layer in maps.layers]
        one = Input({"self": maps}, matrices={"gradient": {"self": slopes}})
        found = Selection(one, {"quantity": "gradient"})
        assert found.signed
        assert found.scale == max(layer.max() for layer in maps.layers)
        with pytest.raises(InputError, match="quantity takes 'weights', 'gradient'; found 'x'"):
            Selection(one, {"quantity": "x"})

    def test_a_filter_needs_a_pair(self) -> None:
        one = Input({"self": wrap(np.full((1, 1, 2, 2), 0.5), ["a", "b"])})
        with pytest.raises(InputError, match="pair=B"):
            Selection(one, {"filter": "ab"})

    def test_a_pin_follows_its_token(self) -> None:
        found = Selection(Input({"self": some()}), {"special": False, "pin": ("from", 3)})
        assert found.pinned() == (2, None)
        hidden = Selection(Input({"self": some()}), {"special": False, "pin": ("from", 0)})
        assert hidden.pinned() == (None, None)


class TestPictures:
    STATES: tuple[dict[str, Any], ...] = (
        {"scale": "model"},
        {"scale": "model", "draw": "heat", "layer": 1, "heads": [2]},
        {"scale": "head", "heads": [0]},
        {"scale": "head", "heads": [0, 2], "pin": ("from", 3)},
        {"scale": "head", "heads": [1], "pin": ("to", 3)},
        {"scale": "head", "heads": [1], "filter": "ba", "special": False},
        {"scale": "head", "heads": [0, 1], "aggregate": "mean", "unit": "words"},
        {"scale": "head", "picture": "matrix", "heads": [1], "zoom": (1, 4, 0, 8), "pin": ("from", 2)},
        {"scale": "neuron", "heads": [1], "values": True},
    )

    @pytest.mark.slow
    @pytest.mark.parametrize("theme", ["light", "dark"])
    @pytest.mark.parametrize("state", STATES)
    def test_every_view_in_every_format(self, state, theme) -> None:
        one = Input({"self": some(heads=4)}, neurons={"self": neurons(v=[np.ones((2, 8, 8))] * 2)})
        for width in ("column", "text"):
            svg = picture("svg", [one], {**state, "theme": theme}, width=width)
            assert (DARK if theme == "dark" else LIGHT).bg.encode() in svg
        assert picture("pdf", [one], {**state, "theme": theme}).startswith(b"%PDF")
        assert picture("png", [one], {**state, "theme": theme}, dots=72).startswith(b"\x89PNG")

    def test_text_stays_text(self) -> None:
        found = svg_texts(Input({"self": some()}), scale="head")
        for piece in ("[CLS]", "it", "##s", "<b>&", "שלום"):
            assert found.count(piece) == (4 if piece == "[SEP]" else 2)

    def test_the_caption_says_what_the_numbers_are(self) -> None:
        one = Input({"self": some()})
        state = {"scale": "head", "layer": 1, "heads": [2]}
        assert caption([Selection(one, state)]) == "small-model · 8 pieces · L1H2 · raw weights"
        more = {**state, "unit": "words", "filter": "ab", "renormalise": True}
        assert caption([Selection(one, more)]) == (
            "small-model · 2 words · L1H2 · weights, rows renormalised over what is shown · A→B · "
            "to a word the sum over its pieces, from it their mean"
        )
        hidden = caption([Selection(one, {"scale": "model", "special": False})])
        assert hidden == (
            "small-model · 5 pieces · raw weights (what is hidden keeps its share) · special tokens hidden"
        )

    def test_true_indices(self) -> None:
        found = picture(
            "svg", [Input({"self": some(4, 6)})], {"scale": "model"}, include_layers=[3], include_heads=[4, 5]
        ).decode()
        assert re.findall(r">([\d]+)</text>", found) == ["4", "5", "3"]

    def test_a_picture_shows_the_numbers(self) -> None:
        maps = some()
        found = svg_texts(Input({"self": maps}), scale="head", layer=0, heads=[1], pin=("from", 3))
        for weight in maps.layers[0][1][3]:
            assert weight < 0.005 or short(float(weight)) in found

    def test_neurons_show_only_what_a_query_sees(self) -> None:
        maps = some(heads=4, causal=True)
        one = Input({"self": maps}, neurons={"self": neurons()})
        found = svg_texts(one, scale="neuron", layer=0, heads=[3], pin=("from", 2))
        assert "key head 1" in found
        assert any("key head 1 serves query heads 2 to 3" in text for text in found)
        numbers = [text for text in found if re.fullmatch(r"−?\d+\.\d|\.\d\d|·", text)]
        assert len(numbers) == 2 * 3  # a score and a weight for each of the three keys that token 2 sees

    def test_neurons_name_what_the_model_adds(self) -> None:
        more = {"bias": [np.ones((4, 8, 8))] * 2, "softcap": [50.0] * 2, "sinks": [np.ones(4)] * 2}
        maps = some(heads=4)
        sunk = AttentionMaps(
            [layer * 0.5 for layer in maps.layers],
            maps.query,
            maps.key,
            sink=[np.full((4, 8), 0.5)] * 2,
        )
        found = svg_texts(Input({"self": sunk}, neurons={"self": neurons(**more)}), scale="neuron", heads=[0])
        assert "÷ √8 + bias, cap 50" in found
        assert "sink" in found
        assert ".50" in found

    def test_two_inputs_side_by_side(self) -> None:
        both = [Input({"self": some()}, label="first"), Input({"self": some(seed=3)}, label="second")]
        found = svg_texts(both, scale="head", side="both")
        assert {"first", "second"} <= set(found)
        assert found.count("FROM") == 2

    @pytest.mark.parametrize(("width", "stacked"), [("column", True), ("text", False)])
    def test_in_a_column_two_inputs_stand_above_each_other(self, width: Any, stacked: bool) -> None:
        both = [Input({"self": some()}, label="first"), Input({"self": some(seed=3)}, label="second")]
        drawn = figure(both, {"scale": "head", "side": "both"}, width=width)
        places = [text.get_position() for text in drawn.figure.axes[0].texts if text.get_text() == "FROM"]
        (x0, y0), (x1, y1) = places
        assert (x0 == x1, y0 < y1) == (stacked, stacked)
        lowest = max(text.get_position()[1] for text in drawn.figure.axes[0].texts)
        assert lowest < drawn.height
        names = [text.get_position()[1] for text in drawn.figure.axes[0].texts if text.get_text() == "second"]
        assert (names[0] > y0) == stacked

    @pytest.mark.parametrize("ascending", [False, True])
    def test_a_sorted_grid_can_be_reversed(self, ascending: bool) -> None:
        one = Selection(
            Input({"self": some()}), {"measure": "previous", "sort": True, "ascending": ascending}
        )
        grid = Grid(one, 400, Canvas(10, 10, LIGHT))
        assert grid.figures is not None
        values = [grid.figures.values[layer, head] for _, _, layer, head in grid._cells()]
        assert values == sorted(values, reverse=not ascending)

    @pytest.mark.parametrize("place", [0, 1])
    @pytest.mark.parametrize("scale", ["model", "head"])
    def test_an_input_that_lacks_the_matrix_says_so_in_its_panel(self, place: int, scale: str) -> None:
        maps = some()
        given = Input({"self": maps}, label="given", matrices={"gradient": {"self": maps.layers}})
        two = [given, Input({"self": maps}, label="maps")][:: 1 if place else -1]
        found = svg_texts(two, scale=scale, side="both", quantity="gradient")
        said = f"Input {place + 1} has no gradient: it came as maps, and a gradient needs a model or to be given with them."
        assert said in " ".join(found)
        assert {"given", "maps"} <= set(found)
        assert any("gradient in place of the weights" in text for text in found)
        if scale == "head":
            assert found.count("FROM") == 1
        with pytest.raises(InputError, match=f"^state: Input {place + 1} has no gradient: it came as maps"):
            figure(two, {"side": "difference", "quantity": "gradient"})
        with pytest.raises(InputError, match=r"quantity takes 'weights'.*; found 'norms'"):
            figure(two, {"side": "both", "quantity": "norms"})

    def test_a_matrix_says_what_is_grey(self) -> None:
        grey = "grey: a query cannot see the key"
        state = {"scale": "head", "picture": "matrix"}
        assert any(grey in text for text in svg_texts(Input({"self": some(causal=True)}), **state))
        assert not any(grey in text for text in svg_texts(Input({"self": some()}), **state))

    def test_the_same_input_gives_the_same_file(self) -> None:
        one = Input({"self": some()})
        for kind in ("svg", "pdf"):
            assert picture(kind, [one], {"scale": "head"}) == picture(kind, [one], {"scale": "head"})

    def test_the_file_says_what_made_it(self) -> None:
        from PIL import Image

        png = Image.open(io.BytesIO(picture("png", [Input({"self": some()})], {"layer": 1}, dots=72)))
        assert '"model": "a/small-model"' in png.info["Description"]
        assert '"layer": 1' in png.info["Description"]

    def test_a_long_input(self) -> None:
        weights = np.random.default_rng(0).dirichlet(np.full(200, 0.05), (1, 1, 200))
        one = Input({"self": wrap(weights, [f"token{place}" for place in range(200)])})
        canvas = figure([one], {"scale": "head", "picture": "matrix"})
        assert canvas.height <= canvas.width * 1.3
        assert picture("png", [one], {"scale": "head"}, dots=50)

    def test_neurons_that_were_not_captured(self) -> None:
        with pytest.raises(InputError, match="neurons=True"):
            picture("svg", [Input({"self": some()})], {"scale": "neuron"})

    def test_a_width_that_is_none(self) -> None:
        with pytest.raises(
            InputError, match="width: expected 'column', 'text' or inches from 1 to 40, found 'x'"
        ):
            figure([Input({"self": some()})], {}, width="x")  # type: ignore[arg-type]


def test_lines_are_those_above_the_threshold() -> None:
    matrix = np.array([[0.5, 0.3, 0.2], [0.01, 0.9, 0.09]])
    assert kept(matrix, 0.05, 0).tolist() == [[True, True, True], [False, True, True]]
    assert kept(matrix, 0.05, 1).tolist() == [[True, False, False], [False, True, False]]


def test_even_weights_are_drawn_evenly() -> None:
    axis = Tokens([f"patch {place}" for place in range(100)])
    maps = AttentionMaps([np.full((1, 100, 100), 0.01, np.float32)], axis, axis)
    drawing = HeadLines(Selection(Input({"self": maps}), {}), 400.0, Canvas(10, 10, palette("light")))
    assert (len(drawing.drawn), drawing.left_out) == (EACH * 100, 100 * 100 - EACH * 100)
    assert set(np.bincount(drawing.drawn[:, 1].astype(int), minlength=100)) == {EACH}
    assert drawing.notes()[0] == "the 1,200 strongest of 10,000 lines of at least an even share, 1/100 = 0.01"
    asked = Selection(Input({"self": maps}), {"threshold": 0.001})
    drawing = HeadLines(asked, 400.0, Canvas(10, 10, palette("light")))
    assert (len(drawing.drawn), drawing.left_out) == (MOST, 100 * 100 - MOST)


def test_pooling_keeps_the_largest_of_either_sign() -> None:
    matrix = np.zeros((128, 128))
    matrix[3, 5], matrix[100, 90] = 0.5, -0.75
    found = pooled(matrix)
    assert found.shape == (64, 64)
    assert (found[1, 2], found[50, 45], np.abs(found).sum()) == (0.5, -0.75, 1.25)


def test_words_of_a_picture() -> None:
    assert [
        label(piece) for piece in ("▁the", "##s", "Ġ", "\n", "<0xE2>", "<0x9C>р", "\u0301", "\u200c")
    ] == [
        *("the", "##s", "␣", "⏎", "E2‿", "‿9Cр", "◌\u0301", "ZWNJ"),
    ]
    assert label("x" * 60) == "x" * 23 + "…"
    assert readable("a\x00\ud800b") == "a\ufffd\ufffdb"
    assert [short(0.004), short(0.541), short(1.0), short(-0.25)] == ["·", ".54", "1.0", "−.25"]


def test_a_small_weight_in_the_strip_of_several_heads_can_be_seen() -> None:
    """As the page draws it (`stripAlpha`): at a weight of .01 it was .10."""
    shown = [strip_alpha(size, faint=faint) for size in (0.001, 0.01, 1.0) for faint in (False, True)]
    assert shown == pytest.approx([0.0, 0.0, 0.28, 0.224, 1.0, 0.8])
