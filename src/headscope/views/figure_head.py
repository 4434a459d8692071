"""One or several heads of a layer: two columns of tokens and lines between them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.tokens import Tokens
from headscope.views.canvas import Align, Canvas, label
from headscope.views.digits import brief, fixed, number, percent
from headscope.views.figure_gold import Judged, curves, judged, note
from headscope.views.palette import Palette
from headscope.views.selection import Heads, Matrix, Pinned, Selection, is_pair, texts

MOST = 4000
"""The most lines that are drawn; the strongest are."""

EACH = 12
"""So many for each token and head where no weight and no token is asked for: what the eye can follow."""

THIN = 0.004
"""Above this share of the scale, or half of an even share, every line of a pinned token is drawn."""

_TOP = 27.0
_RAIL = 9.0
_TALLEST = 1000.0
_NAMED = 6.0
_SAY = {
    "previous": "the previous token",
    "next": "the next token",
    "current": "itself",
    "first": "the first token",
    "sep": "separators",
}


class HeadLines:
    """Lines from each query to what it looks at, and a strip of numbers on the right."""

    def __init__(self, selection: Selection, width: float, canvas: Canvas) -> None:
        self.selection, self.width = selection, width
        self.heads = selection.drawn_heads()
        self.gold = judged(selection, [head.matrix for head in self.heads])
        rows = max(len(selection.query), len(selection.key))
        self.row, self.size = row_height(rows)
        self.words = token_width(canvas, (selection.query, selection.key), self.size, width * 0.24)
        self.rail = _RAIL if is_pair(selection.query) or is_pair(selection.key) else 0.0
        many = len(self.heads)
        room = (width * 0.13, 40, 64) if many == 1 else (many * 9.0 + 6, 24, width * 0.26)
        self.strip = float(np.clip(*room))
        self.height = _TOP + rows * self.row + 6
        self.drawn, self.left_out = self._strongest()

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it with its top left corner there."""
        selection, colours = self.selection, canvas.colours
        pinned = selection.pinned()
        back = self.strip if pinned.row is None and pinned.column is not None else 0.0
        left = x + self.rail + back + self.words
        right = x + self.width - self.rail - (0.0 if back else self.strip) - self.words
        title(canvas, x, y, selection, self.heads)
        canvas.text(left - 3, y + 20, "FROM", 5.5, colours.ink3, align="right")
        canvas.text(right + 3, y + 20, "TO", 5.5, colours.ink3)
        top = y + _TOP
        self._lines(canvas, left, right, top, pinned)
        sides = (("right", selection.query, left, pinned.row), ("left", selection.key, right, pinned.column))
        for align, axis, place, marked in sides:
            column(canvas, axis, place, top, self.row, self.size, align, marked=marked, wide=self.words)
        curves(
            canvas,
            self._pointed(),
            (selection.query, selection.key),
            (left, right),
            top,
            self.row,
            self.size,
            self.words,
        )
        self._rails(canvas, x, left, right, top)
        beside = right + self.words + 2
        if pinned.row is not None:
            self._strip(canvas, beside, top, [head.matrix[pinned.row] for head in self.heads])
        elif pinned.column is None:
            self._strip(canvas, beside, top, [head.matrix.mean(0) for head in self.heads], faint=True)
        else:
            columns = [head.matrix[:, pinned.column] for head in self.heads]
            self._strip(canvas, left - self.words - 2, top, columns, to_right=False)

    def notes(self) -> list[str]:
        """What the caption adds: which lines are drawn, and which tokens are named."""
        state = self.selection.state
        some = (
            f"the {len(self.drawn):,} strongest of {len(self.drawn) + self.left_out:,} "
            if self.left_out
            else ""
        )
        said = [f"{some}lines of at least {self._least()}"]
        if state["top_k"]:
            said[0] += f", the {state['top_k']} strongest of each token"
        if self.selection.signed and len(self.heads) == 1:
            said.append("blue positive, orange negative")
        if pinned := self.selection.pinned_in_words():
            said.append(f"{pinned}: its lines, the others faint")
        if (step := every(self.row)) > 1:
            said.append(f"one of {step} tokens is named")
        return said + note(self._pointed())

    def _least(self) -> str:
        """What a line must have, in words."""
        state, threshold = self.selection.state, self.selection.state["threshold"]
        if threshold is not None:
            return brief(threshold) + ("" if state["quantity"] == "weights" else " of the largest")
        if self.selection.signed:
            return "the mean size of all pairs"
        whole = state["filter"] == "all" and state["special"] and state["sinks"]
        if not whole or state["quantity"] != "weights":
            return "the mean of its row as it is shown"
        seen = np.unique((~self.selection.hidden()).sum(1))
        if len(seen) > 1:
            return "an even share, 1/n of the n keys that its query sees"
        return f"an even share, 1/{seen[0]} = {brief(1 / seen[0], 2)}"

    def _pointed(self) -> list[Judged]:
        """The gold links of the chosen tokens, or all of them."""
        row, column = self.selection.pinned()
        return [
            link
            for link in self.gold
            if (row is None or row in link.ends()[0]) and (column is None or column in link.ends()[1])
        ]

    def _strongest(self) -> tuple[npt.NDArray[Any], int]:
        """Head, row, column and share of each line that is drawn ``[line 4]``, and how many are left out."""
        lines: list[npt.NDArray[Any]] = []
        state, mine = self.selection.state, self._of_pinned()
        for place, head in enumerate(self.heads):
            matrix = np.abs(head.matrix) / self.selection.scale
            fair = self.selection.fair(matrix)
            keep = kept(matrix, fair if state["threshold"] is None else state["threshold"], state["top_k"])
            if mine is not None:
                keep[mine] = (matrix > np.minimum(THIN, fair / 2))[mine]
            row, col = np.nonzero(keep)
            lines.append(np.stack([np.full(len(row), place), row, col, matrix[row, col]], -1))
        drawn = np.concatenate(lines)
        drawn = drawn[np.argsort(drawn[:, 3], kind="stable")]
        most = MOST
        if state["threshold"] is None and mine is None:
            most = min(MOST, EACH * len(self.heads) * len(self.selection.query))
        if len(drawn) <= most:
            return drawn, 0
        # Of the weakest that are drawn, which are all as strong, an even choice.
        least = float(drawn[-most, 3])
        equal, above = (int(np.searchsorted(drawn[:, 3], least * by)) for by in (1 - 1e-6, 1 + 1e-6))
        room = most - (len(drawn) - above)
        chosen = equal + np.arange(room) * (above - equal) // max(1, room)
        return np.concatenate([drawn[chosen], drawn[above:]]), len(drawn) - most

    def _of_pinned(self) -> tuple[int | slice, int | slice] | None:
        """Where the lines of the chosen tokens stand in a matrix; None where no token is chosen."""
        row, column = self.selection.pinned()
        if row is None and column is None:
            return None
        return slice(None) if row is None else row, slice(None) if column is None else column

    def _lines(self, canvas: Canvas, left: float, right: float, top: float, pinned: Pinned) -> None:
        colours, many, drawn = canvas.colours, len(self.heads), self.drawn
        if not len(drawn):
            return
        head_no, row, col = drawn[:, 0].astype(int), drawn[:, 1], drawn[:, 2]
        weight = np.minimum(drawn[:, 3], 1)
        apart = (head_no - (many - 1) / 2) * min(0.9, 5.0 / many)
        strong = np.ones(len(drawn), bool)
        for places, place in ((row, pinned.row), (col, pinned.column)):
            if place is not None:
                strong &= places == place
        alpha = (0.07 + 0.83 * weight**0.55) * (0.85 if many > 3 else 1.0)
        thin = 0.3 if many > 3 else 0.1
        width = np.where(weight < thin, 0.45, 0.5 + 1.6 * weight)
        y0, y1 = (top + (place + 0.5) * self.row + apart for place in (row, col))
        ends = np.stack(np.broadcast_arrays(left, y0, right, y1), -1)
        hues = np.array([hue(head, many, colours) for head in self.heads])
        inks = hues[head_no]
        if self.selection.signed and many == 1:
            stacked = np.stack([head.matrix for head in self.heads])
            signs = stacked[head_no, row.astype(int), col.astype(int)]
            inks = np.where(signs < 0, colours.diverging[1], colours.diverging[5])
        for some, factor in ((~strong, 0.09), (strong, 1.0)):
            if some.any():
                shades = np.maximum(alpha[some] * factor, 0.02)
                canvas.curves(ends[some], inks[some].tolist(), width[some], shades)

    def _rails(self, canvas: Canvas, x: float, left: float, right: float, top: float) -> None:
        colours = canvas.colours
        sides = ((self.selection.query, left, x + 2), (self.selection.key, right, x + self.width - 2))
        for axis, inner, outer in sides:
            for text, (start, end) in spans(axis):
                y0, y1 = top + start * self.row + 1, top + end * self.row - 1
                canvas.lines([(inner, y0, inner, y1)], colours.line2, 0.6)
                if self.rail:
                    middle = (y0 + y1) / 2
                    rails = [(outer, y0, outer, middle - 5), (outer, middle + 5, outer, y1)]
                    canvas.lines(rails, colours.line2, 0.6)
                    canvas.text(outer, middle, "AB"[text], 5.5, colours.ink3, align="center", bold=True)

    def _strip(
        self,
        canvas: Canvas,
        x: float,
        top: float,
        values: list[npt.NDArray[Any]],
        *,
        to_right: bool = True,
        faint: bool = False,
    ) -> None:
        if len(values) == 1:
            self._bars(canvas, x, top, values[0], to_right, faint)
            return
        colours, bar = canvas.colours, self.row * 0.66
        start = x if to_right else x - (self.strip - 4)
        step = min(11.0, (self.strip - 4) / len(values))
        named = max(1, int(np.ceil(5.0 / step)))
        for at, head in list(enumerate(self.heads))[::named]:
            ink = hue(head, len(values), colours)
            canvas.text(
                start + at * step + step / 2 - 0.5,
                top - 7,
                str(head.head),
                5.5,
                ink,
                align="center",
                bold=True,
            )
        most = max(map(resting, values)) if faint else self.selection.scale
        boxes: list[tuple[float, float, float, float]] = []
        inks: list[str] = []
        alphas: list[float] = []
        for at, (head, shares) in enumerate(zip(self.heads, values, strict=True)):
            striped = (head.head or 0) >= len(colours.heads)  # a hue that one before has
            for place, size in enumerate(np.minimum(np.abs(shares) / most, 1.0).tolist()):
                y = top + (place + 0.5) * self.row - bar / 2
                stripes = (0.22, 0.64) if striped and size > 0.02 else ()
                boxes += [(start + at * step, y, step - 0.8, bar)] * 2
                boxes += [(start + at * step, y + bar * part, step - 0.8, bar * 0.14) for part in stripes]
                inks += [colours.track, hue(head, len(values), colours), *[colours.bg for _ in stripes]]
                alphas += [1.0, strip_alpha(size, faint=faint), *[0.55 for _ in stripes]]
        canvas.rectangles(boxes, inks, alphas)

    def _bars(
        self, canvas: Canvas, x: float, top: float, values: npt.NDArray[Any], to_right: bool, faint: bool
    ) -> None:
        """The strip of one head: a bar and a number a token."""
        colours, way = canvas.colours, 1 if to_right else -1
        align: Align = "left" if to_right else "right"
        canvas.text(x, top - 7, self._said(faint), 5.5, colours.ink3, align=align)
        scale, bar = self.selection.scale, self.row * 0.66
        most = resting(values) if faint else scale
        usual = most / 20 if faint else float(np.abs(values).mean())
        for place, value in enumerate(values.tolist()):
            y, length = top + (place + 0.5) * self.row, (self.strip - 19) * min(abs(value) / most, 1.0)
            if length > 0.2:
                ink = hue(self.heads[0], 1, colours)
                if self.selection.signed:
                    ink = colours.diverging[1 if value < 0 else 5]
                left, alpha = min(x, x + way * length), 0.4 if faint else 0.9
                canvas.rectangle(left, y - bar / 2, length, bar, ink, alpha=alpha)
            if place % every(self.row) == 0 and (text := number(value, scale, usual)):
                ink = colours.ink3 if faint else colours.ink2
                canvas.text(x + way * (length + 2), y, text, min(6.0, self.size), ink, align=align)

    def _said(self, faint: bool) -> str:
        """What stands above the strip of one head."""
        if faint:
            return "MEAN RECEIVED" if self.strip > 52 else "RECEIVED"
        if self.selection.against is not None:
            return "DIFFERENCE"
        name = str(self.selection.state["quantity"])
        return "WEIGHT" if name == "weights" else name.upper()[:14]


def title(canvas: Canvas, x: float, y: float, selection: Selection, heads: list[Heads]) -> None:
    """Which heads are drawn, and what one does."""
    head, layer = heads[0], selection.layer
    if len(heads) > 1:
        name = f"Layer {layer}, {len(heads)} heads"
    else:
        name = head.name if head.head is None else f"Layer {layer}, head {head.head}"
    canvas.text(x, y + 5, name, 8.5, bold=True)
    if said := phrase(selection, heads):
        canvas.text(x + canvas.text_width(name, 8.5) * 1.08 + 8, y + 5, said, 7.0, canvas.colours.ink3)


def strip_alpha(size: float, *, faint: bool) -> float:
    """How opaque the bar of one of several heads is, as on the page: what is drawn at all can be seen."""
    return 0.0 if size < 0.002 else (0.8 if faint else 1.0) * (0.2 + 0.8 * size**0.5)


def resting(means: npt.NDArray[Any]) -> float:
    """What the longest bar at rest stands for: the largest mean that a key receives, or four even shares."""
    sizes = np.abs(means)
    return float(max(sizes.max(), 4 * sizes.mean(), 1e-12))


def column(
    canvas: Canvas,
    tokens: Tokens,
    x: float,
    top: float,
    row: float,
    size: float,
    align: Any,
    *,
    marked: int | None = None,
    wide: float = 0.0,
    faint: npt.NDArray[Any] | None = None,
) -> None:
    """A column of tokens beside x; special ones in a lighter ink, the marked one on the accent.

    Where rows are lower than letters, one of several is named, and always the marked one.
    """
    colours, step = canvas.colours, every(row)
    special = tokens.special_mask if tokens.special_mask is not None else np.zeros(len(tokens), bool)
    for place, piece in enumerate(tokens.pieces):
        if place != marked and (place % step or (marked is not None and abs(place - marked) < step)):
            continue
        y = top + (place + 0.5) * row
        ink = colours.ink3 if special[place] or (faint is not None and faint[place]) else colours.ink
        if place == marked:
            left = x - wide if align == "right" else x
            high = max(row * 0.9, size * 1.2)
            canvas.rectangle(left, y - high / 2, wide, high, colours.accent, radius=2.0)
            ink = colours.bg
        canvas.text(x + (-3 if align == "right" else 3), y, label(piece), size, ink, align=align)


def row_height(rows: int) -> tuple[float, float]:
    """The height of a row and the size of its font, in points: smaller for longer inputs, which still fit a page."""
    height = float(np.clip(620.0 / max(rows, 1), 6.2, 12.0))
    height = min(height, _TALLEST / max(rows, 1))
    return height, float(np.clip(height * 0.74, 4.6, 7.5))


def every(row: float) -> int:
    """One of how many tokens is named, in rows of this height."""
    return max(1, int(np.ceil(_NAMED / row)))


def token_width(canvas: Canvas, axes: tuple[Tokens, ...], size: float, most: float) -> float:
    """The room that the widest token needs."""
    longest = sorted({label(piece) for axis in axes for piece in axis.pieces}, key=len)[-12:]
    widest = max((canvas.text_width(text, size) for text in longest), default=0)
    return float(np.clip(widest + 8, 24, max(most, 24)))


def spans(tokens: Tokens) -> list[tuple[int, tuple[int, int]]]:
    """The stretches of text A and B: which text, and its first token and the one after its last."""
    numbers = texts(tokens)
    cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    return [(int(numbers[start]), (start, end)) for start, end in pairwise(cuts)]


def hue(head: Heads, many: int, colours: Palette) -> str:
    """The colour of a head: the accent where it is alone."""
    if many == 1 or head.head is None:
        return colours.accent
    return colours.heads[head.head % len(colours.heads)]


def kept(matrix: Matrix, threshold: float | Matrix, top_k: int) -> npt.NDArray[np.bool_]:
    """Which lines are drawn: those of at least the threshold, one or one a row ``[row 1]``; of each row the strongest
    `top_k` (0: all).
    """
    keep = (matrix >= np.maximum(threshold, 1e-9) * (1 - 1e-6)) & (matrix > 0)
    if top_k and top_k < matrix.shape[1]:
        keep &= matrix >= np.partition(matrix, -top_k, 1)[:, -top_k][:, None]
    return keep


def phrase(selection: Selection, heads: list[Heads]) -> str:
    """What the open head does on this input, as the page says it: its largest share, or how sharp it is beside even
    attention.

    Nothing where several heads are shown, or where something is hidden that would make it untrue.
    """
    state = selection.state
    whole = state["filter"] == "all" and state["special"] and state["sinks"]
    whole = whole and state["quantity"] == "weights"
    head = heads[0].head
    if not whole or selection.against is not None or len(heads) > 1 or head is None:
        return ""
    shares = selection.measured(selection.layer, head)
    name = max(_SAY, key=lambda each: shares.get(each, -1.0))
    if shares.get(name, -1.0) >= 0.2:
        return f"{percent(shares[name])} on {_SAY[name]}, on this input"
    if not heads[0].matrix.any():
        return "switched off: its weights are 0"
    sight = selection.maps.sight(selection.maps.index.index(selection.layer))
    nats = shares.get("entropy", np.nan)
    most = np.log(np.maximum(1, sight[head if len(sight) > 1 else 0].sum(-1))).mean()  # of even attention
    if not (nats >= 0 and most > 0):
        return ""
    return f"{'sharp' if nats < most / 2 else 'spread out'}, entropy {fixed(nats, 1)} nats on this input"
