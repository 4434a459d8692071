from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from matplotlib import figure as pictures

import headscope as hs
from headscope.analyses.compare.groups.figure import figure
from headscope.errors import InputError

MEASURES = ("previous", "entropy", "a_to_b")


@pytest.fixture
def effects() -> xr.Dataset:
    """Three measures of two layers of three heads: L1H2 differs in one of them, and one head has no effect."""
    effect = np.random.default_rng(0).normal(scale=0.3, size=(3, 2, 3))
    effect[1, 1, 2], effect[0, 0, 0] = -3.5, np.nan
    q = np.full_like(effect, 0.9)
    q[1, 1, 2] = 0.001
    meta = {
        "groups": [{"label": "same", "inputs": 1200}, {"label": "other", "inputs": 34}],
        "permutations": 20_000,
        "permuted": "labels",
        "model": {"name": "org/small"},
    }
    axes = ("measure", "layer", "head")
    titles = [f"title of {name}" for name in MEASURES]
    return xr.Dataset(
        {"effect": (axes, effect), "q": (axes, q)},
        {
            "measure": list(MEASURES),
            "layer": [0, 1],
            "head": [0, 1, 2],
            "title": ("measure", titles),
            "units": ("measure", ["share", "nats", "share"]),
        },
        {"meta": json.dumps(meta)},
    )


def test_a_panel_a_measure_with_the_smallest_q_first(effects: xr.Dataset) -> None:
    chart = figure(effects)
    assert chart.axes[0].get_title(loc="left") == "title of entropy"
    assert len(chart.axes) == 3
    values = chart.axes[0].collections[0].get_array()
    np.testing.assert_array_equal(values, effects["effect"].sel(measure="entropy"))
    assert {(axes.get_xlabel(), axes.get_ylabel()) for axes in chart.axes} == {("head", "layer")}


def test_heads_that_differ_have_an_edge(effects: xr.Dataset) -> None:
    first, *rest = figure(effects).axes
    (edge,) = first.patches
    assert (edge.get_x(), edge.get_y()) == (1.5, 0.5)  # around L1H2
    assert not any(axes.patches for axes in rest)
    assert not figure(effects, level=0.0001).axes[0].patches


def test_one_scale_about_zero_for_all(effects: xr.Dataset) -> None:
    chart = figure(effects)
    limits = {axes.collections[0].get_clim() for axes in chart.axes}
    assert limits == {(-5.0, 5.0)}
    (bar,) = chart.axes[-1].child_axes
    assert bar.get_ylabel() == "effect, Hedges' g"


def test_the_caption(effects: xr.Dataset) -> None:
    caption = figure(effects).caption
    assert "A is same (n = 1,200), B is other (n = 34)" in caption
    assert "edge: q ≤ 0.05, 1 head" in caption
    assert "20,000 permutations of labels" in caption
    assert caption.endswith("small")
    assert "no head has a q ≤ 0.0001" in figure(effects, level=0.0001).caption


def test_measures_by_name_and_the_axes_of_the_caller(effects: xr.Dataset) -> None:
    axes = pictures.Figure().subplots(1, 2)
    chart = hs.figure(effects, ["a_to_b", "previous"], ax=axes)
    assert [each.get_title(loc="left") for each in axes] == ["title of a_to_b", "title of previous"]
    assert chart.about["title"] == "Two groups"
    with pytest.raises(InputError, match="measures: expected some of previous, entropy, a_to_b, found 'sep'"):
        figure(effects, ["sep"])
    with pytest.raises(InputError, match="ax: expected 3 matplotlib Axes for this chart, found 2"):
        figure(effects, ax=axes)
    with pytest.raises(InputError, match="width: expected 'column'"):
        figure(effects, width=0.1)
