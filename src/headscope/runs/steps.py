"""Runs that go through a list several times: needles, pairs of prompts, recordings. They go on, and are shared out."""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
import xarray as xr

from headscope.core.arrays import Arrays
from headscope.core.types import AnyDict, AnyMapping
from headscope.models import Model
from headscope.runs.checkpoint import Folder, Outcome, SentBlock
from headscope.runs.engines import engine_of
from headscope.runs.identity import identity
from headscope.runs.long import Kind, hidden_folder, shard_of
from headscope.runs.options import RunOptions
from headscope.runs.parts import write_part
from headscope.runs.progress import bar
from headscope.runs.read import ReadBlocks
from headscope.runs.reduce import reduce

T = TypeVar("T")
Step = Callable[[T, Callable[[int], None]], Arrays]
"""What one item gives; tells how much of it is done. It may be sent to other processes, so what it notes is lost."""


@dataclass(frozen=True)
class StepRows:
    """What is known of items, in order."""

    rows: tuple[Arrays, ...]

    def __add__(self, other: Self) -> StepRows:
        return StepRows(self.rows + other.rows)

    def to_arrays(self) -> Arrays:
        """All of it as arrays."""
        return {f"{n:08d}/{name}": array for n, row in enumerate(self.rows) for name, array in row.items()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> StepRows:
        """What `to_arrays` gave."""
        rows: defaultdict[str, dict[str, np.ndarray]] = defaultdict(dict)
        for name, array in arrays.items():
            number, _, key = name.partition("/")
            rows[number][key] = array
        return cls(tuple(rows[number] for number in sorted(rows)))


@dataclass(frozen=True)
class _StepWork(Generic[T]):
    """What is known of the items of a unit after a step."""

    step: Step[T]

    def __call__(self, unit: Sequence[SentBlock], done: Callable[[int], None]) -> Outcome[StepRows]:
        return Outcome(
            StepRows(tuple({**row, **self.step(item, done)} for given in unit for ((item, row),) in given))
        )


class Steps(Generic[T]):
    """Passes over a list, of which each adds arrays to what is known of an item.

    With a folder to go on from, each pass is kept there. What a pass does may hang on what those before gave of all
    items, so a shard goes through all items in those, and through its own in the last. Use it in a `with` statement.

    Args:
        kind: of the run.
        model: that runs.
        items: the list.
        asked: what decides about the figures, as JSON.
        options: how it goes through them: `resume` is a folder in which each pass has its own.
        digest: what says in words which item it is: of other items a run does not go on.
        size: how much an item is, for the progress.

    Attributes:
        rows: what is known of each item.
    """

    def __init__(
        self,
        kind: Kind[StepRows],
        model: Model,
        items: Sequence[T],
        asked: AnyMapping,
        options: RunOptions,
        *,
        digest: Callable[[T], object],
        size: Callable[[T], int] = lambda _: 1,
    ) -> None:
        self.items, self.rows = items, tuple[Arrays, ...]({} for _ in items)
        self._kind, self._model, self._asked, self._options = kind, model, asked, options
        self._digest, self._size = digest, size
        self._stack, self._started = ExitStack(), time.monotonic()

    def __enter__(self) -> Self:
        options = self._options
        self._shard = shard_of(options.shard, options.part)
        self._workers = self._stack.enter_context(engine_of(options.engine))
        self._run: AnyDict = {}
        if options.resume is not None or options.part is not None:
            device = self._workers.device(self._model).type
            self._run = {**identity(self._model, self._kind.name, device), "options": dict(self._asked)}
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def through(
        self, name: str, title: str, step: Step[T], among: object = (), times: int = 1, *, last: bool = False
    ) -> None:
        """Go through the items.

        Args:
            name: of the pass.
            title: of the progress.
            step: makes arrays of an item.
            among: what the step hangs on: where that is another one, a run does not go on.
            times: how often an item is worked on.
            last: whether no pass follows, so that a shard does its items only.

        Raises `InputError` where the folder is of another run, and `RunError` where work fails.
        """
        options, workers = self._options, self._workers
        place = None if options.resume is None else Path(options.resume) / name
        if last and place is None and options.part is not None:
            place = hidden_folder(options.part, self._stack)
        digests = [repr((self._digest(item), among)) for item in self.items]
        given = enumerate(zip(self.items, self.rows, digests, strict=True))
        count, total = 0, times * sum(map(self._size, self.items))
        with ExitStack() as stack:
            shown = stack.enter_context(bar(None, total, options.progress, title))
            folder: Folder[StepRows] | None = None
            if place is not None:
                folder = Folder(
                    place,
                    {**self._run, "stage": name},
                    self._kind.load,
                    shard=self._shard if last else None,
                    circumstances=workers.circumstances(self._model),
                    stays=options.resume is not None,
                )
                stack.enter_context(folder)

            def reached(item: T, passed: bool, _: ReadBlocks) -> None:
                nonlocal count
                count += times * self._size(item)
                (shown.passed if passed else shown.at)(shown.place(count))

            reduced = reduce(
                (SentBlock(number, [[(item, row)]], digest) for number, (item, row, digest) in given),
                lambda units: workers.results([self._model], _StepWork(step), shown.begun(units), shown),
                folder=folder,
                fingerprint=lambda: hashlib.sha256("".join(digests).encode()).hexdigest(),
                place=lambda block: block.batches[0][0][0],
                reached=reached,
            )
        self._last = folder, reduced
        self.rows = () if reduced.outcome.sums is None else reduced.outcome.sums.rows

    def result(self, meta: AnyMapping, about: AnyMapping) -> xr.Dataset:
        """The figures when the last pass has ended; of a shard a description, and its part is written.

        Args:
            meta: what made the figures.
            about: what `Kind.figures` needs besides, as JSON.
        """
        (folder, reduced), options = self._last, self._options
        if self._shard is None or folder is None or options.part is None:
            return self._kind.dataset(Outcome(StepRows(self.rows)), meta, about, self._started)
        meta = {**meta, "shard": {"shard": options.shard, "of_blocks": reduced.blocks}}
        described = self._kind.dataset(Outcome(), meta, about, self._started)
        write_part(options.part, described, folder, reduced, {"meta": meta, **about})
        return described
