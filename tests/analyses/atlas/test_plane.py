"""Queries and keys on a plane, against principal components worked out by another way."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.analyses.atlas.section import plane, planes
from headscope.analyses.example_maps import look
from headscope.core.heads import Head
from headscope.core.maps import wrap
from headscope.core.neurons import Neurons
from headscope.views.inputs import Input

RANDOM = np.random.default_rng(7)
LAYERS, HEADS, KEY_HEADS, DIM = 2, 4, 2, 5


def spread(side: np.ndarray) -> float:
    return float(np.sqrt(((side - side.mean(0)) ** 2).sum(1).mean()))


def example(size: int, seed: int = 0) -> Input:
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.ones(size), (LAYERS, HEADS, size))
    q = [random.normal(size=(HEADS, size, DIM)) for _ in range(LAYERS)]
    k = [random.normal(size=(KEY_HEADS, size, DIM)) for _ in range(LAYERS)]
    none = [None] * LAYERS
    inner = Neurons(q, k, scaling=[1.0] * LAYERS, bias=none, softcap=none, sinks=none)
    return Input({"self": wrap(weights, [f"t{i}" for i in range(size)])}, neurons={"self": inner})


def test_the_plane_is_that_of_the_eigenvectors_of_the_common_covariance() -> None:
    query, key = RANDOM.normal(2, 3, (9, DIM)), RANDOM.normal(-1, 0.5, (7, DIM))
    found = plane(query, key)
    sides = [(side - side.mean(0)) / spread(side) for side in (query, key)]
    both = np.concatenate(sides)
    values, vectors = np.linalg.eigh(both.T @ both)
    two = vectors[:, [-1, -2]]
    expected = both @ two * np.sqrt(spread(query) * spread(key))
    shown = np.concatenate([found.query, found.key])
    np.testing.assert_allclose(np.abs(shown), np.abs(expected), atol=1e-9)
    assert found.share == pytest.approx(values[-2:].sum() / values.sum())
    # A component is as it is or mirrored, for queries and keys alike.
    for axis in range(2):
        assert abs(np.corrcoef(shown[:, axis], expected[:, axis])[0, 1]) == pytest.approx(1)


def test_two_neurons_are_shown_whole() -> None:
    """Products of a query and a key, around the means, are those of the two neurons."""
    query, key = RANDOM.normal(size=(6, 2)), RANDOM.normal(size=(8, 2))
    found = plane(query, key)
    assert found.share == pytest.approx(1)
    centred = (query - query.mean(0)) @ (key - key.mean(0)).T
    np.testing.assert_allclose(found.query @ found.key.T, centred, atol=1e-9)


@given(
    arrays.arrays(np.float64, (6, 3), elements=st.floats(-5, 5)),
    arrays.arrays(np.float64, 3, elements=st.floats(-100, 100)),
    st.floats(0.01, 100),
)
def test_what_changes_no_weight_changes_no_plane(noise: np.ndarray, moved: np.ndarray, factor: float) -> None:
    """All keys moved alike, or queries times c and keys by c."""
    query, key = RANDOM.normal(size=(5, 3)) * [9, 3, 1], RANDOM.normal(size=(6, 3)) * [9, 3, 1] + noise / 50
    before, after = plane(query, key), plane(query * factor, key / factor + moved)
    assert after.share == pytest.approx(before.share, rel=1e-6)
    np.testing.assert_allclose(after.query @ after.key.T, before.query @ before.key.T, atol=1e-6)


def test_tokens_that_are_all_alike() -> None:
    found = plane(np.ones((3, 4)), np.ones((3, 4)))
    assert found.share == 1
    assert not found.query.any()
    assert not found.key.any()
    one = plane(np.arange(4.0)[:, None], np.arange(3.0)[:, None])  # a single neuron
    assert one.query.shape == (4, 2)
    assert not one.query[:, 1].any()


def test_every_head_has_the_same_tokens_and_the_key_that_serves_it() -> None:
    inputs = [example(6), example(5, seed=1)]
    found = planes(enumerate(inputs))
    wanted = [*((0, place) for place in range(6)), *((1, place) for place in range(5))]
    assert [(point.example, point.place) for point in found.points] == wanted
    assert [point.piece for point in found.points[:3]] == ["t0", "t1", "t2"]
    assert set(found.planes) == {Head(layer, head) for layer in range(LAYERS) for head in range(HEADS)}
    query = np.concatenate([one.neurons["self"].q[1][3] for one in inputs])
    key = np.concatenate([one.neurons["self"].k[1][1] for one in inputs])  # two heads share a key head
    expected = plane(query, key)
    np.testing.assert_array_equal(found.planes[Head(1, 3)].query, expected.query)
    np.testing.assert_array_equal(found.planes[Head(1, 3)].key, expected.key)
    weights = np.asarray(inputs[1].first.layers[0][2])
    np.testing.assert_array_equal(found.key[Head(0, 2)][6:], 6 + weights.argmax(1))
    np.testing.assert_allclose(found.weight[Head(0, 2)][6:], weights.max(1), rtol=1e-6)


def test_no_more_tokens_than_asked_for() -> None:
    found = planes(enumerate([example(6), example(5), example(4)]), most=8)
    assert [point.example for point in found.points] == [0] * 6 + [1] * 2


def test_nothing_without_queries_and_keys() -> None:
    assert planes([(0, Input({"self": example(6).first}))]) is None
    assert planes([]) is None


def test_special_tokens_and_sinks_are_left_out(demo: Any) -> None:
    found = planes([(4, look(demo, demo.encode("The cat sat on the mat.")))])
    assert [point.piece for point in found.points] == ["The", "cat", "sat", "on", "the", "mat", "."]
    assert {point.example for point in found.points} == {4}


@pytest.mark.parametrize(("sink", "kept"), [(0, "bcdefgh"), (2, "abcdefgh")])
def test_the_first_token_is_left_out_where_it_is_a_sink(sink: int, kept: str) -> None:
    weights = np.full((LAYERS, HEADS, 8, 8), 0.02)
    weights[..., sink] = 1 - 7 * 0.02
    found = planes([(0, Input({"self": wrap(weights, list("abcdefgh"))}, neurons=example(8).neurons))])
    assert [point.piece for point in found.points] == list(kept)


def test_a_head_that_sees_no_other_token_of_the_plane_looks_at_none() -> None:
    weights = np.zeros((LAYERS, HEADS, 8, 8))
    weights[..., 0] = 1
    found = planes([(0, Input({"self": wrap(weights, list("abcdefgh"))}, neurons=example(8).neurons))])
    assert len(found.points) == 7
    assert (found.key[Head(0, 0)] == -1).all()
