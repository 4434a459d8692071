"""Right or wrong, instance by instance: accuracies of many predictors with intervals, and of the best of them.

Instances come in clusters (sentences, documents) that are drawn together. Of a hundred heads one is best by chance;
so a best head is also scored on clusters that it was not chosen on.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from headscope.measures.measure import Floats
from headscope.measures.significance import p_value
from headscope.tokens import BoolArray, IntArray

Bytes = npt.NDArray[np.uint8]
Singles = npt.NDArray[np.float32]
_CLUSTERS = 50_000
_SPLITS = 100


def bootstrap(random: np.random.Generator, replicates: int, clusters: int) -> IntArray:
    """How often each replicate of a Poisson bootstrap draws each cluster, ``[replicate cluster]``."""
    return random.poisson(1.0, (replicates, clusters))


def interval(drawn: Floats) -> tuple[Floats, Floats]:
    """The ends of 95 % percentile intervals of figures that are known in each replicate, ``[replicate ...] -> [...]``.

    Replicates without figures (NaN) are left out; NaN where there is no other.
    """
    known = drawn[np.isfinite(drawn).all(tuple(range(1, drawn.ndim)))]
    if not len(known):
        return np.full(drawn.shape[1:], np.nan), np.full(drawn.shape[1:], np.nan)
    low, high = np.percentile(known, [2.5, 97.5], axis=0)
    return np.asarray(low), np.asarray(high)


class Answers:
    """Which of some predictors were right about each instance: a bit each, in a temporary file.

    Args:
        width: how many predictors there are.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.labels: dict[str, int] = {}
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as this)
        weakref.finalize(self, self._file.close)
        self._numbers: list[IntArray] = []
        self._clusters: list[IntArray] = []

    def add(self, labels: Sequence[str], right: BoolArray, cluster: int) -> None:
        """Instances of a cluster, each with a label; `right` is ``[predictor instance]``. Clusters come in order."""
        self._file.write(np.packbits(right.T, axis=1).tobytes())
        numbers = [self.labels.setdefault(label, len(self.labels)) for label in labels]
        self._numbers.append(np.array(numbers, np.int64))
        self._clusters.append(np.full(len(labels), cluster))

    def __len__(self) -> int:
        return sum(map(len, self._numbers))

    def numbers(self) -> IntArray:
        """The number of each instance's label, by `labels`."""
        return np.concatenate(self._numbers) if self._numbers else np.zeros(0, np.int64)

    def clusters(self) -> IntArray:
        """The cluster of each instance, counted from 0 without gaps; at most 50,000, neighbours joined beyond."""
        if not self._clusters:
            return np.zeros(0, np.int64)
        numbers = np.unique(np.concatenate(self._clusters), return_inverse=True)[1]
        return numbers // -(-(int(numbers[-1]) + 1) // _CLUSTERS)

    def bits(self) -> Bytes:
        """All bits, packed, ``[instance byte]``."""
        self._file.flush()
        return np.memmap(self._file, np.uint8, "r").reshape(-1, -(-self.width // 8))


@dataclass
class Accuracies:
    """Accuracies of all predictors on some instances.

    Attributes:
        right: how many instances of each cluster each predictor gets right, ``[cluster predictor]``.
        size: instances of each cluster.
        weights: how often each replicate draws each cluster, ``[replicate cluster]``.
        half: which clusters are in the first half, ``[split cluster]``, 0 or 1.
    """

    right: Singles
    size: Floats
    weights: Singles
    half: Singles

    @property
    def n(self) -> int:
        """Instances."""
        return int(self.size.sum())

    @property
    def value(self) -> Floats:
        """Accuracies, ``[predictor]``; NaN without instances."""
        total = self.right.sum(0, dtype=np.float64)
        return total / self.n if self.n else np.full(len(total), np.nan)

    def interval(self) -> tuple[Floats, Floats]:
        """The ends of their 95 % intervals, ``[predictor]`` each; NaN with fewer than two clusters."""
        return interval(self.drawn if len(self.size) > 1 else np.full_like(self.drawn, np.nan))

    @cached_property
    def drawn(self) -> Floats:
        """Accuracies in each replicate, ``[replicate predictor]``; NaN where it drew none of the clusters."""
        return _shares(self.weights, self.right, self.size)

    @cached_property
    def halves(self) -> tuple[Floats, Floats]:
        """Accuracies on one half of the clusters and on the other, ``[split predictor]``."""
        return _shares(self.half, self.right, self.size), _shares(1 - self.half, self.right, self.size)

    def chosen(self, among: slice) -> Chosen:
        """The best of some predictors (the first of equals), scored on what it was not chosen on."""
        scores = [picked(one[:, among], other[:, among]) for one, other in (self.halves, self.halves[::-1])]
        apart = self._left_out(among)
        best = int(self.value[among].argmax())
        if np.isnan(scores).all() or np.isnan(apart).all():
            return Chosen(best, np.nan, np.nan, np.nan, apart)
        low, high = interval(apart)
        return Chosen(best, float(np.nanmean(scores)), float(low), float(high), apart)

    def _left_out(self, among: slice) -> Floats:
        """What each replicate's best gets on the clusters that it left out, ``[replicate]``; NaN where none are."""
        best = np.where(np.isfinite(self.drawn[:, among]), self.drawn[:, among], -1.0).argmax(1)
        few, which = np.unique(best, return_inverse=True)
        score = _shares((self.weights == 0).astype(np.float32), self.right[:, among][:, few], self.size)
        score = score[np.arange(len(best)), which]
        return np.where(np.isfinite(self.drawn[:, 0]), score, np.nan)


@dataclass(frozen=True)
class Chosen:
    """The best predictor.

    Attributes:
        place: which one it is on all instances.
        split: the best of one half of the clusters scored on the other: the mean over 100 halvings, both ways.
        low, high: 95 % of the replicates' best, each scored on the clusters that its replicate left out: so the
            choosing is in the interval, and it is wider than one on all clusters.
        apart: these scores, ``[replicate]``.
    """

    place: int
    split: float
    low: float
    high: float
    apart: Floats

    def above(self, other: Chosen) -> float:
        """One-sided p that this is no better than another, chosen and scored alike."""
        gain = self.apart - other.apart
        gain = gain[np.isfinite(gain)]
        return float(p_value(int((gain <= 0).sum()), len(gain)))


class Resampling:
    """A Poisson bootstrap over clusters, and halvings of them.

    Args:
        answers: all instances.
        seed: of both.
        replicates: of the bootstrap.
    """

    def __init__(self, answers: Answers, *, seed: int = 0, replicates: int = 1000) -> None:
        self._answers, self._clusters, self._bits = answers, answers.clusters(), answers.bits()
        count = int(self._clusters[-1]) + 1
        draw = np.random.default_rng(seed)
        self._drawn = bootstrap(draw, replicates, count).astype(np.uint8)
        self._halves = draw.permuted(np.tile(np.arange(count) % 2 == 0, (_SPLITS, 1)), axis=1)

    def of(self, instances: BoolArray) -> Accuracies:
        """Accuracies on some of the instances."""
        right, size, where = self._by_cluster(np.flatnonzero(instances))
        weights, half = self._drawn[:, where], self._halves[:, where]
        return Accuracies(right, size, weights.astype(np.float32), half.astype(np.float32))

    def _by_cluster(self, rows: IntArray) -> tuple[Singles, Floats, IntArray]:
        """How many of these instances each predictor gets right ``[cluster predictor]``, their number, the clusters."""
        width = self._answers.width
        where, starts = np.unique(self._clusters[rows], return_index=True)
        right = np.zeros((len(where), width), np.float32)
        ends = [*starts[1:], len(rows)]
        for first in range(0, len(where), 512):
            last = min(first + 512, len(where))
            part = rows[starts[first] : ends[last - 1]]
            unpacked = np.unpackbits(self._bits[part], axis=1, count=width)
            places = starts[first:last] - starts[first]
            right[first:last] = np.add.reduceat(unpacked, places, axis=0, dtype=np.float32)
        return right, np.diff([*starts, len(rows)]).astype(np.float64), where


def _shares(weights: Singles, right: Singles, size: Floats) -> Floats:
    """Accuracies under weights of the clusters, ``[replicate predictor]``; NaN where nothing is drawn."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return (weights @ right).astype(np.float64) / (weights @ size)[:, None]


def picked(chosen_on: Floats, scored_on: Floats) -> Floats:
    """What the best of each row of one gets in the other; NaN where either has nothing."""
    there = np.isfinite(chosen_on).all(1)
    best = np.where(np.isfinite(chosen_on), chosen_on, -1.0).argmax(1)
    return np.where(there, scored_on[np.arange(len(best)), best], np.nan)
