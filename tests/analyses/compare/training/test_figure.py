from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from matplotlib import figure as pictures
from matplotlib.collections import LineCollection

import headscope as hs
from headscope.analyses.compare.training.figure import figure
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
    first, second = hs.figure(run).axes
    assert (first.get_title(loc="left"), first.get_ylabel()) == ("entropy of a row", "nats")
    assert (second.get_ylabel(), second.get_xlabel()) == ("share", "checkpoint")
    (lines,) = (one for one in first.collections if isinstance(one, LineCollection))
    ends = np.array(lines.get_segments())  # [head checkpoint 2]
    np.testing.assert_array_equal(ends[:, :, 1].T.reshape(3, 2, 2), run["value"].sel(measure="entropy"))
    assert ends[0, :, 0].tolist() == [0, 1, 2]
    assert len(set(map(tuple, lines.get_colors()))) == 2  # a colour a layer
    (other,) = (one for one in second.collections if isinstance(one, LineCollection))
    assert len(other.get_segments()) == 3  # a head without figures has no line


def test_the_top_head_of_the_last_checkpoint_is_named(run: xr.Dataset) -> None:
    first = figure(run).axes[0]
    assert [text.get_text() for text in first.texts] == ["L1H1"]
    assert first.texts[0].xy == (2, 0.9)
    low, high = first.get_ylim()
    assert low < 0.2 < 0.9 < high


def test_checkpoints_are_told_apart_below_and_named_in_the_caption(run: xr.Dataset) -> None:
    chart = figure(run)
    assert [text.get_text() for text in chart.axes[0].get_xticklabels()] == ["0", "500", "1000"]
    assert "checkpoints: step-0, step-500, step-1000" in chart.caption
    assert "1,234 inputs" in chart.caption
    assert chart.about["title"] == "Over training"
    plain = run.assign_coords(checkpoint=["demo", "demo, untrained", "a name of more than fourteen"])
    labels = [text.get_text() for text in figure(plain).axes[0].get_xticklabels()]
    assert (labels[0], labels[-1]) == ("demo", "…than fourteen")


def test_measures_by_name_and_the_axes_of_the_caller(run: xr.Dataset) -> None:
    axes = pictures.Figure().subplots()
    assert figure(run, ["previous"], ax=axes).axes == [axes]
    assert axes.get_title(loc="left") == "previous token"
    with pytest.raises(InputError, match="measures: expected some of previous, entropy, found 'sep'"):
        figure(run, ["sep"])
