"""Batches of a treebank, read from what is kept on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headscope.analyses.probes.cache import Store, restored
from headscope.analyses.probes.pairs import SPECIAL, Batch
from headscope.analyses.probes.trees import Trees
from headscope.tokens import IntArray

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

    def batch(self, sentences: Sequence[int] | IntArray) -> Batch:
        """Some sentences, in this order."""
        trees, device = self.trees, self.device
        own = [trees.words(int(number)) for number in sentences]
        lengths = torch.tensor([words.stop - words.start for words in own], device=device)
        count, width = len(own), max(words.stop - words.start for words in own)
        gold = np.full((count, width), -1)
        forms = np.zeros((count, width), np.int64)
        for place, words in enumerate(own):
            size = words.stop - words.start
            gold[place, :size] = trees.heads[words] + 1
            forms[place, :size] = trees.forms[words]
        vectors = None
        if self.vectors is not None:
            inside = torch.arange(width, device=device) < lengths[:, None]
            vectors = self.vectors[torch.as_tensor(forms, device=device)] * inside[..., None]
        return Batch(
            lengths,
            torch.as_tensor(gold, device=device),
            self._maps(sentences, own, width),
            vectors,
            self._states(sentences, own, width),
        )

    def _maps(self, sentences: Sequence[int] | IntArray, own: Sequence[slice], width: int) -> Tensor | None:
        if self.maps is None:
            return None
        found = torch.zeros(len(own), width, width + SPECIAL, self.heads, device=self.device)
        for place, (number, words) in enumerate(zip(sentences, own, strict=True)):
            size = words.stop - words.start
            one = restored(self.maps.read(int(number)), self.device).view(size, size + SPECIAL, self.heads)
            found[place, :size, :size] = one[:, :size]
            found[place, :size, width:] = one[:, size:]
        return found

    def _states(self, sentences: Sequence[int] | IntArray, own: Sequence[slice], width: int) -> Tensor | None:
        if self.states is None:
            return None
        found = torch.zeros(len(own), width, self.size, device=self.device)
        for place, (number, words) in enumerate(zip(sentences, own, strict=True)):
            size = (words.stop - words.start) * self.size
            one = restored(self.states.read(int(number), self.layer * size, size), self.device)
            found[place, : words.stop - words.start] = one.view(-1, self.size)
        return found


def batches(
    lengths: IntArray, sentences: IntArray, draw: np.random.Generator | None = None
) -> Iterator[IntArray]:
    """Sentences in batches of similar length: in a drawn order, or as they are.

    A window of eight batches' sentences is sorted by length; with `draw`, the windows are of sentences in a random
    order.
    """
    order = sentences if draw is None else draw.permutation(sentences)
    size = _WINDOW * SENTENCES
    for start in range(0, len(order), size):
        window = order[start : start + size]
        window = window[np.argsort(lengths[window], kind="stable")]
        parts: list[IntArray] = []
        first = 0
        for place in range(1, len(window) + 1):
            full = place - first == SENTENCES
            if place == len(window) or full or (place + 1 - first) * int(lengths[window[place]]) ** 2 > PAIRS:
                parts.append(window[first:place])
                first = place
        yield from parts if draw is None else [parts[place] for place in draw.permutation(len(parts))]
