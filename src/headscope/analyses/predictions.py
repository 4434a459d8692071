"""Heads as predictors of what is annotated, beside baselines: what syntax and coreference share.

In a sentence or window of words each head predicts a word for each instance (a word, a mention), in one or more
ways. Which of many heads is best is chosen and scored apart (`headscope.measures.resample`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from headscope.heads import Head
from headscope.measures.resample import Answers
from headscope.tokens import BoolArray

T = TypeVar("T")


class Predictions:
    """Which predictions are right, instance by instance.

    Args:
        ways: the ways in which a head predicts, such as by rows and by columns.
        layers, heads: of the model; a head that a layer does not have is never right.
        baselines: their names.

    Attributes:
        count: how many sentences or windows were added.
        answers: a bit for each predictor (heads first, then baselines) and instance.
    """

    def __init__(
        self, ways: Sequence[str], layers: Sequence[int], heads: int, baselines: Sequence[Any]
    ) -> None:
        self.layers, self.heads, self.baselines = tuple(layers), heads, tuple(baselines)
        self.shape = len(ways), len(self.layers), heads
        self.count = 0
        self.answers = Answers(math.prod(self.shape) + len(self.baselines))

    def add(
        self, labels: Sequence[str], right: BoolArray, baselines: BoolArray, cluster: int | None = None
    ) -> None:
        """The instances of a sentence or window.

        Args:
            labels: of each.
            right: ``[way layer head instance]``.
            baselines: ``[baseline instance]``.
            cluster: its number (`headscope.measures.resample.Clusters`), in order; None: its own.
        """
        if labels:
            bits = np.concatenate([right.reshape(-1, len(labels)), baselines])
            self.answers.add(labels, bits, self.count if cluster is None else cluster)
        self.count += 1

    def padded(self, layers: Iterable[BoolArray]) -> BoolArray:
        """Layers ``[way head instance]`` as ``[way layer head instance]``."""
        arrays = list(layers)
        right = np.zeros((*self.shape, arrays[0].shape[-1]), np.bool_)
        for layer, array in enumerate(arrays):
            right[:, layer, : array.shape[1]] = array
        return right


class Sample(Generic[T]):
    """A uniform sample of what is added, at most so many."""

    def __init__(self, size: int, draw: np.random.Generator) -> None:
        self.items: list[T] = []
        self._size, self._draw, self._count = size, draw, 0

    def add(self, item: T) -> None:
        """Take the item, perhaps in place of another, or leave it out."""
        self._count += 1
        slot = len(self.items) if len(self.items) < self._size else int(self._draw.integers(self._count))
        if slot < self._size:
            self.items[slot : slot + 1] = [item]


def stacked(rows: Sequence[Mapping[str, Any]]) -> dict[str, npt.NDArray[Any]]:
    """Rows with the same keys as arrays, one for each key."""
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def papers(layers: Iterable[Any], heads: Iterable[Any]) -> list[str]:
    """The labels that papers print, such as ``8-10``."""
    return [Head(int(layer), int(head)).paper for layer, head in zip(layers, heads, strict=True)]
