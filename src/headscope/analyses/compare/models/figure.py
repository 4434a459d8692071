"""The drift of every head between two models, and of each layer."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import xarray as xr

from headscope.analyses.compare.models.statistics import by_layer
from headscope.statistics.jackknife import WHY
from headscope.views import charts
from headscope.views.charts import Figure, Look

_CELL = 16.0  # of a head, in points, at most


def figure(dataset: xr.Dataset, **look: Unpack[Look]) -> Figure:
    """How far every head moved between two models, and the mean of each layer with its 95 % interval.

    Args:
        dataset: from `headscope.compare.models`, its ``figures``.
        theme, width, title: as in `headscope.figure`.
        ax: two matplotlib Axes to draw on in place of a new figure, or one for the heads.
    """
    meta, inches = charts.meta_of(dataset), charts.inches(look.get("width", "page"))
    js = dataset["js"].transpose("layer", "head").values
    means: Any = by_layer(dataset)
    mean, low, high = (np.asarray(means[name], np.float64) for name in ("js", "js_low", "js_high"))
    reach = np.stack([mean - low, high - mean])
    highest = float(np.nanmax([*js.ravel(), *mean, *high]))
    limit = charts.rounded_up(max(highest, 1e-12))
    layers, heads = js.shape
    across = 2 if inches > charts.COLUMN else 1
    wide = (inches * charts.POINTS - 2 * charts.MARGIN) / across - 64.0
    panels = charts.given(look.get("ax"), 1, 2) or 2
    with charts.chart(
        panels=panels,
        high=layers * min(_CELL, max(wide / heads, 8.0)),
        across=across,
        pad=(26.0, 38.0, 16.0, 24.0),
        caption=_caption(meta, bool(np.isfinite(reach).any())),
        meta=meta,
        about="Two models",
        **look,
    ) as chart:
        colours = chart.colours
        mesh = charts.grid_of_heads(chart.axes[0], js, dataset, (0.0, limit), colours, root=True)
        charts.heading(chart.axes[0], "drift of each head")
        charts.colour_bar(chart.axes[0], mesh, "nats")
        if panels == 2:
            axes, rows = chart.axes[1], list(range(layers))
            axes.hlines(rows, 0, limit, colors=colours.line, linewidths=0.6, zorder=1)
            axes.errorbar(mean, rows, xerr=reach, fmt="o", ms=4.0, color=colours.accent, elinewidth=1.4)
            axes.set(xlim=(0, limit), ylim=(layers - 0.5, -0.5), xlabel="Jensen–Shannon divergence, nats")
            axes.set_ylabel("layer")
            charts.rounded(axes.xaxis)
            charts.every(axes.yaxis, list(dataset["layer"].values), charts.size(axes)[1], 8.0)
            charts.heading(axes, "mean of each layer")
    return chart


def _caption(meta: dict[str, Any], errors: bool) -> str:
    a, b, corpus = meta["a"], meta["b"], meta["corpus"]
    name = charts.model_name(b)
    if b["name"] == a["name"] and b["notes"]:
        name += f", {b['notes'][0]}"  # what was done to it
    return " · ".join(
        [
            f"Jensen–Shannon divergence of the rows of A and B, nats a {meta['over'][:-1]}",
            f"A is {charts.model_name(a)}, B is {name}",
            f"{corpus.get('examples', 0):,} inputs of {corpus.get('documents', 0):,} documents",
            "bars: 95 %, by document" if errors else f"no bars: {WHY}",
        ]
    )
