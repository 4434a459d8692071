"""What blocks of a corpus give, how that adds up, and which blocks are whose.

Blocks add up in two levels: those of a span, which follow one another, from the left, and the spans from the left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from headscope.errors import InputError
from headscope.stream.safefile import Arrays


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
    """

    sums: S | None = None
    failures: tuple[Failure, ...] = ()

    def then(self, after: Outcome[S]) -> Outcome[S]:
        """These blocks and those after them."""
        if self.sums is None or after.sums is None:
            sums = after.sums if self.sums is None else self.sums
        else:
            sums = self.sums + after.sums
        return Outcome(sums, self.failures + after.failures)


@dataclass(frozen=True)
class Total(Generic[S]):
    """What the first blocks of a run gave.

    Attributes:
        spans: those of whole spans.
        open: those of the span that is not whole yet.
    """

    spans: Outcome[S] = field(default_factory=lambda: Outcome[S]())
    open: Outcome[S] = field(default_factory=lambda: Outcome[S]())

    @property
    def outcome(self) -> Outcome[S]:
        """Of all of them."""
        return self.spans.then(self.open)

    def then(self, own: Outcome[S], *, ends: bool) -> Total[S]:
        """With the open span as it is now, and whether it is whole."""
        return Total(self.spans.then(own)) if ends else Total(self.spans, own)


class Given:
    """A block on its way to where it is worked on, in this process or, pickled, in another one.

    Args:
        number: of the block.
        batches: of the block, read once.
        open: the documents that have inputs in other blocks as well; known when the batches have been read.
        recipe: by which a worker reads the batches itself; None where they travel.
        tells: asked when the block has been read, before the next one is.

    Attributes:
        told: what `tells` gave.
    """

    def __init__(
        self,
        number: int,
        batches: Iterable[Any],
        open: Collection[int] = (),
        recipe: Any = None,
        tells: Callable[[], Any] = tuple,
    ) -> None:
        self.number, self.open, self.recipe = number, open, recipe
        self.told: Any = None
        self._batches, self._tells = batches, tells

    def __iter__(self) -> Iterator[Any]:
        """The batches."""
        yield from self._batches
        if self.told is None:
            self.told = self._tells()

    def whole(self) -> Self:
        """The same, read to its end; a block with a recipe is left to the worker."""
        self._batches = list(self) if self.recipe is None else ()
        if self.told is None:
            self.told = self._tells()
        return self

    def forget(self) -> None:
        """Keep the batches no longer: they are on their way."""
        self._batches = ()

    def __reduce__(self) -> tuple[Any, ...]:
        self.whole()
        return Given, (self.number, self._batches, frozenset(self.open), self.recipe)

    def read(self, models: Sequence[Any]) -> None:
        """Read the batches by the recipe, where there is one."""
        if self.recipe is not None:
            self._batches, self.open = self.recipe.read(models[0])


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
