"""Rows of one batch, reduced layer by layer to sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from headscope.attention.fused import RowStatistics, Wanted, row_statistics, why_blocks
from headscope.attention.record import AttentionRecord
from headscope.errors import RefusedError
from headscope.measures import measure as definitions
from headscope.measures.measure import Matrix, Measure
from headscope.measures.sums import Floats
from headscope.models import Model
from headscope.stream.extras import extras
from headscope.stream.forward import expect_square
from headscope.tokens import BoolArray, Tokens


@dataclass(frozen=True, eq=False)
class Found:
    """The sums over rows of one batch.

    Attributes:
        tokens: the inputs.
        layers: the model's index of each layer.
        sums: over the rows that count ``[input measure layer head]``; NaN for heads not there.
        chance: the same of uniform attention over the visible keys ``[input measure layer]``; NaN for measures of
            another matrix than the weights.
        divisors: what makes means of them ``[input measure]``.
        finite: whether the figures of every row were finite numbers ``[input]``.
    """

    tokens: Sequence[Tokens]
    layers: Sequence[int]
    sums: Floats
    chance: Floats
    divisors: Floats
    finite: BoolArray


class Rows:
    """Reduces the attention calls of one forward pass to sums over rows.

    Args:
        model: whose calls they are.
        measures: the definitions, all of one matrix.
        tokens: the inputs.
        smoothing: of entropies, see `Wanted`.
        routes: is told how many calls were reduced in which way, and why.
    """

    def __init__(
        self,
        model: Model,
        measures: Sequence[Measure],
        tokens: Sequence[Tokens],
        smoothing: float,
        routes: Counter[str],
    ) -> None:
        self._tokens, self._measures, self._routes, self._causal = tokens, measures, routes, model.causal
        self._classes = definitions.classes(measures)
        width = max(map(len, tokens))
        rows = np.zeros((len(tokens), len(measures), width))
        columns = np.zeros((len(tokens), width, len(self._classes)))
        self._divisors: Floats = np.zeros((len(tokens), len(measures)))
        for place, each in enumerate(tokens):
            rows[place, :, : len(each)], self._divisors[place] = definitions.selection(
                measures, each, model.causal
            )
            for column, name in enumerate(self._classes):
                columns[place, : len(each), column] = definitions.mask(each, name)
        device = model.device
        statistics = {measure.statistic for measure in measures}
        self._wanted = Wanted(
            definitions.offsets(measures),
            "entropy" in statistics,
            "largest" in statistics,
            smoothing,
            extras(measures, tokens, width, device),
        )
        self._rows = torch.as_tensor(rows, device=device)
        self._columns = torch.as_tensor(columns, dtype=torch.float32, device=device)
        self._lengths = torch.tensor([len(each) for each in tokens], device=device)
        self._found: dict[int, tuple[Floats, Floats | float]] = {}
        self._uniform: dict[object, tuple[Tensor | None, Floats]] = {}

    def reduce(self, record: AttentionRecord) -> None:
        """Take in the weights of one attention call."""
        if record.kind == "cross":
            return
        expect_square(record, len(self._tokens), self._rows.shape[2], self._found)
        reason = why_blocks(record, self._wanted)
        self._routes["fused" if reason is None else f"blocks ({reason})"] += 1
        statistics = row_statistics(record, self._columns, self._wanted)
        self._found[record.layer] = (self._sum(statistics), self._chance(record))

    def reduce_matrix(self, record: AttentionRecord, matrix: Tensor, called: str) -> None:
        """Take in another matrix ``[batch head query key]`` of one attention call; hidden keys do not count."""
        expect_square(record, len(self._tokens), self._rows.shape[2], self._found)
        self._routes[f"whole maps ({called})"] += 1
        statistics = row_statistics(replace(record, given=matrix), self._columns, self._wanted)
        self._found[record.layer] = (self._sum(statistics), np.nan)

    def close(self) -> Found:
        """The sums, when the forward pass is over."""
        if not self._found:
            raise RefusedError("no self-attention was seen in the forward pass")
        layers = sorted(self._found)
        heads = max(layer_sums.shape[2] for layer_sums, _ in self._found.values())
        inputs, measures = self._divisors.shape
        sums = np.full((inputs, measures, len(layers), heads), np.nan)
        chance = np.zeros((inputs, measures, len(layers)))
        finite = np.ones(inputs, np.bool_)
        for place, layer in enumerate(layers):
            layer_sums, uniform = self._found[layer]
            sums[:, :, place, : layer_sums.shape[2]] = layer_sums
            chance[:, :, place] = uniform
            finite &= np.isfinite(layer_sums).all((1, 2))
        return Found(self._tokens, layers, sums, chance, self._divisors, finite)

    def _sum(self, statistics: RowStatistics) -> Floats:
        """Sums over the rows that count, ``[input measure head]``."""
        sums: list[Tensor] = []
        own = iter(statistics.extras)
        for place, measure in enumerate(self._measures):
            if measure.statistic in ("pairs", "rows"):
                row = next(own)
            elif measure.statistic == "offset":
                row = statistics.offsets[measure.offset]
            elif measure.statistic == "mass":
                row = statistics.mass[..., self._classes.index(measure.of)]
            else:
                row = statistics.entropy if measure.statistic == "entropy" else statistics.largest
            assert row is not None
            sums.append((row.double() @ self._rows[:, place, :, None])[..., 0])
        return torch.stack(sums, 1).cpu().numpy()

    def _chance(self, record: AttentionRecord) -> Floats:
        """Sums of uniform attention over the visible keys, ``[input measure]``."""
        mask = record.mask
        causal = record.is_causal or (mask is None and self._causal)
        key = None if mask is None else (mask.data_ptr(), mask.shape, mask.stride())
        if (key, causal) not in self._uniform:
            if mask is None and not self._wanted.extras:
                rows = self._evenly(causal)
            else:
                rows = self._blank(record, mask, causal)
            self._uniform[key, causal] = (mask, self._sum(rows)[:, :, 0])  # a kept mask keeps its address
        return self._uniform[key, causal][1]

    def _evenly(self, causal: bool) -> RowStatistics:
        """Uniform attention over all tokens of an input, or in a causal model over those so far."""
        columns = self._columns.double()
        place = torch.arange(columns.shape[1], device=columns.device)
        keys = (place + 1 if causal else self._lengths[:, None]).expand(columns.shape[:2]).double()
        mass = columns.cumsum(1) if causal else columns.sum(1, keepdim=True)
        weight = 1.0 / keys[:, None]
        offsets = {offset: weight * (not causal or offset <= 0) for offset in self._wanted.offsets}
        return RowStatistics((mass / keys[..., None])[:, None], offsets, -weight.log(), weight)

    def _blank(self, record: AttentionRecord, mask: Tensor | None, causal: bool) -> RowStatistics:
        """Uniform attention over the keys that are seen: that of a head whose queries are 0."""
        inputs, _, tokens, _ = record.shape
        zeros = torch.zeros(inputs, 1, tokens, 1, dtype=torch.float64, device=record.q.device)
        if mask is None:
            mask = (torch.arange(tokens, device=zeros.device) < self._lengths[:, None])[:, None, None]
        head = mask[..., :1, :, :] if mask.ndim > 2 else mask
        even = replace(record, q=zeros, k=zeros, v=None, mask=head, is_causal=causal)
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
    for matrix, each in results.items():
        if list(each.layers) != list(first.layers) or each.sums.shape[3] != first.sums.shape[3]:
            raise RefusedError(
                f"measures of the {matrix}: expected the layers {list(first.layers)} and "
                f"{first.sums.shape[3]} heads of the other measures, found {list(each.layers)} and "
                f"{each.sums.shape[3]}"
            )
    shape = (len(first.tokens), len(order))
    sums = np.empty((*shape, *first.sums.shape[2:]))
    chance, divisors = np.empty((*shape, len(first.layers))), np.empty(shape)
    for matrix, each in results.items():
        places = [place for place, measure in enumerate(order) if measure.matrix == matrix]
        sums[:, places], chance[:, places], divisors[:, places] = each.sums, each.chance, each.divisors
    finite = np.all([each.finite for each in results.values()], 0)
    return Found(first.tokens, first.layers, sums, chance, divisors, finite)


_ARRAYS = ("sums", "chance", "divisors", "finite")
