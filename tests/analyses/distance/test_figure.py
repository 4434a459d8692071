"""Figure 6: what it says and shows, in both themes."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib import figure as pictures
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from headscope.analyses.distance.arrangement import head_map
from headscope.analyses.distance.figure import _around, figure  # pyright: ignore[reportPrivateUsage]
from headscope.analyses.distance.statistics import PairDocuments, dataset
from headscope.core.heads import Head
from headscope.errors import InputError
from headscope.views.palette import palette

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    """Three layers of four heads, two clusters and one head far from all."""
    draw = np.random.default_rng(0)
    points = draw.normal(scale=0.05, size=(12, 2)) + np.array([[0.0, 0.0], [1.0, 0.0]])[np.arange(12) % 2]
    points[7] = 0.5, 0.9
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    documents = PairDocuments()
    documents.add(0, [Head(place // 4, place % 4) for place in range(12)], distances * 50, 50, 50, 50)
    return dataset(documents.close(), meta={"model": {"name": "org/small"}})


def svg(found: xr.Dataset, *arguments: object, **options: object) -> str:
    with TemporaryDirectory() as folder:
        path = figure(found, *arguments, **options).save(Path(folder) / "a.svg")  # type: ignore[arg-type]
        return path.read_text(encoding="utf-8")


def texts(picture: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


def discs(axes: Any, colour: str) -> int:
    """How many discs of a colour there are among heads and legend."""
    (scatter,) = (one for one in axes.collections if isinstance(one, PathCollection))
    legend = axes.get_legend()
    marks = [one.get_markeredgecolor() for one in legend.get_lines()] if legend else []
    return [to_hex(fill) for fill in [*scatter.get_facecolors(), *marks]].count(colour)


def test_a_name_stands_about_its_point_and_not_over_it() -> None:
    point, extent, radius = np.array([100.0, 50.0]), np.array([40.0, 10.0]), 4.0
    _, boxes = _around(point, extent, radius)
    gaps = np.maximum(boxes[:, :2] - point, point - boxes[:, 2:]).max(1)
    assert ((gaps > 0) & (gaps <= radius + 6)).all()


FUNCTIONS = {Head(0, 2): "previous token", Head(1, 3): "next token", Head(2, 0): "next token"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_two_panels(found: xr.Dataset, theme: str) -> None:
    picture = svg(found, FUNCTIONS, theme=theme, title="Heads")
    left, right = figure(found, FUNCTIONS, theme=theme).axes  # type: ignore[arg-type]
    said = texts(picture)
    for text in (
        "Heads", "by layer", "by function", "layer", "0", "1", "2", "0.5",
        "first dimension of the map, nats a token",
    ):  # fmt: skip
        assert text in said
    assert "previous token (1)" in said
    assert "next token (2)" in said
    assert "none of these (9)" in said
    for head in FUNCTIONS:
        assert said.count(str(head)) == 2  # once a panel
    assert any("12 heads · Jensen–Shannon, nats a token · 50 rows compared" in text for text in said)
    assert any("small" in text for text in said)
    assert "<image" not in picture
    colours = palette(theme)  # type: ignore[arg-type]
    assert colours.bg in picture
    first, second = (colours.heads[place] for place in (0, 1))
    assert discs(left, first) == 4  # layer 0
    assert discs(right, first) == 1 + 1  # its function, the legend
    assert discs(left, second) == 4  # layer 2 has the last colour of the ramp
    assert discs(right, second) == 2 + 1


def test_clusters_where_no_functions_are_given(found: xr.Dataset) -> None:
    said = texts(svg(found))
    assert "by cluster" in said
    assert "by function" not in said
    groups = [text for text in said if text.startswith("about L")]
    alone = [text for text in said if text.startswith("alone (")]
    assert sum(int(text.split("(")[1][:-1]) for text in [*groups, *alone]) == 12


def test_heads_stand_where_the_map_has_them(found: xr.Dataset) -> None:
    places = head_map(found, kind="classical")
    chart = figure(found, FUNCTIONS, places=places, width=5.0)
    xy = places[["x", "y"]].to_numpy()
    for axes in chart.axes:
        centres = np.asarray(axes.collections[0].get_offsets())
        assert sorted(centres.tolist()) == sorted(xy.tolist())
        steps = np.diff(axes.transData.transform([(0, 0), (1, 1)]), axis=0)[0]
        assert steps[0] == pytest.approx(steps[1])  # as far down as across
        (low, high), (left, right) = axes.get_ylim(), axes.get_xlim()
        assert ((xy > (left, low)) & (xy < (right, high))).all()
    assert "classical scaling" in chart.caption


def test_the_file_says_what_made_it(found: xr.Dataset) -> None:
    picture = svg(found)
    assert "Distances between heads of org/small" in picture
    assert "headscope " in picture


def test_what_cannot_be_drawn(found: xr.Dataset) -> None:
    with pytest.raises(InputError, match="heads from L0H0 to L2H3, found L5H0"):
        figure(found, {Head(5, 0): "x"})
    with pytest.raises(InputError, match="from L0H0 to L2H3, found L9H9"):
        figure(found, notable=[Head(9, 9)])
    with pytest.raises(InputError, match="width: expected 'column', 'page' or inches"):
        figure(found, width=0.2)
    many = dataset(_many())
    with pytest.raises(InputError, match="at most 12, a colour each, found 13"):
        figure(many, {Head(0, place): f"f{place}" for place in range(13)})


def _many() -> object:
    documents = PairDocuments()
    square = np.ones((14, 14)) - np.eye(14)
    documents.add(0, [Head(0, place) for place in range(14)], square, 1, 1, 1)
    return documents.close()


@pytest.mark.parametrize("width", ["column", "page"])
def test_names_do_not_lie_over_one_another(found: xr.Dataset, width: str) -> None:
    chart = figure(found, FUNCTIONS, width=width)  # type: ignore[arg-type]
    chart.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for axes in chart.axes for text in axes.texts]
    assert len(boxes) == 6
    assert not any(a.overlaps(b) for place, a in enumerate(boxes) for b in boxes[place + 1 :])


def test_axes_of_the_caller(found: xr.Dataset) -> None:
    paper = pictures.Figure()
    both = paper.subplots(1, 2)
    assert figure(found, FUNCTIONS, ax=both).axes == list(both)
    alone = paper.subplots()
    assert figure(found, FUNCTIONS, ax=alone, title="Heads").axes == [alone]
    assert alone.get_legend().get_texts()[0].get_text() == "previous token (1)"
    assert alone.get_title(loc="left") == "Heads"
    paper.draw_without_rendering()
    assert alone.get_legend().get_window_extent().y1 < alone.xaxis.get_tightbbox().y0  # below the label
    with pytest.raises(InputError, match="ax: expected 1 or 2 matplotlib Axes for this chart, found 3"):
        figure(found, ax=paper.subplots(1, 3))
