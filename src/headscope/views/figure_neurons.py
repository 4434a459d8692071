"""How one query's attention is made: q, k, q × k, the score and its softmax, neuron by neuron."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.errors import InputError
from headscope.views.canvas import Canvas, share
from headscope.views.figure_head import column, row_height, token_width
from headscope.views.palette import diverging
from headscope.views.selection import Selection

_TOP = 38.0
_FOOT = 6.0
_NEGATIVE, _POSITIVE = 1, 5  # stops of the diverging palette


class HeadNeurons:
    """The neurons of the open head for one query: the pinned one, or the first that is no special token."""

    def __init__(self, selection: Selection, width: float, canvas: Canvas) -> None:
        if selection.neurons is None:
            raise InputError("state: scale 'neuron' needs q and k, which were not captured (neurons=True)")
        if selection.state["unit"] == "words":
            raise InputError("state: neurons are of pieces; use unit='pieces'")
        self.selection, self.width = selection, width
        self.head = int(selection.state["heads"][-1])
        self.place = selection.maps.index.index(selection.layer)
        self.groups = selection.neurons.groups(self.place)
        self.row, self.size = row_height(max(len(selection.query), len(selection.key)))
        self.words = token_width(canvas, (selection.query, selection.key), self.size, width * 0.16)
        self.query = self._query()
        found = selection.neurons
        self.q = np.asarray(found.q[self.place][self.head], np.float64)[selection.rows]
        self.k = np.asarray(found.k[self.place][self.head // self.groups], np.float64)[selection.columns]
        weights = np.asarray(selection.maps.layers[self.place][self.head], np.float64)
        self.seen = self._seen(weights)[selection.rows[self.query], selection.columns]
        self.weight = selection.matrix(selection.layer, self.head)[self.query]
        self.score = self._score()
        sinks = selection.neurons.sinks[self.place]
        self.sink = None if sinks is None else float(sinks[self.head])
        rows = max(len(selection.query), len(selection.key) + (self.sink is not None))
        self.height = _TOP + rows * self.row + _FOOT

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it with its top left corner there."""
        colours, top, row = canvas.colours, y + _TOP, self.row
        selection, extra = self.selection, self._contributed()
        values = self._values()
        canvas.text(x, y + 5, f"Layer {selection.layer}, head {self.head}, neuron by neuron", 8.5, bold=True)
        if self.groups > 1:
            served = f"key head {self.head // self.groups} serves {self.groups} query heads"
            canvas.text(x, y + 15, served, 6.0, colours.ink3)
        gap, link, dot, soft = 7.0, 17.0, 34.0, 36.0
        more = 38.0 if extra is not None else 0.0
        blocks = 3 + (values is not None)
        axes = (selection.query, selection.key)
        both = self.width >= 300 or axes[0].pieces != axes[1].pieces
        fixed = (1 + both) * self.words + link + (blocks + 1) * gap + dot + soft + more
        block = max(12.0, (self.width - fixed) / blocks)
        at_q = x + self.words + 2
        at_k = at_q + block + link
        at_p = at_k + block + gap
        at_v = at_p + block + gap
        at_d = at_p + block + gap + (block + gap if values is not None else 0.0)
        at_s = at_d + dot + gap
        at_t = at_s + soft + 2
        heads = [
            (at_q + block / 2, "q", "query"),
            (at_k + block / 2, "k", "key"),
            (at_p + block / 2, "q × k", "elementwise"),
            (at_d + dot / 2, "q · k", self._terms()),
            (at_s + soft / 2, "softmax", "weight"),
        ]
        if values is not None:
            heads.append((at_v + block / 2, "v", "value"))
        if extra is not None:
            heads.append((x + self.width - more / 2, "‖αvW‖", "added"))
        for middle, name, under in heads:
            canvas.text(middle, top - 17, name, 7.0, align="center", bold=True)
            canvas.text(middle, top - 8, under, 5.5, colours.ink3, align="center")
        wash = np.full(len(self.q), 0.4)
        wash[self.query] = 1.0
        self._block(canvas, at_q, top, block, self.q, wash)
        self._block(canvas, at_k, top, block, self.k, self._dim())
        self._block(canvas, at_p, top, block, self.q[self.query] * self.k, self._hidden())
        if values is not None:
            self._block(canvas, at_v, top, block, values, self._dim())
        canvas.rectangle(
            at_q - 0.8, top + self.query * row, block + 1.6, row, None, edge=colours.accent, line=0.9
        )
        self._links(canvas, at_q + block + 1.5, at_k - 1.5, top)
        self._scores(canvas, at_d, dot, top)
        self._weights(canvas, at_s, soft, top)
        column(
            canvas,
            selection.query,
            x + self.words,
            top,
            row,
            self.size,
            "right",
            marked=self.query,
            wide=self.words,
        )
        if both:
            faint = ~self.seen | (self.weight < 0.02)
            column(canvas, selection.key, at_t, top, row, self.size, "left", faint=faint)
        if self.sink is not None:
            at, align = (at_t + 3, "left") if both else (x + self.words - 3, "right")
            y_sink = top + (len(self.k) + 0.5) * row
            canvas.text(at, y_sink, "sink", self.size, colours.ink3, align=align)
        if extra is not None:
            self._bars(canvas, x + self.width - more, more - 14, top, extra)

    def _query(self) -> int:
        pin = self.selection.pinned()
        if pin is not None and pin[0] == "from":
            return pin[1]
        special = self.selection.query.special_mask
        return 0 if special is None or special.all() else int(np.argmin(special))

    def _seen(self, weights: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which keys each query can see: in a causal model those up to it, and none that a mask hides."""
        seen = weights > 0
        return seen & np.tri(*weights.shape, dtype=bool) if self.selection.maps.causal else seen

    def _score(self) -> npt.NDArray[Any]:
        found = self.selection.neurons
        assert found is not None
        score = (self.k @ self.q[self.query]) * found.scaling[self.place]
        bias, cap = found.bias[self.place], found.softcap[self.place]
        if bias is not None:
            score = score + bias[self.head][self.selection.rows[self.query]][self.selection.columns]
        return score if cap is None else cap * np.tanh(score / cap)

    def _terms(self) -> str:
        """What is done to q·k before softmax, in a few signs."""
        found = self.selection.neurons
        assert found is not None
        scaling, bias, cap = found.scaling[self.place], found.bias[self.place], found.softcap[self.place]
        size = self.q.shape[1]
        scale = f"÷ √{size}" if math.isclose(scaling, size**-0.5, rel_tol=1e-4) else f"× {scaling:.3g}"
        terms = "" if math.isclose(scaling, 1.0) else scale
        terms += "" if bias is None else " + bias"
        terms += "" if cap is None else f", cap {cap:g}"
        return terms.strip() or "score"

    def _values(self) -> npt.NDArray[Any] | None:
        found = self.selection.neurons
        assert found is not None
        if not self.selection.state["values"] or found.v is None:
            return None
        heads, served = len(found.q[self.place]), len(found.v[self.place])
        return np.asarray(found.v[self.place][self.head * served // heads], np.float64)[
            self.selection.columns
        ]

    def _contributed(self) -> npt.NDArray[Any] | None:
        found = self.selection.neurons
        assert found is not None
        if not self.selection.state["values"] or found.norms is None:
            return None
        row = found.norms[self.place][self.head][self.selection.rows[self.query]]
        return np.asarray(row, np.float64)[self.selection.columns]

    def _dim(self) -> npt.NDArray[Any]:
        return np.where(self.seen, 1.0, 0.3)

    def _hidden(self) -> npt.NDArray[Any]:
        return np.where(self.seen, 1.0, 0.0)

    def _block(
        self,
        canvas: Canvas,
        x: float,
        top: float,
        width: float,
        values: npt.NDArray[Any],
        strength: npt.NDArray[Any],
    ) -> None:
        """Rows of neurons, each its own little image; `strength` below 1 fades a row into the ground."""
        largest = float(np.quantile(np.abs(values), 0.985)) or 1.0
        ground = np.array([int(canvas.colours.ground[place : place + 2], 16) for place in (1, 3, 5)], float)
        for place, (row, alpha) in enumerate(zip(values, strength.tolist(), strict=True)):
            if alpha <= 0:
                continue
            pixels = diverging(row / largest, canvas.colours).astype(float)
            faded = np.rint(alpha * pixels + (1 - alpha) * ground).astype(np.uint8)
            height = self.row * 0.78
            canvas.image(x, top + (place + 0.5) * self.row - height / 2, width, height, faded[None], least=4)

    def _links(self, canvas: Canvas, left: float, right: float, top: float) -> None:
        places = np.flatnonzero(self.seen)
        places = places[np.argsort(self.weight[places])]
        weight = np.clip(self.weight[places], 0.0, 1.0)
        start = np.full(len(places), top + (self.query + 0.5) * self.row)
        ends = [
            np.full(len(places), left),
            start,
            np.full(len(places), right),
            top + (places + 0.5) * self.row,
        ]
        accent = [canvas.colours.accent] * len(places)
        canvas.curves(np.stack(ends, -1), accent, 0.4 + 1.6 * weight, 0.12 + 0.88 * np.sqrt(weight), bend=0.5)

    def _scores(self, canvas: Canvas, x: float, width: float, top: float) -> None:
        colours, small = canvas.colours, min(6.0, self.size)
        scores: list[float | None] = [
            float(s) if seen else None for s, seen in zip(self.score, self.seen, strict=True)
        ]
        if self.sink is not None:
            scores.append(self.sink)
        middle = x + width * 0.33
        half = width * 0.33 - 1
        largest = max((abs(score) for score in scores if score is not None), default=1.0) or 1.0
        canvas.lines([(middle, top, middle, top + len(scores) * self.row)], colours.line2, 0.5)
        for place, score in enumerate(scores):
            if score is None:
                continue
            y, length = top + (place + 0.5) * self.row, abs(score) / largest * half
            ink = colours.diverging[_POSITIVE if score >= 0 else _NEGATIVE]
            left = middle if score >= 0 else middle - length
            canvas.rectangle(left, y - self.row * 0.27, length, self.row * 0.54, ink)
            text = f"{score:.1f}".replace("-", "−")
            canvas.text(x + width + 3, y, text, small, colours.ink2, align="right")

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
            canvas.text(
                x + width - length - 2, y, share(weight), min(6.0, self.size), colours.ink2, align="right"
            )

    def _bars(self, canvas: Canvas, x: float, width: float, top: float, values: npt.NDArray[Any]) -> None:
        largest = float(values.max(initial=0.0)) or 1.0
        for place, value in enumerate(values.tolist()):
            if not self.seen[place]:
                continue
            y = top + (place + 0.5) * self.row
            length = width * value / largest
            canvas.rectangle(
                x + 2, y - self.row * 0.2, length, self.row * 0.4, canvas.colours.ink3, alpha=0.7
            )
            text = "·" if value < 0.005 else f"{value:.2f}"
            canvas.text(x + width + 14, y, text, min(6.0, self.size), canvas.colours.ink2, align="right")
