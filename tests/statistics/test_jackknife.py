"""The jackknife against its definition, and against Student's t where documents are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from headscope.statistics.jackknife import (
    LEAST,
    above,
    differs,
    effective,
    error,
    interval,
    left_out,
    share_interval,
    skewness,
)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), documents=st.integers(2, 12))
@example(seed=175, documents=11)
def test_the_error_is_that_of_figures_without_each_document(seed: int, documents: int) -> None:
    draw = np.random.default_rng(seed)
    n = draw.integers(0, 9, documents).astype(float)
    n[:2] += 1
    s = draw.normal(size=documents) * n
    there = np.flatnonzero(n)
    figures = [np.delete(s, one).sum() / np.delete(n, one).sum() for one in there]
    # Sums of up to `documents` terms that may cancel, over at least one row.
    rounding = 2 * documents * np.finfo(float).eps * np.abs(s).sum()
    np.testing.assert_allclose(left_out(s, n)[there], figures, rtol=1e-12, atol=rounding)
    count = len(there)
    expected = np.sqrt((count - 1) / count * ((figures - np.mean(figures)) ** 2).sum())
    np.testing.assert_allclose(error(s, n), expected, rtol=1e-9, atol=1e-12)


def test_equal_documents_give_the_t_interval() -> None:
    s = np.random.default_rng(0).normal(size=(9, 3))
    n = np.ones((9, 1))
    se = stats.sem(s, axis=0)
    np.testing.assert_allclose(error(s, n), se, rtol=1e-12)
    np.testing.assert_allclose(effective(n), 9)
    low, high = interval(s.mean(0), se, effective(n))
    for place in range(3):
        expected = stats.t.interval(0.95, 8, s[:, place].mean(), se[place])
        np.testing.assert_allclose((low[place], high[place]), expected, rtol=1e-12)
    tested: Any = stats.ttest_1samp(s, 0.1, alternative="greater")
    np.testing.assert_allclose(above(s.mean(0), 0.1, se, effective(n)), tested.pvalue, rtol=1e-9)


def test_few_or_unequal_documents_have_no_interval() -> None:
    assert effective(np.array([100, 1, 1, 1, 1, 1, 1])) == pytest.approx(106**2 / 10006)
    assert effective(np.zeros(3)) == 0
    for documents, there in ((0.0, False), (LEAST - 0.01, False), (LEAST, True)):
        low, high = interval(np.array(0.5), np.array(0.1), np.array(documents))
        assert np.isfinite([low, high]).all() == there
        assert np.isfinite(above(np.array(0.5), 0.4, np.array(0.1), np.array(documents))) == there
    assert np.isnan(error(np.array([1.0, 0.0]), np.array([2.0, 0.0])))


def test_skew_documents_are_tested_as_often_as_said() -> None:
    """Documents with a long tail below: Student's t is too sure of a high mean, and less so given their skewness."""
    draw = np.random.default_rng(0)
    s = -draw.exponential(1.0, (20, 40_000))
    n = np.ones((20, 1))
    value, se, documents = s.mean(0), error(s, n), effective(n)
    plain = above(value, -1.0, se, documents)
    guarded = above(value, -1.0, se, documents, skewness(s, n))
    for level in (0.05, 0.01, 0.001):
        assert (plain <= level).mean() > 1.6 * level
        assert (guarded <= level).mean() < (plain <= level).mean() / 1.5
    normal = draw.normal(size=(20, 20_000))
    p = above(normal.mean(0), 0.0, error(normal, n), documents, skewness(normal, n))
    for level in (0.05, 0.01, 0.001):
        assert (p <= level).mean() <= 1.3 * level
    assert (p <= 0.05).mean() > 0.02


def test_the_interval_of_a_share_stays_between_0_and_1() -> None:
    value, se = np.array([0.0, 0.02, 0.5, 0.99, 1.0]), np.array([0.0, 0.02, 0.01, 0.01, 0.0])
    low, high = share_interval(value, se, np.full(5, 13.0))
    assert (low >= 0).all()
    assert (high <= 1).all()
    assert ((low <= value) & (value <= high)).all()
    assert (low < high - 0.01).all()
    plain = interval(value, se, np.full(5, 13.0))
    np.testing.assert_allclose((low[2], high[2]), (plain[0][2], plain[1][2]), atol=1e-4)


def test_intervals_of_shares_cover() -> None:
    """Documents of unequal sizes, each with a share of its own: few of ±1.96, most of these."""
    draw = np.random.default_rng(0)
    n = draw.lognormal(5, 0.8, (13, 4000)).round().clip(10)
    s = draw.binomial(n.astype(int), draw.beta(7.2, 0.8, n.shape)).astype(float)
    value, se, documents = s.sum(0) / n.sum(0), error(s, n), effective(n)
    low, high = share_interval(value, se, documents)
    known = np.isfinite(low)
    assert ((low <= 0.9) & (high >= 0.9))[known].mean() >= 0.925
    assert (np.abs(value - 0.9) <= 1.96 * se).mean() < 0.88


def test_documents_that_are_all_alike_have_no_error() -> None:
    for count in (3, 12, 50_000):
        alike = np.full(count, 3.0)
        assert error(alike, np.full(count, 10.0)) == 0
        alike[0] += 1e-6
        assert error(alike, np.full(count, 10.0)) > 0


def test_a_difference_without_an_error_is_as_sure_as_signs_and_none_is_none() -> None:
    same = np.zeros(3)
    for skew in (None, same, np.array([0.3, 0.0, -0.3])):
        assert differs(np.array([1.0, 0.0, -1.0]), same, np.full(3, 6.0), skew).tolist() == [
            0.5**5,
            1,
            0.5**5,
        ]
