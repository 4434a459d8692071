"""Training: Adam, early stopping on held-out sentences, and a state from which it goes on to the same digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from headscope.analyses.probes.data import Data, batches
from headscope.analyses.probes.pairs import Batch
from headscope.errors import RunError
from headscope.tokens import IntArray

HELD_OUT = 0.1
"""Share of the training sentences on which it is decided when to stop."""

GAIN = 5e-4
"""By what share the loss on the held-out sentences has to fall for an epoch to be a gain."""

PATIENCE = 3
"""After so many epochs in a row without a gain training stops."""

DECAY = 0.5
"""What the rate is multiplied by after each epoch without a gain."""

Arrays = dict[str, npt.NDArray[Any]]


@dataclass
class Fitted:
    """How far training has come.

    Attributes:
        losses: of each epoch, mean loss on the training sentences as it went, and after it on those held out.
        best: the epoch, from 1, whose weights were kept; 0 where those at the start were never bettered.
        before: loss on the held-out sentences before any training.
        stale: epochs in a row without a gain.
        arrays: weights, the best weights and Adam's moments.
    """

    losses: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    best: int = 0
    before: float = np.nan
    stale: int = 0
    arrays: Arrays = field(default_factory=dict[str, npt.NDArray[Any]])

    @property
    def held_out(self) -> float:
        """The best loss on the held-out sentences."""
        return self.losses[self.best - 1][1] if self.best else self.before

    def done(self, epochs: int) -> bool:
        """Whether training is over."""
        return len(self.losses) >= epochs or self.stale >= PATIENCE

    def described(self) -> dict[str, Any]:
        """All but the arrays, as JSON."""
        return {"losses": self.losses, "best": self.best, "before": self.before, "stale": self.stale}

    @classmethod
    def of(cls, arrays: Mapping[str, npt.NDArray[Any]], described: Mapping[str, Any]) -> Fitted:
        """What `described` and `arrays` were of."""
        losses = [(float(one), float(other)) for one, other in described["losses"]]
        return cls(
            losses, int(described["best"]), float(described["before"]), int(described["stale"]), dict(arrays)
        )


def split(count: int, seed: int) -> tuple[IntArray, IntArray]:
    """Sentences to train on, and those held out, drawn from `seed`; a treebank of one sentence has both."""
    order = np.random.default_rng([seed, 0x5E]).permutation(count).astype(np.int64)
    held = max(1, round(count * HELD_OUT))
    return (np.sort(order[held:]), np.sort(order[:held])) if count > 1 else (order, order)


def fit(
    probe: nn.Module,
    data: Data,
    *,
    rate: float,
    seed: int = 0,
    epochs: int = 40,
    begin: Fitted | None = None,
    each: Callable[[Fitted], None] = lambda _: None,
) -> Fitted:
    """Train a probe on nine tenths of the sentences until it no longer gets better on the rest.

    A step takes a batch's mean loss (a word's, or for structural probes a sentence's). After an epoch without a gain
    the rate is halved, after three in a row training stops; the probe is left with the weights of its best epoch.

    Args:
        probe: with a method ``loss(batch)`` that gives a sum, and over how much; see `headscope.analyses.probes.pairs`.
        data: what it is trained on.
        rate: of Adam, at first.
        seed: of the split and of the orders; the probe's own first weights are the caller's affair.
        epochs: at most.
        begin: where an earlier training stood: going on from there gives the same digits.
        each: told after each epoch.

    Raises `RunError` where the loss is no longer finite.

    >>> heads, forms = np.tile([1, 2, -1], 20), np.tile([0, 1, 2], 20)
    >>> trees = hs.probes.Trees(np.arange(0, 63, 3), heads, np.zeros(60, bool), forms)
    >>> data = Data(trees, vectors=torch.eye(3))  # 20 sentences of 3 words, each hanging from the next
    >>> fitted = hs.probes.fit(hs.probes.DistanceProbe(3), data, rate=0.1, epochs=5)
    >>> fitted.losses[-1] < fitted.losses[0]
    True
    """
    trained, held = split(len(data.trees), seed)
    lengths = data.trees.lengths
    optimiser: Any = torch.optim.Adam(probe.parameters(), lr=rate)
    state = begin or Fitted()
    if begin is None:
        state.before = evaluate(probe, data, held)
        state.arrays = _arrays(probe, optimiser) | _weights(probe, "best.")
    else:
        _load(probe, optimiser, state.arrays)
    while not state.done(epochs):
        epoch = len(state.losses) + 1
        for group in optimiser.param_groups:
            group["lr"] = rate * DECAY ** _misses(state)
        total, count = 0.0, 0
        for sentences in batches(lengths, trained, np.random.default_rng([seed, epoch])):
            loss, size = _loss(probe, data.batch(sentences))
            mean: Any = loss / size
            optimiser.zero_grad()
            mean.backward()
            optimiser.step()
            total, count = total + float(loss.detach()), count + size
        found = evaluate(probe, data, held)
        if not np.isfinite(total) or not np.isfinite(found):
            raise RunError(f"probe: expected a finite loss, found {total / count} in epoch {epoch}")
        better = found < state.held_out * (1 - GAIN)
        state.losses.append((total / count, found))
        state.stale = 0 if better else state.stale + 1
        kept = {name: each for name, each in state.arrays.items() if name.startswith("best.")}
        if better:
            state.best, kept = epoch, _weights(probe, "best.")
        state.arrays = _arrays(probe, optimiser) | kept
        each(state)
    _restore(probe, state.arrays, "best.")
    return state


def evaluate(probe: nn.Module, data: Data, sentences: IntArray) -> float:
    """Mean loss over some sentences."""
    total, count = 0.0, 0
    with torch.no_grad():
        for chosen in batches(data.trees.lengths, sentences):
            loss, size = _loss(probe, data.batch(chosen))
            total, count = total + float(loss), count + size
    return total / count


def _loss(probe: Any, batch: Batch) -> tuple[Tensor, int]:
    found: tuple[Tensor, int] = probe.loss(batch)
    return found


def _misses(state: Fitted) -> int:
    """Epochs without a gain so far."""
    best, misses = state.before, 0
    for _, found in state.losses:
        better = found < best * (1 - GAIN)
        misses, best = misses + (not better), found if better else best
    return misses


def _weights(probe: nn.Module, prefix: str) -> Arrays:
    return {prefix + name: value.detach().cpu().numpy().copy() for name, value in probe.named_parameters()}


def _restore(probe: nn.Module, arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> None:
    with torch.no_grad():
        for name, value in probe.named_parameters():
            value.copy_(torch.as_tensor(arrays[prefix + name]))


_MOMENTS: Sequence[str] = ("step", "exp_avg", "exp_avg_sq")


def _arrays(probe: nn.Module, optimiser: Any) -> Arrays:
    found = _weights(probe, "weight.")
    for name, value in probe.named_parameters():
        for moment, one in optimiser.state[value].items():
            found[f"adam.{moment}.{name}"] = one.detach().cpu().numpy().copy()
    return found


def _load(probe: nn.Module, optimiser: torch.optim.Optimizer, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    _restore(probe, arrays, "weight.")
    for name, value in probe.named_parameters():
        if f"adam.step.{name}" in arrays:
            optimiser.state[value] = {
                moment: torch.tensor(
                    arrays[f"adam.{moment}.{name}"], device="cpu" if moment == "step" else value.device
                )
                for moment in _MOMENTS
            }
