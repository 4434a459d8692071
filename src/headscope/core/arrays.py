"""Types of arrays, layers of several sizes as one, and divisions by 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
AnyFloats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Arrays = Mapping[str, np.ndarray]


def quiet() -> np.errstate:
    """Where figures are NaN or infinite that divide by 0, of which numpy says nothing within this."""
    return np.errstate(invalid="ignore", divide="ignore")


def of_layers(layers: Sequence[AnyFloats]) -> Floats:
    """Arrays ``[head ...]`` as one ``[layer head ...]``; NaN for heads that a layer does not have."""
    every = np.full((len(layers), max(map(len, layers)), *layers[0].shape[1:]), np.nan)
    for place, layer in enumerate(layers):
        every[place, : len(layer)] = layer
    return every
