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
from typing import Any, Generic, NamedTuple

from headscope.runs.checkpoint import Folder, Outcome, S, SentBlock
from headscope.runs.read import ReadBlocks

RunUnits = Callable[[Iterator[Sequence[Any]]], Iterator[Outcome[S]]]
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
    """What is to be added next, up to a block: a unit that is worked on, by its last, or what a checkpoint has."""

    blocks: int
    last: SentBlock | None
    chain: str = ""
    kept: Any = None


def reduce(
    blocks: Iterable[SentBlock],
    run_units: RunUnits[S],
    *,
    folder: Folder[S] | None = None,
    span: int = 1,
    fingerprint: Callable[[], str] = str,
    place: Callable[[Any], Any] = lambda _: None,
    reached: Callable[[Any, bool, ReadBlocks], None] | None = None,
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
    steps: deque[_Step] = deque()
    chain = ""  # of the digests of the span's blocks

    def unit(blocks: list[SentBlock]) -> list[SentBlock]:
        steps.append(_Step(blocks[-1].number + 1, blocks[-1], chain))
        return blocks

    def units() -> Iterator[Sequence[SentBlock]]:
        nonlocal start, count, chain
        several: list[SentBlock] = []
        error: Exception | None = None
        try:
            for block in blocks:
                count = block.number + 1
                index, before = divmod(block.number, span)
                if not before:
                    chain, start = "", block.number
                mine = folder is None or folder.shard is None or index in folder.shard
                if mine and folder is not None:
                    if not before and (kept := folder.span(index)) is not None:
                        start, outcome = kept
                        steps.append(_Step(start, None, kept=outcome))
                        add_kept()
                    chain = hashlib.sha256((chain + block.digest).encode()).hexdigest()
                    if block.number < start:
                        folder.compare(count, chain)
                if not mine or block.number < start:
                    if reached is not None:
                        reached(place(block), True, total.read.then(open_span.read))
                elif several or (not before and together is not None and together(index)):
                    several.append(block)
                    if before + 1 == span:
                        ready, several = several, []
                        yield unit(ready)
                else:
                    yield unit([block])
        except Exception as raised:
            error = raised  # what was read before is worked on first
        if several:
            yield unit(several)
        if error is not None:
            raise error

    def add_kept() -> None:
        while steps and steps[0].last is None:
            step = steps.popleft()
            add(step.kept, step.blocks)

    def add(outcome: Outcome[S], blocks: int) -> Outcome[S]:
        """Add what follows, up to so many blocks; of its span all there is so far."""
        nonlocal total, open_span
        of_span = open_span = open_span.then(outcome)
        if not blocks % span:
            total, open_span = total.then(of_span), Outcome[S]()
        return of_span

    try:
        for outcome in run_units(units()):
            add_kept()
            step = steps.popleft()
            of_span = add(outcome, step.blocks)
            if folder is not None:
                folder.keep(step.blocks, of_span, step.chain)
            if reached is not None:
                reached(place(step.last), False, total.read.then(open_span.read))
        add_kept()
    finally:
        if folder is not None:
            folder.flush()
    if folder is not None:
        folder.ends(count)
    return Reduced(total.then(open_span), count, fingerprint())
