"""Two groups of inputs: planted differences are found, and only they."""

from __future__ import annotations

import json

import numpy as np
import pytest

from headscope.analyses.compare_groups import statistics as two_groups
from headscope.errors import InputError
from headscope.measures.choose import choose


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
