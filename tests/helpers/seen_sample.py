"""Small maps on a picture: planted heads on a grid, and windows that hide keys."""

from __future__ import annotations

from typing import Any

import numpy as np

import headscope as hs
from headscope.attention.parts import Parts
from headscope.core.maps import AttentionMaps

WIDE, HIGH = 120, 80


def picture(wide: int = WIDE, high: int = HIGH) -> hs.Picture:
    """Grey, its top left third red."""
    pixels = np.full((high, wide, 3), 200, np.uint8)
    pixels[: high // 2, : wide // 3] = (220, 60, 40)
    return hs.Picture(pixels, "red corner")


def random_maps(
    layers: int = 3, heads: int = 2, rows: int = 4, columns: int = 6, prefix: Any = ("[CLS]", "register 0")
) -> AttentionMaps:
    """Weights drawn at random, each row another."""
    axis = hs.Grid(rows, columns, prefix=prefix, picture=picture())
    count = len(axis)
    weights = np.random.default_rng(0).dirichlet(np.full(count, 0.3), (layers, heads, count))
    return AttentionMaps(list(weights.astype(np.float32)), axis, axis, meta={"model": "made/vision"})


def windows(side: int, size: int, shift: int) -> Any:
    """Which patches of a grid see each other in windows that are shifted, ``[query key]``, as in Swin."""
    row, column = np.divmod(np.arange(side * side), side)
    window = ((row - shift) % side // size) * side + (column - shift) % side // size
    apart = 2 * (row < shift) + (column < shift)
    return (window[:, None] == window) & (apart[:, None] == apart)


def staged() -> Parts:
    """Three stages of ever larger patches, each of two layers; the second layer's windows are shifted."""
    draw = np.random.default_rng(1)
    seen, parts = picture(80, 80), Parts()
    for number, (side, size, heads) in enumerate([(8, 4, 2), (4, 2, 3), (2, 2, 4)]):
        visible = [windows(side, size, shift) for shift in (0, size // 2 if side > size else 0)]
        layers = [draw.random((heads, side * side, side * side)) * see for see in visible]
        layers = [layer / layer.sum(-1, keepdims=True) for layer in layers]
        axis = hs.Grid(side, side, picture=seen)
        parts[f"stage {number + 1}"] = AttentionMaps(
            layers, axis, axis, visible=visible, index=[2 * number, 2 * number + 1]
        )
    return parts
