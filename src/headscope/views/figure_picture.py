"""One or several heads on the picture that their tokens are areas of, with every layer as a strip."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from headscope.senses import Picture
from headscope.views import fold
from headscope.views.canvas import Canvas, label
from headscope.views.figure_head import hue, title
from headscope.views.figure_veils import UNSEEN, Pixels, Raster, Shares, covered, enlarged, sized
from headscope.views.palette import Palette
from headscope.views.seeing import areas
from headscope.views.selection import Matrix, Sees, Selection

Asked = int | Literal["all", "patches", "text"]
"""Who looks: a query by its place among those that are shown, or the mean over all of them, over the patches, or over
the text around a picture."""

_GAP, _TITLE, _NAME, _LINE = 10.0, 14.0, 10.0, 7.0
_LINES = 3  # of tokens without an area
_MOST = 260.0
_SMALL = 92.0
_LAYER = (30.0, 46.0)
_WIDE = 2.5
_GREY, _SEEN_THROUGH = "#{:02x}{:02x}{:02x}".format(*UNSEEN[:3]), UNSEEN[3] / 255
_DOTS, _DOTS_OF_CELLS = 3.5, 2.0  # pixels a point


class HeadPicture:
    """Where a query looks, which queries look at a key, rollout beside it; several heads small; every layer."""

    def __init__(self, selection: Selection, width: float, canvas: Canvas) -> None:
        picture = picture_of(selection)
        assert picture is not None
        self.selection, self.width, self.picture = selection, width, picture
        self.heads = selection.drawn_heads()
        self.who: Asked = asked(selection)
        self.to = selection.pinned().column
        self.rolled = selection.rollout() if selection.state["rollout"] else None
        across, down = picture.size
        self.aspect = down / across
        self.boards = [end for end in ("from", "to") if self._boxes(end) is not None]
        self.boards += ["rollout"] if self.rolled is not None else []
        alone = across > _WIDE * down
        self.across = 1 if alone else len(self.boards)
        each = (width - _GAP * (self.across - 1)) / self.across
        self.each = each if alone else min(each, _MOST)
        self.canvas = canvas
        # No share is longer in print than that of what is not seen.
        said = [self._tokens(end, np.full(len(self._areas(end)), np.nan)) for end in self.boards]
        self.board = _NAME + self.each * self.aspect + 4.0 + _LINE * max(map(len, said))
        many = len(self.heads) if len(self.heads) > 1 else 0
        self.beside = 1 if alone else max(2, min(6, many, int((width + _GAP) / (_SMALL * 0.75))))
        self.small = min((width - _GAP * (self.beside - 1)) / self.beside, _SMALL * 1.5)
        self.layers = selection.layers if len(selection.layers) > 1 and "to" in self.boards else []
        lines = max(1, math.ceil(len(self.layers) * (_LAYER[0] + 4) / (width + 4)))
        self.along = math.ceil(len(self.layers) / lines) if self.layers else 1
        self.layer = min(_LAYER[1], (width - 4 * (self.along - 1)) / self.along)
        self.seen = selection.sees(selection.state["aggregate"] == "layers")
        rows = math.ceil(len(self.boards) / self.across), math.ceil(many / self.beside)
        strip = (
            math.ceil(len(self.layers) / self.along) * (self._layer_height + 10) + 14 if self.layers else 0.0
        )
        self.height = _TITLE + rows[0] * self.board + rows[1] * (self.small * self.aspect + _NAME + 4) + strip

    @property
    def _layer_height(self) -> float:
        raster = Raster(self._areas("to"))
        left, top, right, bottom = raster.area
        return float(self.layer * (bottom - top) / (right - left))

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it with its top left corner there."""
        selection = self.selection
        title(canvas, x, y, selection, self.heads)
        matrix = self.heads[-1].matrix
        given = looks(selection, matrix, self.seen, self.who)
        top = y + _TITLE
        for place, end in enumerate(self.boards):
            row, column = divmod(place, self.across)
            left, above = x + column * (self.each + _GAP), top + row * self.board
            if end == "from":
                chosen = self.who if isinstance(self.who, int) else None
                name, shares = "from (query)" if chosen is None else f"from {self._called(end, chosen)}", None
                if self.to is not None:
                    name = f"which tokens look at {self._called('to', self.to)}"
                    shares = np.where(self.seen[:, self.to], matrix[:, self.to], np.nan)
            elif end == "to":
                several = f": {self.heads[-1].name}" if len(self.heads) > 1 else ""
                name, shares, chosen = f"where {self._who()}{several}", given, self.to
            else:
                assert self.rolled is not None
                name, chosen = f"rollout to layer {selection.layer}", None
                shares = looks(selection, self.rolled, None, self.who)
            canvas.text(left, above + 4, name, 6.0, canvas.colours.ink2)
            self._board(canvas, left, above + _NAME, end, shares, chosen)
        top += math.ceil(len(self.boards) / self.across) * self.board
        if len(self.heads) > 1:
            top = self._many(canvas, x, top)
        if self.layers:
            self._strip(canvas, x, top)

    def notes(self) -> list[str]:
        """What the caption adds."""
        signed = self.selection.against is not None or self.selection.signed
        said = [
            "blue positive, orange negative"
            if signed
            else "what is not looked at is dark, by the root of its share of the largest"
        ]
        cut = len(Raster(self._areas(self.boards[-1])).outside(self.picture.size)) > 0
        greys = [
            text for text, holds in (("hidden by the mask", not self.seen.all()), ("cut off", cut)) if holds
        ]
        if greys:
            said.append(f"grey: {' or '.join(greys)}")
        if self.rolled is not None:
            said.append(
                "rollout (Abnar & Zuidema 2020): the mean over heads, ½ A + ½ I, multiplied over the layers so far"
            )
        blocks = self.selection.blocks
        if blocks is not None:
            said.append(
                f"queries are blocks of {blocks.side} × {blocks.side} patches, each the mean of its patches"
            )
        return said

    def _boxes(self, end: str) -> Matrix | None:
        axis = self.selection.query if end == "from" else self.selection.key
        boxes = areas(axis)
        return None if boxes is None or np.isnan(boxes[:, 0]).all() else boxes

    def _areas(self, end: str) -> Matrix:
        boxes = self._boxes("from" if end == "from" else "to")
        assert boxes is not None
        return boxes

    def _called(self, end: str, place: int) -> str:
        return label((self.selection.query if end == "from" else self.selection.key).pieces[place])

    def _who(self) -> str:
        if isinstance(self.who, int):
            blocks = self.selection.blocks
            several = blocks is not None and blocks.counts[self.selection.rows[self.who]] > 1
            return f"{self._called('from', self.who)} {'look' if several else 'looks'}"
        return "patches look on average" if self.who == "patches" else "all queries look on average"

    def _tints(self, canvas: Canvas) -> Palette | None:
        """The colours of signs, where what is drawn has some."""
        return canvas.colours if self.selection.against is not None or self.selection.signed else None

    def _board(
        self, canvas: Canvas, x: float, y: float, end: str, shares: Shares | None, chosen: int | None
    ) -> None:
        """A whole picture, its veils, the chosen area, and the shares of tokens that have none."""
        boxes, scale = self._areas(end), self.each / self.picture.size[0]
        self._under(canvas, x, y, self.each, grey=shares is not None and self._tints(canvas) is not None)
        raster = Raster(boxes)
        if shares is not None:
            left, top, right, bottom = raster.area * scale
            veils = raster.veils(shares, self.selection.state["opacity"], self._tints(canvas))
            if self.selection.state["smooth"]:
                veils = enlarged(veils, *self._pixels(right - left, bottom - top), smooth=True)
            canvas.image(x + left, y + top, right - left, bottom - top, veils)
        if chosen is not None and not np.isnan(boxes[chosen, 0]):
            left, top, right, bottom = boxes[chosen] * scale
            for edge, line in (("#0b0e10", 2.0), ("#ffffff", 1.0)):
                canvas.rectangle(
                    x + left, y + top, right - left, bottom - top, None, edge=edge, line=line, order=3
                )
        for left, top, right, bottom in raster.outside(self.picture.size) * scale:
            canvas.rectangle(
                x + left, y + top, right - left, bottom - top, _GREY, alpha=_SEEN_THROUGH, order=2
            )
        for line, text in enumerate(self._tokens(end, shares)):
            canvas.text(x, y + self.each * self.aspect + 6 + _LINE * line, text, 5.5, canvas.colours.ink3)

    def _tokens(self, end: str, shares: Shares | None = None) -> list[str]:
        """The tokens that have no area, with their shares, in a few lines as long as a picture is wide."""
        lines: list[str] = []
        for place in np.flatnonzero(np.isnan(self._areas(end)[:, 0])).tolist():
            text = self._called("from" if end == "from" else "to", place)
            if shares is not None:
                text += " not seen" if np.isnan(shares[place]) else f" {_thousandths(float(shares[place]))}"
            longer = f"{lines[-1]}   {text}" if lines else text
            if lines and self.canvas.text_width(longer, 5.5) <= self.each:
                lines[-1] = longer
            else:
                lines.append(text)
        return [*lines[:_LINES], *(["…"] if len(lines) > _LINES else [])] or [""]

    def _under(self, canvas: Canvas, x: float, y: float, width: float, *, grey: bool) -> None:
        height = width * self.aspect
        across = min(self._pixels(width, height)[0], self.picture.size[0])
        pixels = sized(self.picture.pixels, across, round(across * self.aspect), grey=grey)
        canvas.image(x, y, width, height, pixels, 1)

    @staticmethod
    def _pixels(width: float, height: float) -> tuple[int, int]:
        return max(1, round(_DOTS * width)), max(1, round(_DOTS * height))

    def _many(self, canvas: Canvas, x: float, top: float) -> float:
        """Each head as a small picture; returns where they end."""
        step = self.small * self.aspect + _NAME + 4
        for place, head in enumerate(self.heads):
            row, column = divmod(place, self.beside)
            left, above = x + column * (self.small + _GAP), top + row * step
            canvas.text(
                left, above + 4, head.name, 6.0, hue(head, len(self.heads), canvas.colours), bold=True
            )
            seen = self.selection.sees(heads=None if head.head is None else [head.head])
            found = looks(self.selection, head.matrix, seen, self.who)
            whole = np.array([0, 0, *self.picture.size], float)
            self._thumbnail(canvas, left, above + _NAME - 2, self.small, found, whole)
        return top + math.ceil(len(self.heads) / self.beside) * step

    def _strip(self, canvas: Canvas, x: float, top: float) -> None:
        """Every layer: the open head's number, or the mean of all heads."""
        selection, colours = self.selection, canvas.colours
        mean = selection.state["strip"] == "mean" and selection.state["quantity"] == "weights"
        head = selection.state["heads"][-1]
        said = "the mean of all heads" if mean else f"head {head}"
        canvas.text(x, top + 4, f"every layer, {said}: where {self._who()}", 6.0, colours.ink2)
        area = Raster(self._areas("to")).area
        for place, layer in enumerate(self.layers):
            row, column = divmod(place, self.along)
            left, above = x + column * (self.layer + 4), top + 10 + row * (self._layer_height + 10)
            heads = selection.heads(layer)
            if mean or head in heads:
                matrix = selection.mean(layer) if mean else selection.matrix(layer, head)
                found = looks(
                    selection, matrix, selection.sees(layer=layer, heads=heads if mean else [head]), self.who
                )
                self._thumbnail(canvas, left, above, self.layer, found, area)
            is_open = layer == selection.layer
            if is_open:
                box = (left - 1, above - 1, self.layer + 2, self._layer_height + 2)
                canvas.rectangle(*box, None, edge=colours.accent, line=1.0, radius=1.0, order=3)
            ink = colours.accent if is_open else colours.ink3
            canvas.text(
                left + self.layer / 2,
                above + self._layer_height + 4.5,
                str(layer),
                5.5,
                ink,
                align="center",
                bold=is_open,
            )

    def _thumbnail(
        self, canvas: Canvas, x: float, y: float, width: float, shares: Shares, area: Matrix
    ) -> None:
        """A part of the picture under its veils, as one image."""
        state, tints = self.selection.state, self._tints(canvas)
        height = width * float((area[3] - area[1]) / (area[2] - area[0]))
        pixels = thumbnail(
            self.picture,
            self._areas("to"),
            shares,
            self._pixels(width, height),
            area,
            state["opacity"],
            tints,
            smooth=state["smooth"],
        )
        canvas.image(x, y, width, height, pixels, 1)


class SeenHeads:
    """Every head on the picture, for the cells of the grid: what all queries look at on average."""

    def __init__(self, picture: Picture, boxes: Matrix, selection: Selection, means: Matrix) -> None:
        self.picture, self.boxes, self.means = picture, boxes, means
        self.signed = selection.against is not None
        self.who = "all queries" if fold.reading(selection.maps.query) is None else "the tokens of the text"
        self.area = Raster(boxes).area
        heads = [(layer, head) for layer in selection.layers for head in selection.heads(layer)]
        self.rows = {each: row for row, each in enumerate(heads)}

    @classmethod
    def of(cls, selection: Selection) -> SeenHeads | None:
        """None where keys are no areas of a picture."""
        axis = selection.maps.key
        if axis.picture is None or axis.boxes is None or np.isnan(axis.boxes[:, 0]).all():
            return None
        means = selection.looks()
        return None if means is None else cls(axis.picture, axis.boxes, selection, means)

    @property
    def aspect(self) -> float:
        """How tall the picture is for its width."""
        left, top, right, bottom = self.area
        return float((bottom - top) / (right - left))

    @property
    def note(self) -> str:
        """What the caption says."""
        what = "blue more, orange less" if self.signed else "what is not looked at is dark"
        return f"the mean over {self.who}, on the picture: {what}"

    def cell(self, layer: int, head: int, width: float, height: float, colours: Palette) -> Pixels:
        """A head's cell, ``[row column 3]``, for so many points."""
        size = max(1, round(_DOTS_OF_CELLS * width)), max(1, round(_DOTS_OF_CELLS * height))
        tints = colours if self.signed else None
        return thumbnail(
            self.picture, self.boxes, self.means[self.rows[layer, head]], size, self.area, 0.85, tints
        )


def _thousandths(share: float) -> str:
    """A share in three decimals: ``.027``."""
    text = f"{abs(share):.3f}".removeprefix("0")
    sign = "−" if share < 0 else ""
    return f"{sign}{text}" if text != ".000" or not share else f"{'>−' if sign else '<'}.001"


def picture_of(selection: Selection) -> Picture | None:
    """The picture that keys, or else queries, are areas of; None where there is none."""
    for axis in (selection.key, selection.query):
        boxes = axis.boxes
        if axis.picture is not None and boxes is not None and not np.isnan(boxes[:, 0]).all():
            return axis.picture
    return None


def thumbnail(
    picture: Picture,
    boxes: Matrix,
    shares: Shares,
    size: tuple[int, int],
    area: Matrix,
    opacity: float,
    tints: Palette | None,
    *,
    smooth: bool = False,
) -> Pixels:
    """A part of a picture under the veils of its areas, ``[row column 3]``, of `size` (width, height) pixels."""
    raster = Raster(boxes)
    under = sized(picture.pixels, *size, area, grey=tints is not None)
    scale = np.array([size[0] / (area[2] - area[0]), size[1] / (area[3] - area[1])])
    left, top = np.rint((raster.area[:2] - area[:2]) * scale).astype(int).tolist()
    right, bottom = np.rint((raster.area[2:] - area[:2]) * scale).astype(int).tolist()
    veils = np.zeros((size[1], size[0], 4), np.uint8)
    fits = smooth or right - left < raster.shape[1] or bottom - top < raster.shape[0]
    own = enlarged(
        raster.veils(shares, opacity, tints), max(1, right - left), max(1, bottom - top), smooth=fits
    )
    seen = veils[max(0, top) : bottom, max(0, left) : right]
    veils[max(0, top) : bottom, max(0, left) : right] = own[: seen.shape[0], : seen.shape[1]]
    return covered(under, veils)


def asked(selection: Selection) -> Asked:
    """Who looks as the state has it."""
    row = selection.pinned().row
    if row is not None:
        return row
    boxes = areas(selection.query)
    on = np.zeros(len(selection.query), bool) if boxes is None else ~np.isnan(boxes[:, 0])
    return "patches" if selection.state["queries"] == "patches" and on.any() and not on.all() else "all"


def looks(selection: Selection, matrix: Matrix, seen: Sees | None, who: Asked) -> Shares:
    """Where a query looks, or what each key receives on average from the queries that see it, ``[key]``.

    NaN where no such query sees the key. The page does the same (``looks`` of ``rows.ts``).
    """
    seen = np.ones(matrix.shape, bool) if seen is None else seen
    if isinstance(who, int):
        return np.where(seen[who], matrix[who], np.nan)
    weights = (
        np.ones(len(matrix))
        if selection.blocks is None
        else selection.blocks.counts[selection.rows].astype(float)
    )
    boxes, special = areas(selection.query), selection.query.special_mask
    if who == "patches":
        assert boxes is not None
        weights = weights * ~np.isnan(boxes[:, 0])
    elif who == "text":
        assert boxes is not None
        weights = weights * np.isnan(boxes[:, 0]) * (1 if special is None else ~special)
    total = weights @ seen
    return np.where(total > 0, (weights @ matrix) / np.maximum(total, 1e-12), np.nan)
