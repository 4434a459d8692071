"""Attention maps with labelled axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np

from headscope.core import words as _words
from headscope.core.arrays import AnyFloats, Bools
from headscope.core.caches import held, pieces
from headscope.core.counts import layers_by_heads
from headscope.core.heads import AnyHead, Head
from headscope.core.mapfile import write
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.core.validation import Number, validated
from headscope.errors import InputError, ShapeError

Side = Literal[0, 1]
"""Text A or text B."""

Kind = Literal["self", "cross", "encoder"]

ROW_TOLERANCE = 5e-3
"""How far from 1 the sum of a row may be: a row of 512 weights in bfloat16 is that inexact."""

DUST = 1e-9
"""Weights up to this may stand where a query cannot see: a mask that adds a finite number leaves some (Swin's)."""


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """The attention of one input: ``layers[l]`` is ``[head query key]``; "from" is the query, "to" the key.

    Every weight is finite and at least 0; every row sums to 1, or to 1 minus what it gives to a sink, unless the maps
    are `partial` (a part of larger ones); to 0 where a query sees no key. Raises `ShapeError`, which names layer and
    axis, when that is not so.
    Arrays are kept as they are, read-only; `wrap` copies.

    Attributes:
        layers: one array a layer, ``[head query key]``. Layers may differ in their number of heads.
        query: the tokens that look.
        key: the tokens that are looked at.
        kind: ``self``, ``cross`` (decoder to encoder) or ``encoder`` (the encoder's side of an encoder-decoder).
        causal: whether a token sees only itself and what stands before it.
        sink: what each row gives to a learned sink that is no token, ``[head query]`` a layer.
        index: the model's own index of each layer.
        partial: the rows are cut and need not sum to 1.
        meta: what made these maps: model, revision, dtype, options, versions.
        visible: which keys each query can see, by the model's mask: ``[query key]`` a layer, or ``[head query key]``
            where heads differ; layers may share an array. None: all of them or, where `causal`, those up to the query.
            `sight` gives it in either case. A pair that is not visible has weight 0 (at most `DUST`).
        signed: of layers that do not attend, their implicit maps M, ``[head query key]`` a layer: a mixer makes M v of
            its values v (`headscope.attention.implicit`). The weights are then \\|M\\| as shares of each row's sum.
            None for attention.
    """

    layers: Sequence[AnyFloats]
    query: Tokens
    key: Tokens
    kind: Kind = "self"
    causal: bool = False
    sink: Sequence[AnyFloats] | None = None
    index: Sequence[int] = ()
    partial: bool = False
    meta: AnyMapping = field(default_factory=AnyDict)
    visible: Sequence[Bools] | None = None
    signed: Sequence[AnyFloats] | None = None

    def __post_init__(self) -> None:
        layers = tuple(_locked(layer) for layer in self.layers)
        if not layers:
            raise ShapeError("axis layer: expected at least one layer, found none")
        sink = None if self.sink is None else tuple(_locked(row) for row in self.sink)
        index = tuple(self.index) or tuple(range(len(layers)))
        if len(index) != len(layers):
            raise ShapeError(f"axis layer: {len(layers)} layers, but {len(index)} layer indices")
        for number, layer in zip(index, layers, strict=True):
            _check_layer(number, layer, len(self.query), len(self.key))
        if sink is not None and [row.shape for row in sink] != [layer.shape[:2] for layer in layers]:
            raise ShapeError("sink: expected one [head query] array a layer")
        visible = _changed(self.visible, lambda seen: _locked(np.asarray(seen, np.bool_)))
        if visible is not None:
            if len(visible) != len(layers):
                raise ShapeError(f"visible, axis layer: expected {len(layers)}, found {len(visible)}")
            for number, layer, seen in zip(index, layers, visible, strict=True):
                _check_visible(number, layer, seen)
        if not self.partial:
            for position, (number, layer) in enumerate(zip(index, layers, strict=True)):
                total = layer.sum(-1, dtype=np.float64) + (0.0 if sink is None else sink[position])
                blind = False if visible is None else ~visible[position].any(-1)
                _check_rows(number, total + (blind & (total == 0)))
        signed = None if self.signed is None else tuple(_locked(layer) for layer in self.signed)
        if signed is not None and [one.shape for one in signed] != [layer.shape for layer in layers]:
            raise ShapeError("signed: expected one [head query key] array a layer, as the weights are")
        shown = None if visible is None else tuple(visible)
        self.__dict__.update(layers=layers, signed=signed, sink=sink, index=index, visible=shown)

    @property
    def weights(self) -> AnyFloats:
        """All layers in one array, ``[layer head query key]``. `ShapeError` when layers differ in their heads."""
        counts = {len(layer) for layer in self.layers}
        if len(counts) > 1:
            raise ShapeError(
                f"axis head: these maps are ragged (layers have {', '.join(map(str, sorted(counts)))} heads); "
                "use maps.layers[l], an array [head query key] each"
            )
        return np.stack(self.layers)

    @property
    def heads(self) -> list[Head]:
        """Every head, in order, by the model's own layer index."""
        return [
            Head(number, head)
            for number, layer in zip(self.index, self.layers, strict=True)
            for head in range(len(layer))
        ]

    @validated
    def __getitem__(self, head: AnyHead) -> AnyFloats:
        """The map ``[query key]`` of one head: ``maps[hs.Head(7, 9)]`` or ``maps["L7H9"]``."""
        if isinstance(head, str):
            head = Head.parse(head)
        number, position = head
        if number not in self.index:
            raise InputError(f"axis layer: no layer {number}; these maps have {_span(self.index)}")
        layer = self.layers[self.index.index(number)]
        if not 0 <= position < len(layer):
            raise InputError(
                f"axis head: no head {position} in layer {number}; it has {_span(range(len(layer)))}"
            )
        return layer[position]

    @cached_property
    def _in_sight(self) -> Bools:
        """Which keys each query can see where no layer hides more, ``[1 query key]``."""
        queries, keys = len(self.query), len(self.key)
        seen = np.tri(queries, keys, keys - queries if self.causal else keys, dtype=np.bool_)
        return cast("Bools", _locked(seen[None]))

    @property
    def offset(self) -> int | None:
        """Which of the keys the first query is, where the queries are keys that stand side by side; None for others."""
        many = len(self.key) - len(self.query) + 1
        if self.query is self.key:
            return 0
        alike = [at for at in range(many) if _alike(self.query, self.key, slice(at, at + len(self.query)))]
        return alike[0] if len(alike) == 1 else None

    @property
    def text(self) -> str | None:
        """What the model wrote, in maps of `headscope.generate`; else None."""
        written = self.meta.get("written")
        return written if isinstance(written, str) else None

    def __iter__(self) -> Iterator[AnyFloats]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def __repr__(self) -> str:
        size = f"{len(self.query)} × {len(self.key)} tokens"
        return f"AttentionMaps({layers_by_heads(map(len, self.layers))}, {size}, {self.kind})"

    @validated
    def sight(self, place: Number) -> Bools:
        """Which keys each query of a layer can see, ``[head query key]``, or ``[1 query key]`` where its heads agree.

        Args:
            place: of the layer, counted from 0.
        """
        if not place < len(self):
            raise InputError(f"place: expected a layer from 0 to {len(self) - 1}, found {place}")
        if self.visible is not None:
            seen = self.visible[place]
            return seen if seen.ndim == 3 else seen[None]
        return self._in_sight

    @validated
    def save(self, path: AnyPath) -> None:
        """Write the maps to a ``.safetensors`` file, exactly, in their own dtype; `headscope.open_maps` reads it."""
        write(self, path)

    @validated
    def take(self, query: Bools | slice = slice(None), key: Bools | slice = slice(None)) -> AttentionMaps:
        """Some rows and columns, weights as they are. Where columns are left out the maps are `partial`."""
        query, key = _kept("query", query, len(self.query)), _kept("key", key, len(self.key))
        kept = self.key.take(key)
        visible = self.visible
        if visible is None and self.causal:
            visible = [self.sight(0)[0]] * len(self)
        return replace(
            self,
            layers=[layer[:, query][:, :, key] for layer in self.layers],
            query=self.query.take(query),
            key=kept,
            sink=None if self.sink is None else [row[:, query] for row in self.sink],
            partial=self.partial or len(kept) < len(self.key),
            visible=_changed(visible, lambda seen: seen[..., query, :][..., key]),
            signed=None if self.signed is None else [one[:, query][:, :, key] for one in self.signed],
        )

    @validated
    def words(self, rows: _words.Rows = "mean") -> AttentionMaps:
        """Maps between words. To a word: the sum over its pieces; from a word: the mean (`rows="first"`: the first).

        Rows still sum to 1. A word can see another where one of its pieces can see one of the other's. Source: Clark
        et al. 2019, section 4.1.
        """
        start, _ = _words.matrix(self.query, rows)
        _, to = _words.matrix(self.key, rows)
        return replace(
            self,
            layers=[(start @ layer @ to).astype(layer.dtype) for layer in self.layers],
            query=_words.words(self.query),
            key=_words.words(self.key),
            sink=None if self.sink is None else [(row @ start.T).astype(row.dtype) for row in self.sink],
            visible=_changed(self.visible, lambda seen: (start @ seen @ to) > 0),
            signed=None
            if self.signed is None
            else [(start @ one @ to).astype(one.dtype) for one in self.signed],
        )

    def a_to_b(self) -> AttentionMaps:
        """What text A looks at in text B, special tokens left out, not renormalised."""
        return self.between(0, 1)

    def b_to_a(self) -> AttentionMaps:
        """What text B looks at in text A, special tokens left out, not renormalised."""
        return self.between(1, 0)

    @validated
    def between(self, start: Side, end: Side) -> AttentionMaps:
        """What one text looks at in another (0 is A, 1 is B), special tokens left out, not renormalised."""
        rows, columns = _sequence(self.query, start), _sequence(self.key, end)
        return self.take(rows, columns)


@validated
def wrap(
    weights: Any,
    tokens: Tokens | Sequence[str] | None = None,
    key_tokens: Tokens | Sequence[str] | None = None,
    *,
    kind: Kind = "self",
    causal: bool | None = None,
    partial: bool = False,
    visible: Sequence[Any] | Bools | None = None,
    batch: Number | None = None,
) -> AttentionMaps:
    """Maps that you or another tool already have, as `AttentionMaps`.

    Args:
        weights: ``[layer head query key]``, or a list of layers, each ``[head query key]`` or ``[batch head query
            key]`` (what a model returns as ``outputs.attentions``); numpy arrays or torch tensors of any float type.
            Also what a model's ``generate`` returns (steps of layers), a TransformerLens ``ActivationCache``, values
            that nnsight saved, what vit-pytorch's ``Recorder`` returns, and any mapping whose names have the number of
            a layer (timm's ``AttentionExtract``). They are copied: what becomes of them later does not change the maps.
        tokens: one string a query (and key), or a `Tokens`; by default those of an ``ActivationCache`` whose model has
            a tokenizer. Of ``generate`` the last token, which never looked, may be among them; it is left out.
        key_tokens: the keys' tokens where they differ (cross-attention).
        kind: ``self``, ``cross`` or ``encoder``.
        causal: whether a token sees only what stands before it; by default the zeros of the weights say so.
        partial: allow rows that do not sum to 1.
        visible: which keys each query can see, for models with windows: ``[query key]`` for all layers, or a list with
            ``[query key]`` or ``[head query key]`` for each. By default all of them, or what is `causal`.
        batch: which input of a batch of several.

    Raises:
        ShapeError: the shape or the values are not attention maps; the message names the axis.

    >>> maps = hs.wrap(np.full((1, 2, 3, 3), 1 / 3), ["the", "cat", "sat"])
    >>> maps
    AttentionMaps(1 layer × 2 heads, 3 × 3 tokens, self)
    >>> maps["L0H1"].shape
    (3, 3)
    """
    query = Tokens.of(pieces(weights, batch) if tokens is None else tokens)
    layers, index, by_steps = held(weights, batch)
    if by_steps and len(query) == layers[0].shape[1] + 1:
        query = query.take(slice(-1))
    key = query if key_tokens is None else Tokens.of(key_tokens)
    if causal is None:
        square = all(layer.ndim == 3 and layer.shape[1] == layer.shape[2] > 1 for layer in layers)
        causal = kind == "self" and square and not any(np.triu(layer, 1).any() for layer in layers)
    if visible is not None and len(visible) and np.ndim(visible[0]) == 1:
        visible = [visible] * len(layers)
    seen = _changed(visible, lambda mask: np.array(mask, np.bool_))
    return AttentionMaps(layers, query, key, kind, causal, index=index, partial=partial, visible=seen)


def _kept(axis: str, keep: Bools | slice, count: int) -> Bools | slice:
    """Which of an axis to keep. Raises `ShapeError` for a mask of another length, and for what is no mask."""
    if isinstance(keep, slice) or (keep.dtype == np.bool_ and keep.shape == (count,)):
        return keep
    raise ShapeError(f"axis {axis}: expected a slice or a mask of {count}, found {keep.dtype} {keep.shape}")


def _locked(array: Any) -> Any:
    """A view of an array that cannot be written; the array itself still can."""
    view = np.asarray(array).view()
    view.setflags(write=False)
    return view


def _check_layer(number: int, layer: AnyFloats, queries: int, keys: int) -> None:
    if layer.ndim != 3:
        raise ShapeError(
            f"layer {number}: expected 3 axes [head query key], found {layer.ndim}: {layer.shape}"
        )
    for axis, size, expected in (("query", layer.shape[1], queries), ("key", layer.shape[2], keys)):
        if size != expected:
            there = layer.shape[0] == expected
            where = f"; its axis head has {expected}: expected [head query key]" if there else ""
            raise ShapeError(
                f"layer {number}, axis {axis}: expected {expected} entries, one a token, found {size}{where}"
            )
    if not np.isfinite(layer).all():
        head, query, key = np.argwhere(~np.isfinite(layer))[0]
        raise ShapeError(f"layer {number}, head {head}: weight [{query}, {key}] is {layer[head, query, key]}")
    if layer.size and layer.min() < 0:
        head, query, key = np.unravel_index(layer.argmin(), layer.shape)
        raise ShapeError(
            f"layer {number}, head {head}: weight [{query}, {key}] is {layer[head, query, key]:.4g}, "
            "expected at least 0"
        )


def _check_visible(number: int, layer: AnyFloats, seen: Bools) -> None:
    if seen.shape not in (layer.shape, layer.shape[1:]):
        raise ShapeError(
            f"visible, layer {number}: expected [query key] {layer.shape[1:]} or [head query key] {layer.shape}, "
            f"found {seen.shape}"
        )
    hidden = np.broadcast_to(~seen, layer.shape) & (layer > DUST)
    if hidden.any():
        head, query, key = np.argwhere(hidden)[0]
        raise ShapeError(
            f"visible, layer {number}, head {head}: query {query} cannot see key {key}, expected a weight of 0, found "
            f"{layer[head, query, key]:.4g}"
        )


def _changed(visible: Sequence[Bools] | Bools | None, change: Callable[[Bools], Bools]) -> list[Bools] | None:
    """What layers see, changed; those that share an array still do."""
    if visible is None:
        return None
    kept = list(visible)  # an array's layers are made anew each time it is read
    made = {id(seen): change(seen) for seen in kept}
    return [made[id(seen)] for seen in kept]


def _check_rows(number: int, total: AnyFloats) -> None:
    wrong = np.abs(total - 1.0) > ROW_TOLERANCE
    if wrong.any():
        head, query = np.argwhere(wrong)[0]
        raise ShapeError(
            f"layer {number}, head {head}, axis key: row {query} sums to {total[head, query]:.4f}, expected 1 "
            "(softmax over keys; pass partial=True for a part of a map)"
        )


def _alike(some: Tokens, others: Tokens, at: slice) -> bool:
    """Whether tokens are called as others are there, and stand for the same places."""
    if some.pieces != others.pieces[at]:
        return False
    one, other = some.places, others.places
    return one is None or other is None or np.array_equal(one, other[at], equal_nan=True)


def _sequence(tokens: Tokens, which: int) -> Bools:
    if tokens.sequence_ids is None or not (tokens.sequence_ids == which).any():
        raise InputError(
            f"these maps have no text {'AB'[which]}: capture a pair, hs.capture(model, A, pair=B)"
        )
    return tokens.sequence_ids == which


def _span(numbers: Sequence[int] | range) -> str:
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"only {numbers[0]}"
