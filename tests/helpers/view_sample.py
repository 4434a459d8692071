"""Small inputs to draw: two texts, words, special tokens and a piece right to left."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.core.maps import AttentionMaps
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens
from headscope.views.explorer import Input
from headscope.views.gold import of_parts

PIECES = ["[CLS]", "it", "##s", "cat", "[SEP]", "<b>&", "שלום", "[SEP]"]


def tokens() -> Tokens:
    return Tokens(
        PIECES,
        ids=np.arange(8),
        special_mask=np.array([1, 0, 0, 0, 1, 0, 0, 1], bool),
        sequence_ids=np.array([-1, 0, 0, 0, -1, 1, 1, -1]),
        word_ids=np.array([-1, 0, 0, 1, -1, 0, 1, -1]),
        classes={"sep": np.array([0, 0, 0, 0, 1, 0, 0, 1], bool)},
    )


def some(layers: int = 2, heads: int = 3, causal: bool = False, seed: int = 0) -> AttentionMaps:
    draw = np.random.default_rng(seed)
    weights = draw.dirichlet(np.full(8, 0.4), (layers, heads, 8))
    if causal:
        weights = np.tril(weights) + 1e-9 * np.tri(8)
        weights /= weights.sum(-1, keepdims=True)
    return AttentionMaps(list(weights), tokens(), tokens(), causal=causal, meta={"model": "a/small-model"})


def neurons(layers: int = 2, heads: int = 4, key_heads: int = 2, **more: Any) -> Neurons:
    draw = np.random.default_rng(1)
    options: dict[str, Any] = {
        "scaling": [8**-0.5] * layers,
        "bias": [None] * layers,
        "softcap": [None] * layers,
        "sinks": [None] * layers,
    }
    return Neurons(
        q=[draw.normal(size=(heads, 8, 8)) for _ in range(layers)],
        k=[draw.normal(size=(key_heads, 8, 8)) for _ in range(layers)],
        **{**options, **more},
    )


def pair() -> list[Input]:
    """Two inputs that have all that can be shown of one."""
    found: list[Input] = []
    for seed in (0, 3):
        maps, crossed = some(heads=4, seed=seed), some(heads=4, seed=seed + 1)
        cross = AttentionMaps(crossed.layers, tokens(), tokens(), kind="cross", meta=maps.meta)
        v = [np.random.default_rng(seed).normal(size=(2, 8, 8))] * 2
        found.append(
            Input(
                {"self": maps, "cross": cross},
                label=f"input {seed}",
                neurons={"self": neurons(v=v, norms=[layer * 3 for layer in maps.layers])},
                matrices={"gradient": {"self": [layer - 0.2 for layer in maps.layers]}},
                notes={"gradient": "the loss"},
                links=of_parts([(1, 3), (3, 0)], {"self": maps}),
            )
        )
    return found
