"""Differences and permutation tests: against scipy, against all permutations there are, and what must not matter."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from headscope.errors import InputError
from headscope.statistics.design import Design, differences
from headscope.statistics.jackknife import false_discovery
from headscope.statistics.permutation import adjusted, permute

Array = np.ndarray


def apart(count: int) -> Array:
    return np.arange(count)


def drawn(seed: int, inputs: int = 24, figures: int = 6) -> tuple[Array, Array]:
    draw = np.random.default_rng(seed)
    return draw.normal(3.0, 1.0, (inputs, figures)), draw.permutation(np.arange(inputs) % 3 == 0)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_errors_and_effects_are_those_of_scipy(seed: int) -> None:
    values, second = drawn(seed)
    found = differences(values, Design(second, apart(24)))
    test = stats.ttest_ind(values[~second], values[second], equal_var=False)
    np.testing.assert_allclose(found.difference / found.se, test.statistic, rtol=1e-9)
    np.testing.assert_allclose(found.difference, values[~second].mean(0) - values[second].mean(0), rtol=1e-9)
    pooled = stats.ttest_ind(values[~second], values[second]).statistic * np.sqrt(1 / 16 + 1 / 8)
    np.testing.assert_allclose(found.effect, pooled * (1 - 3 / (4 * 22 - 1)), rtol=1e-9)
    assert found.n_first.tolist() == [16] * 6
    assert found.n_second.tolist() == [8] * 6


def test_documents_are_clusters() -> None:
    """Copies of an input in its document change nothing: three times the inputs, the same error and the same p."""
    values, second = drawn(1)
    single = Design(second, apart(24))
    copies = Design(np.repeat(second, 3), np.repeat(apart(24), 3))
    one, three = differences(values, single), differences(np.repeat(values, 3, 0), copies)
    np.testing.assert_allclose(three.se, one.se, rtol=1e-9)
    assert copies.permuted == "labels of 24 documents"
    p, q = permute(values, single).p, permute(np.repeat(values, 3, 0), copies).p
    np.testing.assert_allclose(p, q, atol=0.02)
    ignored = permute(np.repeat(values, 3, 0), Design(copies.second, apart(72))).p
    assert ignored.min() < p.min() / 3  # without documents, copies would count as evidence


def exact(values: Array, second: Array) -> Array:
    """p over all ways to deal out the labels, in a loop."""

    def size(group: Array) -> Array:
        return np.abs(stats.ttest_ind(values[~group], values[group], equal_var=False).statistic)

    own, count, ways = size(second), np.zeros(values.shape[1]), 0
    for chosen in combinations(range(len(values)), int(second.sum())):
        group = np.isin(np.arange(len(values)), chosen)
        count += size(group) >= own * (1 - 1e-9)
        ways += 1
    return count / ways


@pytest.mark.parametrize("seed", [0, 1])
def test_p_is_that_of_all_permutations(seed: int) -> None:
    values, second = drawn(seed, inputs=9, figures=4)
    values[second, 0] += 2.0
    found = permute(values, Design(second, apart(9)))
    np.testing.assert_allclose(found.p, exact(values, second), atol=0.012)
    assert found.permutations == 20_000


def test_within_documents_where_they_are_of_both_groups() -> None:
    draw = np.random.default_rng(4)
    document = np.repeat(np.arange(20), 2)
    second = np.tile([False, True], 20)
    values = 5.0 * draw.normal(size=(20, 1))[document] + np.where(second, 0.7, 0.0)[:, None]
    values += 0.3 * draw.normal(size=(40, 1))
    design = Design(second, document)
    assert design.permuted == "labels of inputs within 20 documents of both groups"
    assert (
        permute(values, design).p[0] < 0.001
    )  # the difference is within documents, far below that between them
    assert permute(values, Design(second, apart(40))).p[0] > 0.1
    assert differences(values, design).se[0] < differences(values, Design(second, apart(40))).se[0] / 5


def test_missing_inputs_are_left_out_of_their_figure_only() -> None:
    values, second = drawn(5, inputs=40, figures=3)
    values[::3, 1] = np.nan
    values[1:, 2] = np.nan
    there = np.isfinite(values[:, 1])
    whole = permute(values, Design(second, apart(40)), np.arange(3))
    alone = permute(values[there, 1:2], Design(second[there], apart(int(there.sum()))))
    np.testing.assert_allclose(whole.p[1], alone.p[0], atol=0.02)
    assert np.isnan(whole.p[2])
    assert np.isnan(whole.q[2])
    found, own = differences(values, Design(second, apart(40))), differences(
        values[there, 1:2], Design(second[there], apart(int(there.sum())))
    )  # fmt: skip
    assert found.se[1] == own.se[0]
    assert np.isnan(found.first[2])
    assert found.n_first[1] + found.n_second[1] == there.sum()


def test_seeds_give_the_same_digits_and_order_and_scale_do_not_matter() -> None:
    values, second = drawn(6)
    design, family = Design(second, apart(24)), np.array([0, 0, 1, 1, 2, 2])
    one, two = permute(values, design, family), permute(values, design, family)
    other = permute(values, design, family, seed=1)
    assert (one.p == two.p).all()
    assert (one.q == two.q).all()
    assert (one.p != other.p).any()
    turned = permute(values[:, ::-1] * 1e-3 + 7.0, design, family[::-1])
    np.testing.assert_allclose(turned.p[::-1], one.p, atol=2e-4)
    np.testing.assert_allclose(turned.q[::-1], one.q, atol=6e-4)


def test_what_does_not_vary_says_nothing() -> None:
    values, second = drawn(7)
    values[:, 0], values[:, 1] = 0.1, np.float32(1 / 3) + 1e-9 * np.arange(24)
    values[:, 2] = second
    design = Design(second, apart(24))
    found = permute(values, design, np.arange(6))
    assert found.p[:2].tolist() == [1.0, 1.0]
    assert found.p[2] < 0.001
    assert differences(values, design).effect[:2].tolist() == [0.0, 0.0]


def test_a_family_of_one_is_benjamini_and_hochberg() -> None:
    p = np.random.default_rng(8).random(50) ** 3
    np.testing.assert_allclose(adjusted(p, np.arange(50)), false_discovery(p), rtol=1e-12)


def test_q_is_the_least_level_at_which_a_figure_is_found() -> None:
    within = np.array([0.001, 0.2, 0.012, 0.013, 0.5, np.nan])
    family = np.array([0, 0, 1, 1, 2, 2])
    found = adjusted(within, family)
    for place in range(5):
        for level in (found[place] * 1.001, found[place] * 0.999):
            least = np.sort([0.001, 0.012, 0.5])
            passed = np.flatnonzero(least <= level * np.arange(1, 4) / 3)
            held = (passed[-1] + 1 if len(passed) else 0) * level / 3
            assert (within[place] <= held) == (level > found[place])
    assert np.isnan(found[5])
    assert (np.isnan(adjusted(np.full(3, np.nan), np.arange(3)))).all()


def test_the_largest_of_a_family_takes_the_whole_family_into_account() -> None:
    draw = np.random.default_rng(9)
    values, second = draw.normal(size=(40, 30)), np.arange(40) % 2 == 0
    design = Design(second, apart(40))
    alone = permute(values, design)
    assert (alone.within >= alone.p).all()
    best = int(alone.p.argmin())
    sidak = 1 - (1 - alone.p[best]) ** 30
    assert alone.within[best] == pytest.approx(sidak, abs=0.06)
    copies = permute(np.repeat(values[:, best : best + 1], 30, 1), design)
    np.testing.assert_array_equal(copies.within, copies.p)  # of copies the largest is any of them


def test_bad_designs_are_refused() -> None:
    with pytest.raises(InputError, match="at least 2 inputs in each, found 1 in the second"):
        Design(np.array([False, False, True]), apart(3))
    with pytest.raises(
        InputError, match=r"axis input: expected a group and a document each, found \(3,\) and \(2,\)"
    ):
        Design(np.zeros(3, bool), apart(2))
    design = Design(np.arange(4) % 2 == 0, apart(4))
    with pytest.raises(InputError, match=r"expected \[input figure\] with 4 inputs, found \(3, 2\)"):
        permute(np.zeros((3, 2)), design)
    with pytest.raises(InputError, match="permutations: expected at least 1"):
        permute(np.zeros((4, 2)), design, permutations=0)
    with pytest.raises(InputError, match="axis figure: expected 2 numbers"):
        permute(np.zeros((4, 2)), design, np.zeros(3))


def all_labellings(design: Design) -> list[Array]:
    """Every way to deal out labels: among documents of one group, and within each document of both."""
    strata: list[list[Array]] = [[]]  # of each stratum, the inputs of each of its units
    for one in np.unique(design.document):
        inputs = np.flatnonzero(design.document == one)
        if len(set(design.second[inputs].tolist())) == 1:
            strata[0].append(inputs)
        else:
            strata.append([inputs[[place]] for place in range(len(inputs))])
    ways = [np.zeros(len(design.second), bool)]
    for units in strata:
        count = sum(bool(design.second[unit[0]]) for unit in units)
        ways = [
            way | np.isin(apart(len(way)), np.concatenate([units[place] for place in chosen]))
            for way in ways
            for chosen in combinations(range(len(units)), count)
        ]
    return ways


def size_of(values: Array, way: Array, design: Design) -> float:
    """The difference over its error in a loop: documents of one group vary about the group, other inputs within theirs."""
    error = 0.0
    for group in (way, ~way):
        terms = []
        for one in np.unique(design.document[group]):
            inputs = design.document == one
            own = values[inputs & group]
            if len(set(design.second[inputs].tolist())) == 1:
                terms.append((own - values[group].mean()).sum() ** 2)
            else:
                terms.extend((own - values[inputs].mean()) ** 2)
        error += len(terms) / (len(terms) - 1) * sum(terms) / group.sum() ** 2
    return float(abs(values[way].mean() - values[~way].mean()) / np.sqrt(error))


def test_documents_of_one_group_are_permuted_where_another_holds_both() -> None:
    """40 documents of 3 texts, heads that differ a lot: one document of both labels must not hide them."""
    draw = np.random.default_rng(0)
    document = np.repeat(np.arange(40), 3)
    second = document % 2 == 0
    values = draw.normal(size=(120, 72)) + draw.normal(size=(40, 72))[document]
    values[second, :36] += 6.0
    second[0] = False  # document 0 holds both
    design = Design(second, document)
    assert design.permuted == "labels of 39 documents and of inputs within 1 document of both groups"
    found = permute(values, design, np.arange(72))
    assert (found.q[:36] < 0.01).all()
    assert (found.q[36:] > 0.05).mean() > 0.9


@pytest.mark.parametrize("seed", [2, 3])
def test_documents_and_inputs_are_permuted_together_as_in_all_labellings(seed: int) -> None:
    draw = np.random.default_rng(seed)
    document = np.repeat(np.arange(8), [2, 1, 3, 2, 1, 2, 4, 3])
    second = np.isin(document, [1, 3, 5]) | np.isin(apart(18), [11, 15])  # documents 6 and 7 hold both
    design = Design(second, document)
    values = draw.normal(size=(18, 2)) + 2.0 * draw.normal(size=(8, 2))[document]
    ways = all_labellings(design)
    assert design.labellings == len(ways) == 20 * 4 * 3
    for figure in range(2):
        sizes = np.array([size_of(values[:, figure], way, design) for way in ways])
        expected = (sizes >= size_of(values[:, figure], second, design) * (1 - 1e-9)).mean()
        assert permute(values[:, [figure]], design).p[0] == pytest.approx(expected, abs=0.012)


def test_a_figure_is_permuted_as_the_inputs_that_have_it_are() -> None:
    """Document 0 holds both labels, but not among the inputs with the figure: it is a document of one group there."""
    values, second = drawn(1)
    document = np.repeat(apart(12), 2)
    labels = np.repeat(second[:12], 2)
    labels[0] = not labels[1]
    values[0, 0] = np.nan
    found = permute(values[:, [0]], Design(labels, document))
    alone = permute(values[1:, [0]], Design(labels[1:], document[1:]))
    np.testing.assert_allclose(found.p, alone.p, atol=0.02)


def test_labels_that_can_be_dealt_out_in_one_way_find_nothing() -> None:
    values, _ = drawn(1, inputs=6)
    one_each = Design(np.array([0, 0, 0, 1, 1, 1], bool), np.array([0, 0, 0, 1, 1, 1]))
    assert one_each.labellings == 2
    beside = Design(np.array([0, 1, 1, 0, 0, 0], bool), np.array([0, 0, 0, 1, 1, 1]))
    assert beside.permuted == "labels of 1 document and of inputs within 1 document of both groups"
    assert beside.labellings == 3
    assert permute(values, beside).p.min() > 0.3
