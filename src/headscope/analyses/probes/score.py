"""Scores of predicted trees, with intervals over sentences.

- UAS: the share of words whose head is right; without words of the relation ``punct`` (as is usual) and with them.
- UUAS: the share of the gold tree's edges that are predicted in either direction, without the root's and those of
  punctuation. From distances the tree is their minimum spanning tree over all words but punctuation (Hewitt and
  Manning 2019, section 4.2).
- Spearman: of each word's distances to all words with the gold ones (of a sentence's depths with the gold ones), the
  mean over a sentence, then over sentences of equal length, then over the lengths from 5 to 50 (the same section). A
  correlation that does not exist, where all numbers are equal, counts as 0.
- root: the share of sentences whose root is the word of least depth, punctuation left out.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.analyses.probes.trees import Trees, depths, distances
from headscope.measures.resample import bootstrap, interval
from headscope.tokens import BoolArray, IntArray

Floats = npt.NDArray[np.float64]

SHORTEST, LONGEST = 5, 50
"""Lengths of the sentences whose correlations count."""


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges that UUAS is of, between two words that are no punctuation.

    Attributes:
        dependents: of each edge, among all words.
        heads: the same.
        sentences: of each edge.
    """

    dependents: IntArray
    heads: IntArray
    sentences: IntArray

    @classmethod
    def of(cls, trees: Trees) -> Edges:
        """Those of the gold trees."""
        sentence = np.repeat(np.arange(len(trees)), trees.lengths)
        dependents = np.flatnonzero((trees.heads >= 0) & ~trees.punct)
        heads = trees.heads[dependents] + trees.starts[sentence[dependents]]
        keep = ~trees.punct[heads]
        return cls(dependents[keep], heads[keep], sentence[dependents[keep]])

    def predicted(self, trees: Trees, heads: IntArray) -> BoolArray:
        """Which edges the predicted heads have, in either direction."""
        first = np.repeat(trees.starts[:-1], trees.lengths)
        absolute = np.where(heads >= 0, heads + first, -1)
        return (absolute[self.dependents] == self.heads) | (absolute[self.heads] == self.dependents)

    def spanned(self, trees: Trees, sentence: int, found: npt.NDArray[np.floating]) -> BoolArray:
        """Which edges of a sentence are in the minimum spanning tree of its distances ``[word word]``."""
        words = trees.words(sentence)
        nodes = np.flatnonzero(~trees.punct[words])
        tree = np.zeros(found.shape, np.bool_)
        if len(nodes) > 1:
            between = np.asarray(found, np.float64)[np.ix_(nodes, nodes)]
            graphs: Any = importlib.import_module("scipy.sparse.csgraph")
            chosen = graphs.minimum_spanning_tree(
                between + 1.0
            ).tocoo()  # scipy takes a distance of 0 for no edge
            tree[nodes[chosen.row], nodes[chosen.col]] = True
        own = self.sentences == sentence
        one, other = self.dependents[own] - words.start, self.heads[own] - words.start
        return tree[one, other] | tree[other, one]


def by_distances(heads: IntArray, found: npt.NDArray[np.floating]) -> float:
    """Mean over words of the rank correlation of their distances ``[word word]`` with those of the tree."""
    return float(_spearman(np.asarray(found, np.float64), distances(heads)).mean())


def by_depths(heads: IntArray, found: npt.NDArray[np.floating]) -> float:
    """Rank correlation of depths ``[word]`` with those of the tree."""
    return float(_spearman(np.asarray(found, np.float64)[None], depths(heads)[None])[0])


def _spearman(one: Floats, other: npt.NDArray[np.number]) -> Floats:
    """Of each row; 0 where a row is constant."""
    stats: Any = importlib.import_module("scipy.stats")
    first, second = (np.asarray(stats.rankdata(each, axis=1)) for each in (one, other))
    first, second = (each - each.mean(1, keepdims=True) for each in (first, second))
    below = np.sqrt((first**2).sum(1) * (second**2).sum(1))
    return np.divide((first * second).sum(1), below, out=np.zeros(len(first)), where=below > 0)


@dataclass(frozen=True)
class Mean:
    """A figure with its 95 % interval, and what it is in each replicate."""

    value: float
    low: float
    high: float
    drawn: Floats

    def minus(self, other: Mean) -> Mean:
        """The difference, replicate by replicate."""
        return _mean(self.value - other.value, self.drawn - other.drawn)


class Bootstrap:
    """Poisson draws of sentences: the same ones for every figure, so that differences are of pairs.

    Args:
        lengths: of the sentences, in words.
        seed, replicates: of the draws.
    """

    def __init__(self, lengths: IntArray, *, seed: int = 0, replicates: int = 1000) -> None:
        draw = np.random.default_rng([seed, 0xB0])
        self._drawn = bootstrap(draw, replicates, len(lengths)).astype(np.float32)
        self._lengths = (lengths[:, None] == np.arange(SHORTEST, LONGEST + 1)).astype(np.float32)

    def share(self, right: BoolArray, sentences: IntArray) -> Mean:
        """The share of instances that are right, each of a sentence."""
        count = self._drawn.shape[1]
        hits = np.bincount(sentences, right, minlength=count)
        sizes = np.bincount(sentences, minlength=count).astype(np.float64)
        value = float(right.mean()) if len(right) else np.nan
        with np.errstate(invalid="ignore", divide="ignore"):
            return _mean(value, (self._drawn @ hits) / (self._drawn @ sizes))

    def by_length(self, values: Floats) -> Mean:
        """The mean over the lengths of 5 to 50 of the mean over their sentences, ``[sentence]``."""
        drawn = np.concatenate([np.ones_like(self._drawn[:1]), self._drawn])
        sums = drawn @ (values[:, None] * self._lengths).astype(np.float32)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums.astype(np.float64) / (drawn @ self._lengths)
        there = np.isfinite(means)
        counts = there.sum(1)
        found = np.where(there, means, 0.0).sum(1) / np.where(counts, counts, np.nan)
        return _mean(float(found[0]), found[1:])


def _mean(value: float, drawn: Floats) -> Mean:
    low, high = interval(drawn)
    return Mean(value, float(low), float(high), drawn)
