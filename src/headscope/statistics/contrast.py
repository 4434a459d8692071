"""The difference of two groups' means at equal other figures, and what each document adds to its error.

The model is least squares over inputs: a mean for each group, and a slope for each other figure, such as the length,
that both groups share. The difference is that of the two means. Without other figures it is the plain one.

Its error is the jackknife's (`headscope.statistics.jackknife`): the model is fitted again without each document.
Documents of the first group, of the second and of both are three kinds, each drawn by itself, so the variance is the
sum of theirs, (D − 1) / D · Σ (R₋d − mean R₋)² over the D documents of a kind. Its degrees of freedom are Welch and
Satterthwaite's, with those of each kind by its effective documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints, quiet
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
