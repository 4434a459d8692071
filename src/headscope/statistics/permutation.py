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

import numpy as np

from headscope.core.arrays import AnyFloats, Bools, Floats, Ints, Singles, quiet
from headscope.statistics.design import Design, flat, patterns, shape_of
from headscope.statistics.draws import FEW, PERMUTATIONS, TIE, Tested, against, randoms
from headscope.statistics.significance import p_value

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
