"""Maps of queries and keys that were recorded elsewhere, made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Any, Literal, cast, get_args

import numpy as np
import torch
from torch import Tensor

from headscope.attention.parts import labels, numpy_of, sight_of
from headscope.attention.record import AttentionRecord, shown_by
from headscope.core.arrays import AnyFloats, Bools, Ints
from headscope.core.counts import layers_by_heads
from headscope.core.heads import AnyHead, Head
from headscope.core.maps import AttentionMaps, Kind
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import validated
from headscope.errors import InputError, ShapeError

LARGEST = 1 << 30
"""Bytes of the maps that are made at once, at most."""

_BLOCK = 1 << 22  # weights that are made at a time
_DENSE = 16_384  # tokens from which on a mask of all pairs is not made

Rule = Literal["causal", "all"] | int
"""What a query sees: the keys up to its own, all, or so many up to its own (a window)."""


Precision = Literal["float32", "recorded"]


@dataclass(frozen=True, eq=False)
class Stored:
    """An array that is read when it is asked for."""

    shape: tuple[int, ...]
    read: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Recorded:
    """Queries and keys of every head, and what else softmax was taken of. `from_qk` makes it, `open_qk` reads it.

    No map is kept: `take` makes some rows and columns, `row` one row, `headscope.measure_qk` adds up rows.
    ``weights = softmax(softcap(scale · q kᵀ) + mask)`` over the keys and, where there is one, the sink.

    Attributes:
        q: queries ``[head query dim]`` a layer, positions applied.
        k: keys ``[key_head key dim]`` a layer; query head h is served by key head ``h // groups``.
        query: the tokens that look: the last ones, where they are fewer than the keys.
        key: the tokens that are looked at.
        scale: factor of q·k, one a layer.
        mask: what is seen, one a layer: a `Rule`; or an array ``[query key]`` or ``[head query key]``, true where a key
            is seen, or numbers that are added.
        sinks: logit of each head's sink ``[head]``, one a layer; None for none.
        softcap: c of ``c · tanh(scores / c)``, one a layer; None for none.
        index: the model's own index of each layer.
        kind: ``self``, ``cross`` or ``encoder``.
        meta: what made it.
        precision: in which maps are made: ``float32``, or float64 where queries are, as fused kernels have it; or as
            ``recorded``, as an eager model in half precision rounds scores and weights. Sums are always of the first.
    """

    q: Sequence[Any]
    k: Sequence[Any]
    query: Tokens
    key: Tokens
    scale: Sequence[float]
    mask: Sequence[Any]
    sinks: Sequence[Any]
    softcap: Sequence[float | None]
    index: Sequence[int]
    kind: Kind = "self"
    meta: AnyMapping = field(default_factory=AnyDict)
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        for name in ("q", "k", "scale", "mask", "sinks", "softcap", "index"):
            count = len(getattr(self, name))
            if count != len(self.q) or not count:
                raise ShapeError(
                    f"{name}, axis layer: expected {len(self.q) or 'at least one'}, found {count}"
                )
        if len(set(self.index)) < len(self.index):
            raise ShapeError(f"index: expected each layer once, found {list(self.index)}")
        for place, layer in enumerate(self.index):
            scale, softcap = self.scale[place], self.softcap[place]
            if not isfinite(scale) or (softcap is not None and not 0 < softcap < inf):
                raise InputError(
                    f"layer {layer}: expected a scale that is a finite number, and of softcap one above 0, "
                    f"found {scale:g} and {softcap}"
                )
            _check(layer, self.q[place].shape, self.k[place].shape, len(self.query), len(self.key))
            _check_rule(
                layer,
                self.mask[place],
                (self.heads_of(place), len(self.query), len(self.key)),
            )
            if self.sinks[place] is not None and tuple(self.sinks[place].shape) != (self.heads_of(place),):
                raise ShapeError(
                    f"sinks, layer {layer}, axis head: expected {self.heads_of(place)}, one a head, "
                    f"found {tuple(self.sinks[place].shape)}"
                )

    def heads_of(self, place: int) -> int:
        """How many heads a layer has, by its place."""
        return int(self.q[place].shape[0])

    @property
    def heads(self) -> list[Head]:
        """Every head, in order, by the model's own layer index."""
        return [
            Head(layer, head)
            for place, layer in enumerate(self.index)
            for head in range(self.heads_of(place))
        ]

    @property
    def causal(self) -> bool:
        """Whether no query sees a key after it."""
        return self.kind == "self" and not any(
            rule == "all" if isinstance(rule, str) else not isinstance(rule, int) and _ahead(rule)
            for rule in self.mask
        )

    @property
    def device(self) -> torch.device:
        """Where its figures are computed."""
        return torch.device("cpu")

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        size = f"{len(self.query)} × {len(self.key)} tokens"
        return f"Recorded({layers_by_heads(map(self.heads_of, range(len(self))))}, {size}, {self.kind})"

    def record(self, place: int) -> AttentionRecord:
        """The attention call of a layer, by its place. Raises `ShapeError` for what is not finite."""
        mask, rule = None, self.mask[place]
        if not isinstance(rule, str | int):
            mask = tensor_of(rule)
        elif rule != "all" and not (rule == "causal" and len(self.query) <= len(self.key)):
            if len(self.key) > _DENSE:
                raise InputError(
                    f"layer {self.index[place]}: expected at most {_DENSE:,} tokens for a window's mask of all pairs, "
                    f"found {len(self.key):,}; take(query=...) makes some rows"
                )
            mask = self._seen(place, np.arange(len(self.query)))
        return self._call(place, self._numbers("q", place), mask, causal=rule == "causal")

    def _call(self, place: int, q: Tensor, mask: Tensor | None, *, causal: bool = False) -> AttentionRecord:
        sinks, layer = self.sinks[place], self.index[place]
        return AttentionRecord(
            module=f"layer {layer}",
            stack="recorded",
            layer=layer,
            kind=self.kind,
            q=q[None],
            k=self._numbers("k", place).to(q.dtype)[None],
            v=None,
            scaling=self.scale[place],
            mask=mask,
            is_causal=causal,
            softcap=self.softcap[place],
            sinks=None if sinks is None else tensor_of(sinks),
        )

    def _numbers(self, name: Literal["q", "k"], place: int) -> Tensor:
        numbers = tensor_of(getattr(self, name)[place])
        for head, rows in enumerate(numbers):  # one at a time: they may be large
            if not bool(torch.isfinite(rows).all()):
                row = int((~torch.isfinite(rows)).any(-1).nonzero()[0])
                raise ShapeError(
                    f"{name}, layer {self.index[place]}, head {head}: token {row} is no finite number"
                )
        return numbers

    def _seen(self, place: int, rows: Ints) -> Tensor | None:
        """What some queries see or have added, ``[query key]`` or ``[head query key]``; None: all keys."""
        rule = self.mask[place]
        if rule == "all":
            return None
        if not isinstance(rule, str | int):
            return tensor_of(rule)[..., torch.as_tensor(rows), :]
        position = torch.as_tensor(rows)[:, None] + len(self.key) - len(self.query)
        keys = torch.arange(len(self.key))
        seen = keys <= position
        return seen if rule == "causal" else seen & (keys > position - int(rule))

    def row(self, head: AnyHead, query: int) -> AnyFloats:
        """One row of one head, ``[key]``: what a token looks at. A negative `query` counts from the end."""
        head = Head.of(head)
        if head not in self.heads:
            raise InputError(f"head: expected one of {self.heads[0]} to {self.heads[-1]}, found {head}")
        count = len(self.query)
        if not -count <= query < count:
            raise InputError(f"query: expected a token from 0 to {count - 1}, found {query}")
        place = self.index.index(head.layer)
        call = self._call(place, self._numbers("q", place), None)
        return self._weights(call, place, np.array([query % count]), slice(head.head, head.head + 1))[0, 0]

    @validated
    def take(self, query: Bools | slice = slice(None), key: Bools | slice = slice(None)) -> AttentionMaps:
        """The maps of some queries and keys, in all layers and heads; every row is softmax over all keys.

        Raises `InputError` where they would take more than `LARGEST` bytes.

        >>> recorded = hs.from_qk(np.zeros((1, 2, 3, 4)), np.zeros((1, 1, 3, 4)), tokens=["a", "b", "c"])
        >>> recorded.take(slice(2, 3))["L0H1"].round(2).tolist()
        [[0.33, 0.33, 0.33]]
        """
        rows, columns = np.arange(len(self.query))[query], np.arange(len(self.key))[key]
        for name, places, axis in (("query", rows, self.query), ("key", columns, self.key)):
            if not len(places):
                raise InputError(f"{name}: expected some of the tokens from 0 to {len(axis) - 1}, found none")
        heads = len(self.heads)
        if (size := 4 * heads * len(rows) * len(columns)) > LARGEST:
            most = max(1, LARGEST // (4 * heads * len(columns)))
            raise InputError(
                f"{self!r}: its maps would take {size / 2**30:,.1f} GiB; take(query=slice(0, {most})) "
                f"(--rows 0:{most}) makes some rows, measure_qk (-o heads.csv) sums over all"
            )
        parts = [self._part(place, rows, columns) for place in range(len(self))]
        layers, sinks, seen = (list(side) for side in zip(*parts, strict=True))
        causal, visible = sight_of(seen, self.kind)
        return AttentionMaps(
            layers,
            self.query.take(rows),
            self.key.take(columns),
            self.kind,
            causal,
            None
            if all(sink is None for sink in self.sinks)
            else [sink * (given is not None) for sink, given in zip(sinks, self.sinks, strict=True)],
            self.index,
            partial=len(columns) < len(self.key),
            meta=self.meta,
            visible=visible,
        )

    def _part(self, place: int, rows: Ints, columns: Ints) -> tuple[AnyFloats, AnyFloats, Bools]:
        """Some rows and columns of a layer: weights, what rows give to the sink, and what they see."""
        call = self._call(place, self._numbers("q", place), None)
        heads, keys = self.heads_of(place), len(self.key)
        shape = (heads, len(rows), len(columns))
        layer = np.empty(shape, np.float64 if call.q.dtype == torch.float64 else np.float32)
        sink, every = np.zeros(shape[:2], layer.dtype), len(columns) == keys
        step = max(1, _BLOCK // (call.groups * keys))
        for first in range(0, heads, call.groups):
            some = slice(first, first + call.groups)
            for start in range(0, len(rows), step):
                block = slice(start, start + step)
                weights = self._weights(call, place, rows[block], some)
                layer[some, block] = weights if every else weights[..., columns]
                sink[some, block] = np.clip(1.0 - weights.sum(-1), 0.0, 1.0)
        mask = self._seen(place, rows)
        if mask is None:
            return layer, sink, np.ones((1, *shape[1:]), np.bool_)
        return layer, sink, shown_by(mask).reshape(-1, len(rows), keys).numpy()[..., columns]

    def _weights(self, call: AttentionRecord, place: int, rows: Ints, heads: slice) -> AnyFloats:
        """Rows of some heads of one key head, ``[head row key]``."""
        as_it_is = self.precision == "recorded" or call.q.dtype == torch.float64
        dtype = call.q.dtype if as_it_is else torch.float32
        mask = self._seen(place, rows)
        shared = slice(heads.start // call.groups, heads.start // call.groups + 1)
        part = replace(
            call,
            q=call.q[:, heads][:, :, torch.as_tensor(rows)].to(dtype),
            k=call.k[:, shared].to(dtype),
            mask=mask if mask is None or mask.ndim == 2 else mask[heads],
            sinks=None if call.sinks is None else call.sinks[heads].to(dtype),
        )
        return numpy_of(part.recompute()[0], double=True)

    @property
    def added(self) -> bool:
        """Whether a mask adds numbers to the scores."""
        return any(
            not isinstance(rule, str | int) and tensor_of(rule).dtype != torch.bool for rule in self.mask
        )

    @property
    def neurons(self) -> Neurons:
        """The queries and keys as the neuron view has them, where no mask adds numbers."""
        places = range(len(self))
        return Neurons(
            q=[numpy_of(self._numbers("q", place)) for place in places],
            k=[numpy_of(self._numbers("k", place)) for place in places],
            scaling=self.scale,
            bias=[None] * len(self),
            softcap=self.softcap,
            sinks=[None if sink is None else numpy_of(tensor_of(sink)) for sink in self.sinks],
        )


@validated
def from_qk(
    query: Any,
    key: Any,
    *,
    scale: float | Sequence[float] | None = None,
    mask: Any = "causal",
    sinks: Any = None,
    softcap: float | Sequence[float | None] | None = None,
    tokens: Tokens | Sequence[str] | None = None,
    key_tokens: Tokens | Sequence[str] | None = None,
    kind: Kind = "self",
    index: Sequence[int] = (),
    meta: AnyMapping | None = None,
    precision: Precision = "float32",
) -> Recorded:
    """Maps, views and measures of queries and keys that you have: from a server, or a kernel that gives no weights.

    Both are taken after their positions were applied (rotary embeddings, norms of q and k), as they enter q·k: what
    was not cannot be told from the numbers. Files that say so are read by `headscope.open_qk`.

    Args:
        query: ``[layer head query dim]``, or a list of layers, each ``[head query dim]`` or ``[1 head query dim]``;
            numpy arrays or torch tensors of any float type. They are not copied.
        key: the same of ``[key_head key dim]``, before they are repeated for the query heads that they serve.
        scale: factor of q·k; by default 1/√dim. Of each layer, in a list.
        mask: what a query sees: ``"causal"``, ``"all"``, a whole number for a window (the last so many keys up to its
            own); or an array ``[query key]`` or ``[head query key]`` of true where a key is seen, or of numbers that
            are added to the scores. Of each layer, in a list.
        sinks: logits of learned sinks ``[layer head]``, or a list of ``[head]`` with None for a layer without.
        softcap: c of ``c · tanh(scores / c)``. Of each layer, in a list.
        tokens: one string a query (and key), or a `Tokens`; by default positions by number.
        key_tokens: the keys' tokens where they differ: cross-attention, or queries that are the last tokens only.
        kind: ``self``, ``cross`` or ``encoder``.
        index: the model's own index of each layer, where not all were recorded.
        meta: what made it.
        precision: in which maps are made: ``float32`` (float64 where queries are), as fused kernels have it, or as
            ``recorded``: as an eager model in half precision rounds its scores and weights.

    Raises:
        ShapeError: the arrays do not go together; the message names the layer and the axis.

    >>> recorded = hs.from_qk(np.zeros((2, 4, 3, 8)), np.zeros((2, 1, 3, 8)), tokens=["the", "cat", "sat"])
    >>> recorded
    Recorded(2 layers × 4 heads, 3 × 3 tokens, self)
    >>> recorded.row("L1H3", -1).round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    q, k = _arrays("query", query), _arrays("key", key)
    count = len(q)
    for name, arrays in (("query", q), ("key", k)):
        if not arrays or any(len(array.shape) != 3 or 0 in array.shape for array in arrays):
            shapes = [tuple(array.shape) for array in arrays][:1] or "none"
            raise ShapeError(
                f"{name}: expected axes [head token dim] a layer, none of them empty, found {shapes}"
            )
    queries, keys = int(q[0].shape[1]), int(k[0].shape[1])
    if key_tokens is None:
        axis = labels(keys, "position ") if tokens is None else Tokens.of(tokens)
        if len(axis) != keys:
            raise ShapeError(f"tokens: expected {keys}, one a key, found {len(axis)}")
        looking = axis if queries == keys else axis.take(slice(max(0, keys - queries), keys))
    else:
        axis = Tokens.of(key_tokens)
        looking = labels(queries, "position ") if tokens is None else Tokens.of(tokens)
        for name, one, expected in (("tokens", looking, queries), ("key_tokens", axis, keys)):
            if len(one) != expected:
                raise ShapeError(f"{name}: expected {expected}, found {len(one)}")
    scales = (
        [1.0 / float(array.shape[2]) ** 0.5 for array in q] if scale is None else _per_layer(scale, count)
    )
    masks: list[Any] = list(cast("Sequence[Any]", mask)) if isinstance(mask, list | tuple) else [mask] * count
    tensors = {id(one): tensor_of(one) for one in masks if hasattr(one, "shape")}  # layers may share one
    return Recorded(
        q,
        k,
        looking,
        axis,
        [float(cast(float, value)) for value in scales],
        [tensors.get(id(one), one) for one in masks],
        [None] * count if sinks is None else [None if one is None else tensor_of(one) for one in sinks],
        _per_layer(softcap, count),
        tuple(index) or tuple(range(count)),
        kind,
        dict(meta or {}),
        precision,
    )


def _per_layer(value: Any, count: int) -> list[Any]:
    return [value] * count if value is None or isinstance(value, int | float) else list(value)


def _arrays(name: str, value: Any) -> list[Any]:
    """Arrays ``[head token dim]``, one a layer."""
    if isinstance(value, Mapping | str) or not hasattr(value, "__len__"):
        raise InputError(f"{name}: expected arrays, found {type(cast(object, value)).__name__}")
    layers: list[Any] = []
    for layer in value:
        if not isinstance(layer, Stored):
            layer = tensor_of(layer)
            if not layer.is_floating_point():
                raise ShapeError(f"{name}: expected arrays of floats, found {layer.dtype}")
            layer = layer[0] if layer.ndim == 4 and len(layer) == 1 else layer
        layers.append(layer)
    return layers


def tensor_of(array: Any) -> Tensor:
    """An array as a tensor, read where it is stored."""
    array = array.read() if isinstance(array, Stored) else array
    return array.detach().cpu() if isinstance(array, Tensor) else torch.as_tensor(np.asarray(array))


def _check(layer: int, q: Sequence[int], k: Sequence[int], queries: int, keys: int) -> None:
    if q[0] % k[0]:
        raise ShapeError(
            f"layer {layer}, axis head: expected query heads that are a multiple of the key heads, found {q[0]} and "
            f"{k[0]}: heads are missing"
        )
    for axis, size, expected in (("dim", k[2], q[2]), ("query", q[1], queries), ("key", k[1], keys)):
        if size != expected:
            raise ShapeError(f"layer {layer}, axis {axis}: expected {expected}, found {size}")


def _check_rule(layer: int, rule: Any, shape: tuple[int, int, int]) -> None:
    if isinstance(rule, str):
        known = rule in get_args(get_args(Rule)[0])
    elif isinstance(rule, int) and not isinstance(rule, bool):
        known = rule > 0
    else:
        size = tuple(getattr(rule, "shape", ()))
        if hasattr(rule, "shape") and size not in (shape, shape[1:]):
            raise ShapeError(f"mask, layer {layer}: expected {shape[1:]} or {shape}, found {size}")
        known = hasattr(rule, "shape")
    if not known:
        raise InputError(
            f"mask, layer {layer}: expected 'causal', 'all', a window of at least 1 key, or an array, found {rule!r}"
        )


def _ahead(rule: Any) -> bool:
    """Whether a mask shows some query a key after it."""
    seen = shown_by(tensor_of(rule))
    return bool(torch.triu(seen, 1 + seen.shape[-1] - seen.shape[-2]).any())
