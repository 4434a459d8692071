"""From counts to p values, and from p values to q values."""

from __future__ import annotations

import numpy as np

from headscope.core.arrays import Floats
from headscope.core.lazy import module


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
