"""How far the top of a list of heads would be another's: the overlap of two halves of the documents."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headscope.core.arrays import Bools, Floats, quiet
from headscope.statistics.jackknife import LEAST

TOP = 10
"""How many of a list are compared."""

HALVINGS = 1000
"""Random halvings of the documents."""


class Overlap(NamedTuple):
    """What two halves of the documents agree on.

    Attributes:
        top: how many of each list are compared.
        share: of them that both lists have, mean over halvings.
        low, high: where the overlap of two other corpora, of half as many documents each, lies (95 %).
        chance: of lists that have nothing to do with one another.
        documents: how many documents there are.
    """

    top: int
    share: float
    low: float
    high: float
    chance: float
    documents: int


def overlap(s: Floats, n: Floats, *, top: int = TOP, draws: int = HALVINGS, seed: int = 0) -> Overlap | None:
    """The overlap of the heads with the highest scores, ``Σs / Σn`` over documents, in two halves of the documents.

    Args:
        s, n: sums and counts of each document, ``[document head]``.
        top: how many are compared, at most half of the heads.
        draws: random halvings.
        seed: of the draws.

    None with fewer than twice as many documents as a test needs, or with too few heads to choose from.

    >>> s = np.tile(np.arange(40.0), (20, 1))
    >>> overlap(s, np.ones_like(s))
    Overlap(top=10, share=1.0, low=0.95, high=1.0, chance=0.25, documents=20)
    """
    kept = n.sum(1) > 0
    s, n = s[kept], n[kept]
    documents, heads = s.shape
    there = int(np.isfinite(s.sum(0)).sum())
    top = min(top, there // 2)
    if documents < 2 * LEAST or not top:
        return None
    draw = np.random.default_rng(seed)
    first = np.argsort(draw.random((draws, documents)), 1) < documents // 2  # [draw document]
    chosen: list[Bools] = []
    for half in (first, ~first):
        with quiet():
            value = (half @ np.nan_to_num(s)) / (half @ n)
        value = np.where(np.isfinite(value) & np.isfinite(s.sum(0)), value, -np.inf)
        best = np.argsort(-value, axis=1, kind="stable")[:, :top]
        members = np.zeros((draws, heads), np.bool_)
        np.put_along_axis(members, best, True, 1)
        chosen.append(members)
    shares = (chosen[0] & chosen[1]).sum(1) / top
    share = float(shares.mean())
    # Corpora differ from one another about as much again as halvings of one do; and an overlap is of whole heads.
    wide = 1.96 * math.sqrt(2) * float(shares.std()) + 0.5 / top
    return Overlap(top, share, max(0.0, share - wide), min(1.0, share + wide), top / there, documents)
