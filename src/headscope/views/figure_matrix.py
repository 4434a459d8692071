"""One head as a matrix: queries down, keys across."""

from __future__ import annotations

import numpy as np

from headscope.views.canvas import Canvas, label
from headscope.views.figure_grid import legend
from headscope.views.figure_head import spans, token_width
from headscope.views.palette import diverging, sequential
from headscope.views.selection import Selection

_TOP, _FOOT = 16.0, 20.0
_LEAST = 5.2


class HeadMatrix:
    """The open head as a picture of its matrix, with its tokens on both sides."""

    def __init__(self, selection: Selection, width: float, canvas: Canvas) -> None:
        self.selection, self.width = selection, width
        self.head = selection.chosen()[-1]
        zoom = selection.state["zoom"]
        rows, columns = len(selection.query), len(selection.key)
        self.rows, self.columns = slice(0, rows), slice(0, columns)
        if zoom is not None:
            self.rows = slice(zoom[0], min(zoom[0] + zoom[1], rows))
            self.columns = slice(zoom[2], min(zoom[2] + zoom[3], columns))
        self.query, self.key = selection.query.take(self.rows), selection.key.take(self.columns)
        room = min(width * 0.75, width - 30)
        self.cell = min(14.0, room / len(self.key))
        self.size = min(7.0, max(self.cell, _LEAST) * 0.78)
        self.left = token_width(canvas, (self.query,), self.size, width * 0.22)
        self.above = token_width(canvas, (self.key,), self.size, width * 0.22)
        self.cell = min(14.0, (width - self.left) / len(self.key))
        self.height = _TOP + self.above + self.cell * len(self.query) + _FOOT

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it with its top left corner there."""
        selection, colours = self.selection, canvas.colours
        name = self.head.name if self.head.head is None else f"Layer {selection.layer}, head {self.head.head}"
        canvas.text(x, y + 5, name, 8.5, bold=True)
        matrix = self.head.matrix[self.rows, self.columns] / selection.scale
        left, top = x + self.left, y + _TOP + self.above
        width, height = self.cell * len(self.key), self.cell * len(self.query)
        pixels = diverging(matrix, colours) if selection.signed else sequential(matrix, colours)
        canvas.image(left, top, width, height, pixels, least=1024)
        step = max(1, int(np.ceil(_LEAST / self.cell)))
        for place in range(0, len(self.query), step):
            middle = top + (place + 0.5) * self.cell
            canvas.text(left - 3, middle, label(self.query.pieces[place]), self.size, align="right")
        for place in range(0, len(self.key), step):
            middle = left + (place + 0.5) * self.cell
            canvas.text(middle, top - 3, label(self.key.pieces[place]), self.size, turned=True)
        for axis, down in ((self.query, True), (self.key, False)):
            for _, (start, _) in spans(axis)[1:]:
                at = (top if down else left) + start * self.cell
                ends = (left, at, left + width, at) if down else (at, top, at, top + height)
                canvas.lines([ends], colours.ink3, 0.5)
        pin = selection.pinned()
        if pin is not None:
            span = self.rows if pin[0] == "from" else self.columns
            place = pin[1] - span.start
            if span.start <= pin[1] < span.stop:
                box = (
                    (left, top + place * self.cell, width, self.cell)
                    if pin[0] == "from"
                    else (left + place * self.cell, top, self.cell, height)
                )
                canvas.rectangle(*box, None, edge=colours.ink, line=0.9)
        canvas.text(left, top + height + 7, "from ↓  to →", 6.0, colours.ink3)
        legend(canvas, left + width, top + height + 4, selection)
