"""A text in sentences: every character is in one."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

Unit = Literal["sentence", "line", "paragraph"]

_ENDS: dict[Unit, re.Pattern[str]] = {
    "sentence": re.compile(r"[.!?…。！？]+[\"'”’)\]]*(?:\s+|(?<=[。！？]))|\n+\s*"),
    "line": re.compile(r"\n\s*"),
    "paragraph": re.compile(r"\n[^\S\n]*\n\s*"),
}


def split(text: str, unit: Unit = "sentence") -> list[tuple[int, int]]:
    """The stretches of a text, start and end by characters, with the white space behind each.

    A sentence ends with its mark and white space, or with a line; an abbreviation before a space ends one too.

    >>> text = "Let x be 2.5. Then?\\n\\nYes!"
    >>> [text[start:end] for start, end in split(text)]
    ['Let x be 2.5. ', 'Then?\\n\\n', 'Yes!']
    """
    ends = [match.end() for match in _ENDS[unit].finditer(text)]
    edges = sorted({0, *ends, len(text)})
    kept: list[tuple[int, int]] = []
    for start, end in pairwise(edges):
        if kept and not text[start:end].strip():
            kept[-1] = (kept[-1][0], end)
        else:
            kept.append((start, end))
    return kept
