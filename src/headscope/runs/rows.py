"""Rows of one batch, reduced layer by layer to sums.

Measures of pairs and of whole rows, for the blocks of `headscope.attention.rows`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from headscope.attention.fused import fused
from headscope.attention.record import AttentionRecord
from headscope.attention.rows import Extra, RowStatistics, WantedStatistics, row_statistics
from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.tokens import Tokens
from headscope.errors import RefusedError
from headscope.measures import measure as definitions
from headscope.measures.measure import Matrix, Measure
from headscope.runs.forward import expect_square, foreign

_KEPT = 1 << 24
"""Pairs of a batch up to which what they are worth is kept for all layers; beyond, it is asked for again."""


def extras(
    measures: Sequence[Measure], tokens: Sequence[Tokens], width: int, device: torch.device
) -> tuple[Extra, ...]:
    """What computes the measures of pairs and rows among these, in their order, of one batch of inputs.

    Args:
        measures: the definitions.
        tokens: the inputs.
        width: tokens of the longest, padding included.
        device: where the weights are.
    """
    made: list[Extra] = []
    for measure in measures:
        if measure.statistic == "pairs":
            worth = _Pairs(measure.worth, tokens, width, device)
            made.append(
                worth
                if measure.among is None
                else _Mean(worth, _Pairs(measure.counted, tokens, width, device))
            )
        elif measure.statistic == "rows":
            made.append(_ExtraRows(measure, tokens))
    return tuple(made)


class _Pairs:
    """Sums of weights by what pairs are worth."""

    def __init__(
        self,
        worth: Callable[[Tokens, Ints], Floats],
        tokens: Sequence[Tokens],
        width: int,
        device: torch.device,
    ) -> None:
        self._of, self._tokens, self._width, self._device = worth, tokens, width, device
        small = len(tokens) * width * width <= _KEPT
        self._kept = self._worth(slice(0, len(tokens)), slice(0, width)) if small else None
        self._some = None if self._kept is None else np.asarray((self._kept != 0).any(0).cpu())

    def __call__(self, weights: Tensor, items: slice, rows: slice, seen: Tensor) -> Tensor:
        if self._kept is None or self._some is None:
            worth, some = self._worth(items, rows), None
        else:
            worth, some = self._kept[items, rows], self._some[rows]
        keys = _span(some, weights.shape[-1])
        worth = worth[..., keys].to(weights.dtype)
        return (weights[..., keys] * worth[:, None]).sum(-1)

    def _worth(self, items: slice, rows: slice) -> Tensor:
        """What these pairs are worth, ``[item row key]``; nothing in padding."""
        inputs = self._tokens[items]
        worth = np.zeros((len(inputs), rows.stop - rows.start, self._width), np.float32)
        for pairs, tokens in zip(worth, inputs, strict=True):
            queries = _queries(rows, tokens)
            pairs[: len(queries), : len(tokens)] = self._of(tokens, queries)
        return torch.as_tensor(worth, device=self._device)


class _Mean:
    """Sums of weights by what pairs are worth, over those of the keys that are counted."""

    def __init__(self, worth: _Pairs, counted: _Pairs) -> None:
        self._worth, self._counted = worth, counted

    def __call__(self, weights: Tensor, items: slice, rows: slice, seen: Tensor) -> Tensor:
        given = self._counted(weights, items, rows, seen)
        return self._worth(weights, items, rows, seen) / torch.where(given > 0, given, 1.0)


def _span(some: Bools | None, width: int) -> slice:
    """The keys from the first to the last that is worth anything to any row ``[row key]``, within a width."""
    if some is None:
        return slice(0, width)
    keys = np.flatnonzero(some[:, :width].any(0))
    return slice(int(keys[0]), int(keys[-1]) + 1) if len(keys) else slice(0, 0)


class _ExtraRows:
    def __init__(self, measure: Measure, tokens: Sequence[Tokens]) -> None:
        self._measure, self._tokens = measure, tokens

    def __call__(self, weights: Tensor, items: slice, rows: slice, seen: Tensor) -> Tensor:
        figures = np.zeros(weights.shape[:3])
        array, sight = weights.double().cpu().numpy(), seen.cpu().numpy()
        sight = np.broadcast_to(sight, (len(array), sight.shape[1], *array.shape[2:]))
        for result, given, visible, tokens in zip(figures, array, sight, self._tokens[items], strict=True):
            queries = _queries(rows, tokens)
            if not len(queries):
                continue
            ready = _all_keys(given, len(queries), len(tokens))
            shown = _all_keys(visible, len(queries), len(tokens)) if self._measure.looks else None
            result[:, : len(queries)] = self._measure.of_rows(ready, tokens, queries, shown)
        return torch.as_tensor(figures, dtype=weights.dtype, device=weights.device)


def _all_keys(block: np.ndarray, queries: int, keys: int) -> np.ndarray:
    """An input's own rows of a block, with all of its keys: 0 for those beyond the block's."""
    full = np.zeros((len(block), queries, keys), block.dtype)
    there = min(block.shape[-1], keys)
    full[..., :there] = block[:, :queries, :there]
    return full


def _queries(rows: slice, tokens: Tokens) -> Ints:
    """Which of these rows an input has."""
    return np.arange(int(rows.start), min(int(rows.stop), len(tokens)), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Found:
    """The sums over rows of one batch.

    Attributes:
        tokens: the inputs.
        layers: the model's index of each layer.
        sums: over the rows that count ``[input measure layer head]``; NaN for heads not there.
        chance: the same of uniform attention over the visible keys, like `sums`; NaN for measures of another matrix
            than the weights.
        divisors: what makes means of them, like `sums`; 0 for heads not there.
        finite: whether the figures of every row were finite numbers ``[input]``.
    """

    tokens: Sequence[Tokens]
    layers: Sequence[int]
    sums: Floats
    chance: Floats
    divisors: Floats
    finite: Bools


@dataclass(frozen=True, eq=False)
class _LayerKind:
    """What the layers of one kind see, and so which rows count.

    Attributes:
        seen: which keys each query can see, bool ``[input|1 head|1 query key]``, padding left out; None for what is
            plain: all keys or, in a causal model, those up to the query.
        rows: which rows count ``[input measure head|1 query]``.
        divisors: ``[input measure head|1]``.
    """

    seen: Tensor | None
    rows: Tensor
    divisors: Floats

    @cached_property
    def heads(self) -> int:
        """How many heads see something of their own: 1 where they agree."""
        return self.rows.shape[2]


class Looks(Protocol):
    """Whose attention calls are reduced: a `Model`, or `headscope.attention.recorded.Recorded`."""

    @property
    def causal(self) -> bool:
        """Whether no query sees a key after it."""
        ...

    @property
    def device(self) -> torch.device:
        """Where figures are computed."""
        ...


class RowSums:
    """Reduces the attention calls of one forward pass to sums over rows.

    Args:
        model: whose calls they are.
        measures: the definitions, all of one matrix.
        tokens: the inputs.
        smoothing: of entropies, see `WantedStatistics`.
        routes: is told how many calls were reduced in which way.
        change: makes of each call the one that is reduced in its place.
    """

    def __init__(
        self,
        model: Looks,
        measures: Sequence[Measure],
        tokens: Sequence[Tokens],
        smoothing: float,
        routes: Counter[str],
        change: Callable[[AttentionRecord], AttentionRecord] | None = None,
    ) -> None:
        self._tokens, self._measures, self._routes, self._causal = tokens, measures, routes, model.causal
        self._change = change
        self._classes = definitions.classes(measures)
        width = max(map(len, tokens))
        columns = np.zeros((len(tokens), width, len(self._classes)))
        for place, item in enumerate(tokens):
            for column, name in enumerate(self._classes):
                columns[place, : len(item), column] = definitions.mask(item, name)
        device = model.device
        statistics = {measure.statistic for measure in measures}
        self._wanted = WantedStatistics(
            definitions.offsets(measures),
            "entropy" in statistics,
            "largest" in statistics,
            smoothing,
            extras(measures, tokens, width, device),
        )
        self._width = width
        self._plain = self._kind_of(None, device)
        self._kinds: list[tuple[_LayerKind, Tensor]] = []
        self._by_mask: dict[object, tuple[Tensor, _LayerKind]] = {}
        self._columns = torch.as_tensor(columns, dtype=torch.float32, device=device)
        self._lengths = torch.tensor([len(item) for item in tokens], device=device)
        self._results: dict[int, tuple[Floats, Floats | float, Floats]] = {}
        self._uniform: dict[_LayerKind, Floats] = {}

    def reduce(self, record: AttentionRecord) -> None:
        """Take in the weights of one attention call."""
        if foreign(record, self._tokens):
            return
        expect_square(record, len(self._tokens), self._width, self._results)
        record = record if self._change is None else self._change(record)
        alone = self._change is None and record.given is None and record.route == "interface"
        wanted = replace(self._wanted, output=alone)
        statistics = fused(record, self._columns, wanted)
        self._routes["blocks of rows" if statistics is None else "a fused kernel"] += 1
        if statistics is None:
            statistics = row_statistics(record, self._columns, wanted)
        record.output = statistics.output
        kind = self._kind(record)
        self._results[record.layer] = (self._sum(statistics, kind), self._chance(record, kind), kind.divisors)

    def reduce_matrix(self, record: AttentionRecord, matrix: Tensor, called: str) -> None:
        """Take in another matrix ``[batch head query key]`` of one attention call; hidden keys do not count."""
        expect_square(record, len(self._tokens), self._width, self._results)
        self._routes[f"whole maps ({called})"] += 1
        statistics = row_statistics(replace(record, given=matrix), self._columns, self._wanted)
        kind = self._kind(record)
        self._results[record.layer] = (self._sum(statistics, kind), np.nan, kind.divisors)

    def close(self) -> Found:
        """The sums, when the forward pass is over."""
        if not self._results:
            raise RefusedError("no self-attention was seen in the forward pass")
        layers = sorted(self._results)
        heads = max(result[0].shape[2] for result in self._results.values())
        shape = (len(self._tokens), len(self._measures), len(layers), heads)
        sums, chance, divisors = np.full(shape, np.nan), np.zeros(shape), np.zeros(shape)
        finite = np.ones(len(self._tokens), np.bool_)
        for place, layer in enumerate(layers):
            layer_sums, uniform, of = self._results[layer]
            index = (slice(None), slice(None), place, slice(layer_sums.shape[2]))
            sums[index], chance[index], divisors[index] = layer_sums, uniform, of
            finite &= np.isfinite(layer_sums).all((1, 2))
        return Found(self._tokens, layers, sums, chance, divisors, finite)

    def _kind(self, record: AttentionRecord) -> _LayerKind:
        """What the layer of a call sees; layers of one kind share it."""
        mask = record.mask
        if mask is None and (record.is_causal or self._causal) == self._causal:
            return self._plain
        key = (None if mask is None else (mask.data_ptr(), mask.shape, mask.stride()), record.is_causal)
        if key not in self._by_mask:
            kept = record.q if mask is None else mask  # what is kept keeps its address
            self._by_mask[key] = kept, self._kind_seen(record)
        return self._by_mask[key][1]

    def _kind_seen(self, record: AttentionRecord) -> _LayerKind:
        seen = record.sight()
        there = torch.arange(self._width, device=seen.device) < self._lengths.to(seen.device)[:, None]
        pairs = (there[:, :, None] & there[:, None])[:, None]
        seen = seen & pairs
        seen = seen[:, :1] if bool((seen == seen[:, :1]).all()) else seen
        if not self._kinds:
            self._kinds.append((self._plain, pairs.tril() if self._causal else pairs))
        for kind, known in self._kinds:
            if torch.equal(known, seen):
                return kind
        kind = self._kind_of(seen, seen.device)
        self._kinds.append((kind, seen))
        return kind

    def _kind_of(self, seen: Tensor | None, device: torch.device) -> _LayerKind:
        """The kind of layer that sees this ``[input head|1 query key]``; None for what is plain."""
        heads = 1 if seen is None else seen.shape[1]
        rows = np.zeros((len(self._tokens), len(self._measures), heads, self._width))
        divisors = np.zeros(rows.shape[:3])
        for place, item in enumerate(self._tokens):
            size = len(item)
            sight = self._causal if seen is None else seen[place, :, :size, :size].cpu().numpy()
            selected, of = definitions.selection(self._measures, item, sight)
            rows[place, :, :, :size] = selected.reshape(len(selected), heads, size)
            divisors[place] = of.reshape(len(of), heads)
        return _LayerKind(seen, torch.as_tensor(rows, device=device), divisors)

    def _sum(self, statistics: RowStatistics, kind: _LayerKind) -> Floats:
        """Sums over the rows that count, ``[input measure head]``."""
        sums: list[Tensor] = []
        extra_rows = iter(statistics.extras)
        for place, measure in enumerate(self._measures):
            if measure.statistic in ("pairs", "rows"):
                row = next(extra_rows)
            elif measure.statistic == "offset":
                row = statistics.offsets[measure.offset]
            elif measure.statistic == "mass":
                row = statistics.mass[..., self._classes.index(measure.of)]
            else:
                row = statistics.entropy if measure.statistic == "entropy" else statistics.largest
            assert row is not None
            counted = kind.rows[:, place]
            if kind.heads == 1:
                sums.append((row.double() @ counted.mT)[..., 0])
            else:
                sums.append((row.double() * counted).sum(-1))
        return torch.stack(sums, 1).cpu().numpy()

    def _chance(self, record: AttentionRecord, kind: _LayerKind) -> Floats:
        """Sums of uniform attention over the visible keys, ``[input measure head|1]``."""
        if kind not in self._uniform:
            plain = kind.seen is None and not self._wanted.extras
            rows = self._evenly(self._causal) if plain else self._blank(record, kind)
            self._uniform[kind] = self._sum(rows, kind)
        return self._uniform[kind]

    def _evenly(self, causal: bool) -> RowStatistics:
        """Uniform attention over all tokens of an input, or in a causal model over those so far."""
        columns = self._columns.double()
        place = torch.arange(columns.shape[1], device=columns.device)
        keys = (place + 1 if causal else self._lengths[:, None]).expand(columns.shape[:2]).double()
        mass = columns.cumsum(1) if causal else columns.sum(1, keepdim=True)
        weight = 1.0 / keys[:, None]
        offsets = {offset: weight * (not causal or offset <= 0) for offset in self._wanted.offsets}
        return RowStatistics((mass / keys[..., None])[:, None], offsets, -weight.log(), weight)

    def _blank(self, record: AttentionRecord, kind: _LayerKind) -> RowStatistics:
        """Uniform attention over the keys that are seen: that of heads whose queries are 0."""
        inputs, _, tokens, _ = record.shape
        zeros = torch.zeros(inputs, kind.heads, tokens, 1, dtype=torch.float64, device=record.q.device)
        mask = kind.seen
        if mask is None:
            mask = (torch.arange(tokens, device=zeros.device) < self._lengths[:, None])[:, None, None]
        causal = kind.seen is None and self._causal
        even = replace(record, q=zeros, k=zeros, v=None, mask=mask, is_causal=causal)
        even = replace(even, bias=None, softcap=None, sinks=None, given=None)
        return row_statistics(even, self._columns, replace(self._wanted, smoothing=0.0))


def side_by_side(parts: Sequence[Found]) -> Found:
    """The parts of one batch, inputs in their order."""
    if len(parts) == 1:
        return parts[0]
    return Found(
        [tokens for part in parts for tokens in part.tokens],
        parts[0].layers,
        *(np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS),
    )


def by_matrix(results: Mapping[Matrix, Found], order: Sequence[Measure]) -> Found:
    """What passes over several matrices found, measures in their order.

    Raises `RefusedError` where the passes saw different layers.
    """
    first = next(iter(results.values()))
    if len(results) == 1:
        return first
    for matrix, result in results.items():
        if list(result.layers) != list(first.layers) or result.sums.shape[3] != first.sums.shape[3]:
            raise RefusedError(
                f"measures of the {matrix}: expected the layers {list(first.layers)} and "
                f"{first.sums.shape[3]} heads of the other measures, found {list(result.layers)} and "
                f"{result.sums.shape[3]}"
            )
    sums, chance, divisors = np.empty((3, len(first.tokens), len(order), *first.sums.shape[2:]))
    for matrix, result in results.items():
        places = [place for place, measure in enumerate(order) if measure.matrix == matrix]
        sums[:, places], chance[:, places], divisors[:, places] = result.sums, result.chance, result.divisors
    finite = np.all([result.finite for result in results.values()], 0)
    return Found(first.tokens, first.layers, sums, chance, divisors, finite)


_ARRAYS = ("sums", "chance", "divisors", "finite")
