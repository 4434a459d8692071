"""Measures of every head over the checkpoints of a training run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import xarray as xr

from headscope.core.heads import Head
from headscope.views import charts, fonts
from headscope.views.charts import Figure, Look


def figure(dataset: xr.Dataset, measures: Sequence[str] | None = None, **look: Unpack[Look]) -> Figure:
    """Measures over checkpoints, a panel a measure, a line a head, coloured by layer; the last checkpoint's top head is
    named.

    Args:
        dataset: from `headscope.compare.training`, its ``figures``.
        measures: what to draw; by default those that changed most in some head, in units of their spread.
        theme, width, title: as in `headscope.figure`.
        ax: matplotlib Axes to draw on in place of a new figure, one a measure.
    """
    meta = charts.meta_of(dataset)
    value = dataset["value"].transpose("measure", "checkpoint", "layer", "head").values
    spread = np.nanstd(value, axis=(1, 2, 3))
    moved = np.nanmax(np.abs(value[:, -1] - value[:, 0]), axis=(1, 2)) / np.where(spread > 0, spread, 1.0)
    panels = charts.measures_to_draw(dataset, measures, np.argsort(-moved, kind="stable"))
    layers = dataset["layer"].values
    checkpoints = [str(name) for name in dataset["checkpoint"].values]
    short = [name if len(name) <= 14 else "…" + name[-13:] for name in _without_prefix(checkpoints)]
    parts = [
        "a line a head, blue in the first layer to orange in the last",
        "checkpoints: " + ", ".join(checkpoints),
        f"{meta['corpus'].get('examples', 0):,} inputs",
    ]
    with charts.chart(
        panels=len(panels),
        high=90.0,
        across=charts.panels_across(len(panels), look.get("width", "page")),
        pad=(34.0, 26.0, 16.0, 24.0),
        caption=" · ".join(parts),
        meta=meta,
        about="Over training",
        **look,
    ) as chart:
        hues = charts.layer_colours(len(layers), chart.colours)
        steps = np.arange(len(checkpoints))
        collection: Any = fonts.matplotlib().collections.LineCollection
        for axes, panel in zip(chart.axes, panels, strict=True):
            values = value[panel]  # [checkpoint layer head]
            heads = np.argwhere(np.isfinite(values).all(0))
            lines = [np.stack([steps, values[:, layer, head]], -1) for layer, head in heads]
            axes.add_collection(
                collection(lines, colors=[hues[layer] for layer, _ in heads], lw=0.7, alpha=0.75)
            )
            axes.set(
                xlim=(0, steps[-1]),
                xlabel="checkpoint",
                ylabel=str(dataset["units"].values[panel]) or "value",
            )
            axes.autoscale(axis="y")
            charts.heading(axes, str(dataset["title"].values[panel]))
            charts.rounded(axes.yaxis)
            fit = int(charts.size(axes)[0] / (4.0 * max(map(len, short)) + 4.0)) + 1
            ticks = np.linspace(0, len(short) - 1, min(len(short), max(2, fit))).round().astype(int)
            axes.set_xticks(ticks, [short[tick] for tick in ticks], parse_math=False)
            layer, head = np.unravel_index(int(np.nanargmax(values[-1])), values[-1].shape)
            axes.annotate(
                str(Head(int(layers[layer]), int(head))),
                (steps[-1], values[-1, layer, head]),
                (2, 0),
                textcoords="offset points",
                va="center",
                size=6.0,
            )
    return chart


def _without_prefix(names: Sequence[str]) -> Sequence[str]:
    """The numbers of names that differ in nothing else, such as ``checkpoint-500``; other names as they are."""
    matches = [match for name in names if (match := re.fullmatch(r"(.*\D)(\d+)", name))]
    alike = len(matches) == len(names) and len({match[1] for match in matches}) == 1
    return [match[2] for match in matches] if alike else names
