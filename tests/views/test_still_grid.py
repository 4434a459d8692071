"""Stills of the grid of all heads: every key of the state, figures and their order, and how it fits on paper."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps, wrap
from headscope.views import explorer
from headscope.views.blobs import decode
from headscope.views.explorer import Input
from headscope.views.gold import of_parts
from tests.helpers import heard_sample, seen_sample
from tests.helpers.stills import SMALLEST, Stills
from tests.helpers.view_sample import some, tokens

GRID = {"scale": "model"}
HEAT = {**GRID, "draw": "heat"}
DIFFERENCE = {**GRID, "side": "difference"}
BOTH = (GRID, HEAT)
MEASURED = {**HEAT, "measure": "previous"}

HEEDED: tuple[tuple[dict[str, Any], str, Any], ...] = (
    (GRID, "draw", "heat"),
    (GRID, "part", "cross"),
    (HEAT, "input", 1),
    *((state, "filter", "ab") for state in (*BOTH, DIFFERENCE)),
    *((state, "special", False) for state in (*BOTH, DIFFERENCE)),
    *((state, "sinks", False) for state in (*BOTH, DIFFERENCE)),
    *(({**state, "special": False}, "renormalise", True) for state in (*BOTH, DIFFERENCE)),
    *((state, "unit", "words") for state in (*BOTH, DIFFERENCE)),
    *((state, "quantity", "gradient") for state in (*BOTH, DIFFERENCE)),
    *((state, "measure", "entropy") for state in (*BOTH, DIFFERENCE)),
    (MEASURED, "sort", True),
    ({**MEASURED, "sort": True}, "ascending", True),
    (MEASURED, "least", 0.15),
    *((HEAT, "side", side) for side in ("both", "difference")),
    *((state, "gold", False) for state in BOTH),
    (GRID, "theme", "dark"),
)
"""A state, a key and a value that changes the picture."""

UNHEEDED: tuple[tuple[dict[str, Any], str, Any], ...] = (
    (DIFFERENCE, "draw", "lines"),
    (GRID, "picture", "matrix"),
    (GRID, "sort", True),
    ({**GRID, "measure": "first"}, "ascending", True),
    (GRID, "least", 0.5),
    (GRID, "threshold", 0.3),
    (GRID, "pin", ("from", 2)),
    (GRID, "between", (2, 5)),
    (GRID, "heads", [2]),
    (GRID, "layer", 0),
)
"""A state, a key and a value that the page does not show either, or that only a ring would show."""


def inputs() -> list[Input]:
    found: list[Input] = []
    for seed in (0, 3):
        maps = some(heads=4, seed=seed)
        cross = AttentionMaps(some(heads=4, seed=seed + 1).layers, tokens(), tokens(), kind="cross")
        found.append(
            Input(
                {"self": maps, "cross": cross},
                label=f"input {seed}",
                matrices={"gradient": {"self": [layer - 0.2 for layer in maps.layers]}},
                links=of_parts([(1, 3)], {"self": maps}),
            )
        )
    return found


@pytest.fixture(scope="module")
def two() -> Stills:
    return Stills(inputs())


def values(stills: Stills, name: str) -> np.ndarray[Any, Any]:
    """A measure of the first input's heads, [layer head]."""
    columns = stills.payload["inputs"][0]["parts"][0]["measures"]
    return decode(next(each for each in columns if each["name"] == name)["values"], stills.blobs.texts)


def names(texts: list[str]) -> list[str]:
    return [text for text in texts if re.fullmatch(r"L\d+H\d+", text)]


@pytest.mark.parametrize(("state", "key", "value"), HEEDED)
def test_a_grid_heeds(two, state, key, value) -> None:
    assert two.picture(state) != two.picture({**state, key: value})


@pytest.mark.parametrize(("state", "key", "value"), UNHEEDED)
def test_a_grid_does_not_heed_what_the_page_does_not(two, state, key, value) -> None:
    assert two.picture(state) == two.picture({**state, key: value})


def test_layers_and_heads_have_the_models_own_numbers() -> None:
    stills = Stills([Input({"self": some(4, 6)})], include_layers=[3], include_heads=[4, 5])
    assert [text for text in stills.texts(GRID) if text.isdigit()] == ["4", "5", "3"]
    assert sorted(names(stills.texts({**MEASURED, "sort": True}))) == ["L3H4", "L3H5"]


def test_figures_are_those_of_the_page(two) -> None:
    state = {**HEAT, "measure": "entropy"}
    assert {f"{value:.2f}".removeprefix("0") for value in values(two, "entropy").ravel()} <= set(
        two.texts(state)
    )
    assert "Below each head: entropy (nats)." in two.said(state)
    assert "Below each head, in input 1: entropy (nats)." in two.said({**state, "side": "difference"})


@pytest.mark.parametrize("ascending", [False, True])
def test_heads_are_sorted_by_their_figures(two, ascending) -> None:
    state = {**MEASURED, "sort": True, "ascending": ascending}
    found = values(two, "previous")
    order = np.argsort(found if ascending else -found, axis=None, kind="stable")
    assert names(two.texts(state)) == [f"L{place // 4}H{place % 4}" for place in order]
    assert f"the {'smallest' if ascending else 'largest'} first, row by row" in two.said(state)


def test_a_sorted_grid_without_room_for_names_begins_with_them_in_words() -> None:
    stills = Stills([Input({"self": some(2, 16)})])
    state = {**MEASURED, "sort": True}
    found = values(stills, "previous")
    first = np.argsort(-found, axis=None, kind="stable")[:5]
    named = [f"L{place // 16}H{place % 16}" for place in first]
    assert re.findall(r"L\d+H\d+", stills.said(state, width="column")) == named


def test_heads_below_the_least_are_faint(two) -> None:
    found = values(two, "previous")
    least = round(float(np.median(found)), 3)
    state = {**MEASURED, "least": least}
    assert len(re.findall(r'opacity="0.86"', two.svg(state))) == (found < least).sum() == 4
    assert "are faint" in two.said(state)
    assert "are faint" not in two.said(MEASURED)


def test_figures_over_a_corpus() -> None:
    import xarray as xr

    table = xr.Dataset({"sep": (("layer", "head"), np.arange(8.0).reshape(2, 4) / 10)})
    stills = Stills(inputs()[:1], measures=table.assign_coords(layer=[0, 1], head=range(4)))
    state = {**HEAT, "measure": "corpus:sep"}
    assert {".00", ".30", ".70"} <= set(stills.texts(state))
    assert "sep over the corpus" in stills.said(state)


def test_nothing_is_left_of_an_input_minus_itself() -> None:
    one = inputs()[0]
    stills = Stills([one, one])
    *cells, legend = stills.images(DIFFERENCE)
    assert len(cells) == 8
    assert all((cell == legend[0, 128]).all() for cell in cells)
    signs = Stills(inputs()).images(DIFFERENCE)[0].astype(int)
    assert (signs[..., 0] > signs[..., 2] + 20).any()  # orange
    assert (signs[..., 2] > signs[..., 0] + 20).any()  # blue


def test_a_cell_has_the_colours_of_its_weights(two) -> None:
    weights = some(heads=4).layers[1][2]
    *cells, legend = two.images(HEAT)
    cell = cells[6]
    times = len(cell) // 8
    codes = np.rint(255 * np.sqrt(weights)).astype(int)
    assert np.abs(cell[::times, ::times].astype(int) - legend[0][codes]).max() <= 4  # a code more or less


def test_gold_links_are_judged_in_every_cell(monkeypatch) -> None:
    """Also where thumbnails came with the payload, so that nothing else needs the layers."""
    monkeypatch.setattr(explorer, "_SMALL", 0)
    two = Stills(inputs())
    assert two.payload["inputs"][0]["parts"][0]["thumbs"]
    maps = some(heads=4)
    right = sum(
        int(weights[1, [0, 2, 3, 4, 5, 6, 7]].argmax() == 2) for layer in maps.layers for weights in layer
    )
    solid, dashed = (two.svg(HEAT).count(f'stroke="{color}"') for color in ("#6a3fc4", "#c2500a"))
    assert "Gold links are solid or filled where the head is right." in two.texts(HEAT)
    assert (solid > 0) == (right > 0)
    # Right: a frame, and a tick where there is room. Wrong: a frame, and a cross of two bars.
    assert (solid / 2, dashed / 3) == (right, 8 - right)


def test_inputs_of_other_lengths_have_no_difference() -> None:
    short, long = (Input({"self": wrap(np.full((1, 1, n, n), 1 / n), list("abcdefg"[:n]))}) for n in (3, 5))
    stills = Stills([short, long])
    assert "these show 3 tokens and 5 tokens" in stills.said(DIFFERENCE).replace("pieces", "tokens")
    assert stills.svg({**GRID, "side": "both"})


@pytest.mark.parametrize("place", [0, 1])
def test_an_input_that_lacks_the_matrix_says_so_in_its_panel(place) -> None:
    maps = some()
    given = Input({"self": maps}, label="given", matrices={"gradient": {"self": maps.layers}})
    stills = Stills([given, Input({"self": maps}, label="maps")][:: 1 if place else -1])
    state = {**HEAT, "side": "both", "quantity": "gradient", "input": 1 - place}
    assert f"Input {place + 1} has no gradient: it came as maps" in stills.said(state)
    assert len(stills.images(state)) == 7  # the other's six heads and their legend


def test_two_inputs_stand_beside_each_other_and_are_named(two) -> None:
    texts = two.texts({**GRID, "side": "both"})
    assert {"1 · input 0", "2 · input 3"} <= set(texts)
    assert texts.count("Layers") == 2


@pytest.mark.parametrize("width", ["column", "page"])
def test_letters_are_large_enough(two, width) -> None:
    for state in (GRID, {**MEASURED, "sort": True, "least": 0.1}, {**HEAT, "side": "both"}):
        assert two.letters(state, width=width) >= SMALLEST


def test_cells_are_the_picture_that_is_looked_at() -> None:
    stills = Stills([Input({"self": seen_sample.random_maps()})])
    veils = stills.images(GRID)
    assert len(veils) == 6
    weights = seen_sample.random_maps().layers[0][0].mean(0)[2:].reshape(4, 6)
    times = len(veils[0]) // 4
    dark = veils[0][::times, ::times, 3]
    expected = np.rint(0.85 * (255 - np.rint(255 * np.sqrt(weights / weights.max()))))
    assert np.abs(dark.astype(int) - expected).max() <= 1
    assert "Each head on the picture" in stills.said(GRID)
    assert "weight" not in stills.texts(GRID)  # no scale of colours
    assert stills.svg(GRID).count(stills.payload["inputs"][0]["picture"]["src"]) == 1
    assert len(stills.images(HEAT)) == 7


def test_cells_are_the_sound_that_is_listened_to() -> None:
    stills = Stills([Input({"self": heard_sample.alike()})])
    assert "Each head on the sound" in stills.said(GRID)
    assert stills.svg(GRID).count("<feColorMatrix") == 1
    assert stills.picture(GRID) != stills.picture({**GRID, "span": (0.0, 1.0)})


def test_thumbnails_alone_are_a_grid() -> None:
    stills = Stills(inputs()[:1], thumbnails=True)
    assert len(stills.images(HEAT)) == 9
    assert stills.images(HEAT)[0].shape == Stills(inputs()[:1]).images(HEAT)[0].shape
