"""How one query's attention is made: q, k, q × k, the score and its softmax, neuron by neuron."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from headscope.errors import InputError
from headscope.views.canvas import Align, Canvas, label
from headscope.views.digits import bare, brief, fixed, significant
from headscope.views.digits import weight as short
from headscope.views.figure_gold import judged, marks, note, outlines
from headscope.views.figure_head import THIN, column, every, row_height, token_width
from headscope.views.palette import diverging
from headscope.views.selection import Selection

_TOP = 38.0
_FOOT = 6.0
_CHART = 30.0
_NARROW = 300.0
_HIDDEN = -1e8  # a bias that hides a key in place of a mask
_NEGATIVE, _POSITIVE = 1, 5  # stops of the diverging palette


class HeadNeurons:
    """The neurons of the open head for one query: the pinned one, or the first that is no special token."""

    def __init__(self, selection: Selection, width: float, canvas: Canvas) -> None:
        if selection.neurons is None:
            raise InputError("state: scale 'neuron' needs q and k, which were not captured (neurons=True)")
        self.selection, self.width, self.neurons = selection, width, selection.neurons
        self.head = int(selection.state["heads"][-1])
        self.place = selection.maps.index.index(selection.layer)
        self.groups = self.neurons.groups(self.place)
        self.scaling, self.bias, self.softcap, sinks = (
            getattr(self.neurons, name)[self.place] for name in ("scaling", "bias", "softcap", "sinks")
        )
        self.row, self.size = row_height(max(len(selection.query), len(selection.key)))
        self.words = token_width(canvas, (selection.query, selection.key), self.size, width * 0.16)
        self.query = self._query()
        self.q = self._vectors(self.neurons.q, self.head)[selection.rows]
        self.k = self._vectors(self.neurons.k, self.head // self.groups)[selection.columns]
        self.v = self._values()
        self.score = self._score()
        self.weight = selection.weights(selection.layer, self.head)[self.query]
        self.seen = self._seen()
        links = judged(selection, [selection.weights(selection.layer, self.head)])
        self.gold = [link for link in links if self.query in link.ends()[0]]
        self.sink = None if sinks is None else float(sinks[self.head])
        self.pin = selection.pinned().column
        self.key = int(self.weight.argmax()) if self.pin is None else self.pin
        rows = max(len(selection.query), len(selection.key) + (self.sink is not None))
        self.body = _TOP + rows * self.row + _FOOT
        self.height = self.body + 14 + (3 + (self.v is not None)) * _CHART + 10

    def notes(self) -> list[str]:
        """What the caption adds: what is done to q·k, and which key head serves the query head."""
        query, best = self.selection.query.pieces[self.query], int(self.weight.argmax())
        strong = np.argsort(-self.q[self.query] * self.k[best], kind="stable")[:3]
        first, cap, step = self.head // self.groups * self.groups, self.softcap, every(self.row)
        return [
            "blue positive, orange negative",
            f"{label(query)} looks most at {label(self.selection.key.pieces[best])} "
            f"({fixed(self.weight[best], 2)}); neurons {', '.join(map(str, strong))} add most to that score",
            *[
                text
                for text, holds in (
                    (
                        f"key head {self.head // self.groups} serves query heads {first} to {first + self.groups - 1}",
                        self.groups > 1,
                    ),
                    (f"scores are capped softly: {cap or 0:g} × tanh(score / {cap or 0:g})", cap),
                    ("a position bias is added to the scores", self.bias is not None),
                    ("a learned sink, no token, takes part of each row", self.sink is not None),
                    ("a query sees only itself and what stands before it", self.selection.maps.causal),
                    ("a mask hides some keys from some queries", self.selection.maps.visible is not None),
                    (f"one of {step} tokens is named", step > 1),
                )
                if holds
            ],
            *note(self.gold),
        ]

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it with its top left corner there."""
        colours, top, selection = canvas.colours, y + _TOP, self.selection
        canvas.text(x, y + 5, f"Layer {selection.layer}, head {self.head}, neuron by neuron", 8.5, bold=True)
        added, gap, link, dot, soft = self._contributed(), 7.0, 17.0, 34.0, 36.0
        more = 38.0 if added is not None else 0.0
        both = self.width >= _NARROW or selection.query.pieces != selection.key.pieces
        of_key = f"key head {self.head // self.groups}" if self.groups > 1 else "key"
        dim = np.where(self.seen, 1.0, 0.3)
        rest = np.full(len(self.q), 0.4)
        rest[self.query] = 1.0
        blocks = [
            ("q", "query", self.q, rest),
            ("k", of_key, self.k, dim),
            ("q × k", "elementwise", self.q[self.query] * self.k, np.where(self.seen, 1.0, 0.0)),
        ]
        if self.v is not None:
            blocks.append(("v", "value", self.v, dim))
        fixed = (1 + both) * self.words + link + (len(blocks) + 1) * gap + dot + soft + more
        wide = max(12.0, (self.width - fixed) / len(blocks))
        at = at_q = x + self.words + 2
        for name, under, vectors, strength in blocks:
            _head(canvas, at + wide / 2, top, name, under)
            self._block(canvas, at, top, wide, vectors, strength)
            at += wide + (link if name == "q" else gap)
        _head(canvas, at + dot / 2, top, "q · k", self._terms())
        at_s = at + dot + gap
        _head(canvas, at_s + soft / 2, top, "softmax", "weight")
        box = (at_q - 0.8, top + self.query * self.row, wide + 1.6, self.row)
        canvas.rectangle(*box, None, edge=colours.accent, line=0.9)
        self._links(canvas, at_q + wide + 1.5, at_q + wide + link - 1.5, top)
        self._scores(canvas, at, dot, top)
        self._weights(canvas, at_s, soft, top)
        size, left, right = self.size, x + self.words, at_s + soft + 2
        column(
            canvas, selection.query, left, top, self.row, size, "right", marked=self.query, wide=self.words
        )
        if both:
            faint = ~self.seen | (self.weight < 0.02)
            look: dict[str, Any] = {"faint": faint, "marked": self.pin, "wide": self.words}
            column(canvas, selection.key, right, top, self.row, size, "left", **look)
            axes = (selection.query, selection.key)
            outlines(canvas, self.gold, axes, (left, right), top, self.row, size, self.words)
            marks(canvas, self.gold, selection.key, right, top, self.row, size)
        if self.sink is not None:
            y_sink = top + (len(self.k) + 0.5) * self.row
            end, align = (right + 3, "left") if both else (left - 3, "right")
            canvas.text(end, y_sink, "sink", size, colours.ink3, align=cast(Align, align))
        if added is not None:
            _head(canvas, x + self.width - more / 2, top, "‖αvW‖", "added")
            self._bars(canvas, x + self.width - more, more - 14, top, added)
        self._charts(canvas, x, y + self.body)

    def _charts(self, canvas: Canvas, x: float, y: float) -> None:
        """All neurons of the query, of one key (the pinned one, or the one it looks at most) and their product."""
        colours, selection = canvas.colours, self.selection
        names = [label(selection.query.pieces[self.query]), label(selection.key.pieces[self.key])]
        canvas.text(x, y + 4, "All neurons of {} (q) and {} (k)".format(*names), 7.0, bold=True)
        q, k = self.q[self.query], self.k[self.key]
        charts = [("q", q), ("k", k), ("q × k", q * k)]
        if self.v is not None:
            charts.append(("v", self.v[self.key]))
        left, wide = x + 34, self.width - 36
        for place, (name, vector) in enumerate(charts):
            middle = y + 12 + (place + 0.5) * _CHART
            most = float(np.abs(vector).max()) or 1.0
            canvas.text(left - 6, middle - 3, name, 7.0, align="right", bold=True)
            canvas.text(left - 6, middle + 5, f"±{brief(most, 2)}", 5.0, colours.ink3, align="right")
            canvas.lines([(left, middle, left + wide, middle)], colours.line2, 0.5)
            step, shares = wide / len(vector), vector / most
            high = shares * (_CHART / 2 - 2)
            start, top = left + np.arange(len(vector)) * step, middle - np.maximum(high, 0)
            bar = max(0.3, step - (0.6 if step > 2 else 0))
            inks = diverging(np.sign(shares) * (0.4 + 0.5 * np.abs(shares)), colours) / 255.0
            canvas.rectangles(np.stack(np.broadcast_arrays(start, top, bar, np.abs(high)), -1), inks)
        foot, size = y + 12 + len(charts) * _CHART + 3, len(q)
        for neuron in range(0, size, 16 if size > 96 else 8):
            middle = left + (neuron + 0.5) * wide / size
            canvas.text(middle, foot, str(neuron), 5.0, colours.ink3, align="center")

    def _query(self) -> int:
        row = self.selection.pinned().row
        if row is not None:
            return row
        if self.selection.maps.causal:
            return len(self.selection.query) - 1
        special = self.selection.query.special_mask
        return 0 if special is None or special.all() else int(np.argmin(special))

    def _seen(self) -> npt.NDArray[np.bool_]:
        """Which keys the query can see, as in the page."""
        sight = self.selection.maps.sight(self.place)
        own = sight[self.head if len(sight) > 1 else 0, self.selection.rows[self.query]]
        return own[self.selection.columns] & (self.score > _HIDDEN)

    def _score(self) -> npt.NDArray[Any]:
        score = (self.k @ self.q[self.query]) * self.scaling
        if self.bias is not None:
            shape = self.selection.maps.layers[self.place].shape
            bias = np.asarray(np.broadcast_to(self.bias, shape)[self.head], np.float64)
            score = score + bias[self.selection.rows[self.query]][self.selection.columns]
        return score if self.softcap is None else self.softcap * np.tanh(score / self.softcap)

    def _terms(self) -> str:
        """What is done to q·k before softmax, in a few signs."""
        size = self.q.shape[1]
        root = math.isclose(self.scaling, size**-0.5, rel_tol=1e-4)
        scale = f"÷ √{size}" if root else f"× {brief(self.scaling)}"
        terms = "" if math.isclose(self.scaling, 1.0) else scale
        if self.width >= _NARROW:  # where it is narrow, the caption says the rest
            terms += "" if self.bias is None else " + bias"
            terms += "" if self.softcap is None else f", cap {self.softcap:g}"
        return terms.strip() or "score"

    def _vectors(self, layers: Any, head: int) -> npt.NDArray[Any]:
        return np.asarray(layers[self.place][head], np.float64)

    def _values(self) -> npt.NDArray[Any] | None:
        q, v = self.neurons.q, self.neurons.v
        if not self.selection.state["values"] or v is None:
            return None
        head = self.head * len(v[self.place]) // len(q[self.place])
        return self._vectors(v, head)[self.selection.columns]

    def _contributed(self) -> npt.NDArray[Any] | None:
        if not self.selection.state["values"]:
            return None
        norms = self.selection.norms(self.selection.layer, self.head)
        return None if norms is None else norms[self.query]

    def _block(
        self, canvas: Canvas, x: float, top: float, width: float, values: Any, strength: npt.NDArray[Any]
    ) -> None:
        """Rows of neurons with a gap between them; `strength` below 1 fades a row into the ground."""
        largest = float(np.quantile(np.abs(values), 0.985)) or 1.0
        ground = np.array([int(canvas.colours.bg[place : place + 2], 16) for place in (1, 3, 5)], float)
        pixels = diverging(values / largest, canvas.colours).astype(float)
        faded = strength[:, None, None] * pixels + (1 - strength)[:, None, None] * ground
        stripes = np.repeat(np.rint(faded).astype(np.uint8), 9, 0)
        stripes[0::9] = stripes[8::9] = ground.astype(np.uint8)
        canvas.image(x, top, width, self.row * len(values), stripes, least=4)

    def _links(self, canvas: Canvas, left: float, right: float, top: float) -> None:
        places = np.flatnonzero(self.seen & (self.weight > (0.0 if len(self.seen) <= 64 else THIN)))
        places = places[np.argsort(self.weight[places], kind="stable")]
        if not len(places):
            return
        weight = np.clip(self.weight[places], 0.0, 1.0)
        y0, y1 = (top + (place + 0.5) * self.row for place in (self.query, places))
        ends = np.stack(np.broadcast_arrays(left, y0, right, y1), -1)
        accent = [canvas.colours.accent] * len(places)
        canvas.curves(ends, accent, 0.4 + 1.6 * weight, 0.12 + 0.88 * np.sqrt(weight), bend=0.5)

    def _scores(self, canvas: Canvas, x: float, width: float, top: float) -> None:
        colours, small = canvas.colours, min(6.0, self.size)
        scores = np.append(np.where(self.seen, self.score, np.nan), [] if self.sink is None else self.sink)
        middle, half = x + width * 0.33, width * 0.33 - 1
        largest = float(np.nan_to_num(np.abs(scores)).max()) or 1.0
        canvas.lines([(middle, top, middle, top + len(scores) * self.row)], colours.line2, 0.5)
        for place, score in enumerate(scores.tolist()):
            y, seen = top + (place + 0.5) * self.row, math.isfinite(score)
            if seen:
                length = abs(score) / largest * half
                ink = colours.diverging[_POSITIVE if score >= 0 else _NEGATIVE]
                left = middle if score >= 0 else middle - length
                canvas.rectangle(left, y - self.row * 0.27, length, self.row * 0.54, ink)
            if self._named(place):
                number = fixed(score, 0 if abs(score) >= 100 else 1)
                text, size, ink = (
                    (number, small, colours.ink2) if seen else ("not seen", min(5.0, small), colours.ink3)
                )
                canvas.text(x + width + 3, y, text, size, ink, align="right")

    def _weights(self, canvas: Canvas, x: float, width: float, top: float) -> None:
        colours, full = canvas.colours, width - 15
        weights = self.weight.tolist()
        if self.sink is not None and self.selection.maps.sink is not None:
            sink = self.selection.maps.sink[self.place][self.head]
            weights.append(float(sink[self.selection.rows[self.query]]))
        for place, weight in enumerate(weights):
            if place < len(self.seen) and not self.seen[place]:
                continue
            y, length = top + (place + 0.5) * self.row, full * min(max(weight, 0.0), 1.0)
            ink = colours.accent if place < len(self.seen) else colours.ink3
            if length > 0.2:
                canvas.rectangle(x + width - length, y - self.row * 0.33, length, self.row * 0.66, ink)
            if self._named(place):
                size = min(6.0, self.size)
                canvas.text(x + width - length - 2, y, short(weight), size, colours.ink2, align="right")

    def _named(self, place: int) -> bool:
        return place % every(self.row) == 0 or place == len(self.seen)

    def _bars(self, canvas: Canvas, x: float, width: float, top: float, values: npt.NDArray[Any]) -> None:
        largest, ink = float(values.max(initial=0.0)) or 1.0, canvas.colours
        for place in np.flatnonzero(self.seen).tolist():
            value, y = float(values[place]), top + (place + 0.5) * self.row
            box = (x + 2, y - self.row * 0.2, width * value / largest, self.row * 0.4)
            canvas.rectangle(*box, ink.ink3, alpha=0.7)
            if self._named(place):
                text = "·" if value < largest * 0.005 else bare(significant(value, 2))
                canvas.text(x + width + 14, y, text, min(6.0, self.size), ink.ink2, align="right")


def _head(canvas: Canvas, middle: float, top: float, name: str, under: str) -> None:
    """What stands above a block: its name, and in small what it is."""
    canvas.text(middle, top - 17, name, 7.0, align="center", bold=True)
    canvas.text(middle, top - 8, under, 5.5, canvas.colours.ink3, align="center")
