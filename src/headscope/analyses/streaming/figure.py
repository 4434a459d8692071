"""What key heads gain as a map."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import xarray as xr

from headscope.analyses.streaming.statistics import BAR
from headscope.views import charts
from headscope.views.charts import Figure, Look


def figure(dataset: xr.Dataset, *, level: float = 0.05, **look: Unpack[Look]) -> Figure:
    """What each key head is estimated to gain by the whole text as a map, layers down and key heads across.

    Args:
        dataset: from `headscope.streaming`.
        level: key heads that were measured and whose q is at most this have an edge.
        theme, width, title, ax: as in `headscope.figure`.
    """
    meta, edged = charts.meta_of(dataset), np.nan_to_num(dataset["q"].values, nan=1.0) <= level
    values = np.asarray(dataset["estimate"].values, np.float64).clip(0.0)
    lengths = " and ".join(map(str, meta["lengths"]))
    return charts.map_of_heads(
        dataset,
        values,
        (0.0, max(float(np.nanmax(values)), BAR)),
        edged,
        heading_text="gain by each key head that sees the whole text",
        scale="nats a token (estimate)",
        caption=[
            f"window: first {meta['sink']} and last {meta['recent']} of {lengths} tokens",
            f"edge: loses more than {BAR:g} nats a token with q ≤ {level:g} ({int(edged.sum())} key heads)",
        ],
        about_text="Streaming",
        root=True,
        across="key_head",
        **look,
    )
