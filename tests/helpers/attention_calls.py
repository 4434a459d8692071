"""Attention calls of many kinds, and their statistics from whole maps in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from headscope.attention.record import AttentionRecord
from headscope.attention.rows import RowStatistics, WantedStatistics

OFFSETS = (-3, -1, 0, 1, 2)
EVERYTHING = WantedStatistics(OFFSETS, entropy=True, largest=True)


def make(
    batch: int = 2,
    heads: int = 2,
    queries: int = 19,
    keys: int | None = None,
    dim: int = 16,
    seed: int = 0,
    **more: Any,
) -> AttentionRecord:
    draw = torch.Generator().manual_seed(seed)
    keys = queries if keys is None else keys
    key_heads, value_dim = more.pop("key_heads", heads), more.pop("value_dim", dim)
    return AttentionRecord(
        "layer.0",
        "layer.*",
        0,
        "self",
        more.pop("scale", 1.0) * torch.randn(batch, heads, queries, dim, generator=draw),
        torch.randn(batch, key_heads, keys, dim, generator=draw),
        torch.randn(batch, key_heads, keys, value_dim, generator=draw),
        dim**-0.5,
        **more,
    )


def classes(record: AttentionRecord, count: int = 3) -> Tensor:
    batch, _, _, keys = record.shape
    return (torch.rand(batch, keys, count, generator=torch.Generator().manual_seed(1)) < 0.3).float()


def padded(*lengths: int, width: int, side: str = "right") -> Tensor:
    """A bool mask ``[batch 1 1 key]``."""
    place = torch.arange(width)
    rows = [place < length if side == "right" else place >= width - length for length in lengths]
    return torch.stack(rows)[:, None, None]


def additive(mask: Tensor, hide: float = torch.finfo(torch.float32).min) -> Tensor:
    return torch.zeros(mask.shape).masked_fill(~mask, hide)


def lower(count: int, window: int = 10**6) -> Tensor:
    distance = torch.arange(count)[:, None] - torch.arange(count)
    return ((distance >= 0) & (distance < window))[None, None]


def whole(record: AttentionRecord) -> Tensor:
    """The weights in float64; rows that see nothing are zeros."""
    if record.given is not None:
        return record.given.double()
    batch, heads, queries, keys = record.shape
    scores = record.q.double() @ record.keys.double().mT * record.scaling
    if record.bias is not None:
        scores = scores + record.bias.double()
    if record.softcap:
        scores = record.softcap * torch.tanh(scores / record.softcap)
    seen = torch.ones(batch, heads, queries, keys, dtype=torch.bool)
    if record.mask is not None and record.mask.dtype == torch.bool:
        seen &= record.mask
    elif record.mask is not None:
        hidden = record.mask < -1e30
        seen &= ~hidden
        scores = scores + record.mask.double().masked_fill(hidden, 0.0)
    if record.is_causal:
        seen &= torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    scores = scores.masked_fill(~seen, -torch.inf)
    if record.sinks is not None:
        sink = record.sinks.double().reshape(1, -1, 1, 1).expand(batch, heads, queries, 1)
        scores = torch.cat([scores, sink], -1)
    return scores.softmax(-1)[..., :keys].nan_to_num(0.0)


def expected(record: AttentionRecord, columns: Tensor) -> RowStatistics:
    weights = whole(record)
    _, _, queries, keys = record.shape
    offsets = {}
    for offset in OFFSETS:
        offsets[offset] = torch.zeros(weights.shape[:3], dtype=torch.float64)
        for row in range(queries):
            place = row + keys - queries + offset
            if 0 <= place < keys:
                offsets[offset][..., row] = weights[..., row, place]
    return RowStatistics(
        weights @ columns.double()[:, None], offsets, torch.special.entr(weights).sum(-1), weights.amax(-1)
    )


def near(record: AttentionRecord) -> float:
    """How close float32 comes to `expected`: 1e-5, or of scores s above 10 some units of s, 1.2e-7 s, which softmax makes
    shares of each weight."""
    scores = record.q.double() @ record.keys.double().mT * record.scaling
    return max(1e-5, 8 * 2.0**-23 * float(scores.abs().max()))


def compare(found: RowStatistics, truth: RowStatistics, atol: float = 1e-5) -> None:
    def close(name: str, got: Tensor | None, right: Tensor | None) -> None:
        assert got.shape == right.shape, name
        error = (got.double() - right).abs().max().item() if got.numel() else 0.0
        assert error <= atol, f"{name}: off by {error}"  # NaN fails as well

    close("mass", found.mass, truth.mass)
    for offset, weight in found.offsets.items():
        close(f"offset {offset}", weight, truth.offsets[offset])
    if found.entropy is not None:
        assert found.entropy.min() >= 0
        close("entropy", found.entropy, truth.entropy)
    if found.largest is not None:
        close("largest", found.largest, truth.largest)


CASES: dict[str, Callable[[], AttentionRecord]] = {
    "plain": make,
    "one token": lambda: make(queries=1),
    "causal": lambda: make(is_causal=True),
    "causal mask": lambda: make(mask=lower(19)),
    "causal mask, additive": lambda: make(mask=additive(lower(19), -torch.inf)),
    "padding right": lambda: make(mask=padded(19, 7, width=19)),
    "padding right, additive": lambda: make(mask=additive(padded(19, 7, width=19))),
    "padding left": lambda: make(mask=padded(19, 7, width=19, side="left")),
    "padding left, causal: rows that see nothing": lambda: make(
        mask=padded(19, 7, width=19, side="left") & lower(19)
    ),
    "the same, additive": lambda: make(mask=additive(padded(12, 7, width=19, side="left") & lower(19))),
    "the same, −inf": lambda: make(
        mask=additive(padded(12, 7, width=19, side="left") & lower(19), -torch.inf)
    ),
    "sliding window": lambda: make(mask=lower(19, window=4)),
    "a mask for each head": lambda: make(
        heads=4, key_heads=2, mask=torch.stack([lower(19, window)[0, 0] for window in (2, 5, 9, 19)])[None]
    ),
    "grouped queries": lambda: make(heads=4, key_heads=2, is_causal=True),
    "grouped queries, padded": lambda: make(heads=6, key_heads=2, mask=padded(5, 19, width=19)),
    "one key head": lambda: make(heads=3, key_heads=1),
    "wider values": lambda: make(value_dim=40),
    "narrow heads": lambda: make(dim=2),
    "more keys than queries": lambda: make(queries=5, keys=23),
    "one sink a head": lambda: make(heads=4, sinks=torch.tensor([-2.0, 0.0, 1.0, 30.0])),
    "sinks, causal, padded left": lambda: make(
        sinks=torch.tensor([-2.0, 5.0]), mask=padded(12, 7, width=19, side="left") & lower(19)
    ),
    "sinks, grouped queries": lambda: make(
        heads=4, key_heads=2, sinks=torch.tensor([-2.0, 0.0, 1.0, 5.0]), is_causal=True
    ),
    "sharp": lambda: make(scale=8.0),
}
BLOCKS_ONLY: dict[str, Callable[[], AttentionRecord]] = {
    "bias": lambda: make(bias=torch.randn(1, 2, 19, 19, generator=torch.Generator().manual_seed(2))),
    "bias that hides": lambda: make(bias=additive(lower(19), -torch.inf).expand(1, 2, 19, 19)),
    "bias over keys": lambda: make(bias=torch.linspace(-3, 0, 19).expand(2, 1, 19)),
    "softcap": lambda: make(softcap=1.5, is_causal=True, scale=4.0),
    "softcap and sinks": lambda: make(softcap=1.5, sinks=torch.tensor([-2.0, 3.0])),
    "causal, more keys": lambda: make(queries=5, keys=23, is_causal=True),
    "causal with padding": lambda: make(is_causal=True, mask=padded(19, 7, width=19)),
    "given": lambda: make(heads=4, key_heads=2, given=torch.rand(2, 4, 19, 19).softmax(-1)),
}
