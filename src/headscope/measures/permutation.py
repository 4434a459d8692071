"""Do two groups of inputs differ? Differences, errors, effects and permutation tests, many figures at once.

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
from functools import cached_property
from math import comb, prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from headscope.errors import InputError
from headscope.measures import jackknife
from headscope.measures.contrast import contrast
from headscope.measures.significance import false_discovery, p_value

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PERMUTATIONS = 20_000
"""How often labels are permuted, at least."""

FEW = 8
"""Figures of fewer units in a group have statistics with long tails: they are a family beside that of the others."""

_CELLS = 1 << 15  # statistics, or random numbers, that are held at a time
_TINY = 1e-20  # of a figure's own spread, squared: what is below it is rounding
_ROUNDING = 1e-6  # of a figure: values are kept in float32
_TIE = 1e-9


@dataclass(frozen=True)
class Design:
    """Which inputs are of which group and document.

    Attributes:
        second: inputs of the second group, ``[input]``.
        document: the number of each input's document, ``[input]``.
    """

    second: Bools
    document: Ints

    def __post_init__(self) -> None:
        if self.second.shape != self.document.shape or self.second.ndim != 1:
            raise InputError(
                f"design, axis input: expected a group and a document each, found {self.second.shape} and "
                f"{self.document.shape}"
            )
        for name, count in (("first", int((~self.second).sum())), ("second", int(self.second.sum()))):
            if count < 2:
                raise InputError(f"groups: expected at least 2 inputs in each, found {count} in the {name}")

    @cached_property
    def mixed(self) -> Bools:
        """Inputs of documents that have inputs of both groups, ``[input]``."""
        both = np.intersect1d(self.document[self.second], self.document[~self.second])
        return np.isin(self.document, both)

    @property
    def effective(self) -> tuple[float, float]:
        """The effective documents of each group (`headscope.measures.jackknife.effective`)."""
        index = np.unique(self.document, return_inverse=True)[1]
        first, second = (np.bincount(index, self.second == group) for group in (False, True))
        return float(jackknife.effective(first)), float(jackknife.effective(second))

    @property
    def clustered(self) -> bool:
        """Whether a document has several inputs."""
        return len(np.unique(self.document)) < len(self.document)

    @property
    def permuted(self) -> str:
        """What is permuted, in words: how many documents in which way."""
        if not self.clustered:
            return f"labels of {len(self.document):,} inputs"
        pure, mixed = (len(np.unique(self.document[part])) for part in (~self.mixed, self.mixed))
        ways = [f"of {_many(pure, 'document')}"] * (pure > 0)
        ways += [f"of inputs within {_many(mixed, 'document')} of both groups"] * (mixed > 0)
        return f"labels {' and '.join(ways)}"

    @property
    def resampled(self) -> str:
        """What a bootstrap draws anew, in words."""
        if not self.clustered:
            return f"{len(self.document):,} inputs within their group"
        pure, mixed = (len(np.unique(self.document[part])) for part in (~self.mixed, self.mixed))
        ways = [f"{_many(pure, 'document')} within their group"] * (pure > 0)
        ways += [f"{_many(mixed, 'document')} of both groups"] * (mixed > 0)
        return " and ".join(ways)

    @property
    def least(self) -> float:
        """The smallest p that these labels allow: of all ways to deal them out, that in place, and its opposite."""
        labels = self._strata
        opposite = all(2 * int(own.sum()) == len(own) for own in labels)
        return min(1.0, (1 + opposite) / self.labellings)

    @property
    def labellings(self) -> int:
        """In how many ways the labels can be dealt out."""
        return prod(comb(len(own), int(own.sum())) for own in self._strata)

    @cached_property
    def _strata(self) -> list[Bools]:
        """The labels that are permuted among themselves: of documents of one group, and in each document of both."""
        order = np.argsort(self.document, kind="stable")
        second, mixed = self.second[order], self.mixed[order]
        _, starts = np.unique(self.document[order], return_index=True)
        within = [own for own, both in zip(np.split(second, starts[1:]), mixed[starts], strict=True) if both]
        return [second[starts[~mixed[starts]]], *within]

    def take(self, inputs: Bools) -> Design | None:
        """Some of the inputs; None where a group has fewer than two of them."""
        second = self.second[inputs]
        if min(int(second.sum()), int((~second).sum())) < 2:
            return None
        return Design(second, self.document[inputs])


@dataclass(frozen=True, eq=False)
class Differences:
    """Figures of two groups, ``[figure]`` each; NaN where a group has fewer than two inputs with the figure.

    Attributes:
        first, second: means over the inputs of each group; with other figures beside, at their mean.
        difference: the first minus the second.
        se: its standard error by document.
        effect: Hedges' g: the difference over the pooled standard deviation of inputs, times 1 − 3 / (4 (n − 2) − 1).
        n_first, n_second: inputs that have the figure.
        low, high: the ends of a 95 % interval of the difference; NaN where a group has fewer than
            `headscope.measures.jackknife.LEAST` effective documents.
    """

    first: Floats
    second: Floats
    difference: Floats
    se: Floats
    effect: Floats
    n_first: Ints
    n_second: Ints
    low: Floats
    high: Floats


def differences(
    values: npt.NDArray[np.floating], design: Design, beside: Floats | None = None
) -> Differences:
    """Compare two groups, figure by figure.

    Args:
        values: ``[input figure]``, NaN where an input has no such figure.
        design: groups and documents.
        beside: other figures of the inputs that are held equal, ``[input other]``, such as the length.

    The error is the jackknife's over documents (`headscope.measures.contrast`), Welch's with one input a document; the
    interval is Student's, with its degrees of freedom.
    """
    _, width = shape_of(values, design)
    first, second, se, effect, low, high = (np.full(width, np.nan) for _ in range(6))
    n_first, n_second = np.zeros(width, np.int64), np.zeros(width, np.int64)
    for there, columns in patterns(values):
        n_second[columns] = int(design.second[there].sum())
        n_first[columns] = int(there.sum()) - n_second[columns]
        if (part := design.take(there)) is None:
            continue
        own = np.asarray(values[np.ix_(there, columns)], np.float64)
        found = contrast(own, part.second, part.document, None if beside is None else beside[there])
        first[columns], second[columns] = found.first, found.second
        gap = found.first - found.second
        se[columns], df = found.error
        documents = df + 1 if min(found.enough) >= jackknife.LEAST else np.full(len(df), np.nan)
        low[columns], high[columns] = jackknife.interval(gap, se[columns], documents)
        free = len(own) - 2 - (0 if beside is None else beside.shape[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            size = gap / np.sqrt(found.residual / free)
            effect[columns] = np.where(flat(own), 0.0, (1 - 3 / (4 * free - 1)) * size)
    return Differences(first, second, first - second, se, effect, n_first, n_second, low, high)


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


def permute(
    values: npt.NDArray[np.floating],
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
        (columns, _Part(values[np.ix_(there, columns)], there, design)) for there, columns in patterns(values)
    ]

    return against(parts, family, width, lambda count: randoms(inputs, width, count, seed), permutations)


class Part(Protocol):
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

    def drawn(self, block: npt.NDArray[Any]) -> Floats:
        """What each draw of a block of random numbers gives, ``[draw figure]``."""
        ...


def against(
    parts: Sequence[tuple[Ints, Part]],
    family: Ints | None,
    width: int,
    blocks: Callable[[int], Iterator[npt.NDArray[Any]]],
    draws: int,
) -> Tested:
    """Hold what was observed against draws.

    Args:
        parts: figures by their numbers.
        family: the number of each figure's family; by default all are of one.
        width: how many figures there are.
        blocks: gives the random numbers of so many draws, some at a time.
        draws: how many at least; more where there are many families (see `permute`).
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
    bar = observed - _TIE * np.where(np.isfinite(observed), observed, 0.0)
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
    for place, own in enumerate(members):
        together[place] = draws - np.searchsorted(most[:, own], bar[place])
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
    families = [known & (family == one) for one in np.unique(family[known])]
    least = np.array([within[members].min() for members in families])
    for place, members in enumerate(families):
        p = np.tile(least, (int(members.sum()), 1))
        p[:, place] = within[members]  # each figure beside the least of the other families
        q[members] = false_discovery(p)[:, place]
    return q


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
    tolerance = _TIE * abs(observed)
    as_near = 0
    step = max(1, (1 << 22) // member.size)
    for start in range(0, permutations, step):
        count = min(step, permutations - start)
        orders = draw.permuted(np.tile(np.arange(len(distances)), (count, 1)), axis=1)
        drawn = member[orders]  # [permutation thing group]
        as_near += int(((drawn * (distances @ drawn)).sum((1, 2)) <= observed + tolerance).sum())
    return float(p_value(as_near, permutations))


def flat(values: Floats) -> Bools:
    """Which figures are the same in all inputs, but for rounding. ``[input figure] -> [figure]``."""
    return np.ptp(values, axis=0) <= _ROUNDING * np.abs(values).max(0)


def patterns(values: npt.NDArray[np.floating]) -> Iterator[tuple[Bools, Ints]]:
    """Which inputs have which figures: the inputs ``[input]`` that some figures share, and those figures."""
    there = np.isfinite(values)
    packed = np.packbits(there, axis=0)
    _, index = np.unique(packed, axis=1, return_inverse=True)
    for number in range(int(index.max(initial=-1)) + 1):
        columns = np.flatnonzero(index.ravel() == number)
        yield there[:, columns[0]], columns


class _Part:
    """The figures that the same inputs have, by units that are permuted.

    A unit is a document of one group, of stratum 0, or an input of a document of both groups, which is its stratum.
    """

    def __init__(self, values: npt.NDArray[np.floating], there: Bools, design: Design) -> None:
        part = design.take(there)
        self.few: bool | Bools
        self.tested, self.few, self.least = part is not None, True, 0.0
        if part is None:
            return
        own = np.asarray(values, np.float64)
        self._flat = flat(own)
        own = own - own.mean(0)
        size = np.abs(own).max(0)
        own = own / np.where(size > 0, size, 1.0)
        place = np.flatnonzero(there)
        _, first, document = np.unique(design.document, return_index=True, return_inverse=True)
        # Random ranks are of inputs: a unit's is that of the input, or of the first input of the document.
        ranked = np.where(part.mixed, place, first[document[there]])
        self._input, one, unit = np.unique(ranked, return_index=True, return_inverse=True)
        within = part.mixed[one]
        self._stratum = np.where(within, 1 + document[there][one], 0)
        self._n = np.bincount(unit).astype(np.float64)
        self._sums = np.zeros((len(one), own.shape[1]))
        np.add.at(self._sums, unit, own)
        self._clusters = np.where(within, 0.0, self._n)
        self._products = self._sums * self._clusters[:, None]
        self._squares = self._sums**2
        self._squares[within] = _within(self._sums[within], self._stratum[within]) ** 2
        self._total = self._squares.sum(0)
        self.labels = part.second[one]
        self.few = min(int(self.labels.sum()), int((~self.labels).sum())) < FEW
        self._sorted = self.labels[np.argsort(self._stratum, kind="stable")]

    def observed(self) -> Floats:
        """The statistic of the labels as they are, ``[figure]``."""
        return self.statistic(self.labels[None])[0]

    def drawn(self, block: npt.NDArray[np.float32]) -> Floats:
        """The statistic of permuted labels, given ranks of inputs ``[permutation input]``; ``[permutation figure]``."""
        return self.statistic(self.permuted(block))

    def permuted(self, ranks: npt.NDArray[np.float32]) -> Bools:
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
        whole = len(self._n), self._n.sum(), (self._clusters**2).sum()
        for count, n, nn, s, ss, sn in (
            (units, n_b, nn_b, sums, squares, products),
            (
                *(each - part for each, part in zip(whole, (units, n_b, nn_b), strict=True)),
                *(-sums, self._total - squares, self._products.sum(0) - products),
            ),
        ):
            factor = np.where(count > 1, count / np.maximum(count - 1, 1), 1.0) / n**2
            mean = s / n[:, None]
            error += factor[:, None] * (ss - 2 * mean * sn + mean**2 * nn[:, None])
        gap = sums * (1 / n_b + 1 / (whole[1] - n_b))[:, None]
        return _ratio(np.square(gap), error)


def _within(values: Floats, stratum: Ints) -> Floats:
    """Values about the mean of their stratum, ``[unit figure]``."""
    number = np.unique(stratum, return_inverse=True)[1]
    sums = np.zeros((int(number.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, number, values)
    return values - (sums / np.bincount(number)[:, None])[number]


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _ratio(gap: Floats, error: Floats) -> Floats:
    """Squared differences over squared errors; 0 where there is no difference but rounding."""
    np.copyto(error, 0.0, where=error < _TINY)
    np.copyto(gap, 0.0, where=gap < _TINY)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap /= error
    np.copyto(gap, 0.0, where=np.isnan(gap))
    return gap


def randoms(units: int, width: int, draws: int, seed: int) -> Iterator[npt.NDArray[np.float32]]:
    """Random numbers from 0 to 1, ``[draw unit]``, for as many draws of `width` figures as stay in the cache."""
    draw = np.random.default_rng(seed)
    step = max(16, min(_CELLS // units, _CELLS // width))
    for start in range(0, draws, step):
        yield draw.random((min(step, draws - start), units), np.float32)


def shape_of(values: npt.NDArray[np.floating], design: Design) -> tuple[int, int]:
    """How many inputs and figures there are; raises `InputError` for inputs of another number than the design's."""
    if values.ndim != 2 or len(values) != len(design.second):
        raise InputError(
            f"values: expected [input figure] with {len(design.second)} inputs, found {values.shape}"
        )
    return values.shape[0], values.shape[1]
