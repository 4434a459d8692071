"""Probes for trees, and the batches that they read.

Pair probes choose each word's head among the words of its sentence and the root (Clark et al. 2019, section 5). They
give logits ``[sentence dependent candidate]``: candidate 0 is the root, candidate c the word c − 1 (the dependent
itself is one: it is up to the probe to learn that it is never right). Structural probes (Hewitt and Manning 2019) are
linear maps of a layer's hidden states in which trees are geometry: squared distances are to equal the number of edges
between two words, and squared norms a word's depth.

What is beyond a sentence's words is padding: it gets no probability and has no part in the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

SPECIAL = 2
"""Columns of maps beyond those of the words: attention to the special tokens that stand for the root."""

HIDDEN = 256
"""Tanh units of the probe on distances and words, as in the paper."""

NEAR = 2
"""Distances up to which the probe on distances has an indicator each, to either side."""

RANK = 128
"""Rows of the map; the paper finds no gain beyond 64 or 128 (section 4.3, figure 5)."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some sentences, padded on the right to the longest.

    Attributes:
        lengths: words of each, ``[sentence]``.
        gold: the candidate that is right for each word, −1 in the padding, ``[sentence word]``.
        maps: ``[sentence from to head]``: what each word gives to each word and then to the `SPECIAL` tokens.
        vectors: ``[sentence word size]``.
        states: hidden states ``[sentence word size]``.
    """

    lengths: Tensor
    gold: Tensor
    maps: Tensor | None = None
    vectors: Tensor | None = None
    states: Tensor | None = None

    @property
    def inside(self) -> Tensor:
        """Which places are words and not padding, ``[sentence word]``."""
        return torch.arange(self.gold.shape[1], device=self.gold.device) < self.lengths[:, None]


class Probe(nn.Module):
    """What can be trained by `headscope.probes.fit`."""

    def loss(self, batch: Batch) -> tuple[Any, int]:
        """A sum over the batch, and over how much."""
        raise NotImplementedError


class PairProbe(Probe):
    """What the probes on pairs share: the loss, and how the best candidate becomes a prediction."""

    def logits(self, batch: Batch) -> Tensor:
        """Logits ``[sentence dependent candidate]``, those of padding −inf."""
        inside = nn.functional.pad(batch.inside, (1, 0), value=True)
        return self(batch).masked_fill(~inside[:, None, :], -torch.inf)

    def loss(self, batch: Batch) -> tuple[Tensor, int]:
        """Cross-entropy in nats, summed over all words, punctuation too, and the number of words."""
        words = batch.inside
        logits = self.logits(batch)[words]
        return nn.functional.cross_entropy(logits, batch.gold[words], reduction="sum"), int(words.sum())

    def predict(self, batch: Batch) -> Tensor:
        """The place of each word's head, −1 for the root, ``[sentence word]``; of equal logits the first."""
        return self.logits(batch).argmax(-1) - 1


class AttentionProbe(PairProbe):
    """``p(i|j) ∝ exp(Σₖ wₖ αᵏᵢⱼ + uₖ αᵏⱼᵢ)``: which word i is the head of j, by the attention between them.

    With vectors, the scalars w and u of a pair are ``W (vᵢ ⊕ vⱼ)`` and ``U (vᵢ ⊕ vⱼ)`` plus constants. The root's
    logit is attention from j to each of the special tokens times a learned scalar a head, with vectors one that is
    linear in vⱼ. All scalars begin at 0, so an untrained probe gives every candidate the same probability; the loss
    is convex.

    Args:
        heads: of all layers.
        size: of the vectors; 0 for attention only.
    """

    def __init__(self, heads: int, size: int = 0) -> None:
        super().__init__()
        self.heads = heads
        self.pair = nn.Parameter(torch.zeros(2, heads))
        self.root = nn.Parameter(torch.zeros(SPECIAL, heads))
        if size:
            self.of_head = nn.Parameter(torch.zeros(size, 2 * heads))
            self.of_dependent = nn.Parameter(torch.zeros(size, (2 + SPECIAL) * heads))
        self.size = size

    def forward(self, batch: Batch) -> Tensor:
        """Logits ``[sentence dependent candidate]``, padding not yet masked."""
        assert batch.maps is not None
        words = batch.maps.shape[1]
        between, special = batch.maps[:, :, :words], batch.maps[:, :, words:]
        w, u = self.pair
        if not self.size:
            pairs = (between @ w).transpose(1, 2) + between @ u
            root = torch.einsum("bjsk,sk->bj", special, self.root)
            return torch.cat([root[..., None], pairs], -1)
        assert batch.vectors is not None
        head_w, head_u = (batch.vectors @ self.of_head).chunk(2, -1)
        dependent_w, dependent_u, *to_root = (batch.vectors @ self.of_dependent).chunk(2 + SPECIAL, -1)
        given = torch.einsum("bijk,bik->bij", between, head_w + w)
        given = given + torch.einsum("bijk,bjk->bij", between, dependent_w)
        got = torch.einsum("bjik,bjk->bji", between, dependent_u + u)
        got = got + torch.einsum("bjik,bik->bji", between, head_u)
        root = (special * (torch.stack(to_root, 2) + self.root)).sum((-2, -1))
        return torch.cat([root[..., None], given.transpose(1, 2) + got], -1)


class DistanceProbe(PairProbe):
    """The paper's baseline without attention: distances between two words and their vectors, by tanh units.

    A pair has how far the candidate stands to the right and to the left, each as a share of the sentence's length;
    an indicator for each distance from −2 to 2; a flag for the root; and both words' vectors (none for the root's).

    Args:
        size: of the vectors.
        hidden: how many units.
    """

    def __init__(self, size: int, hidden: int = HIDDEN) -> None:
        super().__init__()
        self.features = 2 + 2 * NEAR + 1 + 1
        self.of_pair = nn.Linear(self.features, hidden)
        self.of_head = nn.Linear(size, hidden, bias=False)
        self.of_dependent = nn.Linear(size, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)

    def forward(self, batch: Batch) -> Tensor:
        """Logits ``[sentence dependent candidate]``, padding not yet masked."""
        assert batch.vectors is not None
        heads = nn.functional.pad(self.of_head(batch.vectors), (0, 0, 1, 0))
        units = self.of_pair(self._features(batch)) + heads[:, None]
        units = units + self.of_dependent(batch.vectors)[:, :, None]
        return self.out(units.tanh()).squeeze(-1)

    def _features(self, batch: Batch) -> Tensor:
        """``[sentence dependent candidate feature]``"""
        assert batch.vectors is not None
        words = batch.gold.shape[1]
        place = torch.arange(words, device=batch.gold.device)
        by = place - place[:, None]
        far = by / batch.lengths[:, None, None].to(batch.vectors.dtype)
        near = by[..., None] == torch.arange(-NEAR, NEAR + 1, device=by.device)
        near = near.to(far.dtype).expand(len(far), -1, -1, -1)
        pairs = torch.cat([far.clamp(min=0)[..., None], (-far).clamp(min=0)[..., None], near], -1)
        pairs = nn.functional.pad(pairs, (0, 1, 1, 0))
        root = torch.zeros_like(pairs)
        root[:, :, 0, -1] = 1.0
        return pairs + root


class _Map(Probe):
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
    ancestors = torch.zeros(count, words, words + 1, dtype=batch.states.dtype, device=batch.gold.device)
    heads = nn.functional.pad(batch.gold.clamp(min=0), (1, 0))  # candidates: the root, 0, is above itself
    above = torch.arange(1, words + 1, device=heads.device) * batch.inside
    while bool(above.any()):
        ancestors.scatter_(2, above[..., None], 1.0)
        above = heads.gather(1, above)
    return ancestors[..., 1:]
