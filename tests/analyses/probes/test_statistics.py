"""Scores, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.probes.fit import Fitted
from headscope.analyses.probes.statistics import (
    COLUMNS,
    ByCluster,
    Edges,
    Heads,
    Row,
    Structure,
    by_depths,
    by_distances,
    dataset,
    differences,
    table,
)
from headscope.analyses.probes.trees import Trees, depths, distances
from tests.helpers.planted_probes import random_trees


def trees(*sentences: tuple[list[int], str]) -> Trees:
    """Heads, and which words are punctuation (p)."""
    sizes = [len(heads) for heads, _ in sentences]
    return Trees(
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([heads for heads, _ in sentences]),
        np.array([mark == "p" for _, marks in sentences for mark in marks]),
        np.zeros(sum(sizes), np.int64),
    )


TWO = trees(([1, 2, -1, 2], "wwwp"), ([1, 3, 1, -1], "wpww"))
"""the cat sat . | a , b sat: the comma is the head of *a* and *b*"""


def test_edges_leave_out_punctuation_and_the_root() -> None:
    edges = Edges.of(TWO)
    assert list(zip(edges.dependents, edges.heads, edges.sentences, strict=True)) == [(0, 1, 0), (1, 2, 0)]
    assert edges.predicted(TWO, np.array([2, 0, 1, 0, -1, -1, -1, -1])).tolist() == [True, True]
    assert edges.predicted(TWO, np.array([-1, -1, -1, 1, 1, 2, -1, -1])).tolist() == [False, False]


def test_the_spanning_tree_leaves_out_punctuation() -> None:
    """Through the full stop every way is short: it must not be one."""
    far = np.array([[0, 3, 4, 0.1], [3, 0, 2, 0.1], [4, 2, 0, 0.1], [0.1, 0.1, 0.1, 0]])
    assert Edges.of(TWO).spanned(TWO, 0, far).tolist() == [True, True]
    far[0, 1] = far[1, 0] = 9
    assert Edges.of(TWO).spanned(TWO, 0, far).tolist() == [False, True]
    assert Edges.of(TWO).spanned(TWO, 0, np.zeros((4, 4))).sum() >= 1  # distances of 0 are edges, too


@pytest.mark.slow
@given(st.integers(0, 200))
@settings(deadline=None)
def test_gold_distances_and_depths_score_one(seed: int) -> None:
    found = random_trees(4, seed=seed, shortest=2)
    none = Trees(found.starts, found.heads, np.zeros(len(found.heads), np.bool_), found.forms)
    edges = Edges.of(none)
    for number in range(4):
        heads = none.heads[none.words(number)]
        assert edges.spanned(none, number, distances(heads).astype(float)).all()
        assert by_distances(heads, distances(heads) * 3.0) == pytest.approx(1)
        assert by_distances(heads, -distances(heads).astype(float)) == pytest.approx(-1)
        assert by_depths(heads, depths(heads) + 0.5) == pytest.approx(1)
        assert by_distances(heads, np.zeros((len(heads), len(heads)))) == 0


def test_means_by_length() -> None:
    """Two sentences of 5 words, one of 6; one of 4 and one of 51 do not count."""
    draw = ByCluster(np.array([5, 5, 6, 4, 51]))
    found = draw.by_length(np.array([0.2, 0.4, 0.9, -1, -1]))
    assert found.value == pytest.approx((0.3 + 0.9) / 2)
    np.testing.assert_allclose(found.without[:3], [(0.4 + 0.9) / 2, (0.2 + 0.9) / 2, 0.3])
    assert found.there.tolist() == [True, True, True, False, False]
    assert np.isnan(found.ends).all()  # of three sentences
    nothing = ByCluster(np.array([3, 4])).by_length(np.zeros(2))
    assert np.isnan(nothing.value)


def test_shares_and_their_intervals() -> None:
    """Against the textbook: sentences of ten words that are all right or all wrong."""
    sentences = np.repeat(np.arange(400), 10)
    right = sentences % 4 != 0
    draw = ByCluster(np.full(400, 10))
    found = draw.share(right, sentences)
    assert found.value == 0.75
    half = 1.96 * np.sqrt(0.75 * 0.25 / 400)
    assert found.ends[1] - found.ends[0] == pytest.approx(2 * half, rel=0.01)
    paired = found.minus(draw.share(right, sentences))
    assert paired.value == 0
    unseen = 1.96**2 / (400 + 1.96**2)  # Wilson's, of none of 400
    assert paired.ends == pytest.approx((-unseen, unseen), rel=1e-3)


def test_documents_are_wider_than_their_sentences() -> None:
    """40 documents of ten sentences alike: as 40 sentences; two probes that err alike differ surely all the same."""
    sentences = np.repeat(np.arange(400), 10)
    right = (sentences // 10) % 4 != 0
    own, apart = ByCluster(np.full(400, 10), np.arange(400) // 10), ByCluster(np.full(400, 10))
    found = own.share(right, sentences)
    assert found.documents == 40
    half = 2.0227 * np.sqrt(0.75 * 0.25 / 39)
    assert found.gain.se * 2.0227 == pytest.approx(half, rel=1e-6)
    assert np.diff(found.ends) > 2.8 * np.diff(apart.share(right, sentences).ends)
    worse = right & (np.arange(len(right)) % 5 > 0)
    more = found.minus(own.share(worse, sentences))
    assert more.value == pytest.approx(0.15)
    assert 0.1 < more.ends[0] < 0.15 < more.ends[1] < 0.2
    assert float(more.gain.differs()) < 1e-6


def test_the_table() -> None:
    right = np.array([1, 2, -1, 2, 1, 3, 1, -1])
    control = TWO.control(np.array([0]))
    rows = [
        Row("right-branching", Heads(TWO.right_branching())),
        Row(
            "attention",
            Heads(right),
            Heads(np.zeros(8, np.int64), control.heads),
            training=Fitted([(2.0, 3.0), (1.0, 2.5), (0.9, 2.6)], 2, 4.0).figures(),
            parameters=7,
        ),
        Row(
            "structural",
            Structure(np.array([True, False]), np.zeros(2), np.ones(2), np.array([True, False])),
            layer=3,
        ),
    ]
    whole = dataset(rows, TWO, seed=5, meta={"model": {}})
    found = table(whole)
    pairs = differences(whole)
    assert pairs["score"].tolist() == ["uas", "uuas", "uuas", "uuas"]
    expected = ["attention", "right-branching", 1 - 4 / 6]
    assert pairs.loc[0, ["probe", "other", "difference"]].tolist() == expected
    assert pairs[["low", "high", "p"]].isna().all().all()  # of two sentences
    assert tuple(found.columns) == COLUMNS
    one, two, three = (found.iloc[place] for place in range(3))
    assert one["uas"] == pytest.approx(4 / 6)  # the first *sat* and *b* are wrong
    assert one["uas_punct"] == pytest.approx(4 / 8)  # and the full stop and the comma
    assert one["epochs"] == 0
    assert (two["uas"], two["uas_punct"], two["uuas"]) == (1, 1, 1)
    assert two["control"] == pytest.approx(2 / 6)  # the first words attach to themselves, which is word 0
    assert two["selectivity"] == pytest.approx(4 / 6)
    assert (two["epochs"], two["loss"], two["held_out"], two["parameters"]) == (3, 1.0, 2.5, 7)
    assert (three["uuas"], three["root_accuracy"], three["layer"]) == (0.5, 0.5, 3)
    assert np.isnan(three["uas"])
    assert found["layer"].isna().tolist() == [True, True, False]
    assert found["n"].tolist() == [6, 6, 6]
    assert found["edges"].tolist() == [2, 2, 2]
    assert found["seed"].tolist() == [5, 5, 5]
