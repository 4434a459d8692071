"""How who wrote what heads read is summed over a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from headscope.attention.stream import Reader
from headscope.core.arrays import Floats
from headscope.corpora import Example
from headscope.measures.sums import Gathering, Skewed
from headscope.models import Model
from headscope.runs.batches import worked

Summed = tuple[tuple[str, ...], Floats, Floats, Counter[str]]
"""Of one input the names of the writers, what is summed, what it is a share of, and what is counted."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Shares(Skewed):
    """Sums of terms, `s`, and of what they are shares of, `n`; `writers` are named by the first axis but one."""

    writers: tuple[str, ...]
    labels: ClassVar[tuple[str, ...]] = ("writers",)


@dataclass
class ReadsWork:
    """What is read of the inputs of a corpus.

    Attributes:
        model: that reads.
    """

    model: Model

    def __post_init__(self) -> None:
        self._reader: Reader | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_reader": None}  # it holds modules: each process finds its own

    def reader(self, ready: Mapping[str, Tensor]) -> Reader:
        """The reader of the model, found on the first input."""
        if self._reader is None:
            self._reader = Reader(self.model, ready)
        return self._reader

    def block(
        self,
        block: Iterable[Sequence[Example]],
        done: Callable[[int], None] | None = None,
        open: Collection[int] = (),
    ) -> Shares:
        """The sums of one block."""
        gathering = Gathering(Shares)
        for batch, results in worked(block, self.run, done):
            for example, (writers, s, n, counts) in zip(batch, results, strict=True):
                gathering.labels.setdefault("writers", writers)
                gathering.gather(example.document, (s, n), counts)
        return gathering.close(open)

    def run(self, batch: Sequence[Example]) -> list[Summed]:
        """What is summed of each input."""
        return [self.summed(example) for example in batch]

    def summed(self, example: Example) -> Summed:
        """What is summed of one input."""
        raise NotImplementedError
