"""Treebanks of random trees, and maps in which one head points at each word's gold head."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from headscope.analyses.probes.cache import Precision, Store, kept
from headscope.analyses.probes.fit import Data
from headscope.analyses.probes.modules import SPECIAL
from headscope.analyses.probes.trees import Trees

HEADS, PLANTED = 5, 3


def random_heads(draw: np.random.Generator, count: int) -> list[int]:
    """A random tree: each word but the root hangs from one that came before it in a random order."""
    order = draw.permutation(count)
    heads = [-1] * count
    for place in range(1, count):
        heads[order[place]] = int(order[draw.integers(place)])
    return heads


def random_trees(count: int, seed: int = 0, shortest: int = 2, longest: int = 12, forms: int = 30) -> Trees:
    draw = np.random.default_rng(seed)
    sizes = draw.integers(shortest, longest + 1, count)
    heads = np.concatenate([random_heads(draw, int(size)) for size in sizes])
    return Trees(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        heads.astype(np.int64),
        draw.random(len(heads)) < 0.1,
        draw.integers(forms, size=len(heads)),
    )


def planted(heads: Any, draw: np.random.Generator) -> np.ndarray:
    """Maps ``[from, to + special, head]`` whose rows sum to 1: noise, but that one head looks from each word at its
    gold head, and from the root at the first special token."""
    count = len(heads)
    maps = draw.random((count, count + SPECIAL, HEADS))
    maps /= maps.sum(1, keepdims=True)
    for word, head in enumerate(heads):
        maps[word, :, PLANTED] *= 0.2
        maps[word, head if head >= 0 else count, PLANTED] += 0.8
    return maps


def planted_data(folder: Path, trees: Trees, precision: Precision = "uint8", seed: int = 0) -> Data:
    draw = np.random.default_rng(seed)
    sizes = trees.lengths * (trees.lengths + SPECIAL) * HEADS
    store = Store(folder, "maps", sizes, precision, {"seed": seed})
    store.append(
        [kept(planted(trees.heads[trees.words(number)], draw), precision, "") for number in range(len(trees))]
    )
    return Data(trees, maps=store, heads=HEADS)


class Loss(torch.nn.Module):
    """The loss of a probe on a batch, as a module whose parameters can be handed in."""

    def __init__(self, probe: Any) -> None:
        super().__init__()
        self.probe = probe

    def forward(self, batch: Any) -> torch.Tensor:
        return self.probe.loss(batch)[0]
