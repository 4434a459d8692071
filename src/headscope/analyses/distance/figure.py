"""Heads on a plane by their distances, coloured by layer and by function (Clark et al. 2019, figure 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.distance.arrangement import clusters, head_map
from headscope.analyses.distance.statistics import heads
from headscope.core.arrays import Floats
from headscope.core.heads import Head
from headscope.errors import InputError
from headscope.views import charts, fonts
from headscope.views.charts import Figure, Look
from headscope.views.page import plain_text
from headscope.views.palette import Palette, palette

_NAMED = 24  # how many functions' heads are named
_LABEL = 6.5  # size of the heads' names
_EDGE = 14.0  # between the outermost heads and the panel's border, in points


def figure(
    dataset: xr.Dataset,
    functions: Mapping[Head, str] | None = None,
    *,
    notable: Sequence[Head] | None = None,
    places: pd.DataFrame | None = None,
    **look: Unpack[Look],
) -> Figure:
    """Two panels of the same map: heads coloured by layer, and by function.

    Args:
        dataset: from `headscope.distance`.
        functions: what heads do, in at most 12 words or phrases, each with a colour; the other heads are grey
            rings. By default the heads' clusters, each called by its middle head.
        notable: the heads that have their name beside them in both panels; by default those with a function, or
            where none or too many have one the middle head of each cluster of three or more.
        places: from `headscope.analyses.distance.arrangement.head_map`; by default metric scaling with seed 0.
        theme, width, title: as in `headscope.figure`.
        ax: two matplotlib Axes to draw on in place of a new figure, or one for the panel by function.

    Raises `InputError` for a head that is not there, and for more functions than there are colours.
    """
    inches, names = charts.inches(look.get("width", "page")), heads(dataset)
    colours = palette(look.get("theme", "light"))
    panels = charts.given(look.get("ax"), 1, 2) or 2
    places = head_map(dataset) if places is None else places
    by, rest = "by function", "none of these"
    if notable is None and functions is not None and len(functions) <= _NAMED:
        notable = list(functions)
    if functions is None or notable is None:
        groups: Any = clusters(dataset, min(8, len(names)))
        sizes: Counter[int] = Counter(groups["cluster"].tolist())
        if functions is None:
            by, rest = "by cluster", "alone"
            functions = {
                head: f"about {groups.attrs['medoids'][cluster - 1]}"
                for head, cluster in zip(names, groups["cluster"], strict=True)
                if sizes[cluster] > 1
            }
        if notable is None:
            medoids = [Head.parse(name) for name in groups.attrs["medoids"]]
            notable = [head for place, head in enumerate(medoids) if sizes[place + 1] > 2]
    for head in [*functions, *notable]:
        if head not in names:
            raise InputError(f"figure: expected heads from {names[0]} to {names[-1]}, found {head}")
    counts = Counter(functions.values())
    if len(counts) > len(colours.heads):
        raise InputError(
            f"functions: expected at most {len(colours.heads)}, a colour each, found {len(counts)}"
        )
    tint: dict[str, str | None] = dict(zip(counts, colours.heads, strict=False))
    entries = [(f"{plain_text(name)} ({count})", tint[name]) for name, count in counts.items()]
    if len(names) > len(functions):
        entries.append((f"{rest} ({len(names) - len(functions)})", None))
    labels, fills = zip(*entries, strict=True)
    layers = sorted({head.layer for head in names})
    hues = charts.layer_colours(len(layers), colours)
    by_layer = [hues[layers.index(head.layer)] for head in names]
    by_function = [tint.get(functions.get(head, "")) for head in names]
    marked = [names.index(head) for head in notable]
    xy: Floats = np.stack([np.asarray(places[name], np.float64) for name in "xy"], -1)
    across = 2 if inches > charts.COLUMN else 1
    wide = (inches * charts.POINTS - 2 * charts.MARGIN) / across - 44.0
    below = 10.5 * -(-len(labels) // charts.legend_columns(labels, wide))
    high, span = _spans(xy, wide)
    meta = charts.meta_of(dataset)
    with charts.chart(
        panels=panels,
        high=high,
        across=across,
        pad=(34.0, 10.0, 16.0, 30.0 + max(26.0, below)),
        caption=_caption(dataset, places, meta),
        meta=meta,
        about=f"Distances between heads of {meta.get('model', {}).get('name', 'a model')}",
        **look,
    ) as chart:
        units = str(dataset["distance"].attrs["units"])
        middle = (xy.min(0) + xy.max(0)) / 2
        for panel in chart.axes:
            (left, right), (low, top) = np.stack([middle - span / 2, middle + span / 2], -1)
            panel.set(xlim=(left, right), ylim=(low, top))
            panel.set(xlabel=f"first dimension of the map, {units}", ylabel=f"second dimension, {units}")
            panel.set_aspect("equal", adjustable="box")
            panel.apply_aspect()
            charts.rounded(panel.xaxis)
            charts.rounded(panel.yaxis)
        if panels == 2:
            charts.heading(chart.axes[0], "by layer")
            _heads(chart.axes[0], xy, by_layer, names, marked, colours)
            bar = charts.colour_bar(chart.axes[0], _layers(layers, hues), "layer", below=True)
            step = int(np.ceil(11.0 * len(layers) / charts.size(chart.axes[0])[0]))
            bar.set_ticks(layers[::step], labels=[str(layer) for layer in layers[::step]])
        charts.heading(chart.axes[-1], by)
        _heads(chart.axes[-1], xy, by_function, names, marked, colours)
        charts.legend(chart.axes[-1], labels, fills, colours, below=True)
    return chart


def _caption(dataset: xr.Dataset, places: pd.DataFrame, meta: dict[str, Any]) -> str:
    parts = [f"{dataset.sizes['head_a']} heads", "Jensen–Shannon, " + str(dataset["distance"].attrs["units"])]
    parts.append(f"{int(dataset.attrs['n']):,} rows compared")
    if "stress" in places.attrs:
        parts.append(f"{places.attrs['kind']} scaling, stress {places.attrs['stress']:.2f}")
    if meta.get("model", {}).get("name"):
        parts.append(charts.model_name(meta["model"]))
    return " · ".join(parts)


def _spans(xy: Floats, width: float) -> tuple[float, Floats]:
    """How high a panel of that width is, in points, and what it spans ``[2]`` in the units of the map."""
    reach = np.maximum(np.ptp(xy, 0), 1e-9)
    unit = float(min((width - 2 * _EDGE) / reach[0], (1.2 * width - 2 * _EDGE) / reach[1]))
    high = max(0.5 * width, float(reach[1]) * unit + 2 * _EDGE)
    return high, np.array([width, high]) / unit


def _layers(layers: Sequence[int], hues: Sequence[str]) -> Any:
    """What a scale of the layers' colours shows."""
    colors = fonts.matplotlib().colors
    norm = colors.BoundaryNorm(np.append(layers, layers[-1] + 1) - 0.5, len(layers))
    return fonts.matplotlib().cm.ScalarMappable(norm, colors.ListedColormap(hues))


def _heads(
    ax: Any,
    xy: Floats,
    fills: Sequence[str | None],
    names: Sequence[Head],
    marked: Sequence[int],
    colours: Palette,
) -> None:
    """Discs in colours, grey rings for None; those that are `marked` have an edge in ink and their name beside them."""
    radius = min(3.2 if len(xy) <= 160 else 2.2, charts.size(ax)[0] / 55)
    order = sorted(range(len(xy)), key=lambda head: (head in marked, fills[head] is not None))
    edges = [colours.ink if head in marked else colours.bg if fills[head] else colours.ink3 for head in order]
    ax.scatter(
        *xy[order].T,
        s=(2 * radius) ** 2,
        facecolors=[fills[head] or colours.bg for head in order],
        edgecolors=edges,
        linewidths=[0.9 if head in marked else 0.6 for head in order],
        zorder=3,
    )
    dots = ax.get_figure(root=True).dpi / charts.POINTS
    points: Floats = ax.transData.transform(xy) / dots
    taken = np.concatenate([points - radius, points + radius], 1)
    panel = ax.get_window_extent().extents / dots
    for head in marked:
        text = ax.annotate(
            str(names[head]), xy[head], (0, 0), size=_LABEL, textcoords="offset points", zorder=4
        )
        text.set_bbox({"facecolor": colours.bg, "alpha": 0.6, "pad": 0.2, "linewidth": 0})
        box = text.get_window_extent()
        places, boxes = _around(points[head], np.array([box.width, box.height]) / dots, radius)
        best = int(np.argmin([_overlap(box, taken, panel) for box in boxes]))
        text.set(position=places[best] - points[head], ha="left", va="bottom")
        taken = np.concatenate([taken, boxes[best : best + 1]])


def _around(point: Floats, extent: Floats, radius: float) -> tuple[Floats, Floats]:
    """Corners ``[place 2]`` for a name about a point, the best first, and its boxes ``[place 4]`` there."""
    ways = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.8), (-0.8, 0.8), (0.8, -0.8), (-0.8, -0.8)])
    corners = np.concatenate(
        [point + ways * reach - extent * (1 - np.sign(ways)) / 2 for reach in (radius + 1.5, radius + 6.0)]
    )
    return corners, np.concatenate([corners - 0.5, corners + extent + 0.5], 1)


def _overlap(box: Floats, taken: Floats, panel: Floats) -> float:
    """How much of a box is over others, and out of the panel; boxes are left, bottom, right, top."""
    shared = np.minimum(box[2:], taken[:, 2:]) - np.maximum(box[:2], taken[:, :2])
    outside = max(0.0, *(panel[:2] - box[:2]), *(box[2:] - panel[2:]))
    return float(np.maximum(shared, 0).prod(1).sum()) + 100.0 * outside
