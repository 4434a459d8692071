"""How far the top of a list would be another's: the overlap of two halves of the documents, and who stays in draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints, quiet
from headscope.core.types import AnyMapping
from headscope.statistics.jackknife import LEAST

TOP = 10
"""How many of a list are compared."""

HALVINGS = 1000
"""Random halvings of the documents."""

ALIKE = 0.9
"""The overlap that a corpus should be large enough for."""

FEW = "too few documents: it takes ten, and two heads"
"""Why there is no overlap."""

_NUMBERS = 1 << 22
"""About how many figures are ranked at once."""

Sums = tuple[Floats, Floats]
"""Sums and counts of each document, ``[document head]``: of a list whose scores are Σs / Σn."""


class Overlap(NamedTuple):
    """What two halves of the documents agree on.

    Attributes:
        top: how many of each list are compared.
        share: of them that both lists have, mean over halvings.
        low, high: where the overlap of two other corpora, of half as many documents each, lies (95 %).
        chance: of lists that have nothing to do with one another.
        documents: how many documents there are.
        needed: about how many documents a corpus has to have for two such corpora to agree on `ALIKE`: the odds of
            what they do not share fall with the root of the documents.
    """

    top: int
    share: float
    low: float
    high: float
    chance: float
    documents: int
    needed: float

    def jaccard(self) -> tuple[float, float, float, float]:
        """Share, interval and chance as what both lists have of all that either has."""
        share, low, high, chance = (one / (2 - one) for one in (self.share, self.low, self.high, self.chance))
        return share, low, high, chance


def in_words(overlap: AnyMapping | str) -> str:
    """An `Overlap` as it is kept, or why there is none, in a sentence."""
    if isinstance(overlap, str) or not overlap:
        return f"Overlap of halves: none, since {overlap or FEW}."
    needed = (
        f"; about {overlap['needed']:,.0f} documents for .9" if "needed" in overlap else ""
    )  # older cards say none
    share, low, high, chance = (f"{overlap[of]:.2f}" for of in ("share", "low", "high", "chance"))
    return (
        f"Overlap of the top {overlap['top']} in two halves of {overlap['documents']} documents: {share} "
        f"(of two other corpora {low} to {high}; chance {chance}){needed}."
    )


def overlap(
    s: Floats,
    n: Floats,
    *,
    against: Sums | None = None,
    top: int = TOP,
    draws: int = HALVINGS,
    seed: int = 0,
) -> Overlap | None:
    """The overlap of the heads with the highest scores, ``Σs / Σn`` over documents, in two halves of the documents.

    Args:
        s, n: sums and counts of each document, ``[document head]``.
        against: those of another list, whose highest are taken in the other half; by default of the same.
        top: how many are compared, at most half of the heads.
        draws: random halvings.
        seed: of the draws.

    None with fewer than twice as many documents as a test needs, or with too few heads to choose from.

    >>> s = np.tile(np.arange(40.0), (20, 1))
    >>> overlap(s, np.ones_like(s))
    Overlap(top=10, share=1.0, low=0.95, high=1.0, chance=0.25, documents=20, needed=10.0)
    """
    return overlaps((s, n), [top], against=against, draws=draws, seed=seed)[0]


def overlaps(
    sums: Sums,
    tops: Sequence[int],
    *,
    against: Sums | None = None,
    signed: bool = True,
    draws: int = HALVINGS,
    seed: int = 0,
) -> list[Overlap | None]:
    """The `overlap` of the first of two lists, of several lengths; where scores are not `signed` the largest come
    first, whatever their sign."""
    lists = [sums, sums if against is None else against]
    kept = (lists[0][1].sum(1) > 0) & (lists[1][1].sum(1) > 0)
    lists = [(s[kept], n[kept]) for s, n in lists]
    documents = int(kept.sum())
    there = int(np.isfinite(lists[0][0].sum(0) + lists[1][0].sum(0)).sum())
    tops = [min(top, there // 2) for top in tops]
    if documents < 2 * LEAST or not min(tops):
        return [None for _ in tops]
    first = halvings(documents, draws, seed)
    best = [highest(*one, half, max(tops), signed) for one, half in zip(lists, (first, ~first), strict=True)]
    heads = lists[0][0].shape[1]
    made: list[Overlap | None] = []
    for top in tops:
        one, other = (members(ranked[:, :top], heads) for ranked in best)
        shares = (one & other).sum(1) / top
        share = float(shares.mean())
        # Corpora differ from one another about as much again as halvings of one do; and an overlap is of whole heads.
        wide = 1.96 * math.sqrt(2) * float(shares.std()) + 0.5 / top
        odds = (1 - share) / max(share, 1e-9) * ALIKE / (1 - ALIKE)
        needed = documents / 2 * max(odds, 1.0) ** 2
        ends = max(0.0, share - wide), min(1.0, share + wide)
        made.append(Overlap(top, share, *ends, top / there, documents, needed))
    return made


def held(s: Floats, n: Floats, *, documents: int = 0) -> tuple[Overlap | None, Floats]:
    """The `overlap` of a list, and in which share of draws each head `stays`; NaN where there is no overlap.

    Args:
        s, n: as in `overlap`, or sums and counts of parts of the documents.
        documents: how many documents there are, where these are parts.
    """
    shared = overlap(s, n)
    if shared is None:
        return None, np.nan * s.sum(0)
    together = max(documents, shared.documents) / shared.documents
    shared = shared._replace(documents=max(documents, shared.documents), needed=shared.needed * together)
    return shared, stays(s, n, resamplings(len(s)), [shared.top])[0]


def halvings(documents: int, draws: int = HALVINGS, seed: int = 0) -> Bools:
    """Random halves of the documents, ``[draw document]``."""
    return np.argsort(np.random.default_rng(seed).random((draws, documents)), 1) < documents // 2


def resamplings(
    documents: int, groups: Sequence[object] | None = None, draws: int = HALVINGS, seed: int = 0
) -> Ints:
    """How often each document is drawn when as many are drawn again, ``[draw document]``; groups as wholes."""
    of = np.arange(documents) if groups is None else np.unique(list(map(str, groups)), return_inverse=True)[1]
    count = int(of.max(initial=0)) + 1
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), draws)[:, of]


def stays(
    s: Floats, n: Floats, times: Bools | Ints, tops: Sequence[int] = (TOP,), signed: bool = True
) -> Floats:
    """In which share of draws each head is among the highest, ``[top head]``.

    Args:
        s, n: sums and counts of each document, ``[document head]``.
        times: how often each document counts in a draw, ``[draw document]``: `halvings`, `resamplings`.
        tops: how many are the highest.
        signed: as in `overlaps`.

    >>> s = np.tile(np.arange(4.0), (20, 1))
    >>> stays(s, np.ones_like(s), resamplings(20), [2]).tolist()
    [[0.0, 0.0, 1.0, 1.0]]
    """
    ranked = highest(s, n, times, max(tops), signed)
    return np.stack([members(ranked[:, :top], s.shape[1]).mean(0) for top in tops])


def highest(s: Floats, n: Floats, times: Bools | Ints, top: int, signed: bool = True) -> Ints:
    """The heads with the highest Σs / Σn when each document counts so many `times` ``[draw document]``: ``[draw
    top]``, the highest first."""
    there, s = np.isfinite(s.sum(0)), np.nan_to_num(s)
    ranked: list[Ints] = []
    for part in np.array_split(times.astype(np.float64), max(1, times.shape[0] * s.shape[1] // _NUMBERS)):
        with quiet():
            value = (part @ s) / (part @ n)
        value = np.where(np.isfinite(value) & there, value if signed else np.abs(value), -np.inf)
        ranked.append(np.argsort(-value, axis=1, kind="stable")[:, :top])
    return np.concatenate(ranked)


def members(ranked: Ints, heads: int) -> Bools:
    """Which heads are in each list, ``[draw head]``."""
    among = np.zeros((len(ranked), heads), np.bool_)
    np.put_along_axis(among, ranked, True, 1)
    return among
