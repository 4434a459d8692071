"""Parts of sentences: text, and names of heads that open them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from headscope.core.heads import Head
from headscope.views.payload import Part, Reason

NAMED = 5
"""Heads, or relations, named in a sentence; the rest are counted."""


def text(words: str) -> Part:
    """A stretch of text."""
    return Part(text=words, layer=None, head=None, reason=None)


def head_name(head: Head, reason: Reason) -> Part:
    """The name of a head, which opens it where the reason is seen."""
    return Part(text=str(head), layer=head.layer, head=head.head, reason=reason)


def token(piece: str) -> Part:
    """A piece of the vocabulary."""
    return Part(text=piece, layer=None, head=None, reason=None, token=True)


def comma(position: int) -> list[Part]:
    """Before all entries of a list but the first."""
    return [text(", ")] if position else []


def sentence(*parts: str | Part) -> list[Part]:
    """Text, and names of heads."""
    return [text(part) if isinstance(part, str) else part for part in parts]


def by_role(heads: Mapping[str, Sequence[Sequence[Part]]], last: str = "") -> list[Part]:
    """The heads of each role, such as ``previous token L0H2; broad L0H3, L1H0 and 3 more``: most heads first.

    The role `last` stands behind all others.
    """
    parts: list[Part] = []
    for role, names in sorted(heads.items(), key=lambda item: (item[0] == last, -len(item[1]))):
        parts.append(text(f"{'; ' if parts else ''}{role} "))
        for position, name in enumerate(names[:NAMED]):
            parts += [*comma(position), *name]
        if len(names) > NAMED:
            parts.append(text(f" and {len(names) - NAMED} more"))
    return parts


def with_error(value: float, error: float) -> str:
    """A figure and its standard error, both to the error's first digit; two decimals where no error is known.

    >>> with_error(0.2934, 0.0018), with_error(4.51, 0.2), with_error(0.5, float("nan")), with_error(0.5, 0.0)
    ('0.293 ± 0.002', '4.5 ± 0.2', '0.50', '0.50 ± 0')
    """
    if not error > 0:
        return f"{value:.2f}{' ± 0' if error == 0 else ''}"
    places = max(0, -math.floor(math.log10(error)))
    return f"{value:.{places}f} ± {error:.{places}f}"
