"""How far a head looks, and at which end of an input: shares of attention by distance and by position.

A distance is counted in tokens from the query; ranges of distances double, since most attention is near. From two
tokens on, ranges leave out the first token of the input: a head that rests there (Xiao et al. 2023) would seem to look
as far as that happens to be. It has a figure of its own, ``first``.
"""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from headscope.core.arrays import Bools, Ints
from headscope.core.tokens import Tokens
from headscope.measures.measure import Measure

EARLY = 4
"""So many first tokens are sinks, together with the first: what Xiao et al. 2023 keep of a long text."""

_RANGE = re.compile(r"offset([+-]\d{1,9})\.\.([+-]\d{1,9})")
_TOKENS = re.compile(r"tokens([1-9]\d{0,8})\.\.([1-9]\d{0,8})?")


def between(low: int, high: int) -> Measure:
    """The share of attention that goes to keys from `low` to `high` places after the query (before it, below 0).

    The first token of the input is left out.

    Args:
        low, high: offsets of one sign, the lower one first.
    """
    near, far = sorted((abs(low), abs(high)))
    where = "before" if high < 0 else "after"
    return Measure(
        f"offset{low:+d}..{high:+d}",
        f"{near} to {far} {where}",
        f"Mean share of a token's attention that goes to tokens {near} to {far} places {where} it, the first of the "
        "input left out, over the tokens that see such a one.",
        "share",
        None,
        "pairs",
        rows="pairs",
        pairs=partial(_between, low=low, high=high),
    )


def among(first: int, last: int | None) -> Measure:
    """The share of attention that goes to the tokens of an input from its `first` to its `last`, counted from 1.

    Args:
        first, last: of these tokens; None: to the end.
    """
    which = f"{first} on" if last is None else f"{first} to {last}"
    return Measure(
        f"tokens{first}..{'' if last is None else last}",
        f"tokens {which}",
        f"Mean share of a token's attention that goes to the tokens of its input from number {which}, over the tokens "
        "that see such a one.",
        "share",
        None,
        "pairs",
        rows="pairs",
        pairs=partial(_among, first=first, last=last),
    )


def named(name: str) -> Measure | None:
    """The measure of a name such as ``offset-8..-5``, ``tokens2..4`` or ``tokens5..``; None for any other."""
    if match := _RANGE.fullmatch(name):
        low, high = sorted((int(match[1]), int(match[2])))
        return between(low, high) if low * high > 0 else None
    if match := _TOKENS.fullmatch(name):
        first, last = int(match[1]), int(match[2]) if match[2] else None
        return among(first, last) if last is None or first <= last else None
    return None


def distances(most: int, *, causal: bool) -> list[str]:
    """Names of the measures by distance, from the farthest before to the farthest after a query.

    Itself, one place and two places; then ranges that double, up to `most` tokens.

    >>> distances(9, causal=True)
    ['offset-16..-9', 'offset-8..-5', 'offset-4..-3', 'offset-2', 'previous', 'current']
    >>> distances(4, causal=False)[3:]
    ['current', 'next', 'offset+2', 'offset+3..+4']
    """
    ranges: list[tuple[int, int]] = []
    far = 2
    while far < most:
        ranges.append((far + 1, 2 * far))
        far *= 2
    before = [f"offset-{high}..-{low}" for low, high in reversed(ranges)]
    after = [f"offset+{low}..+{high}" for low, high in ranges]
    return [*before, "offset-2", "previous", "current", *([] if causal else ["next", "offset+2", *after])]


def positions() -> list[str]:
    """Names of the measures by position: the first token, other early ones, the rest."""
    return ["first", f"tokens2..{EARLY}", f"tokens{EARLY + 1}.."]


def _between(tokens: Tokens, queries: Ints, *, low: int, high: int) -> Bools:
    place = np.arange(len(tokens))
    offset = place - queries[:, None]
    return (offset >= low) & (offset <= high) & (place > 0)


def _among(tokens: Tokens, queries: Ints, *, first: int, last: int | None) -> Bools:
    place = np.arange(len(tokens))
    meant = (place >= first - 1) & (place < (len(tokens) if last is None else last))
    return np.broadcast_to(meant, (len(queries), len(tokens)))
