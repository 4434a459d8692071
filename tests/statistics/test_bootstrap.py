"""The bootstrap of documents: against all draws there are, and where permutations fail."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from headscope.statistics.bootstrap import bootstrap, least_p
from headscope.statistics.design import Design

Array = np.ndarray


def score(gap: float, parts: list[tuple[float, int]]) -> float:
    """A squared normal score of t, given what each group adds to the variance and how many documents it has."""
    variance = sum(part for part, _ in parts)
    if abs(gap) < 1e-9:
        return 0.0
    if variance < 1e-12:
        return np.inf
    df = max(variance**2 / sum(part**2 / (count - 1) for part, count in parts), 1.0)
    wallace = (8 * df + 1) / (8 * df + 3)
    return df * np.log1p(gap**2 / variance / df) * wallace**2


def exact(first: Array, second: Array) -> float:
    """p over all ways to draw the inputs of both groups anew, in a loop."""

    def of(a: Array, b: Array, about: float) -> float:
        return score(
            a.mean() - b.mean() - about, [(a.var(ddof=1) / len(a), len(a)), (b.var(ddof=1) / len(b), len(b))]
        )

    observed, gap = of(first, second, 0.0), first.mean() - second.mean()
    draws = [
        of(np.array(a), np.array(b), gap)
        for a in product(first, repeat=len(first))
        for b in product(second, repeat=len(second))
    ]
    return float(np.mean([one >= observed * (1 - 1e-9) for one in draws]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_p_is_that_of_all_draws(seed: int) -> None:
    draw = np.random.default_rng(seed)
    values = draw.gamma(1.0, size=(7, 1))
    values[:3] += 1.0
    second = np.arange(7) >= 3
    found = bootstrap(values, Design(second, np.arange(7)))
    assert found.permutations == 20_000
    assert found.p[0] == pytest.approx(max(exact(values[:3, 0], values[3:, 0]), 0.55**3), abs=0.015)


def test_documents_are_drawn_with_their_inputs() -> None:
    """Copies of an input in its document change nothing."""
    draw = np.random.default_rng(1)
    values, second = draw.normal(size=(16, 4)), np.arange(16) % 2 == 0
    values[second, 0] += 3.0
    one = bootstrap(values, Design(second, np.arange(16)))
    three = bootstrap(np.repeat(values, 3, 0), Design(np.repeat(second, 3), np.repeat(np.arange(16), 3)))
    np.testing.assert_allclose(three.p, one.p, atol=1e-12)  # the same draws
    assert one.p[0] < 0.02 < one.p[1:].min()


def test_documents_of_both_groups_are_paired() -> None:
    """A difference within documents is found, however much documents differ, beside documents of one group."""
    draw = np.random.default_rng(2)
    document = np.concatenate([np.repeat(np.arange(20), 2), [20, 21]])
    second = np.concatenate([np.tile([False, True], 20), [False, True]])
    values = 5.0 * draw.normal(size=(22, 2))[document] + 0.3 * draw.normal(size=(42, 2))
    values[40:] = 0.0
    values[second, 0] += 1.0
    found = bootstrap(values, Design(second, document))
    assert found.p[0] < 0.001
    assert found.p[1] > 0.05
    apart = bootstrap(values, Design(second, np.arange(42)))
    assert apart.p[0] > 0.1


def test_figures_that_few_documents_have_do_not_hide_others() -> None:
    """A figure that few documents have, or that is nearly always 0, has wild draws: it is a family by itself."""
    draw = np.random.default_rng(9)
    document = np.concatenate([np.arange(56), np.repeat(np.arange(56, 60), 2)])
    second = np.arange(64) % 2 == 0
    values = draw.normal(size=(64, 24))
    values[second] += 2.0
    values[:, ::4] = draw.normal(size=(64, 6))
    values[9:57, ::4] = np.nan
    values[:, 1::4] = 0.0
    values[:4, 1::4] = 1.0
    found = bootstrap(values, Design(second, document), np.arange(24) // 4)
    assert (found.q.reshape(6, 4)[:, 2:] < 0.001).all()


def test_figures_that_only_some_inputs_have() -> None:
    draw = np.random.default_rng(6)
    values, second = draw.normal(size=(30, 4)), np.arange(30) % 2 == 0
    values[second, 0] += 3.0
    values[::5, 0] = np.nan
    values[2:, 1] = np.nan
    values[:, 2] = 1.0
    found = bootstrap(values, Design(second, np.arange(30)), np.arange(4))
    assert found.q[0] < 0.01
    assert np.isnan(found.p[1])
    assert np.isnan(found.q[1])
    assert found.p[2] == 1.0
    again = bootstrap(values, Design(second, np.arange(30)), np.arange(4))
    np.testing.assert_array_equal(found.q, again.q)


def test_inputs_that_are_all_alike_say_no_more_than_their_labels() -> None:
    values = np.repeat([[1.0], [2.0]], 3, 0)
    found = bootstrap(values, Design(np.arange(6) >= 3, np.arange(6)))
    assert found.p[0] == pytest.approx(0.55**3)


def test_no_p_is_below_what_it_takes_to_draw_no_document_of_another_kind() -> None:
    values = np.random.default_rng(0).normal(size=(18, 1)) + 50.0 * (np.arange(18) < 6)[:, None]
    second = np.arange(18) >= 6
    assert bootstrap(values, Design(second, np.arange(18))).p[0] == pytest.approx(0.55**6)
    assert least_p(Design(second, np.arange(18))) == pytest.approx(0.55**6)


def test_a_group_of_one_document_has_no_test() -> None:
    values = np.random.default_rng(7).normal(size=(8, 2))
    found = bootstrap(values, Design(np.arange(8) < 2, np.array([0, 0, 1, 2, 3, 4, 5, 6])))
    assert np.isnan(found.p).all()


def test_lengths_can_be_held_equal() -> None:
    draw = np.random.default_rng(8)
    second = np.arange(60) % 2 == 0
    length = draw.normal(size=(60, 1)) + 1.5 * second[:, None]
    values = length + 0.3 * draw.normal(size=(60, 2))
    values[second, 1] += 1.0
    design = Design(second, np.arange(60))
    assert (bootstrap(values, design).p < 0.001).all()
    found = bootstrap(values, design, covariates=length)
    assert found.p[0] > 0.05
    assert found.p[1] < 0.001
