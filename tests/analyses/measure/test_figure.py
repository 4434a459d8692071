from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import xarray as xr
from matplotlib import figure as pictures
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.text import Text

import headscope as hs
from headscope.analyses.measure.figure import figure
from headscope.errors import InputError
from tests.helpers.report_sample import dataset

pytestmark = pytest.mark.slow


def points(axes: Any) -> list[Any]:
    """The positions of the points of each scatter of some Axes, `[point 2]`."""
    scatters = [one for one in axes.collections if isinstance(one, PathCollection)]
    return [np.asarray(one.get_offsets()) for one in scatters]


def texts(drawn: Any) -> list[str]:
    """What is written on a figure, ticks included."""
    return [one.get_text() for one in drawn.figure.findobj(Text) if one.get_visible()]


@pytest.mark.parametrize(
    ("options", "noun"),
    [({"preset": "clark2019"}, "inputs"), ({"by": "document"}, "documents"), ({}, "tokens")],
)
def test_the_noun_of_what_a_figure_is_a_mean_over_comes_with_its_number(
    demo: Any, options: dict[str, Any], noun: str
) -> None:
    found = hs.measure(demo, hs.corpora.builtin(), limit=4, measures=["previous"], **options)
    assert found["previous_n"].attrs["units"] == noun
    assert f"means over up to {int(found['previous_n'].max()):,} {noun} " in figure(found, "previous").caption


def test_a_variability_is_a_mean_over_inputs(demo: Any) -> None:
    found = hs.contribution.variability(demo, hs.corpora.builtin(), limit=4)
    assert "means over up to 4 inputs " in figure(found, "variability").caption


def test_every_head_is_a_point_at_its_value():
    data = dataset()
    chart = figure(data, "previous")
    (places,) = points(chart.axes[0])
    assert len(places) == 12
    np.testing.assert_array_equal(places[:, 1], data["previous"].values.ravel())
    assert chart.axes[0].get_ylim() == (0.0, 1.0)  # larger is higher up
    # Layers from left to right, heads within them.
    assert (np.diff(places[:, 0]) > 0).all()
    np.testing.assert_array_equal(places[:, 0].round(), np.repeat([0, 1, 2], 4))


def test_means_of_layers_and_what_uniform_attention_gives() -> None:
    data = dataset()
    axes = figure(data, "previous").axes[0]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), data["previous"].mean("head"))
    (chance,) = (one for one in axes.collections if isinstance(one, LineCollection))
    ends = np.array(chance.get_segments())
    assert ends[:, :, 1].tolist() == [[0.01, 0.01]] * 3
    assert ends[:, :, 0].tolist() == [[-0.5, 0.5], [0.5, 1.5], [1.5, 2.5]]


def test_the_map_has_the_values_and_a_scale() -> None:
    data = dataset()
    axes = figure(data, "previous").axes[1]
    (mesh,) = (one for one in axes.collections if isinstance(one, QuadMesh))
    np.testing.assert_array_equal(mesh.get_array(), data["previous"].values)
    assert axes.get_ylim() == (2.5, -0.5)  # layer 0 above
    assert axes.get_xlim() == (-0.5, data.sizes["head"] - 0.5)
    (bar,) = axes.child_axes
    assert bar.get_ylim() == (0.0, 1.0)


def test_shares_go_from_0_to_1_and_nats_as_far_as_chance():
    data = dataset()
    drawn = figure(data, ["previous", "entropy"])
    said = texts(drawn)
    assert {"previous token", "entropy (nats)", "0.5", "1", "4"} <= set(said)
    expected = {("layer", "share of attention"), ("layer", "nats"), ("head", "layer")}
    assert {(one.get_xlabel(), one.get_ylabel()) for one in drawn.axes} == expected
    assert ".80" in said  # L1H2 in the map
    caption = " ".join(one.get_text() for one in drawn.figure.texts)
    assert caption == drawn.caption
    assert "12,345 tokens" in caption
    assert "a-model" in caption
    assert "§3.1" in caption


def test_a_head_without_a_figure_has_no_point_and_no_cell():
    data = dataset()
    data["previous"].values[2, 3] = np.nan
    (places,) = points(figure(data, "previous", width="column").axes[0])
    assert len(places) == 11
    cells = figure(data, "previous").axes[1].collections[0].get_array()
    assert np.argwhere(np.ma.getmaskarray(cells)).tolist() == [[2, 3]]


def test_together_they_share_one_scale():
    data = dataset()
    (axes,) = figure(data, ["previous", "sep"], together=True).axes
    for name, places in zip(("previous", "sep"), points(axes), strict=True):
        assert len(places) == 12
        np.testing.assert_array_equal(places[:, 1], data[name].values.ravel())
    assert [one.get_text() for one in axes.get_legend().get_texts()] == ["previous token", "separators"]
    box, plot = (one.get_window_extent() for one in (axes.get_legend(), axes))
    assert box.y0 >= plot.y1  # the legend covers no point
    with pytest.raises(InputError, match=r"figure: expected some of previous, .*, found none"):
        figure(data, [], together=True)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_files_by_suffix(tmp_path: Path, theme: Any):
    drawn = hs.figure(dataset(), "sep", theme=theme)
    svg = drawn.save(tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "separators" in svg
    assert "headscope report --text text.txt" in svg  # what made it
    assert re.search("#0f1214" if theme == "dark" else "#ffffff", svg)
    assert drawn.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert drawn.save(tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match=r"expected a name that ends in .svg, .pdf, .png, found .gif"):
        drawn.save(tmp_path / "a.gif")
    with pytest.raises(InputError, match=r"a\.svg: cannot be written \(no such folder\)"):
        drawn.save(tmp_path / "none" / "a.svg")


def test_messages():
    with pytest.raises(InputError, match=r"figure: expected previous, .*entropy_first, found 'nonsense'"):
        figure(dataset(), "nonsense")
    with pytest.raises(InputError, match=r"result: expected a result of headscope .*, found 'stats'"):
        hs.figure(cast(Any, "stats"))
    with pytest.raises(InputError, match="width: expected 'column'"):
        figure(dataset(), width=0.1)


def test_distances_are_drawn_as_a_map_of_heads_and_other_figures_are_refused() -> None:
    coords = {
        f"{name}_{side}": ("head_" + side, values)
        for side in "ab"
        for name, values in (("layer", [0, 0, 1]), ("index", [0, 1, 0]))
    }
    far = np.array([[0.0, 0.1, 0.5], [0.1, 0.0, 0.6], [0.5, 0.6, 0.0]])
    names = ["L0H0", "L0H1", "L1H0"]
    found = xr.Dataset(
        {"distance": (("head_a", "head_b"), far, {"units": "nats a token"})},
        coords={**coords, "head_a": names, "head_b": names},
        attrs={"n": 5, "meta": json.dumps({"corpus": {"tokens": 5}})},
    )
    assert "Heads that attend alike" in texts(hs.figure(found, title="Heads that attend alike"))
    with pytest.raises(InputError, match=r"expected measures over \(layer, head\), found distance"):
        figure(found, "entropy")


def test_axes_of_the_caller() -> None:
    paper = pictures.Figure()
    left, right = paper.subplots(1, 2)
    data = dataset()
    drawn = hs.figure(data, "previous", ax=left)
    assert (drawn.figure, drawn.axes) == (paper, [left])
    assert left.get_title(loc="left") == "previous token"
    assert not right.collections
    assert not paper.texts
    assert "12,345 tokens" in drawn.caption
    assert len(hs.figure(data, "sep", ax=paper.subplots(1, 2)).axes) == 2
    with pytest.raises(InputError, match="ax: expected 2 or 4 matplotlib Axes for this chart, found 1"):
        hs.figure(data, ["previous", "sep"], ax=left)
    with pytest.raises(InputError, match="ax: expected 1 matplotlib Axes for this chart, found 2"):
        hs.figure(data, ["previous", "sep"], together=True, ax=[left, right])


def test_settings_of_matplotlib_are_left_alone() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 30.0}):
        drawn = figure(dataset(), "previous", theme="dark")
    assert dict(matplotlib.rcParams) == before
    assert drawn.axes[0].get_facecolor() == drawn.figure.get_facecolor() != (1.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(("width", "inches"), [("column", 3.3), ("page", 6.9), (5, 5.0)])
def test_the_width_is_that_of_a_paper(width: Any, inches: float) -> None:
    assert figure(dataset(), "previous", width=width).figure.get_figwidth() == pytest.approx(inches)
