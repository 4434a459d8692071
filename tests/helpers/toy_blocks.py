"""A corpus of numbers in blocks, and a worker that adds them up and can be killed: imports numpy and little else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headscope.runs.checkpoint import Failure, Folder, Outcome, SentBlock, Shard
from headscope.runs.reduce import RunUnits, reduce

IDENTITY: Mapping[str, Any] = {
    "kind": "toy",
    "model": {"name": "toy", "weights": "abc"},
    "options": {"by": "token"},
    "versions": {"headscope": "1"},
}


def alone(work: Callable[[SentBlock], Outcome[Any]]) -> RunUnits[Any]:
    """Units one after another, of what one block gives."""

    def each(units: Iterator[Sequence[SentBlock]]) -> Iterator[Outcome[Any]]:
        for unit in units:
            outcome: Outcome[Any] = Outcome()
            for block in unit:
                outcome = outcome.then(work(block))
            yield outcome

    return each


@dataclass
class Numbers:
    """Sums whose last digits tell in which order they were added."""

    values: np.ndarray
    names: tuple[str, ...] = ("a", "ü")

    def __add__(self, other: Numbers) -> Numbers:
        return Numbers(self.values + other.values, self.names)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"values": self.values, "names": np.array(self.names)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Numbers:
        return cls(np.asarray(arrays["values"]), tuple(map(str, arrays["names"])))


class Chunk:
    """A block of three numbers."""

    def __init__(self, number: int, corpus: Corpus) -> None:
        self.number, self._corpus = number, corpus

    def __iter__(self) -> Iterator[int]:
        self._corpus.read.append(self.number)
        return iter(range(self.number * 3, self.number * 3 + 3))

    @property
    def digest(self) -> str:
        self._corpus.looked.append(self.number)
        changed = self._corpus.other is not None and self.number >= self._corpus.other
        return f"{self.number}{' other' if changed else ''}"


class Corpus:
    def __init__(self, blocks: int, other: int | None = None) -> None:
        self.blocks, self.other = blocks, other
        self.read: list[int] = []
        self.looked: list[int] = []
        self.worked: list[int] = []

    def __iter__(self) -> Iterator[Chunk]:
        for number in range(self.blocks):
            yield Chunk(number, self)

    def fingerprint(self) -> str:
        return f"{self.blocks} {self.other}"

    def work(self, block: SentBlock) -> Outcome[Numbers]:
        numbers = list(block)
        self.worked.append(block.number)
        draw = np.random.default_rng(block.number)
        values = draw.normal(size=5) * 10.0 ** draw.integers(-8, 8, 5)
        values[4] = np.nan
        if block.number % 5 == 4:
            return Outcome(None, (Failure(f"x:{numbers[0]}", "no"),))
        return Outcome(Numbers(values), (Failure(f"x:{numbers[1]}", "no"),) if block.number % 3 == 2 else ())


def folder(
    path: Path, shard: Shard | None = None, every: float = 0.0, span: int = 1, **more: Any
) -> Folder[Numbers]:
    return Folder(path, {**IDENTITY, **more}, Numbers.from_arrays, shard=shard, span=span, every=every)


def main(place: str, shard: str = "", span: str = "1") -> None:
    corpus = Corpus(40)

    def work(block: SentBlock) -> Outcome[Numbers]:
        time.sleep(0.004)
        return corpus.work(block)

    with folder(Path(place), Shard.parse(shard) if shard else None, span=int(span)) as own:
        print("begun", flush=True)
        options: dict[str, Any] = {"folder": own, "span": int(span), "fingerprint": corpus.fingerprint}
        found = reduce(corpus, alone(work), **options).outcome
    assert not {"torch", "transformers", "xarray", "pandas"} & set(sys.modules)
    print(found.sums.values.tobytes().hex(), found.failures)


if __name__ == "__main__":
    main(*sys.argv[1:])
