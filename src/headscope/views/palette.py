"""The colours of every figure: one palette for light ground and one for dark.

Colour has one job at a time: teal is how much attention, blue and orange are signs, twelve hues tell heads
apart (a head's number is always printed beside its hue). Neighbouring heads differ in every colour vision. All stand
in colours.json, which pages read too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from headscope.core.arrays import Bytes

Theme = Literal["light", "dark"]
Colour = str | tuple[float, ...]


@dataclass(frozen=True)
class Palette:
    """One ground and the inks on it. `sequential` runs from weight 0 to 1 by √w, `diverging` from − to +.

    `right` and `wrong` are of gold links, whose shapes say the same.
    """

    bg: str
    ink: str
    ink2: str
    ink3: str
    line: str
    line2: str
    track: str
    accent: str
    wash: str
    sequential: Sequence[str]
    diverging: Sequence[str]
    heads: Sequence[str]
    right: str
    wrong: str


def _read() -> tuple[Palette, Palette]:
    given = json.loads((Path(__file__).parent / "colours.json").read_text(encoding="utf-8"))
    names = [field.name for field in fields(Palette)]
    light, dark = (Palette(**{name: given[theme][name] for name in names}) for theme in ("light", "dark"))
    return light, dark


LIGHT, DARK = _read()


def palette(theme: Theme) -> Palette:
    """The palette of a ground."""
    return DARK if theme == "dark" else LIGHT


def ramp(stops: Sequence[str], steps: int = 256) -> Bytes:
    """`steps` colours ``[step 3]`` between some stops, evenly spaced in OKLab.

    >>> ramp(["#000000", "#ffffff"], 2).tolist()
    [[0, 0, 0], [255, 255, 255]]
    """
    lab = _to_lab(
        np.array([[int(stop[place : place + 2], 16) for place in (1, 3, 5)] for stop in stops]) / 255.0
    )
    where = np.linspace(0, len(stops) - 1, steps)
    between = np.stack([np.interp(where, np.arange(len(stops)), lab[:, axis]) for axis in range(3)], -1)
    return np.rint(255 * np.clip(_to_rgb(between), 0.0, 1.0)).astype(np.uint8)


# OKLab (Ottosson 2020): a space in which equal steps look equal.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def _to_lab(rgb: npt.NDArray[Any]) -> npt.NDArray[Any]:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.cbrt(linear @ _CONES.T) @ _LAB.T


def _to_rgb(lab: npt.NDArray[Any]) -> npt.NDArray[Any]:
    linear = np.maximum((lab @ np.linalg.inv(_LAB).T) ** 3 @ np.linalg.inv(_CONES).T, 0.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
