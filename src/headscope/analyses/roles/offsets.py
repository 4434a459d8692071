"""What heads would score that look at places alone: the null of roles that name tokens.

A head that looks at the previous token gives much to the pieces of its word, without knowing words. So beside each
score stands that of the head's own offsets: a row gives to the key at offset o what the head gives there on average
over all rows that see a key at o, in proportion, so that rows keep their sums. Nothing of the tokens is in it but
their number; a score above it says that the head looks at what stands there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import torch
from torch import Tensor

from headscope.attention.record import AttentionRecord
from headscope.core.arrays import Floats
from headscope.corpora import Corpus, Example
from headscope.measures.choose import choose
from headscope.measures.measure import Measure
from headscope.measures.sums import Documents, Sums
from headscope.measures.surface import SMOOTHING
from headscope.models import Model
from headscope.runs.batches import examples, over_blocks, tokens_of, worked
from headscope.runs.forward import seen_within, self_attention
from headscope.runs.options import RunOptions
from headscope.runs.rows import Found, RowSums

INPUTS = 500
"""How many inputs, at most, offsets are taken from: where a head looks settles soon."""

_ROUNDING = 1e-5
"""How far from 1 the sums of rows may be by rounding."""


class Look:
    """What is told of some inputs in one pass: what the heads' own offsets score, and, on request, measures.

    Args:
        model: from `headscope.load`.
        of_tokens: names of the measures whose scores by offsets are told, from the first `INPUTS` inputs.
        change: makes of each call of attention the one that is looked at in its place.
        measures: what is measured of that over all inputs.
    """

    def __init__(
        self,
        model: Model,
        of_tokens: Sequence[str],
        *,
        change: Callable[[AttentionRecord], AttentionRecord] | None = None,
        measures: Sequence[Measure] = (),
    ) -> None:
        self._model, self._of_tokens, self._change, self._measures = model, of_tokens, change, measures
        self._documents = Documents([measure.name for measure in measures])
        self._profiles = Profiles()
        self._kept: list[tuple[Sequence[Example], list[OffsetTotals]]] = []

    @property
    def all_inputs(self) -> bool:
        """Whether all inputs are looked at, or the first `INPUTS`."""
        return bool(self._measures)

    def measured(self, batch: Sequence[Example], records: Sequence[AttentionRecord]) -> Found:
        """What is measured of the attention of one batch, for `take`; notes nothing."""
        records = self._changed(records)

        def put(rows: RowSums) -> None:
            for record in records:
                rows.reduce(record)

        return self._measure(batch, self._measures, put)

    def take(self, batch: Sequence[Example], rows: Found) -> None:
        """Add what was measured of one batch."""
        _add(self._documents, batch, rows)

    def see(self, batch: Sequence[Example], records: Sequence[AttentionRecord]) -> None:
        """Take in where the heads look in one of the first batches."""
        if self._of_tokens:
            lengths = [len(tokens_of(example)) for example in batch]
            seen: list[OffsetTotals] = []
            for record in self._changed(records):
                seen.append(self._profiles.add(record, lengths, seen))
            self._kept.append((batch, seen))

    def sums(self) -> Sums:
        """The sums of the measures."""
        return self._documents.close()

    def scores(self) -> dict[str, Floats]:
        """What each head's own offsets score, ``[layer head]`` by measure; NaN where no row counts."""
        if not self._of_tokens:
            return {}
        chosen = choose(self._of_tokens)
        documents = Documents([measure.name for measure in chosen])
        for batch, seen in self._kept:

            def put(rows: RowSums, layers: Sequence[OffsetTotals] = seen) -> None:
                for one in layers:
                    rows.reduce_matrix(one.record, self._profiles.matrix(one), "own offsets")

            _add(documents, batch, self._measure(batch, chosen, put))
        return dict(zip(documents.labels["measures"], documents.close().value(), strict=True))

    def _changed(self, records: Sequence[AttentionRecord]) -> Sequence[AttentionRecord]:
        return records if self._change is None else [self._change(record) for record in records]

    def _measure(
        self, batch: Sequence[Example], measures: Sequence[Measure], put: Callable[[RowSums], None]
    ) -> Found:
        tokens = [tokens_of(example) for example in batch]
        rows = RowSums(self._model, measures, tokens, SMOOTHING[None], Counter())
        put(rows)
        return rows.close()


def _add(documents: Documents, batch: Sequence[Example], rows: Found) -> None:
    for place, example in enumerate(batch):
        of = (array[place] for array in (rows.sums, rows.chance, rows.divisors))
        documents.add(example.document, rows.tokens[place], rows.layers, *of)


def look(
    model: Model, corpus: Corpus | Iterable[Example], looks: Sequence[Look], options: RunOptions
) -> None:
    """Show each look the attention of some inputs.

    Args:
        model: from `headscope.load`.
        corpus: as in `headscope.measure`.
        looks: of this model.
        options: how it goes through the corpus; its engine measures what is measured of all inputs, and the first are
            looked at here.
    """
    inputs: Iterable[Example] = examples(model, corpus, options.limit)
    full = [one for one in looks if one.all_inputs]
    if not full:
        inputs, options = islice(inputs, INPUTS), replace(options, engine=None)
    work = _Measured(model, full)
    seen = 0
    for block in over_blocks(
        model, corpus, work, replace(options, limit=None, progress=False), inputs=inputs
    ):
        for batch, results in block:
            for one, result in zip(full, results, strict=True):
                one.take(batch, result)
            for _, records in worked([batch] if seen < INPUTS else [], work.attention):
                for one in looks:
                    one.see(batch, records)
            seen += len(batch)


class _Measured:
    """What looks measure of a batch. Where that is done here, the attention of the last one is kept for `Look.see`."""

    def __init__(self, model: Model, looks: Sequence[Look]) -> None:
        self._model = model
        self._looks = looks
        self._last: tuple[Sequence[Example], list[AttentionRecord]] | None = None

    def __call__(self, batch: Sequence[Example]) -> list[Found]:
        if not self._looks:
            return []
        records = self.attention(batch)
        self._last = batch, records
        return [one.measured(batch, records) for one in self._looks]

    def attention(self, batch: Sequence[Example]) -> list[AttentionRecord]:
        if self._last is not None and self._last[0] is batch:
            return self._last[1]
        self._last = None  # not two at a time
        return self_attention(self._model, [tokens_of(example) for example in batch])


def offset_scores(
    model: Model, corpus: Corpus | Iterable[Example], measures: Sequence[str], *, batch_size: int = 32
) -> dict[str, Floats]:
    """What each head's own offsets score, ``[layer head]`` by measure; NaN where no row counts.

    Args:
        model: from `headscope.load`.
        corpus: as in `headscope.measure`; its first `INPUTS` inputs are read.
        measures: names.
        batch_size: as in `headscope.measure`.
    """
    one = Look(model, measures)
    look(model, corpus, [one], RunOptions(batch_size))
    return one.scores()


@dataclass(frozen=True, eq=False)
class OffsetTotals:
    """What one call of attention sees and gives in all, without its weights.

    Attributes:
        record: the call, without queries and keys.
        pairs: which keys each query sees, padding left out, ``[input head|1 query key]``.
        totals: the sums of the rows ``[input head query]``; None for 1 where a row sees a key.
    """

    record: AttentionRecord
    pairs: Tensor
    totals: Tensor | None

    @classmethod
    def of(
        cls, record: AttentionRecord, weights: Tensor, pairs: Tensor, known: Sequence[OffsetTotals]
    ) -> OffsetTotals:
        """That of a call and its weights on these pairs; what is the same as in another layer is kept once."""
        totals = weights.sum(-1, dtype=torch.float64)
        same = next((other for other in known if torch.equal(other.pairs, pairs)), None)
        mask = record.mask
        if same is not None:
            pairs = same.pairs
            if mask is not None and same.record.mask is not None and mask.dtype == same.record.mask.dtype:
                mask = same.record.mask
        q, k = (tensor.new_empty((*tensor.shape[:-1], 0)) for tensor in (record.q, record.k))
        bare = replace(record, q=q, k=k, v=None, mask=mask, bias=None, given=None)
        complete = (totals - pairs.any(-1).double()).abs().amax() < _ROUNDING
        return cls(bare, pairs, None if complete else totals)


class Profiles:
    """How much each head gives to each offset, over the rows that see a key there."""

    def __init__(self) -> None:
        self._given: dict[int, Tensor] = {}  # [head offset], from −(width − 1) to width − 1
        self._seen: dict[int, Tensor] = {}

    def add(
        self, record: AttentionRecord, lengths: Sequence[int], known: Sequence[OffsetTotals] = ()
    ) -> OffsetTotals:
        """Take in one layer's weights over inputs of these lengths; `known` as in `Seen.of`."""
        layer, pairs = record.layer, seen_within(record, lengths)
        weights = record.weights() * pairs
        given, seen = (tensor.sum(0, dtype=torch.float64) for tensor in (weights, pairs))
        for kept, summed in ((self._given, given), (self._seen, seen.expand_as(given))):
            added = _by_offset(summed)
            before = kept.get(layer)
            kept[layer] = added if before is None else _sum(before, added)
        return OffsetTotals.of(record, weights, pairs, known)

    def matrix(self, seen: OffsetTotals) -> Tensor:
        """What the heads of a layer would give by their offsets alone, ``[input head query key]``."""
        layer, width = seen.record.layer, seen.record.shape[-1]
        profile = self._given[layer] / self._seen[layer].clamp(min=1)
        middle = (profile.shape[-1] - 1) // 2
        given = profile[:, middle - width + 1 : middle + width][:, _offsets(width)] * seen.pairs
        sums = given.sum(-1, keepdim=True)
        given /= torch.where(sums > 0, sums, 1.0)
        return given if seen.totals is None else given.mul_(seen.totals[..., None])


def _offsets(width: int) -> Tensor:
    """The place of each pair's offset among those from −(width − 1), ``[query key]``."""
    place = torch.arange(width)
    return place - place[:, None] + width - 1


def _by_offset(pairs: Tensor) -> Tensor:
    """Sums over the pairs of each offset, ``[head query key] -> [head offset]``."""
    heads, width, _ = pairs.shape
    sums = pairs.new_zeros(heads, 2 * width - 1)
    return sums.index_add_(1, _offsets(width).flatten().to(pairs.device), pairs.reshape(heads, -1))


def _sum(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two arrays by offset; offset 0 stands in the middle of each."""
    short, long = sorted((a, b), key=lambda array: array.shape[1])
    room = (long.shape[1] - short.shape[1]) // 2
    return long + torch.nn.functional.pad(short, (room, room))
