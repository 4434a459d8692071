"""Runs that add up what blocks of a corpus give, in their order, whoever works on them.

What is reduced is anything that adds up (``a + b``) and turns into arrays and back (`Summable`), block after block
from the left: ``((b0 + b1) + b2) + …``. Where sums are large, so many blocks make a span, and the sums of the spans add
up the same way. Needs no torch.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol

from headscope.runs.checkpoint import Folder
from headscope.runs.outcome import Given, Outcome, S
from headscope.runs.read import Read


class Numbered(Protocol):
    """A block: numbered from 0, read once (`headscope.corpora.Block` is one)."""

    @property
    def number(self) -> int:
        """The block's number, from 0, in the order of the corpus."""
        ...

    def __iter__(self) -> Iterator[Any]: ...

    def digest(self) -> str:
        """A checksum of what it holds, whether or not it was read; asked before the next block is."""
        ...


RunUnits = Callable[[Iterator[Sequence[Given]]], Iterator[Outcome[S]]]
"""The outcomes of units in their order. A unit is a block, or several of one span that follow one another."""


@dataclass(frozen=True)
class Reduced(Generic[S]):
    """A corpus that was read to its end.

    Attributes:
        outcome: of the blocks of the run, or of the shard.
        blocks: how many blocks the corpus has.
        fingerprint: what the shards of one corpus have in common.
    """

    outcome: Outcome[S]
    blocks: int
    fingerprint: str


class _Step(NamedTuple):
    """What is to be added next: a unit that is worked on, or what a checkpoint has of a span, up to a block."""

    unit: Sequence[Given]
    kept: Any
    blocks: int


def _nowhere(_: object) -> None: ...


def reduce(
    blocks: Iterable[Numbered],
    run_units: RunUnits[S],
    *,
    folder: Folder[S] | None = None,
    span: int = 1,
    fingerprint: Callable[[], str] = str,
    place: Callable[[Any], Any] = _nowhere,
    reached: Callable[[Any, bool, Read], None] | None = None,
    together: Callable[[int], bool] | None = None,
) -> Reduced[S]:
    """Add up what blocks give, in their order; go on where `folder` left off, and keep there what is done.

    Args:
        blocks: all blocks of the corpus, whatever is done already: of those the digests are compared.
        run_units: gives what units give, in their order, while it may be ahead of that in reading them. Whatever it
            raises ends the run, after all blocks before have been kept.
        folder: where checkpoints are. That of a shard works on the shard's spans only.
        span: so many blocks add up before their sum is added to the total.
        fingerprint: what the shards of one corpus have in common, asked at its end.
        place: of a block, how far the corpus is behind when that is done.
        reached: told what `place` was of a block that is done, whether an earlier run did it, and what reading has
            told so far. It may end the run, after the block was kept.
        together: whether this span is one unit, which gives one sum of all its blocks; else each block is one.

    Raises:
        InputError: the checkpoint is of other inputs.
        RunError: a checkpoint cannot be written.
    """
    start, count = 0, 0
    total, open_span = Outcome[S](), Outcome[S]()  # of the spans that are whole, and of the one that is not
    shard = None if folder is None else folder.shard
    steps: deque[_Step] = deque()
    chain = ""  # of the digests of the span's blocks

    def chained(block: Numbered) -> str:
        nonlocal chain
        if folder is not None:
            chain = hashlib.sha256((chain + block.digest()).encode()).hexdigest()
        return chain

    def unit(blocks: list[Given]) -> list[Given]:
        steps.append(_Step(blocks, None, blocks[-1].number + 1))
        return blocks

    def units() -> Iterator[Sequence[Given]]:
        nonlocal start, count, chain
        several: list[Given] = []
        error: Exception | None = None
        try:
            for block in blocks:
                count = block.number + 1
                index, before = divmod(block.number, span)
                mine = shard is None or index in shard
                if folder is not None and not before:
                    chain, start = "", block.number
                    if mine and (kept := folder.span(index)) is not None:
                        start, outcome = kept
                        steps.append(_Step((), outcome, start))
                        add_kept()
                given = Given(block.number, block, tells=lambda block=block: (chained(block), place(block)))
                if not mine:
                    if reached is not None:
                        reached(place(block), True, total.read.then(open_span.read))
                elif block.number < start:
                    assert folder is not None
                    folder.compare(count, chained(block))
                    if reached is not None:
                        reached(place(block), True, total.read.then(open_span.read))
                elif several or (not before and together is not None and together(index)):
                    several.append(given.checked())
                    if before + 1 == span:
                        ready, several = several, []
                        yield unit(ready)
                else:
                    yield unit([given])
        except Exception as raised:
            error = raised  # what was read before is worked on first
        if several:
            yield unit(several)
        if error is not None:
            raise error

    def add_kept() -> None:
        while steps and not steps[0].unit:
            _, kept, blocks = steps.popleft()
            add(kept, blocks)

    def add(outcome: Outcome[S], blocks: int) -> Outcome[S]:
        """Add what follows, up to so many blocks; of its span all there is so far."""
        nonlocal total, open_span
        of_span = open_span = open_span.then(outcome)
        if not blocks % span:
            total, open_span = total.then(of_span), Outcome()
        return of_span

    try:
        for outcome in run_units(units()):
            add_kept()
            done, _, blocks_done = steps.popleft()
            of_span = add(outcome, blocks_done)
            if folder is not None:
                folder.keep(blocks_done, of_span, done[-1].answer[0])
            if reached is not None:
                reached(done[-1].answer[1], False, total.read.then(open_span.read))
        add_kept()
    finally:
        if folder is not None:
            folder.flush()
    if folder is not None:
        folder.ends(count)
    return Reduced(total.then(open_span), count, fingerprint())
