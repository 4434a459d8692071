"""Workers in other processes, and how they share the blocks of a run, whichever way they are reached.

Each is reached by an executor of its own (`concurrent.futures`), so that one that ends takes no other's model with it.
One that is ready has a few blocks at a time, the first of which it works on. One that ends leaves its blocks to those
that are ready, before any that are new, so that nobody waits for a model that is loaded again. Results come back in any
order and are given on in that of the corpus. What is read ahead, and what waits for its turn, is bounded.
"""

from __future__ import annotations

import pickle
import time
import warnings
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Self

import torch

from headscope.core.counts import plural
from headscope.core.failures import reason, warn
from headscope.core.types import AnyMapping
from headscope.corpora import Example
from headscope.errors import InputError, ModelError, RunError
from headscope.models import Model
from headscope.runs.checkpoint import SentBlock
from headscope.runs.engines import worker
from headscope.runs.engines.here import Engine, Work
from headscope.runs.engines.worker import SentModel, Setup, answered, natural, packed
from headscope.runs.identity import installed, weights
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
_MODEL = -1  # in place of a unit's number


@dataclass(frozen=True, eq=False)
class Slot:
    """A worker, as it is reached.

    Attributes:
        name: what to call it.
        executor: has it call functions, one after the other.
        device: of its models; None for that of the setup.
        process: on this machine, where it is one of its own.
        tie: what it ends with, as this process does.
    """

    name: str
    executor: Executor
    device: str | None = None
    process: BaseProcess | None = None
    tie: Connection | None = None


@dataclass
class _WorkUnit:
    label: str
    data: bytes
    deaths: int = 0
    answer: tuple[Any, Exception | None] | None = None
    size: int = 0


class Dispatch:
    """The units of one run on their way to workers and back.

    Args:
        engine: reaches the workers.
        prepare: the arguments by which each is made ready (`headscope.runs.engines.worker.prepare`), but its device.
        units: read one by one, as there is room.
        about: what may move last digits, as it is expected of all workers.
        shown: is told how many workers there are.
    """

    def __init__(
        self,
        engine: Remote,
        prepare: Sequence[Any],
        units: Iterator[Sequence[SentBlock]],
        about: AnyMapping,
        shown: Progress | None = None,
    ) -> None:
        self._engine, self._prepare, self._source = engine, prepare, units
        self._about, self._shown = about, shown
        self._units: dict[int, _WorkUnit] = {}
        self._todo: deque[int] = deque()
        self._at: dict[Slot, list[int]] = {}
        self._ready: set[Slot] = set()
        self._out: dict[Future[Any], tuple[Slot, int]] = {}
        self._failed: dict[str, str] = {}
        self._ended: Counter[str] = Counter()  # as they loaded the model
        self._warned: set[tuple[str, type[Warning]]] = set()
        self._read = self._next = self._largest = 0
        self._reading = True
        self._error: Exception | None = None

    def results(self) -> Iterator[Any]:
        """What the units gave, in their order. Raises what the first of them failed with, after those before it."""
        try:
            while True:
                self._meet()
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
        finally:  # what is still out is no more asked for; those that load a model may go on
            for slot in [slot for slot, units in self._at.items() if units]:
                self._engine.drop(slot)

    def _room(self) -> bool:
        """Whether one more unit may be read."""
        count, workers = len(self._units), max(1, len(self._at))
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
            data = _sent(unit)
        except Exception as error:  # told after what was read before
            self._reading, self._error = False, error
            return
        self._units[self._read] = _WorkUnit(_label(unit), data)
        self._todo.append(self._read)
        self._read += 1

    def _meet(self) -> None:
        """Make ready who came, and see who left."""
        there = dict.fromkeys(self._engine.look(self._failed))
        for slot in [slot for slot in self._at if slot not in there]:
            self._lose(slot, "left the cluster")
        for slot in [slot for slot in there if slot not in self._at]:
            self._at[slot] = []
            self._submit(slot, _MODEL, worker.prepare, self._prepare[0], slot.device, *self._prepare[1:])
        if self._failed and not self._at:
            reasons = "; ".join(f"{name}: {why}" for name, why in self._failed.items())
            raise ModelError(f"no worker takes part: {reasons}")

    def _hand_out(self) -> None:
        """Give units to those who have the fewest, as long as somebody has room."""
        while self._todo and self._ready:
            slot = min(self._ready, key=lambda slot: len(self._at[slot]))
            if len(self._at[slot]) >= AHEAD:
                return
            number = self._todo.popleft()
            unit = self._units.get(number)
            if unit is not None and unit.answer is None:
                self._at[slot].append(number)
                self._submit(slot, number, worker.work, unit.data)

    def _submit(self, slot: Slot, number: int, function: Any, *arguments: Any) -> None:
        try:
            with quiet():
                self._out[slot.executor.submit(function, *arguments)] = slot, number
        except BrokenExecutor as error:  # it ended before it was given this
            if number != _MODEL:
                self._at[slot].remove(number)
                self._todo.appendleft(number)
            self._lose(slot, reason(error))

    def _hear(self, seconds: float) -> None:
        """What workers gave; waits so long for something."""
        if not self._out:
            time.sleep(seconds)
        for future in wait(self._out, seconds, FIRST_COMPLETED).done:
            if future not in self._out:  # of one that was lost
                continue
            slot, number = self._out.pop(future)
            error = CancelledError() if future.cancelled() else future.exception()
            if error is None:
                (self._prepared if number == _MODEL else self._back)(slot, number, future.result())
            elif number == _MODEL and not isinstance(error, BrokenExecutor | CancelledError):
                del self._at[slot]
                self._fail(slot, reason(error))
            else:
                self._lose(slot, reason(error))
            if self._shown is not None:
                self._shown.workers(len(self._ready))

    def _fail(self, slot: Slot, why: str) -> None:
        self._failed[slot.name] = why
        if self._at:
            warn(f"{slot.name} takes no part: {why}", 1)

    def _prepared(self, slot: Slot, _: int, about: AnyMapping) -> None:
        self._ready.add(slot)
        differs = [
            f"{name}: expected {value}, found {about.get(name)}"
            for name, value in self._about.items()
            if about.get(name) != value
        ]
        if differs:
            warn(f"{slot.name}: its last digits may differ: {'; '.join(differs)}", 1)

    def _back(self, slot: Slot, number: int, data: bytes) -> None:
        self._at[slot].remove(number)
        unit = self._units.get(number)
        if unit is None:
            return
        value, error, warned = answered(data)
        unit.answer, unit.size, unit.data = (value, error), len(data), b""
        self._largest = max(self._largest, unit.size)
        for message, category in warned:
            if (message, category) not in self._warned:
                self._warned.add((message, category))
                warnings.warn(message, category, stacklevel=2)
        if error is not None:
            self._stop_behind(number)

    def _lose(self, slot: Slot, why: str) -> None:
        """Its units go to others, first of all; the one that it was working on may be why."""
        self._out = {future: at for future, at in self._out.items() if at[0] is not slot}
        why = self._engine.drop(slot) or why
        left = [unit for unit in self._at.pop(slot) if unit in self._units]
        if slot in self._ready:
            self._ready.remove(slot)
        else:
            self._ended[slot.name] += 1
            if self._ended[slot.name] >= DEATHS:
                self._fail(slot, f"ended {DEATHS} times as it loaded the model, the last time by {why}")
        if not left:
            return
        first = self._units[left[0]]
        first.deaths += 1
        self._todo.extendleft(reversed(left))
        if first.deaths >= DEATHS:
            death = f"{first.label}: ended the worker {DEATHS} times, the last time {slot.name} ({why})"
            first.answer = None, RunError(death)
            self._stop_behind(left[0])
        else:
            warn(f"{slot.name} ended ({why}); what it was working on, {first.label}, is done again", 1)

    def _stop_behind(self, number: int) -> None:
        """The run ends with this unit: what is behind it need not be done."""
        self._reading = False
        for behind in [unit for unit in self._units if unit > number]:
            del self._units[behind]


def _sent(unit: Sequence[SentBlock]) -> bytes:
    try:
        return pickle.dumps(list(unit), 5)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise InputError(
            f"engine: expected inputs that can be sent to other processes, found some that cannot ({reason(error)})"
        ) from error


def _label(unit: Sequence[SentBlock]) -> str:
    """Such as ``block 12 (256 inputs, news.txt:3073 to news.txt:3328)``."""
    first, last = unit[0].number, unit[-1].number
    name = f"block {first}" if first == last else f"blocks {first} to {last}"
    inputs = [example for given in unit for batch in given for example in batch]
    if not all(isinstance(example, Example) for example in inputs):
        return name
    begin, end = natural(example.source or f"document {example.document}" for example in inputs)
    return f"{name} ({plural(len(inputs), 'input')}, {begin}{f' to {end}' if end != begin else ''})"


class Remote(Engine):
    """An engine whose workers are other processes. Use it in a `with` statement to keep them for several runs."""

    remote = True
    threads: int  # pyright: ignore[reportIncompatibleVariableOverride]  # of torch, in each worker
    _always_send = False  # whether models are sent though workers could load them by their names
    _uses = 0
    _sent: Sequence[tuple[Model, SentModel]] = ()
    _by_key: Mapping[str, Any] = {}  # models that go to workers with the setup

    @abstractmethod
    def look(self, without: Collection[str]) -> Collection[Slot]:
        """The workers that are there, or are started, but for those of these names."""

    @abstractmethod
    def drop(self, slot: Slot) -> str | None:
        """Take back what a worker has not done, and say what it ended by, where that is known.

        `look` finds another in its place, if there is one.
        """

    @abstractmethod
    def _begin(self) -> None:
        """Reach workers."""

    @abstractmethod
    def _leave(self) -> None:
        """Leave, or end, them."""

    @abstractmethod
    def _saved(self, model: Model, known: str, key: str) -> SentModel:
        """A model, saved for workers."""

    def __enter__(self) -> Self:
        if not self._uses:
            self._sent = []
            self._begin()
        self._uses += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._uses -= 1
        if not self._uses:
            self._sent = []
            self._leave()

    def results(
        self,
        models: Sequence[Model],
        work: Work,
        units: Iterator[Sequence[SentBlock]],
        shown: Progress | None = None,
    ) -> Iterator[Any]:
        """What `work` gives for each unit, in their order; it reads of `units` what lies some way ahead.

        Raises what the work raised; `RunError` for a unit at which workers end, `ModelError` where none can load a
        model.
        """
        with self:
            sent = tuple(self._send(model) for model in models)
            precision = torch.get_float32_matmul_precision()
            where = str(self.device(models[0]))
            setup = Setup(sent, packed(work, models), installed(), where, self.threads, precision)
            keys = [model.key for model in sent if model.key in self._by_key]
            prepare = (pickle.dumps(setup, 5), keys, *map(self._by_key.__getitem__, keys))
            yield from Dispatch(self, prepare, units, self.circumstances(models[0]), shown).results()

    def _send(self, model: Model) -> SentModel:
        """How workers get a model: by the recipe that holds for it, or else itself, saved once."""
        known = weights(model)
        if not self._always_send and model.recipe is not None and model.recipe.holds(model):
            return SentModel(
                model.name, known, model.recipe.arguments, True, f"{known} {model.recipe.arguments}"
            )
        for model_sent, sent in self._sent:
            if model_sent is model and sent.weights == known:
                return sent
        sent = self._saved(model, known, f"{known} {len(self._sent)} {id(self)}")
        self._sent = [*self._sent, (model, sent)]
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
