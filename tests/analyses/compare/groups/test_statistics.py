"""Two groups of inputs: planted differences are found, and only they."""

from __future__ import annotations

import json

import numpy as np
import pytest

from headscope.analyses.compare.groups import statistics as two_groups
from headscope.measures.choose import choose
from headscope.statistics.design import Design


def test_groups_are_the_two_labels_or_those_asked_for() -> None:
    assert two_groups.choose_groups(["10", "9", "10"]) == ("9", "10")
    assert two_groups.choose_groups(["b", "a"]) == ("a", "b")
    assert two_groups.choose_groups(["a", "b", "c"], ["c", "a"]) == ("c", "a")


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
    assert two_groups.sentence(compared).startswith(
        "1 head differs between the groups at q ≤ 0.05 (11 heads, 2 measures"
    )
    assert json.loads(compared.attrs["meta"])["effect"] == "Hedges' g"


def test_nothing_is_said_where_nothing_differs() -> None:
    found, second = values()
    compared = two_groups.compare(found, second, np.arange(30), choose(["previous", "entropy"]), [0, 1, 2])
    assert not len(two_groups.differing(compared))
    assert two_groups.sentence(compared).startswith(
        "no head differs between the groups at q ≤ 0.05: the smallest q is "
    )


def test_the_typical_input_is_nearest_to_its_groups_mean() -> None:
    found = np.array([0.0, 1.0, 5.0, np.nan, 2.0, 3.0]).reshape(6, 1, 1, 1)
    assert two_groups.typical(found, np.array([0, 0, 0, 0, 1, 1], bool), (0, 0, 0)) == (1, 4)


def test_what_was_permuted_is_said() -> None:
    found, second = values()
    document = np.repeat(np.arange(15), 2)
    second = document % 2 == 0
    second[0] = False
    definitions = choose(["previous", "entropy"])
    compared = two_groups.compare(found, second, document, definitions, [0, 1, 2], null="distributions")
    said = "20,000 permutations of labels of 14 documents and of inputs within 1 document of both groups"
    assert f"null: equal distributions, {said}" in two_groups.sentence(compared)
    compared = two_groups.compare(found, second, document, definitions, [0, 1, 2])
    said = "20,000 bootstrap draws of 14 documents within their group and 1 document of both groups"
    assert f"null: equal means, {said}" in two_groups.sentence(compared)


def test_what_is_tested_is_chosen_and_said() -> None:
    found, second = values()
    definitions = choose(["previous", "entropy"])
    for null in ("means", "distributions"):
        compared = two_groups.compare(found, second, np.arange(30), definitions, [0, 1, 2], null=null)
        assert json.loads(compared.attrs["meta"])["null"] == f"equal {null}"
        assert f"null: equal {null}, 20,000 " in two_groups.sentence(compared)
    table = two_groups.table(compared)
    assert (table["ci_low"] < table["difference"]).all()
    assert (table["difference"] < table["ci_high"]).all()
    design = Design(second, np.zeros(30, np.int64))
    assert two_groups.null_of(design, None) == "distributions"  # of one document nothing can be drawn


@pytest.mark.parametrize("length", ["covariate", "stratum"])
def test_lengths_are_held_equal(length: two_groups.Length) -> None:
    """Heads follow the length, and group B is longer: at equal length one head is left."""
    found, _ = values()
    second = np.arange(30) >= 15
    tokens = np.random.default_rng(1).integers(5, 60, 30) + 25 * second
    found += (
        2.0 * np.log(tokens)[:, None, None, None]
        if length == "covariate"
        else 4.0 * (tokens > np.quantile(tokens, 1 / 3))[:, None, None, None]
    )
    found[second, :, 1, 2] += 3.0
    definitions = choose(["previous", "entropy"])
    plain = two_groups.differing(two_groups.compare(found, second, np.arange(30), definitions, [0, 1, 2]))
    assert len(plain[["layer", "head"]].drop_duplicates()) > 5
    compared = two_groups.compare(
        found, second, np.arange(30), definitions, [0, 1, 2], length=length, tokens=tokens
    )
    own = two_groups.differing(compared)
    assert own[["layer", "head"]].drop_duplicates().values.tolist() == [[1, 2]]
    assert (own["difference"] == own["group_a"] - own["group_b"]).all()
    assert own["difference"].to_numpy() == pytest.approx(-3.0, abs=0.7)
    assert (
        "at equal ln of the tokens" if length == "covariate" else "within strata of length"
    ) in two_groups.sentence(compared)


def test_strata_are_quantiles_of_all_inputs() -> None:
    held = two_groups.held_equal(np.array([3, 3, 3, 3, 9, 9, 30, 31]), "stratum")
    assert held[:, 0].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert two_groups.held_equal(np.arange(200), "stratum").sum(0).tolist() == [40.0] * 4
    assert two_groups.held_equal(np.array([1, 10]), "covariate")[1, 0] == pytest.approx(np.log(10))


def test_that_nothing_can_be_found_is_said() -> None:
    few = Design(np.array([0, 0, 0, 1, 1, 1], bool), np.arange(6))
    assert few.least == 2 / 20
    assert two_groups.nothing(few) == (
        "groups: nothing can be found at q ≤ 0.05: labels of 6 inputs can be dealt out in 20 ways, so no p is below 0.1; "
        "more documents are needed"
    )
    assert two_groups.nothing(few, 0.1) is None
    assert two_groups.nothing(Design(np.arange(8) < 4, np.arange(8))) is None
    found, second = values()
    for null in ("means", "distributions"):
        compared = two_groups.compare(
            found[:6], second[:6], np.arange(6), choose(["previous", "entropy"]), [0, 1, 2], null=null
        )
        said = {"means": "0.17", "distributions": "0.1"}[null]
        assert two_groups.sentence(compared).startswith(
            f"no head can be found to differ: no p can be below {said} ("
        )
    meta = json.loads(compared.attrs["meta"])
    assert two_groups.no_interval(meta) == (
        "no interval of a difference: an interval needs 5 effective documents in each group, A has 3.0 and B has 3.0"
    )
