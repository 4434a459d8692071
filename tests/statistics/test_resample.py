"""What was right or wrong is kept in a temporary file; choices and intervals beside plain loops and formulas."""

from __future__ import annotations

import gc
import math
import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from headscope.analyses.clusters import CHOSEN_ON, over
from headscope.statistics import jackknife
from headscope.statistics.jackknife import share_interval
from headscope.statistics.resample import (
    DIVISIONS,
    PARTS,
    Answers,
    Clusters,
    Gain,
    HitRatios,
    divisions,
)


def test_the_file_is_closed_with_its_answers_and_what_was_read_stays() -> None:
    answers = Answers(9)
    right = np.arange(18).reshape(9, 2) % 3 == 0
    answers.add(["a", "b"], right, 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bits = answers.bits()
        del answers
        gc.collect()
    assert not caught
    np.testing.assert_array_equal(np.unpackbits(bits, axis=1, count=9).T, right)


def test_clusters_are_documents_where_they_are_known() -> None:
    named = Clusters()
    assert [named.number(document, True) for document in (0, 0, 1, 4, 4)] == [0, 0, 1, 2, 2]
    assert named.kind == "documents"
    plain = Clusters()
    assert [plain.number(0, False) for _ in range(3)] == [0, 1, 2]
    assert plain.kind == "sentences"
    mixed = Clusters()
    given = ((0, True), (0, True), (1, False), (1, False), (2, True))
    assert [mixed.number(*each) for each in given] == [0, 0, 1, 2, 3]
    assert mixed.kind == "documents and sentences"


def accuracies(documents: int = 9, seed: int = 0) -> HitRatios:
    """Six predictors of which the third is best, and documents of 1 to 12 words."""
    draw = np.random.default_rng(seed)
    size = draw.integers(1, 13, documents)
    right = draw.binomial(size[:, None], [0.3, 0.3, 0.6, 0.5, 0.2, 0.55])
    return HitRatios(right.astype(np.float32), size[:, None].astype(np.float64), seed=4)


def test_choices_are_those_of_a_plain_loop() -> None:
    """Each document is scored once a division, by what is best on the parts that it is not in."""
    found = accuracies()
    heads = found.best(slice(4))
    parts = divisions(9, 4)
    scores, gains, errors, times = [], [], [], 0
    for division in parts:
        own, gain = np.zeros(9), np.zeros(9)
        for part in range(PARTS):
            rest = found.right[division != part].sum(0)
            best, other = int(rest[:4].argmax()), 5
            times += best == heads.place
            inside = division == part
            own[inside] = found.right[inside, best]
            gain[inside] = found.right[inside, best] - found.right[inside, other]
        scores.append(own.sum() / found.n)
        gains.append(gain.sum() / found.n)
        errors.append(float(jackknife.error(gain, found.size[:, 0])))
    assert parts.shape == (DIVISIONS, 9)
    assert heads.split == pytest.approx(np.mean(scores))
    assert (heads.times, heads.choices) == (times, PARTS * DIVISIONS)
    gain, p = found.gain(heads, slice(4, None))
    assert gain.value == pytest.approx(np.mean(gains))
    assert gain.se == pytest.approx(np.sqrt(np.mean(np.square(errors)) + np.var(gains)))
    value, error, documents = np.asarray(gain.value), np.asarray(gain.se), found.documents
    assert p == pytest.approx(float(jackknife.above(value, 0.0, error, documents)[0]))


def test_a_choice_is_held_against_every_other_and_the_largest_p_counts() -> None:
    """The last is right in as many as the one before, always alike; the one before in a few documents alone."""
    size = np.full((12, 1), 10.0)
    head, often, seldom = np.full(12, 8), np.full(12, 5), np.where(np.arange(12) < 6, 10, 0)
    found = HitRatios(np.stack([head, often, seldom], 1).astype(np.float32), size)
    best = found.best(slice(1))
    gain, p = found.gain(best, slice(1, None))
    alone = [found.gain(best, slice(place, place + 1))[1] for place in (1, 2)]
    assert gain.value == pytest.approx(0.3)
    assert gain.se == 0  # beside the first of equals, which is printed
    assert alone[0] < 0.001 < alone[1] == p


def test_intervals_of_shares_are_those_of_the_log_odds() -> None:
    low, high = share_interval(0.3, 0.05, 12.0, 200.0)
    t = stats.t.ppf(0.975, 11)
    ends = expit(logit(0.3) + np.array([-1, 1]) * t * 0.05 / (0.3 * 0.7))
    np.testing.assert_allclose([low, high], ends)
    assert np.isnan(share_interval(0.3, 0.05, 4.9, 200.0)).all()
    low, high = share_interval(
        np.array([0.0, 1.0, 0.5]), np.zeros(3), 10.0, 10.0
    )  # a document a word: Wilson's
    known = stats.norm.ppf(0.975)
    assert high[0] == pytest.approx(known**2 / (10 + known**2))
    assert (low[0], high[1]) == (0, 1)
    assert low[1] == pytest.approx(1 - high[0])
    assert low[2] + high[2] == pytest.approx(1)
    assert np.isnan(share_interval(0.3, np.nan, 12.0)).all()
    ends = [float(end) for end in share_interval(1.0, 0.02, 12.0)]  # an error that was given to what has none
    assert ends == [pytest.approx(12 / (12 + known**2)), 1.0]


@pytest.mark.parametrize("value", [-1.0, 0.0, 0.5, 1.0])
def test_a_difference_that_is_the_same_everywhere_still_has_an_interval(value: float) -> None:
    """A share of documents that was not seen can have any other: the upper end of Wilson's interval of none of 10."""
    unseen = float(share_interval(0.0, 0.0, 10.0)[1])
    low, high = map(float, Gain(value, 0.0, 10.0).interval())
    assert (low, high) == pytest.approx((value - unseen * (1 + value), value + unseen * (1 - value)))
    assert float(Gain(0.5, 0.0, 10.0).above()) == 0.5**10
    assert np.isnan(Gain(0.5, 0.1, 4.0).above())


def test_one_cluster_has_no_choice() -> None:
    one = accuracies(1).best(slice(4))
    assert (one.times, one.choices) == (0, 0)
    assert np.isnan([one.split, *one.interval()]).all()


def test_what_is_said_of_choices_is_what_is_done() -> None:
    assert (CHOSEN_ON, PARTS) == ("three quarters", 4)
    assert over({"clusters": "documents", "clusters_count": 1}) == "1 document"
    said = over({"clusters": "sentences", "clusters_count": 2077})
    assert said == "2,077 sentences, since the corpus names no documents"


@pytest.mark.parametrize("share", [0.99, 0.01])
def test_near_the_ends_an_interval_is_no_wider_than_its_error_says(share: float) -> None:
    """Wilson's, by hand: of .0099 / .0275² = 13.09 instances with t of 11 degrees of freedom, 2.201."""
    t, n = 2.200985, 0.0099 / 0.0275**2
    middle = (share + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t / (1 + t**2 / n) * math.sqrt(0.0099 / n + t**2 / (4 * n**2))
    ends = [float(end) for end in share_interval(share, 0.0275, 12.0, 200.0)]
    assert ends == pytest.approx([middle - half, middle + half], abs=1e-6)
    fewer = [float(end) for end in share_interval(share, 0.0275, 12.0, 12.0)]  # no more than there are
    assert fewer[1] - fewer[0] > ends[1] - ends[0]
