"""What lies over a picture: an area that is not looked at is dark, one that cannot be seen is grey.

The page draws the same (``veils.ts``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.lazy import module
from headscope.views.palette import Palette
from headscope.views.selection import Matrix

Pixels = npt.NDArray[np.uint8]
Shares = npt.NDArray[np.float64]

DARK, UNSEEN = (12, 16, 18), (134, 140, 146, 199)
"""The colours of what is not looked at, and of what the mask hides (with its opacity)."""

_FINEST = 512


class Raster:
    """Areas as the cells of a raster, each as large as the smallest area: a larger one has several.

    Attributes:
        area: the part of the picture that they cover: left, top, right, bottom in its pixels.
        shape: (rows, columns).
        cells: ``[place 4]``: first and last column and row of each place, the last ones not included; all 0 for none.
    """

    def __init__(self, boxes: Matrix) -> None:
        on = ~np.isnan(boxes[:, 0])
        own = boxes[on]
        self.area = np.array([*own[:, :2].min(0), *own[:, 2:].max(0)])
        whole, smallest = self.area[2:] - self.area[:2], (own[:, 2:] - own[:, :2]).min(0)
        columns, rows = np.clip(np.rint(whole / smallest), 1, _FINEST).astype(int).tolist()
        self.shape = (rows, columns)
        size = np.array([columns, rows])
        first = np.minimum(np.rint((own[:, :2] - self.area[:2]) / whole * size).astype(int), size - 1)
        last = np.maximum(np.rint((own[:, 2:] - self.area[:2]) / whole * size).astype(int), first + 1)
        self.cells = np.zeros((len(boxes), 4), int)
        self.cells[on] = np.stack([first[:, 0], last[:, 0], first[:, 1], last[:, 1]], -1)

    def outside(self, size: tuple[int, int]) -> Matrix:
        """What the areas leave out of a picture of (width, height), if more than a hundredth, ``[box 4]``."""
        width, height = size
        left, top, right, bottom = self.area
        whole = np.array([left, top, width - right, height - bottom])
        if (whole <= 0.01 * np.array([width, height, width, height])).all():
            return np.zeros((0, 4))
        boxes = [
            (0, 0, width, top), (0, bottom, width, height), (0, top, left, bottom), (right, top, width, bottom),
        ]  # fmt: skip
        return np.array([box for box in boxes if box[2] - box[0] > 0 and box[3] - box[1] > 0], float)

    def veils(self, shares: Shares, opacity: float, colours: Palette | None) -> Pixels:
        """The veils ``[row column 4]``, by the root of each share of the largest; NaN is what cannot be seen.

        Args:
            shares: ``[place]``.
            opacity: of the darkest.
            colours: tint shares by their sign; None: what has none is dark.
        """
        on = self.cells[:, 1] > 0
        most = float(np.nanmax(np.abs(shares[on]), initial=1e-12))
        roots = np.sqrt(np.abs(shares) / most)
        pixels = np.zeros((*self.shape, 4), np.uint8)
        for place in np.flatnonzero(on):
            left, right, top, bottom = self.cells[place]
            share, root = shares[place], min(roots[place], 1.0)
            if np.isnan(share):
                colour: tuple[int, ...] = UNSEEN
            elif colours is None:
                colour = (*DARK, round(255 * opacity * (1 - root)))
            else:
                sign = colours.diverging[1 if share < 0 else 5]
                colour = (*(int(sign[at : at + 2], 16) for at in (1, 3, 5)), round(255 * opacity * root))
            pixels[top:bottom, left:right] = colour
        return pixels


def sized(
    pixels: Pixels, width: int, height: int, area: Matrix | None = None, *, grey: bool = False
) -> Pixels:
    """A picture ``[row column 3]``, or a part of it (left, top, right, bottom), in so many pixels."""
    image: Any = module("PIL.Image").fromarray(pixels)
    if area is None:
        area = np.array([0, 0, *image.size], float)
    found = np.asarray(
        image.resize((max(1, width), max(1, height)), 1, box=tuple(area.tolist()), reducing_gap=3.0)
    )
    if not grey:
        return found
    return np.repeat(np.rint(found @ [0.299, 0.587, 0.114])[..., None], 3, -1).astype(np.uint8)


def enlarged(veils: Pixels, width: int, height: int, *, smooth: bool) -> Pixels:
    """Veils ``[row column 4]`` in so many pixels: each cell as it is, or running into each other."""
    if not smooth:
        rows, columns = (
            np.arange(size) * cells // size for size, cells in zip((height, width), veils.shape, strict=False)
        )
        return veils[rows][:, columns]
    # Colours that are not there must not shine through: they are weighed with their opacity.
    alpha = veils[..., 3:].astype(np.float32) / 255
    weighed = np.concatenate([veils[..., :3] * alpha, alpha], -1)
    image = module("PIL.Image")
    channels = [np.asarray(image.fromarray(weighed[..., at]).resize((width, height), 2)) for at in range(4)]
    thick = np.maximum(channels[3], 1e-6)
    colours = [np.clip(np.rint(channel / thick), 0, 255) for channel in channels[:3]]
    return np.stack([*colours, np.rint(255 * channels[3])], -1).astype(np.uint8)


def covered(pixels: Pixels, veils: Pixels) -> Pixels:
    """A picture ``[row column 3]`` under veils ``[row column 4]`` of its size."""
    alpha = veils[..., 3:] / 255.0
    return np.rint(pixels * (1 - alpha) + veils[..., :3] * alpha).astype(np.uint8)
