"""One head as a matrix: queries down, keys across."""

from __future__ import annotations

import numpy as np

from headscope.tokens import Tokens
from headscope.views.canvas import Canvas, label
from headscope.views.figure_gold import cells, judged, note
from headscope.views.figure_grid import legend, tint
from headscope.views.figure_head import spans, token_width
from headscope.views.palette import Palette
from headscope.views.selection import Selection, within

_TOP, _FOOT = 16.0, 20.0
_LEAST = 5.2
_CELL, _CLOSEST = 14.0, 36.0  # the largest cell of a whole matrix, and of a part: closer means larger cells


class HeadMatrix:
    """The open head as a picture of its matrix, with its tokens on both sides."""

    def __init__(self, selection: Selection, width: float, canvas: Canvas) -> None:
        self.selection, self.width = selection, width
        self.head = selection.drawn_heads()[-1]
        self.rows, self.columns = within(selection.state["zoom"], *self.head.matrix.shape)
        self.gold = judged(selection, [self.head.matrix])
        self.hidden = (selection.hidden() & (self.head.matrix == 0))[self.rows, self.columns]
        self.query, self.key = selection.query.take(self.rows), selection.key.take(self.columns)
        closer = min(len(selection.query) / len(self.query), len(selection.key) / len(self.key))
        most = min(_CELL * closer, _CLOSEST)
        room = min(width * 0.75, width - 30)
        self.cell = min(most, room / len(self.key))
        self.size = min(7.0, max(self.cell, _LEAST) * 0.78)
        self.left = token_width(canvas, (self.query,), self.size, width * 0.22)
        self.above = token_width(canvas, (self.key,), self.size, width * 0.22)
        self.cell = min(most, (width - self.left) / len(self.key))
        self.height = _TOP + self.above + self.cell * len(self.query) + _FOOT

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it with its top left corner there."""
        selection, colours = self.selection, canvas.colours
        name = self.head.name if self.head.head is None else f"Layer {selection.layer}, head {self.head.head}"
        canvas.text(x, y + 5, name, 8.5, bold=True)
        matrix = self.head.matrix[self.rows, self.columns] / selection.scale
        left, top = x + self.left, y + _TOP + self.above
        width, height = self.cell * len(self.key), self.cell * len(self.query)
        pixels = tint(matrix, selection, colours)
        pixels[self.hidden] = [int(colours.line[place : place + 2], 16) for place in (1, 3, 5)]
        canvas.image(left, top, width, height, pixels, least=1024)
        step = max(1, int(np.ceil(_LEAST / self.cell)))
        for place in range(0, len(self.query), step):
            middle = top + (place + 0.5) * self.cell
            ink = _ink(self.query, place, colours)
            canvas.text(left - 3, middle, label(self.query.pieces[place]), self.size, ink, align="right")
        for place in range(0, len(self.key), step):
            middle = left + (place + 0.5) * self.cell
            ink = _ink(self.key, place, colours)
            canvas.text(middle, top - 3, label(self.key.pieces[place]), self.size, ink, turned=True)
        for axis, down in ((self.query, True), (self.key, False)):
            for _, (start, _) in spans(axis)[1:]:
                at = (top if down else left) + start * self.cell
                ends = (left, at, left + width, at) if down else (at, top, at, top + height)
                canvas.lines([ends], colours.ink3, 0.5)
        cells(canvas, self.gold, left, top, (self.cell, self.cell), (self.rows, self.columns))
        pinned = selection.pinned()
        if pinned.row in range(self.rows.start, self.rows.stop):
            at = top + (pinned.row - self.rows.start) * self.cell
            canvas.rectangle(left, at, width, self.cell, None, edge=colours.ink, line=0.9)
        if pinned.column in range(self.columns.start, self.columns.stop):
            at = left + (pinned.column - self.columns.start) * self.cell
            canvas.rectangle(at, top, self.cell, height, None, edge=colours.ink, line=0.9)
        canvas.text(left, top + height + 7, "from ↓  to →", 6.0, colours.ink3)
        legend(canvas, left + width, top + height + 4, selection)

    def notes(self) -> list[str]:
        """What the caption adds: the part of the matrix, which tokens are named, what is hidden, which is pinned."""
        said: list[str] = []
        rows, columns = self.head.matrix.shape
        if (len(self.query), len(self.key)) != (rows, columns):
            first, last = self.rows.start + 1, self.rows.stop
            said.append(
                f"rows {first}–{last} of {rows}, columns {self.columns.start + 1}–{self.columns.stop} of {columns}"
            )
        if (step := max(1, int(np.ceil(_LEAST / self.cell)))) > 1:
            said.append(f"one of {step} tokens is named")
        if self.hidden.any():
            said.append("grey: a query cannot see the key")
        if framed := self.selection.pinned_in_words():
            said.append(f"framed: {framed}")
        return said + note(self.gold)


def _ink(tokens: Tokens, place: int, colours: Palette) -> str:
    special = tokens.special_mask is not None and bool(tokens.special_mask[place])
    return colours.ink3 if special else colours.ink
