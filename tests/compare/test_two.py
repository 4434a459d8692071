"""What is made of figures: labels, drift, alignment, roles, tables."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

import headscope as hs
from headscope.analyses.compare_groups import statistics as two_groups
from headscope.analyses.compare_inputs import statistics as two_inputs
from headscope.analyses.compare_models import statistics as two_models
from headscope.analyses.compare_roles import statistics as two_roles
from headscope.errors import InputError
from headscope.measures.choose import choose
from headscope.measures.sums import Documents
from headscope.tokens import Tokens


def rows(seed: int, heads: int = 3, count: int = 5, keys: int = 7) -> np.ndarray:
    draw = np.random.default_rng(seed).dirichlet(np.full(keys, 0.3), (heads, count))
    draw[0, 0] = np.eye(keys)[seed % keys]
    return draw


# Groups


def test_groups_are_the_two_labels_or_those_asked_for() -> None:
    assert two_groups.choose_groups(["10", "9", "10"]) == ("9", "10")
    assert two_groups.choose_groups(["b", "a"]) == ("a", "b")
    assert two_groups.choose_groups(["a", "b", "c"], ["c", "a"]) == ("c", "a")
    for labels, asked, message in (
        (
            ["a", "b", "b", "c"],
            None,
            r"expected two groups, found 3: b \(2\), a \(1\), c \(1\); choose two with groups",
        ),
        (["a", "a"], None, r"expected two groups, found 1: a \(2\)$"),
        (["a", "b"], ["a", "c"], "found 'c'"),
        (["a", "b"], ["a"], "expected two labels, found a"),
        (["a", "b"], ["a", "a"], "expected two labels, found a, a"),
    ):
        with pytest.raises(InputError, match=message):
            two_groups.choose_groups(labels, asked)


def values(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    found = draw.random((30, 2, 3, 4)).astype(np.float32)
    found[:, :, 2, 3] = np.nan  # a head that is not there
    return found, np.arange(30) % 2 == 0


def test_a_planted_head_is_found_and_only_it() -> None:
    found, second = values()
    found[second, :, 1, 2] += 1.0
    compared = two_groups.compare(found, second, np.arange(30), choose(["previous", "entropy"]), [5, 6, 7])
    table = two_groups.table(compared)
    assert tuple(table.columns) == two_groups.COLUMNS
    assert len(table) == 2 * 11
    own = two_groups.differing(compared)
    assert own[["layer", "head", "paper"]].drop_duplicates().values.tolist() == [[6, 2, "7-3"]]
    assert (own["effect"] < -1).all()
    assert (own["difference"] == own["group_a"] - own["group_b"]).all()
    one = found[~second, 0, 1, 2].astype(float).mean() - found[second, 0, 1, 2].astype(float).mean()
    assert float(compared["difference"].sel(measure="previous", layer=6, head=2)) == pytest.approx(
        one, rel=1e-12
    )
    assert two_groups.told(compared).startswith(
        "1 head differs between the groups at q ≤ 0.05 (11 heads, 2 measures"
    )
    assert json.loads(compared.attrs["meta"])["effect"] == "Hedges' g"


def test_nothing_is_said_where_nothing_differs() -> None:
    found, second = values()
    compared = two_groups.compare(found, second, np.arange(30), choose(["previous", "entropy"]), [0, 1, 2])
    assert not len(two_groups.differing(compared))
    assert two_groups.told(compared).startswith(
        "no head differs between the groups at q ≤ 0.05: the smallest q is "
    )


def test_too_few_permutations_and_other_shapes_are_refused() -> None:
    found, second = values()
    with pytest.raises(InputError, match="expected at least 20,000, found 100"):
        two_groups.compare(
            found, second, np.arange(30), choose(["previous", "entropy"]), [0, 1, 2], permutations=100
        )
    with pytest.raises(InputError, match=r"of 1 measures and 3 layers, found \(30, 2, 3, 4\)"):
        two_groups.compare(found, second, np.arange(30), choose(["previous"]), [0, 1, 2])


def test_the_typical_input_is_nearest_to_its_groups_mean() -> None:
    found = np.array([0.0, 1.0, 5.0, np.nan, 2.0, 3.0]).reshape(6, 1, 1, 1)
    assert two_groups.typical(found, np.array([0, 0, 0, 0, 1, 1], bool), (0, 0, 0)) == (1, 4)


# Models


@settings(deadline=None)  # the first run loads scipy
@given(st.integers(0, 1000), st.integers(0, 1000))
def test_drift_is_the_jensen_shannon_divergence(one: int, other: int) -> None:
    a, b = rows(one), rows(other)
    found = two_models.drift(a, b)
    expected = np.array(
        [[jensenshannon(p, q) ** 2 for p, q in zip(*pair, strict=True)] for pair in zip(a, b, strict=True)]
    )
    np.testing.assert_allclose(found[0], np.nan_to_num(expected).sum(-1), atol=1e-9)
    cosine = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
    np.testing.assert_allclose(found[1], cosine.sum(-1), atol=1e-9)
    np.testing.assert_array_equal(found, two_models.drift(b, a))
    np.testing.assert_array_equal(two_models.drift(a, a), [[0.0] * 3, [5.0] * 3])  # exactly


def test_errors_are_paired_by_document() -> None:
    draw = np.random.default_rng(0)
    measures = choose(["previous", "entropy"])
    documents = Documents(two_models.names(measures))
    a, counts = draw.random((6, 2, 1, 2)) * 10, draw.integers(3, 9, (6, 2)).astype(float)
    gap = draw.random((6, 2, 1, 2)) * 0.1
    moved = draw.random((6, 2, 1, 2))
    for place in range(6):
        parts = two_models.stacked(
            a[place], a[place] - gap[place], a[place, :, :, 0], counts[place], moved[place], 4
        )
        documents.add(place // 2, Tokens(["x"] * 4), [3], *parts)
    found = two_models.dataset(documents.close(), measures, causal=False, absent={}, meta={})
    total = gap.sum(0) / counts.sum(0)[:, None, None]
    np.testing.assert_allclose(found["difference"], total, rtol=1e-9)
    sums, n = gap.reshape(3, 2, 2, 1, 2).sum(1), counts.reshape(3, 2, 2).sum(1)[:, :, None, None]
    error = np.sqrt(1.5 * ((sums - total * n) ** 2).sum(0)) / n.sum(0)
    np.testing.assert_allclose(found["se"], error, rtol=1e-7)
    np.testing.assert_allclose(found["js"], moved[:, 0].sum(0) / 24, rtol=1e-9)
    np.testing.assert_allclose(found["js_layer"], moved[:, 0].sum(0).mean(-1) / 24, rtol=1e-9)
    means = moved[:, 0].mean(-1).reshape(3, 2).sum(1)
    own = np.sqrt(1.5 * ((means - means.mean()) ** 2).sum()) / 24
    assert float(found["js_layer_se"][0]) == pytest.approx(own, rel=1e-7)
    assert float(found["js_all"]) == pytest.approx(float(found["js_layer"][0]), rel=1e-9)  # one layer
    assert float(found["js_all_se"]) == pytest.approx(own, rel=1e-7)
    table = two_models.table(found)
    assert tuple(table.columns) == two_models.COLUMNS
    assert table["layer"].unique().tolist() == [3]
    drift = two_models.by_drift(found)
    assert drift["js"].is_monotonic_decreasing
    assert two_models.by_layer(found).columns.tolist() == ["layer", "js", "js_se", "cosine", "cosine_se"]


def test_the_mean_over_all_heads_is_of_heads_that_are_there_and_has_its_error() -> None:
    draw = np.random.default_rng(1)
    measures = choose(["previous"])
    documents = Documents(two_models.names(measures))
    moved = draw.random((4, 2, 2, 3))
    moved[..., 1, 2] = np.nan  # the second layer has two heads
    sums = np.where(np.isfinite(moved[:, :1]), 1.0, np.nan)
    for place in range(4):
        parts = two_models.stacked(sums[place], sums[place], np.ones((1, 2)), np.ones(1), moved[place], 5)
        documents.add(place, Tokens(["x"] * 5), [0, 1], *parts)
    found = two_models.dataset(documents.close(), measures, causal=False, absent={}, meta={})
    means = np.nanmean(moved[:, 0].reshape(4, -1), 1) / 5
    assert float(found["js_all"]) == pytest.approx(means.mean(), rel=1e-9)
    assert float(found["js_all_se"]) == pytest.approx(means.std(ddof=1) / 2, rel=1e-7)
    cosines = np.nanmean(moved[:, 1].reshape(4, -1), 1) / 5
    assert float(found["cosine_all"]) == pytest.approx(cosines.mean(), rel=1e-9)


# Roles


def roles(*held: tuple[int, int, str, float], heads: int = 3) -> pd.DataFrame:
    have = {(layer, head) for layer, head, _, _ in held}
    rest = [(0, head, "none", np.nan) for head in range(heads) if (0, head) not in have]
    table = pd.DataFrame([*held, *rest], columns=["layer", "head", "role", "score"])
    return table.assign(paper="x", q=0.01)


def test_roles_are_kept_lost_and_gained() -> None:
    a = roles((0, 0, "next token", 0.9), (0, 1, "broad", 0.7))
    b = roles((0, 0, "next token", 0.6), (0, 2, "broad", 0.8))
    found = two_roles.changes(a, b)
    assert tuple(found.columns) == two_roles.COLUMNS
    assert found[["head", "role", "change"]].values.tolist() == [
        [0, "next token", "kept"],
        [1, "broad", "lost"],
        [2, "broad", "gained"],
    ]
    assert found["a"].tolist()[:2] == [0.9, 0.7]
    by = two_roles.by_role(a, roles((0, 0, "next token", 0.6), heads=4)).set_index("role")
    assert by.loc["next token", ["heads_a", "heads_b", "share_b", "best_b"]].tolist() == [1, 1, 0.25, 0.6]
    assert by.loc["broad", "heads_b"] == 0
    with pytest.raises(InputError, match="3 heads and 4, or other layers: heads have no counterparts"):
        two_roles.changes(a, roles(heads=4))


# Inputs


@settings(deadline=None)  # the first run loads scipy
@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_words_that_stand_for_each_other_are_the_same_and_in_order(a: list[str], b: list[str]) -> None:
    first, second = two_inputs.matched(a, b)
    assert [a[place] for place in first] == [b[place] for place in second]
    assert (np.diff(first) > 0).all()
    assert (np.diff(second) > 0).all()
    assert bool(set(a) & set(b)) == bool(len(first))
    np.testing.assert_array_equal(two_inputs.matched(a, a), [np.arange(len(a))] * 2)


def maps(pieces: list[str], seed: int) -> hs.AttentionMaps:
    draw = np.random.default_rng(seed)
    tokens = Tokens(pieces, word_ids=np.arange(len(pieces)), sequence_ids=np.zeros(len(pieces), int))
    return hs.wrap(draw.dirichlet(np.ones(len(pieces)), (2, 3, len(pieces))), tokens, causal=False)


def test_inputs_by_position_and_by_word() -> None:
    a, b = maps(["the", "cat", "sat"], 0), maps(["The", "black", "cat", "sat"], 1)
    with pytest.raises(
        InputError, match="expected as many tokens to align them by position, found 3 and 4; align them by"
    ):
        two_inputs.compare(a, b)
    one, other = two_inputs.aligned(a, b, "word")
    assert other.query.pieces == ("The", "cat", "sat")
    found = two_inputs.compare(a, b, align="word", measures=["previous", "entropy"])
    part = b.weights[:, :, [0, 2, 3]]
    first = np.concatenate([a.weights, np.zeros((2, 3, 3, 1))], -1)
    second = part[..., [0, 2, 3, 1]]  # the word that A lacks is the outcome beside the others
    expected = np.stack([two_models.drift(p, q) for p, q in zip(first, second, strict=True)], 1) / 3
    np.testing.assert_allclose(np.stack([found["js"], found["cosine"]]), expected, atol=1e-9)
    gap = one.weights - other.weights
    np.testing.assert_allclose(np.abs(found["change"]), np.abs(gap).max((2, 3)))
    assert float(found["difference"].sel(measure="previous")[0, 0]) == pytest.approx(
        a.weights[0, 0, [1, 2], [0, 1]].mean() - b.weights[0, 0, [1, 2, 3], [0, 1, 2]].mean()
    )
    table = two_inputs.table(found)
    assert tuple(table.columns) == two_inputs.COLUMNS
    assert "the / The" in {*table["from"], *table["to"]}
    same = two_inputs.compare(a, a)
    assert (same["difference"] == 0).all()
    assert (same["js"] == 0).all()
    assert (same["cosine"] == 1).all()
    with pytest.raises(InputError, match="expected a word that is in both, found none"):
        two_inputs.aligned(a, maps(["x", "y"], 2), "word")
    with pytest.raises(InputError, match="expected 'position' or 'word', found 'meaning'"):
        two_inputs.aligned(a, b, "meaning")  # type: ignore[arg-type]
