"""Where blocks are worked on: an `Engine`, and the one that is this process itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from headscope.core.types import AnyMapping
from headscope.models import Model
from headscope.runs.checkpoint import SentBlock
from headscope.runs.identity import circumstances
from headscope.runs.progress import Progress

Work = Callable[[Sequence[Any], Callable[[int], None]], Any]
"""What a unit of blocks gives; it tells how many inputs it has worked on."""


class Engine(AbstractContextManager["Engine"]):
    """What works on the blocks of a run. Within a `with` statement it keeps its workers for several runs.

    Attributes:
        remote: whether blocks are sent to other processes, so that they are read before they are worked on.
        threads: of torch, for each worker; None for what this process has.
    """

    remote: bool
    threads: int | None

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many work at a time, or will."""

    @abstractmethod
    def device(self, model: Model) -> torch.device:
        """Where a model runs."""

    @abstractmethod
    def circumstances(self, model: Model) -> AnyMapping:
        """What may move last digits there."""

    @abstractmethod
    def together(self, span: int) -> bool:
        """Whether a span of blocks goes to one worker, as one unit."""

    @abstractmethod
    def results(
        self,
        models: Sequence[Model],
        work: Work,
        units: Iterator[Sequence[SentBlock]],
        shown: Progress | None = None,
    ) -> Iterator[Any]:
        """What work with these models gives for each unit, in their order."""


class Here(Engine):
    """This process: block after block, as every run does that is told nothing else.

    >>> stats = hs.measure(model, corpus, measures=["previous"], engine=hs.engines.Here())
    """

    remote, threads = False, None

    def __exit__(self, *_: object) -> None: ...

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def device(self, model: Model) -> torch.device:
        """The model's own."""
        return model.device

    def circumstances(self, model: Model) -> AnyMapping:
        """Of this process."""
        return circumstances(model.device)

    def together(self, span: int) -> bool:
        """No: each block is counted when it is done."""
        return False

    def results(
        self,
        models: Sequence[Model],
        work: Work,
        units: Iterator[Sequence[SentBlock]],
        shown: Progress | None = None,
    ) -> Iterator[Any]:
        """What the work gives for each unit, which is read while it is worked on."""
        for unit in units:
            yield work(unit, shown or _nothing)


def _nothing(_: int) -> None: ...
