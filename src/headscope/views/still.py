"""Static pictures of what an explorer shows, drawn by the page's own code in an engine that needs no browser."""

from __future__ import annotations

import atexit
import base64
import functools
import json
import threading
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast

from headscope.errors import InputError
from headscope.lazy import module
from headscope.views.blobs import Blobs

Kind = Literal["svg", "pdf", "png"]
FORMATS: tuple[Kind, ...] = ("svg", "pdf", "png")

COLUMN, PAGE = 3.3, 6.9
"""Widths in inches: one column of a paper of two, and the whole text."""

DOTS = 96.0
"""Pixels of the page an inch."""

_engine = threading.Lock()


def drawn(
    payload: Mapping[str, Any], blobs: Blobs, *, width: float | str = "page", title: str | None = None
) -> str:
    """What a payload's state shows as SVG, its text real text.

    Args:
        payload: an explorer's, with the state that is drawn; the theme "auto" is light.
        blobs: its arrays. Only those that the picture needs are read.
        width: in inches, or that of a paper's ``column`` (3.3 in) or ``page`` (6.9 in).
        title: printed above.

    Raises:
        InputError: a state that these inputs cannot show.
        MissingError: the extra ``figures`` is not installed.
    """
    asked = {"state": payload["state"], "width": round(inches(width) * DOTS), "title": title or ""}
    with _engine:
        run = _context()
        run.call("headscope.begin", json.dumps(payload), json.dumps(asked))
        while wanted := run.call("headscope.wanted"):
            for name in wanted:
                run.call("headscope.give", name, base64.b64encode(blobs.packed(name)).decode("ascii"))
        outcome = cast("dict[str, str]", run.call("headscope.outcome"))
    if "svg" not in outcome:
        raise InputError(f"state: {outcome.get('error', 'it cannot be drawn')}")
    return outcome["svg"]


def converted(svg: str, kind: Kind, dots: float = 300.0) -> bytes:
    """An SVG as a file of a kind; `dots` an inch, of a png."""
    if kind == "svg":
        return svg.encode()
    convert = _converter()
    if kind == "pdf":
        return convert.svg_to_pdf(svg)
    return convert.svg_to_png(svg, scale=dots / DOTS, ppi=72)


def inches(width: float | str) -> float:
    """A width in inches. Raises `InputError` for one that no paper has."""
    found = (
        {"column": COLUMN, "page": PAGE, "text": PAGE}.get(width, 0.0)
        if isinstance(width, str)
        else float(width)
    )
    if not 1.0 <= found <= 40.0:
        raise InputError(f"width: expected 'column', 'page' or inches from 1 to 40, found {width!r}")
    return found


@functools.cache
def _context() -> Any:
    """The engine with the page's drawing in it: some 10 MB, kept, as to start it takes longer than a picture."""
    context = module("py_mini_racer").MiniRacer()
    atexit.register(context.close)  # later its threads are gone, and to close it may wait for them for ever
    context.eval((files("headscope.views") / "static" / "still.js").read_text(encoding="utf-8"))
    return context


@functools.cache
def _converter() -> Any:
    convert = module("vl_convert")
    convert.register_font_directory(str(Path(str(files("headscope.views") / "static"))))
    return convert
