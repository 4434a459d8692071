"""Shapes in numpy, painted over each other with smooth edges: what the built-in pictures are drawn with.

A shape is its signed distance ``[row column]``: how far each pixel is from its edge, below 0 inside of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Point = tuple[float, float]
Color = str | Array
"""Such as ``#ff8800``, or ``[row column 3]`` from 0 to 255."""


def rgb(color: Color) -> Array:
    """Red, green and blue from 0 to 255."""
    if isinstance(color, str):
        return np.array([int(color[start : start + 2], 16) for start in (1, 3, 5)], np.float64)
    return color


class Canvas:
    """A picture that is being painted, and where things are seen on it.

    Attributes:
        x, y: the middles of its pixels.
        pixels: ``[row column 3]`` from 0 to 255.
        seen: of each thing how much of each pixel it covers, where nothing covers it.
    """

    def __init__(self, width: int, height: int, color: Color = "#ffffff") -> None:
        self.width, self.height = width, height
        self.y, self.x = np.mgrid[0:height, 0:width] + 0.5
        self.pixels = np.broadcast_to(rgb(color), (height, width, 3)).copy()
        self.seen: dict[str, Array] = {}

    def paint(self, shape: Array, color: Color, *, of: str = "", alpha: float | Array = 1.0) -> None:
        """Paint a shape in a color; `of` names the thing that it is a part of."""
        cover = np.clip(0.5 - shape, 0, 1) * alpha
        self.pixels += cover[..., None] * (rgb(color) - self.pixels)
        for name in self.seen:
            if name != of:
                self.seen[name] *= 1 - cover
        if of:
            there = self.seen.setdefault(of, np.zeros_like(self.x))
            self.seen[of] = there + cover * (1 - there)

    def shade(
        self, shape: Array, color: Color, alpha: float, *, soft: float = 1.0, within: Array | None = None
    ) -> None:
        """Darken or lighten what is there, with an edge as soft as so many pixels; things stay seen."""
        cover = np.clip(0.5 - shape / soft, 0, 1) ** 1.5 * alpha
        if within is not None:
            cover = cover * np.clip(0.5 - within, 0, 1)
        self.pixels += cover[..., None] * (rgb(color) - self.pixels)

    def everywhere(self) -> Array:
        """The shape that is all of the picture."""
        return np.full_like(self.x, -9.0)

    def down(self, *colors: Color, top: float = 0.0, bottom: float | None = None) -> Array:
        """Colors that go over into each other from the top to the bottom."""
        end = self.height if bottom is None else bottom
        return blend((self.y - top) / (end - top), *colors)

    def circle(self, x: float, y: float, radius: float) -> Array:
        return np.hypot(self.x - x, self.y - y) - radius

    def ellipse(self, x: float, y: float, wide: float, high: float, turn: float = 0.0) -> Array:
        """An ellipse of these half axes, turned by degrees."""
        across, along = self._turned(x, y, turn)
        scaled = np.hypot(across / wide, along / high)
        slope = np.hypot(across / wide**2, along / high**2)
        return scaled * (scaled - 1) / np.maximum(slope, 1e-6)

    def box(
        self, left: float, top: float, right: float, bottom: float, *, round: float = 0.0, turn: float = 0.0
    ) -> Array:
        """A box with round corners, turned by degrees about its middle."""
        across, along = self._turned((left + right) / 2, (top + bottom) / 2, turn)
        over = np.abs(across) - (right - left) / 2 + round, np.abs(along) - (bottom - top) / 2 + round
        outside = np.hypot(np.maximum(over[0], 0), np.maximum(over[1], 0))
        return outside + np.minimum(np.maximum(*over), 0) - round

    def polygon(self, *corners: Point, round: float = 0.0) -> Array:
        """A polygon, its corners rounded off outwards."""
        square = np.full_like(self.x, np.inf)
        inside = np.zeros_like(self.x, dtype=bool)
        for (ax, ay), (bx, by) in zip(corners, (*corners[1:], corners[0]), strict=True):
            dx, dy = bx - ax, by - ay
            share = np.clip(((self.x - ax) * dx + (self.y - ay) * dy) / (dx * dx + dy * dy), 0, 1)
            square = np.minimum(square, (self.x - ax - share * dx) ** 2 + (self.y - ay - share * dy) ** 2)
            if ay != by:
                inside ^= ((ay <= self.y) != (by <= self.y)) & (self.x < ax + (self.y - ay) * dx / dy)
        return np.where(inside, -np.sqrt(square), np.sqrt(square)) - round

    def line(self, *points: Point, width: float, end: float | None = None) -> Array:
        """A line through points with round ends, as wide at its beginning as `width` and at its end as `end`."""
        last = width if end is None else end
        count = len(points) - 1
        found = np.full_like(self.x, np.inf)
        for place, ((ax, ay), (bx, by)) in enumerate(pairwise(points)):
            dx, dy = bx - ax, by - ay
            share = np.clip(((self.x - ax) * dx + (self.y - ay) * dy) / max(dx * dx + dy * dy, 1e-9), 0, 1)
            away = np.hypot(self.x - ax - share * dx, self.y - ay - share * dy)
            found = np.minimum(found, away - (width + (last - width) * (place + share) / count) / 2)
        return found

    def curve(
        self, start: Point, bend: Point, stop: Point, *, width: float, end: float | None = None
    ) -> Array:
        """A line from one point to another that a third bends."""
        points = [
            tuple((1 - t) ** 2 * np.array(start) + 2 * t * (1 - t) * np.array(bend) + t**2 * np.array(stop))
            for t in np.linspace(0, 1, 9)
        ]
        return self.line(*[(float(x), float(y)) for x, y in points], width=width, end=end)

    def below(self, heights: Array | Sequence[Point]) -> Array:
        """What lies below a line: heights of each column, or points that a smooth line goes through."""
        if not isinstance(heights, np.ndarray):
            xs, ys = zip(*heights, strict=True)
            heights = smooth(np.interp(self.x[0], xs, ys), max(3, self.width // 10))
        slope = np.gradient(heights)
        return (heights - self.y) / np.hypot(1, slope)

    def _turned(self, x: float, y: float, turn: float) -> tuple[Array, Array]:
        angle = np.deg2rad(turn)
        dx, dy = self.x - x, self.y - y
        return dx * np.cos(angle) + dy * np.sin(angle), dy * np.cos(angle) - dx * np.sin(angle)

    def glow(self, share: Array, color: Color) -> None:
        """Mix what is there with a color, a share of it in each pixel."""
        self.pixels += share[..., None] * (rgb(color) - self.pixels)

    def finished(self) -> npt.NDArray[np.uint8]:
        """The pixels, ``[row column 3]``."""
        return np.clip(np.rint(self.pixels), 0, 255).astype(np.uint8)


def blend(share: Array, *colors: Color) -> Array:
    """Colors ``[row column 3]`` along a share from 0 to 1."""
    at = np.linspace(0, 1, len(colors))
    known = np.stack([rgb(color) for color in colors])
    return np.stack([np.interp(share, at, known[:, channel]) for channel in range(3)], -1)


def smooth(values: Array, width: int) -> Array:
    """Values of a line, each the mean of those around it, twice."""
    window = np.ones(width) / width
    for _ in range(2):
        padded = np.pad(values, (width // 2, width - 1 - width // 2), mode="reflect", reflect_type="odd")
        values = np.convolve(padded, window, mode="valid")
    return values


def noise(draw: np.random.Generator, height: int, width: int, rows: float, columns: float) -> Array:
    """Smooth random values from 0 to 1: so many waves from top to bottom and from left to right."""
    grid = draw.random((int(rows) + 3, int(columns) + 3))
    y, x = (np.linspace(0, count, size, endpoint=False) for count, size in ((rows, height), (columns, width)))
    top, left = y.astype(int), x.astype(int)
    down, across = (part * part * (3 - 2 * part) for part in (y - top, x - left))
    first = grid[top][:, left] * (1 - across) + grid[top][:, left + 1] * across
    second = grid[top + 1][:, left] * (1 - across) + grid[top + 1][:, left + 1] * across
    return first * (1 - down[:, None]) + second * down[:, None]


def either(*shapes: Array) -> Array:
    """Several shapes as one."""
    return np.minimum.reduce(shapes)


def both(*shapes: Array) -> Array:
    """Where several shapes are."""
    return np.maximum.reduce(shapes)


def without(shape: Array, *others: Array) -> Array:
    """A shape from which others are cut out."""
    return np.maximum.reduce([shape, *(-other for other in others)])
