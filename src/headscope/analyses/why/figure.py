"""The prompt, each span shaded by what the answer loses without it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import xarray as xr

from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.views import charts, fonts
from headscope.views.charts import Figure
from headscope.views.palette import Theme, palette, ramp
from headscope.views.paper import Width

LETTERS = 100
"""Letters of a line."""

_LINE = 11.0  # in points
_LEAST = 8  # lines, beside which the scale of colours has its words
_DARKEST = 56  # of 256 colours, on which ink is not read
_WIDE = 0.603  # a letter, as a share of its size


_SAID = {
    "masked": "what the answer's log-probability loses where no later token sees it",
    "estimate": "the derivative of the answer's log-probability by a bias on the attention to it",
}


def figure(
    dataset: xr.Dataset,
    *,
    by: Literal["masked", "estimate"] = "masked",
    level: str | None = None,
    theme: Theme = "light",
    width: Width = "page",
    title: str | None = None,
    ax: Any = None,
) -> Figure:
    """The text of the prompt with its spans shaded, diverging about 0, and the answer below it.

    Args:
        dataset: from `headscope.why`.
        by: what shades: the ``masked`` effect, or the ``estimate``; a span that was not masked is not shaded then.
        level: of spans in one another those that are shaded; by default the smallest.
        theme: light or dark ground.
        width: in inches, or the width of a ``column`` or the ``text`` of a paper.
        title: printed above.
        ax: one matplotlib Axes to draw on in place of a new figure.

    Raises `InputError` for a prompt without text.
    """
    about = description(dataset)
    text: str = about["prompt"]
    levels = list(dict.fromkeys(dataset["level"].values.tolist()))
    chosen = levels[-1] if level is None else level
    if chosen not in levels:
        raise InputError(f"level: expected one of {', '.join(levels)}, found {level!r}")
    if not text.strip():
        raise InputError("figure: expected a prompt with a text, found none")
    shades = np.full(len(text), np.nan)
    for span in np.flatnonzero((dataset["level"] == chosen).values):
        shades[int(dataset["start"][span]) : int(dataset["end"][span])] = float(dataset[by][span])
    lines: list[tuple[str, Any]] = [
        *_lines(text, shades),
        ("", []),
        *_lines(f"→ {about['answer'].strip()}", None),
    ]
    charts.given(ax, 1)
    meta = charts.meta_of(dataset)
    name = "nats lost" if by == "masked" else "d log p / d bias"
    with charts.chart(
        ax,
        1,
        high=_LINE * max(len(lines), _LEAST),
        pad=(0.0, 44.0, 8.0, 8.0),
        theme=theme,
        width=width,
        title=title,
        caption=f"{charts.model_name(meta['model'])} · each {chosen} by {_SAID[by]}",
        meta=meta,
        about="Sources of an answer",
    ) as chart:
        axes, made = chart.axes[0], fonts.matplotlib()
        colours = palette(theme)
        reach = max(float(np.nanmax(np.abs(shades), initial=0.0, where=np.isfinite(shades))), 1e-9)
        norm = made.colors.Normalize(-reach, reach)
        scale = made.colors.ListedColormap(ramp(colours.diverging)[_DARKEST : 256 - _DARKEST, :3] / 255.0)
        boxes: list[Any] = []
        values: list[float] = []
        size = charts.size(axes)[0] / LETTERS / _WIDE
        for row, (line, of) in enumerate(lines):
            axes.text(0, row + 0.5, line, size=size, family="DejaVu Sans Mono", va="center", parse_math=False)
            for start, end in _runs(of):
                edges = ((start, row + 0.08), (end, row + 0.08), (end, row + 0.92), (start, row + 0.92))
                boxes.append(edges)
                values.append(float(of[start]))
        shaded = made.collections.PolyCollection(boxes, array=values, cmap=scale, norm=norm, linewidth=0)
        axes.add_collection(shaded)
        axes.set(xlim=(0, LETTERS), ylim=(max(len(lines), _LEAST), 0))
        axes.axis("off")
        charts.colour_bar(axes, shaded, name)
    return chart


def _runs(shades: Any) -> list[tuple[int, int]]:
    """Stretches of letters that have one shade."""
    runs: list[tuple[int, int]] = []
    for place, shade in enumerate(shades):
        if np.isnan(shade):
            continue
        if runs and runs[-1][1] == place and shades[place - 1] == shade:
            runs[-1] = (runs[-1][0], place + 1)
        else:
            runs.append((place, place + 1))
    return runs


def _lines(text: str, shades: Any) -> list[tuple[str, Any]]:
    """The text in lines, broken at spaces, with the shade of each letter."""
    shades = np.full(len(text), np.nan) if shades is None else shades
    lines: list[tuple[str, Any]] = []
    start = 0
    while start < len(text):
        end = min(start + LETTERS, len(text))
        if (turn := text.find("\n", start, end)) >= 0:
            end = turn + 1
        elif end < len(text) and (space := text.rfind(" ", start + 1, end)) > 0:
            end = space + 1
        lines.append((text[start:end].rstrip("\n"), shades[start:end]))
        start = end
    return lines
