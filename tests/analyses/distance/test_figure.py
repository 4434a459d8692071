"""Figure 6: what it says and shows, in both themes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope.analyses.distance.arrangement import figure, head_map
from headscope.analyses.distance.statistics import PairDocuments, dataset
from headscope.core.heads import Head

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


def svg(found: xr.Dataset, functions: Any = None, **options: Any) -> str:
    return hs.figure(found, functions, **options).picture("svg").decode()


def texts(picture: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


FUNCTIONS = {Head(0, 2): "previous token", Head(1, 3): "next token", Head(2, 0): "next token"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_two_panels(found: xr.Dataset, theme: str) -> None:
    picture = svg(found, FUNCTIONS, theme=theme, title="Heads")
    left, right = figure(found, FUNCTIONS).charts
    said = texts(picture)
    for text in (
        "Heads", "by layer", "by function", "layer", "0", "1", "2", ".5",
        "first dimension of the map, nats a token", "previous token (1)", "next token (2)", "none of these (9)",
    ):  # fmt: skip
        assert text in said
    for head in FUNCTIONS:
        assert said.count(str(head)) == 2  # once a panel
    assert any("12 heads · Jensen–Shannon, nats a token · 50 rows compared" in text for text in said)
    assert any("small" in text for text in said)
    assert left["rows"]["colour"] == [head // 4 for head in range(12)]
    assert right["rows"]["colour"] == [None, None, 0, None, None, None, None, 1, 1, None, None, None]


def test_clusters_where_no_functions_are_given(found: xr.Dataset) -> None:
    _, right = figure(found).charts
    assert right["title"] == "by cluster"
    groups, alone = right["colour"]["names"], right["colour"].get("none", "(0)")
    assert all(name.startswith("about L") for name in groups)
    assert sum(int(text.split("(")[1][:-1]) for text in [*groups, alone]) == 12


def test_heads_stand_where_the_map_has_them(found: xr.Dataset) -> None:
    places = head_map(found, kind="classical")
    drawn = figure(found, FUNCTIONS, places=places)
    for chart in drawn.charts:
        assert [chart["rows"]["x"], chart["rows"]["y"]] == [places["x"].tolist(), places["y"].tolist()]
        assert chart["equal"]
    assert "classical scaling" in drawn.caption


def test_the_file_says_what_made_it(found: xr.Dataset) -> None:
    picture = svg(found)
    assert "Distances between heads of org/small" in picture
    assert "headscope " in picture
