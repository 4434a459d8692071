"""Maps, clusters and tests of layers, on distances whose answers are known."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.distance.arrangement import (
    by_layer,
    clusters,
    first_and_last,
    head_map,
    same_layer,
    tree,
)
from headscope.analyses.distance.run import HeadPlane
from headscope.analyses.distance.statistics import PairDocuments, dataset
from headscope.core.heads import Head


def labelled(distances: np.ndarray, layers: list[int]) -> xr.Dataset:
    heads = [Head(layer, layers[:place].count(layer)) for place, layer in enumerate(layers)]
    documents = PairDocuments()
    documents.add(0, heads, distances, 1, 1, 1)
    return dataset(documents.close())


def apart(points: np.ndarray) -> np.ndarray:
    return np.sqrt(((points[:, None] - points) ** 2).sum(-1))


def placed(found: xr.Dataset, **options: object) -> np.ndarray:
    return head_map(found, **options)[["x", "y"]].to_numpy()  # type: ignore[arg-type]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(4, 12))
def test_a_plane_is_found_again(seed: int, count: int) -> None:
    distances = apart(np.random.default_rng(seed).normal(size=(count, 2)))
    found = labelled(distances, [0] * count)
    np.testing.assert_allclose(apart(placed(found, kind="classical")), distances, atol=1e-7)
    np.testing.assert_allclose(apart(placed(found)), distances, atol=1e-2)
    assert head_map(found).attrs["stress"] < 1e-3


def test_metric_scaling_has_less_stress() -> None:
    distances = apart(np.random.default_rng(0).normal(size=(20, 6)))
    found = labelled(distances, [0] * 20)
    metric, classical = head_map(found), head_map(found, kind="classical")
    assert metric.attrs["stress"] < classical.attrs["stress"]
    on_map = apart(metric[["x", "y"]].to_numpy())
    stress = np.sqrt(((distances - on_map) ** 2).sum() / (distances**2).sum())
    assert metric.attrs["stress"] == pytest.approx(stress)
    draw = np.random.default_rng(1)
    nearby = [metric[["x", "y"]].to_numpy() + draw.normal(scale=1e-2, size=(20, 2)) for _ in range(50)]
    worse = [np.sqrt(((distances - apart(one)) ** 2).sum() / (distances**2).sum()) for one in nearby]
    assert stress < min(worse)  # a minimum


def test_a_map_is_the_same_again_and_stands_in_one_way() -> None:
    found = labelled(apart(np.random.default_rng(2).normal(size=(10, 4))), [0] * 5 + [1] * 5)
    rows = head_map(found, seed=3)
    assert [*rows.columns] == ["layer", "head", "paper", "x", "y"]
    assert rows["paper"].tolist()[:2] == ["1-1", "1-2"]
    np.testing.assert_array_equal(rows[["x", "y"]], placed(found, seed=3))
    points = rows[["x", "y"]].to_numpy()
    np.testing.assert_allclose(points.mean(0), 0.0, atol=1e-12)
    assert np.ptp(points[:, 0]) >= np.ptp(points[:, 1])
    assert (points[np.abs(points).argmax(0), [0, 1]] > 0).all()


def test_heads_that_are_all_alike() -> None:
    rows = head_map(labelled(np.zeros((3, 3)), [0, 0, 1]))
    np.testing.assert_array_equal(rows[["x", "y"]].abs().max(), 0.0)
    assert rows.attrs["stress"] == 0.0


def test_clusters_that_were_planted() -> None:
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    order = np.array([1, 0, 2, 0, 1, 2, 2, 1, 0])
    points = centres[order] + np.random.default_rng(0).normal(scale=0.3, size=(9, 2))
    points[3] = centres[0] + points[[1, 8]].mean(0) * 0.5  # the middle one of its cluster
    found = labelled(apart(points), [0] * 9)
    rows = clusters(found, 3)
    assert rows["cluster"].tolist() == [[2, 1, 3][own] for own in order]
    assert len(tree(found)) == 8
    inside = np.flatnonzero(order == 0)
    medoid = inside[apart(points)[np.ix_(inside, inside)].sum(1).argmin()]
    assert rows.attrs["medoids"][1] == f"L0H{medoid}"


DISTANCES = np.array(
    [
        [0.0, 1.0, 2.0, 3.0, 5.0],
        [1.0, 0.0, 4.0, 5.0, 5.0],
        [2.0, 4.0, 0.0, 7.0, 6.0],
        [3.0, 5.0, 7.0, 0.0, 8.0],
        [5.0, 5.0, 6.0, 8.0, 0.0],
    ]
)


def test_layers_by_hand() -> None:
    means = by_layer(labelled(DISTANCES, [0, 0, 1, 1, 4]))
    assert means["layer_a"].values.tolist() == [0, 1, 4]
    np.testing.assert_array_equal(means, [[1.0, 3.5, 5.0], [3.5, 7.0, 7.0], [5.0, 7.0, np.nan]])
    ends = first_and_last(labelled(DISTANCES, [0, 0, 1, 1, 4]))
    assert (ends.distance, ends.others, ends.rank, ends.pairs) == (5.0, 5.25, 2, 3)
    assert ends.p == 2 / 3


def test_the_permutation_test_against_all_permutations() -> None:
    layers = [0, 0, 1, 1, 4]
    found = same_layer(labelled(DISTANCES, layers), permutations=20000)
    assert (found.within, found.between) == (4.0, pytest.approx((2 + 3 + 5 + 4 + 5 + 5 + 6 + 8) / 8))

    def within(order: tuple[int, ...]) -> float:
        return DISTANCES[order[0], order[1]] + DISTANCES[order[2], order[3]]

    every = [within(order) <= 8.0 for order in permutations(range(5))]
    assert found.p == pytest.approx(np.mean(every), abs=0.015)
    assert found == same_layer(labelled(DISTANCES, layers), permutations=20000)
    assert found != same_layer(labelled(DISTANCES, layers), permutations=20000, seed=1)


def test_layers_that_are_clusters_and_layers_that_are_not() -> None:
    draw = np.random.default_rng(0)
    layers = [place // 6 for place in range(24)]
    noise = draw.normal(size=(24, 3))
    together = same_layer(labelled(apart(noise + 3 * np.array(layers)[:, None]), layers), permutations=999)
    assert together.p == 1 / 1000  # the +1
    assert together.within < together.between
    assert same_layer(labelled(apart(noise), layers), permutations=999).p > 0.05


def test_what_cannot_be_tested() -> None:
    one = labelled(DISTANCES, [0] * 5)
    assert HeadPlane(one).lines() == []
    assert len(HeadPlane(labelled(DISTANCES, [0, 0, 1, 1, 4])).lines()) == 2
