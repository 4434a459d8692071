"""Figure 6: what it says and shows, in both themes."""

from __future__ import annotations

import re

import numpy as np
import pytest
import xarray as xr

from headscope.analyses.distance.arrangement import head_map
from headscope.analyses.distance.figure import about, figure
from headscope.analyses.distance.statistics import PairDocuments, dataset
from headscope.errors import InputError
from headscope.heads import Head
from headscope.views.palette import palette


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
    return figure(found, *arguments, **options).save("svg", about(found)).decode()  # type: ignore[arg-type]


def texts(picture: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


def discs(picture: str, colour: str) -> int:
    """How many patches of a colour there are, by path."""
    return len(re.findall(rf'<path [^>]*style="[^"]*fill: {colour}', picture))


FUNCTIONS = {Head(0, 2): "previous token", Head(1, 3): "next token", Head(2, 0): "next token"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_two_panels(found: xr.Dataset, theme: str) -> None:
    picture = svg(found, FUNCTIONS, theme=theme, title="Heads")
    said = texts(picture)
    for text in ("Heads", "by layer", "by function", "layer", "0", "1", "2", "0.2"):
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
    assert colours.ground in picture
    first, second = (colours.heads[place] for place in (0, 1))
    assert discs(picture, first) >= 4 + 1 + 1  # layer 0, its function, the legend
    assert discs(picture, second) >= 4 + 2 + 1  # layer 2 has the last colour of the ramp


def test_clusters_where_no_functions_are_given(found: xr.Dataset) -> None:
    said = texts(svg(found))
    assert "by cluster" in said
    assert "by function" not in said
    groups = [text for text in said if text.startswith("about L")]
    alone = [text for text in said if text.startswith("alone (")]
    assert sum(int(text.split("(")[1][:-1]) for text in [*groups, *alone]) == 12


def test_heads_stand_where_the_map_has_them(found: xr.Dataset) -> None:
    places = head_map(found, kind="classical")
    canvas = figure(found, FUNCTIONS, places=places, width=5.0)
    axes = canvas.figure.axes[0]
    circles = [patch for patch in axes.patches if type(patch).__name__ == "Circle"][:24]
    centres = np.array([patch.center for patch in circles])
    left = centres[centres[:, 0] < canvas.width / 2]
    assert len(left) == 12
    between = np.sqrt(((left[:, None] - left) ** 2).sum(-1))
    xy = places[["x", "y"]].to_numpy()
    truth = np.sqrt(((xy[:, None] - xy) ** 2).sum(-1))
    np.testing.assert_allclose(
        np.sort(between.ravel()) / between.max(), np.sort(truth.ravel()) / truth.max(), atol=1e-9
    )
    assert "classical scaling" in " ".join(texts(canvas.save("svg", about(found)).decode()))


def test_the_file_says_what_made_it(found: xr.Dataset) -> None:
    picture = svg(found)
    assert "Distances between heads of org/small" in picture
    assert "headscope " in picture


def test_what_cannot_be_drawn(found: xr.Dataset) -> None:
    with pytest.raises(InputError, match="heads from L0H0 to L2H3, found L5H0"):
        figure(found, {Head(5, 0): "x"})
    with pytest.raises(InputError, match="from L0H0 to L2H3, found L9H9"):
        figure(found, notable=[Head(9, 9)])
    with pytest.raises(InputError, match="width: expected 'column', 'text' or inches"):
        figure(found, width=0.2)
    many = dataset(_many())
    with pytest.raises(InputError, match="at most 12, a colour each, found 13"):
        figure(many, {Head(0, place): f"f{place}" for place in range(13)})


def _many() -> object:
    documents = PairDocuments()
    square = np.ones((14, 14)) - np.eye(14)
    documents.add(0, [Head(0, place) for place in range(14)], square, 1, 1, 1)
    return documents.close()


@pytest.mark.parametrize("width", ["column", "text"])
def test_names_do_not_lie_over_one_another(found: xr.Dataset, width: str) -> None:
    canvas = figure(found, FUNCTIONS, width=width)  # type: ignore[arg-type]
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(canvas.figure).get_renderer()
    names = [text for text in canvas.figure.axes[0].texts if re.fullmatch(r"L\dH\d", text.get_text())]
    boxes = [text.get_window_extent(renderer) for text in names]
    assert len(boxes) == 6
    assert not any(a.overlaps(b) for place, a in enumerate(boxes) for b in boxes[place + 1 :])
