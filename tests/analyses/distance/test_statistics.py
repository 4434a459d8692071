"""Mergeable sums of pairs against the same figures computed from all documents at once, and what is made of them."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.distance.statistics import COLUMNS, PairDocuments, PairSums, dataset, heads, table
from headscope.core.heads import Head
from headscope.errors import InputError
from headscope.statistics.jackknife import error

HEADS = (Head(0, 0), Head(0, 1), Head(2, 0))  # layer 2 has one head
Input = tuple[int, np.ndarray, int, int]  # document, sums, rows, compared


def draw_inputs(seed: int, documents: int) -> list[Input]:
    draw = np.random.default_rng(seed)
    found: list[Input] = []
    for document in range(documents):
        for _ in range(draw.integers(1, 4)):
            rows = int(draw.integers(1, 9))
            compared = int(draw.integers(1, rows + 1))
            square = np.triu(draw.random((3, 3)) * compared, 1)
            found.append((document, square + square.T, rows, compared))
    return found


def gather(inputs: list[Input]) -> PairSums:
    documents = PairDocuments()
    for document, sums, rows, compared in inputs:
        documents.add(document, HEADS, sums, rows, compared, rows)
    return documents.close()


def direct(inputs: list[Input]) -> tuple[np.ndarray, np.ndarray]:
    """Value and error from the definition, ``[head head]``."""
    numbers = sorted({one[0] for one in inputs})
    s = np.array(
        [sum(sums * rows / compared for d, sums, rows, compared in inputs if d == n) for n in numbers]
    )
    counts = np.array([sum(rows for d, _, rows, _ in inputs if d == n) for n in numbers], float)
    ratio = s.sum(0) / counts.sum()
    return ratio, error(s, counts[:, None, None])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), documents=st.integers(1, 8))
def test_figures_are_those_of_the_definition(seed: int, documents: int) -> None:
    inputs = draw_inputs(seed, documents)
    found = dataset(gather(inputs))
    value, expected = direct(inputs)
    np.testing.assert_allclose(found["distance"], value, rtol=1e-12)
    np.testing.assert_allclose(found["distance_se"], expected, rtol=1e-6, atol=1e-9)
    assert found.attrs["n"] == sum(one[3] for one in inputs)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), documents=st.integers(1, 4), size=st.integers(1, 4))
def test_documents_that_are_cut_count_once(seed: int, documents: int, size: int) -> None:
    """Blocks of `size` inputs, wherever documents end: in whole numbers the very sums of the whole."""
    inputs = [(d, np.floor(8 * sums), rows, rows) for d, sums, rows, _ in draw_inputs(seed, documents)]
    parts = [inputs[start : start + size] for start in range(0, len(inputs), size)]
    found: PairSums | None = None
    for number, part in enumerate(parts):
        others = {one[0] for place, other in enumerate(parts) if place != number for one in other}
        gathered = PairDocuments()
        for document, sums, rows, compared in part:
            gathered.add(document, HEADS, sums, rows, compared, rows)
        own = PairSums.from_arrays(gathered.close(others).to_arrays())
        found = own if found is None else PairSums.from_arrays((found + own).to_arrays())
    whole = gather(inputs)
    assert found.closed().counts == whole.counts
    for name, array in whole.to_arrays().items():
        if array.dtype.kind == "f" and not name.startswith("open"):
            np.testing.assert_array_equal(found.closed().to_arrays()[name], array, err_msg=name)
    np.testing.assert_array_equal(found.value(), whole.value())
    np.testing.assert_array_equal(found.error(), whole.error())


def test_the_order_of_documents_changes_no_digit() -> None:
    single = list({one[0]: one for one in draw_inputs(3, 8)}.values())
    a, b = gather(single), gather(single[::-1])
    for name, array in a.to_arrays().items():
        if array.dtype.kind == "f":
            np.testing.assert_array_equal(b.to_arrays()[name], array)


def test_arrays_and_back() -> None:
    found = gather(draw_inputs(5, 3))
    again = PairSums.from_arrays(found.to_arrays())
    assert (again.heads, again.counts) == (found.heads, found.counts)
    for name, array in found.to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], array)
    np.testing.assert_array_equal((again + again).n, 2 * found.n)
    with pytest.raises(InputError, match="expected the arrays nn, found heads"):
        PairSums.from_arrays({name: array for name, array in found.to_arrays().items() if name != "nn"})


def test_parts_of_other_models_do_not_add() -> None:
    other = PairDocuments()
    other.add(0, HEADS[:2], np.zeros((2, 2)), 1, 1, 1)
    with pytest.raises(InputError, match="same heads in both parts, found L0H0, L0H1, L2H0 and L0H0, L0H1"):
        gather(draw_inputs(0, 2)) + other.close()
    with pytest.raises(InputError, match="document 1: expected 2 heads, found 3"):
        other.add(1, HEADS, np.zeros((3, 3)), 1, 1, 1)


def test_inputs_without_rows_count_for_nothing() -> None:
    some = draw_inputs(1, 4)
    a, b = gather(some), gather([*some, (9, np.zeros((3, 3)), 0, 0)])
    np.testing.assert_array_equal(b.value(), a.value())
    np.testing.assert_array_equal(b.error(), a.error())
    assert b.counts == a.counts + Counter(documents=1, examples=1)


def test_the_labelled_result() -> None:
    found = dataset(gather(draw_inputs(2, 5)), meta={"model": {"name": "m"}})
    assert found["distance"].dims == ("head_a", "head_b")
    assert heads(found) == list(HEADS)
    assert float(found["distance"].sel(head_a="L0H1", head_b="L2H0")) == found["distance"].values[1, 2]
    np.testing.assert_array_equal(found["distance"], found["distance"].T)
    assert json.loads(found.attrs["meta"])["corpus"]["documents"] == 5
    assert found["distance"].attrs["units"] == "nats a token"


def test_the_preset_gives_sums() -> None:
    sums = gather(draw_inputs(2, 5))
    exact, preset = dataset(sums), dataset(sums, preset="clark2019")
    np.testing.assert_allclose(preset["distance"], exact["distance"] * float(sums.n))
    np.testing.assert_allclose(preset["distance_se"], exact["distance_se"] * float(sums.n))
    assert preset["distance"].attrs["units"] == "nats, summed over tokens"
    assert preset["distance"].attrs["smoothing"] == 0.001


def test_the_table() -> None:
    found = dataset(gather(draw_inputs(2, 5)))
    rows = table(found)
    assert tuple(rows.columns) == COLUMNS
    assert len(rows) == 9
    pivoted = rows.pivot(index=["layer_a", "head_a"], columns=["layer_b", "head_b"], values="value")
    np.testing.assert_array_equal(pivoted.to_numpy(), found["distance"])
    row = rows[(rows.layer_a == 0) & (rows.head_a == 1) & (rows.layer_b == 2) & (rows.head_b == 0)].iloc[0]
    assert row["value"] == found["distance"].values[1, 2]
    assert row["se"] == found["distance_se"].values[1, 2]
