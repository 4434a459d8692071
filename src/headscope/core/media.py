"""What tokens may stand for places in: pictures, sounds, time series, and sequences of letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headscope.core.arrays import Bytes, Floats, Ints, Singles
from headscope.core.validation import Count, expect_fields
from headscope.errors import InputError, ShapeError


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture, as it was before a model resized or cut it. Places on it are in pixels.

    Attributes:
        pixels: ``[row column 3]``, red, green and blue from 0 to 255.
        name: of its file, or what it shows.
        frames: of a video, which of its frames it stands for: the first, and the one after the last.
        after: the pixels of those behind the first, which is what is drawn.
    """

    pixels: Bytes
    name: str = ""
    frames: tuple[int, int] | None = None
    after: Sequence[Bytes] = ()

    def __post_init__(self) -> None:
        expect_fields(self, "pixels", "name", "frames", "after")
        if self.pixels.ndim != 3 or self.pixels.shape[2] != 3 or not self.pixels.size:
            raise ShapeError(f"pixels: expected [row column 3], found shape {self.pixels.shape}")
        if self.pixels.dtype != np.uint8:
            raise ShapeError(f"pixels: expected numbers from 0 to 255 (uint8), found {self.pixels.dtype}")

    @property
    def array(self) -> Bytes:
        """`pixels`, ``[row column 3]``; of several frames those of each, ``[frame row column 3]``."""
        return np.stack([self.pixels, *self.after]) if self.after else self.pixels

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.pixels.shape[1], self.pixels.shape[0]


@dataclass(frozen=True, eq=False)
class Sound:
    """A sound, as a model hears it. Places in it are in seconds; from top to bottom they go from 0 to 1.

    Attributes:
        samples: ``[sample]`` of one channel, from -1 to 1; none where only its times are known.
        rate: samples in a second.
        name: of its file, or what it holds.
    """

    samples: Singles
    rate: Count
    name: str = ""

    def __post_init__(self) -> None:
        expect_fields(self, "samples", "rate", "name")
        _expect_finite("samples", self.samples, "[sample]", "numbers from -1 to 1 (floats)", 1)

    @property
    def array(self) -> Floats | Singles:
        """`samples`."""
        return self.samples

    @property
    def seconds(self) -> float:
        """How long it is."""
        return len(self.samples) / self.rate


@dataclass(frozen=True, eq=False)
class Series:
    """A time series. Places in it are in steps, and from top to bottom in channels.

    Attributes:
        values: ``[step channel]``.
        channels: what each channel is called; by default ``channel 1`` and so on.
        name: of its file, or what it holds.
    """

    values: Floats | Singles
    channels: Sequence[str] = ()
    name: str = ""

    def __post_init__(self) -> None:
        expect_fields(self, "values", "channels", "name")
        _expect_finite("values", self.values, "[step channel]", "finite numbers (floats)", 2)
        steps, count = self.values.shape
        if not steps or not count:
            raise ShapeError(f"values: expected a step and a channel, found shape {self.values.shape}")
        names = tuple(self.channels) or tuple(f"channel {number + 1}" for number in range(count))
        if len(names) != count:
            raise ShapeError(f"channels: expected {count} names, one a channel, found {len(names)}")
        object.__setattr__(self, "channels", names)

    @property
    def array(self) -> Floats | Singles:
        """`values`."""
        return self.values


@dataclass(frozen=True, eq=False)
class Letters:
    """A sequence of letters: nucleotides, residues. Places in it are in letters; from top to bottom from 0 to 1.

    Attributes:
        text: the letters.
        name: of its record, or what it is.
    """

    text: str
    name: str = ""

    def __post_init__(self) -> None:
        expect_fields(self, "text", "name")
        if not self.text:
            raise InputError("text: expected letters, found none")

    @property
    def array(self) -> Bytes:
        """`text` in UTF-8."""
        return np.frombuffer(self.text.encode(), np.uint8)


Medium = Picture | Sound | Series | Letters
"""What a token may stand for a place in."""

MediumKind = Literal["picture", "sound", "series", "letters"]

KINDS: Mapping[type[Medium], MediumKind] = {
    Picture: "picture",
    Sound: "sound",
    Series: "series",
    Letters: "letters",
}


def called(medium: Medium, number: int) -> str:
    """The name of one of several media, by default its kind and number: ``picture 2``."""
    if not medium.name and isinstance(medium, Picture) and medium.frames is not None:
        return title(medium.frames)
    return medium.name or f"{KINDS[type(medium)]} {number + 1}"


def title(frames: tuple[int, int]) -> str:
    """What some frames are called."""
    first, after = frames
    return f"frame {first}" if after - first == 1 else f"frames {first}–{after - 1}"


def _expect_finite(name: str, array: Floats | Singles, axes: str, words: str, axis_count: int) -> None:
    if array.ndim != axis_count:
        raise ShapeError(f"{name}: expected {axes}, found shape {array.shape}")
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        actual = array.dtype if array.dtype.kind != "f" else "NaN or infinity"
        raise ShapeError(f"{name}: expected {words}, found {actual}")


def covering(places: Floats, of: Ints) -> Floats:
    """The smallest place that covers those of each group's tokens, which are in one medium, ``[group 5]``.

    Args:
        places: ``[token 5]``, as of `Tokens`.
        of: ``[token]``: the number of each token's group.
    """
    made = np.full((int(of.max(initial=-1)) + 1, 5), np.nan)
    for side, gather in enumerate((np.fmin, np.fmin, np.fmin, np.fmax, np.fmax)):
        gather.at(made[:, side], of, places[:, side])
    return made
