"""Differences by document: against Welch, against fits without each document, and worked examples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headscope.statistics import jackknife
from headscope.statistics.design import Design, contrast, differences
from headscope.statistics.jackknife import interval

Array = np.ndarray


def drawn(seed: int = 0) -> tuple[Array, Array, Array]:
    """Values of 30 inputs in 12 documents, of which the last two hold both groups."""
    draw = np.random.default_rng(seed)
    document = np.sort(draw.permutation(np.arange(30) % 12))
    second = document % 2 == 0
    second[document >= 10] = np.arange((document >= 10).sum()) % 2 == 0
    return draw.gamma(1.0, size=(30, 4)), second, document


def fitted(values: Array, second: Array, beside: Array) -> Array:
    """The difference of the groups by numpy's least squares, of all columns beside each other."""
    model = np.column_stack([np.ones(len(values)), ~second, beside])
    return np.linalg.lstsq(model, values, rcond=None)[0][1]


@pytest.mark.parametrize("held", [False, True])
def test_errors_are_those_of_fits_without_each_document(held: bool) -> None:
    values, second, document = drawn()
    beside = np.random.default_rng(1).normal(size=(30, 1)) + second[:, None] if held else np.zeros((30, 0))
    found = contrast(values, second, document, beside if held else None)
    np.testing.assert_allclose(found.first - found.second, fitted(values, second, beside), rtol=1e-9)
    kinds: dict[tuple[bool, ...], list[Array]] = {}
    for one in range(12):
        kept = document != one
        kind = tuple(sorted(set(second[~kept].tolist())))
        kinds.setdefault(kind, []).append(fitted(values[kept], second[kept], beside[kept]))
    variance = sum((len(left) - 1) * np.var(left, axis=0) for left in kinds.values())
    assert len(kinds) == 3
    np.testing.assert_allclose(found.error[0], np.sqrt(variance), rtol=1e-9)


def test_one_input_a_document_is_welch() -> None:
    draw = np.random.default_rng(3)
    values, second = draw.normal(size=(20, 5)), np.arange(20) < 7
    found = contrast(values, second, np.arange(20))
    test = stats.ttest_ind(values[~second], values[second], equal_var=False)
    se, df = found.error
    np.testing.assert_allclose((found.first - found.second) / se, test.statistic, rtol=1e-9)
    np.testing.assert_allclose(df, test.df, rtol=1e-9)
    plain = test.confidence_interval()
    made = differences(values, Design(second, np.arange(20)))
    wider = interval(made.difference, made.se, test.df + 1, skew=found.skewness)
    np.testing.assert_allclose([made.low, made.high], wider, rtol=1e-9)
    assert (made.low <= plain.low + 1e-9).all()
    assert (made.high >= plain.high - 1e-9).all()


def test_documents_of_one_group_have_the_jackknife_error_of_ratios() -> None:
    values, _, document = drawn(4)
    second = document % 2 == 0
    errors = []
    for group in (second, ~second):
        own = [values[(document == one) & group] for one in range(12)]
        errors.append(
            jackknife.error(
                np.array([one.sum(0) for one in own]), np.array([[len(one)] for one in own], float)
            )
        )
    np.testing.assert_allclose(contrast(values, second, document).error[0], np.hypot(*errors), rtol=1e-9)


def test_a_worked_example_at_equal_length() -> None:
    """Values are 2 · length, and 3 more in group A: at equal length the difference is 3, without that it is 1."""
    length = np.array([[1.0], [2.0], [3.0], [2.0], [3.0], [4.0]])
    second = np.array([0, 0, 0, 1, 1, 1], bool)
    values = 2 * length + np.where(second, 0.0, 3.0)[:, None]
    found = contrast(values, second, np.arange(6), length)
    assert found.first[0] - found.second[0] == pytest.approx(3.0)
    assert found.first[0] == pytest.approx(2 * 2.5 + 3)  # at the mean length
    plain = contrast(values, second, np.arange(6))
    assert plain.first[0] - plain.second[0] == pytest.approx(1.0)
    assert differences(values, Design(second, np.arange(6)), length).difference[0] == pytest.approx(3.0)


def test_what_cannot_be_known_has_no_figure() -> None:
    values, second, document = drawn()
    apart = contrast(values, second, document, second[:, None].astype(float))  # the other figure is the label
    assert np.isnan(apart.first).all()
    assert np.isnan(apart.error[0]).all()
    alone = contrast(values, document == 0, document)  # without document 0 there is no second group
    assert np.isfinite(alone.first).all()
    assert np.isnan(alone.error[0]).all()


def test_few_effective_documents_have_no_interval() -> None:
    draw = np.random.default_rng(5)
    document = np.repeat(np.arange(12), [20, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3])
    second = document >= 6
    values = draw.normal(size=(len(document), 2))
    design = Design(second, document)
    assert design.effective == (pytest.approx(25**2 / 405), 6.0)
    found = differences(values, design)
    assert np.isfinite(found.se).all()
    assert np.isnan(found.low).all()
    assert np.isfinite(differences(values, Design(second, np.arange(len(document)))).low).all()
