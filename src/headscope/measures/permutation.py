"""Do two groups of inputs differ? Differences, errors, effects and permutation tests, many figures at once.

What is permuted are the labels of inputs; where inputs come in documents, the inputs of one document keep together: as
long as each document is of one group, labels are permuted among documents; where documents have inputs of both groups,
labels are permuted within each document. A figure that some inputs do not have is tested on those that have it, with
the labels of those alone; all figures use the same random ranks, so that they keep their dependence.

The statistic is the difference over its standard error, so that groups may differ in variance (Janssen 1997; Chung and
Romano 2013), and p is two-sided: (1 + permutations at least as extreme) / (1 + permutations).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headscope.errors import InputError
from headscope.measures.significance import false_discovery, p_value

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PERMUTATIONS = 20_000
"""How often labels are permuted, at least."""

FEW = 8
"""Figures of fewer units in a group have statistics with long tails: they are a family beside that of the others."""

_CELLS = 1 << 18  # statistics, or random ranks, that are held at a time
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

    @property
    def mixed(self) -> bool:
        """Whether a document has inputs of both groups."""
        return len(np.unique(self.document[self.second])) + len(np.unique(self.document[~self.second])) > len(
            np.unique(self.document)
        )

    @property
    def clustered(self) -> bool:
        """Whether a document has several inputs."""
        return len(np.unique(self.document)) < len(self.document)

    @property
    def permuted(self) -> str:
        """What is permuted, in words."""
        if not self.clustered:
            return "labels of inputs"
        return "labels of inputs within their document" if self.mixed else "labels of documents"

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
        first, second: means over the inputs of each group.
        difference: the first minus the second.
        se: its standard error; by document where documents have several inputs.
        effect: Hedges' g: the difference over the pooled standard deviation of inputs, times 1 − 3 / (4 (n − 2) − 1).
        n_first, n_second: inputs that have the figure.
    """

    first: Floats
    second: Floats
    difference: Floats
    se: Floats
    effect: Floats
    n_first: Ints
    n_second: Ints


def differences(values: npt.NDArray[np.floating], design: Design) -> Differences:
    """Compare two groups, figure by figure. ``values[input figure]``, NaN where an input has no such figure.

    With one input a document the error is Welch's; else documents are the clusters of its sandwich, with the factor
    D / (D − 1) of each group's documents.
    """
    _, width = _shape(values, design)
    first, second, se, effect = (np.full(width, np.nan) for _ in range(4))
    n_first, n_second = np.zeros(width, np.int64), np.zeros(width, np.int64)
    for there, columns in patterns(values):
        part = design.take(there)
        a, b = design.second[there] == 0, design.second[there]
        n_first[columns], n_second[columns] = int(a.sum()), int(b.sum())
        if part is None:
            continue
        own = np.asarray(values[np.ix_(there, columns)], np.float64)
        first[columns], second[columns] = own[a].mean(0), own[b].mean(0)
        se[columns] = _error(own, part)
        spread = np.sqrt((own[a].var(0) * a.sum() + own[b].var(0) * b.sum()) / (len(own) - 2))
        gap = first[columns] - second[columns]
        small = 1 - 3 / (4 * (len(own) - 2) - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            effect[columns] = np.where(flat(own), 0.0, small * gap / spread)
    return Differences(first, second, first - second, se, effect, n_first, n_second)


@dataclass(frozen=True, eq=False)
class Tested:
    """Permutation tests of figures in families.

    Attributes:
        p: of each figure alone, ``[figure]``.
        within: of each figure, adjusted for all figures of its family by the largest statistic in each permutation
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
    inputs, width = _shape(values, design)
    if permutations < 1:
        raise InputError(f"permutations: expected at least 1, found {permutations}")
    members = np.unique(np.zeros(width, np.int64) if family is None else family, return_inverse=True)[1]
    if members.shape != (width,):
        raise InputError(f"family, axis figure: expected {width} numbers, found {members.shape}")
    groups = list(patterns(values))
    parts = [(columns, _Part(values[np.ix_(there, columns)], there, design)) for there, columns in groups]
    few = np.zeros(width, np.int64)
    for columns, part in parts:
        few[columns] = part.few
    members = np.unique(2 * members + few, return_inverse=True)[1]
    order = np.argsort(members, kind="stable")  # figures of a family stand together
    starts = np.flatnonzero(np.diff(members[order], prepend=-1))
    permutations = max(permutations, 40 * len(starts))
    known = [(columns, part) for columns, part in parts if part.tested]
    observed = np.full(width, np.nan)
    for columns, part in known:
        observed[columns] = part.statistic(part.labels[None])[0]
    tested = ~np.isnan(observed)
    bar = observed - _TIE * np.where(np.isfinite(observed), observed, 0.0)
    alone = np.zeros(width)
    most = np.empty((permutations, len(starts)))
    done = 0
    for ranks in _ranks(inputs, width, permutations, seed):
        drawn = np.full((len(ranks), width), -1.0)
        for columns, part in known:
            drawn[:, columns] = part.statistic(part.permuted(ranks))
        alone += (drawn >= bar).sum(0)
        most[done : done + len(ranks)] = np.maximum.reduceat(drawn[:, order], starts, axis=1)
        done += len(ranks)
    most.sort(axis=0)
    together = np.empty(width)
    for place, own in enumerate(members):
        together[place] = permutations - np.searchsorted(most[:, own], bar[place])
    p, within = (np.where(tested, p_value(count, permutations), np.nan) for count in (alone, together))
    return Tested(p, within, adjusted(within, members), permutations)


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
    """The figures that the same inputs have, by units that are permuted: documents, or inputs."""

    def __init__(self, values: npt.NDArray[np.floating], there: Bools, design: Design) -> None:
        part = design.take(there)
        self.tested, self.few = part is not None, True
        if part is None:
            return
        own = np.asarray(values, np.float64)
        self._flat = flat(own)
        own = own - own.mean(0)
        size = np.abs(own).max(0)
        own = own / np.where(size > 0, size, 1.0)
        if design.mixed or not design.clustered:
            unit, self._input = np.arange(len(own)), np.flatnonzero(there)
            stratum = np.unique(part.document, return_inverse=True)[1] if design.mixed else 0 * unit
        else:
            numbers, first = np.unique(design.document, return_index=True)
            documents, unit = np.unique(part.document, return_inverse=True)
            self._input = first[np.searchsorted(numbers, documents)]  # its rank is the document's
            stratum = np.zeros(len(documents), np.int64)
        count = len(self._input)
        self._n = np.bincount(unit, minlength=count).astype(np.float64)
        sums = np.zeros((count, own.shape[1]))
        np.add.at(sums, unit, own)
        self._sums, self._squares, self._products = sums, sums**2, sums * self._n[:, None]
        self._total = self._squares.sum(0)
        self.labels = np.zeros(count, np.bool_)
        self.labels[unit] = part.second
        self.few = min(int(self.labels.sum()), int((~self.labels).sum())) < FEW
        self._stratum = stratum
        self._sorted = self.labels[np.argsort(stratum, kind="stable")]

    def permuted(self, ranks: npt.NDArray[np.float32]) -> Bools:
        """Labels of the units ``[permutation unit]``: within a stratum the last in rank are of the second group."""
        keys = ranks[:, self._input]
        if self._stratum.any():
            keys = keys + self._stratum.astype(np.float64)
        labels = np.zeros(keys.shape, np.bool_)
        if self._stratum.any():
            np.put_along_axis(labels, np.argsort(keys, axis=1), self._sorted[None], axis=1)
        else:
            first = int((~self.labels).sum())
            np.put_along_axis(labels, np.argpartition(keys, first, axis=1)[:, first:], True, axis=1)
        return labels

    def statistic(self, labels: Bools) -> Floats:
        """The difference over its standard error, squared, ``[permutation figure]``; 0 for figures that do not vary."""
        second = labels.astype(np.float64)
        sums, squares = second @ self._sums, second @ self._squares
        if (self._n == 1).all():
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
        products, n_b = second @ self._products, second @ self._n
        error, nn_b, units = np.zeros_like(sums), second @ self._n**2, second.sum(1)
        whole = len(self._n), self._n.sum(), (self._n**2).sum()
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


def _ratio(gap: Floats, error: Floats) -> Floats:
    """Squared differences over squared errors; 0 where there is no difference but rounding."""
    np.copyto(error, 0.0, where=error < _TINY)
    np.copyto(gap, 0.0, where=gap < _TINY)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap /= error
    np.copyto(gap, 0.0, where=np.isnan(gap))
    return gap


def _error(own: Floats, design: Design) -> Floats:
    """The standard error of the difference of two groups' means, by document."""
    influence = np.zeros_like(own)
    for sign, members in ((1.0, ~design.second), (-1.0, design.second)):
        documents = len(np.unique(design.document[members]))
        factor = np.sqrt(documents / (documents - 1)) if documents > 1 else np.nan
        influence[members] = sign * factor * (own[members] - own[members].mean(0)) / members.sum()
    numbers = np.unique(design.document, return_inverse=True)[1]
    sums = np.zeros((int(numbers.max()) + 1, own.shape[1]))
    np.add.at(sums, numbers, influence)
    return np.sqrt((sums**2).sum(0))


def _ranks(inputs: int, width: int, permutations: int, seed: int) -> Iterator[npt.NDArray[np.float32]]:
    """Random ranks of the inputs ``[permutation input]``, as many at a time as stay in the cache."""
    draw = np.random.default_rng(seed)
    step = max(16, min(_CELLS // inputs, _CELLS // width))
    for start in range(0, permutations, step):
        yield draw.random((min(step, permutations - start), inputs), np.float32)


def _shape(values: npt.NDArray[np.floating], design: Design) -> tuple[int, int]:
    if values.ndim != 2 or len(values) != len(design.second):
        raise InputError(
            f"values: expected [input figure] with {len(design.second)} inputs, found {values.shape}"
        )
    return values.shape[0], values.shape[1]
