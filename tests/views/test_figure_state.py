"""Every key of the state, and whether the picture heeds it: as the page does."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from headscope.errors import InputError
from headscope.maps import AttentionMaps, wrap
from headscope.views import figure as figures
from headscope.views import telling
from headscope.views.blobs import decode
from headscope.views.explorer import Input, explorer_payload
from headscope.views.figure_grid import tint
from headscope.views.gold import of_parts
from headscope.views.palette import LIGHT, diverging
from headscope.views.selection import Selection
from headscope.views.state import DEFAULTS, STATE
from headscope.views.view import View
from tests.helpers.view_sample import PIECES, neurons, some, tokens

pytestmark = pytest.mark.slow

HEAD = {"scale": "head", "layer": 1, "heads": [1]}
MANY = {**HEAD, "heads": [0, 1]}
MATRIX = {**HEAD, "picture": "matrix"}
GRID = {"scale": "model"}
HEAT = {**GRID, "draw": "heat"}
NEURON = {**HEAD, "scale": "neuron"}
DIFFERENCE = {**HEAD, "side": "difference"}
HIDDEN = {"special": False}

HEEDED: tuple[tuple[dict[str, Any], str, Any], ...] = (
    (HEAD, "scale", "model"),
    (HEAD, "scale", "neuron"),
    (HEAD, "part", "cross"),
    *((state, "layer", 0) for state in (HEAD, MATRIX, NEURON, HEAT, DIFFERENCE)),
    *((state, "heads", [2]) for state in (HEAD, MATRIX, NEURON, {**HEAT, "layer": 1})),
    *((state, "heads", [0, 2]) for state in (HEAD, DIFFERENCE)),
    *((state, "filter", "ab") for state in (HEAD, MATRIX, NEURON, GRID, HEAT, DIFFERENCE)),
    *((state, "special", False) for state in (HEAD, MATRIX, NEURON, GRID, HEAT, DIFFERENCE)),
    *((state, "sinks", False) for state in (HEAD, MATRIX, GRID, HEAT, DIFFERENCE)),
    *(({**state, **HIDDEN}, "renormalise", True) for state in (HEAD, MATRIX, NEURON, GRID, HEAT, DIFFERENCE)),
    *((state, "unit", "words") for state in (HEAD, MATRIX, GRID, HEAT, DIFFERENCE)),
    (GRID, "draw", "heat"),
    (HEAD, "picture", "matrix"),
    (DIFFERENCE, "picture", "matrix"),
    *((state, "measure", "entropy") for state in (GRID, HEAT, {**GRID, "side": "difference"})),
    *(({**state, "measure": "previous"}, "sort", True) for state in (GRID, HEAT)),
    *(({**state, "measure": "previous", "sort": True}, "ascending", True) for state in (GRID, HEAT)),
    *(({**state, "measure": "previous"}, "least", 0.15) for state in (GRID, HEAT)),
    *((state, "threshold", 0.3) for state in (HEAD, MANY, {**DIFFERENCE, "layer": 0})),
    *((state, "top_k", 1) for state in (HEAD, MANY, DIFFERENCE)),
    *((MANY, "aggregate", how) for how in ("mean", "max", "layers")),
    *((HEAD, "aggregate", how) for how in ("layers",)),
    *((state, "quantity", "gradient") for state in (HEAD, MANY, MATRIX, GRID, HEAT, DIFFERENCE)),
    *((state, "pin", ("from", 2)) for state in (HEAD, MANY, MATRIX, NEURON, DIFFERENCE)),
    *((state, "pin", ("to", 2)) for state in (HEAD, MANY, MATRIX, NEURON, DIFFERENCE)),
    *((state, "between", (2, 5)) for state in (HEAD, MANY, MATRIX, NEURON, DIFFERENCE)),
    *(({**state, "pin": ("from", 2)}, "between", (2, 5)) for state in (HEAD, MATRIX, NEURON)),
    (MATRIX, "zoom", (1, 3, 2, 4)),
    ({**MATRIX, "side": "difference"}, "zoom", (1, 3, 2, 4)),
    *((state, "input", 1) for state in (HEAD, MATRIX, NEURON, HEAT)),
    *((state, "side", "both") for state in (HEAD, MATRIX, NEURON, HEAT)),
    *((state, "side", "difference") for state in (HEAD, MATRIX, NEURON, HEAT)),
    *((state, "gold", False) for state in (HEAD, MANY, MATRIX, NEURON, GRID, HEAT)),
    (NEURON, "values", True),
    *((state, "theme", "dark") for state in (HEAD, MATRIX, NEURON, GRID)),
)
"""A state, a key and a value that changes the picture."""

ON_PICTURES = {"smooth", "opacity", "queries", "strip", "rollout"}
"""Keys of heads on a picture, which `test_figure_picture` tries."""

ON_SOUNDS = {"time", "follow", "span"}
"""Keys of heads on a sound, which `test_figure_sound` tries; what is unfolded `test_fold` does."""

UNHEEDED: tuple[tuple[dict[str, Any], str, Any], ...] = (
    ({**HEAD, "quantity": "gradient", **HIDDEN}, "renormalise", True),
    (NEURON, "unit", "words"),
    (NEURON, "sinks", False),
    (HEAD, "draw", "heat"),
    ({**GRID, "side": "difference"}, "draw", "lines"),
    (GRID, "picture", "matrix"),
    (HEAD, "measure", "entropy"),
    (GRID, "sort", True),
    ({**GRID, "measure": "first"}, "ascending", True),
    (GRID, "least", 0.5),
    (MATRIX, "threshold", 0.3),
    (GRID, "threshold", 0.3),
    (MATRIX, "top_k", 1),
    (HEAD, "aggregate", "mean"),
    (NEURON, "aggregate", "layers"),
    (NEURON, "quantity", "gradient"),
    (GRID, "pin", ("from", 2)),
    (GRID, "between", (2, 5)),
    (HEAD, "zoom", (1, 3, 2, 4)),
    (DIFFERENCE, "input", 1),
    ({**HEAD, "side": "both"}, "input", 1),
    (DIFFERENCE, "gold", False),
    (HEAD, "values", True),
    (HEAD, "theme", "light"),
)
"""A state, a key and a value that the page does not show either."""


def both() -> list[Input]:
    found: list[Input] = []
    for seed in (0, 3):
        maps = some(heads=4, seed=seed)
        crossed = some(heads=4, seed=seed + 1)
        cross = AttentionMaps(crossed.layers, tokens(), tokens(), kind="cross", meta=maps.meta)
        slopes = [layer - 0.2 for layer in maps.layers]
        inner = neurons(v=[np.ones((2, 8, 8)) * (seed + 1)] * 2, norms=[layer * 3 for layer in maps.layers])
        found.append(
            Input(
                {"self": maps, "cross": cross},
                label=f"input {seed}",
                neurons={"self": inner},
                matrices={"gradient": {"self": slopes}},
                notes={"gradient": "the loss"},
                links=of_parts([(1, 3)], {"self": maps}),
            )
        )
    return found


def drawn(state: Mapping[str, Any], inputs: list[Input] | None = None, **options: Any) -> str:
    """The picture without its caption and without what is said about the file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "caption", lambda *_: "caption")
        patch.setattr(telling, "SINK", 0.2)  # all special tokens of these inputs
        canvas = figures.figure(inputs or both(), state, **options)
    return canvas.save("svg", {"title": "", "description": "", "creator": ""}).decode()


@cache
def as_it_was(state: str) -> str:
    """The picture of a state, which several tests change."""
    return drawn(ast.literal_eval(state))


def said(state: Mapping[str, Any], inputs: list[Input] | None = None, **options: Any) -> list[str]:
    svg = figures.picture("svg", inputs or both(), state, **options).decode()
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def test_every_key_is_in_the_table() -> None:
    assert {key for _, key, _ in HEEDED} | ON_PICTURES | ON_SOUNDS | {"unfolded"} == set(STATE)
    assert set(DEFAULTS) | {"part", "layer", "heads"} == set(STATE)


@pytest.mark.slow
@pytest.mark.parametrize(("state", "key", "value"), HEEDED)
def test_a_picture_heeds(state, key, value) -> None:
    assert as_it_was(repr(state)) != drawn({**state, key: value})


@pytest.mark.parametrize(("state", "key", "value"), UNHEEDED)
def test_a_picture_does_not_heed_what_the_page_does_not(state, key, value) -> None:
    assert as_it_was(repr(state)) == drawn({**state, key: value})


class TestMeasures:
    def test_the_numbers_are_those_of_the_page(self) -> None:
        inputs = both()
        payload, blobs = explorer_payload(inputs)
        column = next(
            each for each in payload["inputs"][0]["parts"][0]["measures"] if each["name"] == "entropy"
        )
        values = decode(column["values"], blobs.texts)
        found = Selection(inputs[0], {"measure": "entropy"}).figures()
        assert found is not None
        for layer in range(2):
            for head in range(4):
                assert found.values[layer, head] == values[layer, head]
        texts = said({**HEAT, "measure": "entropy"}, inputs)
        assert all(f"{value:.2f}".removeprefix("0") in texts for value in values.ravel())

    def test_sorted_most_first(self) -> None:
        inputs = both()
        found = Selection(inputs[0], {"measure": "first"}).figures()
        assert found is not None
        expected = sorted(found.values, key=lambda each: -found.values[each])
        texts = said({**GRID, "measure": "first", "sort": True}, inputs)
        names = [text for text in texts if re.fullmatch(r"L\dH\d", text)]
        assert names == [f"L{layer}H{head}" for layer, head in expected]
        assert "heads sorted by it" in " ".join(texts)

    def test_heads_below_the_least_are_faint(self) -> None:
        inputs = both()
        values = Selection(inputs[0], {"measure": "first"}).figures()
        assert values is not None
        least = float(np.median(list(values.values.values())))
        svg = drawn({**HEAT, "measure": "first", "least": least}, inputs)
        assert svg.count("opacity: 0.86") == sum(value < least for value in values.values.values()) == 4

    def test_of_a_corpus(self) -> None:
        import xarray as xr

        table = xr.Dataset({"sep": (("layer", "head"), np.arange(8.0).reshape(2, 4) / 10)})
        table = table.assign_coords(layer=[0, 1], head=range(4))
        texts = said({**HEAT, "measure": "corpus:sep"}, measures=table)
        assert {".00", ".30", ".70"} <= set(texts)
        shown = View(both()[:1], {**HEAT, "measure": "corpus:sep"}, measures=table).picture("svg").decode()
        assert ">.70</text>" in shown
        assert "sep over the corpus" in shown

    def test_true_indices_of_what_is_included(self) -> None:
        state = {**GRID, "measure": "first", "sort": True}
        names = [t for t in said(state, include_layers=[1], include_heads=[2, 3]) if t.startswith("L1")]
        assert sorted(names) == ["L1H2", "L1H3"]


class TestDifference:
    def test_it_is_the_first_minus_the_second(self) -> None:
        one, two = both()
        found = Selection(one, DIFFERENCE, against=Selection(two, DIFFERENCE))
        expected = one.parts["self"].layers[1][1] - two.parts["self"].layers[1][1]
        np.testing.assert_allclose(found.drawn_heads()[0].matrix, expected)
        np.testing.assert_allclose(found.matrix(1, 1), expected)
        assert found.signed
        texts = said({**DIFFERENCE, "pin": ("from", 2)})
        assert "DIFFERENCE" in texts
        assert texts.count("FROM") == 1
        assert "input 0 − input 3" in texts

    def test_of_an_input_with_itself_nothing_is_left(self) -> None:
        one = both()[0]
        canvas = figures.figure([one, one], {**GRID, "side": "difference"})
        images = [np.asarray(image.get_array()) for image in canvas.figure.axes[0].images][
            :-1
        ]  # then the legend
        neutral = diverging(0.0, LIGHT)
        assert len(images) == 8
        assert all((image == neutral).all() for image in images)
        assert np.ptp(neutral.astype(int)) <= 3

    def test_signs_have_their_colours(self) -> None:
        one, two = both()
        found = Selection(one, DIFFERENCE, against=Selection(two, DIFFERENCE))
        pixels = tint(found.matrix(1, 1), found, LIGHT).astype(int)
        minus, plus = found.matrix(1, 1) < -0.01, found.matrix(1, 1) > 0.01
        assert minus.any()
        assert plus.any()
        assert (pixels[minus][:, 0] > pixels[minus][:, 2]).all()  # orange
        assert (pixels[plus][:, 2] > pixels[plus][:, 0]).all()  # blue

    def test_of_aggregates(self) -> None:
        one, two = both()
        state = {**MANY, "aggregate": "mean"}
        found = Selection(one, state, against=Selection(two, state)).drawn_heads()[0].matrix
        a, b = (each.parts["self"].layers[1][:2].mean(0) for each in (one, two))
        np.testing.assert_allclose(found, a - b)

    @pytest.mark.parametrize("suffix", ["html", "svg", "pdf", "png"])
    def test_inputs_of_other_lengths_are_refused(self, tmp_path, suffix) -> None:
        short, long = (
            Input({"self": wrap(np.full((1, 1, n, n), 1 / n), list("abcdefg"[:n]))}) for n in (3, 5)
        )
        with pytest.raises(InputError, match=r"as many tokens; found 3 × 3 and 5 × 5 \(side='both'"):
            View([short, long], {"side": "difference"}).save(tmp_path / f"x.{suffix}")
        with pytest.raises(InputError, match=r"as many tokens; these show 3 × 3 and 5 × 5"):
            figures.figure([short, long], {"side": "difference"})
        assert figures.figure([short, long], {"side": "both"})


class TestAsThePage:
    def test_a_pin_names_a_piece_and_marks_its_word(self) -> None:
        state = {**HEAD, "unit": "words", "pin": ("from", 2)}
        assert PIECES[2] == "##s"
        assert Selection(both()[0], state).pinned() == (1, None)  # [CLS] its cat …

    def test_the_largest_is_by_magnitude(self) -> None:
        one = both()[0]
        slopes = one.matrices["gradient"]["self"][1][:2]
        state = {**MANY, "aggregate": "max", "quantity": "gradient"}
        found = Selection(one, state).drawn_heads()[0].matrix
        expected = np.where(np.abs(slopes[0]) >= np.abs(slopes[1]), slopes[0], slopes[1])
        np.testing.assert_array_equal(found, expected)
        assert (found < 0).any()

    def test_a_pinned_token_shows_lines_below_the_threshold(self) -> None:
        plain = {**HEAD, "threshold": 1.0}
        assert drawn(plain).count("C ") < drawn({**plain, "pin": ("from", 2)}).count("C ")

    def test_small_numbers_are_printed(self) -> None:
        maps = some()
        tiny = Input({"self": maps}, matrices={"gradient": {"self": [layer * 1e-3 for layer in maps.layers]}})
        texts = said({**HEAD, "quantity": "gradient", "pin": ("from", 2)}, [tiny])
        largest = float(maps.layers[1][1][2].max()) * 1e-3
        assert any(re.fullmatch(r"0\.000\d+", text) for text in texts)
        assert any(abs(float(text) / largest - 1) < 0.1 for text in texts if re.fullmatch(r"0\.0\d+", text))

    def test_causal_neurons_follow_the_last_query(self) -> None:
        one = Input({"self": some(heads=4, causal=True)}, neurons={"self": neurons()})
        assert any("All neurons of [SEP] (q)" in text for text in said(NEURON, [one]))
        first = said({**NEURON, "pin": ("from", 0)}, [one])
        assert first.count("not seen") == 7

    def test_one_bias_for_all_heads(self) -> None:
        bias = np.zeros((1, 8, 8))
        bias[..., 3] = 7.0
        one = Input({"self": some(heads=4)}, neurons={"self": neurons(bias=[bias] * 2)})
        plain = Input({"self": some(heads=4)}, neurons={"self": neurons()})
        state = {**NEURON, "pin": ("from", 1)}
        assert drawn(state, [one]) != drawn(state, [plain])
        assert "a position bias is added to the scores" in " ".join(said(state, [one]))

    def test_captions_say_what_was_done(self) -> None:
        texts = " ".join(said({**MANY, "aggregate": "max", "filter": "ab", "special": False, "top_k": 2}))
        for part in (
            "small-model",
            "maximum of 2 heads (heads 0, 1)",
            "A→B",
            "special tokens hidden",
            "2 strongest",
        ):
            assert part in texts
        assert "gradient of the loss in place of the weights" in " ".join(
            said({**HEAD, "quantity": "gradient"})
        )
        assert "rows 2–4 of 8, columns 3–6 of 8" in " ".join(said({**MATRIX, "zoom": (1, 3, 2, 4)}))
        assert "special" not in " ".join(said(HEAD))

    def test_captions_name_every_head(self) -> None:
        assert "layer 1, heads 0 to 3" in " ".join(said({**HEAD, "heads": [2, 0, 1, 3]}))
        assert "L1H0, L1H2" in " ".join(said({**HEAD, "heads": [0, 2]}))

    def test_a_cap_is_said_on_one_line(self) -> None:
        one = Input({"self": some(heads=4)}, neurons={"self": neurons(softcap=[50.0] * 2)})
        assert any("scores are capped softly: 50 × tanh(score / 50)" in text for text in said(NEURON, [one]))

    def test_long_inputs_fit_a_page(self) -> None:
        count = 400
        weights = np.full((1, 1, count, count), 1e-4) + np.eye(count) * (1 - count * 1e-4)
        long = Input({"self": wrap(weights, [f"t{place}" for place in range(count)])})
        canvas = figures.figure([long], {"scale": "head"})
        assert canvas.height < 1100
        texts = said({"scale": "head", "pin": ("from", 100)}, [long])
        assert "one of 3 tokens is named" in " ".join(texts)
        assert "t100" in texts  # the pinned one always, which stands between two that are named
        assert texts.count("t99") == 1  # on the other side only
        assert texts.count("t3") == 2
