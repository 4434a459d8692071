"""Measures by layer, and as maps of layers and heads (Clark et al. 2019, figures 2 to 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.core.types import AnyDict
from headscope.errors import InputError
from headscope.measures.dataset import mean_chance_of, means_over, measure_names
from headscope.views.charts import (
    Chart,
    ChartAxis,
    ChartLine,
    Figure,
    map_of_heads,
    meta_of,
    model_name,
    numbers,
    points,
    texts,
)

_TOGETHER = 12
"""At most so many measures have a colour each."""

NAMED = 0.5
"""Heads above this share are named."""


def figure(
    dataset: xr.Dataset, names: str | Sequence[str] | None = None, *, together: bool = False
) -> Figure:
    """Measures by layer (a point a head, the line their mean, dashed what uniform attention gives), and as maps.

    Args:
        dataset: from `headscope.measure`.
        names: one measure or some; by default all.
        together: in one plot instead, a colour a measure (figure 3).

    Raises `InputError` for a measure that is not there, and for more of them together than there are colours.
    """
    known = measure_names(dataset)
    names = known if names is None else [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in known:
            raise InputError(f"figure: expected {', '.join(known)}, found {name!r}")
    if not names:
        raise InputError(f"figure: expected some of {', '.join(known)}, found none")
    if together and len(names) > _TOGETHER:
        raise InputError(f"figure: expected 1 to {_TOGETHER} measures together, found {len(names)}")
    pairs = [measured(dataset, name, i if together else None) for i, name in enumerate(names)]
    charts = [chart for pair in pairs for chart in pair]
    if together:
        charts = [joined([curves for curves, _ in pairs])]
    meta = meta_of(dataset)
    parts = ["points are heads, lines means of layers" + ", dashed uniform attention" * (not together)]
    if counts := means_over(dataset, names):
        parts.append(
            f"means over up to {' and '.join(f'{most:,} {noun}' for noun, (_, most) in counts.items())}"
        )
    model = meta.get("model", {}).get("name")
    objective = meta.get("objective")
    sources = dict.fromkeys(dataset[name].attrs.get("source") for name in names)
    parts += [
        str(meta.get("corpus", {}).get("name") or ""),
        model_name(meta["model"]) if model else "",
        f"L: {objective}" if objective else "",
        *list(filter(None, sources))[:3],
    ]
    about = f"{', '.join(names)}: the heads of {model or 'a model'}"
    return Figure(charts, " · ".join(filter(None, parts)), about, meta, 2)


def measured(dataset: xr.Dataset, name: str, colour: int | None = None) -> tuple[Chart, Chart]:
    """A measure against the layer, and as a map. Shares go from 0 to 1, others as far as they go, with 0."""
    array = dataset[name].transpose("layer", "head")
    values, chance = np.asarray(array.values, np.float64), mean_chance_of(dataset, name)
    attrs: AnyDict = dict(array.attrs)
    title, units = str(attrs.get("title", name)), str(attrs.get("units", ""))
    finite = [0.0, *values[np.isfinite(values)], *chance[np.isfinite(chance)]]
    low, high = float(min(finite)), float(max(finite))
    share = units == "share" and low >= 0
    label = title if units in ("", "share") else f"{title} ({units})"
    y: ChartAxis = {"title": "share of attention" if units == "share" else units or "value"}
    rows, lines = points(dataset, values, colour), [_line(np.ma.masked_invalid(values).mean(1), colour)]
    if share:
        y = {**y, "low": 0.0, "high": 1.0}
        above = np.flatnonzero(np.nan_to_num(values) > NAMED)
        rows["marked"] = above[np.argsort(-values.ravel()[above], kind="stable")].tolist()
    if colour is None and np.isfinite(chance).any():
        lines.append({"y": numbers(chance), "steps": True})
    curves: Chart = {
        "kind": "layers",
        "title": label,
        "x": {"title": "layer", "names": texts(array["layer"].values)},
        "y": y,
        "rows": rows,
        "lines": lines,
    }
    most = 1.0 if share else max(high, -low, 1e-12)
    cells = map_of_heads(dataset, values, most, "" if share else units, signed=low < 0, root=share)
    return curves, cells


def _line(means: Any, colour: int | None) -> ChartLine:
    line: ChartLine = {"y": numbers(means.filled(np.nan))}
    return line if colour is None else {**line, "colour": colour}


def plain(chart: Chart) -> Chart:
    """A chart without the titles of its axes."""
    x: ChartAxis = {**chart["x"], "title": ""}
    y: ChartAxis = {**chart["y"], "title": ""}
    return {**chart, "x": x, "y": y}


def joined(charts: Sequence[Chart]) -> Chart:
    """Measures in one plot, a colour each."""
    rows = [chart["rows"] for chart in charts]
    y: ChartAxis = {"title": " or ".join(dict.fromkeys(chart["y"]["title"] for chart in charts))}
    if all("high" in chart["y"] for chart in charts):
        y = {**y, "low": 0.0, "high": 1.0}
    return {
        **charts[0],
        "title": "",
        "y": y,
        "rows": {
            "x": [x for one in rows for x in one["x"]],
            "y": [y for one in rows for y in one["y"]],
            "colour": [c for one in rows for c in one.get("colour", [])],
            "link": [head for one in rows for head in one.get("link", [])],
        },
        "lines": [line for chart in charts for line in chart.get("lines", [])],
        "colour": {"title": "", "of": "heads", "names": [chart["title"] for chart in charts]},
    }
