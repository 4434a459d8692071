"""Are the means of two groups equal? A studentised bootstrap of documents, many figures at once.

Permuted labels test whether figures have the same distribution in both groups. Means of short texts spread and skew
more than those of long ones; where they do, permutations give a difference the wrong distribution, the more so the
further out one looks, and the largest of many statistics is far out.

Here each document's influence on the difference (`headscope.statistics.design`) is drawn anew with replacement, those
of the first group, of the second and of both by themselves, so that each keeps its spread and its skewness. What is
drawn is divided by its own error, and by Welch and Satterthwaite's degrees of freedom of each draw it is turned into a
normal score, so that figures are alike in their tails before the largest of a family is taken (bootstrap-t: Efron and
Tibshirani 1993, section 12.5; Hall 1992; with the largest statistic: Westfall and Young 1993). Few documents are often
drawn together with too little spread: then p is too large rather than too small. But of a skewed kind few documents
seldom show the tail: p is at least what it takes to draw none of it (`headscope.statistics.jackknife.unseen`), and what
the ways to deal out the labels allow, since a few inputs that are all alike say nothing of their spread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headscope.core.arrays import AnyFloats, Bools, Floats, Ints, Singles, quiet
from headscope.statistics.design import Design, contrast, flat, patterns, shape_of
from headscope.statistics.jackknife import equal, unseen
from headscope.statistics.permutation import FEW, PERMUTATIONS, Tested, against, randoms

_UNSEEN = (
    0.45  # the share of documents of a group that may be unlike the others and not be drawn; by simulation
)
_ALIKE = 1e-9  # of a figure's largest influence
_TINY = 1e-20  # of a figure's largest influence, squared: what is below it is rounding


def least_p(design: Design) -> float:
    """A bound that no p of a test of this design is below."""
    return max(design.least, float(unseen(min(design.effective), _UNSEEN)))


def bootstrap(
    values: AnyFloats,
    design: Design,
    family: Ints | None = None,
    *,
    covariates: Floats | None = None,
    draws: int = PERMUTATIONS,
    seed: int = 0,
) -> Tested:
    """Test every figure for equal means.

    Args:
        values: ``[input figure]``, NaN where an input has no such figure.
        design: groups and documents.
        family: as in `headscope.statistics.permutation.permute`.
        covariates: other figures of the inputs that are held equal, ``[input other]``, such as the length.
        draws: at least so many; more where there are many families.
        seed: of the draws.

    NaN for figures of which a group has fewer than two inputs, or is of one document, and where other figures tell the
    groups apart by themselves.
    """
    _, width = shape_of(values, design)
    documents = np.unique(design.document)
    parts = [
        (columns, _InfluencePart(values[np.ix_(there, columns)], there, design, documents, covariates))
        for there, columns in patterns(values)
    ]
    return against(parts, family, width, lambda count: randoms(len(documents), width, count, seed), draws)


class _InfluencePart:
    """The figures that the same inputs have, by the influence of documents of a kind."""

    def __init__(
        self,
        values: AnyFloats,
        there: Bools,
        design: Design,
        documents: Ints,
        covariates: Floats | None,
    ) -> None:
        part = design.take(there)
        self.few: bool | Bools
        self.tested, self.few, self.least = part is not None, True, 1.0
        if part is None:
            return
        self.least = least_p(part)
        figures = np.asarray(values, np.float64)
        self._flat = flat(figures)
        difference = contrast(
            figures, part.second, part.document, None if covariates is None else covariates[there]
        )
        size = np.abs(difference.influence).max(0)
        size = np.where(size > 0, size, 1.0)
        self._difference = (difference.first - difference.second) / size
        influence = difference.influence / size
        self._document = np.searchsorted(documents, difference.document)
        self._kinds = [
            _Kind(places, influence[places], influence[places] ** 2, difference.size[places])
            for places in (np.flatnonzero(difference.kind == kind) for kind in np.unique(difference.kind))
        ]
        least = min(int((difference.kind != other).sum()) for other in (0, 1))
        vary = np.min([kind.vary for kind in self._kinds], axis=0)
        self.few = (least < FEW) | (vary < FEW - 1)

    def observed(self) -> Floats:
        """The score of the difference, ``[figure]``."""
        once = [np.ones((1, len(kind.places))) for kind in self._kinds]
        return self._score(once, self._difference)[0]

    def drawn(self, block: Singles) -> Floats:
        """Scores of documents drawn anew, given random numbers from 0 to 1, ``[draw document] -> [draw figure]``."""
        times = [_times(block[:, self._document[kind.places]]) for kind in self._kinds]
        return self._score(times, np.zeros_like(self._difference))

    def _score(self, times: list[Floats], difference: Floats) -> Floats:
        """The squared normal score of t (Wallace 1959), ``[draw figure]``; ∞ where there is a difference but no error.

        t is the difference with what draws add to it, over its error. `times` is how often each draw takes each
        document of a kind, ``[draw document]``.
        """
        gap = np.repeat(difference[None], len(times[0]), 0)
        variance, spare = np.zeros_like(gap), np.zeros_like(gap)
        for kind, drawn in zip(self._kinds, times, strict=True):
            count = len(kind.places)
            part = drawn @ kind.squares
            if count > 1:  # these are about their mean; a document by itself is always drawn once
                added = drawn @ kind.influence
                gap += added
                added *= added
                added /= count
                part -= added
                part *= count / (count - 1)
            variance += part
            part *= part
            part /= np.maximum(equal(drawn @ kind.size, drawn @ kind.size**2) - 1, 1)[:, None]
            spare += part
        gap *= gap
        np.copyto(gap, 0.0, where=gap < _TINY)
        for none, value, rest in ((variance < _TINY, 0.0, 1.0), (gap == 0, 1.0, 1.0)):  # no 0 / 0
            np.copyto(variance, value, where=none)
            np.copyto(spare, rest, where=none)
        with quiet():
            gap /= variance
            df = np.square(variance, out=variance)
            df /= spare
            np.copyto(df, 1.0, where=~(df >= 1))
            gap /= df
            score = np.log1p(gap, out=gap)
            score *= df
            score *= (1 - 2 / (8 * df + 3)) ** 2
        score[:, self._flat] = 0.0
        return score


class _Kind(NamedTuple):
    """Documents of one kind: their places, influence and its square ``[document figure]``, and size ``[document]``."""

    places: Ints
    influence: Floats
    squares: Floats
    size: Floats

    @property
    def vary(self) -> Ints:
        """How many documents are unlike most of them, ``[figure]``; as many as there may be where all are alike."""
        unlike = np.abs(self.influence - np.median(self.influence, axis=0)) > _ALIKE
        count = unlike.sum(0)
        return np.where(count > 0, count, np.iinfo(np.int64).max)


def _times(random: Singles) -> Floats:
    """How often each document is drawn, ``[draw document]``: as many are drawn as there are."""
    draws, documents = random.shape
    chosen = np.asarray(np.minimum(random * documents, documents - 1), np.int64)
    places = np.asarray(chosen + documents * np.arange(draws)[:, None], np.int64)
    times = np.bincount(places.reshape(-1), minlength=random.size)
    return times.reshape(random.shape).astype(np.float64)
