"""Workers in other processes, and how they share the blocks of a run, whichever way they are reached.

Each worker that is ready has a few blocks at a time, the first of which it works on. One that ends leaves its blocks to
those that are ready, before any that are new, so that nobody waits for a model that is loaded again. Results come back
in any order and are given on in that of the corpus. What is read ahead, and what waits for its turn, is bounded.
"""

from __future__ import annotations

import pickle
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

import torch

from headscope.core.failures import reason
from headscope.corpora import Example
from headscope.errors import HeadscopeWarning, InputError, ModelError, RunError
from headscope.models import Model
from headscope.runs.engines.transfer import SentModel, Setup, Work, answered, natural, packed
from headscope.runs.identity import versions, weights
from headscope.runs.outcome import Given
from headscope.runs.progress import Progress

AHEAD = 2
"""Units that a worker has at a time: the one that it works on, and the next."""

WINDOW = 6
"""Units for each worker that are read or done before the oldest is back."""

BYTES = 1 << 29
"""Bytes that these take at most, beyond one unit for each worker."""

DEATHS = 3
"""So many workers may end at the same unit."""

LONG = 2
"""From so many spans for each worker on, the corpus is long enough that a whole span goes to one."""

_PATIENCE = 0.2  # seconds


@dataclass(frozen=True)
class Event:
    """What became of a worker.

    Attributes:
        worker: its name.
        kind: it is ``ready`` for units; or has ``failed`` to become so, and does not take part; has an ``answer``; or
            is ``gone``.
        unit: of an answer.
        data: the answer.
        why: it failed or is gone.
        about: of one that is ready, what may move last digits there.
    """

    worker: str
    kind: Literal["ready", "failed", "answer", "gone"]
    unit: int = -1
    data: bytes = b""
    why: str = ""
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Workers(Protocol):
    """How workers are reached."""

    @property
    def count(self) -> int:
        """Workers that take part, or soon will."""
        ...

    def begin(self, setup: Setup) -> None:
        """A run begins: every worker is to be made ready for it, those that come later as well."""
        ...

    def give(self, worker: str, unit: int, data: bytes) -> None:
        """Give a worker that is ready a unit."""
        ...

    def events(self, seconds: float) -> Sequence[Event]:
        """What happened since; waits so long for something to happen."""
        ...

    def end(self) -> None:
        """The run has ended: what is still out is no more asked for."""
        ...


@dataclass
class _Unit:
    label: str
    data: bytes
    deaths: int = 0
    answer: tuple[Any, Exception | None] | None = None
    size: int = 0


class Dispatch:
    """The units of one run on their way to workers and back.

    Args:
        workers: the workers.
        units: read one by one, as there is room.
        about: what may move last digits, as it is expected of all workers.
        shown: is told how many workers there are.
    """

    def __init__(
        self,
        workers: Workers,
        units: Iterator[Sequence[Given]],
        about: Mapping[str, Any],
        shown: Progress | None = None,
    ) -> None:
        self._workers, self._source, self._about, self._shown = workers, units, about, shown
        self._units: dict[int, _Unit] = {}
        self._todo: deque[int] = deque()
        self._at: dict[str, deque[int]] = {}
        self._failed: dict[str, str] = {}
        self._said: set[tuple[str, type[Warning]]] = set()
        self._read = self._next = self._largest = 0
        self._reading = True
        self._error: Exception | None = None

    def results(self) -> Iterator[Any]:
        """What the units gave, in their order. Raises what the first of them failed with, after those before it."""
        while True:
            self._hear(0.0)
            self._hand_out()
            unit = self._units.get(self._next)
            if unit is not None and unit.answer is not None:
                del self._units[self._next]
                self._next += 1
                value, error = unit.answer
                if error is not None:
                    raise error
                yield value
            elif self._reading and self._room():
                self._take()
            elif self._units:
                self._hear(_PATIENCE)
            else:
                if self._error is not None:
                    raise self._error
                return

    def _room(self) -> bool:
        """Whether one more unit may be read."""
        count, workers = len(self._units), max(1, self._workers.count)
        if count >= WINDOW * workers:
            return False
        held = sum(len(unit.data) + (unit.size or self._largest) for unit in self._units.values())
        return count < workers or held < BYTES

    def _take(self) -> None:
        """Read the next unit."""
        try:
            unit = next(self._source, None)
            if unit is None:
                self._reading = False
                return
            for given in unit:
                given.whole()
            data = _sent(unit)
        except Exception as error:  # told after what was read before
            self._reading, self._error = False, error
            return
        self._units[self._read] = _Unit(_label(unit), data)
        self._todo.append(self._read)
        self._read += 1
        for given in unit:
            given.forget()

    def _hand_out(self) -> None:
        """Give units to those who have the fewest, as long as somebody has room."""
        while self._todo and self._at:
            worker = min(self._at, key=lambda name: len(self._at[name]))
            if len(self._at[worker]) >= AHEAD:
                return
            number = self._todo.popleft()
            unit = self._units.get(number)
            if unit is not None and unit.answer is None:
                self._at[worker].append(number)
                self._workers.give(worker, number, unit.data)

    def _hear(self, seconds: float) -> None:
        for event in self._workers.events(seconds):
            if event.kind == "ready":
                self._ready(event)
            elif event.kind == "failed":
                self._failed[event.worker] = event.why
                if self._workers.count:
                    _warn(f"{event.worker} takes no part: {event.why}")
            elif event.kind == "answer":
                self._back(event)
            else:
                self._gone(event)
            if self._shown is not None:
                self._shown.workers(len(self._at))
        if self._failed and not self._workers.count:
            told = "; ".join(f"{worker}: {why}" for worker, why in self._failed.items())
            raise ModelError(f"no worker takes part: {told}")

    def _ready(self, event: Event) -> None:
        self._at[event.worker] = deque()
        differs = [
            f"{name}: expected {each}, found {event.about.get(name)}"
            for name, each in self._about.items()
            if event.about.get(name) != each
        ]
        if differs:
            _warn(f"{event.worker}: its last digits may differ: {'; '.join(differs)}")

    def _back(self, event: Event) -> None:
        """A unit is done; of one that was given to several only the first answer counts."""
        with_it = self._at.get(event.worker)
        if with_it is not None and event.unit in with_it:
            with_it.remove(event.unit)
        unit = self._units.get(event.unit)
        if unit is None or unit.answer is not None:
            return
        value, error, said = answered(event.data)
        unit.answer, unit.size, unit.data = (value, error), len(event.data), b""
        self._largest = max(self._largest, unit.size)
        for told in said:
            if told not in self._said:
                self._said.add(told)
                warnings.warn(told[0], told[1], stacklevel=2)
        if error is not None:
            self._stop_behind(event.unit)

    def _gone(self, event: Event) -> None:
        """Its units go to others, first of all; the one that it was working on may be why."""
        left = [each for each in self._at.pop(event.worker, ()) if each in self._units]
        if not left:
            return
        first = self._units[left[0]]
        first.deaths += 1
        self._todo.extendleft(reversed(left))
        if first.deaths >= DEATHS:
            told = (
                f"{first.label}: ended the worker {DEATHS} times, the last time {event.worker} ({event.why})"
            )
            first.answer = None, RunError(told)
            self._stop_behind(left[0])
        else:
            _warn(f"{event.worker} ended ({event.why}); what it was working on, {first.label}, is done again")

    def _stop_behind(self, number: int) -> None:
        """The run ends with this unit: what is behind it need not be done."""
        self._reading = False
        for behind in [each for each in self._units if each > number]:
            del self._units[behind]


def _warn(told: str) -> None:
    warnings.warn(told, HeadscopeWarning, stacklevel=2)


def _sent(unit: Sequence[Given]) -> bytes:
    try:
        return pickle.dumps(list(unit), 5)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise InputError(
            f"engine: expected inputs that can be sent to other processes, found some that cannot ({reason(error)})"
        ) from error


def _label(unit: Sequence[Given]) -> str:
    """Such as ``block 12 (256 inputs, news.txt:3073 to news.txt:3328)``."""
    first, last = unit[0].number, unit[-1].number
    name = f"block {first}" if first == last else f"blocks {first} to {last}"
    if unit[0].part is not None:
        return f"{name} ({unit[0].part})"
    inputs = [example for given in unit for batch in given for example in batch]
    if not all(isinstance(example, Example) for example in inputs):
        return name
    begin, end = natural(example.source or f"document {example.document}" for example in inputs)
    return f"{name} ({len(inputs):,} inputs, {begin}{f' to {end}' if end != begin else ''})"


class Remote(ABC):
    """An engine whose workers are other processes. Use it in a `with` statement to keep them for several runs.

    Attributes:
        threads: of torch, in each worker.
    """

    threads: int
    _workers: Any = None
    _uses = 0

    @property
    def remote(self) -> bool:
        """Whether blocks are sent to other processes."""
        return True

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many there are, or will be."""

    @abstractmethod
    def device(self, model: Model) -> torch.device:
        """Where a model runs: the kind of device."""

    @abstractmethod
    def circumstances(self, model: Model) -> Mapping[str, Any]:
        """What may move last digits where it runs."""

    @abstractmethod
    def _reach(self) -> Workers:
        """Reach, or start, the workers."""

    @abstractmethod
    def _leave(self) -> None:
        """Leave, or end, them."""

    @abstractmethod
    def _saved(self, model: Model, known: str, key: str) -> SentModel:
        """A model, saved for workers."""

    def __enter__(self) -> Self:
        if not self._uses:
            self._workers, self._sent = self._reach(), list[tuple[Model, SentModel]]()
        self._uses += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._uses -= 1
        if not self._uses:
            self._sent.clear()
            self._leave()
            self._workers = None

    def each(
        self,
        models: Sequence[Model],
        work: Work,
        units: Iterator[Sequence[Given]],
        shown: Progress | None = None,
    ) -> Iterator[Any]:
        """What `work` gives for each unit, in their order; it reads of `units` what lies some way ahead.

        Args:
            models: that the work runs.
            work: sent to workers, its models left out.
            units: blocks, one or several that follow one another.
            shown: is told how many workers there are.

        Raises what the work raised; `RunError` for a unit at which workers end, `ModelError` where none can load a
        model.
        """
        with self:
            sent = tuple(self._send(model) for model in models)
            precision = torch.get_float32_matmul_precision()
            where = str(self.device(models[0]))
            setup = Setup(sent, packed(work, models), versions(), where, self.threads, precision)
            self._workers.begin(setup)
            try:
                yield from Dispatch(self._workers, units, self.circumstances(models[0]), shown).results()
            finally:
                self._workers.end()

    def _by_recipe(self, model: Model) -> bool:
        return model.recipe is not None and model.recipe.holds(model)

    def _send(self, model: Model) -> SentModel:
        """How workers get a model: by the recipe that holds for it, or else itself, saved once."""
        known = weights(model)
        if self._by_recipe(model):
            return SentModel(
                model.name, known, model.recipe.arguments, True, f"{known} {model.recipe.arguments}"
            )
        for own, sent in self._sent:
            if own is model and sent.weights == known:
                return sent
        sent = self._saved(model, known, f"{known} {len(self._sent)} {id(self)}")
        self._sent.append((model, sent))
        return sent

    def together(self, span: int) -> bool:
        """Whether a whole span goes to one worker: only where there is enough for all."""
        return span >= LONG * self.workers


@contextmanager
def quiet() -> Generator[None]:
    """Within it libraries do not warn of how much is sent."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        yield
