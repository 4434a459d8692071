"""Accuracies of dependency heads: by hand, planted, and what must hold of the intervals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.links.sums import LinkSums
from headscope.analyses.links.syntax.section import Syntax
from headscope.analyses.links.syntax.statistics import (
    ALL,
    DIRECTIONS,
    WITHOUT,
    by_offsets,
    dataset,
    every_head,
    table,
)
from headscope.analyses.links.syntax.statistics import dataset as syntax_dataset
from headscope.statistics.jackknife import LEAST
from headscope.views.blobs import Blobs
from tests.helpers.section_blocks import rows


def test_offsets_by_hand() -> None:
    assert by_offsets(3, [-2, -1, 1]).tolist() == [[-2, -2, 0], [-2, 0, 1], [1, 2, -2]]
    assert by_offsets(3, [-2, -1, 1], clip=True).tolist() == [[-1, -1, 0], [-1, 0, 1], [1, 2, 2]]


def planted(sentences: int = 60, seed: int = 0) -> LinkSums:
    """Two layers of two heads: L1H0 knows det by rows, L0H1 guesses; the offset 1 is right at half of det."""
    draw = np.random.default_rng(seed)
    words = LinkSums(DIRECTIONS, [0, 1], 2, [-1, 1])
    for _ in range(sentences):
        relations = ["det", "nsubj", "root", "det", "obj", "punct"]
        right = draw.random((2, 2, 2, 6)) < 0.2
        right[:, :, :, 2] = False
        det = np.array([name == "det" for name in relations])
        right[0, 1, 0, det] = True
        baselines = np.zeros((2, 6), bool)
        baselines[1, 0] = True
        words.add(relations, right, baselines)
    return words


def test_a_planted_head_is_found() -> None:
    found = dataset(planted())
    best = table(found).set_index("relation")
    row = best.loc["det"]
    assert (row["layer"], row["head"], row["direction"], row["accuracy"]) == (1, 0, "dep->head", 1.0)
    assert (row["baseline_offset"], row["baseline_accuracy"]) == (1, 0.5)
    assert row["split_accuracy"] == 1.0
    assert (row["difference"], row["p"]) == (0.5, 0.5**60)  # of 60 sentences that all say so
    assert (row["times"], row["choices"]) == (200, 200)
    assert (best.loc[ALL, "n"], best.loc[WITHOUT, "n"]) == (360, 240)
    assert found["accuracy"].sel(relation="det", direction="dep->head", layer=1, head=0) == 1.0


def test_few_instances_are_never_crowned() -> None:
    best = table(dataset(planted(40))).set_index("relation")
    assert set(best.index[best["few"]]) == {"det", "nsubj", "obj", "punct", "root"}
    assert best.loc["nsubj", ["layer", "head", "accuracy", "p"]].isna().all()
    assert best.loc["nsubj", "n"] == 40
    every = every_head(dataset(planted(40)))
    assert len(every) == 8 * 7
    assert every["accuracy"].notna().all()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_accuracies_are_means_of_bits(seed: int, sizes: list[int]) -> None:
    draw = np.random.default_rng(seed)
    words, names, right = LinkSums(DIRECTIONS, [0, 1, 2], 3, [1]), [], []
    for size in sizes:
        names += (relations := list(draw.choice(["a", "b", "root"], size)))
        right.append(draw.random((19, size)) < 0.5)
        words.add(relations, right[-1][:18].reshape(2, 3, 3, size), right[-1][18:])
    bits, found = np.concatenate(right, 1), dataset(words, least=1)
    for name in {ALL, *names}:
        chosen = np.array([name in (ALL, each) for each in names])
        one = found.sel(relation=name)
        np.testing.assert_allclose(one["accuracy"].values.ravel(), bits[:18, chosen].mean(1))
        np.testing.assert_allclose(one["baseline"].values, bits[18:, chosen].mean(1))
        told = bool(one["effective"] >= LEAST)
        assert (((one["ci_low"] <= one["accuracy"] + 1e-9) & (one["ci_low"] >= 0)) == told).all()
        assert (((one["ci_high"] >= one["accuracy"] - 1e-9) & (one["ci_high"] <= 1)) == told).all()
        assert int(one["n"]) == chosen.sum()
    again = dataset(words, least=1)
    assert found.identical(again)


def by_documents(draw: np.random.Generator, documents: int, share: float) -> LinkSums:
    """Documents of ten sentences of three words; all heads are right with a chance that is each document's own."""
    words = LinkSums(DIRECTIONS, [0], 2, [-1, 1])
    words.clusters.kinds = {"documents"}
    for document in range(documents):
        own = draw.beta(share * 9, (1 - share) * 9)  # a correlation of 0.1 between words of a document
        for _ in range(10):
            words.add(["obj"] * 3, draw.random((2, 1, 2, 3)) < own, draw.random((2, 3)) < own, document)
    return words


def test_few_documents_have_figures_but_no_interval_and_no_test() -> None:
    draw = np.random.default_rng(0)
    found = dataset(by_documents(draw, 4, 0.4))
    row = table(found).set_index("relation").loc["obj"]
    assert row[["ci_low", "ci_high", "split_low", "split_high", "p", "q", "difference_low"]].isna().all()
    assert row[["accuracy", "split_accuracy", "difference"]].notna().all()
    assert (row["effective"], row["clusters"]) == (4, "documents")
    described = json.loads(found.attrs["meta"])
    assert (described["clusters"], described["clusters_count"]) == ("documents", 4)
    assert np.isfinite(dataset(by_documents(draw, 5, 0.4)).sel(relation="obj")["p"])


def test_each_relation_stands_beside_its_own_printed_figure() -> None:
    """Table 1 of the paper, by UD's names of its relations."""
    paper = {
        "all": ("All", "7-6", 0.345),
        "compound": ("nn", "4-10", 0.704),
        "obj": ("dobj", "8-10", 0.868),
        "nmod:poss": ("poss", "7-6", 0.805),
        "aux:pass": ("auxpass", "4-10", 0.825),
        "compound:prt": ("prt", "6-7", 0.991),
        "mark": ("mark", "8-2", 0.507),
        "ccomp": ("ccomp", "8-1", 0.488),
        "conj": None,
    }
    words = LinkSums(DIRECTIONS, [0], 1, (-1, 1))
    for _ in range(2):
        count = len(paper) - 1
        words.add(list(paper)[1:], np.ones((2, 1, 1, count), np.bool_), np.zeros((2, count), np.bool_))
    info = Syntax(syntax_dataset(words, least=1)).info(Blobs())
    for relation, expected in paper.items():
        own = next(one for one in rows(info, "relations") if one["relation"] == relation)
        if expected is None:
            assert own["printed"] is own["source"] is None
        else:
            label, head, value = expected
            assert own["source"] == f"{label} {head}"
            assert own["printed"] == pytest.approx(value)
