"""Gold links over a still: solid with a tick where a head is right, else dashed, with a cross on what it looks at."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from headscope.tokens import Tokens
from headscope.views.canvas import Canvas, label
from headscope.views.gold import Gold, Verdict, verdict
from headscope.views.selection import Matrix, Selection

_LEAST = 4.0  # points: below it a cell's outline is a mark, filled or hollow
ROOM = 1.2
"""Points that each token of a thumbnail must have for links to be drawn over it."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]


class Judged(NamedTuple):
    """A link and what each drawn head makes of it; it is right where one of them is."""

    gold: Gold
    verdicts: list[Verdict]

    @property
    def right(self) -> bool:
        """Whether a head looks at a target."""
        return any(each.right for each in self.verdicts)

    @property
    def instead(self) -> list[list[int]]:
        """What the heads look at, where none is right."""
        return [] if self.right else [each.chosen for each in self.verdicts if each.chosen is not None]

    def blocks(self, other: Sequence[int]) -> list[tuple[int, int, int, int]]:
        """The source by a target or a candidate: row, rows, column, columns."""
        both = (self.gold.source, other) if self.gold.side == "from" else (other, self.gold.source)
        rows, columns = (runs(each) for each in both)
        return [(row, end - row, column, last - column) for row, end in rows for column, last in columns]

    def ends(self) -> tuple[list[int], list[int]]:
        """The rows and the columns that it joins."""
        targets = [place for target in self.gold.targets for place in target]
        return (self.gold.source, targets) if self.gold.side == "from" else (targets, self.gold.source)


def judged(selection: Selection, matrices: Sequence[Matrix]) -> list[Judged]:
    """The links over a picture of these matrices; wrong ones first, so that right ones lie on top."""
    found = [Judged(gold, [verdict(gold, matrix) for matrix in matrices]) for gold in selection.gold()]
    return sorted(found, key=lambda link: link.right)


def note(links: Sequence[Judged]) -> list[str]:
    """What a caption says of them."""
    if not links:
        return []
    right = sum(link.right for link in links)
    said = f"gold links: {right} of {len(links)} right (solid, ticked)"
    return [said if right == len(links) else said + "; dashed: wrong, × chosen instead"]


def runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbours as stretches: first, and the one after the last."""
    ordered = np.unique(np.asarray(places, np.int64))
    parts = np.split(ordered, np.flatnonzero(np.diff(ordered) > 1) + 1)
    return [(int(part[0]), int(part[-1]) + 1) for part in parts if len(part)]


def cells(
    canvas: Canvas, links: Sequence[Judged], left: float, top: float, cell: Point, window: tuple[slice, slice]
) -> None:
    """The cells of links, over a matrix whose cells are ``(width, height)`` points and window (rows, columns)."""
    rows, columns = window

    def shown(block: tuple[int, int, int, int]) -> Box | None:
        row, tall, column, wide = block
        if not (rows.start <= row < rows.stop and columns.start <= column < columns.stop):
            return None
        x, y = left + (column - columns.start) * cell[0], top + (row - rows.start) * cell[1]
        return x, y, cell[0] * min(wide, columns.stop - column), cell[1] * min(tall, rows.stop - row)

    small = min(cell)
    for link in links:
        for target in link.gold.targets:
            for box in filter(None, map(shown, link.blocks(target))):
                if small < _LEAST:
                    _dot(canvas, box, link.right)
                    continue
                _frame(canvas, box, link.right)
                if link.right:
                    _tick(canvas, box[0] + box[2] - 0.5, box[1] + 1, small / 4)
        for chosen in link.instead if small >= _LEAST else ():
            for x, y, wide, tall in filter(None, map(shown, link.blocks(chosen))):
                _cross(canvas, x + wide / 2, y + tall / 2, min(2.4, small / 4))


def thumbnail(
    canvas: Canvas,
    links: Sequence[Judged],
    x: float,
    y: float,
    side: float,
    shape: tuple[int, ...],
    lines: bool,
) -> None:
    """Links over a head's thumbnail of ``shape`` (rows, columns)."""
    tall, wide = side / shape[0], side / shape[1]
    if not lines:
        window = slice(0, shape[0]), slice(0, shape[1])
        return cells(canvas, links, x, y, (wide, tall), window)
    for link in links:
        for target in link.gold.targets:
            row, column = (_mean(each) + 0.5 for each in _joined(link.gold, target))
            _line(
                canvas,
                [(x, y + row * tall), (x + side, y + column * wide)],
                link.right,
                0.7 if link.right else 0.4,
            )


def curves(
    canvas: Canvas,
    links: Sequence[Judged],
    axes: tuple[Tokens, Tokens],
    ends: tuple[float, float],
    top: float,
    row: float,
    size: float,
    wide: float,
) -> None:
    """Links between two columns of tokens, which end at ``ends[0]`` and begin at ``ends[1]``; all in points."""
    for link in links:
        for target in link.gold.targets:
            y0, y1 = (top + (_mean(each) + 0.5) * row for each in _joined(link.gold, target))
            for ink, width, dashed in (
                (canvas.colours.bg, 1.9, False),
                (_ink(canvas, link.right), 0.9, not link.right),
            ):
                canvas.curves([(ends[0], y0, ends[1], y1)], [ink], [width], [1.0], dashed=dashed, order=2.5)
    outlines(canvas, links, axes, ends, top, row, size, wide)
    for link in links:
        hit = [each.chosen for each in link.verdicts if each.right and each.chosen is not None]
        for inset, marked in ((5.0, hit), (11.0, link.instead)):
            x = ends[1] - inset if link.gold.side == "from" else ends[0] + inset
            for chosen in marked:
                (_tick if link.right else _cross)(canvas, x, top + (_mean(chosen) + 0.5) * row, 2.0)


def outlines(
    canvas: Canvas,
    links: Sequence[Judged],
    axes: tuple[Tokens, Tokens],
    ends: tuple[float, float],
    top: float,
    row: float,
    size: float,
    wide: float,
) -> None:
    """Outlines of the tokens that links name: solid where one of them is right."""
    for side in (0, 1):
        marked: dict[tuple[int, ...], bool] = {}
        for link in links:
            own = (link.gold.side == "to") == bool(side)
            for group in [link.gold.source] if own else link.gold.targets:
                marked[tuple(group)] = marked.get(tuple(group), False) or link.right
        for group, right in sorted(marked.items(), key=lambda each: each[1]):
            for first, last in runs(group):
                widths = [canvas.text_width(label(piece), size) for piece in axes[side].pieces[first:last]]
                width = min(wide, max(widths) + 6)
                x = ends[0] - width if side == 0 else ends[1]
                _frame(canvas, (x, top + first * row + 0.6, width, (last - first) * row - 1.2), right)


def marks(
    canvas: Canvas, links: Sequence[Judged], axis: Tokens, left: float, top: float, row: float, size: float
) -> None:
    """Ticks and crosses after the keys that a query looks at, in a column of tokens that begins at `left`."""
    for link in links:
        for each in link.verdicts:
            if link.gold.side == "from" and each.chosen is not None:
                wide = max(canvas.text_width(label(axis.pieces[place]), size) for place in each.chosen)
                draw = _tick if each.right else _cross
                draw(canvas, left + wide + 10, top + (_mean(each.chosen) + 0.5) * row, 2.0)


def _mean(places: Sequence[int]) -> float:
    return sum(places) / len(places)


def _joined(gold: Gold, target: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    return (gold.source, target) if gold.side == "from" else (target, gold.source)


def _ink(canvas: Canvas, right: bool) -> str:
    return canvas.colours.right if right else canvas.colours.wrong


def _frame(canvas: Canvas, box: Box, right: bool) -> None:
    canvas.rectangle(*box, None, edge=canvas.colours.bg, line=1.9, order=2.6)
    canvas.rectangle(*box, None, edge=_ink(canvas, right), line=0.9, dashed=not right, order=2.7)


def _dot(canvas: Canvas, box: Box, right: bool) -> None:
    """Where a cell is too small for an outline: filled where the head is right, hollow where it is not."""
    ink, (x, y, wide, tall) = _ink(canvas, right), box
    side = 2.4
    box = (x + wide / 2 - side / 2, y + tall / 2 - side / 2, side, side)
    canvas.rectangle(*box, ink if right else None, edge=ink, line=0.5, order=2.7)


def _line(
    canvas: Canvas, points: Sequence[Point], right: bool, width: float, *, dashed: bool | None = None
) -> None:
    ends = np.array([(*one, *other) for one, other in pairwise(points)])
    canvas.lines(ends, _ink(canvas, right), width, dashed=not right if dashed is None else dashed, order=2.8)


def _tick(canvas: Canvas, x: float, y: float, size: float) -> None:
    size = min(size, 2.4)
    points = [(x - size, y), (x - size / 4, y + size * 0.75), (x + size, y - size * 0.75)]
    _mark(canvas, [points], True)


def _cross(canvas: Canvas, x: float, y: float, size: float) -> None:
    bars = [[(x - size, y - size), (x + size, y + size)], [(x - size, y + size), (x + size, y - size)]]
    _mark(canvas, bars, False)


def _mark(canvas: Canvas, strokes: Sequence[Sequence[Point]], right: bool) -> None:
    for stroke in strokes:
        canvas.lines([(*one, *other) for one, other in pairwise(stroke)], canvas.colours.bg, 2.2, order=2.8)
    for stroke in strokes:
        _line(canvas, stroke, right, 1.0, dashed=False)
