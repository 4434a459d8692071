"""What changed, as static figures: groups of inputs, two models, checkpoints."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import xarray as xr

import headscope
from headscope.analyses.compare_groups.statistics import LEVEL
from headscope.errors import InputError
from headscope.heads import Head
from headscope.views.canvas import POINTS, Canvas
from headscope.views.figure import COLUMN, MARGIN, TEXT, wrapped
from headscope.views.page import plain_text
from headscope.views.palette import Theme, diverging, palette, ramp, sequential

Floats = npt.NDArray[np.float64]
Width = float | Literal["column", "text"]

PANELS = 6
"""At most so many measures are drawn, unless they are named."""

_ACROSS, _GAP, _HEAD, _AXIS = 3, 14.0, 14.0, 12.0
_CELL = 16.0
_SMALL = 6.0
_MOST = 20.0  # of an effect that is drawn


def groups_figure(
    found: xr.Dataset,
    measures: Sequence[str] | None = None,
    *,
    level: float = LEVEL,
    theme: Theme = "light",
    width: Width = "text",
) -> Canvas:
    """Effect sizes of every head, a panel a measure; heads whose q is at most `level` have an edge.

    Args:
        found: from `headscope.compare.groups`, its ``figures``.
        measures: what to draw; by default those with the smallest q, of equals those with the largest effect.
        level: of q.
        theme: light or dark ground.
        width: in inches, or the width of a ``column`` or the ``text`` of a paper.
    """
    meta: dict[str, Any] = json.loads(found.attrs["meta"])
    effect, q = (found[name].transpose("measure", "layer", "head").values for name in ("effect", "q"))
    effect = np.clip(effect, -_MOST, _MOST)
    finite = np.where(np.isfinite(effect), np.abs(effect), -1.0).max((1, 2))
    least = np.where(np.isfinite(q), q, 2.0).min((1, 2))
    places = _chosen(found, measures, np.lexsort((-finite, least))[: int((finite >= 0).sum())])
    scale = _above(float(np.nan_to_num(np.abs(effect[places])).max()))
    first, second = (f"{one['label']} (n = {one['inputs']:,})" for one in _groups(meta))
    count = int((np.nan_to_num(q, nan=2.0).min(0) <= level).sum())
    words = [
        f"Hedges' g of A − B: A is {first}, B is {second}",
        f"edge: q ≤ {level:g}, {count} head{'s' * (count != 1)}" if count else f"no head has a q ≤ {level:g}",
        f"{meta['permutations']:,} permutations of {meta['permuted']}",
        *_model(meta.get("model")),
    ]

    def panel(canvas: Canvas, place: int, x: float, y: float, cell: tuple[float, float]) -> None:
        _cells(
            canvas,
            diverging(np.nan_to_num(effect[place]) / scale, canvas.colours),
            np.isfinite(effect[place]),
            x,
            y,
            cell,
        )
        for layer, head in np.argwhere(np.nan_to_num(q[place], nan=2.0) <= level):
            left, top = x + head * cell[0], y + layer * cell[1]
            canvas.rectangle(left, top, *cell, None, edge=canvas.colours.ink, line=1.0, order=3)

    return _panels(found, places, panel, words, (-scale, scale), theme, width)


def models_figure(found: xr.Dataset, *, theme: Theme = "light", width: Width = "text") -> Canvas:
    """How far every head moved between two models, and the mean of each layer with its 95 % interval.

    Args:
        found: from `headscope.compare.models`, its ``figures``.
        theme, width: as in `groups_figure`.
    """
    meta: dict[str, Any] = json.loads(found.attrs["meta"])
    js = found["js"].transpose("layer", "head").values
    mean, error = found["js_layer"].values, found["js_layer_se"].values
    high = np.nan_to_num(mean + 1.96 * error, nan=0.0)
    scale = _above(float(max(np.nanmax(js), high.max(), 1e-12)))
    colours, inches = palette(theme), _inches(width)
    full = inches * POINTS - 2 * MARGIN
    layers, heads = js.shape
    left = MARGIN + 16.0
    cell = min(_CELL, (0.62 * full - 16.0) / heads)
    high_of = layers * cell
    right = left + heads * cell + 30.0
    said = wrapped(
        plain_text(
            " · ".join(
                [
                    f"Jensen–Shannon divergence of the rows of A and B, nats a {meta['over'][:-1]}",
                    f"A is {_last(meta['a'])}, B is {_called(meta)}",
                    f"{meta['corpus'].get('examples', 0):,} inputs of {meta['corpus'].get('documents', 0):,} documents",
                    "bars: 95 %, by document" if np.isfinite(error).any() else "no errors: one document",
                ]
            )
        ),
        full / 3.0,
    )
    height = MARGIN + _HEAD + high_of + _AXIS + 22.0 + 8.0 * len(said) + MARGIN
    canvas = Canvas(inches * POINTS, height, colours)
    top = MARGIN + _HEAD
    canvas.text(left, MARGIN + 4, "drift of each head", 8.0, bold=True)
    canvas.text(right, MARGIN + 4, "mean of each layer", 8.0, bold=True)
    _cells(canvas, sequential(np.nan_to_num(js) / scale, colours), np.isfinite(js), left, top, (cell, cell))
    _numbers(canvas, found, left, top, (cell, cell))
    wide = MARGIN + full - right - 8.0
    _ticks(canvas, right, top + high_of, wide, scale)
    for layer in range(layers):
        y = top + (layer + 0.5) * cell
        canvas.lines([(right, y, right + wide, y)], colours.line, 0.6)
        x = right + wide * float(mean[layer]) / scale
        if np.isfinite(error[layer]):
            reach = wide * 1.96 * float(error[layer]) / scale
            canvas.lines([(max(right, x - reach), y, x + reach, y)], colours.accent, 1.4)
        canvas.rectangle(x - 2, y - 2, 4, 4, colours.accent, radius=2, order=3)
    _scale(canvas, left, top + high_of + _AXIS + 4, min(90.0, heads * cell), (0.0, scale))
    _said(canvas, said, height)
    return canvas


def training_figure(
    found: xr.Dataset,
    measures: Sequence[str] | None = None,
    *,
    theme: Theme = "light",
    width: Width = "text",
) -> Canvas:
    """Measures over checkpoints, a panel a measure, a line a head, coloured by layer; the last checkpoint's top head is
    named.

    Args:
        found: from `headscope.compare.training`, its ``figures``.
        measures: what to draw; by default those that changed most in some head, in units of their spread.
        theme, width: as in `groups_figure`.
    """
    meta: dict[str, Any] = json.loads(found.attrs["meta"])
    value = found["value"].transpose("measure", "checkpoint", "layer", "head").values
    spread = np.nanstd(value, axis=(1, 2, 3))
    moved = np.nanmax(np.abs(value[:, -1] - value[:, 0]), axis=(1, 2)) / np.where(spread > 0, spread, 1.0)
    places = _chosen(found, measures, np.argsort(-moved, kind="stable"))
    colours = palette(theme)
    layers = found["layer"].values
    stops = [colours.heads[place] for place in (0, 4, 3, 1)]
    hues = ["#{:02x}{:02x}{:02x}".format(*hue) for hue in ramp(stops, max(len(layers), 2)).tolist()]
    names = [str(name) for name in found["checkpoint"].values]
    words = [
        "a line a head, blue in the first layer to orange in the last",
        "checkpoints: " + ", ".join(names),
        f"{meta['corpus'].get('examples', 0):,} inputs",
    ]

    def panel(canvas: Canvas, place: int, x: float, y: float, cell: tuple[float, float]) -> None:
        wide, high = cell[0] * found.sizes["head"], cell[1] * len(layers)
        own = value[place]
        low, top = float(np.nanmin(own)), float(np.nanmax(own))
        room = (top - low) or 1.0
        across = x + np.linspace(0.0, wide - 24.0, len(names))
        down = y + high - (own - low) / room * high
        canvas.rectangle(x, y, wide - 24.0, high, None, edge=canvas.colours.line2, line=0.6)
        for layer, head in np.argwhere(np.isfinite(own).all(0)):
            line = np.stack([across[:-1], down[:-1, layer, head], across[1:], down[1:, layer, head]], -1)
            canvas.lines(line, hues[layer], 0.7, 0.75)
        layer, head = np.unravel_index(int(np.nanargmax(own[-1])), own[-1].shape)
        canvas.text(
            x + wide - 22.0, float(down[-1, layer, head]), str(Head(int(layers[layer]), int(head))), _SMALL
        )
        for at, text in ((y, top), (y + high, low)):
            said = "0" if abs(text) < 0.005 * room else f"{text:.2g}"
            canvas.text(x - 2, at, said, _SMALL, canvas.colours.ink3, align="right")
        for at, name in ((0, names[0]), (-1, names[-1])):
            text = name if len(name) <= 14 else "…" + name[-13:]
            canvas.text(
                float(across[at]),
                y + high + 7,
                text,
                _SMALL,
                canvas.colours.ink3,
                align="right" if at else "left",
            )

    return _panels(found, places, panel, words, None, theme, width)


def about(found: xr.Dataset, title: str) -> dict[str, str]:
    """What made a figure: for the properties of its file."""
    meta: dict[str, Any] = json.loads(found.attrs.get("meta", "{}"))
    return {
        "title": plain_text(title),
        "description": json.dumps(meta, ensure_ascii=True),
        "creator": f"headscope {headscope.__version__}",
    }


def _panels(
    found: xr.Dataset,
    places: Sequence[int],
    panel: Callable[[Canvas, int, float, float, tuple[float, float]], None],
    words: Sequence[str],
    scale: tuple[float, float] | None,
    theme: Theme,
    width: Width,
) -> Canvas:
    """Panels of layers × heads side by side, their names above, a scale and a caption below."""
    colours, inches = palette(theme), _inches(width)
    full = inches * POINTS - 2 * MARGIN
    across = min(_ACROSS if inches > COLUMN + 1 else 1, len(places))
    axis = 18.0
    each = (full - (across - 1) * _GAP) / across
    cell = min(_CELL, (each - axis) / found.sizes["head"])
    size = (cell, min(cell, 240.0 / found.sizes["layer"]))
    if scale is None:
        size = ((each - axis) / found.sizes["head"], 90.0 / found.sizes["layer"])
    high = size[1] * found.sizes["layer"] + _AXIS
    down = -(-len(places) // across)
    said = wrapped(plain_text(" · ".join(words)), full / 3.0)
    foot = 16.0 if scale is not None else 2.0
    height = MARGIN + down * (high + _HEAD) + (down - 1) * 6.0 + foot + 8.0 * len(said) + 4.0 + MARGIN
    canvas = Canvas(inches * POINTS, height, colours)
    for number, place in enumerate(places):
        x = MARGIN + axis + (number % across) * (each + _GAP)
        y = MARGIN + (number // across) * (high + _HEAD + 6.0)
        units = str(found["units"].values[place])
        name = str(found["title"].values[place]) + (f", {units}" if scale is None and units else "")
        canvas.text(x, y + 4, name, 8.0 * min(1.0, (each - axis) / canvas.text_width(name, 8.6)), bold=True)
        panel(canvas, place, x, y + _HEAD, size)
        if scale is not None:
            _numbers(canvas, found, x, y + _HEAD, size)
    if scale is not None:
        _scale(canvas, MARGIN + axis, MARGIN + down * (high + _HEAD) + (down - 1) * 6.0 + 4, 90.0, scale)
    _said(canvas, said, height)
    return canvas


def _chosen(found: xr.Dataset, measures: Sequence[str] | None, order: npt.NDArray[Any]) -> list[int]:
    names = [str(name) for name in found["measure"].values]
    if measures is None:
        return [int(place) for place in order[:PANELS]]
    for name in measures:
        if name not in names:
            raise InputError(f"measures: expected some of {', '.join(names)}, found {name!r}")
    return [names.index(name) for name in measures]


def _cells(
    canvas: Canvas,
    colours: npt.NDArray[np.uint8],
    there: npt.NDArray[np.bool_],
    x: float,
    y: float,
    cell: tuple[float, float],
) -> None:
    places = np.argwhere(there)
    boxes = [
        (x + head * cell[0], y + layer * cell[1], cell[0] - 0.6, cell[1] - 0.6) for layer, head in places
    ]
    canvas.rectangles(boxes, [tuple((colours[layer, head] / 255.0).tolist()) for layer, head in places])


def _numbers(canvas: Canvas, found: xr.Dataset, x: float, y: float, cell: tuple[float, float]) -> None:
    """Layers to the left and heads below, as many as fit."""
    ink = canvas.colours.ink3
    for place, layer in list(enumerate(found["layer"].values))[:: max(1, int(np.ceil(7.0 / cell[1])))]:
        canvas.text(x - 3, y + (place + 0.5) * cell[1], str(layer), _SMALL, ink, align="right")
    bottom = y + cell[1] * found.sizes["layer"] + 5
    for place, head in list(enumerate(found["head"].values))[:: max(1, int(np.ceil(10.0 / cell[0])))]:
        canvas.text(x + (place + 0.5) * cell[0], bottom, str(head), _SMALL, ink, align="center")


def _scale(canvas: Canvas, x: float, y: float, width: float, ends: tuple[float, float]) -> None:
    """A strip of colours with its ends' values."""
    steps = np.linspace(-1.0 if ends[0] < 0 else 0.0, 1.0, 60)
    paint = diverging if ends[0] < 0 else sequential
    fills = paint(steps, canvas.colours) / 255.0
    start = x + canvas.text_width(_short(ends[0]), _SMALL) + 3
    boxes = [(start + place * width / 60, y, width / 60 + 0.2, 6.0) for place in range(60)]
    canvas.rectangles(boxes, [tuple(fill) for fill in fills.tolist()])
    canvas.text(x, y + 3, _short(ends[0]), _SMALL, canvas.colours.ink2)
    canvas.text(start + width + 3, y + 3, _short(ends[1]), _SMALL, canvas.colours.ink2)


def _ticks(canvas: Canvas, x: float, y: float, width: float, scale: float) -> None:
    for share in (0.0, 0.5, 1.0):
        canvas.text(
            x + share * width, y + 6, _short(share * scale), _SMALL, canvas.colours.ink3, align="center"
        )


def _said(canvas: Canvas, lines: Sequence[str], height: float) -> None:
    for line, text in enumerate(lines):
        canvas.text(MARGIN, height - MARGIN - 8 * (len(lines) - line) + 4, text, 6.0, canvas.colours.ink3)


def _above(value: float) -> float:
    """The next number above of one digit and 1, 2 or 5 in front."""
    if not value > 0 or not np.isfinite(value):
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9)))


def _short(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def _inches(width: Width) -> float:
    inches = {"column": COLUMN, "text": TEXT}.get(width, 0.0) if isinstance(width, str) else float(width)
    if not 1.0 <= inches <= 40.0:
        raise InputError(f"width: expected 'column', 'text' or inches from 1 to 40, found {width!r}")
    return inches


def _groups(meta: dict[str, Any]) -> list[dict[str, Any]]:
    return list(meta.get("groups") or [{"label": name, "inputs": 0} for name in "AB"])


def _model(about: Any) -> list[str]:
    return [_last(about)] if about else []


def _last(about: dict[str, Any]) -> str:
    return str(about["name"]).rstrip("/").split("/")[-1]


def _called(meta: dict[str, Any]) -> str:
    """What to call B: by what was done to it where it has A's name."""
    b = meta["b"]
    return f"{_last(b)}, {b['notes'][0]}" if b["name"] == meta["a"]["name"] and b["notes"] else _last(b)
