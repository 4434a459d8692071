from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope.analyses.compare.groups.statistics import figure
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
    charts = figure(effects).charts
    assert [one["title"] for one in charts] == [
        f"title of {name}" for name in ("entropy", "a_to_b", "previous")
    ]
    assert charts[0]["rows"]["colour"] == effects["effect"].sel(measure="entropy").values.ravel().tolist()
    assert charts[2]["rows"]["colour"][0] is None
    assert {(one["x"]["title"], one["y"]["title"]) for one in charts} == {("head", "layer")}


def test_heads_that_differ_have_an_edge(effects: xr.Dataset) -> None:
    assert [one["rows"]["marked"] for one in figure(effects).charts] == [[5], [], []]  # L1H2
    assert figure(effects, level=0.0001).charts[0]["rows"]["marked"] == []


def test_one_scale_about_zero_for_all(effects: xr.Dataset) -> None:
    colour = {"title": "effect, Hedges' g", "of": "numbers", "low": -5.0, "high": 5.0, "root": False}
    assert [one["colour"] for one in figure(effects).charts] == [colour] * 3
    words = figure(effects).picture("svg").decode()
    assert words.count("effect, Hedges' g<") == 1


def test_the_caption(effects: xr.Dataset) -> None:
    caption = figure(effects).caption
    assert "A is same (n = 1,200), B is other (n = 34)" in caption
    assert "edge: q ≤ 0.05, 1 head" in caption
    assert "20,000 permutations of labels" in caption
    assert caption.endswith("small")
    assert "no head has a q ≤ 0.0001" in figure(effects, level=0.0001).caption


def test_measures_by_name(effects: xr.Dataset) -> None:
    drawn = hs.figure(effects, ["a_to_b", "previous"])
    assert [one["title"] for one in drawn.charts] == ["title of a_to_b", "title of previous"]
    assert drawn.about == "Two groups"
    with pytest.raises(InputError, match="measures: expected some of previous, entropy, a_to_b, found 'sep'"):
        figure(effects, ["sep"])
    with pytest.raises(InputError, match="width: expected 'column'"):
        hs.figure(effects, width=0.1)
