"""Exact statistics of attention rows by blocks of scores that stay in the processor's cache, of any attention call.

A few rows of a few heads at a time are scored, put through softmax and reduced; no map is ever whole, so
memory is linear in length. What the values give is a part of it (`Wanted.output`), so that the model need not attend
again. With m a row's largest score, entropy = m − ln p(m) − Σⱼ pⱼ sⱼ. What these lose where they cancel is about what
the scores have lost to rounding, 1e-7 of the largest; taking m off every score first would be one more pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from headscope.attention.record import AttentionRecord, shown_by

HIDDEN = -1e30
"""What hides a key: finite, so that a weight of 0 times its score is 0."""

_DEAD = -5e29  # a row whose largest score is below this sees nothing
_THREAD_ELEMENTS = 1 << 17  # scores of a block for each thread: half a megabyte
_DEVICE_ELEMENTS = 1 << 24  # the same on an accelerator
_ROWS = 64  # heads are split before a block gets fewer rows than this: products of fewer are slow
_LONGER = 4  # a block may be so many times as large for twice as many rows of long inputs: products matter more there

Extra = Callable[[Tensor, slice, slice, Tensor], Tensor]
"""A statistic that the caller defines: ``(weights [item head row key], items, rows, seen) -> [item head row]``.

The keys are all of the input's up to some last one; `seen` are those that each row can see, bool ``[item|1 head|1 row|1
key]``. It gets a block of rows of some inputs and heads, and must not rely on which."""


@dataclass(frozen=True)
class WantedStatistics:
    """Which statistics of a row to compute, beside the mass on classes of keys.

    Attributes:
        offsets: o for the weight that row i gives to key i + o.
        entropy: −Σ p ln p over the keys, in nats.
        largest: the largest weight.
        smoothing: s for the entropy of ``(1 − s) p + s / visible keys`` instead (the released code of
            Clark et al. 2019: 0.0001).
        extras: more statistics.
        output: what the values give by the weights, so that the model need not attend again.
    """

    offsets: tuple[int, ...] = ()
    entropy: bool = False
    largest: bool = False
    smoothing: float = 0.0
    extras: tuple[Extra, ...] = ()
    output: bool = False


@dataclass
class RowStatistics:
    """Statistics of every row of one attention call. A row that sees no key has 0 everywhere.

    With sinks all of it is about the keys: what a row gives to its sink is missing from every sum.

    Attributes:
        mass: what each row gives to classes of keys, ``[batch head query class]``.
        offsets: the weight at each wanted offset, ``[batch head query]``; 0 where that key does not exist.
        entropy: in nats, ``[batch head query]``.
        largest: ``[batch head query]``.
        extras: the wanted extras, ``[batch head query]`` each.
        output: of the values, ``[batch head query value_dim]``.
    """

    mass: Tensor
    offsets: dict[int, Tensor] = field(default_factory=dict[int, Tensor])
    entropy: Tensor | None = None
    largest: Tensor | None = None
    extras: list[Tensor] = field(default_factory=list[Tensor])
    output: Tensor | None = None

    @property
    def tensors(self) -> list[Tensor]:
        """All statistics, in a fixed order."""
        optional = [self.entropy, self.largest, self.output, *self.extras]
        return [self.mass, *self.offsets.values(), *(tensor for tensor in optional if tensor is not None)]

    def map(self, change: Callable[[Tensor], Tensor]) -> RowStatistics:
        """The same statistics, each tensor changed."""
        return RowStatistics(
            change(self.mass),
            {offset: change(weight) for offset, weight in self.offsets.items()},
            None if self.entropy is None else change(self.entropy),
            None if self.largest is None else change(self.largest),
            [change(extra) for extra in self.extras],
            None if self.output is None else change(self.output),
        )

    def of_keys(self, share: Tensor) -> RowStatistics:
        """The same, where only a share of each row goes to keys: 1 without a sink, 0 where no key is seen."""
        less = self.map(lambda t: t * (share if t.ndim == share.ndim else share[..., None]))
        if less.entropy is not None:
            less.entropy -= torch.xlogy(share, share)
        return less


class Operands(NamedTuple):
    """What scores are made of, heads by the key head that they share.

    Attributes:
        q: queries as they are ``[batch key_head group query dim]``: a block scales its own.
        k: keys, at least in float32, less their head's mean ``[batch key_head key dim]``; all of them where there is a
            softcap.
        mean: that mean ``[batch key_head 1 dim]``; None where not needed.
    """

    q: Tensor
    k: Tensor
    mean: Tensor | None


def operands(record: AttentionRecord, items: slice = slice(None), key_heads: slice = slice(None)) -> Operands:
    """Queries, and keys less their mean, of some inputs and key heads.

    Taking off a vector that all keys of a head share changes no weight, and scores whose large part is shared
    keep their digits. Padding counts in the mean; any vector would do.
    """
    dtype = torch.float64 if record.q.dtype == torch.float64 else torch.float32
    q = by_key_head(record.q, record.groups)[items, key_heads]
    k = record.k[items, key_heads].to(dtype)
    if record.softcap is not None:
        return Operands(q, k, None)
    mean = k.mean(-2, keepdim=True)
    return Operands(q, k - mean, None if record.sinks is None else mean)


def penalty(mask: Tensor, dtype: torch.dtype, hidden: float = HIDDEN) -> Tensor:
    """What a mask adds to the scores, `hidden` where it hides a key."""
    return torch.where(shown_by(mask), 0.0 if mask.dtype == torch.bool else mask.to(dtype), hidden).to(dtype)


def by_key_head(array: Tensor, groups: int) -> Tensor:
    """Heads by the key head that they share: ``[batch head ...] -> [batch key_head group ...]``."""
    return array.reshape(array.shape[0], array.shape[1] // groups, groups, *array.shape[2:])


def four(array: Tensor, keys: int) -> Tensor:
    """A mask or bias with all four axes ``[batch|1 head|1 query|1 key]``."""
    array = array[(None,) * (4 - array.ndim)]
    return array.expand(*array.shape[:3], keys)


def share_of_keys(lse: Tensor, shift: Tensor | None, sinks: Tensor | None) -> Tensor:
    """What a row gives to keys and not to its sink; 0 where it sees no key."""
    alive = lse > _DEAD
    if sinks is None:
        return alive.to(lse.dtype)
    return torch.sigmoid((lse if shift is None else lse + shift) - sinks.to(lse.dtype)) * alive


class _RowBlock(NamedTuple):
    """Which inputs, key heads and rows a block holds."""

    items: slice
    heads: slice
    rows: slice


@torch.no_grad()
def row_statistics(
    record: AttentionRecord, columns: Tensor, wanted: WantedStatistics, elements: int | None = None
) -> RowStatistics:
    """Statistics of every row of one attention call, exact, in memory linear in the number of keys.

    Args:
        record: the attention call.
        columns: what a key is worth to each class, ``[batch key class]``.
        wanted: which statistics.
        elements: scores of a block; by default as many as stay in the cache.

    Returns:
        The statistics in float32 (float64 where the queries are), on the record's device.
    """
    columns = columns.to(record.q.device, torch.float64 if record.q.dtype == torch.float64 else torch.float32)
    batch, heads, queries, keys = record.shape
    groups, key_heads = record.groups, heads // record.groups
    elements = elements or _elements(record.q.device, keys)
    items = max(1, elements // (heads * queries * keys))
    together = max(1, min(key_heads, elements // (groups * min(_ROWS, queries) * keys)))
    columns = columns.mT.contiguous()  # [batch class key]
    attends = wanted.output and record.v is not None and record.v.shape[1] == key_heads
    wanted = replace(wanted, output=attends)
    shape = (batch, key_heads, groups, queries)
    statistics = RowStatistics(
        columns.new_zeros(*shape, columns.shape[1]),
        {offset: columns.new_zeros(shape) for offset in wanted.offsets},
        columns.new_zeros(shape) if wanted.entropy else None,
        columns.new_zeros(shape) if wanted.largest else None,
        [columns.new_zeros(shape) for _ in wanted.extras],
        columns.new_zeros(*shape, record.v.shape[-1]) if attends and record.v is not None else None,
    )
    for item in range(0, batch, items):
        for head in range(0, key_heads, together):
            inputs, shared = slice(item, item + items), slice(head, head + together)
            parts = operands(record, inputs, shared)
            values = _values(record, columns, inputs, shared) if attends else None
            for rows in _row_slices(record, elements / (items * together * groups)):
                part = _rows(record, parts, columns, values, wanted, _RowBlock(inputs, shared, rows))
                for full, some in zip(
                    statistics.tensors, part.tensors if part else (), strict=part is not None
                ):
                    full[inputs, shared, :, rows] = some
    return statistics.map(lambda t: t.flatten(1, 2))


def _elements(device: torch.device, keys: int) -> int:
    if device.type != "cpu":
        return _DEVICE_ELEMENTS
    cached = _THREAD_ELEMENTS * max(2, torch.get_num_threads())
    return min(_LONGER * cached, max(cached, 2 * _ROWS * keys))


def _row_slices(record: AttentionRecord, scores: float) -> Iterator[slice]:
    """Runs of rows that have about so many scores a head."""
    _, _, queries, keys = record.shape
    start = 0
    while start < queries:
        seen = keys - queries + start  # by the row before, where what is ahead is hidden
        step = (sqrt(seen**2 + 4 * scores) - seen) / 2 if record.is_causal else scores / keys
        stop = min(queries, start + max(1, int(step)))
        yield slice(start, stop)
        start = stop


def _values(record: AttentionRecord, columns: Tensor, items: slice, key_heads: slice) -> Tensor | None:
    """The classes, the values of keys, and zeros side by side: one product sums both.

    ``[item key_head key width]``; products of a width that is no multiple of 8 are slow.
    """
    if record.v is None:
        return None
    values = record.v[items, key_heads].to(columns.dtype)
    classes = columns[items].mT[:, None].expand(-1, values.shape[1], -1, -1)
    zeros = values.new_zeros(()).expand(*values.shape[:3], -(classes.shape[-1] + values.shape[-1]) % 8)
    return torch.cat([classes, values, zeros], -1)


def _rows(
    record: AttentionRecord,
    parts: Operands,
    columns: Tensor,
    values: Tensor | None,
    wanted: WantedStatistics,
    part: _RowBlock,
) -> RowStatistics | None:
    """Statistics of one block, heads as ``[key_head group]``; None where none of its rows sees a key."""
    _, _, queries, keys = record.shape
    hidden = _hidden(record, part, parts.k.dtype)
    width = hidden.width
    if width.start == width.stop:
        return None
    entropy = share = None
    exact = wanted.entropy and not wanted.smoothing
    if record.given is not None:
        weights = _cut(record.given, record.groups, part)[..., width].to(parts.k.dtype)
        seen = hidden.seen()
        weights = weights if seen is None else torch.where(seen, weights, 0.0)
        largest = weights.amax(-1) if wanted.largest else None
        entropy = -torch.xlogy(weights, weights).sum(-1) if exact else None
    else:
        q = parts.q[..., part.rows, :].to(parts.k.dtype) * record.scaling
        scores = _scores(record, q, parts.k, part, hidden)
        top = scores.amax(-1)
        weights = scores.softmax(-1)
        largest = weights.amax(-1)
        lse = top - largest.log()
        entropy = (lse - scores.mul_(weights).sum(-1)).clamp_min(0.0) if exact else None
        if record.sinks is not None or record.bias is not None or hidden.blind:
            sinks = None if record.sinks is None else record.sinks.reshape(-1, record.groups, 1)[part.heads]
            shift = None if parts.mean is None else (q @ parts.mean[:, :, None].mT)[..., 0]
            share = share_of_keys(lse, shift, sinks)
    output = None
    if values is None:
        mass = columns[part.items, :, width] @ weights.flatten(1, 3).mT  # far quicker than weights @ columns
        mass = mass.view(*mass.shape[:2], *weights.shape[1:4]).movedim(1, -1)
    else:
        sums = (weights.flatten(2, 3) @ values[..., width, :]).view(*weights.shape[:4], -1)
        classes = columns.shape[1]
        mass, output = sums[..., :classes], sums[..., classes : classes + record.values.shape[-1]]
    first = part.rows.start + keys - queries - width.start  # the key that stands where the first row does
    offsets = {offset: _diagonal(weights, first + offset) for offset in wanted.offsets}
    statistics = RowStatistics(mass, offsets, entropy, largest if wanted.largest else None, output=output)
    statistics = statistics if share is None else statistics.of_keys(share)
    if share is not None and (wanted.smoothing or wanted.extras):
        weights = weights * share[..., None]
    if wanted.extras:
        padded, seen = (
            torch.nn.functional.pad(tensor, (width.start, 0)).flatten(1, 2)
            for tensor in (weights, hidden.all_seen())
        )
        statistics.extras = [
            extra(padded, part.items, part.rows, seen).view(weights.shape[:4]) for extra in wanted.extras
        ]
    if wanted.entropy and wanted.smoothing:
        statistics.entropy = _smoothed(weights, hidden.seen(), wanted.smoothing)
    return statistics


def _scores(record: AttentionRecord, q: Tensor, k: Tensor, part: _RowBlock, hidden: _Hidden) -> Tensor:
    """What softmax is taken of, ``[item key_head group row key]``; each row less what all its keys share."""
    scores = (q.flatten(2, 3) @ k[..., hidden.width, :].mT).view(*q.shape[:4], -1)
    if record.bias is not None:
        bias = _cut(four(record.bias, record.shape[3]), record.groups, part)[..., hidden.width]
        scores += bias.to(scores.dtype).clamp_min(HIDDEN)
    if record.softcap is not None:
        scores.div_(record.softcap).tanh_().mul_(record.softcap)
    if hidden.added is not None:
        scores[..., -hidden.added.shape[-1] :] += hidden.added
    return scores


class _Hidden(NamedTuple):
    """What the mask does to a block.

    Attributes:
        width: from the first to the last key that any row sees.
        added: what is added to the scores of the last few of these keys, `HIDDEN` where one is not seen,
            ``[item|1 key_head|1 group|1 row|1 some]``; None for nothing.
        blind: whether some row sees no key at all.
    """

    width: slice
    added: Tensor | None
    blind: bool = False

    def seen(self) -> Tensor | None:
        """Which keys each row sees, ``[item|1 key_head|1 group|1 row|1 key]``; None for all of the width."""
        if self.added is None:
            return None
        before = self.width.stop - self.width.start - self.added.shape[-1]
        return torch.nn.functional.pad(self.added > _DEAD, (before, 0), value=True)

    def all_seen(self) -> Tensor:
        """Which keys of the width each row sees, with all five axes."""
        seen = self.seen()
        if seen is None:
            return torch.ones(1, 1, 1, 1, self.width.stop - self.width.start, dtype=torch.bool)
        return seen[(None,) * (5 - seen.ndim)]


def _hidden(record: AttentionRecord, part: _RowBlock, dtype: torch.dtype) -> _Hidden:
    _, _, queries, keys = record.shape
    rows, ahead = part.rows, keys - queries
    added = None
    if record.is_causal:
        size = rows.stop - rows.start
        added = torch.full((size, size), HIDDEN, dtype=dtype, device=record.q.device).triu_(1)
        keys = ahead + rows.stop
    if record.mask is None:
        return _Hidden(slice(0, keys), added)
    mask = penalty(_cut(four(record.mask, record.shape[3]), record.groups, part)[..., :keys], dtype)
    if added is not None:
        mask = mask + torch.nn.functional.pad(added, (ahead + rows.start, 0))
    places = (mask.flatten(0, -2).amax(0) > _DEAD).nonzero()
    width = slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 0)
    mask = mask[..., width]
    if not len(places) or not any(mask.aminmax()):
        return _Hidden(width, None)
    return _Hidden(width, mask, bool((mask.amax(-1) <= _DEAD).any()))


def _cut(array: Tensor, groups: int, part: _RowBlock) -> Tensor:
    """A block's part of ``[batch|1 head|1 query|1 key]``, heads by the key head that they share."""
    array = by_key_head(array, groups) if array.shape[1] > 1 else array[:, :, None]
    places = zip(array.shape[:4], (part.items, part.heads, slice(None), part.rows), strict=True)
    return array[tuple(slice(None) if size == 1 else place for size, place in places)]


def _diagonal(weights: Tensor, offset: int) -> Tensor:
    """``weights[..., i, i + place]``, 0 where that column does not exist."""
    rows, columns = weights.shape[-2:]
    if not -rows < offset < columns:
        return weights.new_zeros(weights.shape[:-1])
    line = weights.diagonal(offset, -2, -1)
    before = max(0, -offset)
    return torch.nn.functional.pad(line, (before, rows - before - line.shape[-1]))


def _smoothed(weights: Tensor, seen: Tensor | None, smoothing: float) -> Tensor:
    """Entropy of weights mixed with uniform ones over the visible keys, in float64 like the released code."""
    mixed = weights.double() * (1.0 - smoothing)
    if seen is None:
        mixed += smoothing / weights.shape[-1]
    else:
        mixed += smoothing * seen / seen.sum(-1, keepdim=True).clamp_min(1)
    return -torch.xlogy(mixed, mixed).sum(-1).to(weights.dtype)
