"""What was observed held against draws, permutations or others: p, adjusted within families and among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints, Singles
from headscope.errors import InputError
from headscope.statistics.significance import false_discovery, p_value

PERMUTATIONS = 20_000
"""How often labels are permuted, at least."""

FEW = 8
"""Figures of fewer units in a group have statistics with long tails: they are a family beside that of the others."""

TIE = 1e-9
"""A share of what was observed: what is nearer to it counts as just as extreme."""

_CELLS = 1 << 15  # statistics, or random numbers, that are held at a time


@dataclass(frozen=True, eq=False)
class Tested:
    """Tests of figures in families, by permutations or other draws.

    Attributes:
        p: of each figure alone, ``[figure]``.
        within: of each figure, adjusted for all figures of its family by the largest statistic in each draw
            (Westfall and Young 1993), ``[figure]``.
        q: `within`, adjusted for families by Benjamini and Hochberg (1995), where the p of a family is the least of
            its figures', ``[figure]``: of the families in which some q is below a level, a share of at most that level
            is expected to be there by chance.
        permutations: how many there were.
    """

    p: Floats
    within: Floats
    q: Floats
    permutations: int


class FigurePart(Protocol):
    """Figures that the same inputs have, and their statistics.

    Attributes:
        tested: whether both groups have two inputs.
        few: whether fewer than `FEW` units of a group have the figures, or vary in them; of all, or ``[figure]``.
        least: what p is at least.
    """

    tested: bool
    few: bool | Bools
    least: float

    def observed(self) -> Floats:
        """What was observed, at least 0, ``[figure]``; NaN for figures that cannot be tested."""
        ...

    def drawn(self, block: np.ndarray) -> Floats:
        """What each draw of a block of random numbers gives, ``[draw figure]``."""
        ...


def against(
    parts: Sequence[tuple[Ints, FigurePart]],
    family: Ints | None,
    width: int,
    blocks: Callable[[int], Iterator[np.ndarray]],
    draws: int,
) -> Tested:
    """Hold what was observed against draws.

    Args:
        parts: figures by their numbers.
        family: the number of each figure's family; by default all are of one.
        width: how many figures there are.
        blocks: gives the random numbers of so many draws, some at a time.
        draws: how many at least; more where there are many families (see
            `headscope.statistics.permutation.permute`).
    """
    if draws < 1:
        raise InputError(f"permutations: expected at least 1, found {draws}")
    members = np.unique(np.zeros(width, np.int64) if family is None else family, return_inverse=True)[1]
    if members.shape != (width,):
        raise InputError(f"family, axis figure: expected {width} numbers, found {members.shape}")
    few = np.zeros(width, np.int64)
    for columns, part in parts:
        few[columns] = part.few
    members = np.unique(2 * members + few, return_inverse=True)[1]
    order = np.argsort(members, kind="stable")  # figures of a family stand together
    starts = np.flatnonzero(np.diff(members[order], prepend=-1))
    draws = max(draws, 40 * len(starts))
    known = [(columns, part) for columns, part in parts if part.tested]
    observed, least = np.full(width, np.nan), np.zeros(width)
    for columns, part in known:
        observed[columns] = part.observed()
        least[columns] = part.least
    tested = ~np.isnan(observed)
    bar = observed - TIE * np.where(np.isfinite(observed), observed, 0.0)
    alone = np.zeros(width)
    most = np.empty((draws, len(starts)))
    done = 0
    for block in blocks(draws):
        drawn = np.full((len(block), width), -1.0)
        for columns, part in known:
            drawn[:, columns] = part.drawn(block)
        drawn[:, ~tested] = -1.0
        alone += (drawn >= bar).sum(0)
        most[done : done + len(block)] = np.maximum.reduceat(drawn[:, order], starts, axis=1)
        done += len(block)
    most.sort(axis=0)
    together = np.empty(width)
    for place, number in enumerate(members):
        together[place] = draws - np.searchsorted(most[:, number], bar[place])
    p, within = (
        np.where(tested, np.maximum(p_value(count, draws), least), np.nan) for count in (alone, together)
    )
    return Tested(p, within, adjusted(within, members), draws)


def adjusted(within: Floats, family: Ints) -> Floats:
    """q of each figure, given its p adjusted within its family: the least level at which the figure is found.

    Families are found by Benjamini and Hochberg on the least p of each; at a level α at which R of M are found, the
    figures with p ≤ α R / M are (Benjamini and Bogomolov 2014, with family-wise error within families).
    """
    q = np.full(len(within), np.nan)
    known = np.isfinite(within)
    families = [known & (family == number) for number in np.unique(family[known])]
    least = np.array([within[members].min() for members in families])
    for place, members in enumerate(families):
        p = np.tile(least, (int(members.sum()), 1))
        p[:, place] = within[members]  # each figure beside the least of the other families
        q[members] = false_discovery(p)[:, place]
    return q


def randoms(units: int, width: int, draws: int, seed: int) -> Iterator[Singles]:
    """Random numbers from 0 to 1, ``[draw unit]``, for as many draws of `width` figures as stay in the cache."""
    draw = np.random.default_rng(seed)
    step = max(16, min(_CELLS // units, _CELLS // width))
    for start in range(0, draws, step):
        yield draw.random((min(step, draws - start), units), np.float32)
