from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.probes.trees import Trees, behaviours, depths, distances
from headscope.corpora import Example
from tests.helpers.planted_probes import random_heads, random_trees


def sentence(words: str, heads: list[int], relations: str) -> Example:
    return Example(words=words.split(), heads=heads, relations=relations.split(), source="toy:1")


def test_reading() -> None:
    vocabulary: dict[str, int] = {}
    trees = Trees.read(
        [
            sentence("the cat sat .", [1, 2, -1, 2], "det nsubj root punct"),
            sentence("cat , sat", [2, 2, -1], "nsubj punct:x root"),
        ],
        vocabulary,
    )
    assert vocabulary == {"the": 0, "cat": 1, "sat": 2, ".": 3, ",": 4}
    assert trees.starts.tolist() == [0, 4, 7]
    assert trees.heads.tolist() == [1, 2, -1, 2, 2, 2, -1]
    assert trees.punct.tolist() == [False, False, False, True, False, True, False]
    assert trees.forms.tolist() == [0, 1, 2, 3, 1, 4, 2]
    assert trees.right_branching().tolist() == [1, 2, 3, -1, 1, 2, -1]


def test_control_task() -> None:
    """Worked by hand: *the* attaches to itself, *cat* to the first word, *sat* to the last."""
    trees = Trees.read(
        [
            sentence("the cat sat cat", [1, 2, -1, 2], "det nsubj root obj"),
            sentence("sat the", [-1, 0], "root det"),
        ],
        {},
    )
    found = trees.control(np.array([0, 1, 2]))
    assert found.heads.tolist() == [0, 0, 3, 0, 1, 1]
    drawn = behaviours(3000, 1)
    assert np.bincount(drawn).min() > 900
    assert (drawn == behaviours(3000, 1)).all()
    assert (drawn != behaviours(3000, 2)).any()


@given(st.integers(1, 15), st.integers(0, 1000))
@settings(deadline=None)
def test_distances_are_those_of_walking(count: int, seed: int) -> None:
    heads = np.array(random_heads(np.random.default_rng(seed), count))
    steps = np.where(np.eye(count, dtype=bool), 0, 99)
    for word, head in enumerate(heads):
        if head >= 0:
            steps[word, head] = steps[head, word] = 1
    for by in range(count):
        steps = np.minimum(steps, steps[:, by, None] + steps[by])
    np.testing.assert_array_equal(distances(heads), steps)
    np.testing.assert_array_equal(depths(heads), steps[int(np.flatnonzero(heads < 0)[0])])


def test_fingerprints_tell_trees_apart() -> None:
    assert random_trees(5).fingerprint() == random_trees(5).fingerprint()
    assert random_trees(5).fingerprint() != random_trees(5, seed=1).fingerprint()
