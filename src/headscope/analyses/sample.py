"""A uniform sample of what streams by."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

T = TypeVar("T")


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
