from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope.analyses.compare.training.run import figure
from headscope.errors import InputError

NAMES = ["step-0", "step-500", "step-1000"]


@pytest.fixture
def run() -> xr.Dataset:
    """Two measures of two layers of two heads at three checkpoints: entropy moves, L1H1 to the top."""
    value = np.full((2, 3, 2, 2), 0.2) + np.arange(4).reshape(2, 2) / 100
    value[1, :, 1, 1] = [0.2, 0.5, 0.9]
    value[0, :, 0, 1] = np.nan
    return xr.Dataset(
        {"value": (("measure", "checkpoint", "layer", "head"), value)},
        {
            "measure": ["previous", "entropy"],
            "checkpoint": NAMES,
            "layer": [0, 1],
            "head": [0, 1],
            "title": ("measure", ["previous token", "entropy of a row"]),
            "units": ("measure", ["share", "nats"]),
        },
        {"meta": json.dumps({"corpus": {"examples": 1234}})},
    )


def test_a_line_a_head_those_that_moved_most_first(run: xr.Dataset) -> None:
    first, second = hs.figure(run).charts
    assert (first["title"], first["y"]["title"]) == ("entropy of a row", "nats")
    assert (second["y"]["title"], second["x"]["title"]) == ("share", "checkpoint")
    values = run["value"].sel(measure="entropy").values.reshape(3, 4).T
    assert [line["y"] for line in first["lines"]] == values.tolist()
    assert [line["colour"] for line in first["lines"]] == [0, 0, 1, 1]  # a colour a layer
    assert len(second["lines"]) == 3  # a head without figures has no line


def test_a_measure_without_any_figure_is_an_empty_panel(run: xr.Dataset) -> None:
    run["value"][0] = np.nan
    with np.errstate(all="ignore"):
        drawn = figure(run, ["previous", "entropy"])
    assert [len(chart["lines"]) for chart in drawn.charts] == [0, 4]
    assert b"previous token" in drawn.picture("svg")


def test_the_top_head_of_the_last_checkpoint_is_named(run: xr.Dataset) -> None:
    first = figure(run).charts[0]
    assert [line["name"] for line in first["lines"]] == ["", "", "", "L1H1"]
    assert first["y"]["low"] < 0.2 < 0.9 < first["y"]["high"]


def test_checkpoints_are_told_apart_below_and_named_in_the_caption(run: xr.Dataset) -> None:
    drawn = figure(run)
    assert drawn.charts[0]["x"]["names"] == ["0", "500", "1000"]
    assert "checkpoints: step-0, step-500, step-1000" in drawn.caption
    assert "1,234 inputs" in drawn.caption
    assert drawn.about == "Over training"
    plain = run.assign_coords(checkpoint=["demo", "demo, untrained", "a name of more than twenty letters"])
    assert figure(plain).charts[0]["x"]["names"] == ["demo", "demo, untrained", "…than twenty letters"]


def test_measures_by_name(run: xr.Dataset) -> None:
    assert [one["title"] for one in figure(run, ["previous"]).charts] == ["previous token"]
    with pytest.raises(InputError, match="measures: expected some of previous, entropy, found 'sep'"):
        figure(run, ["sep"])
