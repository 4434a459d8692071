"""Retrieval scores as a map of heads."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import xarray as xr

from headscope.analyses.roles.retrieval.statistics import BAR
from headscope.core.counts import plural
from headscope.errors import InputError
from headscope.views import charts
from headscope.views.charts import Figure, Look


def figure(
    dataset: xr.Dataset,
    *,
    level: float = 0.05,
    **look: Unpack[Look],
) -> Figure:
    """The retrieval score of every head as a map, layers down and heads across.

    Args:
        dataset: from `headscope.retrieval`.
        level: heads whose q is at most this have an edge.
        theme, width, title, ax: as in `headscope.figure`.

    Raises `InputError` where the model produced no answer.
    """
    values = np.asarray(dataset["retrieval"].values, np.float64)
    if not np.isfinite(values).any():
        raise InputError(
            "figure: expected scores of heads, found none: the model produced no token of an answer"
        )
    meta, edged = charts.meta_of(dataset), np.nan_to_num(dataset["q"].values, nan=1.0) <= level
    return charts.map_of_heads(
        dataset,
        values,
        (0.0, 1.0),
        edged,
        heading_text="retrieval score of each head",
        scale="share of copied tokens",
        caption=[
            f"{plural(meta['needles'], 'needle')} in texts of {' and '.join(map(str, meta['lengths']))} tokens",
            f"edge: above {BAR:g} with q ≤ {level:g} ({int(edged.sum())} heads)",
        ],
        about_text="Retrieval",
        **look,
    )
