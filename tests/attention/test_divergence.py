"""The kernel against the formula, what is known beforehand, and which distributions are compared."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from headscope.attention import divergence
from headscope.attention.divergence import distributions, jensen_shannon
from headscope.attention.record import AttentionRecord
from headscope.errors import RefusedError


def draw_rows(seed: int, heads: int, rows: int, keys: int, sparse: float = 0.3) -> np.ndarray:
    """Rows from even to nearly one-hot, some keys exactly 0."""
    draw = np.random.default_rng(seed)
    scores = draw.normal(size=(heads, rows, keys)) * draw.choice([0.1, 1.0, 8.0], (heads, rows, 1))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights *= draw.random(weights.shape) >= sparse * (weights < weights.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def by_formula(weights: np.ndarray) -> np.ndarray:
    heads = len(weights)
    found = np.zeros((heads, heads))
    for a in range(heads):
        for b in range(heads):
            found[a, b] = sum(jensenshannon(p, q) ** 2 for p, q in zip(weights[a], weights[b], strict=True))
    return found


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), heads=st.integers(2, 9), rows=st.integers(1, 6), keys=st.integers(1, 40))
def test_is_the_formula(seed: int, heads: int, rows: int, keys: int) -> None:
    weights = draw_rows(seed, heads, rows, keys)
    truth = by_formula(weights)
    np.testing.assert_allclose(jensen_shannon(torch.tensor(weights)), truth, atol=1e-12)
    fast = jensen_shannon(torch.tensor(weights, dtype=torch.float32))
    # Three entropies of up to ln 40 = 3.7, each of products and a sum that are right to some 4 units of 6e-8.
    np.testing.assert_allclose(fast / rows, truth / rows, atol=3e-6)


def test_many_chunks_and_partners() -> None:
    """More weights than a chunk holds and more heads than are compared at a time."""
    weights = draw_rows(1, 90, 40, 70)
    np.testing.assert_allclose(
        jensen_shannon(torch.tensor(weights))[[0, 0, 80], [1, 89, 85]],
        [by_formula(weights[[a, b]])[0, 1] for a, b in ((0, 1), (0, 89), (80, 85))],
        atol=1e-11,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_same_heads_and_heads_with_no_key_in_common(dtype: torch.dtype) -> None:
    same = torch.tensor(draw_rows(3, 1, 50, 60), dtype=dtype).expand(4, -1, -1)
    assert (jensen_shannon(same) == 0).all()
    apart = torch.eye(5, dtype=dtype)[:, None].expand(-1, 7, -1)  # head h looks at key h
    np.testing.assert_allclose(
        jensen_shannon(apart),
        7 * math.log(2) * (1 - np.eye(5)),
        rtol=1e-6 if dtype == torch.float32 else 1e-14,
    )


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), keys=st.integers(1, 12))
def test_its_root_is_a_metric(seed: int, keys: int) -> None:
    root = np.sqrt(jensen_shannon(torch.tensor(draw_rows(seed, 6, 1, keys))))
    np.testing.assert_array_equal(root, root.T)
    assert (root.diagonal() == 0).all()
    assert root.max() <= math.sqrt(math.log(2)) + 1e-12
    assert (root[:, None, :] <= root[:, :, None] + root[None, :, :].transpose(0, 2, 1) + 1e-7).all()


def test_keys_that_nobody_looks_at_change_nothing() -> None:
    weights = torch.tensor(draw_rows(4, 5, 30, 20))
    padded = torch.nn.functional.pad(weights, (3, 9))
    np.testing.assert_array_equal(jensen_shannon(padded), jensen_shannon(weights))


def test_weights_too_small_for_their_dtype() -> None:
    weights = torch.tensor([[[1.0, 0.0, 1e-45]], [[1.0, 1e-40, 0.0]]])
    found = jensen_shannon(weights)
    assert np.isfinite(found).all()
    assert found.max() < 1e-30


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_accelerators_compute_the_same(dtype: torch.dtype) -> None:
    """The calls that serve them, on a processor."""
    half = torch.tensor(draw_rows(5, 30, 8, 20), dtype=dtype).reshape(30, -1)
    found = divergence._mixtures(torch, torch.log, half, torch.zeros(30, 30, dtype=torch.float64), 7)
    truth = divergence._mixtures(np, np.log, half.numpy(), np.zeros((30, 30)), 72)
    np.testing.assert_allclose(found, truth, rtol=2e-6 if dtype == torch.float32 else 1e-13)


def test_either_logarithm_gives_nats(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = torch.tensor(draw_rows(7, 6, 8, 20))
    truth = by_formula(weights.numpy())
    for log, unit in ((np.log, 1.0), (np.log2, math.log(2))):
        monkeypatch.setattr(divergence, "_logarithm", lambda _, own=(log, unit): own)
        np.testing.assert_allclose(jensen_shannon(weights), truth, atol=1e-12)


def test_threads_change_no_digit() -> None:
    weights = torch.tensor(draw_rows(6, 12, 64, 90), dtype=torch.float32)
    threads = torch.get_num_threads()
    found: list[np.ndarray] = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            found.append(jensen_shannon(weights))
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_array_equal(*found)


# --- what is compared


def record(heads: int = 4, key_heads: int = 2, tokens: int = 6, **more: object) -> AttentionRecord:
    draw = torch.Generator().manual_seed(heads + tokens)
    q = torch.randn(2, heads, tokens, 3, generator=draw, dtype=torch.float64) * 2
    k = torch.randn(2, key_heads, tokens, 3, generator=draw, dtype=torch.float64)
    return AttentionRecord("m.0", "m.*", 0, "self", q, k, None, 0.5, **more)  # type: ignore[arg-type]


def test_some_rows_of_one_input_and_its_own_keys() -> None:
    whole = record()
    mask = torch.ones(2, 1, 6, 6, dtype=torch.bool).tril()
    mask[1, :, :, 4:] = False  # input 1 has four tokens
    for masked in (
        replace(whole, mask=mask),
        replace(whole, mask=torch.zeros(2, 1, 6, 6).masked_fill(~mask, torch.finfo(torch.float32).min)),
        replace(whole, mask=mask[:, :, -1:], is_causal=True),
    ):
        rows = torch.tensor([1, 3])
        found = distributions([masked], 1, rows, 4)
        np.testing.assert_allclose(found, masked.weights()[1][:, rows, :4], atol=1e-12)
        np.testing.assert_allclose(found.sum(-1), 1.0)
        own = replace(masked, given=masked.weights())
        np.testing.assert_allclose(distributions([own], 1, rows, 4), found, atol=1e-12)


def test_biases_and_softcaps() -> None:
    bias = torch.randn(1, 4, 6, 6, dtype=torch.float64)
    capped = record(bias=bias, softcap=1.5)
    found = distributions([capped], 0, torch.arange(2, 5), 6)
    np.testing.assert_allclose(found, capped.weights()[0][:, 2:5], atol=1e-12)


def test_layers_of_different_numbers_of_heads() -> None:
    found = distributions([record(4), record(2)], 0, torch.arange(6), 6)
    assert found.shape == (6, 6, 6)
    np.testing.assert_allclose(found[4:], record(2).weights()[0], atol=1e-12)


def test_a_sink_is_one_more_outcome() -> None:
    sinks = torch.linspace(-1.0, 2.0, 4, dtype=torch.float64)
    found = distributions([record(sinks=sinks), record()], 0, torch.arange(6), 6)
    assert found.shape == (8, 6, 7)
    np.testing.assert_allclose(found.sum(-1), 1.0)
    np.testing.assert_allclose(found[:4, :, 6], 1 - record(sinks=sinks).weights()[0].sum(-1), atol=1e-12)
    assert (found[4:, :, 6] == 0).all()


def test_smoothing_is_over_visible_keys() -> None:
    causal = record(is_causal=True)
    found = distributions([causal], 0, torch.arange(6), 6, smoothing=0.1)
    even = torch.ones(6, 6).tril() / torch.arange(1, 7)[:, None]
    np.testing.assert_allclose(found, 0.9 * causal.weights()[0] + 0.1 * even, atol=1e-7)
    full = distributions([record()], 0, torch.arange(6), 6, smoothing=0.1)
    np.testing.assert_allclose(full, 0.9 * record().weights()[0] + 0.1 / 6, atol=1e-12)


def test_low_precision_is_raised() -> None:
    half = replace(record(), q=record().q.bfloat16(), k=record().k.bfloat16())
    assert distributions([half], 0, torch.arange(6), 6).dtype == torch.float32
    assert distributions([half], 0, torch.arange(6), 6, dtype=torch.float64).dtype == torch.float64
    exact = replace(half, q=half.q.double(), k=half.k.double()).weights()[0]
    np.testing.assert_allclose(distributions([half], 0, torch.arange(6), 6), exact, atol=1e-6)


def test_rows_that_are_no_distributions_are_refused() -> None:
    blind = record(mask=torch.zeros(2, 1, 6, 6, dtype=torch.bool))
    with pytest.raises(RefusedError, match=r"m\.0: expected rows that sum to 1, found one that is off by 1"):
        distributions([blind], 0, torch.arange(6), 6)
    edited = record(given=torch.full((2, 4, 6, 6), 0.5, dtype=torch.float64))
    with pytest.raises(RefusedError, match="off by 2"):
        distributions([edited], 0, torch.arange(6), 6)
