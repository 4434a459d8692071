"""Two groups of inputs: which inputs are of which group and document, and how the groups differ, figure by figure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb, prod

import numpy as np

from headscope.core.arrays import AnyFloats, Bools, Floats, Ints, quiet
from headscope.core.counts import plural
from headscope.errors import InputError
from headscope.statistics import jackknife
from headscope.statistics.contrast import contrast

_ROUNDING = 1e-6  # of a figure: values are kept in float32


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
        """The effective documents of each group (`headscope.statistics.jackknife.effective`)."""
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
        return f"labels {self._ways('of ', 'of inputs within ')}"

    @property
    def resampled(self) -> str:
        """What a bootstrap draws anew, in words."""
        if not self.clustered:
            return f"{len(self.document):,} inputs within their group"
        return self._ways("", "", " within their group")

    def _ways(self, of_pure: str, of_mixed: str, kept: str = "") -> str:
        """How many documents of one group, and of both, with what is done to each."""
        pure, mixed = (len(np.unique(self.document[part])) for part in (~self.mixed, self.mixed))
        ways = [f"{of_pure}{plural(pure, 'document')}{kept}"] * (pure > 0)
        ways += [f"{of_mixed}{plural(mixed, 'document')} of both groups"] * (mixed > 0)
        return " and ".join(ways)

    @property
    def least(self) -> float:
        """The smallest p that these labels allow: of all ways to deal them out, that in place, and its opposite."""
        labels = self._strata
        opposite = all(2 * int(stratum.sum()) == len(stratum) for stratum in labels)
        return min(1.0, (1 + opposite) / self.labellings)

    @property
    def labellings(self) -> int:
        """In how many ways the labels can be dealt out."""
        return prod(comb(len(stratum), int(stratum.sum())) for stratum in self._strata)

    @cached_property
    def _strata(self) -> list[Bools]:
        """The labels that are permuted among themselves: of documents of one group, and in each document of both."""
        order = np.argsort(self.document, kind="stable")
        second, mixed = self.second[order], self.mixed[order]
        _, starts = np.unique(self.document[order], return_index=True)
        within = [
            labels for labels, both in zip(np.split(second, starts[1:]), mixed[starts], strict=True) if both
        ]
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
            `headscope.statistics.jackknife.LEAST` effective documents.
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


def differences(values: AnyFloats, design: Design, covariates: Floats | None = None) -> Differences:
    """Compare two groups, figure by figure.

    Args:
        values: ``[input figure]``, NaN where an input has no such figure.
        design: groups and documents.
        covariates: other figures of the inputs that are held equal, ``[input other]``, such as the length.

    The error is the jackknife's over documents (`headscope.statistics.contrast`), Welch's with one input a document;
    the interval is Student's, with its degrees of freedom, and wider where documents are skew.
    """
    _, width = shape_of(values, design)
    first, second, se, effect, low, high = (np.full(width, np.nan) for _ in range(6))
    n_first, n_second = np.zeros(width, np.int64), np.zeros(width, np.int64)
    for there, columns in patterns(values):
        n_second[columns] = int(design.second[there].sum())
        n_first[columns] = int(there.sum()) - n_second[columns]
        if (part := design.take(there)) is None:
            continue
        figures = np.asarray(values[np.ix_(there, columns)], np.float64)
        difference = contrast(
            figures, part.second, part.document, None if covariates is None else covariates[there]
        )
        first[columns], second[columns] = difference.first, difference.second
        gap = difference.first - difference.second
        se[columns], df = difference.error
        documents = df + 1 if min(difference.enough) >= jackknife.LEAST else np.full(len(df), np.nan)
        low[columns], high[columns] = jackknife.interval(
            gap, se[columns], documents, skew=difference.skewness
        )
        free = len(figures) - 2 - (0 if covariates is None else covariates.shape[1])
        with quiet():
            size = gap / np.sqrt(difference.residual / free)
            effect[columns] = np.where(flat(figures), 0.0, (1 - 3 / (4 * free - 1)) * size)
    return Differences(first, second, first - second, se, effect, n_first, n_second, low, high)


def flat(values: Floats) -> Bools:
    """Which figures are the same in all inputs, but for rounding. ``[input figure] -> [figure]``."""
    return np.ptp(values, axis=0) <= _ROUNDING * np.abs(values).max(0)


def patterns(values: AnyFloats) -> Iterator[tuple[Bools, Ints]]:
    """Which inputs have which figures: the inputs ``[input]`` that some figures share, and those figures."""
    there = np.isfinite(values)
    packed = np.packbits(there, axis=0)
    _, index = np.unique(packed, axis=1, return_inverse=True)
    for number in range(int(index.max(initial=-1)) + 1):
        columns = np.flatnonzero(index.ravel() == number)
        yield there[:, columns[0]], columns


def shape_of(values: AnyFloats, design: Design) -> tuple[int, int]:
    """How many inputs and figures there are; raises `InputError` for inputs of another number than the design's."""
    if values.ndim != 2 or len(values) != len(design.second):
        raise InputError(
            f"values: expected [input figure] with {len(design.second)} inputs, found {values.shape}"
        )
    return values.shape[0], values.shape[1]
