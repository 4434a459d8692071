"""The structural probe (Hewitt and Manning 2019): a linear map of hidden states in which trees are geometry.

One per layer: squared distances after the map are to equal the number of edges between two words, and squared norms a
word's depth.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headscope.analyses.probes.pairs import Batch

RANK = 128
"""Rows of the map; the paper finds no gain beyond 64 or 128 (section 4.3, figure 5)."""


class _Map(nn.Module):
    """The map, drawn between −0.05 and 0.05 as in the paper's code.

    Args:
        size: of the hidden states.
        scale: what they are divided by first, so that layers of any scale train alike.
        rank: rows of the map.
    """

    def __init__(self, size: int, *, scale: float = 1.0, rank: int = RANK) -> None:
        super().__init__()
        self.scale = scale
        self.map = nn.Parameter(torch.empty(size, min(rank, size)).uniform_(-0.05, 0.05))

    def mapped(self, batch: Batch) -> Tensor:
        """``[sentence word rank]``"""
        assert batch.states is not None
        return batch.states / self.scale @ self.map


class TreeDistance(_Map):
    """Distances in the tree: ``‖B(hᵢ − hⱼ)‖²`` against the number of edges between words i and j."""

    def forward(self, batch: Batch) -> Tensor:
        """Squared distances ``[sentence word word]``."""
        mapped = self.mapped(batch)
        square = mapped.square().sum(-1)
        return (square[:, :, None] + square[:, None] - 2 * mapped @ mapped.transpose(1, 2)).clamp(min=0.0)

    def loss(self, batch: Batch) -> tuple[Tensor, int]:
        """Absolute errors, the mean over the squared length of a sentence, summed over sentences; and their number."""
        inside = batch.inside
        error = (self(batch) - tree_distances(batch)).abs()
        pairs = inside[:, :, None] & inside[:, None]
        return ((error * pairs).sum((1, 2)) / batch.lengths.square()).sum(), len(batch.lengths)


class TreeDepth(_Map):
    """Depths in the tree: ``‖B hᵢ‖²`` against the number of edges between word i and the root."""

    def forward(self, batch: Batch) -> Tensor:
        """Squared norms ``[sentence word]``."""
        return self.mapped(batch).square().sum(-1)

    def loss(self, batch: Batch) -> tuple[Tensor, int]:
        """Absolute errors, the mean over the words of a sentence, summed over sentences; and their number."""
        error = (self(batch) - (_ancestors(batch).sum(-1) - 1)).abs()
        return ((error * batch.inside).sum(1) / batch.lengths).sum(), len(batch.lengths)


def tree_distances(batch: Batch) -> Tensor:
    """Edges between any two words of each gold tree, ``[sentence word word]``; what is in the padding means nothing."""
    above = _ancestors(batch)
    depth = above.sum(-1)
    return depth[:, :, None] + depth[:, None] - 2 * above @ above.transpose(1, 2)


def _ancestors(batch: Batch) -> Tensor:
    """1 where a word stands above another, or is it, ``[sentence word above]``; rows of padding are 0."""
    assert batch.states is not None
    count, words = batch.gold.shape
    found = torch.zeros(count, words, words + 1, dtype=batch.states.dtype, device=batch.gold.device)
    heads = nn.functional.pad(batch.gold.clamp(min=0), (1, 0))  # candidates: the root, 0, is above itself
    above = torch.arange(1, words + 1, device=heads.device) * batch.inside
    while bool(above.any()):
        found.scatter_(2, above[..., None], 1.0)
        above = heads.gather(1, above)
    return found[..., 1:]
