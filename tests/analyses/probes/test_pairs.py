"""The probes of Clark et al. 2019 on planted maps, by finite differences, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headscope.analyses.probes.fit import Data, batches, evaluate, fit
from headscope.analyses.probes.modules import SPECIAL, AttentionProbe, Batch, DistanceProbe, PairProbe
from tests.helpers.planted_probes import HEADS, PLANTED, Loss, planted_data, random_trees

SIZE = 3


def uas(probe: PairProbe, data: Data) -> float:
    right = total = 0
    with torch.no_grad():
        for sentences in batches(data.trees.lengths, np.arange(len(data.trees))):
            batch = data.batch(sentences)
            inside = batch.inside
            right += int((probe.predict(batch) == batch.gold - 1)[inside].sum())
            total += int(inside.sum())
    return right / total


def toy(lengths: list[int], seed: int = 0, width: int = 0) -> Batch:
    """Random sentences in float64; what is in the padding is noise too."""
    torch.manual_seed(seed)
    width = max(*lengths, width)
    sizes = torch.tensor(lengths)
    gold = torch.stack([torch.randint(0, int(size) + 1, (width,)) for size in sizes])
    gold[torch.arange(width) >= sizes[:, None]] = -1
    maps = torch.rand(len(lengths), width, width + SPECIAL, HEADS, dtype=torch.float64)
    return Batch(sizes, gold, maps, torch.randn(len(lengths), width, SIZE, dtype=torch.float64))


def made(kind: str) -> PairProbe:
    torch.manual_seed(1)
    probe = (
        DistanceProbe(SIZE, hidden=4)
        if kind == "distance"
        else AttentionProbe(HEADS, SIZE if kind == "words" else 0)
    )
    with torch.no_grad():
        for value in probe.parameters():
            value.normal_()
    return probe.double()


def test_a_planted_head_is_found(tmp_path: Path) -> None:
    data = planted_data(tmp_path / "train", random_trees(200))
    test = planted_data(tmp_path / "dev", random_trees(100, seed=1), seed=1)
    probe = AttentionProbe(HEADS)
    lengths = test.trees.lengths
    chance = float(lengths.sum() / (lengths * (lengths + 1)).sum())
    assert evaluate(probe, test, np.arange(100)) == pytest.approx(
        float((lengths * np.log(lengths + 1)).sum() / lengths.sum()), rel=1e-5
    )
    assert abs(uas(probe, test) - chance) < 0.1
    fit(probe, data, rate=0.3, epochs=12)
    assert uas(probe, test) > 0.99
    assert int(probe.pair.argmax()) == HEADS + PLANTED  # u: what the dependent gives


@pytest.mark.slow
def test_a_planted_head_in_the_other_direction(tmp_path: Path) -> None:
    """Maps turned round: the gold head looks at its dependents, which w is to find."""
    data, test = (
        planted_data(tmp_path / name, random_trees(count, seed=seed), "float32", seed)
        for name, count, seed in (("train", 200, 0), ("dev", 100, 1))
    )

    class Turned(Data):
        def batch(self, sentences: Any) -> Batch:
            found = super().batch(sentences)
            width = found.maps.shape[1]
            turned = found.maps.clone()
            turned[:, :, :width] = found.maps[:, :, :width].transpose(1, 2)
            return replace(found, maps=turned)

    own, other = (Turned(each.trees, maps=each.maps, heads=each.heads) for each in (data, test))
    probe = AttentionProbe(HEADS)
    fit(probe, own, rate=0.3, epochs=12)
    assert uas(probe, other) > 0.99
    assert int(probe.pair.detach()[0].argmax()) == PLANTED


@pytest.mark.parametrize("kind", ["attention", "words"])
def test_the_formula(kind: str) -> None:
    """Against loops over words and heads that write section 5 out."""
    batch, probe = toy([3, 5]), made(kind)
    with torch.no_grad():
        logits = probe.logits(batch)
        for sentence, size in enumerate(batch.lengths.tolist()):
            maps, vectors = batch.maps[sentence], batch.vectors[sentence]
            width = maps.shape[0]
            for j in range(size):
                w, u, cls, sep = probe.pair[0], probe.pair[1], probe.root[0], probe.root[1]
                if kind == "words":
                    of = (vectors[j] @ probe.of_dependent).view(4, HEADS)
                    cls, sep = cls + of[2], sep + of[3]
                root = (cls * maps[j, width] + sep * maps[j, width + 1]).sum()
                assert logits[sentence, j, 0].item() == pytest.approx(root.item())
                for i in range(size):
                    own_w, own_u = w, u
                    if kind == "words":
                        head = (vectors[i] @ probe.of_head).view(2, HEADS)
                        own_w, own_u = w + head[0] + of[0], u + head[1] + of[1]
                    expected = (own_w * maps[i, j] + own_u * maps[j, i]).sum()
                    assert logits[sentence, j, 1 + i].item() == pytest.approx(expected.item())
            assert torch.isinf(logits[sentence, :size, 1 + size :]).all()


def test_features_of_distance() -> None:
    """Worked by hand: the second of four words."""
    probe = DistanceProbe(SIZE)
    batch = toy([4])
    found = probe._features(batch)[0, 1]
    expected = [
        [0, 0, 0, 0, 0, 0, 0, 1],
        [0, 0.25, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0, 0],
        [0.25, 0, 0, 0, 0, 1, 0, 0],
        [0.5, 0, 0, 0, 0, 0, 1, 0],
    ]
    np.testing.assert_allclose(found, expected)


def test_the_distance_probe_by_loops() -> None:
    batch, probe = toy([2, 4]), made("distance")
    with torch.no_grad():
        logits, features = probe.logits(batch), probe._features(batch)
        for sentence, size in enumerate(batch.lengths.tolist()):
            for j in range(size):
                for c in range(size + 1):
                    units = probe.of_pair(features[sentence, j, c]) + probe.of_dependent(
                        batch.vectors[sentence, j]
                    )
                    if c:
                        units = units + probe.of_head(batch.vectors[sentence, c - 1])
                    assert logits[sentence, j, c].item() == pytest.approx(probe.out(units.tanh()).item())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["attention", "words", "distance"])
def test_gradients(kind: str) -> None:
    """By finite differences, in float64, with padding in the batch."""
    batch, probe = toy([3, 5, 1]), made(kind)
    names = [name for name, _ in probe.named_parameters()]

    def loss(*values: torch.Tensor) -> torch.Tensor:
        own = {f"probe.{name}": value for name, value in zip(names, values, strict=True)}
        return torch.func.functional_call(Loss(probe), own, (batch,))

    values = [value.detach().clone().requires_grad_() for value in probe.parameters()]
    assert torch.autograd.gradcheck(loss, values)


@pytest.mark.parametrize("kind", ["attention", "words", "distance"])
def test_batching_and_padding_do_not_matter(kind: str) -> None:
    probe, lengths = made(kind), [3, 6, 1, 4]
    together = toy(lengths, width=8)
    loss, words = probe.loss(together)
    loss.backward()
    gradients = [value.grad.clone() for value in probe.parameters() if value.grad is not None]
    probe.zero_grad()
    total = 0.0
    heads = probe.predict(together)
    for place, size in enumerate(lengths):
        width = together.maps.shape[1]
        among = [*range(size), *range(width, width + SPECIAL)]
        one = Batch(
            together.lengths[place : place + 1],
            together.gold[place : place + 1, :size],
            together.maps[place : place + 1, :size, among],
            together.vectors[place : place + 1, :size],
        )
        part, count = probe.loss(one)
        part.backward()
        total += part.item()
        assert count == size
        assert (probe.predict(one)[0] == heads[place, :size]).all()
    assert words == sum(lengths)
    assert total == pytest.approx(loss.item(), rel=1e-12)
    for value, expected in zip(probe.parameters(), gradients, strict=True):
        torch.testing.assert_close(value.grad, expected, rtol=1e-9, atol=1e-12)


def test_the_loss_is_that_of_words_only() -> None:
    """Untrained: ln of the number of candidates a word, whatever the padding."""
    loss, words = AttentionProbe(HEADS).double().loss(toy([3, 5], width=9))
    assert loss.item() == pytest.approx(3 * math.log(4) + 5 * math.log(6))
    assert words == 8
