"""Attention across layers: rollout, attention flow, and gradient × attention relevance.

What a head of a late layer looks at are mixtures of tokens, not tokens. Rollout and flow follow the attention of all
layers, averaged over heads, down to the input; relevance also weighs each head by what a number of the output owes it.

With residual connections a layer is ``A = ½ W + ½ I``, where W is the mean of its heads' weights. Where heads give part
of their mass to a sink, rows of W sum to less than 1, and so do those of rollout and flow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.core import kernels
from headscope.core.arrays import AnyFloats, Floats, Ints
from headscope.core.maps import AttentionMaps
from headscope.core.validation import validated
from headscope.errors import InputError, ShapeError

FLOW_SCALE = 1 << 29
"""Capacities are whole numbers of 1 / `FLOW_SCALE`."""


@validated
def rollout(maps: AttentionMaps, *, residual: bool = True) -> Floats:
    """Attention rollout: how much of each input token is in each token after each layer.

    Source: Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers", sections 3 and 3.1: the product
    ``Ã_l = A_l Ã_{l-1}`` of the layers so far, with ``A = ½ W + ½ I``.

    Args:
        maps: self-attention of all layers of a model, not cut.
        residual: False leaves the residual connections out (A = W).

    Returns:
        ``[layer query key]``, shares from 0 to 1: row i of layer l is what token i after layer l is made of; rows sum
        to 1.

    Raises `InputError` for cross-attention and parts of maps.

    >>> maps = headscope.wrap(np.array([[[[1, 0], [0.5, 0.5]]]] * 2), ["a", "b"])
    >>> rollout(maps)[1]            # A = [[1, 0], [¼, ¾]], so A² = [[1, 0], [7/16, 9/16]]
    array([[1.    , 0.    ],
           [0.4375, 0.5625]])
    """
    return np.stack(list(kernels.rollout(_means(maps), residual=residual)))


@validated
def flow(maps: AttentionMaps, *, layers: Sequence[int] | None = None) -> Floats:
    """Attention flow: the largest flow from each token after each layer to each input token.

    Source: Abnar & Zuidema 2020, section 3.2: tokens after each layer are nodes, and a token is joined to those of the
    layer below by edges of capacity ``A = ½ W + ½ I``; the flow between a token and an input token is the largest
    that these allow. Flows to several inputs are computed one by one, so rows may sum to more than 1.

    Capacities are rounded to multiples of ``2⁻²⁹`` and the flow between them is exact: the error is at most
    ``2⁻³⁰`` for each edge of the cut, under ``tokens² · 10⁻⁹``. It takes tokens² flows a layer and grows with about
    the fourth power of the tokens: for texts of a few sentences.

    Args:
        maps: self-attention of all layers of a model, not cut.
        layers: places of the layers to begin at; by default all of them.

    Returns:
        ``[layer query key]``, from 0 to 1.

    Raises `InputError` for cross-attention, parts of maps and an unknown layer.

    >>> maps = headscope.wrap(np.array([[[[1, 0], [0.5, 0.5]]]] * 2), ["a", "b"])
    >>> flow(maps)[1]               # from b to a: ¼ by a's node, and ¾ reaches b's, of which ¼ goes on: ½
    array([[1.  , 0.  ],
           [0.5 , 0.75]])
    """
    eye = np.eye(len(maps.query))
    mixed = [0.5 * mean + 0.5 * eye for mean in _means(maps)]
    wanted = range(len(mixed)) if layers is None else layers
    if not len(wanted):
        raise InputError("layers: expected at least one, found none")
    if unknown := [layer for layer in wanted if not 0 <= layer < len(mixed)]:
        raise InputError(f"layers: expected places from 0 to {len(mixed) - 1}, found {unknown[0]}")
    return np.stack([_flow(mixed[: layer + 1]) for layer in wanted])


def relevance(maps: AttentionMaps, gradients: Sequence[AnyFloats]) -> Floats:
    """Gradient × attention relevance of each token to each token after each layer.

    Source: Chefer et al. 2021, "Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder
    Transformers", section 3.1, equations 5 and 6: ``R ← R + Ā R`` from R = I, with ``Ā = E_h[(∇A ⊙ A)⁺]``.

    Args:
        maps: self-attention of all layers of a model, not cut.
        gradients: of the number that is explained by each weight, ``[head query key]`` a layer
            (`headscope.gradients`).

    Returns:
        ``[layer query key]``, R after each layer, without a unit: it scales with the number.

    Raises `InputError` for cross-attention and parts of maps, `ShapeError` for gradients of another shape.

    >>> maps = headscope.wrap(np.array([[[[1, 0], [0.5, 0.5]]]]), ["a", "b"])
    >>> relevance(maps, [np.array([[[2.0, 9.0], [4.0, -4.0]]])])[0]  # Ā = [[2, 0], [2, 0]]
    array([[3., 0.],
           [2., 1.]])
    """
    _check_full(maps)
    total = np.eye(len(maps.query))
    totals: list[Floats] = []
    for weights in _weighted("self", maps, gradients):
        total = total + weights @ total
        totals.append(total)
    return np.stack(totals)


def relevance_of_parts(
    parts: Mapping[str, AttentionMaps], gradients: Mapping[str, Sequence[AnyFloats]]
) -> dict[str, AnyFloats]:
    """`relevance` of an encoder-decoder: of its ``encoder``, its ``decoder``, and of the encoder's tokens to the
    decoder's, ``cross``; each ``[layer query key]`` after each layer.

    Source: Chefer et al. 2021, section 3.1, equations 5 to 10. Self-attention of the decoder also carries along what
    its tokens have taken from the encoder; cross-attention adds ``R̄_ddᵀ Ā R̄_ee``, where R̄ has rows of ``R − I``
    divided by their sums, plus I.

    Args:
        parts: the maps ``encoder``, ``decoder`` and ``cross``, as `headscope.capture` gives them.
        gradients: of the number that is explained, by part.
    """
    encoder, decoder, cross = (parts[name] for name in ("encoder", "decoder", "cross"))
    if len(cross) != len(decoder):
        raise InputError(f"cross: expected one a layer of the decoder ({len(decoder)}), found {len(cross)}")
    inner = relevance(encoder, gradients["encoder"])
    inside, taken = np.eye(len(decoder.query)), np.zeros((len(cross.query), len(cross.key)))
    totals: dict[str, list[Floats]] = {"decoder": [], "cross": []}
    _check_full(decoder)
    layers = zip(
        _weighted("decoder", decoder, gradients["decoder"]),
        _weighted("cross", cross, gradients["cross"]),
        strict=True,
    )
    for looks, reads in layers:
        inside, taken = inside + looks @ inside, taken + looks @ taken
        taken = taken + _normal(inside).T @ reads @ _normal(inner[-1])
        totals["decoder"].append(inside)
        totals["cross"].append(taken)
    return {"encoder": inner, **{name: np.stack(layers) for name, layers in totals.items()}}


def _check_full(maps: AttentionMaps) -> None:
    if maps.kind == "cross" or maps.partial or len(maps.query) != len(maps.key):
        kind = "a part" if maps.partial else f"{maps.kind}-attention"
        raise InputError(f"maps: expected whole self-attention maps, found {kind}")


def _means(maps: AttentionMaps) -> list[Floats]:
    """Each layer's mean over heads."""
    _check_full(maps)
    return [layer.mean(0, dtype=np.float64) for layer in maps.layers]


def _weighted(part: str, maps: AttentionMaps, gradients: Sequence[AnyFloats]) -> list[Floats]:
    """``Ā`` of each layer."""
    if len(gradients) != len(maps):
        raise ShapeError(f"gradients of {part}, axis layer: expected {len(maps)}, found {len(gradients)}")
    means: list[Floats] = []
    for number, layer, slope in zip(maps.index, maps.layers, gradients, strict=True):
        if slope.shape != layer.shape:
            raise ShapeError(
                f"gradients of {part}, layer {number}: expected [head query key] {layer.shape}, found {slope.shape}"
            )
        means.append(np.maximum(layer.astype(np.float64) * slope, 0.0).mean(0))
    return means


def _normal(relevance: Floats) -> Floats:
    """``R̄``: rows of R − I divided by their sums (a row of zeros stays one), plus I."""
    eye = np.eye(len(relevance))
    rest = relevance - eye
    total = rest.sum(-1, keepdims=True)
    return rest / np.where(total > 0, total, 1.0) + eye


def _flow(layers: Sequence[Floats]) -> Floats:
    """The largest flow from each token above the last of these layers to each token below the first."""
    from scipy.sparse import coo_matrix, csgraph  # pyright: ignore[reportMissingTypeStubs]

    graphs: Any = csgraph
    count, deep = len(layers[0]), len(layers)
    starts: list[Ints] = []
    ends: list[Ints] = []
    sizes: list[npt.NDArray[np.int32]] = []
    for depth, layer in enumerate(layers):  # node depth * count + i is token i below layer `depth`
        capacities = np.rint(layer * FLOW_SCALE).astype(np.int32)
        query, key = np.nonzero(capacities)
        starts.append((depth + 1) * count + query)
        ends.append(depth * count + key)
        sizes.append(capacities[query, key])
    nodes = (deep + 1) * count
    graph = coo_matrix(
        (np.concatenate(sizes), (np.concatenate(starts), np.concatenate(ends))), shape=(nodes, nodes)
    ).tocsr()
    flows = np.zeros((count, count))
    for query, key in np.ndindex(count, count):
        flows[query, key] = graphs.maximum_flow(graph, deep * count + query, key).flow_value / FLOW_SCALE
    return flows
