"""Static figures of measures, by layer and as maps of layers and heads (Clark et al. 2019, figures 2 to 4)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import xarray as xr

import headscope
from headscope.analyses.distance import figure as figure_clusters
from headscope.errors import InputError
from headscope.measures.dataset import check_place
from headscope.views.canvas import POINTS, Canvas, share
from headscope.views.columns import measure_names
from headscope.views.figure import COLUMN, FORMATS, MARGIN, TEXT, wrapped
from headscope.views.page import plain_text
from headscope.views.palette import Palette, Theme, diverging, palette, sequential

Floats = npt.NDArray[np.float64]

_PLOT, _TITLE, _AXIS, _GAP, _BETWEEN = 108.0, 18.0, 14.0, 16.0, 24.0
_LEFT = 26.0  # of a plot, for the numbers of its axis
_FOOT = 8.0


@dataclass(frozen=True)
class Figure:
    """A figure of measures. `canvas` holds the matplotlib figure, `about` what made it."""

    canvas: Canvas
    about: dict[str, str]

    def save(self, path: str | os.PathLike[str], *, dots: float = 300.0) -> Path:
        """Write it as ``.svg``, ``.pdf`` or ``.png`` (so many `dots` an inch), and return its path.

        Raises `InputError` for another suffix and a place where nothing can be written.
        """
        place = Path(path)
        kind = place.suffix.lower().removeprefix(".")
        if kind not in FORMATS:
            expected = ", ".join(f".{each}" for each in FORMATS)
            raise InputError(
                f"{place}: expected a name that ends in {expected}, found {place.suffix or 'none'}"
            )
        check_place(place)
        place.write_bytes(self.canvas.save(kind, self.about, dots))
        return place

    def _repr_png_(self) -> bytes:
        return self.canvas.save("png", self.about, 160.0)


def figure(
    dataset: xr.Dataset,
    names: str | Sequence[str] | None = None,
    *,
    together: bool = False,
    theme: Theme = "light",
    width: float | Literal["column", "text"] = "text",
    title: str | None = None,
) -> Figure:
    """Measures by layer (a point a head, the line their mean, dashed what uniform attention gives), and as maps.

    Distances are drawn as figure 6, by layer and by cluster (`headscope.analyses.distance.figure.figure` takes roles).

    Args:
        dataset: from `headscope.measure` or `headscope.distance`.
        names: one measure or some; by default all.
        together: in one plot instead, a colour a measure (figure 3).
        theme: light or dark ground.
        width: in inches, or the width of a ``column`` (3.3 in, without the maps) or the ``text`` (6.9 in) of a paper.
        title: printed above.

    Raises `InputError` for a measure that is not there, and for more of them together than there are colours.

    >>> stats = hs.measure(model, corpus, measures=["previous"])
    >>> hs.figure(stats, "previous").save("previous.png").name
    'previous.png'
    """
    if not hasattr(dataset, "data_vars"):
        raise InputError(f"figure: expected what headscope.measure gave, found {type(dataset).__name__}")
    if "head_b" in dataset.dims and names is None:
        drawn = figure_clusters.figure(dataset, theme=theme, width=width, title=title)
        return Figure(drawn, about(dataset, ["distance"]))
    inches = {"column": COLUMN, "text": TEXT}.get(width, 0.0) if isinstance(width, str) else float(width)
    if not 1.0 <= inches <= 40.0:
        raise InputError(f"width: expected 'column', 'text' or inches from 1 to 40, found {width!r}")
    there, colours = measure_names(dataset), palette(theme)
    chosen = there if names is None else [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in there:
            raise InputError(f"figure: expected {', '.join(there)}, found {name!r}")
    if together and not 1 <= len(chosen) <= len(colours.heads):
        raise InputError(f"figure: expected 1 to {len(colours.heads)} measures together, found {len(chosen)}")
    series = [_Series.of(dataset, name) for name in chosen]
    full = inches * POINTS - 2 * MARGIN
    said = [line for text in _captions(dataset, series) for line in wrapped(text, full / 3.0)]
    top = MARGIN + (16.0 if title else 0.0)
    block = _TITLE + _PLOT + _AXIS
    count = 1 if together else len(series)
    foot = 4.0 + _FOOT * len(said) + MARGIN
    canvas = Canvas(inches * POINTS, top + count * block + (count - 1) * _GAP + foot, colours)
    if title:
        canvas.text(MARGIN, MARGIN + 5, plain_text(title), 9.0, bold=True)
    if together:
        _legend(canvas, MARGIN, top + 5, series)
        _curves(canvas, MARGIN, top + _TITLE, full, series, colours.heads)
    else:
        maps = inches > COLUMN
        wide = (full - _BETWEEN) / 2 if maps else full
        for place, one in enumerate(series):
            y = top + place * (block + _GAP)
            canvas.text(MARGIN, y + 5, one.label, 8.5, bold=True)
            _curves(canvas, MARGIN, y + _TITLE, wide, [one], [colours.accent])
            if maps:
                _map(canvas, MARGIN + wide + _BETWEEN, y + _TITLE, wide, one)
    for line, text in enumerate(said):
        y = canvas.height - MARGIN - _FOOT * (len(said) - line) + 4
        canvas.text(MARGIN, y, text, 6.0, colours.ink3)
    return Figure(canvas, about(dataset, chosen))


def about(dataset: xr.Dataset, names: Sequence[str]) -> dict[str, str]:
    """What made a figure: for the properties of its file."""
    meta: dict[str, Any] = json.loads(dataset.attrs.get("meta", "{}"))
    model = str(meta.get("model", {}).get("name", "attention heads"))
    return {
        "title": plain_text(f"{', '.join(names)}: the heads of {model}"),
        "description": json.dumps(meta, ensure_ascii=True),
        "creator": f"headscope {headscope.__version__}",
    }


@dataclass(frozen=True)
class _Series:
    """One measure: values ``[layer head]`` and chance ``[layer]``, and how it is scaled."""

    title: str
    units: str
    source: str
    layers: list[int]
    heads: list[int]
    values: Floats
    chance: Floats
    n: float

    @classmethod
    def of(cls, dataset: xr.Dataset, name: str) -> _Series:
        array = dataset[name].transpose("layer", "head")
        values = np.asarray(array.values, np.float64)
        chance = dataset[f"{name}_chance"].values if f"{name}_chance" in dataset else np.nan
        n = np.asarray(dataset[f"{name}_n"].values, np.float64) if f"{name}_n" in dataset else np.array([])
        attrs: dict[str, Any] = dict(array.attrs)
        return cls(
            plain_text(str(attrs.get("title", name))),
            plain_text(str(attrs.get("units", ""))),
            plain_text(str(attrs.get("source", ""))),
            [int(layer) for layer in array["layer"].values],
            [int(head) for head in array["head"].values],
            values,
            np.broadcast_to(np.asarray(chance, np.float64), len(values)).copy(),
            float(np.nanmax(n)) if np.isfinite(n).any() else math.nan,
        )

    @property
    def label(self) -> str:
        return self.title if self.units in ("", "share") else f"{self.title} ({self.units})"

    @property
    def reach(self) -> tuple[float, float]:
        """From where to where its axis goes: shares to 1, others as far as they go, with 0."""
        finite = np.concatenate(
            [self.values[np.isfinite(self.values)], self.chance[np.isfinite(self.chance)]]
        )
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        if self.units == "share" and low >= 0:
            return 0.0, 1.0
        return min(0.0, 1.04 * low), max(1e-12, 1.04 * high)


def _captions(dataset: xr.Dataset, series: Sequence[_Series]) -> list[str]:
    meta: dict[str, Any] = json.loads(dataset.attrs.get("meta", "{}"))
    words = ["points are heads, lines means of layers, dashed uniform attention"]
    rows = [one.n for one in series if np.isfinite(one.n)]
    if rows:
        words.append(f"means over up to {max(rows):,.0f} tokens")
    if corpus := meta.get("corpus", {}).get("name"):
        words.append(str(corpus))
    if model := meta.get("model", {}).get("name"):
        words.append(str(model).rstrip("/").split("/")[-1])
    if objective := meta.get("objective"):
        words.append(f"L: {objective}")
    words += list(dict.fromkeys(one.source for one in series if one.source))[:3]
    return [plain_text(" · ".join(words))]


def _curves(
    canvas: Canvas, x: float, y: float, width: float, series: Sequence[_Series], hues: Sequence[str]
) -> None:
    """Measures on one scale against the layer."""
    colours = canvas.colours
    low, high = min(one.reach[0] for one in series), max(one.reach[1] for one in series)
    layers = series[0].layers
    left, room = x + _LEFT, width - _LEFT
    step = room / len(layers)

    def down(value: npt.ArrayLike) -> Floats:
        return y + _PLOT * (1 - (np.asarray(value, np.float64) - low) / (high - low))

    for tick in _ticks(low, high):
        at = float(down(tick))
        canvas.lines([(left, at, left + room, at)], colours.line, 0.6, order=1.0)
        canvas.text(left - 4, at, _number(tick), 6.5, colours.ink3, align="right")
    every = max(1, math.ceil(11.0 / step))
    for place in range(0, len(layers), every):
        middle = left + (place + 0.5) * step
        canvas.text(middle, y + _PLOT + 8, str(layers[place]), 6.5, colours.ink3, align="center")
    axes = canvas.figure.axes[0]
    own = 0.78 / len(series)
    for number, (one, hue) in enumerate(zip(series, hues, strict=False)):
        heads = one.values.shape[1]
        offset = 0.5 + (number - (len(series) - 1) / 2) * own
        spread = np.linspace(-0.4, 0.4, heads) * own if heads > 1 else np.zeros(1)
        across: Floats = left + (np.arange(len(layers))[:, None] + offset + spread) * step
        there = np.isfinite(one.values)
        size = 7.0 if there.sum() <= 200 else 3.5
        points = {"s": size, "color": hue, "alpha": 0.62, "linewidths": 0, "zorder": 3}
        axes.scatter(across[there], down(one.values)[there], **points)
        means = _means(one.values)
        middles = left + (np.arange(len(layers)) + 0.5) * step
        line = colours.ink3 if len(series) == 1 else hue
        heights = down(means)
        known = np.isfinite(means)
        pairs = [place for place in range(len(layers) - 1) if known[place] and known[place + 1]]
        ends = [(middles[a], heights[a], middles[a + 1], heights[a + 1]) for a in pairs]
        if ends:
            canvas.lines(ends, line, 1.2, order=4.0 if len(series) > 1 else 2.0)
        if len(series) == 1:
            _dashes(canvas, left, step, down(one.chance))
    axes.set(xlim=(0, canvas.width), ylim=(canvas.height, 0))


def _means(values: Floats) -> Floats:
    """The mean of each layer's heads; NaN where it has none."""
    there = np.isfinite(values)
    count = there.sum(1)
    return np.where(count > 0, np.where(there, values, 0.0).sum(1) / np.maximum(count, 1), np.nan)


def _dashes(canvas: Canvas, left: float, step: float, heights: Floats) -> None:
    """A dashed line a layer at what uniform attention gives."""
    marks: list[tuple[float, float, float, float]] = []
    for place, at in enumerate(heights.tolist()):
        if math.isfinite(at):
            start, end = left + place * step, left + (place + 1) * step
            while start < end:
                marks.append((start, at, min(start + 2.5, end), at))
                start += 5.0
    if marks:
        canvas.lines(marks, canvas.colours.ink2, 0.7, order=2.5)


def _map(canvas: Canvas, x: float, y: float, width: float, one: _Series) -> None:
    """Layers down, heads across."""
    colours = canvas.colours
    rows, columns = one.values.shape
    room = width - _LEFT
    cell, tall = room / columns, _PLOT / rows
    fills = _fills(one, colours)
    there = np.argwhere(np.isfinite(one.values))
    gap = 0.8 if min(cell, tall) > 5 else 0.3
    left = x + _LEFT
    boxes = [(left + c * cell, y + r * tall, cell - gap, tall - gap) for r, c in there.tolist()]
    canvas.rectangles(boxes, [tuple((fills[r, c] / 255).tolist()) for r, c in there.tolist()])
    every, every_row = max(1, math.ceil(11.0 / cell)), max(1, math.ceil(8.0 / tall))
    for place in range(0, columns, every):
        middle = left + place * cell + (cell - gap) / 2
        canvas.text(middle, y + _PLOT + 8, str(one.heads[place]), 6.5, colours.ink3, align="center")
    for place in range(0, rows, every_row):
        middle = y + place * tall + (tall - gap) / 2
        canvas.text(left - 4, middle, str(one.layers[place]), 6.5, colours.ink3, align="right")
    if cell >= 11.5 and tall >= 8:
        for r, c in there.tolist():
            pale = float(fills[r, c] @ np.array([0.2126, 0.7152, 0.0722])) > 128
            value = float(one.values[r, c])
            most = max(map(abs, one.reach))
            text = share(value) if one.units == "share" else f"{value:.{0 if most >= 20 else 1}f}"
            text = text if most >= 1 else _number(value, 1)
            middle = (left + c * cell + (cell - gap) / 2, y + r * tall + (tall - gap) / 2)
            canvas.text(*middle, text, 5.0, "#16191d" if pale else "#ffffff", align="center")


def _fills(one: _Series, colours: Palette) -> npt.NDArray[np.uint8]:
    """The colour of each cell ``[layer head 3]``: by √ of a share, else by the share of the most."""
    values = np.nan_to_num(one.values)
    low, high = one.reach
    if one.units == "share" and low >= 0:
        return sequential(values, colours)
    if low < -1e-9:
        return diverging(values / max(-low, high), colours)
    return sequential((values / high) ** 2, colours)


def _legend(canvas: Canvas, x: float, y: float, series: Sequence[_Series]) -> None:
    for one, hue in zip(series, canvas.colours.heads, strict=False):
        canvas.rectangle(x, y - 2.5, 5, 5, hue, radius=2.5)
        canvas.text(x + 8, y, one.label, 7.5, canvas.colours.ink2)
        x += 18.0 + canvas.text_width(one.label, 7.5)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers, about five, from `low` to `high`."""
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [place * step for place in range(first, math.floor(high / step + 1e-9) + 1)]


def _number(value: float, digits: int = 3) -> str:
    """A number in a figure: ``0.5``, ``4.6``, ``1.5e−3``."""
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    mantissa, _, power = text.partition("e")
    return (f"{mantissa}e{int(power)}" if power else mantissa).replace("-", "−")
