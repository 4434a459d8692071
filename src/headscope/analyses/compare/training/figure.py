"""Measures of every head over the checkpoints of a training run."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import xarray as xr

from headscope.core.heads import Head
from headscope.views.charts import Chart, Figure, measures_to_draw, meta_of, numbers, texts


def figure(dataset: xr.Dataset, measures: Sequence[str] | None = None) -> Figure:
    """Measures over checkpoints, a panel a measure, a line a head, coloured by layer; the last checkpoint's top head is
    named.

    Args:
        dataset: from `headscope.compare.training`, its ``figures``.
        measures: what to draw; by default those that changed most in some head, in units of their spread.
    """
    meta = meta_of(dataset)
    value = dataset["value"].transpose("measure", "checkpoint", "layer", "head").values
    spread = np.nanstd(value, axis=(1, 2, 3))
    moved = np.nanmax(np.abs(value[:, -1] - value[:, 0]), axis=(1, 2)) / np.where(spread > 0, spread, 1.0)
    panels = measures_to_draw(dataset, measures, np.argsort(-moved, kind="stable"))
    checkpoints = texts(dataset["checkpoint"].values)
    charts = [_chart(dataset, panel, value[panel], _without_prefix(checkpoints)) for panel in panels]
    parts = [
        "a line a head",
        "checkpoints: " + ", ".join(checkpoints),
        f"{meta['corpus'].get('examples', 0):,} inputs",
    ]
    return Figure(charts, " · ".join(parts), "Over training", meta, 2)


def _chart(dataset: xr.Dataset, panel: int, values: np.ndarray, checkpoints: Sequence[str]) -> Chart:
    """One measure, ``[checkpoint layer head]``."""
    layers = dataset["layer"].values
    short = [name if len(name) <= 20 else "…" + name[-19:] for name in checkpoints]
    heads: list[list[int]] = np.argwhere(np.isfinite(values).all(0)).tolist()
    top = max(heads, key=lambda head: values[-1, *head], default=None)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    pad = 0.05 * (high - low) or 0.5
    return {
        "kind": "layers",
        "title": str(dataset["title"].values[panel]),
        "x": {"title": "checkpoint", "names": short},
        "y": {"title": str(dataset["units"].values[panel]) or "value", "low": low - pad, "high": high + pad},
        "rows": {"x": [], "y": []},
        "lines": [
            {
                "y": numbers(values[:, layer, head]),
                "colour": layer,
                "name": str(Head(int(layers[layer]), head)) if [layer, head] == top else "",
            }
            for layer, head in heads
        ],
        "colour": {"title": "layer", "of": "layers", "names": texts(layers)},
    }


def _without_prefix(names: Sequence[str]) -> Sequence[str]:
    """The numbers of names that differ in nothing else, such as ``checkpoint-500``; other names as they are."""
    matches = [match for name in names if (match := re.fullmatch(r"(.*\D)(\d+)", name))]
    alike = len(matches) == len(names) and len({match[1] for match in matches}) == 1
    return [match[2] for match in matches] if alike else names
