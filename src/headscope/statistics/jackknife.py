"""Errors, intervals and tests by document (the delete-one-document jackknife), and what p of several tests become.

Inputs of one document are alike, so documents are what a corpus has many of. A figure is R = ΣS / ΣN over documents.
Without document d it is R₋d, and the variance of R over D documents is (D − 1) / D · Σ (R₋d − mean R₋)² (Quenouille
1956; Tukey 1958; Efron and Tibshirani 1993, chapter 11). A document that has much of the corpus moves R most when it
is left out, so unequal documents widen the error; and they count as fewer: (ΣN)² / ΣN² of them (Kish 1965, section
11.7). Student's t has one degree of freedom less than that.

With fewer than `LEAST` effective documents an error says too little of itself: there is no interval, and no test.
`docs/statistics.md` shows how often these intervals hold the truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.core.arrays import AnyFloats, Bools, Floats, quiet
from headscope.core.lazy import module
from headscope.core.types import AnyDict

LEAST = 5.0
"""Effective documents that an interval and a test need."""

ROUNDING = 1e-12
"""A share of a sum of squares, or of a figure for its error: what is below it is rounding."""

ALIKE = 0.05
"""Correlation of what is of one document, taken where the documents do not differ and so do not tell it."""

_GUARD = 2.0  # of skewness; chosen by simulation (benchmarks/calibration.py)
_WIDE = 3.0  # of the logarithm of odds; by the same
_SPREAD = 10.0  # over documents, what of it they do not show; by the same

WHY = f"an interval needs {LEAST:.0f} effective documents"
"""What is said where there is no interval."""


def between(low: float, high: float) -> str:
    """The ends of an interval, to stand behind a figure; nothing where there is none.

    >>> between(0.1, 0.4), between(float("nan"), float("nan"))
    (' (0.10 to 0.40)', '')
    """
    return f" ({low:.2f} to {high:.2f})" if low == low else ""


def needs(units: str) -> str:
    """Why figures over so few of these have no interval and no p.

    >>> needs("needles")
    'too few to say: intervals and p need 5 needles'
    """
    return f"too few to say: intervals and p need {LEAST:.0f} {units}"


def effective(n: AnyFloats | npt.NDArray[np.integer]) -> Floats:
    """How many documents of equal size tell as much, ``[document ...] -> [...]``: (ΣN)² / ΣN²; 0 where nothing counts.

    >>> float(effective(np.array([10, 10, 10]))), round(float(effective(np.array([28, 1, 1]))), 2)
    (3.0, 1.15)
    """
    n = np.asarray(n, np.float64)
    return equal(n.sum(0), (n * n).sum(0))


def equal(n: Floats, nn: Floats) -> Floats:
    """The effective documents, given the sums ΣN and ΣN²."""
    with quiet():
        return np.where(nn > 0, n * n / nn, 0.0)


def left_out(s: Floats, n: Floats) -> Floats:
    """The figure without each document, ``[document ...]``; NaN without documents that count, or but one."""
    with quiet():
        return np.where(n > 0, (s.sum(0) - s) / (n.sum(0) - n), np.nan)


def error(s: Floats, n: Floats) -> Floats:
    """The jackknife error of ΣS / ΣN, ``[document ...] -> [...]``; NaN with fewer than two documents that count.

    Args:
        s, n: of each document, ``[document ...]``, of shapes that broadcast. Documents of which N is 0 do not count.

    Three documents with S = 1, 0, 2 and N = 1, 1, 2 have R = 3/4; without one of them R is 2/3, 1 and 1/2, the mean of
    which is 13/18: the variance is 2/3 · (1/18² + 5/18² + 4/18²) = 2/3 · 42/324.

    >>> float(error(np.array([1.0, 0, 2]), np.array([1.0, 1, 2])) ** 2 * 324)
    28.0
    """
    s, n = np.broadcast_arrays(s, n)
    return spread(left_out(s, n), n > 0)


def spread(without: Floats, there: Bools) -> Floats:
    """The jackknife error of any figure, ``[document ...] -> [...]``; NaN with fewer than two documents that count.

    Args:
        without: what it is without each document, ``[document ...]``.
        there: which documents count.
    """
    count = there.sum(0)
    with quiet():
        mean = np.where(there, without, 0.0).sum(0) / count
        variance = (count - 1) / count * (np.where(there, without - mean, 0.0) ** 2).sum(0)
        variance = np.where(variance <= (ROUNDING * mean) ** 2, 0.0, variance)
        return np.where(count > 1, np.sqrt(variance), np.nan)


def interval(
    value: Floats,
    se: Floats,
    documents: Floats,
    *,
    confidence: float = 0.95,
    skew: Floats | None = None,
    most: float = np.inf,
) -> tuple[Floats, Floats]:
    """The ends of an interval by Student's t; NaN with fewer than `LEAST` effective documents.

    Args:
        value: figures.
        se: their jackknife errors.
        documents: how many effective documents they are over (`effective`).
        confidence: how often the interval shall hold the figure of all documents there could be.
        skew: of figures (`skewness`): each end is where t, corrected for it as in `above`, is what Student's is,
            and no nearer than Student's; None for Student's t as it is.
        most: how large a figure can be, to either side: 1 of differences of shares and of correlations. Where all
            documents have the same, the error tells nothing: the share of all that Wilson's interval leaves to what
            was never seen may have any other.
    """
    t = _quantile(documents, confidence)
    low, high = value - t * se, value + t * se
    if skew is not None:
        lean = (1 + _SPREAD / np.maximum(documents, 1.0)) * skew
        low, high = value - _stretched(t, lean) * se, value + _stretched(t, -lean) * se
    if most < np.inf:
        z = _score(documents, confidence)
        other = z**2 / (documents + z**2)
        low, high = (
            np.where(se == 0, value + other * (far - value), end).clip(
                np.minimum(-most, value), np.maximum(most, value)
            )
            for end, far in ((low, -most), (high, most))
        )
    return low, high


ENDS = ("", "_low", "_high")


def ends(name: str, value: Any, interval: tuple[Any, Any]) -> AnyDict:
    """A figure and the ends of its interval, as ``name``, ``name_low`` and ``name_high``."""
    return {name + end: figure for end, figure in zip(ENDS, (value, *interval), strict=True)}


def share_interval(
    value: Floats | float,
    se: Floats | float,
    documents: Floats | float,
    n: Floats | float | None = None,
    *,
    confidence: float = 0.95,
) -> tuple[Floats, Floats]:
    """The ends of intervals of shares, within 0 and 1; NaN with too few effective documents.

    Student's t on the scale of ln (R / (1 − R)), where the error is se / (R (1 − R)): it covers shares near 0 and 1
    more often. Where all documents have the same (all right, say) the error tells nothing: there, and at 0 and 1, the
    interval is Wilson's (1927), of as many independent instances as `n` would be if what is of one document had a
    correlation of `ALIKE`, by default one a document.

    Where Student's interval multiplies the odds by more than e³, it says nothing of a share near 1: .99 has .08 to 1.
    There, given `n`, it is Wilson's with Student's t, of as many independent instances as have that error: R (1 − R) /
    se² of them, and never more than there are.

    Args:
        value, se, documents, confidence: as in `interval`.
        n: instances.

    >>> low, high = share_interval(1.0, 0.0, 5.0)  # five of five
    >>> round(float(low), 2), round(float(high), 2)
    (0.57, 1.0)
    """
    value, se, documents = (np.asarray(values, np.float64) for values in (value, se, documents))
    inside = (value > 0) & (value < 1)
    place, varies = np.where(inside, value, 0.5), np.isnan(se) | inside & (se > 0)
    variance = place * (1 - place)  # of one instance
    t, z = _quantile(documents, confidence), _score(documents, confidence)
    odds, width = np.log(place / (1 - place)), t * se / variance
    wide = varies & (width > _WIDE) & (n is not None)
    with quiet():
        alone = documents if n is None else n / (1 + (n / documents - 1) * ALIKE)
        alone = np.where(wide, np.minimum(documents if n is None else n, variance / (se * se)), alone)
        z = np.where(wide, t, z)
        middle = (value + z * z / (2 * alone)) / (1 + z * z / alone)
        half = z / (1 + z * z / alone) * np.sqrt(value * (1 - value) / alone + z * z / (4 * alone * alone))
    low, high = (
        np.where(varies & ~wide, _logistic(odds + sign * width), middle + sign * half).clip(0, 1)
        for sign in (-1, 1)
    )
    return np.minimum(low, value), np.maximum(high, value)


def _quantile(documents: Floats, confidence: float) -> Floats:
    """Student's t that an interval reaches, of so many documents."""
    return np.asarray(module("scipy.stats").t.ppf(0.5 + confidence / 2, _freedom(documents)))


def _score(documents: Floats, confidence: float) -> Floats:
    """The same where no error is estimated."""
    return np.where(documents >= LEAST, module("scipy.stats").norm.ppf(0.5 + confidence / 2), np.nan)


def _logistic(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(x, -700, 700)))


def _stretched(t: Floats, lean: Floats) -> Floats:
    """The t that is this t when it is corrected for skewness, and no less than it."""
    most = 2 * (t + np.sqrt(t * t + 0.75))  # where no skewness corrects to less
    lean = np.clip(lean, -4.5 / most * (1 + 0.5 / most**2), 0.0)
    by = np.where(lean < 0, lean, -1.0)
    return np.where(lean < 0, np.maximum(t, 3 / by * (np.cbrt(1 + by * (t - by / 6)) - 1)), t)


def differs(
    difference: Floats, se: Floats, documents: Floats, skew: Floats | None = None, doubt: float = 0.0
) -> Floats:
    """Two-sided p that a difference is 0 in all documents there could be; NaN as `interval`.

    Given the skewness, t is corrected for it as in `above`.
    """
    lean = None if skew is None else np.sign(difference) * skew
    p = np.minimum(1.0, 2 * above(np.abs(difference), 0.0, se, documents, lean, doubt))
    return np.where(difference == 0, np.where(np.isnan(_freedom(documents)), np.nan, 1.0), p)


def skewness(s: Floats, n: Floats) -> Floats:
    """Skewness of ΣS / ΣN over documents, ``[document ...] -> [...]``: Σe³ / (Σe²)^1.5, from −1 to 1.

    e = S − R·N is what a document has above the figure. Of D equal documents it is their own skewness by √D.
    """
    with quiet():
        e = s - s.sum(0) / n.sum(0) * n
        squares = (e * e).sum(0)
        return np.where(squares > ROUNDING * (s * s).sum(0), (e**3).sum(0) / squares**1.5, 0.0)


def above(
    value: Floats,
    bar: Floats | float,
    se: Floats,
    documents: Floats,
    skew: Floats | None = None,
    doubt: float = 0.0,
) -> Floats:
    """One-sided p that the figure of all documents there could be is no higher than a bar; NaN as `interval`.

    Where few documents lie far below the others, a sample without them looks surer than it is. Given the skewness, t
    is corrected for it (Johnson 1978; Hall 1992) where that makes it smaller, as if documents were twice as skew as
    they are: few documents seldom show how skew they are. Then p is not too small down to 0.001 (`docs/statistics.md`).
    Where all documents have the same, p is that of a test of signs, 2 to the power of minus their number.

    Args:
        value, se, documents: as in `interval`.
        bar: what the figure must exceed.
        skew: of the figure (`skewness`); None for Student's t as it is.
        doubt: by how many of its standard errors √(6 / D) documents are taken to be still skewer.
    """
    with quiet():
        t = (value - bar) / se
        if skew is not None:
            t = _corrected(t, _GUARD * skew - doubt * np.sqrt(6.0) / documents)
        p = np.asarray(module("scipy.stats").t.sf(t, _freedom(documents)))
        return np.where(np.isposinf(t), np.maximum(p, 0.5**documents), p)


def _corrected(t: Floats, skew: Floats) -> Floats:
    """t of a figure of this skewness, where that makes a t above 0 smaller (Johnson 1978; Hall 1992)."""
    with quiet():
        lean = np.clip(skew, -4.5 / t * (1 + 0.5 / t**2), 0.0)  # more would correct by less
        less = t + lean * t**2 / 3 + lean**2 * t**3 / 27 + lean / 6
    return np.where((t > 0) & (t < np.inf), np.minimum(t, less), t)


def unseen(documents: Floats | float, share: float = 0.35) -> Floats:
    """What p is at least where documents of another kind could turn the figure: that none of them was drawn.

    So likely that is where they are this share of all: with 12 documents no p is below .0056, with 24 below 3e-5.

    >>> [round(float(unseen(documents)), 5) for documents in (8, 12, 24)]
    [0.03186, 0.00569, 3e-05]
    """
    return (1 - share) ** np.asarray(documents, np.float64)


def _freedom(documents: Floats) -> Floats:
    documents = np.asarray(documents, np.float64)
    return np.where(documents >= LEAST, documents - 1, np.nan)


def p_value(extreme: Floats | int, drawn: int) -> Floats:
    """p of a test by random draws, of which so many are at least as extreme as what was observed.

    ``(1 + extreme) / (1 + drawn)``: what was observed is one of the draws, so p is never 0 (Phipson and Smyth 2010).

    >>> float(p_value(0, 999))
    0.001
    """
    return (1 + np.asarray(extreme)) / (1 + drawn)


def false_discovery(p: Floats) -> Floats:
    """q: Benjamini and Hochberg's adjusted p values (1995), ``[... test]``.

    NaN among the p values of one family ``[test]`` stays NaN and does not count.
    """
    known = np.isfinite(p)
    if known.all():
        return module("scipy.stats").false_discovery_control(p, axis=-1) if p.size else p
    q = np.full(p.shape, np.nan)
    q[known] = false_discovery(p[known])
    return q
