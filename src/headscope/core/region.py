"""Regions of a picture: boxes, polygons and masks, as annotations of objects give them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, cast

import numpy as np

from headscope.core.arrays import Bools, Floats
from headscope.core.kinds import is_list_or_tuple, is_mapping, is_path
from headscope.core.pictures import mask_of
from headscope.core.types import AnyMapping
from headscope.errors import InputError

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in a picture's pixels."""

Polygon = tuple[tuple[float, float], ...]
"""Corners (x, y) in a picture's pixels."""

MOST = 1 << 28
"""Pixels of a mask, at most."""

REACH = 1.0
"""Pixels by which what is drawn by hand may reach out of its picture."""


class Runs(NamedTuple):
    """A mask as COCO keeps it: how many pixels are out, in, out, … of it, column after column.

    >>> Runs.of(np.array([[False, True], [False, True]]))
    Runs(height=2, width=2, counts=(2, 2))
    """

    height: int
    width: int
    counts: tuple[int, ...]

    @classmethod
    def of(cls, mask: Bools) -> Runs:
        """The runs of a mask ``[row column]``."""
        flat = mask.T.ravel()
        ends = np.flatnonzero(np.diff(flat, prepend=False, append=False))
        counts = np.diff(np.concatenate([[0], ends, [flat.size]]))
        if len(counts) > 1 and not counts[-1]:  # the mask ends with a pixel of its own
            counts = counts[:-1]
        return cls(mask.shape[0], mask.shape[1], tuple(counts.tolist()))

    def array(self) -> Bools:
        """The mask, ``[row column]``."""
        inside = np.arange(len(self.counts)) % 2 == 1
        return np.repeat(inside, self.counts).reshape(self.width, self.height).T


@dataclass(frozen=True, init=False)
class Region:
    """An area of the picture of an input: the target of a link, or its source.

    Exactly one of:

    Args:
        box: left, top, right and bottom in the picture's own pixels, whatever a model makes of it. (COCO's boxes are
            left, top, width and height.)
        polygons: all of them together are the region. One is its corners, ``[x, y, x, y, …]`` as in COCO, or ``(x, y)``
            each.
        mask: of all of the picture: true or false ``[row column]``; COCO's runs, ``{"size": [height, width], "counts":
            …}``, compressed or not; or a path of a picture that is black outside of the region.
        picture: of several pictures the number of its own, from 1.

    Attributes:
        box, polygons, mask: what was given, the mask as `Runs`; None for the others.
        text: of a model with an encoder and a decoder pictures are what the encoder reads, ``a``.

    Raises `InputError` for a region without any area.

    >>> hs.Region((10, 20, 90, 130))
    Region(box=(10.0, 20.0, 90.0, 130.0))
    >>> hs.Region(mask={"size": [2, 3], "counts": [2, 2, 2]}).middle
    (1.5, 1.0)
    """

    box: Box | None
    polygons: tuple[Polygon, ...] | None
    mask: Runs | None
    picture: int
    text: ClassVar[Literal["a"]] = "a"

    def __init__(
        self, box: Sequence[float] | None = None, *, polygons: Any = None, mask: Any = None, picture: Any = 1
    ) -> None:
        given = {"box": box, "polygons": polygons, "mask": mask}
        shapes = [name for name, value in given.items() if value is not None]
        if len(shapes) != 1:
            raise InputError(
                f"region: expected one of box, polygons and mask, found {' and '.join(shapes) or 'none'}"
            )
        if type(picture) is not int or picture < 1:
            raise InputError(f"picture: expected a number from 1, found {shown(picture)}")
        self.__dict__.update(
            picture=picture,
            box=None if box is None else _box(box),
            polygons=None if polygons is None else _polygons(polygons),
            mask=None if mask is None else _runs(mask),
        )

    def __repr__(self) -> str:
        if self.box is not None:
            return f"Region(box={self.box})"
        left, top, right, bottom = self.bounds
        shape = "mask" if self.polygons is None else "polygons"
        return f"Region({shape} within ({left:g}, {top:g}, {right:g}, {bottom:g}))"

    @property
    def bounds(self) -> Box:
        """The smallest box around it."""
        if self.box is not None:
            return self.box
        if self.polygons is not None:
            corners = np.concatenate([np.array(polygon) for polygon in self.polygons])
            return cast("Box", (*corners.min(0).tolist(), *corners.max(0).tolist()))
        rows, columns = np.nonzero(self._pixels())
        return float(columns.min()), float(rows.min()), columns.max() + 1.0, rows.max() + 1.0

    @property
    def middle(self) -> tuple[float, float]:
        """The point (x, y) of it that is nearest to the middle of its bounds."""
        left, top, right, bottom = self.bounds
        x, y = (left + right) / 2, (top + bottom) / 2
        if self.box is not None or self.contains(np.array([[x, y]]))[0]:
            return float(x), float(y)
        if self.polygons is not None:
            near = np.concatenate([_nearest(polygon, x, y) for polygon in self.polygons])
        else:
            rows, columns = np.nonzero(self._pixels())
            near = np.stack([columns, rows], -1) + 0.5
        best = int(((near - (x, y)) ** 2).sum(-1).argmin())
        return float(near[best, 0]), float(near[best, 1])

    def contains(self, points: Floats) -> Bools:
        """Which points ``[point 2]`` (x, y) are in it."""
        x, y = points.T
        if self.box is not None:
            left, top, right, bottom = self.box
            return (x >= left) & (x < right) & (y >= top) & (y < bottom)
        if self.polygons is not None:
            return np.logical_or.reduce([_within(polygon, x, y) for polygon in self.polygons])
        pixels = self._pixels()
        height, width = pixels.shape
        there = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        columns, rows = (np.where(there, np.floor(coordinates), 0).astype(np.int64) for coordinates in (x, y))
        return there & pixels[rows, columns]

    def expect_in(self, size: tuple[int, int]) -> None:
        """Raise `InputError` where it is of a picture of another size than (width, height)."""
        width, height = size
        if self.mask is not None and (self.mask.width, self.mask.height) != size:
            raise InputError(
                f"expected a mask of {width} × {height} pixels, as the picture, found one of {self.mask.width} × "
                f"{self.mask.height}"
            )
        left, top, right, bottom = self.bounds
        if min(left, top) < -REACH or right > width + REACH or bottom > height + REACH:
            raise InputError(
                f"expected a region within the picture's {width} × {height} pixels, found one from ({left:g}, {top:g}) "
                f"to ({right:g}, {bottom:g})"
            )

    def outlines(self) -> list[list[float]]:
        """Its outlines as lines through points, ``[x, y, x, y, …]`` each; of a mask the edges of its pixels."""
        if self.box is not None:
            left, top, right, bottom = self.box
            return [[left, top, right, top, right, bottom, left, bottom, left, top]]
        if self.polygons is not None:
            return [
                [number for corner in (*polygon, polygon[0]) for number in corner]
                for polygon in self.polygons
            ]
        return _edges(self._pixels())

    def _pixels(self) -> Bools:
        assert self.mask is not None
        return self.mask.array()


def _numbers(value: Any, name: str, words: str) -> Floats:
    """Finite numbers. Raises `InputError` for anything else."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, object)
    numbers = isinstance(value, np.ndarray) or not any(
        isinstance(number, bool | np.bool_) for number in _flat(value)
    )
    if not numbers or array.dtype.kind not in "iuf" or not array.size or not np.isfinite(array).all():
        raise InputError(f"{name}: expected {words}, found {shown(value)}")
    return array.astype(np.float64)


def _flat(value: Any) -> Iterator[Any]:
    """The items of nested lists, one after another."""
    if is_list_or_tuple(value):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _box(value: Any) -> Box:
    words = "left, top, right and bottom in pixels"
    array = _numbers(value, "box", words)
    if array.shape != (4,):
        raise InputError(f"box: expected {words}, found {shown(value)}")
    left, top, right, bottom = array.tolist()
    if not (left < right and top < bottom):
        raise InputError(
            f"box: expected {words}, left before right and top before bottom, found {shown(value)}"
        )
    return left, top, right, bottom


def _polygons(value: Any) -> tuple[Polygon, ...]:
    given = (
        list(cast("Sequence[Any]", value))
        if isinstance(value, Sequence) and not isinstance(value, str)
        else []
    )
    if not given:
        raise InputError(f"polygons: expected a list of polygons, found {shown(value)}")
    polygons: list[Polygon] = []
    for index, polygon in enumerate(given):
        name, words = f"polygons[{index}]", "[x, y, x, y, …] of three corners or more, or (x, y) each"
        corners = _numbers(polygon, name, words)
        if corners.ndim == 1 and corners.size % 2 == 0:
            corners = corners.reshape(-1, 2)
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
            raise InputError(f"{name}: expected {words}, found {shown(polygon)}")
        if (np.ptp(corners, 0) == 0).any():
            raise InputError(f"{name}: expected a polygon with an area, found a line")
        polygons.append(tuple((x, y) for x, y in corners.tolist()))
    return tuple(polygons)


def _runs(value: Any) -> Runs:
    if isinstance(value, Runs):
        runs = _of_coco({"size": [value.height, value.width], "counts": value.counts})
    elif is_mapping(value):
        runs = _of_coco(value)
    else:
        if is_path(value):
            array: np.ndarray = mask_of(Path(value))
        else:
            try:
                array = np.asarray(value)
            except ValueError:  # rows of several lengths
                array = np.empty(0, object)
        if array.ndim != 2 or array.dtype != np.bool_:
            raise InputError(
                "mask: expected true or false [row column], COCO's {'size', 'counts'} or a path, found "
                f"{f'{array.dtype} {array.shape}' if isinstance(value, np.ndarray) else shown(value)}"
            )
        runs = Runs.of(array)
    if sum(runs.counts[1::2]) == 0:
        raise InputError("mask: expected a pixel in it, found none")
    return runs


def _of_coco(value: AnyMapping) -> Runs:
    """The runs of COCO's object. Raises `InputError` where they are not of its size."""
    size, counts = value.get("size"), value.get("counts")
    sides = size if is_list_or_tuple(size) else ()
    if len(sides) != 2 or any(type(side) is not int or side < 1 for side in sides):
        raise InputError(f"mask: expected 'size': [height, width], found {shown(size)}")
    if isinstance(counts, bytes):
        counts = counts.decode("ascii", "replace")
    lengths = _uncompressed(counts) if isinstance(counts, str) else counts
    if not is_list_or_tuple(lengths) or any(type(length) is not int or length < 0 for length in lengths):
        raise InputError(
            f"mask: expected 'counts': whole numbers, or COCO's string of them, found {shown(counts)}"
        )
    height, width = sides
    if height * width > MOST:
        raise InputError(f"mask: expected at most {MOST:,} pixels, found {height:,} × {width:,}")
    total = sum(lengths)
    if total != height * width:
        raise InputError(
            f"mask: expected counts of {height} × {width} = {height * width:,} pixels, found {total:,}"
        )
    return Runs(height, width, tuple(lengths))


def _uncompressed(text: str) -> list[int] | None:
    """The counts of COCO's compressed runs; None for what is none.

    Each number is written in groups of five bits, the lowest first, as characters from ``0`` (48) on: the sixth bit
    says that it goes on, and the fifth of its last group its sign. From the fourth on it is the difference to the one
    before the last (`rleFrString` in COCO's maskApi.c).
    """
    counts: list[int] = []
    place = 0
    while place < len(text):
        number, shift, more = 0, 0, True
        while more:
            if place == len(text) or not 0 <= (group := ord(text[place]) - 48) < 64 or shift > 60:
                return None
            number |= (group & 31) << shift
            shift += 5
            more = bool(group & 32)
            place += 1
            if not more and group & 16:
                number -= 1 << shift
        counts.append(number + counts[-2] if len(counts) > 2 else number)
    return counts


def _within(polygon: Polygon, x: Floats, y: Floats) -> Bools:
    """Which points are in a polygon: those from which a line to the right crosses its sides an odd number of times."""
    inside = np.zeros(x.shape, np.bool_)
    for (x0, y0), (x1, y1) in zip(polygon, (*polygon[1:], polygon[0]), strict=True):
        if y0 != y1:
            inside ^= ((y0 <= y) != (y1 <= y)) & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    return inside


def _nearest(polygon: Polygon, x: float, y: float) -> Floats:
    """The point of each side of a polygon that is nearest to a point, ``[side 2]``."""
    starts = np.array(polygon)
    along = np.roll(starts, -1, 0) - starts
    length = np.maximum((along**2).sum(-1), 1e-12)
    share = (((x, y) - starts) * along).sum(-1) / length
    return starts + share.clip(0, 1)[:, None] * along


_MOST = 256  # pixels of the long side of a mask whose outline is drawn


def _edges(pixels: Bools) -> list[list[float]]:
    """The edges between what is in a mask and what is not, as straight lines; of a large one coarser."""
    height, width = pixels.shape
    step = -(-max(height, width) // _MOST)
    rows, columns = -(-height // step), -(-width // step)
    coarse = np.zeros((rows * step, columns * step), np.float64)
    coarse[:height, :width] = pixels
    inside = coarse.reshape(rows, step, columns, step).mean((1, 3)) >= 0.5
    if not inside.any():
        inside = coarse.reshape(rows, step, columns, step).any((1, 3))
    lines: list[list[float]] = []
    for turned in (False, True):
        changes = np.diff((inside.T if turned else inside).astype(np.int8), axis=0, prepend=0, append=0) != 0
        for at, change in enumerate(changes):
            ends = np.flatnonzero(np.diff(change, prepend=False, append=False))
            for first, last in ends.reshape(-1, 2).tolist():
                line = [first, at, last, at]
                ordered = [line[1], line[0], line[3], line[2]] if turned else line
                most = (width, height, width, height)
                lines.append(
                    [
                        float(min(coordinate * step, end))
                        for coordinate, end in zip(ordered, most, strict=True)
                    ]
                )
    return lines


def shown(value: Any) -> str:
    """A value in few characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
