"""The structural probe of Hewitt and Manning 2019."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.probes.modules import Batch, TreeDepth, TreeDistance, tree_distances
from headscope.analyses.probes.trees import Trees, ancestors, behaviours, depths, distances
from headscope.corpora import Example
from tests.helpers.planted_probes import Loss, random_heads, random_trees


def forest(sizes: list[int], seed: int = 0) -> tuple[list[np.ndarray], Batch]:
    """Random trees and random states in float64; states in the padding are noise."""
    draw = np.random.default_rng(seed)
    heads = [np.array(random_heads(draw, size)) for size in sizes]
    width = max(sizes)
    gold = torch.full((len(sizes), width), -1)
    for place, each in enumerate(heads):
        gold[place, : len(each)] = torch.as_tensor(each + 1)
    states = torch.as_tensor(draw.normal(size=(len(sizes), width, 7)))
    return heads, Batch(torch.tensor(sizes), gold, states=states)


def probes(rank: int = 3) -> tuple[TreeDistance, TreeDepth]:
    torch.manual_seed(0)
    return TreeDistance(7, rank=rank).double(), TreeDepth(7, rank=rank).double()


def test_gold_distances_and_losses_by_loops() -> None:
    heads, batch = forest([4, 1, 9])
    near, deep = (probe.requires_grad_(False) for probe in probes())
    between, far, low = tree_distances(batch), near(batch), deep(batch)
    loss = depth_loss = 0.0
    for place, each in enumerate(heads):
        size = len(each)
        np.testing.assert_array_equal(between[place, :size, :size], distances(each))
        for one in range(size):
            for other in range(size):
                apart = (batch.states[place, one] - batch.states[place, other]) @ near.map
                assert far[place, one, other].item() == pytest.approx(float(apart @ apart), abs=1e-9)
                loss += abs(far[place, one, other].item() - distances(each)[one, other]) / size**2
            mapped = batch.states[place, one] @ deep.map
            assert low[place, one].item() == pytest.approx(float(mapped @ mapped))
            depth_loss += abs(low[place, one].item() - depths(each)[one]) / size
    assert near.loss(batch)[0].item() == pytest.approx(loss)
    assert deep.loss(batch)[0].item() == pytest.approx(depth_loss)
    assert near.loss(batch)[1] == deep.loss(batch)[1] == 3


@pytest.mark.parametrize("which", [0, 1])
def test_gradients(which: int) -> None:
    _, batch = forest([4, 2, 6])
    probe = probes()[which]
    with torch.no_grad():
        probe.map.normal_()

    def loss(value: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(Loss(probe), {"probe.map": value}, (batch,))

    assert torch.autograd.gradcheck(loss, probe.map.detach().clone().requires_grad_())


def test_states_in_which_a_tree_is_drawn_fit_exactly() -> None:
    """States of which each number is one edge on the way to the root: squared distances are those of the tree."""
    heads, batch = forest([5, 8])
    states = torch.zeros(2, 8, 8, dtype=torch.float64)
    for place, each in enumerate(heads):
        above = ancestors(each).astype(float)
        above[:, each < 0] = 0
        states[place, : len(each), : len(each)] = torch.as_tensor(above)
    drawn = Batch(batch.lengths, batch.gold, states=states)
    for probe in (TreeDistance(8).double(), TreeDepth(8).double()):
        with torch.no_grad():
            probe.map.copy_(torch.eye(8))
        assert probe.loss(drawn)[0].item() == pytest.approx(0.0, abs=1e-12)


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
