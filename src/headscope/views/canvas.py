"""Paper to draw on, in points from the top left corner, by matplotlib."""

from __future__ import annotations

import io
import re
import unicodedata
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from headscope.bytelevel import BYTES, spelled
from headscope.errors import HeadscopeWarning
from headscope.tokens import strip_markers
from headscope.views import fonts
from headscope.views.palette import Colour, Palette

Align = Literal["left", "center", "right"]

POINTS = 72.0
FONTS = fonts.FAMILIES

_FINE = 10.0
_DASHES = (0, (2.6, 1.8))  # in widths of the line
MIDDLE = 0.355  # of the size of a font: from the base line to the middle of its capitals


class Canvas:
    """A figure of `width` × `height` points. Positions are points from the top left corner.

    Attributes:
        figure: the `matplotlib.figure.Figure`.
    """

    def __init__(self, width: float, height: float, colours: Palette) -> None:
        self.width, self.height, self.colours = width, height, colours
        self._mpl = fonts.matplotlib()
        self._fonts = fonts.installed(FONTS)
        self._missing: set[str] = set()
        size = (width / POINTS, height / POINTS)
        self.figure: Any = self._mpl.figure.Figure(figsize=size, facecolor=colours.bg)
        self._axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set(xlim=(0, width), ylim=(height, 0))
        self._axes.axis("off")

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        colour: str | None = None,
        *,
        align: Align = "left",
        bold: bool = False,
        turned: bool = False,
    ) -> None:
        """Text whose capitals have their middle at y; `turned` reads from bottom to top."""
        text = readable(text)
        self._missing |= fonts.lacking(self._fonts, text)
        self._axes.text(
            x,
            y if turned else y + MIDDLE * size,
            text,
            fontsize=size,
            color=colour or self.colours.ink,
            fontweight="bold" if bold else "normal",
            fontfamily=fonts.covering(self._fonts, text),
            ha="center" if turned else align,
            va={"left": "bottom", "center": "center", "right": "top"}[align] if turned else "baseline",
            rotation=90 if turned else 0,
            parse_math=False,
        )

    def text_width(self, text: str, size: float) -> float:
        """How wide a text is, in points. It is never read as mathematics."""
        text = readable(text)
        font = self._mpl.font_manager.FontProperties(family=fonts.covering(self._fonts, text), size=size)
        with fonts.quietly():
            return float(_ruler().get_text_width_height_descent(text, font, False)[0]) / _FINE

    def rectangle(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: Colour | None,
        *,
        edge: Colour | None = None,
        line: float = 0.0,
        radius: float = 0.0,
        alpha: float = 1.0,
        dashed: bool = False,
        order: float = 1.0,
    ) -> None:
        """A rectangle, filled or with an edge, with round corners or without."""
        shape = f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0"
        patch = self._mpl.patches.FancyBboxPatch(
            (x, y), width, height, boxstyle=shape, alpha=alpha, zorder=order
        )
        style = _DASHES if dashed else "-"
        patch.set(facecolor=fill or "none", edgecolor=edge or "none", linewidth=line, linestyle=style)
        self._axes.add_patch(patch)

    def rectangles(self, boxes: npt.ArrayLike, fills: Any, alphas: Any = None) -> None:
        """Many filled rectangles, ``[box 4]``: x, y, width, height."""
        x, y, width, height = np.asarray(boxes, float).reshape(-1, 4).T
        corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
        shapes = np.moveaxis(np.array(corners), 2, 0)
        self._collect("Poly", shapes, facecolors=fills, edgecolors="none", alpha=alphas)

    def image(
        self, x: float, y: float, width: float, height: float, pixels: npt.NDArray[np.uint8], least: int = 96
    ) -> None:
        """An image ``[row column 3]``, enlarged without smoothing so that no reader of files smooths it.

        `least` is how many pixels a side has then at least. Of four channels the last is how opaque it is.
        """
        rows, columns = (max(1, -(-least // count)) for count in pixels.shape[:2])
        large = pixels.repeat(rows, 0).repeat(columns, 1)
        extent = (x, x + width, y + height, y)
        self._axes.imshow(large, extent=extent, aspect="auto", interpolation="none", zorder=1)
        self._axes.set(xlim=(0, self.width), ylim=(self.height, 0))

    def lines(
        self,
        segments: npt.ArrayLike,
        colours: Any,
        widths: Any,
        alphas: Any = None,
        *,
        dashed: bool = False,
        order: float = 2.0,
    ) -> None:
        """Straight lines ``[line 4]``: x and y of both ends."""
        ends = np.asarray(segments, float).reshape(-1, 2, 2)
        style = {"colors": colours, "linewidths": widths, "linestyles": _DASHES if dashed else "-"}
        self._collect("Line", ends, **style, alpha=alphas, zorder=order)

    def curves(
        self,
        segments: npt.ArrayLike,
        colours: Any,
        widths: Any,
        alphas: Any,
        *,
        bend: float = 0.36,
        dashed: bool = False,
        order: float = 2.0,
    ) -> None:
        """Cubic curves with horizontal ends ``[line 4]``; control points at `bend` of the gap."""
        path = self._mpl.path.Path
        x0, y0, x1, y1 = np.asarray(segments, float).reshape(-1, 4).T
        reach = (x1 - x0) * bend
        knots = np.moveaxis(np.array([(x0, y0), (x0 + reach, y0), (x1 - reach, y1), (x1, y1)]), 2, 0)
        paths = [path(each, [path.MOVETO, path.CURVE4, path.CURVE4, path.CURVE4]) for each in knots]
        style = {"facecolors": "none", "edgecolors": colours, "linewidths": widths}
        style["linestyles"] = _DASHES if dashed else "-"
        self._collect("Path", paths, **style, alpha=alphas, zorder=order)

    def save(self, kind: str, metadata: Mapping[str, str], dots: float = 300.0) -> bytes:
        """The figure as a file of kind svg, pdf or png. Text stays text in svg and pdf.

        Warns (`HeadscopeWarning`) of characters that no font here has; not for svg, which brings no fonts of its own.
        """
        picture = rendered(self.figure, kind, metadata, dots)
        if self._missing and kind != "svg":
            warnings.warn(fonts.complaint(self._missing), HeadscopeWarning, stacklevel=5)
        return picture

    def _collect(self, kind: str, shapes: Any, **style: Any) -> None:
        self._axes.add_collection(getattr(self._mpl.collections, f"{kind}Collection")(shapes, **style))

    def _repr_png_(self) -> bytes:
        """What a notebook shows."""
        return self.save("png", {"title": "", "description": "", "creator": "headscope"}, 160.0)


_PROPERTIES = {
    "svg": {"description": "Description", "creator": "Creator"},
    "pdf": {"description": "Subject", "creator": "Creator"},
    "png": {"description": "Description", "creator": "Software"},
}
_DATES: Mapping[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def rendered(figure: Any, kind: str, metadata: Mapping[str, str], dots: float) -> bytes:
    """A matplotlib figure as a file of kind svg, pdf or png, with what made it. Text stays text in svg and pdf."""
    settings = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "headscope"}
    names = {"title": "Title", **_PROPERTIES[kind]}
    about = {names[name]: text for name, text in metadata.items()} | _DATES.get(kind, {})
    file = io.BytesIO()
    with fonts.matplotlib().rc_context({**settings, "text.hinting": "none"}), fonts.quietly():
        figure.savefig(file, format=kind, dpi=dots, facecolor=figure.get_facecolor(), metadata=about)
    return file.getvalue()


def label(piece: str, longest: int = 24) -> str:
    """A piece as it is printed: without the marks of its tokenizer but for ``##``, and not endless."""
    text = piece if piece.startswith("##") else strip_markers(piece)
    text = BYTES.sub(_hexadecimal, text)
    text = _JOINERS.get(text, text).translate(_WHITE) or "␣"
    text = "".join(_seen(character) for character in text)
    if not text.strip():
        text = "␣" * len(text)
    if unicodedata.category(text[0])[0] == "M":
        text = f"◌{text}"
    return text if len(text) <= longest else text[: longest - 1] + "…"


_WHITE = str.maketrans("\n\tĠ▁", "⏎⇥␣␣")
_JOINERS = {"\u200c": "ZWNJ", "\u200d": "ZWJ"}


def _hexadecimal(run: re.Match[str]) -> str:
    """Bytes of a character that other pieces have the rest of: in hexadecimal, tied to those pieces."""
    own = spelled(run[0])
    if own.isascii():
        return own.decode()
    return f"{'‿' * (0x80 <= own[0] < 0xC0)}{own.hex().upper()}{'‿' * any(byte >= 0xC0 for byte in own)}"


def _seen(character: str) -> str:
    """A character that can be seen in place of one that cannot: its picture, or a replacement."""
    point = ord(character)
    if point < 32 or point == 127:
        return chr(0x2400 + point) if point < 32 else "␡"
    hidden = unicodedata.category(character) in ("Cf", "Zl", "Zp", "Cc", "Cs", "Co", "Cn")
    return "\ufffd" if hidden and character not in _JOINERS else character


def readable(text: str) -> str:
    """Text without characters that a file of XML cannot hold."""
    return "".join(
        c if c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff" else "\ufffd"
        for c in text
    )


@cache
def _ruler() -> Any:
    """What measures text, ten times larger than it is printed."""
    return fonts.matplotlib().backends.backend_agg.RendererAgg(1, 1, POINTS * _FINE)
