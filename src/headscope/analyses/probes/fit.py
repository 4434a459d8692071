"""Training: Adam, early stopping on held-out sentences, and a file from which it continues to the same digits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from headscope.analyses.probes.cache import Store, check_run, restored
from headscope.analyses.probes.modules import SPECIAL, Batch, PairProbe, Probe
from headscope.analyses.probes.trees import Trees
from headscope.core.arrays import Arrays, Ints
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Seed, validated
from headscope.errors import RunError
from headscope.models.weights import seeded
from headscope.runs.progress import bar_of
from headscope.runs.safefile import decode, naming, write

SENTENCES = 32
"""Sentences of a batch, at most."""

PAIRS = 1 << 15
"""Pairs of words of a batch, padding included, at most (but a batch has at least one sentence)."""

_WINDOW = 8
_CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class Data:
    """A treebank with what a probe reads.

    Attributes:
        trees: gold, or that of the control task.
        maps: a store of maps ``[word, word + special, head]``.
        heads: how many of them.
        vectors: ``[form size]``, on the probe's device.
        states: a store of hidden states ``[layer word size]``.
        layer: which of them.
        size: of a hidden state.
        device: where the probe is.
    """

    trees: Trees
    maps: Store | None = None
    heads: int = 0
    vectors: Tensor | None = None
    states: Store | None = None
    layer: int = 0
    size: int = 0
    device: torch.device = _CPU

    def batch(self, sentences: Sequence[int] | Ints) -> Batch:
        """Some sentences, in this order."""
        numbers = [int(number) for number in sentences]
        words = [self.trees.words(number) for number in numbers]
        sizes = [span.stop - span.start for span in words]
        gold = _padded([torch.as_tensor(self.trees.heads[span] + 1) for span in words], -1).to(self.device)
        maps = vectors = states = None
        if self.maps is not None:
            sized = zip(numbers, sizes, strict=True)
            maps = _padded([self._map(self.maps, number, size, max(sizes)) for number, size in sized])
        if self.vectors is not None:
            forms = _padded([torch.as_tensor(self.trees.forms[span]) for span in words]).to(self.device)
            vectors = self.vectors[forms] * (gold >= 0)[..., None]
        if self.states is not None:
            sized = zip(numbers, sizes, strict=True)
            states = _padded([self._state(self.states, number, size) for number, size in sized])
        return Batch(torch.tensor(sizes, device=self.device), gold, maps, vectors, states)

    def _map(self, maps: Store, number: int, size: int, width: int) -> Tensor:
        """The map of a sentence, its columns padded to a width."""
        weights = restored(maps.read(number), self.device).view(size, size + SPECIAL, self.heads)
        return torch.cat(
            [nn.functional.pad(weights[:, :size], (0, 0, 0, width - size)), weights[:, size:]], 1
        )

    def _state(self, states: Store, number: int, size: int) -> Tensor:
        count = size * self.size
        return restored(states.read(number, self.layer * count, count), self.device).view(size, self.size)


def _padded(arrays: list[Tensor], value: float = 0.0) -> Tensor:
    return nn.utils.rnn.pad_sequence(arrays, batch_first=True, padding_value=value)


def batches(lengths: Ints, sentences: Ints, draw: np.random.Generator | None = None) -> Iterator[Ints]:
    """Sentences in batches of similar length: in a drawn order, or as they are.

    A window of eight batches' sentences is sorted by length; with `draw`, the windows are of sentences in a random
    order.
    """
    order = sentences if draw is None else draw.permutation(sentences)
    size = _WINDOW * SENTENCES
    for start in range(0, len(order), size):
        window = order[start : start + size]
        window = window[np.argsort(lengths[window], kind="stable")]
        parts: list[Ints] = []
        first = 0
        for place in range(1, len(window) + 1):
            full = place - first == SENTENCES
            if place == len(window) or full or (place + 1 - first) * int(lengths[window[place]]) ** 2 > PAIRS:
                parts.append(window[first:place])
                first = place
        yield from parts if draw is None else [parts[place] for place in draw.permutation(len(parts))]


HELD_OUT = 0.1
"""Share of the training sentences that decide when to stop."""

GAIN = 5e-4
"""By what share the loss on the held-out sentences has to fall for an epoch to be a gain."""

PATIENCE = 3
"""After so many epochs in a row without a gain training stops."""

DECAY = 0.5
"""What the rate is multiplied by after each epoch without a gain."""

P = TypeVar("P", bound=Probe)


@dataclass
class Fitted:
    """How far training has come.

    Attributes:
        losses: of each epoch, mean loss on the training sentences as it went, and after it on those held out.
        best: the epoch, from 1, whose weights were kept; 0 where those at the start were never bettered.
        before: loss on the held-out sentences before any training.
        stale: epochs in a row without a gain.
        arrays: weights, the best weights and Adam's moments. All but the best are those that training goes on with:
            whoever keeps them copies them.
    """

    losses: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    best: int = 0
    before: float = np.nan
    stale: int = 0
    arrays: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])

    @property
    def held_out(self) -> float:
        """The best loss on the held-out sentences."""
        return self.losses[self.best - 1][1] if self.best else self.before

    @property
    def misses(self) -> int:
        """Epochs without a gain."""
        best, misses = self.before, 0
        for _, held_out in self.losses:
            better = held_out < best * (1 - GAIN)
            misses, best = misses + (not better), held_out if better else best
        return misses

    def figures(self) -> dict[str, float]:
        """How many epochs there were, and the losses of the best one."""
        loss = {"loss": self.losses[self.best - 1][0]} if self.best else {}
        return {"epochs": len(self.losses), "held_out": self.held_out, **loss}

    def done(self, epochs: int) -> bool:
        """Whether training is over."""
        return len(self.losses) >= epochs or self.stale >= PATIENCE

    def described(self) -> AnyDict:
        """All but the arrays, as JSON."""
        return {"losses": self.losses, "best": self.best, "before": self.before, "stale": self.stale}

    @classmethod
    def of(cls, arrays: Arrays, described: AnyMapping) -> Fitted:
        """Restore the state that `described` and `arrays` were of."""
        losses = [(float(loss), float(held_out)) for loss, held_out in described["losses"]]
        best, before, stale = (described[name] for name in ("best", "before", "stale"))
        return cls(losses, int(best), float(before), int(stale), dict(arrays))


def split(count: int, seed: int) -> tuple[Ints, Ints]:
    """Sentences to train on, and those held out, drawn from `seed`; a treebank of one sentence has both."""
    order = np.random.default_rng([seed, 0x5E]).permutation(count).astype(np.int64)
    held = max(1, round(count * HELD_OUT))
    return (np.sort(order[held:]), np.sort(order[:held])) if count > 1 else (order, order)


@validated
def fit(
    probe: Probe,
    data: Data,
    *,
    rate: float,
    seed: Seed = 0,
    epochs: Count = 40,
    begin: Fitted | None = None,
    after_epoch: Callable[[Fitted], None] = lambda _: None,
) -> Fitted:
    """Train a probe on nine tenths of the sentences until it no longer gets better on the rest.

    A step takes a batch's mean loss (a word's, or for structural probes a sentence's). After an epoch without a gain
    the rate is halved, after three in a row training stops; the probe is left with the weights of its best epoch.

    Args:
        probe: with a method ``loss(batch)`` that gives a sum, and over how much, as `Probe` has.
        data: what it is trained on.
        rate: of Adam, at first.
        seed: of the split and of the orders; the caller draws the probe's first weights.
        epochs: at most.
        begin: where an earlier training stood: continuing from there gives the same digits.
        after_epoch: called after each epoch, before the weights change again.

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
        state.arrays = _arrays(probe, optimiser) | _copied(_weights(probe, "best."))
    else:
        _load(probe, optimiser, state.arrays)
    while not state.done(epochs):
        epoch = len(state.losses) + 1
        for group in optimiser.param_groups:
            group["lr"] = rate * DECAY**state.misses
        total, count = 0.0, 0
        for sentences in batches(lengths, trained, np.random.default_rng([seed, epoch])):
            loss, size = probe.loss(data.batch(sentences))
            optimiser.zero_grad()
            (loss / size).backward()
            optimiser.step()
            total, count = total + float(loss.detach()), count + size
        held_out = evaluate(probe, data, held)
        if not np.isfinite([total, held_out]).all():
            raise RunError(f"probe: expected a finite loss, found {total / count} in epoch {epoch}")
        better = held_out < state.held_out * (1 - GAIN)
        state.losses.append((total / count, held_out))
        state.stale = 0 if better else state.stale + 1
        best = {name: array for name, array in state.arrays.items() if name.startswith("best.")}
        if better:
            state.best, best = epoch, _copied(_weights(probe, "best."))
        state.arrays = _arrays(probe, optimiser) | best
        after_epoch(state)
    _restore(probe, state.arrays, "best.")
    optimiser.zero_grad()
    return state


def evaluate(probe: Probe, data: Data, sentences: Ints) -> float:
    """Mean loss over some sentences."""
    total, count = 0.0, 0
    with torch.no_grad():
        for some in batches(data.trees.lengths, sentences):
            loss, size = probe.loss(data.batch(some))
            total, count = total + float(loss), count + size
    return total / count


def _weights(probe: nn.Module, prefix: str) -> dict[str, np.ndarray]:
    """The weights as they are now; on a processor these arrays are the weights themselves, and change with them."""
    return {prefix + name: value.detach().cpu().numpy() for name, value in probe.named_parameters()}


def _copied(arrays: Arrays) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in arrays.items()}


def _restore(probe: nn.Module, arrays: Arrays, prefix: str) -> None:
    with torch.no_grad():
        for name, value in probe.named_parameters():
            value.copy_(torch.as_tensor(arrays[prefix + name]))


def _arrays(probe: nn.Module, optimiser: Any) -> dict[str, np.ndarray]:
    arrays = _weights(probe, "weight.")
    for name, value in probe.named_parameters():
        for moment, moments in optimiser.state[value].items():
            arrays[f"adam.{moment}.{name}"] = moments.detach().cpu().numpy()
    return arrays


def _load(probe: nn.Module, optimiser: torch.optim.Optimizer, arrays: Arrays) -> None:
    _restore(probe, arrays, "weight.")
    for name, value in probe.named_parameters():
        if f"adam.step.{name}" in arrays:
            optimiser.state[value] = {
                moment: torch.tensor(
                    arrays[f"adam.{moment}.{name}"], device="cpu" if moment == "step" else value.device
                )
                for moment in ("step", "exp_avg", "exp_avg_sq")
            }


def trained(
    make: Callable[[], P],
    data: Data,
    path: Path | None,
    identity: AnyMapping,
    *,
    rate: float,
    seed: int,
    epochs: int,
    title: str,
    progress: bool,
) -> tuple[P, Fitted]:
    """A trained probe. `path` is written after each epoch; training continues from what it holds, to the same digits.

    Args:
        make: makes the probe; its first weights are drawn from `seed`.
        data: what it is trained on.
        path: the file; None: nothing is kept.
        identity: what the probe is of, as JSON.
        rate, seed, epochs: see `fit`.
        title, progress: of what is shown on stderr: epochs, and the loss on what it is trained on and on what is held
            out.

    Raises `InputError` for a file of another probe.
    """
    with seeded(seed):
        probe = make()
    probe.to(data.device)
    about = {**identity, "seed": seed, "rate": rate, "treebank": data.trees.fingerprint(), "vectors": None}
    if data.vectors is not None:
        about["vectors"] = hashlib.sha256(data.vectors.cpu().numpy().data).hexdigest()[:16]
    begin = None if path is None else _begun(path, about)
    with bar_of(progress, total=epochs, desc=title, unit=" epochs") as bar:
        bar.update(len(begin.losses) if begin else 0)

        def keep(state: Fitted) -> None:
            if path is not None:
                write(path, state.arrays, {"identity": about, **state.described()})
            bar.set_postfix_str("loss {:.4f}, held out {:.4f}".format(*state.losses[-1]), refresh=False)
            bar.update()

        return probe, fit(probe, data, rate=rate, seed=seed, epochs=epochs, begin=begin, after_epoch=keep)


def _begun(path: Path, identity: AnyMapping) -> Fitted | None:
    """What a file holds of an earlier training, or None. Raises `InputError` for that of another probe."""
    if not path.is_file():
        return None
    arrays, about = decode(path.read_bytes(), str(path))
    with naming(str(path)):
        check_run(path, about.get("identity") or {}, identity)
        return Fitted.of(arrays, about)


def outputs(data: Data, *functions: Callable[[Batch], Tensor]) -> Iterator[tuple[int, list[np.ndarray]]]:
    """The number of each sentence with what each function gives for it, padding included."""
    with torch.no_grad():
        for sentences in batches(data.trees.lengths, np.arange(len(data.trees))):
            batch = data.batch(sentences)
            arrays = [function(batch).cpu().numpy() for function in functions]
            for place, number in enumerate(sentences.tolist()):
                yield number, [array[place] for array in arrays]


def predictions(probe: PairProbe, data: Data) -> Ints:
    """Each word's head, its place in the sentence, −1 for the root, ``[word]``."""
    heads: Ints = np.zeros(len(data.trees.heads), np.int64)
    for number, (places,) in outputs(data, probe.predict):
        words = data.trees.words(number)
        heads[words] = places[: words.stop - words.start]
    return heads
