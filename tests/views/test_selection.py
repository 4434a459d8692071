from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.errors import InputError
from headscope.maps import AttentionMaps, wrap
from headscope.views.explorer import Input
from headscope.views.selection import Selection, within
from tests.helpers.view_sample import some

CASES = json.loads((Path(__file__).parents[1] / "golden" / "zoom.json").read_text())


@pytest.mark.parametrize("case", CASES)
def test_a_window_is_that_of_the_page(case) -> None:
    """frontend/test/zoom.test.ts reads the same file."""
    rows, columns = within(case["zoom"], case["rows"], case["columns"])
    found = [rows.start, rows.stop - rows.start, columns.start, columns.stop - columns.start]
    assert found == case["window"]


@given(st.tuples(*[st.integers(0, 99)] * 4), st.integers(1, 60), st.integers(1, 60))
def test_a_window_lies_in_the_matrix(zoom, rows, columns) -> None:
    for window, size in zip(within(zoom, rows, columns), (rows, columns), strict=True):
        assert 0 <= window.start < window.stop <= size


def test_only_weights_are_renormalised() -> None:
    maps = some()
    one = Input({"self": maps}, matrices={"gradient": {"self": [layer - 0.2 for layer in maps.layers]}})
    state = {"special": False, "renormalise": True}
    np.testing.assert_allclose(Selection(one, state).matrix(0, 1).sum(-1), 1.0)
    slopes = Selection(one, {**state, "quantity": "gradient"}).matrix(0, 1)
    kept = [1, 2, 3, 5, 6]
    np.testing.assert_allclose(slopes, maps.layers[0][1][np.ix_(kept, kept)] - 0.2)


def test_a_part_that_is_not_there_gives_way_to_the_first() -> None:
    assert Selection(Input({"encoder": some()}), {"part": "self"}).part == "encoder"


def test_a_layer_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"layer takes one of \[0, 1\] of this input; found 7"):
        Selection(Input({"self": some()}), {"layer": 7})


def test_heads_that_a_layer_lacks_are_left_out() -> None:
    ragged = AttentionMaps([some(1, 3).layers[0], some(1, 2).layers[0]], some().query, some().key)
    one = Input({"self": ragged})
    assert Selection(one, {"layer": 1, "heads": [2, 1]}).state["heads"] == [1]
    assert Selection(one, {"layer": 1, "heads": [2]}).state["heads"] == [0]
    mean = Selection(one, {"heads": [2], "aggregate": "layers"}).drawn_heads()[0].matrix
    np.testing.assert_allclose(mean, ragged.layers[0][2])


def test_the_scale_is_of_what_is_shown() -> None:
    maps = some()
    values = [layer.copy() for layer in maps.layers]
    values[0][2, 0, 0] = -9.0
    one = Input({"self": maps}, matrices={"mine": {"self": values}})
    assert Selection(one, {"quantity": "mine"}).scale == 9.0
    assert Selection(one, {"quantity": "mine"}, include_layers=[1]).scale <= 1.0
    assert Selection(one, {"quantity": "mine"}, include_heads=[0, 1]).scale <= 1.0


def test_differences_of_words_need_as_many() -> None:
    one, two = some(), wrap(np.full((2, 3, 8, 8), 1 / 8), list("abcdefgh"))
    with pytest.raises(InputError, match="show 5 × 5 and 8 × 8"):
        Selection(
            Input({"self": one}),
            {"special": False},
            against=Selection(Input({"self": two}), {"special": False}),
        )
