"""Runs that are lists of steps: needles, pairs of prompts, recordings. What each gave is kept, and they can go on."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy.typing as npt

from headscope.errors import RunError
from headscope.models import Model
from headscope.runs.checkpoint import Folder
from headscope.runs.identity import circumstances, identity
from headscope.runs.outcome import Outcome
from headscope.runs.safefile import Arrays

T = TypeVar("T")


@dataclass(frozen=True)
class _Rows:
    """What steps gave, in order."""

    rows: tuple[Arrays, ...]

    def __add__(self, other: Self) -> _Rows:
        return _Rows(self.rows + other.rows)

    def to_arrays(self) -> Arrays:
        """All of it as arrays."""
        return {f"{n:08d}/{name}": array for n, row in enumerate(self.rows) for name, array in row.items()}

    @classmethod
    def of(cls, arrays: Arrays) -> _Rows:
        """What `to_arrays` gave."""
        rows: defaultdict[str, dict[str, npt.NDArray[Any]]] = defaultdict(dict)
        for name, array in arrays.items():
            number, _, own = name.partition("/")
            rows[number][own] = array
        return cls(tuple(rows[number] for number in sorted(rows)))


class Steps:
    """The steps of a run, in stages; with a folder to go on from, what is done is kept there.

    Args:
        model: that runs.
        kind: of the run, such as ``retrieval``.
        options: what decides about the figures, as JSON.
        resume: the folder; each stage has its own in it. None: nothing is kept.
    """

    def __init__(
        self,
        model: Model,
        kind: str,
        options: Mapping[str, Any],
        resume: str | os.PathLike[str] | None,
    ) -> None:
        self._model, self._place = model, None if resume is None else Path(resume)
        self._run: dict[str, Any] = {}
        if resume is not None:
            self._run = {**identity(model, kind, model.device.type), "options": dict(options)}

    def each(
        self,
        stage: str,
        items: Iterable[T],
        work: Callable[[T], Arrays],
        *,
        digest: Callable[[T], object],
        passed: Callable[[T], None],
    ) -> list[Arrays]:
        """What each item gives.

        Args:
            stage: its name.
            items: of the stage, all of them.
            work: makes arrays of one.
            digest: what says in words which item it is: of other items a run does not go on.
            passed: told each item that an earlier run did.

        Raises `InputError` where the folder is of another run, and `RunError` where work fails.
        """
        if self._place is None:
            return [work(item) for item in items]
        with Folder(
            self._place / stage,
            {**self._run, "stage": stage},
            _Rows.of,
            circumstances=circumstances(self._model.device),
        ) as folder:
            done, total = folder.resume()
            chain, first, number = "", "", 0
            try:
                for number, item in enumerate(items, 1):
                    chain = hashlib.sha256(f"{chain}{digest(item)!r}".encode()).hexdigest()
                    first = first or chain
                    if number <= done:
                        folder.compare(number, chain)
                        passed(item)
                        continue
                    own = Outcome(_Rows((work(item),)))
                    total = total.then(own, ends=True)
                    folder.keep(number, own, total, (first, chain), ends=True)
            except RunError as error:
                folder.flush()
                raise folder.kept(error) from error
            finally:
                folder.flush()
            folder.ends(number)
        rows = total.outcome.sums
        return [] if rows is None else list(rows.rows)
