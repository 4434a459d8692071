"""What blocks of a corpus give, how that adds up, and which blocks are whose.

Blocks add up in two levels: those of a span, which follow one another, from the left, and the spans from the left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from headscope.core.arrays import Arrays
from headscope.errors import InputError
from headscope.runs.read import ReadBlocks


class Summable(Protocol):
    """What adds up, and turns into arrays of numbers and strings. Adding must not change either side."""

    def __add__(self, other: Self, /) -> Self: ...

    def to_arrays(self) -> Arrays:
        """All of it as arrays."""
        ...


S = TypeVar("S", bound=Summable)


class Failure(NamedTuple):
    """An input that was left out, such as ``news.txt:12``, and why."""

    input: str
    error: str


@dataclass(frozen=True)
class Outcome(Generic[S]):
    """What some blocks gave.

    Attributes:
        sums: of their inputs; None where there were none.
        failures: the inputs left out, in order.
        read: what reading them has told.
    """

    sums: S | None = None
    failures: tuple[Failure, ...] = ()
    read: ReadBlocks = field(default_factory=ReadBlocks)

    def then(self, after: Outcome[S]) -> Outcome[S]:
        """Return these blocks with those after them."""
        if self.sums is None or after.sums is None:
            sums = after.sums if self.sums is None else self.sums
        else:
            sums = self.sums + after.sums
        return Outcome(sums, self.failures + after.failures, self.read.then(after.read))


@dataclass
class SentBlock:
    """A block on its way to where it is worked on.

    Attributes:
        number: of the block.
        batches: of the block.
        digest: says in words what it holds.
    """

    number: int
    batches: Sequence[Any]
    digest: str = ""

    def __iter__(self) -> Iterator[Any]:
        """The batches."""
        yield from self.batches


class Shard(NamedTuple):
    """Every `of`-th span, beginning with span `number` − 1: ``2/8`` has the spans 1, 9, 17, …."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def __contains__(self, span: object) -> bool:
        return isinstance(span, int) and span % self.of == self.number - 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``2/8`` and the like. Raises `InputError` for anything else."""
        match = re.fullmatch(r"([1-9]\d{0,8})/([1-9]\d{0,8})", text)
        if not match or int(match[1]) > int(match[2]):
            raise InputError(f"shard must be I/N with 1 ≤ I ≤ N, such as 2/8; found {text!r}")
        return cls(int(match[1]), int(match[2]))
