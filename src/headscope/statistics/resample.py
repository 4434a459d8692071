"""Right or wrong, instance by instance: shares of many predictors with intervals, and of the best of them.

Instances come in clusters: documents where the corpus says which, else sentences. What is of one cluster is alike, so
errors are those of the jackknife over clusters (`headscope.statistics.jackknife`). Of a hundred heads one is best by
chance; so a best head is also scored on clusters that it was not chosen on. `docs/statistics.md` shows how often these
intervals hold the truth, and how often the tests err.
"""

from __future__ import annotations

import math
import tempfile
import weakref
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from headscope.core.arrays import AnyFloats, Arrays, Bools, Bytes, Floats, Ints, Singles
from headscope.core.types import AnyDict
from headscope.statistics import jackknife

_CLUSTERS = 50_000
_WIDTH = 1 << 22
"""About how many numbers are worked on at once."""

PARTS, DIVISIONS = 4, 50
"""Into how many parts the clusters are divided to choose on all but one and score on that one, and how often."""


class Clusters:
    """Numbers the sentences of a corpus by their clusters: documents where it says which, else each sentence.

    Attributes:
        count: how many clusters there are.
        kinds: what they are.
    """

    def __init__(self) -> None:
        self.count = 0
        self.kinds: set[str] = set()
        self._first: int | None = None
        self._last: int | None = None

    def number(self, document: int, known: bool) -> int:
        """The cluster of the next sentence, from 0."""
        if not self.kinds:
            self._first = document if known else None
        self.count += not known or document != self._last
        self._last = document if known else None
        self.kinds.add("documents" if known else "sentences")
        return self.count - 1

    @property
    def kind(self) -> str:
        """``documents``, ``sentences``, or ``documents and sentences`` where only some files name documents."""
        return " and ".join(sorted(self.kinds))

    def then(self, after: Clusters) -> tuple[Clusters, int]:
        """These clusters and those after them as one, and what is added to the numbers of the latter.

        A document may go on from the one to the other.
        """
        both = Clusters()
        shift = self.count - (self._last is not None and self._last == after._first)
        both.count = shift + after.count
        both.kinds = self.kinds | after.kinds
        both._first = self._first if self.kinds else after._first
        both._last = after._last if after.kinds else self._last
        return both, shift

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays."""
        ends = [-1 if end is None else end for end in (self._first, self._last)]
        return {"count": np.array([self.count, *ends]), "kinds": np.array(sorted(self.kinds), np.str_)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Clusters:
        """Make one of what `to_arrays` gave."""
        clusters = cls()
        clusters.count, first, last = map(int, arrays["count"])
        clusters._first, clusters._last = (None if end < 0 else end for end in (first, last))
        clusters.kinds = set(arrays["kinds"].tolist())
        return clusters


@dataclass(frozen=True)
class Gain:
    """How much more one share is than another on the same instances.

    Attributes:
        value: the difference.
        se: its jackknife error.
        documents: effective documents (or other clusters) that it is over.
    """

    value: Floats | float
    se: Floats | float
    documents: Floats | float

    def interval(self) -> tuple[Floats, Floats]:
        """The ends of its 95 % interval, within −1 and 1; NaN with too few effective documents."""
        figures = (np.asarray(part, np.float64) for part in (self.value, self.se, self.documents))
        return jackknife.interval(*figures, most=1.0)

    def above(self) -> Floats:
        """One-sided p that there is no gain; NaN with too few effective documents.

        Never less than what a test of signs gives where all documents gain, 2 to the power of minus their number:
        Student's t trusts a small error too much where documents are few and hardly differ.
        """
        return self._p(np.asarray(self.value, np.float64))

    def differs(self) -> Floats:
        """Two-sided p that there is no difference, made as `above` is."""
        return np.minimum(1.0, 2 * self._p(np.abs(self.value)))

    def _p(self, gain: Floats) -> Floats:
        documents = np.asarray(self.documents, np.float64)
        p = jackknife.above(gain, 0.0, np.asarray(self.se, np.float64), documents)
        p = np.where((gain == 0) & (documents >= jackknife.LEAST), np.where(np.isnan(p), 1.0, p), p)
        return np.maximum(p, 0.5**documents)


class Bits:
    """Rows of bytes in a temporary file: what is added stays, so several `Answers` may share its beginning."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows = 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as this)
        weakref.finalize(self, self._file.close)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bits._of, (self.width, np.array(self.first(self.rows)))

    @staticmethod
    def _of(width: int, rows: Bytes) -> Bits:
        bits = Bits(width)
        bits.add(rows)
        return bits

    def add(self, rows: Bytes) -> None:
        """Rows ``[row byte]`` after those that are there."""
        self._file.seek(0, 2)
        self._file.write(np.ascontiguousarray(rows).tobytes())
        self.rows += len(rows)

    def first(self, rows: int) -> Bytes:
        """The first so many rows, ``[row byte]``."""
        self._file.flush()
        if not rows:
            return np.zeros((0, self.width), np.uint8)
        return np.memmap(self._file, np.uint8, "r", shape=(rows, self.width))


class Answers:
    """Which of some predictors were right about each instance: a bit each, in a temporary file. They add up.

    Args:
        width: how many predictors there are.
        shares: how many of them, the last ones, are right by chance alone: it is known how likely that is.
    """

    def __init__(self, width: int, shares: int = 0) -> None:
        self.width = width
        self.labels: dict[str, int] = {}
        self._bits = Bits(-(-(width - shares) // 8))
        self._rows = 0
        self._numbers: list[Ints] = []
        self._clusters: list[Ints] = []
        self._shares: list[Floats] = []
        self.shares = shares

    def add(self, labels: Sequence[str], right: Bools, cluster: int, shares: Floats | None = None) -> None:
        """Instances of a cluster, each with a label. Clusters come in order.

        Args:
            labels: of each.
            right: ``[predictor instance]``, without those by chance.
            cluster: its number.
            shares: how likely those are right, ``[predictor instance]``.
        """
        numbers = [self.labels.setdefault(label, len(self.labels)) for label in labels]
        alike = np.full(len(labels), cluster)
        chance = np.zeros((len(labels), 0)) if shares is None else shares.T
        self._append(np.packbits(right.T, axis=1), np.array(numbers, np.int64), alike, chance)

    def _append(self, bits: Bytes, numbers: Ints, clusters: Ints, shares: Floats) -> None:
        if self._bits.rows != self._rows:  # others have added to the file that both began
            self._bits, kept = Bits(self._bits.width), self.bits()
            self._bits.add(kept)
        self._bits.add(bits)
        self._rows += len(bits)
        self._numbers.append(numbers)
        self._clusters.append(clusters)
        if self.shares:
            self._shares.append(shares)

    def then(self, after: Answers, shift: int) -> Answers:
        """These instances and those after them, whose clusters have numbers that `shift` is added to."""
        both = copy(self)
        both.labels = dict(self.labels)
        both._numbers, both._clusters = list(self._numbers), list(self._clusters)
        both._shares = list(self._shares)
        known = [both.labels.setdefault(label, len(both.labels)) for label in after.labels]
        numbers = np.array(known, np.int64)[after.numbers()] if len(after) else after.numbers()
        both._append(after.bits(), numbers, after.documents() + shift, after.chances())
        return both

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays."""
        return {
            "width": np.array([self.width, self.shares]),
            "labels": np.array(list(self.labels), np.str_),
            "bits": np.array(self.bits()),
            "numbers": self.numbers(),
            "clusters": self.documents(),
            "chances": self.chances(),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Answers:
        """Make one of what `to_arrays` gave."""
        answers = cls(*map(int, arrays["width"]))
        answers.labels = {label: number for number, label in enumerate(arrays["labels"].tolist())}
        answers._append(*(arrays[name] for name in ("bits", "numbers", "clusters", "chances")))
        return answers

    def __len__(self) -> int:
        return self._rows

    @property
    def clusters_count(self) -> int:
        """How many clusters there are."""
        return len(np.unique(self.documents()))

    def numbers(self) -> Ints:
        """The number of each instance's label, by `labels`."""
        return np.concatenate(self._numbers) if self._numbers else np.zeros(0, np.int64)

    def clusters(self) -> Ints:
        """The cluster of each instance, counted from 0 without gaps; at most 50,000, neighbours joined beyond."""
        if not self._rows:
            return np.zeros(0, np.int64)
        numbers = np.unique(self.documents(), return_inverse=True)[1]
        return numbers // -(-(int(numbers[-1]) + 1) // _CLUSTERS)

    def documents(self) -> Ints:
        """The number of each instance's cluster, as it was given."""
        return np.concatenate(self._clusters) if self._clusters else np.zeros(0, np.int64)

    def chances(self) -> Floats:
        """How likely those by chance are right, ``[instance predictor]``."""
        return np.concatenate(self._shares) if self._shares else np.zeros((self._rows, self.shares))

    def bits(self) -> Bytes:
        """All bits, packed, ``[instance byte]``."""
        return self._bits.first(self._rows)


def divisions(count: int, seed: int) -> Ints:
    """The part of each of so many clusters, ``[division cluster]``: parts of equal numbers, drawn anew each time."""
    parts = np.tile(np.arange(count) % min(PARTS, count), (DIVISIONS, 1))
    return np.random.default_rng(seed).permuted(parts, axis=1)


def ratio(s: AnyFloats, n: AnyFloats) -> Floats:
    """S / N, of shapes that broadcast; 0 where N is 0."""
    s, n = np.broadcast_arrays(s, n)
    return np.divide(s, n, out=np.zeros(s.shape), where=n != 0)


def paired(s: AnyFloats, n: AnyFloats, t: AnyFloats, m: AnyFloats) -> Gain:
    """How much larger ΣS / ΣN is than ΣT / ΣM over the same clusters, ``[cluster ...]`` of shapes that broadcast."""
    total = [part.sum(0) for part in (s, n, t, m)]
    value = ratio(*total[:2]) - ratio(*total[2:])
    without = [every - part for every, part in zip(total, (s, n, t, m), strict=True)]
    both = n + m
    error = jackknife.spread(ratio(*without[:2]) - ratio(*without[2:]), both > 0)
    return Gain(value, error, jackknife.effective(both))


@dataclass
class HitRatios:
    """Ratios of sums over clusters, of several predictors: accuracies, precision, recall or F1.

    Attributes:
        right: what each predictor has in each cluster, such as the instances that it gets right,
            ``[cluster predictor]``.
        size: of how much: ``[cluster predictor]``, or ``[cluster 1]`` where that is the same of all, such as the
            instances of each cluster.
        seed: of the divisions.
    """

    right: AnyFloats
    size: Floats
    seed: int = 0

    @property
    def n(self) -> Floats:
        """Instances, ``[predictor]`` or ``[1]``."""
        return self.size.sum(0)

    @property
    def documents(self) -> Floats:
        """Effective clusters (`headscope.statistics.jackknife.effective`), ``[predictor]`` or ``[1]``."""
        return jackknife.effective(self.size)

    @property
    def value(self) -> Floats:
        """The ratios, ``[predictor]``; NaN without clusters."""
        total = self.right.sum(0, dtype=np.float64)
        return ratio(total, self.n) if len(self.size) else np.full(len(total), np.nan)

    def interval(self) -> tuple[Floats, Floats]:
        """The ends of their 95 % intervals, ``[predictor]`` each; NaN with too few effective clusters."""
        width = max(1, _WIDTH // max(1, len(self.size)))
        columns = (slice(at, at + width) for at in range(0, self.right.shape[1], width))
        errors = [jackknife.error(right.astype(np.float64), size) for right, size in map(self._of, columns)]
        return jackknife.share_interval(self.value, np.concatenate(errors), self.documents, self.n)

    def best(self, among: slice) -> HeldOut:
        """The best of some predictors (the first of equals), scored on what it was not chosen on."""
        best = int(self.value[among].argmax())
        if len(self.size) < 2:
            return HeldOut(best, np.full((len(self.size), 1), np.nan), self.size, 0, 0)
        choices = self._elsewhere[..., among].argmax(-1)  # [division part]
        picked = np.take_along_axis(choices, self._parts, 1)  # [division cluster]
        rows = np.arange(len(self.size))
        right, size = (part[rows, picked].T.astype(np.float64) for part in self._of(among))
        return HeldOut(best, right, size, int((choices == best).sum()), choices.size)

    def gain(self, first: slice | HeldOut, others: slice) -> tuple[Gain, Floats]:
        """How much better some predictors are, or a choice is, than the best of some others, and p that one of these is
        no worse.

        The best of the others is that of all instances, so its luck is in the difference, which is rather too small. p
        is the largest of those beside each of them: which of them is best in truth need not be known (an
        intersection-union test, Berger 1982).
        """
        over = partial(paired, *self._of(first)) if isinstance(first, slice) else first.over
        right, size = self._of(others)
        if not right.shape[1]:
            return Gain(np.nan, np.nan, np.nan), np.full((), np.nan)
        gains = [over(right[:, [place]], size[:, [place]]) for place in range(right.shape[1])]
        return gains[int(self.value[others].argmax())], np.max([gain.above() for gain in gains], 0)

    def chosen(self, heads: slice, rules: slice) -> AnyDict:
        """What choosing the best of some predictors gives, and how much more than the best of some others, by name."""
        best = self.best(heads)
        gain, p = self.gain(best, rules)
        return {
            "best": best.place,
            "times": best.times,
            "choices": best.choices,
            **jackknife.ends("split", best.split, best.interval()),
            **jackknife.ends("difference", gain.value, gain.interval()),
            "p": p,
        }

    def _of(self, predictors: slice) -> tuple[AnyFloats, Floats]:
        """What some predictors have, and of how much, ``[cluster predictor]``."""
        return self.right[:, predictors], np.broadcast_to(self.size, self.right.shape)[:, predictors]

    @cached_property
    def _parts(self) -> Ints:
        return divisions(len(self.size), self.seed)

    @cached_property
    def _elsewhere(self) -> Floats:
        """The ratios outside of each part, ``[division part predictor]``."""
        outside = self._parts[:, None] != np.arange(min(PARTS, len(self.size)))[:, None]
        return ratio(*(outside.astype(np.float32) @ part for part in (self.right, self.size)))


@dataclass(frozen=True)
class HeldOut:
    """The best predictor of all instances, and what choosing gives.

    The clusters are divided into `PARTS` by chance, and the predictor that is best on all but one part is scored on
    that one: so each cluster is scored by a choice that has not seen it, once in each of `DIVISIONS` divisions.

    Attributes:
        place: which predictor is best on all instances.
        right: what the choices have in each cluster, ``[cluster division]``; NaN with one cluster.
        size: of how much.
        times, choices: how often the best of all was the choice, of how many.
    """

    place: int
    right: Floats
    size: Floats
    times: int
    choices: int

    @property
    def split(self) -> float:
        """The mean over divisions of the choices' ratio; NaN with one cluster."""
        return math.fsum(self._values) / len(self._values)

    @property
    def documents(self) -> float:
        """Effective clusters."""
        return float(jackknife.effective(self.size.mean(1)))

    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval of `split`: the choosing is in it. NaN with too few effective clusters."""
        error = _error(jackknife.error(self.right, self.size), self._values)
        low, high = jackknife.share_interval(self.split, error, self.documents, self.size.sum(0).mean())
        return float(low), float(high)

    def over(self, right: AnyFloats, size: AnyFloats) -> Gain:
        """How much better this is than a predictor, ``[cluster 1]`` as in `HitRatios`: of pairs."""
        gain = paired(self.right, self.size, right, size)
        more = np.asarray(gain.value)
        return Gain(float(more.mean()), _error(np.asarray(gain.se), more), self.documents)

    @property
    def _values(self) -> Floats:
        return ratio(self.right.sum(0), self.size.sum(0))


def _error(errors: Floats, values: Floats) -> float:
    """The error of a mean over divisions: that of one of them, with what they differ by.

    The mean varies less than one division does, but choices on overlapping clusters agree in their luck, which a
    jackknife of given choices does not see. Far out, where p is small, both count (docs/statistics.md).
    """
    return float(np.sqrt((errors**2).mean() + values.var()))


class Resampling:
    """Accuracies on parts of the instances, with their divisions.

    Args:
        answers: all instances.
        seed: of the divisions.
    """

    def __init__(self, answers: Answers, *, seed: int = 0) -> None:
        self._answers, self._clusters, self._bits = answers, answers.clusters(), answers.bits()
        self._chances = answers.chances()
        self._seed = seed

    def of(self, instances: Bools) -> HitRatios:
        """Accuracies on some of the instances, over the clusters that have any of them."""
        right, size = self.sums(instances)
        there = size[:, 0] > 0
        return HitRatios(right[there], size[there], self._seed)

    def sums(self, instances: Bools) -> tuple[Singles, Floats]:
        """How many of some instances each predictor gets right, ``[cluster predictor]``, and of how many."""
        rows, width = np.flatnonzero(instances), self._answers.width
        stored = width - self._answers.shares
        where, starts = np.unique(self._clusters[rows], return_index=True)
        right = np.zeros((self._clusters.max(initial=-1) + 1, width), np.float32)
        ends = [*starts[1:], len(rows)]
        for first in range(0, len(where), 512):
            last = min(first + 512, len(where))
            part = rows[starts[first] : ends[last - 1]]
            unpacked = np.unpackbits(self._bits[part], axis=1, count=stored)
            places = starts[first:last] - starts[first]
            right[where[first:last], :stored] = np.add.reduceat(unpacked, places, axis=0, dtype=np.float32)
            right[where[first:last], stored:] = np.add.reduceat(self._chances[part], places, axis=0)
        return right, np.bincount(self._clusters[rows], minlength=len(right))[:, None].astype(np.float64)
