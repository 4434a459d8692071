"""Do two groups of inputs differ? Permutation tests, many figures at once.

What is permuted are the labels of inputs. Where inputs come in documents, those of one document keep together: labels
of documents of one group are permuted among these documents; in documents that have inputs of both groups, labels of
inputs are permuted within each document; both in the same permutation. A figure that some inputs do not have is tested
on those that have it, with the labels of those alone; all figures use the same random ranks, so that they keep their
dependence.

What is tested by that is that figures have the same distribution in both groups. Groups that differ in spread or
in skewness, as short texts and long ones do, are found as well, though their means be equal: `headscope.measures.
bootstrap` tests the means. The statistic is the difference over its standard error, and p is two-sided: (1 +
permutations at least as extreme) / (1 + permutations).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headscope.core.arrays import AnyFloats, Bools, Floats, Ints, Singles, quiet
from headscope.errors import InputError
from headscope.statistics.design import Design, flat, patterns, shape_of
from headscope.statistics.jackknife import false_discovery, p_value

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


_TINY = 1e-20  # of a figure's own spread, squared: what is below it is rounding


def permute(
    values: AnyFloats,
    design: Design,
    family: Ints | None = None,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Tested:
    """Test every figure by permuting labels, vectorised.

    Args:
        values: ``[input figure]``, NaN where an input has no such figure.
        design: groups and documents.
        family: the number of each figure's family, such as its head; by default all are of one. Figures that fewer
            than `FEW` units of a group have are a family of their own beside it.
        permutations: at least as many as there are families times 40 are made, so that a family that differs can be
            found whatever their number.
        seed: of the permutations.

    NaN for figures of which a group has fewer than two inputs.
    """
    inputs, width = shape_of(values, design)
    parts = [
        (columns, _PermutedPart(values[np.ix_(there, columns)], there, design))
        for there, columns in patterns(values)
    ]

    return against(parts, family, width, lambda count: randoms(inputs, width, count, seed), permutations)


def nearer(distances: Floats, member: Floats, *, permutations: int, seed: int = 0) -> float:
    """One-sided p that things of one group are no nearer to each other than to those of others.

    Groups are drawn anew for all things, keeping their sizes and the distances; what is compared is the sum of the
    distances within groups.

    Args:
        distances: ``[thing thing]``, symmetric.
        member: 1 where a thing is of a group, ``[thing group]``.
        permutations, seed: of the draws.
    """
    observed = float((member * (distances @ member)).sum())
    draw = np.random.default_rng(seed)
    tolerance = TIE * abs(observed)
    as_near = 0
    step = max(1, (1 << 22) // member.size)
    for start in range(0, permutations, step):
        count = min(step, permutations - start)
        orders = draw.permuted(np.tile(np.arange(len(distances)), (count, 1)), axis=1)
        drawn = member[orders]  # [permutation thing group]
        as_near += int(((drawn * (distances @ drawn)).sum((1, 2)) <= observed + tolerance).sum())
    return float(p_value(as_near, permutations))


class _PermutedPart:
    """The figures that the same inputs have, by units that are permuted.

    A unit is a document of one group, of stratum 0, or an input of a document of both groups, which is its stratum.
    """

    def __init__(self, values: AnyFloats, there: Bools, design: Design) -> None:
        part = design.take(there)
        self.few: bool | Bools
        self.tested, self.few, self.least = part is not None, True, 0.0
        if part is None:
            return
        figures = np.asarray(values, np.float64)
        self._flat = flat(figures)
        figures = figures - figures.mean(0)
        size = np.abs(figures).max(0)
        figures = figures / np.where(size > 0, size, 1.0)
        place = np.flatnonzero(there)
        _, first, document = np.unique(design.document, return_index=True, return_inverse=True)
        # Random ranks are of inputs: a unit's is that of the input, or of the first input of the document.
        ranked = np.where(part.mixed, place, first[document[there]])
        self._input, first_input, unit = np.unique(ranked, return_index=True, return_inverse=True)
        within = part.mixed[first_input]
        self._stratum = np.where(within, 1 + document[there][first_input], 0)
        self._n = np.bincount(unit).astype(np.float64)
        self._sums = np.zeros((len(first_input), figures.shape[1]))
        np.add.at(self._sums, unit, figures)
        self._clusters = np.where(within, 0.0, self._n)
        self._products = self._sums * self._clusters[:, None]
        self._squares = self._sums**2
        self._squares[within] = _within(self._sums[within], self._stratum[within]) ** 2
        self._total = self._squares.sum(0)
        self.labels = part.second[first_input]
        self.few = min(int(self.labels.sum()), int((~self.labels).sum())) < FEW
        self._sorted = self.labels[np.argsort(self._stratum, kind="stable")]

    def observed(self) -> Floats:
        """The statistic of the labels as they are, ``[figure]``."""
        return self.statistic(self.labels[None])[0]

    def drawn(self, block: Singles) -> Floats:
        """The statistic of permuted labels, given ranks of inputs ``[permutation input]``; ``[permutation figure]``."""
        return self.statistic(self.permuted(block))

    def permuted(self, ranks: Singles) -> Bools:
        """Labels of the units ``[permutation unit]``: within a stratum the last in rank are of the second group."""
        keys = ranks[:, self._input]
        labels = np.zeros(keys.shape, np.bool_)
        if self._stratum.any():
            keys = keys + self._stratum.astype(np.float64)
            np.put_along_axis(labels, np.argsort(keys, axis=1), self._sorted[None], axis=1)
        else:
            first = int((~self.labels).sum())
            np.put_along_axis(labels, np.argpartition(keys, first, axis=1)[:, first:], True, axis=1)
        return labels

    def statistic(self, labels: Bools) -> Floats:
        """The difference over its standard error, squared, ``[permutation figure]``; 0 for figures that do not vary."""
        second = labels.astype(np.float64)
        sums, squares = second @ self._sums, second @ self._squares
        if (self._clusters == 1).all():
            statistics = self._of_inputs(float(second[0].sum()), sums, squares)
        else:
            statistics = self._of_documents(second, sums, squares)
        statistics[:, self._flat] = 0.0
        return statistics

    def _of_inputs(self, n_b: float, sums: Floats, squares: Floats) -> Floats:
        """Where each unit is one input: values have the mean 0, so the first group's sums are −`sums`."""
        n_a = len(self._n) - n_b
        a, b = 1 / (n_a * (n_a - 1)), 1 / (n_b * (n_b - 1))
        np.square(sums, out=sums)
        squares *= b - a
        squares += a * self._total
        squares -= sums * (a / n_a + b / n_b)  # the squared error
        sums *= (1 / n_a + 1 / n_b) ** 2  # the squared difference
        return _ratio(sums, squares)

    def _of_documents(self, second: Floats, sums: Floats, squares: Floats) -> Floats:
        """Where units have several inputs; those of documents of both groups vary about the document's mean."""
        products, n_b = second @ self._products, second @ self._n
        error, nn_b, units = np.zeros_like(sums), second @ self._clusters**2, second.sum(1)
        totals = len(self._n), self._n.sum(), (self._clusters**2).sum()
        for count, n, nn, s, ss, sn in (
            (units, n_b, nn_b, sums, squares, products),
            (
                *(total - part for total, part in zip(totals, (units, n_b, nn_b), strict=True)),
                *(-sums, self._total - squares, self._products.sum(0) - products),
            ),
        ):
            factor = np.where(count > 1, count / np.maximum(count - 1, 1), 1.0) / n**2
            mean = s / n[:, None]
            error += factor[:, None] * (ss - 2 * mean * sn + mean**2 * nn[:, None])
        gap = sums * (1 / n_b + 1 / (totals[1] - n_b))[:, None]
        return _ratio(np.square(gap), error)


def _within(values: Floats, stratum: Ints) -> Floats:
    """Values about the mean of their stratum, ``[unit figure]``."""
    number = np.unique(stratum, return_inverse=True)[1]
    sums = np.zeros((int(number.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, number, values)
    return values - (sums / np.bincount(number)[:, None])[number]


def _ratio(gap: Floats, error: Floats) -> Floats:
    """Squared differences over squared errors; 0 where there is no difference but rounding."""
    np.copyto(error, 0.0, where=error < _TINY)
    np.copyto(gap, 0.0, where=gap < _TINY)
    with quiet():
        gap /= error
    np.copyto(gap, 0.0, where=np.isnan(gap))
    return gap
