"""Pure functions on the last axes of attention maps: ``[..., query, key]`` in, one figure a row out.

They take numpy arrays and torch tensors alike and return the same kind, on the same device and in the same dtype.
A reader of labelled maps uses `headscope.measures`; these are what it computes with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from array_api_compat import array_namespace, device  # pyright: ignore[reportUnknownVariableType]

Array = Any
"""A numpy array or a torch tensor."""


def entropy(weights: Array) -> Array:
    """Entropy of each row, in nats: ``-Σ p ln p``. ``[..., query, key] -> [..., query]``.

    A row that gives part of its mass to a sink counts what it gives to keys only.
    """
    xp = array_namespace(weights)
    tiny = xp.finfo(weights.dtype).tiny
    return -xp.sum(weights * xp.log(xp.clip(weights, tiny, None)), axis=-1)


def offset(weights: Array, by: int) -> Array:
    """Weight of row i on key ``i + by``; 0 where there is no such key. ``[..., query, key] -> [..., query]``."""
    xp = array_namespace(weights)
    queries = weights.shape[-2]
    diagonal = xp.linalg.diagonal(weights, offset=by)
    before = min(max(0, -by), queries)
    after = queries - before - diagonal.shape[-1]
    parts: list[Array] = []
    for width in (before, after):
        shape = (*weights.shape[:-2], width)
        parts.append(xp.zeros(shape, dtype=weights.dtype, device=device(weights)))
    return xp.concat([parts[0], diagonal, parts[1]], axis=-1)


def mass(weights: Array, columns: Array) -> Array:
    """What each row gives to classes of keys. ``[..., query, key], [..., key, class] -> [..., query, class]``."""
    return weights @ columns


def largest(weights: Array) -> Array:
    """The largest weight of each row. ``[..., query, key] -> [..., query]``."""
    return array_namespace(weights).max(weights, axis=-1)


def rollout(means: Iterable[Array], *, residual: bool = True) -> Iterator[Array]:
    """Attention rollout after each layer, of the layers' means over heads. ``[query key]`` each.

    The product ``A_l … A_1`` with ``A = ½ W + ½ I``, or A = W without the residual connection. Source: Abnar & Zuidema
    2020, "Quantifying Attention Flow in Transformers", sections 3 and 3.1.
    """
    product = None
    for mean in means:
        xp = array_namespace(mean)
        eye = xp.eye(mean.shape[-1], dtype=mean.dtype, device=device(mean))
        layer = 0.5 * mean + 0.5 * eye if residual else mean
        product = layer if product is None else layer @ product
        yield product
