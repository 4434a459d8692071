"""Statistics of attention rows in the pass that attends: a Triton kernel for half precision on a GPU.

It goes over the keys once, as FlashAttention does (Dao 2023, "FlashAttention-2", algorithm 1), and keeps beside the
output what statistics need. Where it cannot be used, `headscope.attention.rows` does the same by blocks of rows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from headscope.attention.record import AttentionRecord
from headscope.attention.rows import (
    HIDDEN,
    RowStatistics,
    WantedStatistics,
    four,
    row_statistics,
    share_of_keys,
)
from headscope.core.failures import warn

HALF = torch.float16, torch.bfloat16
WIDEST = 256
"""Dimensions of a head, at most; kernels for wider ones were not compiled."""

_CHECKED = 1e-2
"""How far a kernel may be off the blocks of rows on its first call: several times what half precision rounds away."""

DEVICES = ("cuda",)

_known: dict[tuple[Any, ...], bool] = {}


def fused(record: AttentionRecord, columns: Tensor, wanted: WantedStatistics) -> RowStatistics | None:
    """What `headscope.attention.rows.row_statistics` gives, from one kernel; None where it has to be asked.

    That is without Triton, where queries are not in half precision on an NVIDIA or AMD GPU, for statistics of whole
    rows (`Wanted.extras`, smoothed entropies) and for weights that the model computed itself. The first call of each
    kind is compared with the blocks of rows on one head; where they differ, or the kernel does not compile, a warning
    says so, and the blocks are used from then on.
    """
    if not (_fits(record, wanted) and _has_triton()):
        return None
    kind = _kind(record, wanted)
    if kind not in _known:
        _known[kind] = _agrees(record, columns, wanted)
    return kernel_statistics(record, columns, wanted) if _known[kind] else None


@torch.no_grad()
def kernel_statistics(record: AttentionRecord, columns: Tensor, wanted: WantedStatistics) -> RowStatistics:
    """The statistics by the kernel, whatever the device and dtype; what `fused` refuses is not looked for.

    Of queries in half precision, weights are rounded to half precision before they are summed over values and classes,
    as in any fused attention; entropies, largest weights and weights at offsets are not.
    """
    kernel: Any = import_module("headscope.attention.fused_kernel").rows_kernel  # needs triton
    batch, heads, queries, keys = record.shape
    dim, half = record.q.shape[-1], record.q.dtype in HALF
    columns = columns.to(record.q.device, torch.float32).contiguous()
    classes = columns.shape[-1]
    attends = wanted.output and record.v is not None and record.v.shape[1] == record.k.shape[1]
    values = record.v if attends and record.v is not None else record.k
    shape = (batch, heads, queries)
    lse, largest, entropy = columns.new_empty(3, *shape)
    mass = columns.new_empty(*shape, classes)
    offsets = columns.new_empty(len(wanted.offsets), *shape)
    output = values.new_empty(*shape, values.shape[-1]) if attends else mass
    places = _places(wanted.offsets, columns.device)
    bias, mask = (
        (columns.new_zeros(()) if term is None else four(term, keys)).expand(batch, heads, queries, keys)
        for term in (record.bias, record.mask)
    )
    if mask.dtype == torch.bool:
        mask = mask.view(torch.uint8)
    lowest = torch.finfo(mask.dtype).min / 4 if mask.is_floating_point() else 0.0
    dims = _power(dim)
    rows, more = (128, {"KEYS": 64, "num_warps": 8, "num_stages": 2}) if dims <= 128 else (64, {"KEYS": 32})
    blocks = -(-queries // rows)
    with torch.cuda.device_of(record.q):
        kernel[(blocks * batch * heads,)](
            *(record.q, record.k, values, columns, bias, mask, places),
            *(lse, largest, entropy, mass, offsets, output),
            *record.q.stride(),
            *record.k.stride(),
            *values.stride(),
            *bias.stride(),
            *mask.stride(),
            *(heads, record.groups, queries, keys, dim, values.shape[-1], classes, lse.numel()),
            *(record.scaling, record.softcap or 1.0, max(lowest, HIDDEN / 2)),
            HIDDEN=HIDDEN,
            CAUSAL=record.is_causal,
            BIAS=record.bias is not None,
            SOFTCAP=record.softcap is not None,
            MASK=0 if record.mask is None else 1 if record.mask.dtype == torch.bool else 2,
            OUTPUT=attends,
            OFFSETS=len(wanted.offsets),
            HALF=half,
            DIM=dims,
            VALUE_DIM=_power(values.shape[-1]),
            CLASSES=_power(classes),
            ROWS=rows,
            **more,
        )
    statistics = RowStatistics(
        mass,
        dict(zip(wanted.offsets, offsets, strict=True)),
        entropy if wanted.entropy else None,
        largest if wanted.largest else None,
        output=output if attends else None,
    )
    if record.sinks is None:
        return statistics
    return statistics.of_keys(share_of_keys(lse, None, record.sinks.reshape(heads, 1)))


def _fits(record: AttentionRecord, wanted: WantedStatistics) -> bool:
    q = record.q
    if q.device.type not in DEVICES or q.dtype not in HALF:
        return False
    if record.given is not None or wanted.extras or wanted.smoothing:
        return False
    return max(q.shape[-1], 0 if record.v is None else record.v.shape[-1]) <= WIDEST


def _kind(record: AttentionRecord, wanted: WantedStatistics) -> tuple[Any, ...]:
    """What a kernel is compiled for."""
    shapes = record.q.shape[-1], None if record.v is None else record.v.shape[-1], record.groups
    changes = record.is_causal, record.bias is None, record.softcap is None, record.sinks is None
    mask = None if record.mask is None else record.mask.dtype
    return record.q.device, record.q.dtype, shapes, changes, mask, len(wanted.offsets), wanted.output


def _agrees(record: AttentionRecord, columns: Tensor, wanted: WantedStatistics) -> bool:
    """Whether the kernel gives what the blocks of rows give, on the first key head of the first input."""
    groups = record.groups
    one = replace(
        record,
        q=record.q[:1, :groups],
        k=record.k[:1, :1],
        v=None if record.v is None else record.v[:1, :1],
        mask=_first(record.mask, groups),
        bias=_first(record.bias, groups),
        sinks=None if record.sinks is None else record.sinks.reshape(-1)[:groups],
    )
    truth = row_statistics(one, columns[:1], wanted)
    try:
        statistics = kernel_statistics(one, columns[:1], wanted)
        off = max(_off(given, right) for given, right in zip(statistics.tensors, truth.tensors, strict=True))
        reason = "" if off <= _CHECKED else f"it is off by {off:.1e}"
    except Exception as error:  # whatever a compiler raises
        reason = f"it does not run here ({type(error).__name__}: {error})"
    if reason:
        warn(
            f"the fused kernel for {str(record.q.dtype).removeprefix('torch.')} on {record.q.device} is not used, as "
            f"{reason}; figures are the same without it, and take longer"
        )
    return not reason


def _off(given: Tensor, truth: Tensor) -> float:
    """How far a figure is off, of its scale where that is above 1; infinite where one is no number."""
    if not truth.numel():
        return 0.0
    error = (given.float() - truth.float()).abs().max() / truth.float().abs().max().clamp_min(1.0)
    return float(error.nan_to_num(torch.inf))


def _first(array: Tensor | None, heads: int) -> Tensor | None:
    if array is None:
        return None
    array = array[(None,) * (4 - array.ndim)]
    return array[:1, :heads]


@cache
def _places(offsets: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.tensor(offsets, dtype=torch.int32, device=device)


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


def _power(size: int) -> int:
    """The next power of two; products take at least 16."""
    return max(16, 1 << (size - 1).bit_length())
