"""Paper: how wide it is, and files of matplotlib's figures."""

from __future__ import annotations

import io
from collections.abc import Mapping
from textwrap import wrap
from typing import Any, Literal

from headscope.errors import InputError
from headscope.views import fonts

Kind = Literal["svg", "pdf", "png"]
FORMATS: tuple[Kind, ...] = ("svg", "pdf", "png")

Width = float | Literal["column", "page"]
COLUMN, PAGE = 3.3, 6.9
"""Widths in inches: one column of a paper of two, and the whole text."""

POINTS = 72.0
MARGIN = 6.0


def inches(width: float | str) -> float:
    """A width in inches. Raises `InputError` for one that no paper has."""
    size = {"column": COLUMN, "page": PAGE}.get(width, 0.0) if isinstance(width, str) else float(width)
    if not 1.0 <= size <= 40.0:
        raise InputError(f"width: expected 'column', 'page' or inches from 1 to 40, found {width!r}")
    return size


def wrapped(text: str, longest: float) -> list[str]:
    """A caption in lines of at most about `longest` characters, cut between its parts where they fit on a line."""
    lines: list[str] = []
    for part in text.split(" · "):
        if lines and len(lines[-1]) + len(part) + 3 <= longest:
            lines[-1] += " · " + part
        else:
            lines += wrap(part, max(8, int(longest)))
    return lines


def readable(text: str) -> str:
    """Text without characters that a file of XML cannot hold."""
    return "".join(
        c if c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff" else "\ufffd"
        for c in text
    )


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
