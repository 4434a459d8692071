"""The grid of heads, layers down and heads across."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.views.canvas import Canvas
from headscope.views.palette import diverging, sequential
from headscope.views.selection import Matrix, Selection

LINES = 24
"""Up to how many tokens thumbnails are drawn as lines, where the state leaves it open."""

_TOP, _LEFT = 12.0, 16.0
_LEGEND = 20.0


class Grid:
    """All heads of all shown layers as thumbnails."""

    def __init__(self, selection: Selection, width: float, canvas: Canvas) -> None:
        self.selection, self.width = selection, width
        self.columns = sorted({head for layer in selection.layers for head in selection.heads(layer)})
        self.gap = 3.0 if width > 300 else 2.0
        count = len(self.columns)
        room = (width - _LEFT + self.gap) / count - self.gap
        self.cell = max(4.0, min(room, 72.0))
        self.height = _TOP + len(selection.layers) * (self.cell + self.gap) + _LEGEND

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it with its top left corner there."""
        selection, colours = self.selection, canvas.colours
        auto = max(len(selection.query), len(selection.key)) <= LINES
        as_lines = selection.state["draw"] == "lines" or (selection.state["draw"] == "auto" and auto)
        step, open_heads = self.cell + self.gap, [int(head) for head in selection.state["heads"]]
        size = 6.5 if self.cell >= 10 else 5.0
        marked = "layer" in selection.state and selection.layer in selection.layers
        for column, head in enumerate(self.columns):
            chosen = marked and head in open_heads
            ink = colours.accent if chosen else colours.ink3
            if self.cell >= 7 or column % 2 == 0:
                place = x + _LEFT + column * step + self.cell / 2
                canvas.text(place, y + 4, str(head), size, ink, align="center", bold=chosen)
        segments: list[Matrix] = []
        alphas: list[Matrix] = []
        for row, layer in enumerate(selection.layers):
            top = y + _TOP + row * step
            chosen = marked and layer == selection.layer
            ink = colours.accent if chosen else colours.ink3
            canvas.text(x + _LEFT - 5, top + self.cell / 2, str(layer), size, ink, align="right", bold=chosen)
            for column, head in enumerate(self.columns):
                if head not in selection.heads(layer):
                    continue
                left = x + _LEFT + column * step
                matrix = selection.matrix(layer, head) / selection.scale
                if as_lines:
                    canvas.rectangle(left, top, self.cell, self.cell, colours.track)
                    found, alpha = _strongest(np.abs(matrix), left, top, self.cell)
                    segments.append(found)
                    alphas.append(alpha)
                else:
                    small = pooled(matrix)
                    pixels = diverging(small, colours) if selection.signed else sequential(small, colours)
                    canvas.image(left, top, self.cell, self.cell, pixels)
                if chosen and head in open_heads:
                    last = head == open_heads[-1]
                    canvas.rectangle(
                        left - 1.3,
                        top - 1.3,
                        self.cell + 2.6,
                        self.cell + 2.6,
                        None,
                        edge=colours.accent,
                        line=1.3 if last else 0.7,
                        radius=1.6,
                    )
        if as_lines and segments:
            thin = 0.45 if self.cell > 20 else 0.3
            canvas.lines(np.concatenate(segments), colours.accent, thin, np.concatenate(alphas), order=1.5)
        foot = y + _TOP + len(selection.layers) * step + 4
        canvas.text(x + _LEFT, foot + 4, "layers ↓  heads →", 6.0, colours.ink3)
        if not as_lines:
            legend(canvas, x + self.width, foot, selection)


def legend(canvas: Canvas, right: float, y: float, selection: Selection) -> None:
    """The scale of colours, with its right end there."""
    colours, width, height = canvas.colours, min(90.0, canvas.width * 0.3), 4.0
    place = np.linspace(0, 1, 64)
    if selection.signed:
        pixels = diverging(2 * place - 1, colours)
        top = f"{selection.scale:.2g}"
        ticks = [(0.0, "−" + top), (0.5, "0"), (1.0, top)]
    else:
        pixels = sequential(place**2, colours)
        values = [0.0, 0.05, 0.25, 0.5, 1.0]
        scale = selection.scale
        names = [
            f"{value * scale:.2g}" if scale != 1.0 else f"{value:g}".replace("0.", ".") for value in values
        ]
        ticks = [(value**0.5, name) for value, name in zip(values, names, strict=True)]
        if scale != 1.0:
            ticks = [ticks[0], ticks[2], ticks[4]]
    canvas.image(right - width, y, width, height, pixels[None])
    for share_, name in ticks:
        align = "left" if share_ == 0 else "right" if share_ == 1 else "center"
        canvas.text(right - width + share_ * width, y + height + 5, name, 5.5, colours.ink3, align=align)


def pooled(matrix: Matrix, most: int = 64) -> Matrix:
    """The value of the largest magnitude of each block, at most `most` a side."""
    for axis in (0, 1):
        size = matrix.shape[axis]
        if size > most:
            starts = np.arange(most) * size // most
            high, low = np.maximum.reduceat(matrix, starts, axis), np.minimum.reduceat(matrix, starts, axis)
            matrix = np.where(high >= -low, high, low)
    return matrix


def _strongest(matrix: Matrix, x: float, y: float, cell: float) -> tuple[Matrix, Matrix]:
    """The three strongest lines of each row above .02, and how strong each is drawn."""
    rows, columns = int(matrix.shape[0]), int(matrix.shape[1])
    matrix = np.clip(matrix, 0.0, 1.0)
    kept = min(3, columns)
    best = np.argpartition(matrix, columns - kept, 1)[:, columns - kept :]
    row: npt.NDArray[Any] = np.repeat(np.arange(rows), kept)
    column = best.ravel()
    weight = matrix[row, column]
    order = np.argsort(weight)
    order = order[weight[order] > 0.02]
    row, column, weight = row[order], column[order], weight[order]
    pad = cell * 0.06
    room = cell - 2 * pad
    ends = [
        np.full(len(row), x + pad),
        y + pad + (row + 0.5) / rows * room,
        np.full(len(row), x + cell - pad),
        y + pad + (column + 0.5) / columns * room,
    ]
    return np.stack(ends, -1), 0.08 + 0.92 * np.sqrt(weight) ** 1.6
