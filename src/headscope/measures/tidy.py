"""Arrays over (measure, layer, head), and their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.types import AnyDict, AnyMapping
from headscope.measures.dataset import describe, papers
from headscope.measures.dataset import of_heads as of_heads
from headscope.measures.measure import Measure

AXES = ("measure", "layer", "head")


def labelled(
    variables: AnyMapping,
    measures: Sequence[Measure],
    layers: Sequence[int],
    meta: AnyMapping,
    **coords: Sequence[str],
) -> xr.Dataset:
    """Label arrays with what they are over.

    Args:
        variables: arrays ``[measure layer head]``, or what `xarray.Dataset` takes.
        measures: their definitions, which give names, titles and units.
        layers: the model's index of each layer.
        meta: what made the figures (`headscope.measures.dataset.description`).
        **coords: further axes.
    """
    known: AnyDict = {
        name: (AXES, value) if isinstance(value, np.ndarray) else value for name, value in variables.items()
    }
    labels: AnyDict = {
        **coords,
        "measure": [measure.name for measure in measures],
        "layer": list(layers),
        "title": ("measure", [measure.title for measure in measures]),
        "units": ("measure", [measure.units for measure in measures]),
    }
    dataset = xr.Dataset(known, labels, describe(meta))
    dataset["head"] = np.arange(dataset.sizes["head"])
    return dataset


def tidy(dataset: xr.Dataset, columns: Sequence[str], known: str, axes: Sequence[str] = AXES) -> pd.DataFrame:
    """One row a place on the axes, in their order, with figures in `columns`; ``paper`` is the head's 1-based label.

    Variables that lack an axis are repeated along it. Rows in which the column `known` is no number are left out.
    """
    variables = [name for name in columns if name in dataset.data_vars]
    rows: Any = dataset[variables].to_dataframe(dim_order=list(axes)).reset_index()
    if "paper" in columns:
        rows["paper"] = papers(rows["layer"], rows["head"])
    return rows.loc[np.isfinite(rows[known]), list(columns)].reset_index(drop=True)
