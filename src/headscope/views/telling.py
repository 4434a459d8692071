"""What is worth a first look: the keys that are sinks on an input."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headscope.measures.measure import mask
from headscope.tokens import IntArray
from headscope.views.inputs import Included

SINK = 2.0
"""A sink receives at least this many times what even attention would give it."""


def sinks(included: Included) -> IntArray:
    """The keys that are sinks: special tokens or the first one that, over all shown heads, take `SINK` even shares.

    An even share is what a key would receive from queries that look at all the keys they see alike.
    """
    maps = included.maps
    received, even = np.zeros((2, len(maps.key)))
    known: dict[int, npt.NDArray[np.float64]] = {}
    for place, heads, layer in zip(
        included.places, included.heads, included.cut(maps.layers, "weights"), strict=True
    ):
        kind = 0 if maps.visible is None else id(maps.visible[place])
        if kind not in known:
            sight = maps.sight(place)
            known[kind] = (sight / np.maximum(sight.sum(-1, keepdims=True), 1)).sum(1)
        shares = known[kind]
        received += layer.sum((0, 1), dtype=np.float64)
        even += shares[heads].sum(0) if len(shares) > 1 else len(heads) * shares[0]
    first = mask(maps.key, "first") | mask(maps.key, "special")
    return np.flatnonzero(first & (received >= SINK * even) & (received > 0))
