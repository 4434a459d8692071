"""Maximum spanning trees, by hand and against all trees there are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.links.syntax.statistics import right, spanning_tree

pytest.importorskip("ufal.chu_liu_edmonds")


def is_tree(heads: tuple[int, ...], root: int) -> bool:
    for word in range(len(heads)):
        seen = {word}
        while word != root:
            word = heads[word]
            if word in seen:
                return False
            seen.add(word)
    return True


def test_by_hand() -> None:
    """Each word's best would be a cycle of 1 and 2; the tree breaks it where that costs least."""
    weights = np.array([[0, 0, 0], [0.3, 0, 0.6], [0.1, 0.9, 0.0]])
    assert spanning_tree(weights, 0).tolist() == [-1, 0, 1]  # 0.3 + 0.9 against 0.6 + 0.1


@settings(max_examples=60, deadline=None)
@given(size=st.integers(1, 5), seed=st.integers(0, 10_000), data=st.data())
def test_no_tree_weighs_more(size: int, seed: int, data: st.DataObject) -> None:
    weights = np.random.default_rng(seed).random((size, size))
    root = data.draw(st.integers(0, size - 1))
    choices = [
        [-1] if word == root else [other for other in range(size) if other != word] for word in range(size)
    ]
    trees = [heads for heads in product(*choices) if is_tree(heads, root)]

    def weight(heads: tuple[int, ...]) -> float:
        return sum(weights[word, head] for word, head in enumerate(heads) if head >= 0)

    found = tuple(spanning_tree(weights, root).tolist())
    assert found in trees
    assert weight(found) == pytest.approx(max(map(weight, trees)))


def test_right_by_hand() -> None:
    """Gold: 1 is the root, 0 and 2 hang on it. Predicted: 0 the root, 1 on 0, 2 on 1."""
    directed, undirected = right(np.array([-1, 0, 1]), np.array([1, -1, 1]))
    assert directed.tolist() == [False, False, True]
    assert undirected.tolist() == [False, True, True]
