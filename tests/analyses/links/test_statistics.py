"""Accuracies of planted and of noisy heads, tables, and sums that are kept and merged."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.analyses.links.statistics import COLUMNS, dataset, every_head, table
from headscope.analyses.links.sums import LinkSums
from headscope.statistics.resample import Answers


def drawn(
    seed: int, *, rate: float | None = None, documents: int = 20, each: int = 10, chance: float = 0.2
) -> LinkSums:
    """Links of one label in documents that differ; all heads guess, but L1H1 by rows, which is right at a rate."""
    draw = np.random.default_rng(seed)
    sums = LinkSums(["row", "column"], [0, 1], 6, ["nearest"], chance=True)
    for document in range(documents):
        right = draw.random((2, 2, 6, each)) < chance
        if rate is not None:
            own = draw.beta(rate * 9, (1 - rate) * 9)  # links of a document are alike: a correlation of 0.1
            right[0, 1, 1] = draw.random(each) < own
        rule = draw.random((1, each)) < chance
        sums.add(["x"] * each, right, rule, sums.clusters.number(document, True), np.full((1, each), chance))
    sums.figures = {"x": 1 + draw.random((4, 2, 2, 6))}
    return sums


@pytest.mark.slow
def test_tables_have_the_columns_of_the_contract() -> None:
    found = dataset(drawn(0, rate=0.6))
    assert table(found).columns[: len(COLUMNS)].tolist() == [name for name in COLUMNS if name in table(found)]
    assert len(every_head(found)) == 24
    few = table(dataset(drawn(0), least=201)).iloc[0]
    assert few["few"]
    assert np.isnan(few["accuracy"])
    assert few["n"] == 200


def parts(count: int) -> list[LinkSums]:
    """Sums of blocks with labels of their own, between which documents go on."""
    draw = np.random.default_rng(3)
    found: list[LinkSums] = []
    for block in range(count):
        sums = LinkSums(["row"], [0], 3, [1, 2], chance=True)
        sums.others["more"] = Answers(3 + 2, 0)
        for document in (block, block + 1):
            labels = draw.choice(["a", "b", str(block)], 4).tolist()
            bits = draw.random((1, 1, 3, 4)) < 0.5
            cluster = sums.clusters.number(document, True)
            sums.add(labels, bits, draw.random((2, 4)) < 0.5, cluster, draw.random((1, 4)))
            sums.add(labels[:2], bits[..., :2], draw.random((2, 2)) < 0.5, cluster, other="more")
        sums.figures = {"a": draw.random((4, 1, 1, 3)), str(block): draw.random((4, 1, 1, 3))}
        found.append(sums)
    return found


def same(one: LinkSums, other: LinkSums) -> None:
    mine, theirs = one.to_arrays(), other.to_arrays()
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        if name == "sums":
            np.testing.assert_allclose(array, theirs[name], rtol=1e-12)
        else:
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)


def test_sums_add_up_in_any_grouping_and_stay_as_they_were() -> None:
    a, b, c, d = parts(4)
    before = [each.to_arrays() for each in (a, b, c, d)]
    left = ((a + b) + c) + d
    right = (a + b) + (c + d)
    same(left, right)
    other = (a + b) + d  # from the same beginning as the left one
    assert other.answers.clusters_count == 5
    assert left.clusters.count == 5  # documents 0 to 4: each goes on in the next block
    assert left.count == 8
    assert [len(each.answers) for each in (left, other)] == [32, 24]
    for each, arrays in zip((a, b, c, d), before, strict=True):
        for name, array in each.to_arrays().items():
            np.testing.assert_array_equal(array, arrays[name])
    same(LinkSums.from_arrays(left.to_arrays()), left)
    whole = [np.unpackbits(each.answers.bits(), axis=1, count=5) for each in (a, b, c, d)]
    np.testing.assert_array_equal(np.unpackbits(left.answers.bits(), axis=1, count=5), np.concatenate(whole))
    with pytest.raises(
        ValueError, match="expected 1 layer × 3 heads in all inputs, found 2 layers × 6 heads"
    ):
        _ = left + drawn(0)
