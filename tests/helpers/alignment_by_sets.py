"""The error of word alignments (Och & Ney 2003)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

Pairs = Iterable[tuple[int, int]]
"""Words that are aligned: a word of one sentence and one of the other."""


class Alignment(NamedTuple):
    """How many pairs there are of each kind in a sentence; in a corpus, their sums.

    Attributes:
        sure: that surely belong together.
        predicted: that are predicted.
        right_sure: predicted pairs that are sure.
        right_possible: predicted pairs that are possible; sure ones are.
    """

    sure: int
    predicted: int
    right_sure: int
    right_possible: int

    @property
    def error_rate(self) -> float:
        """1 − (right_sure + right_possible) / (predicted + sure); not a number where both are none."""
        pairs = self.predicted + self.sure
        return 1 - (self.right_sure + self.right_possible) / pairs if pairs else math.nan


def aligned(sure: Pairs, possible: Pairs, predicted: Pairs) -> Alignment:
    """The counts of one sentence. A pair counts once however often it is given; each sure pair is possible as well.

    >>> aligned({(0, 0), (1, 1)}, {(1, 2)}, [(0, 0), (1, 2), (2, 2)])
    Alignment(sure=2, predicted=3, right_sure=1, right_possible=2)
    """
    known, found = set(sure), set(predicted)
    return Alignment(len(known), len(found), len(found & known), len(found & (known | set(possible))))


def aer(sure: Pairs, possible: Pairs, predicted: Pairs) -> float:
    """Alignment error rate of one sentence: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|).

    Of a corpus it is `Alignment.error_rate` of the sums, not the mean over sentences.

    >>> round(aer({(0, 0), (1, 1)}, {(1, 2)}, [(0, 0), (1, 2), (2, 2)]), 3)
    0.4
    """
    return aligned(sure, possible, predicted).error_rate
