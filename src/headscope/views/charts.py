"""The style of charts: results drawn by matplotlib, on Axes of the caller or on a new figure."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

import headscope
from headscope.core import lazy
from headscope.core.arrays import Floats
from headscope.core.saving import check_place, replacing
from headscope.errors import HeadscopeWarning, InputError
from headscope.measures.dataset import unseen
from headscope.views import fonts
from headscope.views.digits import brief
from headscope.views.page import plain_text
from headscope.views.palette import Palette, Theme, palette, ramp
from headscope.views.paper import COLUMN, FORMATS, MARGIN, POINTS, Width, inches, readable, rendered, wrapped

_STYLE = Path(__file__).with_name("charts.mplstyle")

PANELS = 6
"""At most so many measures are drawn side by side, unless they are named."""


class Look(TypedDict, total=False):
    """How a chart is drawn, and where: as in `headscope.figure`."""

    theme: Theme
    width: Width
    title: str | None
    ax: Any


@dataclass(frozen=True)
class Figure:
    """A chart of results.

    Attributes:
        figure: the `matplotlib.figure.Figure`.
        axes: the Axes that are drawn on, as many as the chart has panels.
        caption: what the numbers are; printed below unless the caller gave the Axes.
        about: what made it, for the properties of its file.
        theme: light or dark ground.
    """

    figure: Any
    axes: Sequence[Any]
    caption: str
    about: Mapping[str, str]
    theme: Theme = "light"

    @property
    def colours(self) -> Palette:
        """Those of its ground."""
        return palette(self.theme)

    def save(self, path: str | os.PathLike[str], *, dots: float = 300.0) -> Path:
        """Write it as ``.svg``, ``.pdf`` or ``.png`` (so many `dots` an inch), and return its path.

        Raises `InputError` for another suffix and where nothing can be written.
        """
        target = Path(path)
        kind = target.suffix.lower().removeprefix(".")
        if kind not in FORMATS:
            expected = ", ".join(f".{suffix}" for suffix in FORMATS)
            raise InputError(
                f"{target}: expected a name that ends in {expected}, found {target.suffix or 'none'}"
            )
        check_place(target)
        picture = self._rendered(kind, dots)
        with replacing(target) as file:
            file.write_bytes(picture)
        return target

    def _repr_png_(self) -> bytes:
        return self._rendered("png", 160.0)

    def _rendered(self, kind: str, dots: float) -> bytes:
        missing = cover(self.figure)
        if missing and kind != "svg":
            warnings.warn(fonts.complaint(missing), HeadscopeWarning, stacklevel=3)
        with style(self.theme):
            return rendered(self.figure, kind, self.about, dots)


def properties(meta: Mapping[str, Any], title: str) -> dict[str, str]:
    """What made a figure: for the properties of its file."""
    return {
        "title": plain_text(title),
        "description": json.dumps(meta, ensure_ascii=True),
        "creator": f"headscope {headscope.__version__}",
    }


def meta_of(dataset: Any) -> dict[str, Any]:
    """The description of the run that made a dataset."""
    return json.loads(dataset.attrs.get("meta", "{}"))


def model_name(model: Mapping[str, Any]) -> str:
    """The last part of a model's name."""
    return str(model["name"]).rstrip("/").split("/")[-1]


def panels_across(count: int, width: Width) -> int:
    """How many of some small panels stand side by side: three where they have the room."""
    return min(3 if inches(width) > COLUMN + 1 else 1, count)


def measures_to_draw(dataset: Any, measures: Sequence[str] | None, order: npt.NDArray[Any]) -> list[int]:
    """Indices along ``measure`` of the measures that are named, or the first `PANELS` in an order.

    Raises `InputError` for a measure that is not there.
    """
    known = [str(name) for name in dataset["measure"].values]
    if measures is None:
        return [int(index) for index in order[:PANELS]]
    for name in measures:
        if name not in known:
            raise InputError(f"measures: expected some of {', '.join(known)}, found {name!r}")
    return [known.index(name) for name in measures]


def rounded_up(value: float) -> float:
    """The next number of one digit, 1, 2 or 5, and zeros."""
    if not value > 0 or not np.isfinite(value):
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9)))


@contextmanager
def style(theme: Theme) -> Generator[Palette]:
    """matplotlib's settings for a chart, for the time being."""
    fonts.matplotlib()
    colours = palette(theme)
    settings = {
        "font.family": list(fonts.installed(fonts.FAMILIES)),
        "text.color": colours.ink,
        "figure.facecolor": colours.bg,
        "axes.facecolor": colours.bg,
        "axes.edgecolor": colours.line2,
        "axes.labelcolor": colours.ink2,
        "grid.color": colours.line,
        "legend.labelcolor": colours.ink2,
        **dict.fromkeys(("xtick.color", "ytick.color"), colours.line2),
        **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), colours.ink3),
    }
    with lazy.module("matplotlib.style").context(["default", _STYLE, settings]):
        yield colours


@contextmanager
def chart(
    ax: Any = None,
    panels: int = 1,
    *,
    high: float,
    across: int = 1,
    pad: tuple[float, float, float, float] = (32.0, 4.0, 16.0, 24.0),
    right: float = 0.0,
    theme: Theme = "light",
    width: Width = "page",
    title: str | None = None,
    caption: str = "",
    meta: Mapping[str, Any],
    about: str,
) -> Generator[Figure]:
    """Axes for a chart, in its style: those of the caller, or new ones in rows under a title and over the caption.

    Args:
        ax: Axes or a sequence of them, to draw on; by default new ones.
        panels: how many the chart has.
        high: of a panel's Axes, in points.
        across: panels in a row.
        pad: room around the Axes of a panel for titles and numbers, in points: left, right, above, below.
        right: room beside the last panel of a row.
        theme, width, title: as in `headscope.figure`.
        caption: what the numbers are; its parts, divided by `` · ``, stay together on a line where they fit.
        meta: the description of what is drawn. What of its models has no attention map stands in the caption.
        about: the figure's title among the properties of its file.
    """
    caption = plain_text(" · ".join(filter(None, [caption, unseen(meta)])))
    with style(theme) as colours:
        if given(ax, panels):
            axes = listed(ax)
            figure = axes[0].get_figure(root=True)
        else:
            full = inches(width) * POINTS
            lines = wrapped(caption, (full - 2 * MARGIN) / 3.0)
            top, foot = MARGIN + (16.0 if title else 0.0), 8.0 * len(lines) + 2.0 + MARGIN
            wide, row = (full - 2 * MARGIN - right) / across, high + pad[2] + pad[3]
            height = top + -(-panels // across) * row + foot
            figure = fonts.matplotlib().figure.Figure(figsize=(full / POINTS, height / POINTS))
            axes = [
                figure.add_axes(
                    (
                        (MARGIN + (panel % across) * wide + pad[0]) / full,
                        1 - (top + (panel // across) * row + pad[2] + high) / height,
                        (wide - pad[0] - pad[1]) / full,
                        high / height,
                    )
                )
                for panel in range(panels)
            ]
            if title:
                at = (MARGIN / full, 1 - MARGIN / height)
                figure.text(*at, plain_text(title), size=9.0, weight="bold", va="top")
            for number, line in enumerate(reversed(lines)):
                at = (MARGIN / full, (MARGIN + 8.0 * number) / height)
                figure.text(*at, line, size=6.0, color=colours.ink3)
        drawing = Figure(figure, axes, caption, properties(meta, about), theme)
        yield drawing
        if ax is not None and title:
            heading(axes[0], title)
        for one in axes:
            for axis in (one.xaxis, one.yaxis):
                axis.get_majorticklabels()  # made here, in this style
            cover(one)


def listed(ax: Any) -> list[Any]:
    """Axes, or a sequence or an array of them, as a list."""
    return [ax] if hasattr(ax, "get_figure") else np.ravel(ax).tolist()


def given(ax: Any, *counts: int) -> int:
    """How many Axes the caller gave, 0 for none. Raises `InputError` for another number than a chart has."""
    if ax is None:
        return 0
    axes = listed(ax)
    if len(axes) not in counts or not all(hasattr(one, "get_figure") for one in axes):
        wanted = " or ".join(str(count) for count in dict.fromkeys(counts))
        raise InputError(f"ax: expected {wanted} matplotlib Axes for this chart, found {len(axes)}")
    return len(axes)


def cover(artist: Any) -> set[str]:
    """Add fonts for what an artist's texts say and their fonts lack, and return what no font has."""
    missing: set[str] = set()
    for text in artist.findobj(fonts.matplotlib().text.Text):
        words, families = text.get_text(), text.get_fontfamily()
        if words != readable(words):
            text.set_text(words := readable(words))
        known = fonts.installed(tuple(families))
        if len(more := fonts.covering(known, words)) > len(known):
            text.set_fontfamily(list(dict.fromkeys([*families, *more])))
        missing |= fonts.lacking(known, words)
    return missing


def size(ax: Any) -> tuple[float, float]:
    """Width and height of Axes in points."""
    box = ax.get_window_extent()
    dots = ax.get_figure(root=True).dpi
    return box.width * POINTS / dots, box.height * POINTS / dots


def heading(ax: Any, words: str) -> None:
    """Name a panel, smaller where its name is longer than the panel is wide."""
    text = ax.set_title(plain_text(words), parse_math=False)
    wide = text.get_window_extent().width * POINTS / ax.get_figure(root=True).dpi
    text.set_fontsize(max(5.0, text.get_fontsize() * min(1.0, size(ax)[0] / wide)))


def every(axis: Any, labels: Sequence[Any], room: float, least: float) -> None:
    """Ticks at 0, 1, … with these labels, so many that each has `least` points of the axis' `room`."""
    step = max(1, math.ceil(least * len(labels) / room))
    ticks = range(0, len(labels), step)
    axis.set_ticks(ticks, labels=[str(labels[tick]) for tick in ticks], parse_math=False)


def rounded(axis: Any, count: int = 4) -> None:
    """About so many ticks at round numbers, written as `number` writes them."""
    ticker = fonts.matplotlib().ticker
    axis.set_major_locator(ticker.MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(ticker.FuncFormatter(_tick))


def _tick(value: float, _: int) -> str:
    return number(value)


def number(value: float, digits: int = 3) -> str:
    """A number in a figure: ``0.5``, ``4.6``, ``1.5e−5``; 0 for what is lost in rounding."""
    return brief(value, digits) if abs(value) >= 1e-12 else "0"


def grid_of_heads(
    ax: Any,
    values: Floats,
    dataset: Any,
    limits: tuple[float, float],
    colours: Palette,
    *,
    root: bool = False,
    across: str = "head",
) -> Any:
    """Draw a value of every head ``[layer head]`` as a map, layers down and heads across.

    Args:
        ax: to draw on.
        values: NaN where a layer has no such head.
        dataset: its coordinates ``layer`` and ``head`` name rows and columns.
        limits: of the colours; they diverge from 0 where the first is negative.
        colours: of the ground.
        root: whether colours go by the square root.
        across: the coordinate that names columns.
    """
    made = fonts.matplotlib().colors
    signed = limits[0] < -1e-9
    reach = max(-limits[0], limits[1]) if signed else limits[1]
    scale = made.ListedColormap(ramp(colours.diverging if signed else colours.sequential) / 255.0)
    norm = made.PowerNorm(0.5, 0.0, reach) if root else made.Normalize(-reach if signed else 0.0, reach)
    rows, columns = values.shape
    wide, high = size(ax)
    gap = 0.8 if min(wide / columns, high / rows) > 5 else 0.3
    masked = np.ma.masked_invalid(values)
    ground = {"edgecolor": colours.bg, "linewidth": gap}
    mesh = ax.pcolormesh(np.arange(columns), np.arange(rows), masked, cmap=scale, norm=norm, **ground)
    ax.set(
        xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), xlabel=across.replace("_", " "), ylabel="layer"
    )
    for axis, name, room, least in ((ax.xaxis, across, wide, 9.5), (ax.yaxis, "layer", high, 8.0)):
        every(axis, dataset[name].values, room, least)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return mesh


_CELL = 16.0  # of a head in a map of its own, in points, at most


def map_of_heads(
    dataset: Any,
    values: Floats,
    limits: tuple[float, float],
    edged: Any,
    *,
    heading_text: str,
    scale: str,
    caption: Sequence[str],
    about_text: str,
    root: bool = False,
    across: str = "head",
    **look: Unpack[Look],
) -> Figure:
    """One map of heads by itself, some of them with an edge.

    Args:
        dataset: whose coordinates name rows and columns, and whose description says what made it.
        values, limits, root, across: as in `grid_of_heads`.
        edged: which heads have an edge, bool ``[layer head]``.
        heading_text: printed above the map.
        scale: what the colours are of.
        caption: what the numbers are, in parts, behind the model's name.
        about_text: the figure's name in its file.
        **look: as in `headscope.figure`.
    """
    meta = meta_of(dataset)
    layers, heads = values.shape
    wide = inches(look.get("width", "page")) * POINTS - 2 * MARGIN - 64.0
    with chart(
        high=layers * min(_CELL, max(wide / heads, 8.0)),
        across=1,
        pad=(26.0, 38.0, 16.0, 24.0),
        caption=" · ".join([model_name(meta["model"]), *caption]),
        meta=meta,
        about=about_text,
        **look,
    ) as drawn:
        mesh = grid_of_heads(drawn.axes[0], values, dataset, limits, drawn.colours, root=root, across=across)
        outline(drawn.axes[0], np.argwhere(edged), drawn.colours.ink)
        heading(drawn.axes[0], heading_text)
        colour_bar(drawn.axes[0], mesh, scale)
    return drawn


def layer_colours(count: int, colours: Palette) -> list[str]:
    """A colour for each layer, from blue for the first to orange for the last."""
    stops = [colours.heads[place] for place in (0, 4, 3, 1)]
    return ["#{:02x}{:02x}{:02x}".format(*colour) for colour in ramp(stops, max(count, 2))[:count].tolist()]


def colour_bar(ax: Any, mappable: Any, label: str = "", *, below: bool = False) -> Any:
    """A scale of colours to the right of Axes, or `below` their label."""
    wide, high = size(ax)
    bounds = (1 + 5.0 / wide, 0.0, 5.0 / wide, 1.0)
    if below:
        bounds = (0.0, -(_under(ax) + 6.0) / high, 1.0, 6.0 / high)
    bar = ax.get_figure().colorbar(
        mappable, cax=ax.inset_axes(bounds), orientation="horizontal" if below else "vertical"
    )
    bar.outline.set_visible(False)
    bar.minorticks_off()
    rounded(bar.ax.xaxis if below else bar.ax.yaxis)
    bar.set_label(label, labelpad=1.0)
    return bar


def legend(
    ax: Any, names: Sequence[str], fills: Sequence[str | None], colours: Palette, *, below: bool = False
) -> None:
    """Names beside discs of their colours, or rings for None, above Axes or `below` their label."""
    line = fonts.matplotlib().lines.Line2D
    discs = [
        line([], [], ls="", marker="o", ms=5.0, mew=0.6, mfc=fill or "none", mec=fill or colours.ink3)
        for fill in fills
    ]
    moved = fonts.matplotlib().transforms.ScaledTranslation(
        0, (-_under(ax) if below else 5.0) / POINTS, ax.get_figure(root=True).dpi_scale_trans
    )
    ax.legend(
        discs,
        names,
        loc="upper left" if below else "lower left",
        bbox_to_anchor=(0, 0 if below else 1),
        bbox_transform=ax.transAxes + moved,
        ncols=legend_columns(names, size(ax)[0]),
    )


def _under(ax: Any) -> float:
    """How many points below Axes there is room, under their numbers and label."""
    down = ax.get_window_extent().y0 - ax.xaxis.get_tightbbox().y0
    return 6.0 + down * POINTS / ax.get_figure(root=True).dpi


def legend_columns(names: Sequence[str], width: float) -> int:
    """How many columns of a legend fit into a width in points."""
    return max(1, min(len(names), int(width / (18.0 + 3.9 * max(map(len, names))))))


def outline(ax: Any, cells: npt.NDArray[Any], colour: str) -> None:
    """Draw an edge around cells ``[cell 2]`` of a map, each its row and column."""
    rectangle = fonts.matplotlib().patches.Rectangle
    for row, column in cells.tolist():
        ax.add_patch(
            rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=colour, lw=1.0, zorder=3)
        )
