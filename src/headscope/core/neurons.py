"""The queries and keys behind attention maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headscope.core.arrays import AnyFloats
from headscope.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Neurons:
    """What softmax was taken of, for every head of one part of a model: what the neuron view shows.

    ``weights = softmax(softcap(scaling · q kᵀ + bias) + mask)`` over the visible keys (and the sink, if any).

    Attributes:
        q: queries, positions applied; one array ``[head query dim]`` a layer.
        k: keys, positions applied; ``[key_head key dim]`` a layer. Query head h is served by key head ``h // groups``.
        scaling: factor of q·k, one a layer.
        bias: what is added to the scores, ``[head query key]`` a layer; None for layers without.
        softcap: c of ``c · tanh(scores / c)``, one a layer; None for none.
        sinks: logit of each head's sink, ``[head]`` a layer; None for none.
        v: values, ``[key_head key value_dim]`` a layer; None where they were not asked for.
        norms: ``‖α · v · W_O‖``, what each key contributes to each query, ``[head query key]`` a layer (Kobayashi et
            al. 2020); None where they were not asked for or cannot be told.
    """

    q: Sequence[AnyFloats]
    k: Sequence[AnyFloats]
    scaling: Sequence[float]
    bias: Sequence[AnyFloats | None]
    softcap: Sequence[float | None]
    sinks: Sequence[AnyFloats | None]
    v: Sequence[AnyFloats] | None = None
    norms: Sequence[AnyFloats] | None = None

    def __post_init__(self) -> None:
        for layer, (q, k) in enumerate(zip(self.q, self.k, strict=True)):
            if q.ndim != 3 or k.ndim != 3 or q.shape[0] % k.shape[0] or q.shape[2] != k.shape[2]:
                raise ShapeError(
                    f"layer {layer}: expected q [head query dim] and k [key_head key dim], "
                    f"found {q.shape} and {k.shape}"
                )

    def groups(self, layer: int) -> int:
        """How many query heads share one key head in a layer (by its place, not the model's own index)."""
        return self.q[layer].shape[0] // self.k[layer].shape[0]
