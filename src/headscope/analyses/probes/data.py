"""Batches of a treebank, read from what is kept on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from headscope.analyses.probes.cache import Store, restored
from headscope.analyses.probes.modules import SPECIAL, Batch
from headscope.analyses.probes.trees import Trees
from headscope.core.arrays import Ints

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
