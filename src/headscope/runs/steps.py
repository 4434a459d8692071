"""Runs that are lists of steps: needles, pairs of prompts, recordings. What each gave is kept, and they can go on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np

from headscope.core.arrays import Arrays
from headscope.models import Model
from headscope.runs.checkpoint import Folder, Outcome, SentBlock
from headscope.runs.engines import engine_of
from headscope.runs.identity import identity
from headscope.runs.options import RunOptions
from headscope.runs.progress import bar
from headscope.runs.read import ReadBlocks
from headscope.runs.reduce import reduce

T = TypeVar("T")
Step = Callable[[T, Callable[[int], None]], Arrays]
"""What one item gives; tells how much of it is done. It may be sent to other processes, so what it notes is lost."""


@dataclass(frozen=True)
class _StepRows:
    """What steps gave, in order."""

    rows: tuple[Arrays, ...]

    def __add__(self, other: Self) -> _StepRows:
        return _StepRows(self.rows + other.rows)

    def to_arrays(self) -> Arrays:
        """All of it as arrays."""
        return {f"{n:08d}/{name}": array for n, row in enumerate(self.rows) for name, array in row.items()}

    @classmethod
    def of(cls, arrays: Arrays) -> _StepRows:
        """What `to_arrays` gave."""
        rows: defaultdict[str, dict[str, np.ndarray]] = defaultdict(dict)
        for name, array in arrays.items():
            number, _, key = name.partition("/")
            rows[number][key] = array
        return cls(tuple(rows[number] for number in sorted(rows)))


@dataclass(frozen=True)
class _StepWork(Generic[T]):
    """What the items of a unit give."""

    step: Step[T]

    def __call__(self, unit: Sequence[SentBlock], done: Callable[[int], None]) -> Outcome[_StepRows]:
        return Outcome(_StepRows(tuple(self.step(item, done) for given in unit for (item,) in given)))


class Steps:
    """The steps of a run, in stages; with a folder to go on from, what is done is kept there.

    Use it in a `with` statement.

    Args:
        model: that runs.
        kind: of the run, such as ``retrieval``.
        asked: what decides about the figures, as JSON.
        options: how it goes through them: `resume` is a folder in which each stage has its own.
    """

    def __init__(self, model: Model, kind: str, asked: Mapping[str, Any], options: RunOptions) -> None:
        self._model, self._kind, self._asked, self._options = model, kind, asked, options
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._workers = self._stack.enter_context(engine_of(self._options.engine))
        device = self._workers.device(self._model).type
        self._run: dict[str, Any] = {}
        if self._options.resume is not None:
            self._run = {**identity(self._model, self._kind, device), "options": dict(self._asked)}
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def results(
        self,
        stage: str,
        items: Iterable[T],
        step: Step[T],
        *,
        digest: Callable[[T], object],
        title: str,
        total: int | None,
        size: Callable[[T], int] = lambda _: 1,
        corpus: object = None,
    ) -> list[Arrays]:
        """What each item gives.

        Args:
            stage: its name.
            items: of the stage, all of them.
            step: makes arrays of one.
            digest: what says in words which item it is: of other items a run does not go on.
            title, total, size, corpus: of the progress: what it is of, how much in all, how much an item is, and the
                corpus whose files tell how far it is.

        Raises `InputError` where the folder is of another run, and `RunError` where work fails.
        """
        options, workers = self._options, self._workers
        with ExitStack() as stack:
            shown = stack.enter_context(bar(corpus, total, options.progress, title))
            folder: Folder[_StepRows] | None = None
            if options.resume is not None:
                run, now = {**self._run, "stage": stage}, workers.circumstances(self._model)
                folder = Folder(Path(options.resume) / stage, run, _StepRows.of, circumstances=now)
                stack.enter_context(folder)
            count = 0

            def reached(item: T, passed: bool, _: ReadBlocks) -> None:
                nonlocal count
                count += size(item)
                (shown.passed if passed else shown.at)(shown.place(count))

            reduced = reduce(
                (SentBlock(number, [[item]], repr(digest(item))) for number, item in enumerate(items)),
                lambda units: workers.results([self._model], _StepWork(step), shown.begun(units), shown),
                folder=folder,
                place=lambda block: block.batches[0][0],
                reached=reached,
            )
        rows = reduced.outcome.sums
        return [] if rows is None else list(rows.rows)
