"""Axes of several media, and heads that look at one place of one of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import headscope as hs
from headscope.core.maps import AttentionMaps

SIDE = 80


def picture(name: str = "", frames: tuple[int, int] | None = None, value: int = 200) -> hs.Picture:
    """A square of one grey."""
    return hs.Picture(np.full((SIDE, SIDE, 3), value, np.uint8), name, frames)


def robot() -> hs.Tokens:
    """Two cameras of 2 × 2 patches, three words and two actions."""
    eyes = {f"eye {name}": hs.Grid(2, 2, picture=picture(f"camera {name}")) for name in ("base", "wrist")}
    words = hs.Tokens(["pick", "it", "up"], word_ids=np.arange(3), ids=np.arange(3))
    return hs.Axis({**eyes, "text": words, "actions": 2})


def cameras() -> hs.Tokens:
    """Two cameras of 2 × 2 patches."""
    return hs.Axis({name: hs.Grid(2, 2, picture=picture(f"camera {name}")) for name in ("base", "wrist")})


def video(steps: int = 4) -> hs.Tokens:
    """Steps of two frames each, of 2 × 2 patches."""
    frames = [(2 * step, 2 * step + 2) for step in range(steps)]
    return hs.Axis(
        {f"step {step}": hs.Grid(2, 2, picture=picture("", span)) for step, span in enumerate(frames)}
    )


def kmers(text: str = "ATGCGTACGT", size: int = 3) -> hs.Tokens:
    """Stretches of letters that overlap."""
    spans = [(at, at + size) for at in range(len(text) - size + 1)]
    return hs.Stretches(hs.Letters(text, "chr1"), spans)


def series() -> hs.Tokens:
    """Two channels, four stretches of each."""
    values = np.stack([np.sin(np.arange(32) / 4), np.arange(32) / 32], -1)
    spans = [(8 * at, channel, 8 * at + 8, channel + 1) for channel in range(2) for at in range(4)]
    return hs.Stretches(hs.Series(values, ("load", "heat")), spans)


def looking(axis: hs.Tokens, at: int, share: float = 0.9, *, others: Sequence[int] = ()) -> AttentionMaps:
    """Two layers of two heads whose queries all give a key this share, `others` a share of it, the rest alike."""
    weights = np.full((2, 2, len(axis), len(axis)), (1 - share) / len(axis))
    weights[..., at] += share
    for other in others:
        weights[..., other] += share / 4
    return hs.wrap(weights / weights.sum(-1, keepdims=True), axis)
