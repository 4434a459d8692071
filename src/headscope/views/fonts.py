"""Which installed font has which character, so that pictures print every script that this machine can print."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from headscope.core.lazy import matplotlib

FOLDER = Path(__file__).parent / "static"
"""Where the fonts of the page stand for what is no page."""

FAMILIES = ("Inter", "Helvetica Neue", "Helvetica", "Arial", "Liberation Sans", "DejaVu Sans")
"""Fonts by preference; for what they lack, any other font of the system that has it."""

_INVISIBLE = {"Cf", "Cc", "Mn", "Zs", "Zl", "Zp"}
"""Categories of characters that need no glyph of their own."""

_UNLIKE = ("Last Resort", "Emoji Color", "Color Emoji", "Apple Color")
"""Fonts of placeholders, and of coloured bitmaps, which matplotlib cannot draw."""


@contextmanager
def quietly() -> Generator[None]:
    """Silence matplotlib's warning for each glyph and each drawing; `complaint` says it once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+")
        warnings.filterwarnings("ignore", "Matplotlib currently does not support")
        yield


@cache
def installed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some families that are installed, in their order."""
    known = {entry.name for entry in _manager().ttflist}
    return tuple(name for name in names if name in known)


def covering(families: tuple[str, ...], text: str) -> list[str]:
    """These families, and after them those that have what they lack of a text."""
    more = [_other(character) for character in sorted(_uncovered(families, text))]
    return [*families, *dict.fromkeys(family for family in more if family)]


def lacking(families: tuple[str, ...], text: str) -> set[str]:
    """The characters of a text that no installed font has."""
    return {character for character in _uncovered(families, text) if not _other(character)}


def complaint(characters: Sequence[str] | set[str]) -> str:
    """One sentence on characters that cannot be drawn."""
    shown = sorted(characters)
    names = " ".join(shown[:12]) + (f" and {len(shown) - 12} more" if len(shown) > 12 else "")
    return (
        f"no font on this machine has {names}: a box stands in their place "
        "(install a font that has them, such as Noto, or save as .svg or .html, which take the reader's fonts)"
    )


def _uncovered(families: tuple[str, ...], text: str) -> set[str]:
    if text.isascii():
        return set()
    return {
        character
        for character in set(text)
        if not character.isascii()
        and unicodedata.category(character) not in _INVISIBLE
        and not any(ord(character) in _characters(family) for family in families)
    }


@cache
def _other(character: str) -> str:
    """A family that has a character, a sans-serif one if there is one; empty where none has it."""
    names = {entry.name for entry in _manager().ttflist}
    for name in sorted(names, key=lambda name: ("Sans" not in name, len(name), name)):
        if not any(part in name for part in _UNLIKE) and ord(character) in _characters(name):
            return name
    return ""


@cache
def _characters(family: str) -> frozenset[int]:
    """The code points that a family has; none where its file cannot be read."""
    files = [entry.fname for entry in _manager().ttflist if entry.name == family and entry.style == "normal"]
    try:
        return frozenset(matplotlib().font_manager.get_font(files[0]).get_charmap())
    except (IndexError, OSError, RuntimeError, ValueError):
        return frozenset()


@cache
def _manager() -> Any:
    manager = matplotlib().font_manager.fontManager
    for file in sorted(FOLDER.glob("*.ttf")):
        manager.addfont(file)
    return manager
