"""Alignment error rate against examples worked by hand."""

from __future__ import annotations

import math

import pytest

from tests.helpers.alignment_by_sets import Alignment, aer, aligned

SURE = {(0, 0), (1, 2), (2, 1)}
POSSIBLE = {(3, 3), (3, 4), (0, 0)}


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        (SURE, 0.0),
        (SURE | POSSIBLE, 0.0),  # 1 − (3 + 5) / (5 + 3)
        ([(3, 3), (3, 4)], 1 - 2 / 5),  # nothing sure is found: 1 − (0 + 2) / (2 + 3)
        ([(0, 0), (3, 3), (4, 4), (1, 1)], 1 - (1 + 2) / (4 + 3)),  # one sure, one possible, two wrong
        ([(0, 0), (0, 0), (1, 2)], 1 - (2 + 2) / (2 + 3)),  # given twice, counted once
        ([], 1.0),
        ([(9, 9)], 1.0),
    ],
)
def test_by_hand(predicted: list[tuple[int, int]], expected: float) -> None:
    assert aer(SURE, POSSIBLE, predicted) == pytest.approx(expected, abs=1e-12)
    assert aer(iter(SURE), iter(POSSIBLE), iter(predicted)) == pytest.approx(expected, abs=1e-12)


def test_that_of_a_corpus_is_of_its_sums() -> None:
    """Sentence 1: one sure, found; sentence 2: three sure, one of two predicted is right. 1 − (2 + 2) / (3 + 4)."""
    one, two = aligned([(0, 0)], [], [(0, 0)]), aligned(SURE, [], [(0, 0), (5, 5)])
    assert (one, two) == (Alignment(1, 1, 1, 1), Alignment(3, 2, 1, 1))
    whole = Alignment(*(sum(each) for each in zip(one, two, strict=True)))
    assert whole.error_rate == pytest.approx(3 / 7)
    assert (one.error_rate + two.error_rate) / 2 == pytest.approx(0.3)


def test_of_nothing_there_is_no_error_rate() -> None:
    assert math.isnan(aer([], [(0, 0)], []))
    assert aer([], [(0, 0)], [(0, 0)]) == 0.0
