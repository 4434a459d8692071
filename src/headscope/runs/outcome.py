"""What blocks of a corpus give, how that adds up, and which blocks are whose.

Blocks add up in two levels: those of a span, which follow one another, from the left, and the spans from the left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from headscope.errors import InputError
from headscope.runs.read import Read
from headscope.runs.safefile import Arrays


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
    read: Read = field(default_factory=Read)

    def then(self, after: Outcome[S]) -> Outcome[S]:
        """Return these blocks with those after them."""
        if self.sums is None or after.sums is None:
            sums = after.sums if self.sums is None else self.sums
        else:
            sums = self.sums + after.sums
        return Outcome(sums, self.failures + after.failures, self.read.then(after.read))


class Given:
    """A block on its way to where it is worked on, in this process or, pickled, in another one.

    Args:
        number: of the block.
        batches: of the block, read once; a block that knows the rest says it itself.
        open: the documents that have inputs in other blocks as well; known when the batches have been read.
        part: by which a worker reads the batches itself; None where they travel.
        read: what reading has told; known when the batches have been read.
        tells: asked when the block has been read, before the next one is.

    Attributes:
        answer: what `tells` gave.
        here: whether it has its batches, to be read where it is.
    """

    def __init__(
        self,
        number: int,
        batches: Iterable[Any],
        open: Collection[int] | None = None,
        part: Any = None,
        read: Read | None = None,
        tells: Callable[[], Any] = tuple,
    ) -> None:
        self.number = number
        self.answer: Any = None
        self._batches, self._open, self._part, self._read, self._tells = batches, open, part, read, tells

    @property
    def open(self) -> Collection[int]:
        """The documents that have inputs in other blocks as well."""
        return getattr(self._batches, "open", ()) if self._open is None else self._open

    @property
    def part(self) -> Any:
        """The part by which a worker reads the block."""
        return getattr(self._batches, "part", None) if self._part is None else self._part

    @property
    def read(self) -> Read:
        """What reading has told."""
        return getattr(self._batches, "read", Read()) if self._read is None else self._read

    @property
    def here(self) -> bool:
        """Whether its batches are here, or come from what is here."""
        return self._part is None

    def __iter__(self) -> Iterator[Any]:
        """The batches."""
        yield from self._batches
        if self.answer is None:
            self.answer = self._tells()

    def checked(self) -> Self:
        """The same, read to its end; a block with a part is left to the worker."""
        if self.answer is None:
            part = self.part
            batches = list(self) if part is None else ()
            self.answer = self._tells() if self.answer is None else self.answer
            self._open, self._read = frozenset(self.open), self.read
            self._batches, self._part = batches, part
        return self

    def forget(self) -> None:
        """Keep the batches no longer: they are on their way."""
        self._batches = ()

    def __reduce__(self) -> tuple[Any, ...]:
        self.checked()
        return Given, (self.number, self._batches, self._open, self._part, self._read)


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
