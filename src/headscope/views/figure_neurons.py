"""How one query's attention is made: q, k, q × k, the score and its softmax, neuron by neuron."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.errors import InputError
from headscope.views.canvas import Canvas, label, share
from headscope.views.figure_head import THIN, column, every, row_height, token_width
from headscope.views.palette import diverging
from headscope.views.selection import Selection

_TOP = 38.0
_FOOT = 6.0
_CHART = 30.0
_NARROW = 300.0
_HIDDEN = -1e8  # a bias that hides a key in place of a mask
_UNSEEN = 0.01  # a key of weight 0 whose score would give it more than this share is masked
_NEGATIVE, _POSITIVE = 1, 5  # stops of the diverging palette


class HeadNeurons:
    """The neurons of the open head for one query: the pinned one, or the first that is no special token."""

    def __init__(self, selection: Selection, width: float, canvas: Canvas) -> None:
        if selection.neurons is None:
            raise InputError("state: scale 'neuron' needs q and k, which were not captured (neurons=True)")
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
        self.score = self._score()
        self.weight = selection.weights(selection.layer, self.head)[self.query]
        self.seen = self._seen()
        sinks = selection.neurons.sinks[self.place]
        self.sink = None if sinks is None else float(sinks[self.head])
        self.key = self._key()
        self.charts = 3 + (self._values() is not None)
        rows = max(len(selection.query), len(selection.key) + (self.sink is not None))
        self.body = _TOP + rows * self.row + _FOOT
        self.height = self.body + 14 + self.charts * _CHART + 10

    def notes(self) -> list[str]:
        """What the caption adds: what is done to q·k, and which key head serves the query head."""
        found, said = self.selection.neurons, ["blue positive, orange negative"]
        assert found is not None
        query, best = self.selection.query.pieces[self.query], int(self.weight.argmax())
        strong = np.argsort(-self.q[self.query] * self.k[best], kind="stable")[:3]
        said.append(
            f"{label(query)} looks most at {label(self.selection.key.pieces[best])} "
            f"({self.weight[best]:.2f}); neurons {', '.join(map(str, strong))} add most to that score"
        )
        if self.groups > 1:
            first = self.head // self.groups * self.groups
            said.append(
                f"key head {self.head // self.groups} serves query heads {first} to {first + self.groups - 1}"
            )
        if cap := found.softcap[self.place]:
            said.append(f"scores are capped softly: {cap:g} × tanh(score / {cap:g})")
        if found.bias[self.place] is not None:
            said.append("a position bias is added to the scores")
        if self.sink is not None:
            said.append("a learned sink, no token, takes part of each row")
        if self.selection.maps.causal:
            said.append("a query sees only itself and what stands before it")
        if (step := every(self.row)) > 1:
            said.append(f"one of {step} tokens is named")
        return said

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it with its top left corner there."""
        colours, top, row = canvas.colours, y + _TOP, self.row
        selection, extra = self.selection, self._contributed()
        values = self._values()
        canvas.text(x, y + 5, f"Layer {selection.layer}, head {self.head}, neuron by neuron", 8.5, bold=True)
        gap, link, dot, soft = 7.0, 17.0, 34.0, 36.0
        more = 38.0 if extra is not None else 0.0
        blocks = 3 + (values is not None)
        axes = (selection.query, selection.key)
        both = self.width >= _NARROW or axes[0].pieces != axes[1].pieces
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
            (at_k + block / 2, "k", f"key head {self.head // self.groups}" if self.groups > 1 else "key"),
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
            pin = selection.pinned()
            marked = pin[1] if pin is not None and pin[0] == "to" else None
            self._keys(canvas, at_t, top, faint, marked)
        if self.sink is not None:
            at, align = (at_t + 3, "left") if both else (x + self.words - 3, "right")
            y_sink = top + (len(self.k) + 0.5) * row
            canvas.text(at, y_sink, "sink", self.size, colours.ink3, align=align)
        if extra is not None:
            self._bars(canvas, x + self.width - more, more - 14, top, extra)
        self._charts(canvas, x, y + self.body)

    def _keys(
        self, canvas: Canvas, x: float, top: float, faint: npt.NDArray[Any], marked: int | None
    ) -> None:
        key = self.selection.key
        column(canvas, key, x, top, self.row, self.size, "left", faint=faint, marked=marked, wide=self.words)

    def _charts(self, canvas: Canvas, x: float, y: float) -> None:
        """All neurons of the query, of one key (the pinned one, or the one it looks at most) and their product."""
        colours, selection = canvas.colours, self.selection
        names = (selection.query.pieces[self.query], selection.key.pieces[self.key])
        title = f"All neurons of {label(names[0])} (q) and {label(names[1])} (k)"
        canvas.text(x, y + 4, title, 7.0, bold=True)
        q, k = self.q[self.query], self.k[self.key]
        charts = [("q", q), ("k", k), ("q × k", q * k)]
        if (values := self._values()) is not None:
            charts.append(("v", values[self.key]))
        left, wide = x + 34, self.width - 36
        for place, (name, vector) in enumerate(charts):
            middle = y + 12 + (place + 0.5) * _CHART
            most = float(np.abs(vector).max()) or 1.0
            canvas.text(left - 6, middle - 3, name, 7.0, align="right", bold=True)
            canvas.text(left - 6, middle + 5, f"±{most:.2g}", 5.0, colours.ink3, align="right")
            canvas.lines([(left, middle, left + wide, middle)], colours.line2, 0.5)
            step, high = wide / len(vector), vector / most * (_CHART / 2 - 2)
            boxes = np.stack(
                [
                    left + np.arange(len(vector)) * step,
                    middle - np.maximum(high, 0),
                    np.full(len(vector), max(0.3, step - (0.6 if step > 2 else 0))),
                    np.abs(high),
                ],
                -1,
            )
            share_ = vector / most
            inks = diverging(np.sign(share_) * (0.4 + 0.5 * np.abs(share_)), colours) / 255.0
            canvas.rectangles(boxes, inks)
        foot, size = y + 12 + len(charts) * _CHART + 3, len(q)
        for neuron in range(0, size, 16 if size > 96 else 8):
            canvas.text(
                left + (neuron + 0.5) * wide / size, foot, str(neuron), 5.0, colours.ink3, align="center"
            )

    def _key(self) -> int:
        pin = self.selection.pinned()
        return pin[1] if pin is not None and pin[0] == "to" else int(self.weight.argmax())

    def _query(self) -> int:
        pin = self.selection.pinned()
        if pin is not None and pin[0] == "from":
            return pin[1]
        if self.selection.maps.causal:
            return len(self.selection.query) - 1
        special = self.selection.query.special_mask
        return 0 if special is None or special.all() else int(np.argmin(special))

    def _seen(self) -> npt.NDArray[np.bool_]:
        """Which keys the query can see, as in the page.

        Hidden are those after the query of a causal model, and those without weight whose score would give them one.
        """
        maps, weight, score = self.selection.maps, self.weight, self.score
        best = int(weight.argmax())
        total = score[best] - np.log(max(1e-9, float(weight[best])))
        masked = (weight == 0) & (score - total > np.log(_UNSEEN))
        if maps.causal:
            behind = len(maps.key) - len(maps.query)
            masked |= self.selection.columns > self.selection.rows[self.query] + behind
        return ~masked & (score > _HIDDEN)

    def _score(self) -> npt.NDArray[Any]:
        found = self.selection.neurons
        assert found is not None
        score = (self.k @ self.q[self.query]) * found.scaling[self.place]
        bias, cap = found.bias[self.place], found.softcap[self.place]
        if bias is not None:
            shape = self.selection.maps.layers[self.place].shape
            whole = np.asarray(np.broadcast_to(bias, shape)[self.head], np.float64)
            score = score + whole[self.selection.rows[self.query]][self.selection.columns]
        return score if cap is None else cap * np.tanh(score / cap)

    def _terms(self) -> str:
        """What is done to q·k before softmax, in a few signs."""
        found = self.selection.neurons
        assert found is not None
        scaling, bias, cap = found.scaling[self.place], found.bias[self.place], found.softcap[self.place]
        size = self.q.shape[1]
        scale = f"÷ √{size}" if math.isclose(scaling, size**-0.5, rel_tol=1e-4) else f"× {scaling:.3g}"
        terms = "" if math.isclose(scaling, 1.0) else scale
        if self.width < _NARROW:  # the caption says the rest
            return terms or "score"
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
        if not self.selection.state["values"]:
            return None
        norms = self.selection.norms(self.selection.layer, self.head)
        return None if norms is None else norms[self.query]

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
        """Rows of neurons with a gap between them; `strength` below 1 fades a row into the ground."""
        largest = float(np.quantile(np.abs(values), 0.985)) or 1.0
        ground = np.array([int(canvas.colours.ground[place : place + 2], 16) for place in (1, 3, 5)], float)
        pixels = diverging(values / largest, canvas.colours).astype(float)
        faded = strength[:, None, None] * pixels + (1 - strength)[:, None, None] * ground
        stripes = np.repeat(np.rint(faded).astype(np.uint8), 9, 0)
        stripes[0::9] = stripes[8::9] = ground.astype(np.uint8)
        canvas.image(x, top, width, self.row * len(values), stripes, least=4)

    def _links(self, canvas: Canvas, left: float, right: float, top: float) -> None:
        places = np.flatnonzero(self.seen & (self.weight > (0.0 if len(self.seen) <= 64 else THIN)))
        places = places[np.argsort(self.weight[places])]
        if not len(places):
            return
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
                if self._named(place):
                    y = top + (place + 0.5) * self.row
                    canvas.text(x + width + 3, y, "not seen", min(5.0, small), colours.ink3, align="right")
                continue
            y, length = top + (place + 0.5) * self.row, abs(score) / largest * half
            ink = colours.diverging[_POSITIVE if score >= 0 else _NEGATIVE]
            left = middle if score >= 0 else middle - length
            canvas.rectangle(left, y - self.row * 0.27, length, self.row * 0.54, ink)
            if self._named(place):
                text = f"{score:.0f}" if abs(score) >= 100 else f"{score:.1f}"
                canvas.text(x + width + 3, y, text.replace("-", "−"), small, colours.ink2, align="right")

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
                canvas.text(x + width - length - 2, y, share(weight), size, colours.ink2, align="right")

    def _named(self, place: int) -> bool:
        return place % every(self.row) == 0 or place == len(self.seen)

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
            if not self._named(place):
                continue
            text = "·" if value < largest * 0.005 else f"{value:.2g}".replace("0.", ".", 1)
            canvas.text(x + width + 14, y, text, min(6.0, self.size), canvas.colours.ink2, align="right")
