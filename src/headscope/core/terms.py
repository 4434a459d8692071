"""A score as a sum over who wrote what is read: its two sides, and which terms say something."""

from __future__ import annotations

import numpy as np

from headscope.core.arrays import Floats

SHOWN = 0.05
"""A term below this share of the contrast tells nothing of what happens without its writer: tables sum these."""

SIDES = ("key", "query")
REST = "the rest"


def split(terms: Floats, total: float) -> tuple[list[int], list[int]]:
    """The places of terms that are shown, the largest first, and of the others."""
    order = [int(place) for place in np.argsort(-np.abs(terms), kind="stable")]
    large = [place for place in order if abs(terms[place]) >= SHOWN * abs(total)]
    return large, [place for place in order if place not in large]
