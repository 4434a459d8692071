"""Where blocks are worked on: an `Engine`, and the one that is this process itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch

from headscope.models import Model
from headscope.runs.identity import circumstances
from headscope.runs.outcome import Given
from headscope.runs.progress import Progress


class Engine(Protocol):
    """What works on the blocks of a run. Within a `with` statement it keeps its workers for several runs."""

    @property
    def remote(self) -> bool:
        """Whether blocks are sent to other processes, so that they are read before they are worked on."""
        ...

    @property
    def workers(self) -> int:
        """How many work at a time."""
        ...

    @property
    def threads(self) -> int | None:
        """Of torch, for each; None for what this process has."""
        ...

    def device(self, model: Model) -> torch.device:
        """Where a model runs."""
        ...

    def circumstances(self, model: Model) -> Mapping[str, Any]:
        """What may move last digits there."""
        ...

    def together(self, span: int) -> bool:
        """Whether a span of blocks goes to one worker, as one unit."""
        ...

    def each(
        self,
        models: Sequence[Model],
        work: Callable[[Sequence[Given], Callable[[int], None]], Any],
        units: Iterator[Sequence[Given]],
        shown: Progress | None = None,
    ) -> Iterator[Any]:
        """What work with these models gives for each unit, in their order."""
        ...

    def __enter__(self) -> Engine: ...

    def __exit__(self, *error: object) -> None: ...


class Here(AbstractContextManager["Here"]):
    """This process: block after block, as every run does that is told nothing else.

    >>> stats = hs.measure(model, corpus, measures=["previous"], engine=hs.engines.Here())
    """

    remote, workers, threads = False, 1, None

    def __exit__(self, *_: object) -> None: ...

    def device(self, model: Model) -> torch.device:
        """The model's own."""
        return model.device

    def circumstances(self, model: Model) -> Mapping[str, Any]:
        """Of this process."""
        return circumstances(model.device)

    def together(self, span: int) -> bool:
        """No: each block is counted when it is done."""
        return False

    def each(
        self,
        models: Sequence[Model],
        work: Callable[[Sequence[Given], Callable[[int], None]], Any],
        units: Iterator[Sequence[Given]],
        shown: Progress | None = None,
    ) -> Iterator[Any]:
        """What the work gives for each unit, which is read while it is worked on."""
        for unit in units:
            yield work(unit, shown or _nothing)


def _nothing(_: int) -> None: ...
