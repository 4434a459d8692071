"""Effect sizes of two groups of inputs as maps of heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import xarray as xr

from headscope.analyses.compare.groups.statistics import LEVEL, drawn, null_in
from headscope.core.counts import plural
from headscope.views import charts
from headscope.views.charts import Figure, Look

_CELL = 16.0  # of a head, in points, at most
_MOST = 20.0  # of an effect that is drawn


def figure(
    dataset: xr.Dataset,
    measures: Sequence[str] | None = None,
    *,
    level: float = LEVEL,
    **look: Unpack[Look],
) -> Figure:
    """Effect sizes of every head, a panel a measure; heads whose q is at most `level` have an edge.

    Args:
        dataset: from `headscope.compare.groups`, its ``figures``.
        measures: what to draw; by default those with the smallest q, of equals those with the largest effect.
        level: of q.
        theme, width, title: as in `headscope.figure`.
        ax: matplotlib Axes to draw on in place of a new figure, one a measure.
    """
    meta, width = charts.meta_of(dataset), look.get("width", "page")
    effect, q = (dataset[name].transpose("measure", "layer", "head").values for name in ("effect", "q"))
    effect = np.clip(effect, -_MOST, _MOST)
    largest = np.where(np.isfinite(effect), np.abs(effect), -1.0).max((1, 2))
    least = np.where(np.isfinite(q), q, 2.0).min((1, 2))
    order = np.lexsort((-largest, least))[: int((largest >= 0).sum())]
    panels = charts.measures_to_draw(dataset, measures, order)
    limit = charts.rounded_up(float(np.nan_to_num(np.abs(effect[panels])).max()))
    across = charts.panels_across(len(panels), width)
    layers, heads = effect.shape[1:]
    wide = (charts.inches(width) * charts.POINTS - 2 * charts.MARGIN - 30.0) / across - 34.0
    with charts.chart(
        panels=len(panels),
        high=min(layers * min(_CELL, max(wide / heads, 6.0)), 240.0),
        across=across,
        pad=(26.0, 8.0, 16.0, 24.0),
        right=30.0,
        caption=_caption(meta, int((np.nan_to_num(q, nan=2.0).min(0) <= level).sum()), level),
        meta=meta,
        about="Two groups",
        **look,
    ) as chart:
        colours = chart.colours
        for number, (axes, panel) in enumerate(zip(chart.axes, panels, strict=True)):
            mesh = charts.grid_of_heads(axes, effect[panel], dataset, (-limit, limit), colours)
            charts.heading(axes, str(dataset["title"].values[panel]))
            significant = np.argwhere(np.nan_to_num(q[panel], nan=2.0) <= level)
            charts.outline(axes, significant, colours.ink)
            if number % across == across - 1 or number == len(panels) - 1:
                charts.colour_bar(axes, mesh, "effect, Hedges' g")
    return chart


def _caption(meta: dict[str, Any], count: int, level: float) -> str:
    groups: list[dict[str, Any]] = list(meta.get("groups") or [{"label": name, "inputs": 0} for name in "AB"])
    first, second = (f"{group['label']} (n = {group['inputs']:,})" for group in groups)
    heads = f"edge: q ≤ {level:g}, {plural(count, 'head')}" if count else f"no head has a q ≤ {level:g}"
    parts = [
        f"Hedges' g of A − B: A is {first}, B is {second}",
        heads,
        *([f"null: {null_in(meta)}"] if "null" in meta else []),
        drawn(meta),
    ]
    return " · ".join([*parts, *([charts.model_name(meta["model"])] if meta.get("model") else [])])
