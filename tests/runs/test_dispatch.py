"""How workers share the blocks of a run, with workers that are played: whoever comes, goes or fails, and when."""

from __future__ import annotations

import pickle
import random
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent import futures
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.corpora import Example
from headscope.errors import HeadscopeError, HeadscopeWarning, InputError, ModelError, RunError
from headscope.runs.checkpoint import SentBlock
from headscope.runs.engines import dispatch, worker
from headscope.runs.engines.dispatch import AHEAD, DEATHS, WINDOW, Dispatch, Slot
from headscope.runs.engines.worker import answer

ABOUT = {"threads": 1}

Work = Callable[[Sequence[SentBlock]], int]


def work(unit: Sequence[SentBlock]) -> int:
    return sum(example.document for block in unit for batch in block for example in batch)


def results(
    engine: Played, units: Iterator[list[SentBlock]], about: Mapping[str, Any] = ABOUT
) -> tuple[list[int], Exception | None]:
    """What came back, and what ended the run."""
    found: list[int] = []
    try:
        for each in of(engine, units, about):
            found.append(each)
    except (HeadscopeError, StopError) as error:
        return found, error
    return found, None


def of(engine: Played, units: Iterator[list[SentBlock]], about: Mapping[str, Any] = ABOUT) -> Iterator[int]:
    """What comes back; whenever it is waited for a step is taken."""

    def step(out: Any, seconds: float, when: str) -> Any:
        if seconds:
            engine.step()
        return futures.wait(out, 0, when)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "wait", step)
        patch.setattr(dispatch, "_PATIENCE", 1e-9)
        yield from Dispatch(cast(Any, engine), (b"", []), units, about).results()


class StopError(Exception):
    pass


class Asked(futures.Executor):
    """A worker, and what it was asked for: the model, or units."""

    def __init__(self) -> None:
        self.units: list[tuple[futures.Future[Any], bytes]] = []
        self.given: list[int] = []
        self.loading: futures.Future[Any] | None = None
        self.ready = False

    def submit(self, fn: Any, /, *args: Any, **_: Any) -> futures.Future[Any]:
        future = futures.Future[Any]()
        if fn is worker.prepare:
            self.loading = future
            return future
        assert self.ready, "given to a worker that has no model"
        self.units.append((future, args[0]))
        self.given.append(pickle.loads(args[0])[0].number)
        assert len(self.units) <= AHEAD
        return future


class Played:
    """An engine of workers whose every step is drawn."""

    def __init__(self, draw: random.Random, workers: int, *, deaths: int = 0, joins: int = 0) -> None:
        self.draw, self.deaths, self.joins = draw, deaths, joins
        self.slots: list[Slot] = []
        self.killers: set[int] = set()
        self.work: Work = work
        self.answered = 0
        self.given: dict[str, list[int]] = {}
        for number in range(workers):
            self.join(f"w{number}")

    def join(self, name: str) -> None:
        asked = Asked()
        self.given[name] = asked.given
        self.slots.append(Slot(name, asked))

    def look(self, without: Collection[str]) -> list[Slot]:
        return [slot for slot in self.slots if slot.name not in without]

    def drop(self, slot: Slot) -> str:
        """A worker that ended is followed by another."""
        self.slots.remove(slot)
        self.join(f"{slot.name}'")
        return "SIGKILL"

    def asked(self) -> list[Asked]:
        return [cast(Asked, slot.executor) for slot in self.slots]

    def step(self) -> None:
        if self.joins and self.draw.random() < 0.2:
            self.joins -= 1
            self.join(f"late{self.joins}")
        loading = [asked for asked in self.asked() if asked.loading]
        busy = [asked for asked in self.asked() if asked.units]
        if loading and (not busy or self.draw.random() < 0.3):
            self.load(self.draw.choice(loading))
        elif busy:
            asked = self.draw.choice(busy)
            unit = pickle.loads(asked.units[0][1])[0].number
            if unit in self.killers or (self.deaths and self.draw.random() < 0.3):
                self.deaths -= unit not in self.killers
                self.end(asked)
            else:
                self.back(asked)

    def load(self, asked: Asked) -> None:
        asked.loading, asked.ready = asked.loading.set_result(ABOUT), True

    def end(self, asked: Asked) -> None:
        for future, _ in asked.units:
            future.set_exception(KILLED)

    def back(self, asked: Asked) -> None:
        """What a worker is at is done."""
        future, data = asked.units.pop(0)
        self.answered += 1
        future.set_result(answer(lambda: self.work(pickle.loads(data))))


KILLED = futures.BrokenExecutor()


def blocks(count: int) -> Iterator[list[SentBlock]]:
    for number in range(count):
        lines = [
            Example(text="x", document=number, source=f"news.txt:{number * 2 + line}") for line in (9, 10)
        ]
        yield [SentBlock(number, [lines[:1], lines[1:]])]


EXPECTED = [2 * number for number in range(40)]


@pytest.mark.slow
@settings(max_examples=200)
@given(
    seed=st.integers(0, 10**6),
    workers=st.integers(1, 5),
    count=st.integers(0, 40),
    deaths=st.integers(0, 6),
    joins=st.integers(0, 3),
)
def test_results_come_in_order_whoever_comes_and_goes(
    seed: int, workers: int, count: int, deaths: int, joins: int
) -> None:
    played = Played(random.Random(seed), workers, deaths=min(deaths, DEATHS - 1), joins=joins)
    with warnings.catch_warnings(action="ignore"):
        assert results(played, blocks(count)) == (EXPECTED[:count], None)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), workers=st.integers(1, 4))
def test_what_is_read_ahead_is_bounded(seed: int, workers: int) -> None:
    played = Played(random.Random(seed), workers)
    done = read = 0

    def source() -> Iterator[list[SentBlock]]:
        nonlocal read
        for unit in blocks(40):
            read += 1
            assert read - done <= WINDOW * workers
            yield unit

    for _ in of(played, source()):
        done += 1


def test_what_is_held_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """But each worker has one unit."""
    monkeypatch.setattr(dispatch, "BYTES", 10_000)
    workers, read = Played(random.Random(0), 2), 0

    def source() -> Iterator[list[SentBlock]]:
        nonlocal read
        for number in range(20):
            read += 1
            assert read - workers.answered <= 3  # one for each, and the one that makes it full
            yield [SentBlock(number, [[Example(text="x" * 6_000, document=number)]])]

    assert results(workers, source()) == ([*range(20)], None)


def test_what_a_worker_leaves_goes_to_others_before_what_is_new() -> None:
    """To those that have a model, and not to the one that loads it again."""

    class Two(Played):
        def step(self) -> None:
            first, second = self.asked()
            if first.loading and second.loading:
                self.load(first)
                self.load(second)
            elif len(first.units) == len(second.units) == AHEAD and first.ready and second.ready:
                self.end(first)
            else:
                self.back(first if first.units and second.loading else second)

    workers = Two(random.Random(0), 2)
    with pytest.warns(
        HeadscopeWarning,
        match=r"^w0 ended \(SIGKILL\); what it was working on, block \d \(2 inputs, news.txt:\d+ to news.txt:\d+\), is "
        "done again$",
    ):
        assert results(workers, blocks(9)) == (EXPECTED[:9], None)
    left, by_other = workers.given["w0"], workers.given["w1"]
    assert sorted(left + by_other[:2]) == [0, 1, 2, 3]
    assert by_other[2:] == [*left, 4, 5, 6, 7, 8]


def test_a_block_at_which_workers_end_is_named_and_what_was_before_is_given() -> None:
    workers = Played(random.Random(1), 3)
    workers.killers = {4}
    with pytest.warns(HeadscopeWarning) as said:
        found, error = results(workers, blocks(20))
    assert found == EXPECTED[:4]
    assert isinstance(error, RunError)
    assert re.fullmatch(
        r"block 4 \(2 inputs, news.txt:17 to news.txt:18\): ended the worker 3 times, the last time \S+ "
        r"\(SIGKILL\)",
        str(error),
    )
    assert len(said) == DEATHS - 1


def test_what_fails_ends_the_run_in_its_turn() -> None:
    """The first in the order of the corpus, whichever failed first; what is behind it is not done."""

    class Backwards(Played):
        def step(self) -> None:
            busy = [asked for asked in self.asked() if asked.units]
            if busy and not any(asked.loading for asked in self.asked()):
                self.back(busy[-1])
            else:
                super().step()

    def fails(unit: Sequence[SentBlock]) -> int:
        if unit[0].number in (3, 5):
            raise InputError(f"no {unit[0].number}")
        return work(unit)

    workers = Backwards(random.Random(0), 3)
    workers.work = fails
    found, error = results(workers, blocks(40))
    assert (found, str(error)) == (EXPECTED[:3], "no 3")
    assert isinstance(error, InputError)
    assert max(unit for given in workers.given.values() for unit in given) < 3 * WINDOW


def test_what_reading_fails_with_is_told_after_what_was_read() -> None:
    def source() -> Iterator[list[SentBlock]]:
        yield from blocks(7)
        raise StopError

    found, error = results(Played(random.Random(0), 3), source())
    assert found == EXPECTED[:7]
    assert isinstance(error, StopError)


def test_a_worker_that_takes_no_part_is_named_and_the_others_go_on() -> None:
    class OneFails(Played):
        def step(self) -> None:
            for slot in self.slots:
                asked = cast(Asked, slot.executor)
                if slot.name == "w1" and asked.loading:
                    asked.loading = asked.loading.set_exception(OSError("no room"))
                    return
            super().step()

    with pytest.warns(HeadscopeWarning, match=r"^w1 takes no part: OSError: no room$"):
        assert results(OneFails(random.Random(0), 2), blocks(9)) == (EXPECTED[:9], None)
    alone = OneFails(random.Random(0), 0)
    alone.join("w1")
    found, error = results(alone, blocks(9))
    assert (found, str(error)) == ([], "no worker takes part: w1: OSError: no room")
    assert isinstance(error, ModelError)


def test_a_worker_that_ends_as_it_loads_is_given_up_in_the_end() -> None:
    class Ends(Played):
        def drop(self, slot: Slot) -> str:
            self.slots.remove(slot)
            self.join(slot.name)
            return "SIGKILL"

        def step(self) -> None:
            for slot in self.slots:
                asked = cast(Asked, slot.executor)
                if slot.name == "w1" and asked.loading:
                    asked.loading.set_exception(KILLED)
                    return
            super().step()

    told = rf"^w1 takes no part: ended {DEATHS} times as it loaded the model, the last time by SIGKILL$"
    with pytest.warns(HeadscopeWarning, match=told):
        assert results(Ends(random.Random(0), 2), blocks(9)) == (EXPECTED[:9], None)


def test_other_circumstances_of_a_worker_are_said() -> None:
    told = r"^w0: its last digits may differ: machine: expected x86_64, found None$"
    with pytest.warns(HeadscopeWarning, match=told):
        found, _ = results(Played(random.Random(0), 1), blocks(3), {**ABOUT, "machine": "x86_64"})
    assert found == EXPECTED[:3]


def test_warnings_of_workers_are_said_once() -> None:
    def warns(unit: Sequence[SentBlock]) -> int:
        warnings.warn("unknown pieces", HeadscopeWarning, stacklevel=1)
        return work(unit)

    workers = Played(random.Random(0), 2)
    workers.work = warns
    with warnings.catch_warnings(record=True, action="always") as said:
        assert results(workers, blocks(9)) == (EXPECTED[:9], None)
    assert [str(each.message) for each in said] == ["unknown pieces"]


def test_inputs_that_cannot_be_sent_are_said() -> None:
    example = Example(text="x", label=cast(Any, lambda: 0))
    found, error = results(Played(random.Random(0), 1), iter([[SentBlock(0, [[example]])]]))
    assert found == []
    assert isinstance(error, InputError)
    assert str(error).startswith(
        "engine: expected inputs that can be sent to other processes, found some that cannot ("
    )
