"""Static pictures of what an explorer shows, drawn by the page's own code in an engine that needs no browser."""

from __future__ import annotations

import atexit
import functools
import html
import json
import os
import re
import struct
import threading
import unicodedata
import zlib
from codecs import BOM_UTF16_BE
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal, cast

import headscope
from headscope.core.failures import warn
from headscope.core.lazy import module
from headscope.core.types import AnyMapping
from headscope.errors import InputError, RunError
from headscope.views.blobs import Blobs, lettered
from headscope.views.page import cleaned

Kind = Literal["svg", "pdf", "png"]
FORMATS: tuple[Kind, ...] = ("svg", "pdf", "png")

Width = float | Literal["column", "page"]
COLUMN, PAGE = 3.3, 6.9
"""Widths in inches: one column of a paper of two, and the whole text."""

DOTS = 96.0
"""Pixels of the page an inch."""

_FONT = "Inter, sans-serif"
_LACKED = "\U0010fffd"
"""A character that no font has."""

_engine = threading.Lock()
_started_in: list[int] = []
"""The process that has started the engine: one that is forked from it has none of its threads."""


def drawn(payload: AnyMapping, blobs: Blobs, *, width: Width = "page", title: str | None = "") -> str:
    """What a payload's state shows as SVG, its text real text.

    Args:
        payload: of an explorer or of sources, with the state that is drawn; the theme "auto" is light.
        blobs: its arrays. Only those that the picture needs are read.
        width: in inches, or that of a paper's ``column`` (3.3 in) or ``page`` (6.9 in).
        title: printed above what is open; None leaves both out.

    Raises:
        InputError: a state that these inputs cannot show.
        MissingError: the extra ``figures`` is not installed.
        RunError: the process was forked from one that has drawn stills.
    """
    asked = {"state": payload["state"], "width": round(inches(width) * DOTS), "title": title}
    if _started_in not in ([], [os.getpid()]):
        raise RunError(
            "stills: this process was forked from one that has drawn some, and would wait for ever; start it by "
            "'spawn' or 'forkserver'"
        )
    with _engine:
        run = _context()
        run.call("headscope.begin", json.dumps(cleaned(payload)), json.dumps(cleaned(asked)))
        while wanted := run.call("headscope.wanted"):
            for name in wanted:
                run.call("headscope.give", name, lettered(blobs.packed(name)))
        outcome = cast("dict[str, str]", run.call("headscope.outcome"))
    if "svg" not in outcome:
        raise InputError(f"state: {outcome.get('error', 'it cannot be drawn')}")
    return outcome["svg"]


def picture(
    kind: Kind,
    payload: AnyMapping,
    blobs: Blobs,
    *,
    width: Width = "page",
    dots: float = 300.0,
    title: str | None = "",
    about: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """A still as a file of kind svg, pdf or png, with what made it (`about`) among the file's own properties.

    Warns (`HeadscopeWarning`) of characters that no font here has; not for svg, which takes its reader's fonts.
    """
    about = cleaned({"creator": f"headscope {headscope.__version__}", **about})
    svg = drawn(payload, blobs, width=width, title=title)
    if kind == "svg":
        return described(svg, about).encode()
    text = html.unescape("".join(re.findall(r">([^<]+)</t(?:ext|span)>", svg)))
    if missing := sorted(filter(_lacking, set(text))):
        names = " ".join(missing[:12]) + (f" and {len(missing) - 12} more" if len(missing) > 12 else "")
        warn(
            f"no font on this machine has {names}: a box stands in their place "
            "(install a font that has them, such as Noto, or save as .svg or .html, which take the reader's fonts)",
            4,
        )
    return (pdf_about if kind == "pdf" else png_about)(converted(svg, kind, dots), about)


def inches(width: float | str) -> float:
    """A width in inches. Raises `InputError` for one that no paper has."""
    size = {"column": COLUMN, "page": PAGE}.get(width, 0.0) if isinstance(width, str) else float(width)
    if not 1.0 <= size <= 40.0:
        raise InputError(f"width: expected 'column', 'page' or inches from 1 to 40, found {width!r}")
    return size


def _lacking(character: str) -> bool:
    """Whether no font that pictures are lettered with has a character: it is drawn as one that none has."""
    invisible = unicodedata.category(character) in ("Cf", "Cc", "Mn", "Zs", "Zl", "Zp")
    return not (character.isascii() or invisible) and _glyph(character) == _glyph(_LACKED)


@functools.cache
def _glyph(character: str) -> bytes:
    text = f'<text y="12" font-family="{_FONT}" font-size="12">{character}</text>'
    return converted(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16">{text}</svg>', "png", DOTS
    )


def converted(svg: str, kind: Literal["pdf", "png"], dots: float = 300.0) -> bytes:
    """An SVG as a file of another kind; `dots` an inch, of a png."""
    if kind == "png":
        # Dots are pixels here: the converter would enlarge once more by what is said of an inch.
        return _converter().svg_to_png(svg, scale=dots / DOTS, ppi=72)
    points = re.sub(r'(width|height)="(\d+)"', lambda m: f'{m[1]}="{int(m[2]) * 72 / DOTS:g}"', svg, count=2)
    return _converter().svg_to_pdf(points)  # whose pixels are points


def described(svg: str, about: Mapping[str, str]) -> str:
    """An SVG with what made it in its metadata."""
    words = "".join(f"<{name}>{html.escape(text)}</{name}>" for name, text in about.items())
    return svg.replace("<rect", f"<metadata>{words}</metadata><rect", 1) if words else svg


def png_about(image: bytes, about: Mapping[str, str]) -> bytes:
    """A PNG with texts after its header (`iTXt`)."""
    end = 8 + 25  # its signature, and the header
    texts = {"Software" if name == "creator" else name.capitalize(): text for name, text in about.items()}
    chunks = [b"iTXt" + name.encode() + bytes(5) + text.encode() for name, text in texts.items()]
    more = (
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks
    )
    return image[:end] + b"".join(more) + image[end:]


_INFO = {"title": "Title", "description": "Subject", "creator": "Creator"}


def pdf_about(document: bytes, about: Mapping[str, str]) -> bytes:
    """A PDF with its properties in an update at its end, as PDF 32000-1 §7.5.6 has it."""
    trailer = document[document.rindex(b"trailer") :].decode("ascii")
    patterns = r"/Size (\d+)", r"/Root (\d+ \d+ R)", r"startxref\s+(\d+)"
    size, root, start = (re.findall(pattern, trailer)[-1] for pattern in patterns)
    texts = {_INFO[name]: BOM_UTF16_BE + text.encode("utf-16-be") for name, text in about.items()}
    words = "".join(f"/{name} <{text.hex()}> " for name, text in texts.items())
    info = f"\n{size} 0 obj\n<< {words}>>\nendobj\n"
    table = f"xref\n{size} 1\n{len(document) + 1:010d} 00000 n \n"
    last = f"trailer\n<< /Size {int(size) + 1} /Root {root} /Info {size} 0 R /Prev {start} >>\n"
    end = f"startxref\n{len(document) + len(info)}\n%%EOF\n"
    return document + (info + table + last + end).encode("ascii")


@functools.cache
def _context() -> Any:
    """The engine with the page's drawing in it: some 10 MB, kept, as to start it takes longer than a picture."""
    context = module("py_mini_racer").MiniRacer()
    _started_in[:] = [os.getpid()]
    atexit.register(context.close)  # later its threads are gone, and to close it may wait for them for ever
    context.eval((files("headscope.views") / "static" / "still.js").read_text(encoding="utf-8"))
    return context


@functools.cache
def _converter() -> Any:
    convert = module("vl_convert")
    convert.register_font_directory(str(files("headscope.views") / "static"))
    return convert
