"""Mergeable sums against the same figures computed from all documents at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.measures.sums import APART, By, Documents, Sums
from headscope.statistics.jackknife import error, skewness

Input = tuple[int, np.ndarray, np.ndarray, np.ndarray]  # document, sums, chance, divisors
LAYERS = (0, 2)


def draw_inputs(seed: int, documents: int) -> list[Input]:
    draw = np.random.default_rng(seed)
    found: list[Input] = []
    for document in range(documents):
        for _ in range(draw.integers(1, 4)):
            divisors = draw.integers(0, 5, 2).astype(float)
            sums = draw.random((2, 2, 3)) * divisors[:, None, None]
            sums[:, 1, 2] = np.nan  # layer 2 has two heads
            found.append((document, sums, draw.random((2, 2)) * divisors[:, None], divisors))
    return found


def gather(inputs: Sequence[Input], by: By = "token") -> Sums:
    documents = Documents(["a", "b"], by, folds=2)
    for document, sums, chance, divisors in inputs:
        documents.add(document, Tokens(["x", "y"]), LAYERS, sums, chance, divisors)
    return documents.close()


def direct(inputs: Sequence[Input], by: By) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, error and chance of the first measure, from the definition."""
    rows: dict[int, list[np.ndarray]] = {}
    for document, sums, chance, divisors in inputs:
        s, c, n = sums[0], chance[0], divisors[0]
        if by == "segment":
            s, c, n = (s / n, c / n, 1.0) if n else (s * 0, c * 0, 0.0)
        before = rows.get(document, [0.0, 0.0, 0.0])
        rows[document] = [before[0] + s, before[1] + c, before[2] + n]
    kept = [row for row in rows.values() if row[2] > 0]
    if by == "document":
        kept = [[s / n, c / n, 1.0] for s, c, n in kept]
    if not kept:
        return np.full((2, 3), np.nan), np.full((2, 3), np.nan), np.full((2, 3), np.nan)
    s, c, n = (np.array([row[place] for row in kept]) for place in range(3))
    ratio = s.sum(0) / n.sum()
    return ratio, error(s, n[:, None, None]), np.tile(c.sum(0)[:, None] / n.sum(), (1, 3))


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    documents=st.integers(1, 9),
    by=st.sampled_from(["token", "document", "segment"]),
)
def test_figures_are_those_of_the_definition(seed: int, documents: int, by: By) -> None:
    inputs = draw_inputs(seed, documents)
    found = gather(inputs, by)
    value, expected, chance = direct(inputs, by)
    np.testing.assert_allclose(found.value()[0], value, rtol=1e-12)
    np.testing.assert_allclose(found.error()[0], expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.by_chance()[0], chance, rtol=1e-12)
    if by == "segment":
        return
    own = found.apart
    expected = (
        skewness(np.array([one.s[0] for one in own]), np.array([one.n[0] for one in own])) if own else 0.0
    )
    told = np.isfinite(value)
    # Documents that are all but alike have no shape: third powers keep 100 * 2**-52 / spread**3.
    told[told] = found.error()[0][told] > 1e-2 * np.abs(value[told])
    np.testing.assert_allclose(
        found.skewness()[0][told], np.broadcast_to(expected, value.shape)[told], atol=1e-6
    )


def in_blocks(inputs: Sequence[Input], by: By, cuts: Sequence[int]) -> list[Sums]:
    """The sums of runs of inputs that end at `cuts`, wherever that is."""
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(inputs)}), len(inputs)]
    parts = [inputs[start:end] for start, end in pairwise(edges)]
    found: list[Sums] = []
    for number, part in enumerate(parts):
        others = {one[0] for place, other in enumerate(parts) if place != number for one in other}
        documents = Documents(["a", "b"], by, folds=2)
        for document, sums, chance, divisors in part:
            documents.add(document, Tokens(["x", "y"]), LAYERS, sums, chance, divisors)
        found.append(documents.close(others & {one[0] for one in part}))
    return found


def total(blocks: Sequence[Sums], *, stored: bool) -> Sums:
    """From the left; `stored`: each block, and each total, to a file and back."""
    there = (lambda sums: Sums.from_arrays(sums.to_arrays())) if stored else (lambda sums: sums)
    found = there(blocks[0])
    for block in blocks[1:]:
        found = there(found + there(block))
        assert len(found.open) <= 1
    return found


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    documents=st.integers(1, 5),
    cuts=st.lists(st.integers(1, 14), max_size=14),
    by=st.sampled_from(["token", "document", "segment"]),
)
def test_documents_that_are_cut_count_once(seed: int, documents: int, cuts: list[int], by: By) -> None:
    """Wherever blocks end, figures and counts are those of the whole; in whole numbers to the last digit."""
    inputs = [(d, np.floor(8 * s), np.floor(8 * c), n) for d, s, c, n in draw_inputs(seed, documents)]
    whole, blocks = gather(inputs, by), in_blocks(inputs, by, cuts)
    found = total(blocks, stored=False)
    kept = total(blocks, stored=True)
    assert found.closed().counts == whole.counts
    for name, array in whole.to_arrays().items():
        if array.dtype.kind == "f" and not name.startswith("open"):
            own = found.closed().to_arrays()[name]
            np.testing.assert_array_equal(kept.closed().to_arrays()[name], own)
            np.testing.assert_allclose(own, array, rtol=0 if by == "token" else 1e-12, atol=0)
    for figures in (Sums.value, Sums.error, Sums.by_chance):
        np.testing.assert_array_equal(figures(kept), figures(found))
        np.testing.assert_allclose(
            figures(found), figures(whole), rtol=1e-6 if figures is Sums.error else 1e-12, atol=1e-7
        )


def test_the_order_of_inputs_changes_no_digit_across_documents() -> None:
    """Batches sorted by length mix documents: the sums are reduced in the order of documents all the same."""
    inputs = draw_inputs(3, 8)
    mixed = sorted(inputs, key=lambda one: (-one[3].sum(), one[0]))
    single = {one[0]: one for one in inputs}
    a, b = gather(list(single.values())), gather(sorted(single.values(), key=lambda one: -one[3].sum()))
    for name, array in a.to_arrays().items():
        if array.dtype.kind == "f":
            np.testing.assert_array_equal(b.to_arrays()[name], array)
    np.testing.assert_allclose(gather(mixed).value(), gather(inputs).value(), rtol=1e-12)


def test_two_documents_by_hand() -> None:
    def one(document: int, s: float, n: float) -> Input:
        return document, np.full((2, 2, 3), s), np.full((2, 2), n / 4), np.full(2, n)

    found = gather([one(0, 1.0, 4.0), one(0, 2.0, 4.0), one(1, 1.0, 2.0)])
    assert found.value()[0, 0, 0] == 4 / 10
    without = np.array([1 / 2, 3 / 8])
    assert found.error()[0, 0, 0] == pytest.approx(math.sqrt(1 / 2 * ((without - without.mean()) ** 2).sum()))
    assert found.effective()[0, 0, 0] == pytest.approx(10**2 / (8**2 + 2**2))
    assert found.folds[:, :, 0, 0, 0].tolist() == [[3.0, 8.0], [1.0, 2.0]]
    assert found.by_chance()[0, 0, 0] == 0.25


def test_one_document_has_no_error() -> None:
    assert np.isnan(gather(draw_inputs(0, 1)).error()).all()


def test_documents_that_are_alike_have_no_error() -> None:
    same = [(document, np.full((2, 2, 3), 0.3), np.zeros((2, 2)), np.ones(2)) for document in range(5)]
    np.testing.assert_allclose(gather(same).error(), 0.0, atol=1e-8)


@pytest.mark.parametrize(("spread", "known"), [(1e-2, True), (1e-3, True), (1e-5, False), (1e-6, False)])
def test_skewness_is_told_where_third_powers_are(spread: float, known: bool) -> None:
    """It is a difference of sums of third powers, which keep 16 digits: of residuals of 1e-5 hardly one is left."""
    s = 0.3 * (1 + spread * np.array([0, 0, 1, 1, 5, 0]))
    zero, one = np.zeros((2, 2)), np.ones(2)
    found = gather([(document, np.full((2, 2, 3), each), zero, one) for document, each in enumerate(s)])
    shape = float(skewness(s, np.ones(6)))
    assert shape > 0.5
    np.testing.assert_allclose(found.skewness(), shape if known else 0.0, atol=100 * 2**-52 / spread**3)


def test_inputs_without_rows_count_for_nothing() -> None:
    """A document in which no row counts changes neither the figure nor the number of documents."""
    some = draw_inputs(1, 4)
    nothing = (9, np.zeros((2, 2, 3)), np.zeros((2, 2)), np.zeros(2))
    for by in ("token", "document", "segment"):
        a, b = gather(some, by), gather([*some, nothing], by)
        np.testing.assert_allclose(b.value()[0, 0], a.value()[0, 0])
        np.testing.assert_array_equal(b.documents, a.documents)


def test_arrays_and_back() -> None:
    found = gather(draw_inputs(5, 3))
    again = Sums.from_arrays(found.to_arrays())
    assert (again.measures, again.layers, again.counts) == (found.measures, found.layers, found.counts)
    np.testing.assert_array_equal(again.s, found.s)
    np.testing.assert_array_equal((again + again).n, 2 * found.n)
    with pytest.raises(InputError, match="expected the arrays nn, found"):
        Sums.from_arrays({name: array for name, array in found.to_arrays().items() if name != "nn"})


def test_parts_of_different_runs_do_not_add() -> None:
    documents = Documents(["a", "c"])
    documents.add(0, Tokens(["x"]), LAYERS, np.zeros((2, 2, 3)), np.zeros((2, 2)), np.ones(2))
    with pytest.raises(InputError, match=r"same measures in both parts, found a, b and a, c"):
        gather(draw_inputs(0, 2)) + documents.close()
    documents = Documents(["a", "b"])
    documents.add(0, Tokens(["x"]), LAYERS, np.zeros((2, 2, 4)), np.zeros((2, 2)), np.ones(2))
    with pytest.raises(InputError, match="same by in both parts, found token and segment"):
        gather(draw_inputs(0, 2)) + gather(draw_inputs(0, 2), "segment")
    with pytest.raises(InputError, match="as many heads"):
        gather(draw_inputs(0, 2)) + documents.close()


def test_no_input() -> None:
    with pytest.raises(InputError, match="expected at least one input, found none"):
        Documents(["a"]).close()


def test_counts() -> None:
    tokens = Tokens(
        ["[CLS]", "un", "##do", "it", "[SEP]", "un", "[SEP]"],
        word_ids=np.array([-1, 0, 0, 1, -1, 0, -1]),
        sequence_ids=np.array([-1, 0, 0, 0, -1, 1, -1]),
        special_mask=np.array([1, 0, 0, 0, 1, 0, 1], bool),
        classes={"sep": np.array([0, 0, 0, 0, 1, 0, 1], bool)},
    )
    documents = Documents(["a"])
    for _ in range(2):
        documents.add(7, tokens, [0], np.zeros((1, 1, 1)), np.zeros((1, 1)), np.ones(1))
    assert documents.close().counts == Counter(
        {
            "documents": 1, "examples": 2, "tokens": 14, "class sep": 4, "class special": 6, "words": 6,
            "split_words": 2,
        }
    )  # fmt: skip


def test_errors_of_many_documents_are_close_to_the_jackknife() -> None:
    """More documents than are kept, a few of them large: the others are taken to have their mean share."""
    draw = np.random.default_rng(2)
    n = np.concatenate([draw.integers(1, 40, 150), [4000, 1500, 900]]).astype(float)
    s = n * draw.beta(2, 3, len(n))
    inputs = [
        (place, np.full((2, 2, 3), s[place]), np.zeros((2, 2)), np.full(2, n[place]))
        for place in draw.permutation(len(n))
    ]
    sums = gather(inputs)
    assert len(sums.apart) == APART
    np.testing.assert_allclose(sums.error()[0, 0, 0], float(error(s, n)), rtol=1e-4)
    plain = np.sqrt(((s - s.sum() / n.sum() * n) ** 2).sum()) / n.sum()
    assert sums.error()[0, 0, 0] > 1.2 * plain  # the sandwich that takes no document out
