"""Training: early stopping, the same digits by seed, and after a stop at any epoch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from headscope.analyses.probes.fit import (
    GAIN,
    PAIRS,
    PATIENCE,
    SENTENCES,
    Data,
    Fitted,
    batches,
    evaluate,
    fit,
    split,
)
from headscope.analyses.probes.modules import AttentionProbe, Batch, DistanceProbe
from headscope.errors import RunError
from tests.helpers.planted_probes import HEADS, planted_data, random_trees


@pytest.fixture
def data(tmp_path: Path) -> Data:
    """A task that is learned in part (of the heads 40 % are given as the root), and then by heart."""
    found = planted_data(tmp_path, random_trees(60))
    vectors = torch.as_tensor(np.random.default_rng(0).normal(size=(30, 4)), dtype=torch.float32)
    draw = np.random.default_rng(1)
    wrong = np.where(draw.random(len(found.trees.heads)) < 0.4, -1, found.trees.heads)
    return Data(replace(found.trees, heads=wrong), maps=found.maps, heads=HEADS, vectors=vectors)


def weights(probe: torch.nn.Module) -> list[torch.Tensor]:
    return [value.detach().clone() for value in probe.parameters()]


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.slow
def test_resuming_gives_the_same_digits(data: Data) -> None:
    """Stopped after any epoch, before and after the best one, and taken up by a new probe."""
    states: list[Fitted] = []
    probe = AttentionProbe(HEADS, 4)

    def keep(state: Fitted) -> None:
        arrays = {name: each.copy() for name, each in state.arrays.items()}
        states.append(Fitted.of(arrays, state.described()))

    whole = fit(probe, data, rate=0.5, seed=3, epochs=9, after_epoch=keep)
    assert 1 < whole.best < len(whole.losses)
    for state in (states[0], states[whole.best - 1], states[-2]):
        again = AttentionProbe(HEADS, 4)
        resumed = fit(again, data, rate=0.5, seed=3, epochs=9, begin=state)
        assert resumed.losses == whole.losses
        assert resumed.best == whole.best
        assert same(weights(again), weights(probe))


def test_seeds(data: Data) -> None:
    found = []
    for seed in (0, 0, 1):
        probe = AttentionProbe(HEADS)
        fit(probe, data, rate=0.1, seed=seed, epochs=2)
        found.append(weights(probe))
    assert same(found[0], found[1])
    assert not same(found[0], found[2])


def test_the_best_epoch_is_kept_and_training_stops(data: Data) -> None:
    """At a rate that is far too high the loss goes up again: the weights are those of the best epoch."""
    probe = AttentionProbe(HEADS, 4)
    state = fit(probe, data, rate=0.5, seed=3, epochs=40)
    held = [loss for _, loss in state.losses]
    assert len(held) < 40
    assert state.stale == PATIENCE
    assert 0 < state.best <= len(held) - PATIENCE
    assert evaluate(probe, data, split(60, 3)[1]) == pytest.approx(held[state.best - 1])
    assert state.held_out == held[state.best - 1] <= min(held) / (1 - GAIN) < state.before


def test_an_untrained_probe_that_is_never_bettered_is_kept(data: Data) -> None:
    probe = DistanceProbe(4)
    before = weights(probe)
    state = fit(probe, data, rate=1e6, epochs=5)
    assert state.best == 0
    assert state.held_out == state.before
    assert same(weights(probe), before)


def test_a_loss_that_is_no_number_ends_the_run(data: Data) -> None:
    class Broken(AttentionProbe):
        def loss(self, batch: Batch) -> tuple[torch.Tensor, int]:
            loss, words = super().loss(batch)
            return loss * torch.nan, words

    with pytest.raises(RunError, match="expected a finite loss, found nan in epoch 1"):
        fit(Broken(HEADS), data, rate=0.1)


def test_the_split() -> None:
    trained, held = split(105, 0)
    assert len(held) == 10
    assert sorted([*trained, *held]) == list(range(105))
    assert not np.array_equal(held, split(105, 1)[1])
    assert [len(part) for part in split(2, 0)] == [1, 1]
    assert [len(part) for part in split(1, 0)] == [1, 1]


def test_every_sentence_is_in_one_batch() -> None:
    draw = np.random.default_rng(0)
    lengths = draw.integers(1, 300, 700)
    sentences = np.arange(0, 700, 2)
    for order in (None, np.random.default_rng(1)):
        found = list(batches(lengths, sentences, order))
        assert sorted(np.concatenate(found)) == sentences.tolist()
        for batch in found:
            assert len(batch) <= SENTENCES
            assert len(batch) == 1 or len(batch) * lengths[batch].max() ** 2 <= PAIRS
    one, two = (np.concatenate(list(batches(lengths, sentences, np.random.default_rng(s)))) for s in (1, 2))
    assert one.tolist() != two.tolist()
