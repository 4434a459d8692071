"""Heads together: features, fits and scores, against paper and against every ranking there is."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize

from headscope.analyses.links.combine.statistics import (
    ALL,
    NEGATIVES,
    CandidatePairs,
    LabelScores,
    PairSample,
    by_chance,
    fit,
    lasso,
    likeliest,
    precision,
    symmetrised,
    systems,
    top_pairs,
)


def test_average_product_correction_of_a_map_on_paper() -> None:
    # F = [[2, 3, 1], [3, 0, 3], [1, 3, 4]]: rows sum to 6, 6 and 8, all of it to 20.
    given = np.array([[1.0, 1, 0], [2, 0, 3], [1, 0, 2]])
    expected = np.array(
        [[2 - 1.8, 3 - 1.8, 1 - 2.4], [3 - 1.8, 0 - 1.8, 3 - 2.4], [1 - 2.4, 3 - 2.4, 4 - 3.2]]
    )
    np.testing.assert_allclose(symmetrised(np.stack([given, 0 * given])), [expected, 0 * expected])


def test_equals_are_chosen_as_often_as_each_other() -> None:
    values = np.array([[1.0, 2, 2, 9], [0, 0, 0, 0]])
    allowed = np.array([[1, 1, 1, 0], [1, 1, 1, 0]], bool)
    target = np.array([[0, 0, 1, 1], [1, 0, 0, 1]], bool)
    np.testing.assert_allclose(likeliest(values, allowed, target), [1 / 2, 1 / 3])


def test_the_average_precision_of_a_ranking_on_paper() -> None:
    values = np.array([[[5.0, 4, 3, 2, 9], [1, 1, 0, 0, 0]]])
    allowed = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]], bool)
    target = np.array([[0, 1, 0, 1, 1], [1, 0, 0, 0, 0]], bool)
    # Ranks 2 and 4 of three targets, one of which is no candidate; rank 1.5, the mean of 1 and 2.
    np.testing.assert_allclose(precision(values, allowed, target), [[(1 / 2 + 2 / 4) / 3, 1 / 1.5]])


@pytest.mark.parametrize(("candidates", "hits"), [(5, 1), (5, 3), (4, 4), (3, 0)])
def test_chance_is_the_mean_over_all_rankings(candidates: int, hits: int) -> None:
    orders = np.array(list(permutations(range(candidates))), float)[:, None]
    target = (np.arange(candidates) < hits)[None]
    mean = precision(orders, np.ones((1, candidates), bool), target).mean()
    assert by_chance(*(np.array([n]) for n in (candidates, hits, hits)))[0] == pytest.approx(mean)


def test_the_precision_of_the_likeliest_pairs_on_paper() -> None:
    values, contacts = np.zeros((6, 6)), np.zeros((6, 6), bool)
    for place, (first, second) in enumerate([(0, 2), (0, 3), (1, 5), (2, 5), (0, 1), (3, 4)]):
        values[first, second] = values[second, first] = (6, 5, 4, 3, 99, 98)[place]
    for first, second in [(0, 2), (1, 5), (3, 5), (0, 1)]:
        contacts[first, second] = contacts[second, first] = True
    # Of ten pairs two or more apart, 4 have a value, two of them contacts; of the six others one more is a contact.
    far = np.triu(np.ones((6, 6), bool), 2)
    np.testing.assert_allclose(top_pairs(values[None], contacts, far), [[(2 + 2 / 6) / 6, 1.0]])
    assert not top_pairs(values[None], contacts & False, far).any()


def test_lasso_has_the_least_cost() -> None:
    """The slopes of the loss are ∓ strength where a coefficient is not 0, and no larger where it is: so it is least."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(300, 12))
    right = generator.random(300) < 1 / (1 + np.exp(1 - 2 * features[:, 3] + features[:, 7]))
    strengths = (0.2, 0.05, 0.01)
    zeros: list[int] = []
    for strength, found in zip(strengths, lasso(features, right, strengths), strict=True):
        own = found[:-1]
        odds = features @ own + found[-1]
        slopes = features.T @ (1 / (1 + np.exp(-odds)) - right) / 300
        np.testing.assert_allclose(slopes[own != 0], -strength * np.sign(own[own != 0]), atol=1e-4)
        assert (np.abs(slopes) <= strength + 1e-4).all()
        zeros.append(int((own == 0).sum()))
    assert zeros[0] > zeros[-1]
    assert own[3] > 1
    assert own[7] < -0.4


def test_lasso_agrees_with_another_search() -> None:
    features = np.random.default_rng(1).normal(size=(80, 2))
    right = features[:, 0] + np.random.default_rng(2).normal(size=80) > 0

    def cost(both: np.ndarray) -> float:
        odds = features @ both[:2] + both[2]
        return (np.logaddexp(0, odds) - right * odds).mean() + 0.05 * np.abs(both[:2]).sum()

    other = minimize(cost, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10}).x
    np.testing.assert_allclose(next(lasso(features, right, [0.05])), other, atol=1e-3)


def test_a_fit_of_nothing_leaves_no_head() -> None:
    generator = np.random.default_rng(3)
    features, clusters = generator.random((400, 20)), np.arange(400) // 20
    coefficients, factors = fit(features, np.arange(400) % 2 == 0, clusters)
    assert not coefficients.any()
    assert not factors.any()
    assert not fit(features, np.ones(400, bool), clusters)[0].any()


def test_a_fit_is_for_a_standard_deviation_of_each_head() -> None:
    generator = np.random.default_rng(4)
    features, clusters = generator.normal(size=(600, 5)), np.arange(600) // 20
    right = features[:, 2] + generator.normal(size=600) > 0
    scales = np.array([1, 1, 1e-3, 10, 0])
    coefficients, factors = fit(features * scales, right, clusters)
    np.testing.assert_allclose(coefficients[:4], fit(features, right, clusters)[0][:4], atol=5e-3)
    assert coefficients.argmax() == 2
    assert coefficients[4] == factors[4] == 0
    np.testing.assert_allclose(factors[2], coefficients[2] / (1e-3 * features[:, 2].std()))


def test_the_mean_of_the_best_is_of_as_many_as_there_are() -> None:
    weights = systems(np.array([0.1, 0.9, 0.5, 0.9]))
    np.testing.assert_allclose(weights[0], [0, 1, 0, 0])
    np.testing.assert_allclose(weights[1], [0, 0.5, 0, 0.5])
    np.testing.assert_allclose(weights[-1], 0.25)


def pairs(sources: int, units: int, seed: int = 0) -> CandidatePairs:
    generator = np.random.default_rng(seed)
    target = np.eye(sources, units, dtype=bool)
    row = np.arange(sources)
    features = generator.random((3, sources, units))
    return CandidatePairs(
        ["link"] * sources, row, np.ones_like(target), target, np.ones(sources, bool), features
    )


def test_a_sample_is_bounded_and_does_not_hang_on_the_order() -> None:
    inputs = [(pairs(30, 40, seed), seed) for seed in range(20)]
    found: list[np.ndarray] = []
    for order in (inputs, inputs[::-1]):
        sample = PairSample(50)
        for one, seed in order:
            sample.add(one, seed, np.random.default_rng(seed))
            assert len(sample._kept) <= 100 + 30
        features, right, clusters = sample.of(ALL)
        assert features.shape == (50 * (1 + NEGATIVES), 3)
        assert right.sum() == 50
        assert len(np.unique(clusters)) > 10
        found.append(features)
    np.testing.assert_array_equal(*found)


def test_scores_of_documents_have_intervals_over_them() -> None:
    scored = LabelScores()
    for cluster in range(20):
        for _ in range(2):
            scored.clusters.append(cluster)
            scored.sums.append(np.array([[cluster % 4 > 0], [0.5]]) * 3.0)
            scored.counts.append(np.array([3.0]))
    figures = scored.figures()
    assert figures["value"][0, 0] == 0.75
    assert figures["n"] == [120]
    # Twenty documents right or wrong as a whole: an error of √(0.75 · 0.25 / 19), on the scale of log odds.
    half = 2.093 * np.sqrt(0.75 * 0.25 / 19) / (0.75 * 0.25)
    low, high = (1 / (1 + np.exp(-(np.log(3) + sign * half))) for sign in (-1, 1))
    assert (figures["ci_low"][0, 0], figures["ci_high"][0, 0]) == pytest.approx((low, high), abs=1e-4)
    assert np.isnan(figures["ci_low"][-1]).all()
