"""All media of an input on one sheet, which a page cuts up: pictures in rows, sounds, series and letters below them."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from headscope.core.arrays import Bytes, Floats
from headscope.core.lazy import module
from headscope.core.media import KINDS, Letters, Medium, Picture, Series, Sound, called
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.views.payload import MediumInfo, PictureInfo
from headscope.views.spectrogram import INK, PAPER, spectrogram

LARGEST = 768
"""Of the picture in a page, the longer side, in pixels; of several up to twice that."""

TALL = 256
"""Of each of several pictures on a sheet, in pixels."""

GAP = 8
"""Between media, in pixels of the sheet."""

WIDEST, LANE, LETTER = 960, 72, 20
"""The width of a series, the height of each of its channels, and the side of a letter, in pixels."""


class Laid(NamedTuple):
    """A medium on the sheet.

    Attributes:
        extent: how far places in it go to the right and down, in its units.
        box: left, top, right and bottom on the sheet, in pixels.
    """

    medium: Medium
    extent: tuple[float, float]
    box: tuple[float, float, float, float]

    def on_sheet(self, points: Floats) -> Floats:
        """Points ``[… x, y, x, y …]`` in the medium's units as pixels of the sheet."""
        (across, down), (left, top, right, bottom) = self.extent, self.box
        count = points.shape[-1] // 2
        return points * ([(right - left) / across, (bottom - top) / down] * count) + [left, top] * count


class Sheet:
    """All media of some axes as one picture.

    One picture is the sheet itself, so that its pixels are the sheet's.
    """

    def __init__(self, axes: Sequence[Tokens]) -> None:
        media: list[Medium] = []
        ends: list[float] = []
        for axis in axes:
            for number, at in enumerate(_known(media, axis.media)):
                end = 0.0 if axis.places is None else axis.places[axis.medium == number, 3].max(initial=0.0)
                if at < 0:
                    media.append(axis.media[number])
                    ends.append(0.0)
                ends[at] = max(ends[at], float(end))
        self.laid = _laid([(one, _extent(one, end)) for one, end in zip(media, ends, strict=True)])

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        right, bottom = (max((one.box[side] for one in self.laid), default=1) for side in (2, 3))
        return max(1, round(right)), max(1, round(bottom))

    def areas(self, tokens: Tokens) -> Floats | None:
        """The area of the sheet that each token stands for, ``[token 4]`` (NaN: none); None for an axis without any."""
        if tokens.places is None or not tokens.media:
            return None
        made = np.full((len(tokens), 4), np.nan)
        order = np.array([*_known([one.medium for one in self.laid], tokens.media), -1])[tokens.medium]
        for at, one in enumerate(self.laid):
            made[order == at] = one.on_sheet(tokens.places[order == at, 1:])
        return made

    def info(self) -> PictureInfo | None:
        """The sheet as it travels, small enough for a page; None without media, and where no Pillow is there."""
        if not self.laid:
            return None
        try:
            pillow: Any = module("PIL.Image")
        except InputError:
            return None
        several = len(self.laid) > 1
        width, height = self.size
        image: Any = pillow.new("RGB", (width, height), tuple(PAPER.tolist()))
        for medium, extent, box in self.laid:
            left, top, right, bottom = map(round, box)
            size = max(1, right - left), max(1, bottom - top)
            part = pillow.fromarray(_drawn(medium, extent, size))
            image.paste(part if part.size == size else part.resize(size), (left, top))
        if any(isinstance(one.medium, Picture) for one in self.laid):
            image.thumbnail([LARGEST * (1 + several)] * 2)
        file = io.BytesIO()
        image.save(file, "JPEG", quality=88)
        src = f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
        kinds = {type(one.medium) for one in self.laid}
        info = PictureInfo(
            kind="picture" if len(kinds) > 1 else KINDS[kinds.pop()],
            src=src,
            width=width,
            height=height,
            name=", ".join(one.medium.name for one in self.laid if one.medium.name),
        )
        if several or not isinstance(self.laid[0].medium, Picture | Sound):
            info["media"] = [_info(number, one.medium, one.box) for number, one in enumerate(self.laid)]
        return info


def _known(known: Sequence[Medium], media: Sequence[Medium]) -> list[int]:
    """Where each medium of an axis stands among those known; -1 for none.

    It is there itself, or an equal one that is no other of the axis, since maps from a file have theirs on each axis.
    """
    places: list[int] = []
    for medium in media:
        same = [at for at, other in enumerate(known) if other is medium]
        equal = (at for at, other in enumerate(known) if at not in places and _equal(other, medium))
        places.append(same[0] if same else next(equal, -1))
    return places


def _equal(one: Medium, other: Medium) -> bool:
    return type(one) is type(other) and one.name == other.name and np.array_equal(one.array, other.array)


def _info(number: int, medium: Medium, box: tuple[float, ...]) -> MediumInfo:
    kind = KINDS[type(medium)]
    info = MediumInfo(kind=kind, name=called(medium, number), box=[round(side, 2) for side in box])
    if isinstance(medium, Picture) and medium.frames is not None:
        info["frames"] = [*medium.frames]
    if isinstance(medium, Series):
        info["channels"] = [*medium.channels]
    if isinstance(medium, Letters):
        info["letters"] = medium.text
    return info


def _extent(medium: Medium, end: float) -> tuple[float, float]:
    """How far places in a medium go; a model may hear silence behind a sound, and see padding behind a series."""
    if isinstance(medium, Picture):
        return medium.size
    if isinstance(medium, Sound):
        return max(end, medium.seconds), 1.0
    if isinstance(medium, Series):
        return max(end, len(medium.values)), float(medium.values.shape[1])
    return float(len(medium.text)), 1.0


def _laid(media: Sequence[tuple[Medium, tuple[float, float]]]) -> list[Laid]:
    """Where each medium lies: pictures of one height as a square, below them all else, each across the sheet.

    Thumbnails are drawn so; the front end lays out what is larger (``draw/panes.ts``).
    """
    if len(media) == 1:
        (medium, extent) = media[0]
        return [Laid(medium, extent, (0.0, 0.0, *_size(medium, extent)))]
    widths = [TALL * wide / high for medium, (wide, high) in media if isinstance(medium, Picture)]
    columns = math.ceil(math.sqrt(len(widths)))
    cell = max(widths, default=0.0) + GAP
    across = columns * cell - GAP if widths else float(WIDEST)
    top = -(-len(widths) // max(1, columns)) * (TALL + GAP)
    laid: list[Laid] = []
    at = 0
    for medium, extent in media:
        if isinstance(medium, Picture):
            row, column = divmod(at, columns)
            left, above = column * cell, row * (TALL + GAP)
            laid.append(Laid(medium, extent, (left, above, left + widths[at], above + TALL)))
            at += 1
        else:
            high = _size(medium, extent)[1]
            laid.append(Laid(medium, extent, (0.0, top, across, top + high)))
            top += high + GAP
    return laid


def _size(medium: Medium, extent: tuple[float, float]) -> tuple[int, int]:
    """(width, height) of a medium that has the sheet for itself, in pixels."""
    if isinstance(medium, Picture):
        return medium.size
    if isinstance(medium, Sound):
        return spectrogram(medium, extent[0]).shape[1::-1]
    if isinstance(medium, Series):
        return WIDEST, LANE * medium.values.shape[1]
    return LETTER * len(medium.text), LETTER


def _drawn(medium: Medium, extent: tuple[float, float], size: tuple[int, int]) -> Bytes:
    """The pixels of a medium, ``[row column 3]``; letters, which are text, are left white."""
    if isinstance(medium, Picture):
        return medium.pixels
    if isinstance(medium, Sound):
        return spectrogram(medium, extent[0])
    return _curves(medium, extent[0], size) if isinstance(medium, Series) else _paper(size)


def _paper(size: tuple[int, int]) -> Bytes:
    return np.broadcast_to(PAPER, (size[1], size[0], 3)).astype(np.uint8)


def _curves(series: Series, steps: float, size: tuple[int, int]) -> Bytes:
    """Each channel as a curve of its own height, a step at the middle of its place."""
    draw: Any = module("PIL.ImageDraw")
    image: Any = module("PIL.Image").fromarray(_paper(size))
    lane = size[1] / series.values.shape[1]
    across = (np.arange(len(series.values)) + 0.5) * size[0] / steps
    low, high = series.values.min(0), series.values.max(0)
    shares = (series.values - low) / np.where(high > low, high - low, 1.0)
    for channel, share in enumerate(shares.T.astype(np.float64)):
        down = lane * (channel + 0.92 - 0.84 * share)
        points = list(zip(across.tolist(), down.tolist(), strict=True))
        draw.Draw(image).line([*points, points[-1]], fill=tuple(INK.tolist()), width=2)
    return np.asarray(image)
