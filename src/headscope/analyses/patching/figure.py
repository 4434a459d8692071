"""Effects of patching as a map of heads."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import xarray as xr

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
    """The effect of every head as a map, layers down and heads across; as estimated where not all were patched. Of a
    result with a curve how faithful circuits are by their number of edges.

    Args:
        dataset: from `headscope.patching`.
        level: heads that were patched and whose q is at most this have an edge.
        theme, width, title, ax: as in `headscope.figure`.

    Raises `InputError` for a result without any effect.
    """
    meta = charts.meta_of(dataset)
    if "faithfulness" in dataset:
        return _curve(dataset, meta, look)
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
        **look,
    )


def _curve(dataset: xr.Dataset, meta: Any, look: Look) -> Figure:
    """How much of the gap circuits bring back, by their number of edges."""
    with charts.chart(
        high=180.0, pad=(44.0, 38.0, 26.0, 24.0), **look,
        caption=" · ".join([
            f"{plural(meta['pairs'], 'pair')} ({meta['corpus']['name']})",
            f"circuits of edges among heads and MLPs, of {int(dataset['integrated'].notnull().sum()):,}",
            "bars, where there are: 95 %, over pairs",
        ]), meta=meta, about="Patching",
    ) as chart:  # fmt: skip
        axes, colours = chart.axes[0], chart.colours
        marks = (colours.accent, "o-"), (colours.ink2, "s--"), (colours.ink3, "^:")
        for order, (tone, mark) in zip(dataset["order"].values, marks, strict=True):
            at = dataset.sel(order=order)
            value, low, high = (at[f"faithfulness{end}"].values for end in ("", "_low", "_high"))
            reach = np.nan_to_num(np.stack([value - low, high - value]).clip(0.0))
            axes.errorbar(at["size"], value, yerr=reach, fmt=mark, ms=4.0, color=tone, lw=1.2, label=order)
        for share in (0.0, 1.0):
            axes.axhline(share, color=colours.line, lw=0.6, zorder=0)
        axes.set(xscale="log", xlabel="edges of the circuit", ylabel="faithfulness, share of the gap")
        axes.set_xticks(dataset["size"].values, [f"{size:,}" for size in dataset["size"].values])
        axes.minorticks_off()
        axes.legend(loc="best")
        charts.heading(axes, "faithfulness of circuits by their size")
    return chart


def _caption(meta: dict[str, Any], every: bool, significant: int, level: float) -> list[str]:
    how = "noising" if meta["noising"] else "denoising"
    return [
        f"{plural(meta['pairs'], 'pair')} ({meta['corpus']['name']})",
        f"{'activation' if every else 'attribution'} patching of heads' outputs, {how}",
        f"edge: q ≤ {level:g} of the exact effect ({significant} heads)",
    ]
