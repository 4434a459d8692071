"""Rollout, flow and relevance: worked on paper, and against plain implementations of the papers' formulas."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.contribution.statistics import flow, relevance, relevance_of_parts, rollout
from headscope.core.maps import AttentionMaps, Kind, wrap

PAPER = np.array([[[[1.0, 0.0], [0.5, 0.5]]]] * 2)


def maps_of(layers: int, heads: int, tokens: int, seed: int) -> AttentionMaps:
    draw = np.random.default_rng(seed)
    weights = draw.dirichlet(np.full(tokens, 0.4), (layers, heads, tokens))
    return wrap(weights, ["x"] * tokens)


def mixed(maps: AttentionMaps) -> list[np.ndarray]:
    """½ W + ½ I of each layer, by loops."""
    found: list[np.ndarray] = []
    for layer in maps.layers:
        heads, count, _ = layer.shape
        each = np.zeros((count, count))
        for i, j in np.ndindex(count, count):
            each[i, j] = 0.5 * sum(layer[head, i, j] for head in range(heads)) / heads + 0.5 * (i == j)
        found.append(each)
    return found


def test_rollout_on_paper() -> None:
    maps = wrap(PAPER, ["a", "b"])
    np.testing.assert_allclose(rollout(maps)[0], [[1, 0], [0.25, 0.75]])
    np.testing.assert_allclose(rollout(maps)[1], [[1, 0], [0.4375, 0.5625]])
    np.testing.assert_allclose(rollout(maps, residual=False)[1], [[1, 0], [0.75, 0.25]])


@given(st.integers(1, 4), st.integers(1, 3), st.integers(2, 6), st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_rollout_follows_every_path(layers: int, heads: int, tokens: int, seed: int) -> None:
    maps = maps_of(layers, heads, tokens, seed)
    found, each = rollout(maps), mixed(maps)
    expected = np.zeros((tokens, tokens))
    for path in np.ndindex(*(tokens,) * (layers + 1)):  # from the input up
        share = 1.0
        for layer in range(layers):
            share *= each[layer][path[layer + 1], path[layer]]
        expected[path[-1], path[0]] += share
    np.testing.assert_allclose(found[-1], expected, atol=1e-12)
    np.testing.assert_allclose(found.sum(-1), 1.0, atol=1e-12)


def test_flow_on_paper() -> None:
    maps = wrap(PAPER, ["a", "b"])
    np.testing.assert_allclose(flow(maps)[0], [[1, 0], [0.25, 0.75]], atol=1e-8)
    np.testing.assert_allclose(flow(maps)[1], [[1, 0], [0.5, 0.75]], atol=1e-8)
    np.testing.assert_array_equal(flow(maps, layers=[1])[0], flow(maps)[1])


def smallest_cut(layers: list[np.ndarray], query: int, key: int) -> float:
    """The largest flow by its other name: the least capacity that parts source and sink, of all ways to part them."""
    count, deep = len(layers[0]), len(layers)
    inner = [(place, token) for place in range(deep + 1) for token in range(count)]
    source, sink = (deep, query), (0, key)
    free = [node for node in inner if node not in (source, sink)]
    best = np.inf
    for size in range(len(free) + 1):
        for chosen in combinations(free, size):
            side = {source, *chosen}
            cost = sum(
                layers[place][i, j]
                for place in range(deep)
                for i, j in np.ndindex(count, count)
                if (place + 1, i) in side and (place, j) not in side
            )
            best = min(best, cost)
    return best


def test_flow_is_the_smallest_cut() -> None:
    maps = maps_of(2, 2, 3, 0)
    found, each = flow(maps), mixed(maps)
    for query, key in np.ndindex(3, 3):
        for deep in (1, 2):
            expected = smallest_cut(each[:deep], query, key)
            np.testing.assert_allclose(found[deep - 1, query, key], expected, atol=1e-8)


def test_flow_of_one_layer_is_its_weights_and_at_least_rollout() -> None:
    maps = maps_of(3, 2, 5, 1)
    np.testing.assert_allclose(flow(maps, layers=[0])[0], mixed(maps)[0], atol=2e-9)
    assert (flow(maps, layers=[2])[0] >= rollout(maps)[2] - 1e-7).all()  # what rolls out is a flow


def test_relevance_on_paper() -> None:
    maps = wrap(PAPER[:1], ["a", "b"])
    found = relevance(maps, [np.array([[[2.0, 9.0], [4.0, -4.0]]])])
    np.testing.assert_allclose(found[0], [[3, 0], [2, 1]])


def plain_relevance(maps: AttentionMaps, gradients: list[np.ndarray]) -> np.ndarray:
    count = len(maps.query)
    total = np.eye(count)
    for layer, slope in zip(maps.layers, gradients, strict=True):
        mean = np.zeros((count, count))
        for i, j in np.ndindex(count, count):
            mean[i, j] = np.mean(
                [max(0.0, float(a * g)) for a, g in zip(layer[:, i, j], slope[:, i, j], strict=True)]
            )
        new = total.copy()
        for i, j in np.ndindex(count, count):
            new[i, j] += sum(mean[i, k] * total[k, j] for k in range(count))
        total = new
    return total


@given(st.integers(1, 3), st.integers(1, 3), st.integers(2, 5), st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_relevance_equals_the_plain_rule(layers: int, heads: int, tokens: int, seed: int) -> None:
    maps = maps_of(layers, heads, tokens, seed)
    gradients = list(np.random.default_rng(seed).normal(size=maps.weights.shape))
    np.testing.assert_allclose(relevance(maps, gradients)[-1], plain_relevance(maps, gradients), atol=1e-12)


def test_relevance_of_an_encoder_decoder() -> None:
    """Equations 5 to 10 written out once more, in the order of the layers."""
    draw = np.random.default_rng(2)

    def part(queries: int, keys: int, kind: Kind) -> AttentionMaps:
        weights = draw.dirichlet(np.ones(keys), (2, 3, queries))
        return wrap(weights, ["x"] * queries, ["y"] * keys, kind=kind, causal=False)

    encoder = wrap(draw.dirichlet(np.ones(4), (2, 3, 4)), list("abcd"), kind="encoder")
    decoder = wrap(draw.dirichlet(np.ones(3), (2, 3, 3)), list("xyz"))
    parts = {"encoder": encoder, "decoder": decoder, "cross": part(3, 4, "cross")}
    slopes = {name: list(draw.normal(size=maps.weights.shape)) for name, maps in parts.items()}
    found = relevance_of_parts(parts, slopes)
    r_ee, r_dd, r_de = np.eye(4), np.eye(3), np.zeros((3, 4))
    bar = {
        name: np.clip(maps.weights * np.stack(slopes[name]), 0, None).mean(1) for name, maps in parts.items()
    }
    for layer in range(2):
        r_ee = r_ee + bar["encoder"][layer] @ r_ee

    def norm(r: np.ndarray) -> np.ndarray:
        hat = r - np.eye(len(r))
        return np.diag(1 / hat.sum(1)) @ hat + np.eye(len(r))

    for layer in range(2):
        r_de = r_de + bar["decoder"][layer] @ r_de
        r_dd = r_dd + bar["decoder"][layer] @ r_dd
        r_de = r_de + norm(r_dd).T @ bar["cross"][layer] @ norm(r_ee)
    np.testing.assert_allclose(found["encoder"][-1], r_ee)
    np.testing.assert_allclose(found["decoder"][-1], r_dd)
    np.testing.assert_allclose(found["cross"][-1], r_de)
