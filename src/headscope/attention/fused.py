"""Exact statistics of attention rows without ever forming a map: memory linear in length.

Two ways, the same figures:

- ``fused``: the kernel that serves attention itself, called once with the keys and the classes' columns as
  values. With scale s, p = softmax(s·q·k) and the row's log-sum-exp `lse` that it returns: entropy of row i =
  lse − s·qᵢ·(P K)ᵢ; the mass on a class = P M; the weight of one pair = exp(s·qᵢ·kⱼ − lse), and the largest
  weight that of the largest score, which blocks of scores without their softmax give.
- ``blocks`` (`headscope.attention.rows`): a few rows at a time, as many as stay in the cache. Also for what the
  kernel cannot do: biases, softcaps, smoothing, measures of pairs or rows, weights that the model computed.

Up to a few thousand tokens blocks are as quick as the kernel or quicker; beyond, it is taken where it can be.
"""

from __future__ import annotations

from math import isqrt

import torch
from torch import Tensor

from headscope.attention.record import AttentionRecord
from headscope.attention.rows import (
    HIDDEN,
    RowStatistics,
    Wanted,
    Way,
    by_blocks,
    four,
    operands,
    penalty,
    share_of_keys,
)

__all__ = [
    "KERNEL_KEYS",
    "RowStatistics",
    "Wanted",
    "Way",
    "by_blocks",
    "by_kernel",
    "fusable",
    "row_statistics",
    "why_blocks",
]

KERNEL_KEYS = 4096
"""From how many keys on the kernel is taken where it can be (benchmarks/throughput.py)."""

_SCORES = 1 << 20  # of a block of scores for the largest one


def fusable(record: AttentionRecord, wanted: Wanted) -> str | None:
    """None where the kernel can compute what is wanted of this call; else the reason why it cannot."""
    _, _, queries, keys = record.shape
    reasons = {
        "the model's own weights": record.given is not None,
        "scores with a bias": record.bias is not None,
        "scores with a softcap": record.softcap is not None,
        "smoothed entropy": wanted.entropy and wanted.smoothing > 0,
        "measures of pairs or rows": bool(wanted.extras),
        f"no such kernel on {record.q.device.type}": record.q.device.type != "cpu",
        "causal with a mask": record.is_causal and record.mask is not None,
        "causal with more keys than queries": record.is_causal and queries != keys,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def why_blocks(record: AttentionRecord, wanted: Wanted) -> str | None:
    """Why statistics are computed by blocks; None where the kernel computes them."""
    return f"under {KERNEL_KEYS} tokens" if record.shape[3] < KERNEL_KEYS else fusable(record, wanted)


@torch.no_grad()
def row_statistics(record: AttentionRecord, columns: Tensor, wanted: Wanted) -> RowStatistics:
    """Statistics of every row of one attention call, exact, in memory linear in the number of keys.

    Args:
        record: the attention call.
        columns: 1 where a key is of a class and 0 where not, ``[batch key class]``.
        wanted: which statistics.

    Returns:
        The statistics in float32 (float64 where the queries are), on the record's device.
    """
    columns = columns.to(record.q.device, torch.float64 if record.q.dtype == torch.float64 else torch.float32)
    if why_blocks(record, wanted) is None:
        return by_kernel(record, columns, wanted)
    return by_blocks(record, columns, wanted)


def by_kernel(record: AttentionRecord, columns: Tensor, wanted: Wanted) -> RowStatistics:
    """The statistics by one call of the attention kernel, for a record that is `fusable`."""
    _, _, queries, keys = record.shape
    grouped, k, shift = operands(record)
    q, k = grouped.flatten(1, 2), k.repeat_interleave(record.groups, 1) if record.groups > 1 else k
    mask = None if record.mask is None else penalty(four(record.mask, keys), q.dtype)
    mass, entropy, lse = _kernel(q, k, columns, mask, record.is_causal, wanted.entropy)
    statistics = RowStatistics(mass, entropy=entropy, route="fused")
    for offset in wanted.offsets:
        statistics.offsets[offset] = torch.zeros_like(lse)
        diagonal = keys - queries + offset
        rows = slice(max(0, -diagonal), min(queries, keys - diagonal))
        if rows.start >= rows.stop or (record.is_causal and offset > 0):
            continue
        score = (q[:, :, rows] * k[:, :, rows.start + diagonal : rows.stop + diagonal]).sum(-1)
        if mask is not None:
            score += mask.expand(-1, -1, queries, -1).diagonal(diagonal, -2, -1)
        statistics.offsets[offset][..., rows] = torch.exp(score - lse[..., rows])
    if wanted.largest:
        statistics.largest = torch.exp(_largest_score(q, k, mask, record.is_causal) - lse).clamp_max(1.0)
    sinks = None if record.sinks is None else record.sinks.reshape(-1, 1)
    if mask is None and sinks is None:
        return statistics
    return statistics.of_keys(share_of_keys(lse, None if shift is None else shift.flatten(1, 2), sinks))


def _kernel(
    q: Tensor, k: Tensor, columns: Tensor, mask: Tensor | None, causal: bool, entropy: bool
) -> tuple[Tensor, Tensor | None, Tensor]:
    """The mass on the classes, the entropy where it is wanted, and the log-sum-exp of each row."""
    dim, classes = q.shape[-1], columns.shape[-1]
    first = dim if entropy else 0  # where the classes begin among the values
    width = -(-max(dim, first + classes) // 8) * 8  # the kernel wants values as wide as keys
    values = q.new_zeros(*k.shape[:3], width)
    values[..., :first] = k[..., :first]
    values[..., first : first + classes] = columns[:, None]
    result: Tensor
    lse: Tensor
    result, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        torch.nn.functional.pad(q, (0, width - dim)),
        torch.nn.functional.pad(k, (0, width - dim)),
        values,
        0.0,
        causal,
        attn_mask=mask,
        scale=1.0,
    )
    entropies = (lse - (q * result[..., :dim]).sum(-1)).clamp_min(0.0) if entropy else None
    return result[..., first : first + classes].clone(), entropies, lse


def _largest_score(q: Tensor, k: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """The largest score of each row ``[batch head query]``, by square blocks of scores of all heads."""
    batch, heads, queries, _ = q.shape
    size = max(16, isqrt(_SCORES // (batch * heads)))
    ahead = torch.full((size, size), HIDDEN, dtype=q.dtype).triu_(1)
    best = q.new_full((batch, heads, queries), -torch.inf)
    for start in range(0, queries, size):
        rows = slice(start, min(start + size, queries))
        largest = best[..., rows]
        for left in range(0, rows.stop if causal else k.shape[2], size):
            keys = slice(left, left + size)
            scores = q[:, :, rows] @ k[:, :, keys].mT
            if causal and left == start:
                scores += ahead[: scores.shape[2], : scores.shape[3]]
            elif mask is not None:
                scores += (mask if mask.shape[2] == 1 else mask[:, :, rows])[..., keys]
            torch.maximum(largest, scores.amax(-1), out=largest)
    return best
