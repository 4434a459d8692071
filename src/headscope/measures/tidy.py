"""From arrays over (measure, layer, head) to rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.heads import Head

AXES = ("measure", "layer", "head")


def tidy(found: xr.Dataset, columns: Sequence[str], known: str, first: Sequence[str] = ()) -> pd.DataFrame:
    """One row a head of each measure (and of each place on the axes `first`), figures in `columns`.

    Variables that lack an axis are repeated along it; rows in which the column `known` is no number are left out.
    """
    axes = [*first, *AXES]
    shape = tuple(found.sizes[axis] for axis in axes)
    grid = np.indices(shape).reshape(len(axes), -1)
    rows: dict[str, Any] = {axis: found[axis].values[place] for axis, place in zip(axes, grid, strict=True)}
    rows["paper"] = [Head(int(a), int(b)).paper for a, b in zip(rows["layer"], rows["head"], strict=True)]
    for name in columns:
        if name not in rows:
            rows[name] = _along(found[name], axes, shape)
    keep = np.isfinite(rows[known])
    return pd.DataFrame({name: np.asarray(rows[name])[keep] for name in columns})


def _along(values: xr.DataArray, axes: Sequence[str], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    own = [axis for axis in axes if axis in values.dims]
    array = values.transpose(*own).values
    place = tuple(slice(None) if axis in own else None for axis in axes)
    return np.broadcast_to(array[place], shape).reshape(-1)
