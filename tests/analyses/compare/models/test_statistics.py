"""Two models: drift and errors against independent ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from headscope.analyses.compare.models import statistics as two_models
from headscope.core.tokens import Tokens
from headscope.measures.choose import choose
from headscope.measures.sums import Documents
from headscope.statistics.jackknife import error


def rows(seed: int, heads: int = 3, count: int = 5, keys: int = 7) -> np.ndarray:
    draw = np.random.default_rng(seed).dirichlet(np.full(keys, 0.3), (heads, count))
    draw[0, 0] = np.eye(keys)[seed % keys]
    return draw


@settings(deadline=None)  # the first run loads scipy
@given(st.integers(0, 1000), st.integers(0, 1000))
def test_drift_is_the_jensen_shannon_divergence(one: int, other: int) -> None:
    a, b = rows(one), rows(other)
    found = two_models.drift(a, b)
    expected = np.array(
        [[jensenshannon(p, q) ** 2 for p, q in zip(*pair, strict=True)] for pair in zip(a, b, strict=True)]
    )
    np.testing.assert_allclose(found[0], np.nan_to_num(expected).sum(-1), atol=1e-9)
    cosine = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
    np.testing.assert_allclose(found[1], cosine.sum(-1), atol=1e-9)
    np.testing.assert_array_equal(found, two_models.drift(b, a))
    np.testing.assert_array_equal(two_models.drift(a, a), [[0.0] * 3, [5.0] * 3])  # exactly


def test_errors_are_paired_by_document() -> None:
    draw = np.random.default_rng(0)
    measures = choose(["previous", "entropy"])
    documents = Documents(two_models.names(measures))
    a, counts = draw.random((6, 2, 1, 2)) * 10, draw.integers(3, 9, (6, 2)).astype(float)
    gap = draw.random((6, 2, 1, 2)) * 0.1
    moved = draw.random((6, 2, 1, 2))
    for place in range(6):
        parts = two_models.stacked(
            a[place],
            a[place] - gap[place],
            a[place],
            counts[place][:, None, None] + 0 * a[place],
            moved[place],
            4,
        )
        documents.add(place // 2, Tokens(["x"] * 4), [3], *parts)
    found = two_models.dataset(documents.close(), measures, causal=False, absent={}, meta={})
    total = gap.sum(0) / counts.sum(0)[:, None, None]
    np.testing.assert_allclose(found["difference"], total, rtol=1e-9)
    sums, n = gap.reshape(3, 2, 2, 1, 2).sum(1), counts.reshape(3, 2, 2).sum(1)[:, :, None, None]
    np.testing.assert_allclose(found["se"], error(sums, n), rtol=1e-7)
    np.testing.assert_allclose(found["js"], moved[:, 0].sum(0) / 24, rtol=1e-9)
    np.testing.assert_allclose(found["js_layer"], moved[:, 0].sum(0).mean(-1) / 24, rtol=1e-9)
    means = moved[:, 0].mean(-1).reshape(3, 2).sum(1)
    own = float(error(means, np.full(3, 8.0)))
    assert float(found["js_layer_se"][0]) == pytest.approx(own, rel=1e-7)
    assert float(found["js_all"]) == pytest.approx(float(found["js_layer"][0]), rel=1e-9)  # one layer
    assert float(found["js_all_se"]) == pytest.approx(own, rel=1e-7)
    table = two_models.table(found)
    assert tuple(table.columns) == two_models.COLUMNS
    assert table["layer"].unique().tolist() == [3]
    drift = two_models.by_drift(found)
    assert drift["js"].is_monotonic_decreasing
    assert two_models.by_layer(found).columns.tolist() == [
        *("layer", "js", "js_se", "cosine", "cosine_se", "js_low", "js_high", "excess", "excess_q")
    ]


def test_the_mean_over_all_heads_is_of_heads_that_are_there_and_has_its_error() -> None:
    draw = np.random.default_rng(1)
    measures = choose(["previous"])
    documents = Documents(two_models.names(measures))
    moved = draw.random((4, 2, 2, 3))
    moved[..., 1, 2] = np.nan  # the second layer has two heads
    sums = np.where(np.isfinite(moved[:, :1]), 1.0, np.nan)
    for place in range(4):
        parts = two_models.stacked(sums[place], sums[place], *np.ones((2, 1, 2, 3)), moved[place], 5)
        documents.add(place, Tokens(["x"] * 5), [0, 1], *parts)
    found = two_models.dataset(documents.close(), measures, causal=False, absent={}, meta={})
    means = np.nanmean(moved[:, 0].reshape(4, -1), 1) / 5
    assert float(found["js_all"]) == pytest.approx(means.mean(), rel=1e-9)
    assert float(found["js_all_se"]) == pytest.approx(means.std(ddof=1) / 2, rel=1e-7)
    cosines = np.nanmean(moved[:, 1].reshape(4, -1), 1) / 5
    assert float(found["cosine_all"]) == pytest.approx(cosines.mean(), rel=1e-9)


def layers(js: list[float], error: float, excess: float = 0.0) -> xr.Dataset:
    mean = np.array(js)
    figures = {
        "js_layer": mean,
        "js_layer_se": np.full(len(js), error),
        "cosine_layer": 1 - mean,
        "cosine_layer_se": np.full(len(js), error),
        "js_excess": mean - mean.mean() + excess,
        "js_excess_se": np.full(len(js), error),
    }
    made: dict[str, Any] = {name: ("layer", values) for name, values in figures.items()}
    return xr.Dataset(made | {"js_documents": ((), 20.0)}, {"layer": range(len(js))})


def test_a_layer_that_is_the_same_in_both_models_has_no_test() -> None:
    found: Any = two_models.by_layer(layers([0.0, 0.1, 0.2], 0.001))
    assert np.isnan(found["excess_q"]).tolist() == [True, False, False]
    assert found["js_low"].min() == 0


def test_layers_that_moved_alike_but_for_rounding_do_not_differ() -> None:
    found: Any = two_models.by_layer(layers([0.1, 0.1, 0.1], 1e-18, 1e-17))
    assert found["excess_q"].tolist() == [1, 1, 1]
    assert found["excess"].tolist() == [0, 0, 0]
