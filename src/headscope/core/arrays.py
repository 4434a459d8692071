"""Types of arrays, and divisions by 0."""

from __future__ import annotations

from collections.abc import Mapping
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
