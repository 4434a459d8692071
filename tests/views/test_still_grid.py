"""Stills of the grid of all heads: figures, their order, and cells."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from headscope.core.maps import wrap
from headscope.views import explorer
from headscope.views.blobs import decode
from headscope.views.explorer import Input
from tests.helpers import heard_sample, seen_sample
from tests.helpers.stills import Stills
from tests.helpers.view_sample import pair, some

GRID = {"scale": "model"}
HEAT = {**GRID, "draw": "heat"}
DIFFERENCE = {**GRID, "side": "difference"}
MEASURED = {**HEAT, "measure": "previous"}


@pytest.fixture(scope="module")
def two() -> Stills:
    return Stills(pair())


def values(stills: Stills, name: str) -> np.ndarray[Any, Any]:
    """A measure of the first input's heads, [layer head]."""
    columns = stills.payload["inputs"][0]["parts"][0]["measures"]
    return decode(next(each for each in columns if each["name"] == name)["values"], stills.blobs.texts)


def names(texts: list[str]) -> list[str]:
    return [text for text in texts if re.fullmatch(r"L\d+H\d+", text)]


def test_layers_and_heads_have_the_models_own_numbers() -> None:
    stills = Stills([Input({"self": some(4, 6)})], include_layers=[3], include_heads=[4, 5])
    assert [text for text in stills(GRID).texts if text.isdigit()] == ["4", "5", "3"]
    assert sorted(names(stills({**MEASURED, "sort": True}).texts)) == ["L3H4", "L3H5"]


def test_figures_are_those_of_the_page(two) -> None:
    state = {**HEAT, "measure": "entropy"}
    assert {f"{value:.2f}".removeprefix("0") for value in values(two, "entropy").ravel()} <= set(
        two(state).texts
    )
    assert "Below each head: entropy (nats)." in two(state).said
    assert "Below each head, in “input 0”: entropy (nats)." in two({**state, "side": "difference"}).said


@pytest.mark.parametrize("ascending", [False, True])
def test_heads_are_sorted_by_their_figures(two, ascending) -> None:
    state = {**MEASURED, "sort": True, "ascending": ascending}
    found = values(two, "previous")
    order = np.argsort(found if ascending else -found, axis=None, kind="stable")
    assert names(two(state).texts) == [f"L{place // 4}H{place % 4}" for place in order]
    assert f"the {'smallest' if ascending else 'largest'} first, row by row" in two(state).said


def test_a_sorted_grid_without_room_for_names_begins_with_them_in_words() -> None:
    stills = Stills([Input({"self": some(2, 16)})])
    state = {**MEASURED, "sort": True}
    found = values(stills, "previous")
    first = np.argsort(-found, axis=None, kind="stable")[:5]
    named = [f"L{place // 16}H{place % 16}" for place in first]
    assert re.findall(r"L\d+H\d+ \(", stills(state, width="column").said) == [f"{name} (" for name in named]


def test_heads_below_the_least_are_faint(two) -> None:
    found = values(two, "previous")
    least = round(float(np.median(found)), 3)
    state = {**MEASURED, "least": least}
    assert len(re.findall(r'opacity="0.86"', two(state).svg)) == (found < least).sum() == 4
    assert "are faint" in two(state).said
    assert "are faint" not in two(MEASURED).said


def test_figures_over_a_corpus() -> None:
    import xarray as xr

    table = xr.Dataset({"sep": (("layer", "head"), np.arange(8.0).reshape(2, 4) / 10)})
    stills = Stills(pair()[:1], measures=table.assign_coords(layer=[0, 1], head=range(4)))
    state = {**HEAT, "measure": "corpus:sep"}
    assert {".00", ".30", ".70"} <= set(stills(state).texts)
    assert "sep over the corpus" in stills(state).said


def test_nothing_is_left_of_an_input_minus_itself() -> None:
    one = pair()[0]
    stills = Stills([one, one])
    *cells, legend = stills(DIFFERENCE).pixels
    assert len(cells) == 8
    assert all((cell == legend[0, 128]).all() for cell in cells)
    signs = Stills(pair())(DIFFERENCE).pixels[0].astype(int)
    assert (signs[..., 0] > signs[..., 2] + 20).any()  # orange
    assert (signs[..., 2] > signs[..., 0] + 20).any()  # blue


def test_a_cell_has_the_colours_of_its_weights(two) -> None:
    weights = some(heads=4).layers[1][2]
    *cells, legend = two(HEAT).pixels
    cell = cells[6]
    times = len(cell) // 8
    codes = np.rint(255 * np.sqrt(weights)).astype(int)
    assert np.abs(cell[::times, ::times].astype(int) - legend[0][codes]).max() <= 4  # a code more or less


@pytest.mark.parametrize(("heads", "lettered"), [(2, True), (60, False)])
def test_what_a_head_does_is_lettered_where_there_is_room(heads: int, lettered: bool) -> None:
    previous = np.eye(6)[np.maximum(np.arange(6) - 1, 0)]
    maps = wrap(np.tile(previous, (1, heads, 1, 1)), [f"t{place}" for place in range(6)])
    found = Stills([Input({"self": maps})])(HEAT)
    assert found.texts.count("P") == (heads if lettered else 0) + 1


def test_gold_links_are_judged_in_every_cell(monkeypatch) -> None:
    """Also where thumbnails came with the payload, so that nothing else needs the layers."""
    monkeypatch.setattr(explorer, "_SMALL", 0)
    two = Stills(pair())
    assert two.payload["inputs"][0]["parts"][0]["thumbs"]
    right = sum(
        int(np.delete(weights[source], source).argmax()) == target - (target > source)
        for layer in some(heads=4).layers
        for weights in layer
        for source, target in ((1, 3), (3, 0))
    )
    solid, dashed = (two(HEAT).svg.count(f'stroke="{color}"') for color in ("#6a3fc4", "#c2500a"))
    assert "Gold links are solid or filled where the head is right." in two(HEAT).texts
    assert (solid > 0) == (right > 0)
    # Right: a frame, and a tick where there is room. Wrong: a frame, and a cross of two bars.
    assert (solid / 2, dashed / 3) == (right, 16 - right)


def test_cells_are_the_picture_that_is_looked_at() -> None:
    stills = Stills([Input({"self": seen_sample.random_maps()})])
    veils = stills(GRID).pixels
    assert len(veils) == 6
    weights = seen_sample.random_maps().layers[0][0].mean(0)[2:].reshape(4, 6)
    times = len(veils[0]) // 4
    dark = veils[0][::times, ::times, 3]
    expected = np.rint(0.85 * (255 - np.rint(255 * np.sqrt(weights / weights.max()))))
    assert np.abs(dark.astype(int) - expected).max() <= 1
    assert "Each head on the picture" in stills(GRID).said
    assert "weight" not in stills(GRID).texts  # no scale of colours
    assert stills(GRID).svg.count(stills.payload["inputs"][0]["picture"]["src"]) == 1
    assert len(stills(HEAT).pixels) == 7


def test_cells_are_the_sound_that_is_listened_to() -> None:
    stills = Stills([Input({"self": heard_sample.alike()})])
    assert "Each head on the sound" in stills(GRID).said
    assert stills(GRID).svg.count("<feColorMatrix") == 1
    assert stills(GRID).picture != stills({**GRID, "span": (0.0, 1.0)}).picture


def test_thumbnails_alone_are_a_grid() -> None:
    stills = Stills(pair()[:1], thumbnails=True)
    assert len(stills(HEAT).pixels) == 9
    assert stills(HEAT).pixels[0].shape == Stills(pair()[:1])(HEAT).pixels[0].shape
