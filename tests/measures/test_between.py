"""Attention from one text of a pair to the other."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.core.tokens import Tokens
from headscope.measures.choose import surface

PIECES = ["[CLS]", "a", "b", "[SEP]", "c", "[SEP]"]
TEXTS = np.array([-1, 0, 0, -1, 1, -1])


def drawn(causal: bool) -> np.ndarray:
    weights = np.random.default_rng(0).random((2, 3, 6, 6))
    weights *= np.tril(np.ones((6, 6))) if causal else 1.0
    return weights / weights.sum(-1, keepdims=True)


def test_each_direction_is_a_mean_over_its_rows() -> None:
    weights = drawn(causal=False)
    found = surface(hs.wrap(weights, PIECES), ["a_to_b", "b_to_a", "other_sentence"])
    expected = {"a_to_b": weights[:, :, [1, 2], 4].mean(-1), "b_to_a": weights[:, :, 4, 1:3].sum(-1)}
    for name, each in expected.items():
        np.testing.assert_allclose(found[name], each, atol=1e-12)
    both = (2 * expected["a_to_b"] + expected["b_to_a"]) / 3
    np.testing.assert_allclose(found["other_sentence"], both, atol=1e-12)


def test_a_causal_model_and_a_single_text_have_what_they_have() -> None:
    tokens = Tokens(PIECES, sequence_ids=TEXTS, special_mask=TEXTS < 0)
    weights = drawn(causal=True)
    found = surface(hs.wrap(weights, tokens), ["a_to_b", "b_to_a"])
    assert list(found.data_vars)[:1] == ["b_to_a"]
    np.testing.assert_allclose(found["b_to_a"], weights[:, :, 4, 1:3].sum(-1), atol=1e-12)
    with pytest.raises(hs.errors.InputError, match="none of these measures applies here"):
        surface(
            hs.wrap(weights[..., :3, :3] / weights[..., :3, :3].sum(-1, keepdims=True), PIECES[:3]),
            ["b_to_a"],
        )
