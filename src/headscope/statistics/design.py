"""Two groups of inputs: which inputs are of which group and document, and how the groups differ, figure by figure.

`contrast` is the difference of their means at equal other figures, and what each document adds to its error.

The model is least squares over inputs: a mean for each group, and a slope for each other figure, such as the length,
that both groups share. The difference is that of the two means. Without other figures it is the plain one.

Its error is the jackknife's (`headscope.statistics.jackknife`): the model is fitted again without each document.
Documents of the first group, of the second and of both are three kinds, each drawn by itself, so the variance is the
sum of theirs, (D − 1) / D · Σ (R₋d − mean R₋)² over the D documents of a kind. Its degrees of freedom are Welch and
Satterthwaite's, with those of each kind by its effective documents.
"""

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
from headscope.statistics.jackknife import effective

_DIGITS = 9  # of effective documents: five of the same size are five, whatever the rounding
_CELLS = 1 << 22  # products of documents, coefficients and figures that are held at a time


@dataclass(frozen=True, eq=False)
class Contrast:
    """The difference of two groups, figure by figure.

    Attributes:
        first, second: means of the groups, at the mean of the other figures, ``[figure]``; NaN where other figures tell
            the groups apart by themselves.
        residual: the sum of squares that is left, ``[figure]``.
        document: the documents, ``[document]``.
        kind: 0 for documents of the first group, 1 of the second, 2 of both, ``[document]``.
        size: how much of the difference is of each document's inputs, ``[document]``; inputs of a group add up to 1.
        influence: what each document adds to the difference, about the mean of its kind, ``[document figure]``; NaN
            where the difference cannot be known without some document.
        enough: the effective documents of the first and of the second group.
    """

    first: Floats
    second: Floats
    residual: Floats
    document: Ints
    kind: Ints
    size: Floats
    influence: Floats
    enough: tuple[float, float]

    @property
    def error(self) -> tuple[Floats, Floats]:
        """The standard error of the difference and its degrees of freedom, ``[figure]``."""
        variance, spare = np.zeros(self.first.shape), np.zeros(self.first.shape)
        for kind in np.unique(self.kind):
            members = self.kind == kind
            count = int(members.sum())
            part = count / max(count - 1, 1) * (self.influence[members] ** 2).sum(0)
            variance += part
            spare += part**2 / max(_documents(self.size[members]) - 1.0, 1.0)
        with quiet():
            return np.sqrt(variance), np.round(variance**2 / spare, _DIGITS)

    @property
    def skewness(self) -> Floats:
        """Skewness of the difference over documents, ``[figure]``, from −1 to 1 (`headscope.statistics.jackknife`)."""
        squares = (self.influence**2).sum(0)
        with quiet():
            return np.where(squares > 0, (self.influence**3).sum(0) / squares**1.5, 0.0)


def contrast(values: Floats, second: Bools, document: Ints, covariates: Floats | None = None) -> Contrast:
    """Compare the inputs of two groups.

    Args:
        values: ``[input figure]``, all known.
        second: inputs of the second group, ``[input]``.
        document: the number of each input's document, ``[input]``.
        covariates: other figures of the inputs that are held equal, ``[input other]``.

    Without other figures, and with one input a document, the error is Welch's.
    """
    order = np.argsort(document, kind="stable")
    documents, starts = np.unique(document[order], return_index=True)
    x = _model(second, covariates)[order]
    squares = np.add.reduceat(x[:, :, None] * x[:, None, :], starts)
    gram = squares.sum(0)
    weights = _weights(gram)
    left = _weights(gram - squares)
    figures = values.shape[1]
    means, residual = np.empty((2, figures)), np.empty(figures)
    influence = np.empty((len(documents), figures))
    step = max(1, _CELLS // (len(documents) * x.shape[1]))
    inverse = np.asarray(np.linalg.pinv(gram, hermitian=True), np.float64)
    for start in range(0, figures, step):
        columns = slice(start, start + step)
        y = values[order, columns]
        products = np.empty((len(documents), x.shape[1], y.shape[1]))
        for coefficient in range(x.shape[1]):
            products[:, coefficient] = np.add.reduceat(x[:, [coefficient]] * y, starts)
        total = products.sum(0)
        fitted = inverse @ total
        means[:, columns] = fitted[:2]
        residual[columns] = ((y - x @ fitted) ** 2).sum(0)
        influence[:, columns] = weights @ total - np.einsum("dk,dkf->df", left, total - products)
    if np.isnan(weights).any():
        means[:] = np.nan
    size = np.abs(x @ weights)
    of_group = [np.add.reduceat(size * (second[order] == group), starts) for group in (False, True)]
    held = [np.add.reduceat(second[order] == group, starts) > 0 for group in (False, True)]
    kind = np.where(held[0] & held[1], 2, np.where(held[1], 1, 0))
    for group in np.unique(kind):
        members = kind == group
        if (count := int(members.sum())) > 1:
            influence[members] -= influence[members].mean(0)
            influence[members] *= (count - 1) / count
    return Contrast(
        first=means[0],
        second=means[1],
        residual=residual,
        document=documents,
        kind=kind,
        size=of_group[0] + of_group[1],
        influence=influence,
        enough=(_documents(of_group[0]), _documents(of_group[1])),
    )


def _documents(size: Floats) -> float:
    """The effective documents of these sizes."""
    return round(float(effective(size)), _DIGITS)


def _model(second: Bools, covariates: Floats | None) -> Floats:
    """What values are explained by, ``[input coefficient]``: the groups, then other figures about their means."""
    groups = np.stack([~second, second], axis=1).astype(np.float64)
    if covariates is None:
        return groups
    other = covariates - covariates.mean(0)
    size = np.sqrt((other**2).mean(0))
    return np.hstack([groups, other / np.where(size > 0, size, 1.0)])


def _weights(squares: Floats) -> Floats:
    """How the difference is made of products with the model, ``[... coefficient coefficient] -> [... coefficient]``.

    NaN where it cannot be known: a group has no input, or other figures tell the groups apart by themselves.
    """
    target = np.zeros(squares.shape[-1])
    target[:2] = 1.0, -1.0
    weights = np.linalg.pinv(squares, rcond=1e-10, hermitian=True) @ target
    there: Floats = np.einsum("...kl,...l->...k", squares, weights)
    wrong = np.abs(there - target).max(-1, keepdims=True)
    return np.where(wrong < 1e-6, weights, np.nan)


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

    The error is the jackknife's over documents, Welch's with one input a document;
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
