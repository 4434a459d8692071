"""Jensen–Shannon divergence between all pairs of heads, row by row (Clark et al. 2019, section 6).

Of two rows P and Q over the same keys, JS = H((P + Q) / 2) − (H(P) + H(Q)) / 2, in nats: 0 where they are the
same, ln 2 where no key gets weight from both. Half of all pairs is enough, and a row's own entropy is computed
once; what is left is one logarithm a key and pair of heads. A few thousand weights of every head at a time stay in
the processor's cache.

Precision: in float32 the sum over a chunk of `_CHUNK` weights rounds by some 1e-6 and chunks add up in float64, so
that a mean over a few hundred rows is within 1e-7 nats; in float64 within 1e-14. No key is dropped but those to
which no head gives anything, which changes nothing. Weights below the smallest normal number count as that number
(about 1e-38), which changes a row by less than 1e-34.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.attention.record import AttentionRecord
from headscope.attention.rows import four, penalty
from headscope.core import lazy
from headscope.core.arrays import Floats
from headscope.errors import RefusedError

_CHUNK = 2048  # weights of a head that are summed in the weights' own dtype
_PARTNERS = (
    72  # heads that one head is compared with at a time: they stay in the cache, and so do their logarithms
)
_DEVICE_CHUNK = 1 << 15  # the same on an accelerator
_DEVICE_PARTNERS = 256
_ROW_SUM = 0.02  # how far from 1 a row may sum: weights in bfloat16 are off by up to 0.01


@torch.no_grad()
def jensen_shannon(weights: Tensor) -> Floats:
    """Divergences between all pairs of heads, summed over rows: ``[head row key] -> [head head]``, in nats.

    Args:
        weights: each row a distribution over the same outcomes, float32 (the fast path) or float64. On a processor
            torch's number of threads share the work; it changes no digit.

    Returns:
        A symmetric array with zeros on the diagonal. Heads whose rows are the same have exactly 0.
    """
    heads = weights.shape[0]
    used = weights.flatten(0, 1).amax(0) > 0
    weights = (weights if used.all() else weights[..., used]).reshape(heads, -1)
    total = np.zeros((heads, heads))
    if weights.device.type == "cpu":
        array = weights.numpy()
        chunks = [np.ascontiguousarray(array[:, at : at + _CHUNK]) for at in range(0, array.shape[1], _CHUNK)]
        with ThreadPoolExecutor(torch.get_num_threads()) as threads:
            for part in (threads.map if len(chunks) > 1 else map)(_on_processor, chunks):
                total += part
    else:
        for at in range(0, weights.shape[1], _DEVICE_CHUNK):
            chunk = weights[:, at : at + _DEVICE_CHUNK].contiguous()
            part = torch.zeros(heads, heads, dtype=torch.float64, device=weights.device)
            total += _mixtures(torch, torch.log, chunk, part, _DEVICE_PARTNERS).cpu().numpy()
    entropies = total.diagonal()
    divergences = np.triu(np.maximum((entropies[:, None] + entropies) / 2 - total, 0.0), 1)
    return divergences + divergences.T


def _on_processor(weights: np.ndarray) -> Floats:
    log, unit = _logarithm(weights.dtype.char)
    return unit * _mixtures(np, log, weights, np.zeros((len(weights), len(weights))), _PARTNERS)


@cache
def _logarithm(dtype: str) -> tuple[Any, float]:
    """The quickest logarithm of numpy here, and its unit in nats: to base 2 in float32 where AVX-512 computes it."""
    current = ""
    if dtype == "f":
        try:
            introspect = lazy.module("numpy.lib.introspect")  # numpy 2
            current = str(introspect.opt_func_info("^log2$", "^float32$")["log2"]["ff"]["current"])
        except (ImportError, KeyError):
            pass
    return (np.log2, np.log(2.0)) if current.startswith(("AVX512", "X86_V4")) else (np.log, 1.0)


def _mixtures(xp: Any, log: Any, weights: Any, sums: Any, partners: int) -> Any:
    """Σ m log m over one chunk ``[head weight]``, for m = (p + q) / 2 of all pairs, into the upper half of `sums`.

    `xp` is numpy or torch: the calls below are the same in both, and numpy's logarithm is the quicker one on
    processors (2.5 times in float32, 3 times in float64).
    """
    heads = len(weights)
    half = xp.clip(0.5 * weights, xp.finfo(weights.dtype).tiny, None)
    mixed, logs = xp.empty_like(half[:partners]), xp.empty_like(half[:partners])
    for head in range(heads):
        for start in range(head, heads, partners):
            others = slice(start, min(start + partners, heads))
            m, ln = mixed[: others.stop - start], logs[: others.stop - start]
            xp.add(half[others], half[head], out=m)
            log(m, out=ln)
            sums[head, others] = (m[:, None, :] @ ln[:, :, None])[:, 0, 0]  # products of rows
    return sums


@torch.no_grad()
def distributions(
    records: Sequence[AttentionRecord],
    item: int,
    rows: Tensor,
    length: int,
    *,
    smoothing: float = 0.0,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """What some tokens of one input attend to in every head, ``[head row outcome]``, heads in order of the records.

    The outcomes are the input's own keys: no padding. Where a layer has sinks they are one more outcome, the last,
    which gets what a row does not give to keys (in layers without sinks nothing): so rows sum to 1 in every head.

    Args:
        records: one attention call a layer.
        item: which input of the batch.
        rows: which queries, indices.
        length: tokens of the input.
        dtype: of the result, at least; weights that the model did not make itself are computed in it.
        smoothing: s for ``(1 − s) a + s / visible keys`` (the released code of Clark et al. 2019: 0.001).

    Raises `RefusedError` for rows that are not distributions.
    """
    sinks = any(record.sinks is not None for record in records)
    parts: list[Tensor] = []
    for record in records:
        part = _part(record, item, rows, length, dtype)
        weights = part.weights()[0]
        if smoothing:
            seen = (
                torch.ones_like(weights)
                if part.mask is None
                else (part.mask[0] > -torch.inf).expand_as(weights)
            )
            weights = (1.0 - smoothing) * weights + smoothing * seen / seen.sum(-1, keepdim=True)
        if sinks:
            rest = 1.0 - weights.sum(-1, keepdim=True)
            rest = rest.clamp_min(0.0) if record.sinks is not None else torch.zeros_like(rest)
            weights = torch.cat([weights, rest], -1)
        off = float((weights.sum(-1) - 1.0).abs().max())
        if not off <= _ROW_SUM:
            raise RefusedError(
                f"{record.module}: expected rows that sum to 1, found one that is off by {off:.2g}"
            )
        parts.append(weights)
    return torch.cat(parts)


def _part(
    record: AttentionRecord, item: int, rows: Tensor, length: int, dtype: torch.dtype
) -> AttentionRecord:
    """Some queries of one input and its own keys, at least in `dtype`, with all that is hidden at −inf in a mask."""
    _, _, queries, keys = record.shape
    dtype = torch.promote_types(record.q.dtype, dtype)

    def cut(array: Tensor) -> Tensor:
        array = four(array, keys)
        array = array if array.shape[0] == 1 else array[item : item + 1]
        return (array if array.shape[2] == 1 else array[:, :, rows])[..., :length]

    mask = None if record.mask is None else penalty(cut(record.mask), dtype, -torch.inf)
    if record.is_causal:
        ahead = torch.arange(length, device=rows.device) > rows[:, None] + keys - queries
        lower = torch.where(ahead, -torch.inf, 0.0).to(dtype)[None, None]
        mask = lower if mask is None else mask + lower
    return replace(
        record,
        q=record.q[item : item + 1, :, rows].to(dtype),
        k=record.k[item : item + 1, :, :length].to(dtype),
        v=None,
        mask=mask,
        is_causal=False,
        bias=None if record.bias is None else cut(record.bias).to(dtype),
        given=None if record.given is None else cut(record.given).to(dtype),
    )
