"""What is no text: a picture whose areas tokens stand for, a sound whose stretches they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from headscope.core.arrays import Bytes, Singles
from headscope.core.validation import Count, expect_fields
from headscope.errors import ShapeError

Kind = Literal["text", "images", "sounds"]
"""What a corpus is of."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture, as it was before a model resized or cut it.

    Attributes:
        pixels: ``[row column 3]``, red, green and blue from 0 to 255.
        name: of its file, or what it shows.
    """

    pixels: Bytes
    name: str = ""

    def __post_init__(self) -> None:
        expect_fields(self, "pixels", "name")
        if self.pixels.ndim != 3 or self.pixels.shape[2] != 3 or not self.pixels.size:
            raise ShapeError(f"pixels: expected [row column 3], found shape {self.pixels.shape}")
        if self.pixels.dtype != np.uint8:
            raise ShapeError(f"pixels: expected numbers from 0 to 255 (uint8), found {self.pixels.dtype}")

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.pixels.shape[1], self.pixels.shape[0]


@dataclass(frozen=True, eq=False)
class Sound:
    """A sound, as a model hears it.

    Attributes:
        samples: ``[sample]`` of one channel, from -1 to 1.
        rate: samples in a second.
        name: of its file, or what it holds.
    """

    samples: Singles
    rate: Count
    name: str = ""

    def __post_init__(self) -> None:
        expect_fields(self, "samples", "rate", "name")
        if self.samples.ndim != 1 or not self.samples.size:
            raise ShapeError(f"samples: expected [sample], found shape {self.samples.shape}")
        if self.samples.dtype.kind != "f" or not np.isfinite(self.samples).all():
            actual = self.samples.dtype if self.samples.dtype.kind != "f" else "NaN or infinity"
            raise ShapeError(f"samples: expected numbers from -1 to 1 (floats), found {actual}")

    @property
    def seconds(self) -> float:
        """How long it is."""
        return len(self.samples) / self.rate
