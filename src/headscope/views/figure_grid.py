"""The grid of heads, layers down and heads across, or in the order of a measure."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from headscope.views.canvas import Align, Canvas
from headscope.views.digits import bare, brief, fixed
from headscope.views.figure_gold import ROOM, judged, thumbnail
from headscope.views.figure_picture import SeenHeads
from headscope.views.palette import Palette, diverging, sequential
from headscope.views.selection import Matrix, Selection

LINES = 24
"""Up to how many tokens thumbnails are drawn as lines, where the state leaves it open."""

_TOP, _LEFT = 12.0, 16.0
_LEGEND = 20.0
_BAR = 1.6
_TALLEST = 1.6


class Grid:
    """All heads of all shown layers as thumbnails, with the bar and number of a measure below each."""

    def __init__(self, selection: Selection, width: float, canvas: Canvas) -> None:
        self.selection, self.width = selection, width
        self.columns = sorted({head for layer in selection.layers for head in selection.heads(layer)})
        self.figures = selection.figures()
        self.sorted = bool(selection.state["sort"]) and self.figures is not None
        self.left, self.top = (0.0, 2.0) if self.sorted else (_LEFT, _TOP)
        self.gap = 3.0 if width > 300 else 2.0
        count = len(self.columns)
        room = (width - self.left + self.gap) / count - self.gap
        self.cell = max(4.0, min(room, 72.0))
        self.seen = self._seen()
        self.tall = self.cell if self.seen is None else self.cell * min(_TALLEST, self.seen.aspect)
        self.lines = self._noted()
        self.down = self.tall + self.gap + (_BAR + 2.0 + 6.5 * len(self.lines) if self.figures else 0.0)
        self.cells = self._cells()
        self.rows = 1 + max(row for row, *_ in self.cells)
        self.height = self.top + self.rows * self.down + _LEGEND
        most = max(len(selection.query), len(selection.key))
        self.marked = bool(selection.gold()) and self.cell / most >= ROOM and self.seen is None

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it with its top left corner there."""
        selection, colours, cell = self.selection, canvas.colours, self.cell
        as_lines = self._as_lines()
        open_heads: list[int] = selection.state["heads"]
        marked = selection.state["layer"] >= 0
        if not self.sorted:
            self._labels(canvas, x, y, open_heads if marked else [])
        segments: list[Matrix] = []
        alphas: list[Matrix] = []
        for row, column, layer, head in self.cells:
            left, top = x + self.left + column * (cell + self.gap), y + self.top + row * self.down
            matrix = selection.matrix(layer, head) / selection.scale
            if self.seen is not None:
                canvas.image(
                    left, top, cell, self.tall, self.seen.cell(layer, head, cell, self.tall, colours), 1
                )
            elif as_lines:
                canvas.rectangle(left, top, cell, cell, colours.track)
                lines, alpha = _strongest(np.abs(matrix), left, top, cell)
                segments.append(lines)
                alphas.append(alpha)
            else:
                canvas.image(left, top, cell, cell, tint(pooled(matrix), selection, colours))
            if self.marked:
                thumbnail(canvas, judged(selection, [matrix]), left, top, cell, matrix.shape, as_lines)
            if self.figures is not None:
                self._note(canvas, left, top, layer, head)
            if marked and layer == selection.layer and head in open_heads:
                line = 1.3 if head == open_heads[-1] else 0.7
                box = (left - 1.3, top - 1.3, cell + 2.6, self.tall + 2.6)
                canvas.rectangle(*box, None, edge=colours.accent, line=line, radius=1.6)
        if as_lines and segments:
            thin = 0.45 if cell > 20 else 0.3
            canvas.lines(np.concatenate(segments), colours.accent, thin, np.concatenate(alphas), order=1.5)
        foot = y + self.top + self.rows * self.down + 4
        first = "least" if selection.state["ascending"] else "most"
        said = f"{first} first, row by row" if self.sorted else "layers ↓  heads →"
        canvas.text(x + self.left, foot + 4, said, 6.0, colours.ink3)
        if not as_lines and self.seen is None:
            legend(canvas, x + self.width, foot, selection)

    def notes(self) -> list[str]:
        """What the caption adds: the measure, its order and its least."""
        gold = ["gold links: filled or solid where the head is right"] if self.marked else []
        if self.seen is not None:
            gold.append(self.seen.note)
        if self.figures is None:
            return gold
        state, figures = self.selection.state, self.figures
        name = (
            f"{figures.title} over the corpus"
            if str(state["measure"]).startswith("corpus:")
            else figures.title
        )
        said = [f"below each head: {name}" + (f" ({figures.units})" if figures.units else "")]
        if self.sorted:
            said.append("heads sorted by it" + (", the smallest first" if state["ascending"] else ""))
        if state["least"] > 0:
            said.append(f"heads below {state['least']:g} are faint")
        return said + gold

    def _seen(self) -> SeenHeads | None:
        """The heads on the picture, where their keys are areas of one and the state leaves it open."""
        state = self.selection.state
        if state["draw"] != "auto" or state["quantity"] != "weights":
            return None
        return SeenHeads.of(self.selection)

    def _as_lines(self) -> bool:
        selection = self.selection
        if selection.against is not None or self.seen is not None:
            return False
        auto = max(len(selection.maps.query), len(selection.maps.key)) <= LINES
        return selection.state["draw"] == "lines" or (selection.state["draw"] == "auto" and auto)

    def _cells(self) -> list[tuple[int, int, int, int]]:
        """Row, column, layer and head of each cell: in the model's order, or by the measure (those without last)."""
        layers, across = self.selection.layers, len(self.columns)
        cells = [(layer, head) for layer in layers for head in self.selection.heads(layer)]
        if not self.sorted or self.figures is None:
            return [(layers.index(layer), self.columns.index(head), layer, head) for layer, head in cells]
        values = self.figures.values
        up = bool(self.selection.state["ascending"])
        cells.sort(
            key=lambda cell: (
                (values[cell] if up else -values[cell]) if math.isfinite(values[cell]) else math.inf
            )
        )
        return [(*divmod(place, across), *cell) for place, cell in enumerate(cells)]

    def _noted(self) -> list[str]:
        """What stands below each bar, a line each: the head's name where the grid is sorted, and the number."""
        if self.figures is None or self.cell < 10:
            return []
        if not self.sorted:
            return ["value"]
        return ["both"] if self.cell >= 32 else ["name", "value"]

    def _labels(self, canvas: Canvas, x: float, y: float, open_heads: list[int]) -> None:
        size = 6.5 if self.cell >= 10 else 5.0
        across, down = self.cell + self.gap, self.down
        corner = (x + self.left, y + self.top)
        open_layers = [self.selection.layer] if open_heads else []
        labels = [
            (head, corner[0] + place * across + self.cell / 2, y + 4, "center", head in open_heads)
            for place, head in enumerate(self.columns)
            if self.cell >= 7 or place % 2 == 0
        ] + [
            (layer, corner[0] - 5, corner[1] + place * down + self.tall / 2, "right", layer in open_layers)
            for place, layer in enumerate(self.selection.layers)
        ]
        for index, left, top, align, is_open in labels:
            ink = canvas.colours.accent if is_open else canvas.colours.ink3
            canvas.text(left, top, str(index), size, ink, align=cast(Align, align), bold=is_open)

    def _note(self, canvas: Canvas, x: float, y: float, layer: int, head: int) -> None:
        """A cell's measure: a bar as a share of the largest, a number; a head below the state's `least` fades."""
        assert self.figures is not None
        colours, cell = canvas.colours, self.cell
        value = self.figures.values[layer, head]
        finite = math.isfinite(value)
        if not finite or value < self.selection.state["least"]:
            canvas.rectangle(x - 0.3, y - 0.3, cell + 0.6, self.tall + 0.6, colours.bg, alpha=0.86, order=1.6)
        y += self.tall + 1.6
        if finite:
            most = max([1e-9, *(each for each in self.figures.values.values() if math.isfinite(each))])
            canvas.rectangle(x, y, cell, _BAR, colours.track)
            if value > 0:
                canvas.rectangle(x, y, cell * value / most, _BAR, colours.accent)
        name, text = f"L{layer}H{head}", _decimals(value) if finite else "–"
        size = min(5.5, cell / 3.5)
        for line, kind in enumerate(self.lines):
            middle = y + _BAR + 4.0 + 6.5 * line
            canvas.text(x, middle, text if kind == "value" else name, size, colours.ink2)
            if kind == "both":
                canvas.text(x + cell, middle, text, size, colours.ink2, align="right")


def tint(shares: Matrix, selection: Selection, colours: Palette) -> npt.NDArray[np.uint8]:
    """Shares of the scale as colours ``[row column 3]``: by their root, as in the page; signs by blue and orange."""
    if selection.signed:
        return diverging(np.sign(shares) * np.sqrt(np.abs(shares)), colours)
    return sequential(shares, colours)


def legend(canvas: Canvas, right: float, y: float, selection: Selection) -> None:
    """The scale of colours, with its right end there."""
    colours, width, height = canvas.colours, min(90.0, canvas.width * 0.3), 4.0
    place = np.linspace(0, 1, 64)
    scale = selection.scale
    if selection.signed:
        pixels = diverging(2 * place - 1, colours)
        top = bare(brief(scale, 2))
        ticks = [(0.0, "−" + top), (0.5, "0"), (1.0, top)]
    else:
        pixels = sequential(place**2, colours)
        shares = [0.0, 0.05, 0.25, 0.5, 1.0] if scale == 1.0 else [0.0, 0.25, 1.0]
        names = [bare(brief(each * scale, 2)) for each in shares]
        ticks = [(each**0.5, name) for each, name in zip(shares, names, strict=True)]
    canvas.image(right - width, y, width, height, pixels[None])
    for share, name in ticks:
        align = "left" if share == 0 else "right" if share == 1 else "center"
        canvas.text(right - width + share * width, y + height + 5, name, 5.5, colours.ink3, align=align)


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
    """The three strongest lines of each row, none below its mean, and how strong each is drawn."""
    rows, columns = int(matrix.shape[0]), int(matrix.shape[1])
    matrix = np.clip(matrix, 0.0, 1.0)
    kept = min(3, columns)
    row: npt.NDArray[Any] = np.repeat(np.arange(rows), kept)
    column = np.argsort(-matrix, axis=1, kind="stable")[:, :kept].ravel()
    weight = matrix[row, column]
    order = np.argsort(weight, kind="stable")
    least = np.repeat(matrix.mean(1), kept) * (1 - 1e-6)
    order = order[(weight > 0)[order] & (weight >= least)[order]]
    pad = cell * 0.06
    room = cell - 2 * pad
    y0, y1 = (
        y + pad + (place[order] + 0.5) / count * room for place, count in ((row, rows), (column, columns))
    )
    ends = np.stack(np.broadcast_arrays(x + pad, y0, x + cell - pad, y1), -1)
    return ends, 0.08 + 0.92 * np.sqrt(weight[order]) ** 1.6


def _decimals(value: float) -> str:
    """Two decimals without the zero before the point, as below a cell of the page."""
    return bare(fixed(value, 2))
