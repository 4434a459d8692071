"""Heads on a plane by their distances, coloured by layer and by function (Clark et al. 2019, figure 6)."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

import headscope
from headscope.analyses.distance.arrangement import clusters, head_map
from headscope.analyses.distance.statistics import heads
from headscope.errors import InputError
from headscope.heads import Head
from headscope.views.canvas import POINTS, Canvas
from headscope.views.figure import COLUMN, MARGIN, TEXT, wrapped
from headscope.views.page import plain_text
from headscope.views.palette import Palette, Theme, palette, ramp

_GAP, _HEAD, _LEGEND, _LINE = 20.0, 16.0, 15.0, 10.0
_NAMED = 24  # how many functions' heads are named
_LABEL = 6.5  # size of the heads' names
_EDGE = 14.0  # between the outermost heads and the panel's border

Floats = npt.NDArray[np.float64]
Box = tuple[float, float, float, float]


def figure(
    found: xr.Dataset,
    functions: Mapping[Head, str] | None = None,
    *,
    notable: Sequence[Head] | None = None,
    places: pd.DataFrame | None = None,
    theme: Theme = "light",
    width: float | Literal["column", "text"] = "text",
    title: str | None = None,
) -> Canvas:
    """Two panels of the same map: heads coloured by layer, and by function.

    Args:
        found: from `headscope.distance`.
        functions: what heads do, in at most 12 words or phrases, each with a colour; the other heads are grey
            rings. By default the heads' clusters, each called by its middle head.
        notable: the heads that have their name beside them in both panels; by default those with a function, or
            where none or too many have one the middle head of each cluster of three or more.
        places: from `headscope.analyses.distance.arrangement.head_map`; by default metric scaling with seed 0.
        theme: light or dark ground.
        width: in inches, or the width of a ``column`` (3.3 in) or the ``text`` (6.9 in) of a paper.
        title: printed above.

    Raises `InputError` for a head that is not there, and for more functions than there are colours.
    """
    inches = {"column": COLUMN, "text": TEXT}.get(width, 0.0) if isinstance(width, str) else float(width)
    if not 1.0 <= inches <= 40.0:
        raise InputError(f"width: expected 'column', 'text' or inches from 1 to 40, found {width!r}")
    names, colours = heads(found), palette(theme)
    places = head_map(found) if places is None else places
    second, rest = "by function", "none of these"
    if notable is None and functions is not None and len(functions) <= _NAMED:
        notable = list(functions)
    if functions is None or notable is None:
        count = min(8, len(names))
        groups: Any = clusters(found, count)
        sizes: Counter[int] = Counter(groups["cluster"].tolist())
        if functions is None:
            second, rest = "by cluster", "alone"
            functions = {
                head: f"about {groups.attrs['medoids'][own - 1]}"
                for head, own in zip(names, groups["cluster"], strict=True)
                if sizes[own] > 1
            }
        if notable is None:
            medoids = [Head.parse(name) for name in groups.attrs["medoids"]]
            notable = [head for place, head in enumerate(medoids) if sizes[place + 1] > 2]
    for head in [*functions, *notable]:
        if head not in names:
            raise InputError(f"figure: expected heads from {names[0]} to {names[-1]}, found {head}")
    kinds = list(dict.fromkeys(functions.values()))
    if len(kinds) > len(colours.heads):
        raise InputError(
            f"functions: expected at most {len(colours.heads)}, a colour each, found {len(kinds)}"
        )
    tint = dict(zip(kinds, colours.heads, strict=False))
    full = inches * POINTS - 2 * MARGIN
    each = (full - _GAP) / 2
    points, high, unit = _placed(places, each)
    legend = _legend(functions, tint, rest, len(names), each, Canvas(10, 10, colours))
    foot = _LEGEND + max(_LINE, _LINE * (1 + max(line for _, _, line, _ in legend)))
    said = wrapped(_caption(found, places), full / 3.0)
    top = MARGIN + (14.0 if title else 0.0)
    height = top + _HEAD + high + foot + 8.0 * len(said) + 4.0 + MARGIN
    canvas = Canvas(inches * POINTS, height, colours)
    if title:
        canvas.text(MARGIN, MARGIN + 5, plain_text(title), 9.0, bold=True)
    layers = sorted({head.layer for head in names})
    hues = _layer_hues(len(layers), colours)
    by_layer = [hues[layers.index(head.layer)] for head in names]
    by_function = [tint[functions[head]] if head in functions else None for head in names]
    marked = [names.index(head) for head in notable]
    for left, name, fills in ((MARGIN, "by layer", by_layer), (MARGIN + each + _GAP, second, by_function)):
        canvas.text(left, top + 5, name, 8.5, bold=True)
        canvas.rectangle(left, top + _HEAD, each, high, None, edge=colours.line2, line=0.6)
        _panel(canvas, points + np.array([left, top + _HEAD]), fills, [str(name) for name in names], marked)
    below = top + _HEAD + high + 8
    ruler = _ruler(canvas, MARGIN + each, below + 8, unit, each)
    _strip(canvas, MARGIN, below, each - ruler - 8, layers, hues)
    for text, at, line, fill in legend:
        left, middle = MARGIN + each + _GAP + at, below + 4 + _LINE * line
        _dot(canvas, left + 3, middle, 3.0, fill)
        canvas.text(left + 8, middle, text, 7.0, colours.ink2)
    for line, text in enumerate(said):
        canvas.text(MARGIN, height - MARGIN - 8 * (len(said) - line) + 4, text, 6.0, colours.ink3)
    return canvas


def about(found: xr.Dataset) -> dict[str, str]:
    """What made a figure: for the properties of its file."""
    meta: dict[str, Any] = json.loads(found.attrs.get("meta", "{}"))
    name = str(meta.get("model", {}).get("name", "attention heads"))
    return {
        "title": plain_text(f"Distances between heads of {name}"),
        "description": json.dumps(meta, ensure_ascii=True),
        "creator": f"headscope {headscope.__version__}",
    }


def _caption(found: xr.Dataset, places: pd.DataFrame) -> str:
    meta: dict[str, Any] = json.loads(found.attrs.get("meta", "{}"))
    words = [f"{found.sizes['head_a']} heads", "Jensen–Shannon, " + str(found["distance"].attrs["units"])]
    words.append(f"{int(found.attrs['n']):,} rows compared")
    if "stress" in places.attrs:
        words.append(f"{places.attrs['kind']} scaling, stress {places.attrs['stress']:.2f}")
    if name := meta.get("model", {}).get("name"):
        words.append(str(name).rstrip("/").split("/")[-1])
    return plain_text(" · ".join(words))


def _placed(places: pd.DataFrame, width: float) -> tuple[Floats, float, float]:
    """Places in points in a panel of that width ``[head 2]``, the panel's height, and the points of a unit."""
    xy: Floats = np.stack([np.asarray(places["x"], np.float64), -np.asarray(places["y"], np.float64)], -1)
    low, high = xy.min(0), xy.max(0)
    across, down = np.maximum(high - low, 1e-9)
    unit = float(min((width - 2 * _EDGE) / across, (1.2 * width - 2 * _EDGE) / down))
    height = max(0.5 * width, down * unit + 2 * _EDGE)
    middle = np.array([width, height]) / 2
    return (xy - (low + high) / 2) * unit + middle, float(height), unit


def _layer_hues(count: int, colours: Palette) -> list[str]:
    """From blue for the first layer to orange for the last."""
    stops = [colours.heads[place] for place in (0, 4, 3, 1)]
    return ["#{:02x}{:02x}{:02x}".format(*colour) for colour in ramp(stops, max(count, 2))[:count].tolist()]


def _dot(
    canvas: Canvas, x: float, y: float, radius: float, fill: str | None, *, marked: bool = False
) -> None:
    """A disc, or a grey ring where nothing fills it; `marked` has an edge in ink."""
    colours = canvas.colours
    edge = colours.ink if marked else colours.ink3 if fill is None else colours.ground
    line = 0.9 if marked else 0.6
    circle: Any = importlib.import_module("matplotlib.patches").Circle
    canvas.figure.axes[0].add_patch(
        circle((x, y), radius, facecolor=fill or colours.ground, edgecolor=edge, linewidth=line)
    )


def _panel(
    canvas: Canvas, points: Floats, fills: Sequence[str | None], names: Sequence[str], marked: Sequence[int]
) -> None:
    room = float(np.ptp(points[:, 0])) + 2 * _EDGE
    radius = min(3.2 if len(points) <= 160 else 2.2, room / 55)
    order = sorted(range(len(points)), key=lambda place: (place in marked, fills[place] is not None))
    for place in order:
        x, y = points[place].tolist()
        _dot(canvas, x, y, radius, fills[place], marked=place in marked)
    taken: list[Box] = [(x - radius, y - radius, x + radius, y + radius) for x, y in points.tolist()]
    left, high = points.min(0) - _EDGE
    right, low = points.max(0) + _EDGE
    for place in marked:
        width = canvas.text_width(names[place], _LABEL)
        boxes = _around(points[place], width, radius)
        costs = [_overlap(box, taken, (left, high, right, low)) for box in boxes]
        best = boxes[int(np.argmin(costs))]
        taken.append(best)
        canvas.text(best[0] + 1, (best[1] + best[3]) / 2, names[place], _LABEL)


def _around(point: Floats, width: float, radius: float) -> list[Box]:
    """Places for a name about a point, the best first."""
    x, y = point.tolist()
    high, wide = _LABEL * 1.1, width + 2.0
    found: list[Box] = []
    for reach in (radius + 0.5, radius + 5.0):
        for dx, dy in ((1, 0), (-1, 0), (0, -1), (0, 1), (0.8, -0.8), (-0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)):
            left = x + dx * reach - wide * (1 - np.sign(dx)) / 2
            top = y + dy * reach - high * (1 - np.sign(dy)) / 2
            found.append((left, top, left + wide, top + high))
    return found


def _overlap(box: Box, taken: Sequence[Box], panel: Box) -> float:
    """How much of a box is over others, and out of the panel."""
    others = np.array(taken)
    across = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    down = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    outside = max(0.0, panel[0] - box[0], box[2] - panel[2], panel[1] - box[1], box[3] - panel[3])
    return float((np.maximum(across, 0) * np.maximum(down, 0)).sum()) + 100.0 * outside


def _ruler(canvas: Canvas, right: float, y: float, unit: float, width: float) -> float:
    """How long a round distance is; gives its own length."""
    steps = np.array([m * 10.0**e for e in range(-6, 7) for m in (1, 2, 5)])
    step = float(steps[np.abs(steps * unit - width / 8).argmin()])
    length, ink = step * unit, canvas.colours.ink3
    canvas.lines(
        [(right - length, y, right, y), *((at, y - 2, at, y + 2) for at in (right - length, right))], ink, 0.7
    )
    canvas.text(right - length / 2, y - 5, f"{step:g}", 6.0, ink, align="center")
    return length


def _strip(
    canvas: Canvas, x: float, y: float, width: float, layers: Sequence[int], hues: Sequence[str]
) -> None:
    canvas.text(x, y + 4, "layer", 7.0, canvas.colours.ink2)
    start = x + canvas.text_width("layer", 7.0) + 6
    cell = min(16.0, (x + width - start) / len(layers))
    boxes = [(start + place * cell, y, cell - 0.5, 8.0) for place in range(len(layers))]
    canvas.rectangles(boxes, list(hues))
    every = max(1, int(np.ceil(11.0 / cell)))
    for place in range(0, len(layers), every):
        canvas.text(
            start + (place + 0.5) * cell,
            y + 14,
            str(layers[place]),
            6.0,
            canvas.colours.ink2,
            align="center",
        )


def _legend(
    functions: Mapping[Head, str],
    tint: Mapping[str, str],
    rest: str,
    total: int,
    width: float,
    canvas: Canvas,
) -> list[tuple[str, float, int, str | None]]:
    """Functions and how many heads have each: the text, where it begins, in which line, and its colour."""
    entries: list[tuple[str, str | None]] = [
        (f"{plain_text(name)} ({count})", tint[name]) for name, count in Counter(functions.values()).items()
    ]
    if total > len(functions):
        entries.append((f"{rest} ({total - len(functions)})", None))
    found: list[tuple[str, float, int, str | None]] = []
    x, line = 0.0, 0
    for text, fill in entries:
        wide = 8.0 + canvas.text_width(text, 7.0)
        if x and x + wide > width:
            x, line = 0.0, line + 1
        found.append((text, x, line, fill))
        x += wide + 9.0
    return found
