"""Static figures of measures, by layer and as maps of layers and heads (Clark et al. 2019, figures 2 to 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import xarray as xr

from headscope.core.arrays import Floats
from headscope.errors import InputError
from headscope.measures.dataset import mean_chance_of, means_over
from headscope.views import charts
from headscope.views.charts import Figure, Look, number
from headscope.views.columns import measure_names
from headscope.views.digits import fixed, weight
from headscope.views.page import plain_text
from headscope.views.palette import Palette, palette

_HIGH = 108.0  # of a plot, in points


def figure(
    dataset: xr.Dataset,
    names: str | Sequence[str] | None = None,
    *,
    together: bool = False,
    **look: Unpack[Look],
) -> Figure:
    """Measures by layer (a point a head, the line their mean, dashed what uniform attention gives), and as maps.

    Args:
        dataset: from `headscope.measure`.
        names: one measure or some; by default all.
        together: in one plot instead, a colour a measure (figure 3).
        theme, width, title: as in `headscope.figure`.
        ax: matplotlib Axes to draw on in place of a new figure: one a measure, or two a measure for its map too
            (a single one for measures together). The figure that is returned holds them.

    Raises `InputError` for a measure that is not there, and for more of them together than there are colours.
    """
    known, colours = measure_names(dataset), palette(look.get("theme", "light"))
    names = known if names is None else [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in known:
            raise InputError(f"figure: expected {', '.join(known)}, found {name!r}")
    if not names:
        raise InputError(f"figure: expected some of {', '.join(known)}, found none")
    if together and not 1 <= len(names) <= len(colours.heads):
        raise InputError(f"figure: expected 1 to {len(colours.heads)} measures together, found {len(names)}")
    series = [_Series.of(dataset, name) for name in names]
    inches = charts.inches(look.get("width", "page"))
    counts = (1,) if together else (len(series), 2 * len(series))
    maps = (charts.given(look.get("ax"), *counts) or counts[-1 if inches > charts.COLUMN else 0]) > len(
        series
    )
    labels, above = [one.label for one in series], 16.0
    if together:
        above = 8.0 + 11.0 * -(-len(labels) // charts.legend_columns(labels, inches * charts.POINTS - 48.0))
    meta = charts.meta_of(dataset)
    with charts.chart(
        panels=counts[1 if maps else 0],
        high=_HIGH,
        across=2 if maps else 1,
        pad=(34.0, 30.0 if maps else 4.0, above, 26.0),
        caption=_caption(meta, series, means_over(dataset, names), dashed=not together),
        meta=meta,
        about=f"{', '.join(names)}: the heads of {meta.get('model', {}).get('name', 'a model')}",
        **look,
    ) as chart:
        if together:
            _curves(chart.axes[0], series, colours.heads, colours)
            charts.legend(chart.axes[0], labels, colours.heads[: len(series)], colours)
        for place, one in enumerate(() if together else series):
            axes = chart.axes[place * (1 + maps)]
            _curves(axes, [one], [colours.accent], colours)
            charts.heading(axes, one.label)
            if maps:
                _map(chart.axes[2 * place + 1], one, dataset, colours)
    return chart


@dataclass(frozen=True)
class _Series:
    """One measure: values ``[layer head]`` and chance ``[layer]``, and how it is scaled."""

    title: str
    units: str
    source: str
    layers: list[int]
    values: Floats
    chance: Floats

    @classmethod
    def of(cls, dataset: xr.Dataset, name: str) -> _Series:
        array = dataset[name].transpose("layer", "head")
        values = np.asarray(array.values, np.float64)
        attrs: dict[str, Any] = dict(array.attrs)
        return cls(
            plain_text(str(attrs.get("title", name))),
            plain_text(str(attrs.get("units", ""))),
            plain_text(str(attrs.get("source", ""))),
            [int(layer) for layer in array["layer"].values],
            values,
            mean_chance_of(dataset, name),
        )

    @property
    def label(self) -> str:
        return self.title if self.units in ("", "share") else f"{self.title} ({self.units})"

    @property
    def limits(self) -> tuple[float, float]:
        """From where to where its axis goes: shares to 1, others as far as they go, with 0."""
        values = np.concatenate([self.values.ravel(), self.chance])
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        if self.units == "share" and low >= 0:
            return 0.0, 1.0
        return min(0.0, 1.04 * low), max(1e-12, 1.04 * high)


def _caption(
    meta: dict[str, Any], series: Sequence[_Series], counts: Mapping[str, tuple[int, int]], *, dashed: bool
) -> str:
    parts = ["points are heads, lines means of layers" + ", dashed uniform attention" * dashed]
    if counts:
        parts.append(
            f"means over up to {' and '.join(f'{most:,} {noun}' for noun, (_, most) in counts.items())}"
        )
    if corpus := meta.get("corpus", {}).get("name"):
        parts.append(str(corpus))
    if meta.get("model", {}).get("name"):
        parts.append(charts.model_name(meta["model"]))
    if objective := meta.get("objective"):
        parts.append(f"L: {objective}")
    return " · ".join([*parts, *list(dict.fromkeys(one.source for one in series if one.source))[:3]])


def _curves(ax: Any, series: Sequence[_Series], hues: Sequence[str], colours: Palette) -> None:
    """Measures on one scale against the layer."""
    low, high = min(one.limits[0] for one in series), max(one.limits[1] for one in series)
    layers = np.arange(len(series[0].layers))
    share_of_step = 0.78 / len(series)
    single = len(series) == 1
    for index, (one, hue) in enumerate(zip(series, hues, strict=False)):
        heads = one.values.shape[1]
        offset = (index - (len(series) - 1) / 2) * share_of_step
        spread = np.linspace(-0.4, 0.4, heads) * share_of_step if heads > 1 else np.zeros(1)
        across: Floats = layers[:, None] + offset + spread
        known = np.isfinite(one.values)
        points = {"s": 7.0 if known.sum() <= 200 else 3.5, "alpha": 0.62, "linewidths": 0, "zorder": 3}
        ax.scatter(across[known], one.values[known], color=hue, label=one.label, clip_on=False, **points)
        count = known.sum(1)
        means = np.where(count > 0, np.where(known, one.values, 0.0).sum(1) / np.maximum(count, 1), np.nan)
        ax.plot(layers, means, color=colours.ink3 if single else hue, lw=1.2, zorder=2 if single else 4)
        if single and np.isfinite(one.chance).any():
            dashes = {"colors": colours.ink2, "linewidths": 0.7, "linestyles": [(0, (3.5, 3.5))]}
            ax.hlines(one.chance, layers - 0.5, layers + 0.5, zorder=2.5, **dashes)
    units = dict.fromkeys(
        "share of attention" if one.units == "share" else one.units or "value" for one in series
    )
    ax.set(xlim=(-0.5, len(layers) - 0.5), ylim=(low, high), xlabel="layer", ylabel=" or ".join(units))
    ax.grid(axis="y")
    charts.rounded(ax.yaxis)
    charts.every(ax.xaxis, series[0].layers, charts.size(ax)[0], 11.0)


def _map(ax: Any, one: _Series, dataset: xr.Dataset, colours: Palette) -> None:
    """Layers down, heads across; numbers in the cells where they fit."""
    low, high = one.limits
    shares = one.units == "share" and low >= 0
    mesh = charts.grid_of_heads(ax, one.values, dataset, one.limits, colours, root=shares)
    charts.colour_bar(ax, mesh)
    wide, tall = charts.size(ax)
    rows, columns = one.values.shape
    if wide / columns < 11.5 or tall / rows < 8:
        return
    most = max(abs(low), abs(high))
    for layer, head in np.argwhere(np.isfinite(one.values)):
        value = float(one.values[layer, head])
        text = weight(value) if one.units == "share" else fixed(value, 0 if most >= 20 else 1)
        pale = np.dot(mesh.cmap(mesh.norm(value))[:3], (0.2126, 0.7152, 0.0722)) > 0.5
        words = text if most >= 1 else number(value, 1)
        ax.text(
            head,
            layer,
            words,
            size=5.0,
            color="#16191d" if pale else "#ffffff",
            ha="center",
            va="center_baseline",
        )
