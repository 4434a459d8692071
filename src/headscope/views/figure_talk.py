"""A head of a model of text and pictures: the picture, and the text beside it with what each word has to do with it."""

from __future__ import annotations

import math
import unicodedata
from typing import NamedTuple

import numpy as np

from headscope.tokens import strip_markers
from headscope.views import fold
from headscope.views.canvas import Canvas, label
from headscope.views.figure_head import hue, title
from headscope.views.figure_picture import Asked, looks, picture_of, thumbnail
from headscope.views.figure_veils import Shares, sized
from headscope.views.palette import Palette
from headscope.views.seeing import areas
from headscope.views.selection import Matrix, Selection

_TITLE, _NAME, _GAP = 14.0, 18.0, 16.0
_PICTURE, _SMALL = 0.54, 92.0
_SIZE, _LINE = 7.5, 14.0
_INLINE = 12.0  # how tall a picture is that stands in the text
_SHADE = 0.52
_DOTS = 3.5  # pixels a point
_CLOSING = ("Pe", "Pf", "Po")


class Word(NamedTuple):
    """A token of the text: as it is read, its place among the queries, where it stands, and how wide it is.

    `row` is −1 for a picture within the text, whose number is `image`.
    """

    text: str
    row: int
    image: int
    x: float
    line: int
    width: float


class TextPicture:
    """The picture under what the chosen word looks at, or what looks at the chosen patch, and the text beside it."""

    def __init__(self, selection: Selection, width: float, canvas: Canvas) -> None:
        picture = picture_of(selection)
        assert picture is not None
        self.selection, self.width, self.picture = selection, width, picture
        self.heads = selection.drawn_heads()
        self.row, self.column = selection.pinned()
        reads = fold.reading(selection.maps.query) is not None
        self.who: Asked = self.row if self.row is not None else "text" if reads else "all"
        self.seen = selection.sees(selection.state["aggregate"] == "layers")
        matrix = self.heads[-1].matrix
        self.given = looks(selection, matrix, self.seen, self.who)
        self.back = None
        if self.column is not None and self.row is None:
            self.back = np.where(self.seen[:, self.column], matrix[:, self.column], np.nan)
        self.key, self.query = areas(selection.key), areas(selection.query)
        across, down = picture.size
        self.across = width * _PICTURE
        self.down = self.across * down / across
        self.words = self._flow(canvas)
        lines = 1 + max((word.line for word in self.words), default=0)
        many = len(self.heads) if len(self.heads) > 1 else 0
        self.beside = max(1, int((width + 8) / (_SMALL + 8)))
        self.small = math.ceil(many / self.beside) * (_SMALL * down / across + 14)
        self.height = _TITLE + _NAME + max(self.down, lines * _LINE + 8) + 6 + self.small

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it with its top left corner there."""
        title(canvas, x, y, self.selection, self.heads)
        top = y + _TITLE
        beside = x + self.across + _GAP
        about, text = self._names()
        canvas.text(x, top + 5, about, 6.0, canvas.colours.ink2)
        canvas.text(beside, top + 5, text, 6.0, canvas.colours.ink2)
        top += _NAME - 6
        boxes, shares = self._on_picture()
        self._picture(canvas, x, top, self.across, boxes, shares)
        chosen = self.column if self.back is not None else self.row
        if chosen is not None and not np.isnan(boxes[chosen, 0]):
            left, above, right, below = boxes[chosen] * self.across / self.picture.size[0]
            for edge, line in (("#0b0e10", 2.0), ("#ffffff", 1.0)):
                canvas.rectangle(
                    x + left, top + above, right - left, below - above, None, edge=edge, line=line, order=3
                )
        self._text(canvas, beside, top)
        if self.small:
            self._several(canvas, x, y + self.height - self.small)

    def notes(self) -> list[str]:
        """What the caption adds."""
        said = ["shades by the root of the share of the largest"]
        if pinned := self.selection.pinned_in_words():
            said.append(f"chosen: {pinned}")
        inside = self.key is not None and ~np.isnan(self.key[:, 0])
        if self.back is None and not self.selection.signed:
            said.append(f"{100 * float(np.nansum(self.given[inside])):.0f} % on the picture")
        if not self.seen.all():
            said.append("grey: hidden by the mask")
        return said

    def _names(self) -> tuple[str, str]:
        """What the picture shows, and what the text."""
        several = f": {self.heads[-1].name}" if len(self.heads) > 1 else ""
        if self.back is not None:
            name = label(self.selection.key.pieces[self.column or 0])
            return f"which patches look at {name}{several}", f"how much each word looks at {name}"
        if self.row is not None:
            name = label(self.selection.query.pieces[self.row])
            return f"where {name} looks{several}", f"which words {name} looks at"
        return (
            f"where the text looks on average{several}",
            "how much of each word's attention is on the picture",
        )

    def _on_picture(self) -> tuple[Matrix, Shares]:
        """The areas of the side that is shown on the picture, and the share of each."""
        if self.back is not None and self.query is not None:
            return self.query, self.back
        assert self.key is not None
        return self.key, self.given

    def _picture(
        self, canvas: Canvas, x: float, y: float, width: float, boxes: Matrix, shares: Shares
    ) -> None:
        state, (across, down) = self.selection.state, self.picture.size
        height = width * down / across
        size = max(1, round(_DOTS * width)), max(1, round(_DOTS * height))
        whole = np.array([0, 0, across, down], float)
        tints = canvas.colours if self.selection.signed else None
        pixels = thumbnail(
            self.picture, boxes, shares, size, whole, state["opacity"], tints, smooth=state["smooth"]
        )
        canvas.image(x, y, width, height, pixels, 1)

    def _several(self, canvas: Canvas, x: float, top: float) -> None:
        """Each head as a small picture."""
        assert self.key is not None
        step = _SMALL * self.picture.size[1] / self.picture.size[0] + 14
        for place, head in enumerate(self.heads):
            line, column = divmod(place, self.beside)
            left, above = x + column * (_SMALL + 8), top + line * step
            canvas.text(
                left, above + 4, head.name, 6.0, hue(head, len(self.heads), canvas.colours), bold=True
            )
            seen = self.selection.sees(heads=None if head.head is None else [head.head])
            found = looks(self.selection, head.matrix, seen, self.who)
            self._picture(canvas, left, above + 9, _SMALL, self.key, found)

    def _flow(self, canvas: Canvas) -> list[Word]:
        """The text in reading order, in lines that have room beside the picture; a picture within it has a place."""
        query = self.selection.query
        special = np.zeros(len(query), bool) if query.special_mask is None else query.special_mask
        marked = any(piece.startswith(("Ġ", "▁")) for piece in self.selection.maps.query.pieces)
        first = self._first_pieces()
        room = self.width - self.across - _GAP
        found: list[Word] = []
        x, line, images, before = 0.0, 0, 0, -2
        for row in range(len(query)):
            if self.query is not None and not np.isnan(self.query[row, 0]):
                if before != row - 1 or images == 0 or not self._patch(row - 1):
                    wide = self._inline(images)
                    x += 3.0 if found else 0.0
                    if x + wide > room:
                        x, line = 0.0, line + 1
                    found.append(Word("", -1, images, x, line, wide))
                    x, images = x + wide, images + 1
                before = row
                continue
            text = label(strip_markers(query.pieces[row])) or "␣"
            wide = canvas.text_width(text, _SIZE) + 2
            piece = first[row]
            closing = all(unicodedata.category(letter) in _CLOSING for letter in text)
            apart = (
                special[row]
                or special[row - 1]
                or (piece.startswith(("Ġ", "▁")) if marked else not piece.startswith("##") and not closing)
            )
            x += 3.0 if found and apart else 0.0
            if x + wide > room:
                x, line = 0.0, line + 1
            found.append(Word(text, row, -1, x, line, wide))
            x, before = x + wide, row
        return found

    def _first_pieces(self) -> list[str]:
        """The first piece of each shown query, with the mark of its tokenizer."""
        maps, words = self.selection.maps.query, self.selection.state["unit"] == "words"
        number = fold.groups(maps, words=words, unfolded=None)
        first = np.unique(number, return_index=True)[1]
        return [maps.pieces[int(first[place])] for place in self.selection.rows]

    def _patch(self, row: int) -> bool:
        return row >= 0 and self.query is not None and not np.isnan(self.query[row, 0])

    def _shares(self) -> Shares:
        """What each query has to do with what is chosen: gives to the picture, or to a patch, or gets from a word."""
        if self.back is not None:
            return self.back
        matrix = self.heads[-1].matrix
        if self.row is None:
            assert self.key is not None
            return matrix[:, ~np.isnan(self.key[:, 0])].sum(1)
        columns = {int(place): at for at, place in enumerate(self.selection.columns)}
        if self.selection.maps.kind == "cross":
            return (np.arange(len(self.selection.query)) == self.row).astype(float)
        places = [columns.get(int(place), -1) for place in self.selection.rows]
        return np.array([self.given[place] if place >= 0 else np.nan for place in places])

    def _text(self, canvas: Canvas, left: float, top: float) -> None:
        """The words, each on its shade."""
        colours, shares = canvas.colours, self._shares()
        special = self.selection.query.special_mask
        usual = [
            abs(shares[word.row])
            for word in self.words
            if word.row >= 0 and not (special is not None and special[word.row])
        ]
        most = max(float(np.nanmax(usual, initial=0.0)) if usual else 0.0, 1e-12)
        chosen = self.column if self.back is not None else self.row
        axis = self.selection.columns if self.back is not None else self.selection.rows
        pinned = None if chosen is None else int(axis[chosen])
        for word in self.words:
            x, y = left + word.x, top + word.line * _LINE
            if word.row < 0:
                size = round(_DOTS * word.width), round(_DOTS * _INLINE)
                pixels = sized(self.picture.pixels, *size, self._area(word.image))
                canvas.image(x, y, word.width, _INLINE, pixels, 1)
                continue
            share = float(shares[word.row])
            if not math.isnan(share):
                root = math.sqrt(min(1.0, abs(share) / most))
                canvas.rectangle(
                    x, y, word.width, _LINE - 3, self._tone(colours, share), alpha=_SHADE * root, radius=1.5
                )
            if pinned is not None and int(self.selection.rows[word.row]) == pinned:
                canvas.rectangle(
                    x - 0.5,
                    y - 0.5,
                    word.width + 1,
                    _LINE - 2,
                    None,
                    edge=colours.ink,
                    line=0.8,
                    radius=1.5,
                    order=3,
                )
            ink = colours.ink3 if math.isnan(share) else colours.ink
            canvas.text(x + word.width / 2, y + (_LINE - 3) / 2, word.text, _SIZE, ink, align="center")

    def _tone(self, colours: Palette, share: float) -> str:
        return colours.accent if not self.selection.signed else colours.diverging[1 if share < 0 else 5]

    def _area(self, image: int) -> Matrix:
        """What a picture within the text is of the input's picture: left, top, right, bottom."""
        boxes = self.selection.maps.query.boxes
        assert boxes is not None
        start, end = fold.pictures(self.selection.maps.query)[image]
        return np.concatenate([np.nanmin(boxes[start:end, :2], 0), np.nanmax(boxes[start:end, 2:], 0)])

    def _inline(self, image: int) -> float:
        """How wide a picture within the text is."""
        left, top, right, bottom = self._area(image)
        return float(np.clip(_INLINE * (right - left) / max(bottom - top, 1e-9), 4.0, 3 * _INLINE))


def talks(selection: Selection) -> bool:
    """Queries are text, and keys areas of a picture: with the text in one row, or across."""
    boxes = areas(selection.key)
    if boxes is None or np.isnan(boxes[:, 0]).all() or selection.maps.key.picture is None:
        return False
    query = areas(selection.query)
    across = selection.maps.kind == "cross" and (query is None or bool(np.isnan(query[:, 0]).all()))
    return across or bool(fold.pictures(selection.maps.key))
