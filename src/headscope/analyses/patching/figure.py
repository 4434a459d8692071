"""Effects of patching as a map of heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headscope.errors import InputError
from headscope.views import charts
from headscope.views.charts import Figure
from headscope.views.palette import Theme
from headscope.views.paper import Width


def figure(
    dataset: xr.Dataset,
    *,
    level: float = 0.05,
    theme: Theme = "light",
    width: Width = "page",
    title: str | None = None,
    ax: Any = None,
) -> Figure:
    """The effect of every head as a map, layers down and heads across; as estimated where not all were patched.

    Args:
        dataset: from `headscope.patching`.
        level: heads that were patched and whose q is at most this have an edge.
        theme: light or dark ground.
        width: in inches, or the width of a ``column`` or the ``text`` of a paper.
        title: printed above.
        ax: one matplotlib Axes to draw on in place of a new figure.

    Raises `InputError` for a result without any effect.
    """
    meta = charts.meta_of(dataset)
    every = meta["exact"] == "all"
    values = np.asarray(dataset["patching" if every else "estimate"].values, np.float64)
    if not np.isfinite(values).any():
        raise InputError("figure: expected effects of heads, found none")
    highest = charts.rounded_up(max(float(np.nanmax(np.abs(values))), 1e-12))
    edged = np.nan_to_num(dataset["q"].values, nan=1.0) <= level
    return charts.map_of_heads(
        dataset,
        values,
        (-highest, highest),
        edged,
        heading_text="effect of each head" if every else "estimated effect of each head",
        scale="share of the gap",
        caption=_caption(meta, every, int(edged.sum()), level),
        about_text="Patching",
        theme=theme,
        width=width,
        title=title,
        ax=ax,
    )


def _caption(meta: dict[str, Any], every: bool, significant: int, level: float) -> list[str]:
    how = "noising" if meta["noising"] else "denoising"
    return [
        f"{meta['pairs']:,} pairs ({meta['corpus']['name']})",
        f"{'activation' if every else 'attribution'} patching of heads' outputs, {how}",
        f"edge: q ≤ {level:g} of the exact effect ({significant} heads)",
    ]
