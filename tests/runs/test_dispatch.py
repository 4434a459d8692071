"""How workers share the blocks of a run, with workers that are played: whoever comes, goes or fails, and when."""

from __future__ import annotations

import pickle
import random
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.corpora import Example
from headscope.errors import HeadscopeError, HeadscopeWarning, InputError, ModelError, RunError
from headscope.runs.engines import dispatch
from headscope.runs.engines.dispatch import AHEAD, DEATHS, WINDOW, Dispatch, Event
from headscope.runs.engines.transfer import answer
from headscope.runs.outcome import Given

ABOUT = {"threads": 1}

Work = Callable[[Sequence[Given]], int]


def work(unit: Sequence[Given]) -> int:
    return sum(example.document for block in unit for batch in block for example in batch)


def results(
    workers: Played, units: Iterator[list[Given]], about: Mapping[str, Any] = ABOUT
) -> tuple[list[int], Exception | None]:
    """What came back, and what ended the run."""
    found: list[int] = []
    try:
        for each in Dispatch(workers, units, about).results():
            found.append(each)
    except (HeadscopeError, StopError) as error:
        return found, error
    return found, None


class StopError(Exception):
    pass


class Played:
    """Workers whose every step is drawn."""

    def __init__(self, draw: random.Random, workers: int, *, deaths: int = 0, joins: int = 0) -> None:
        self.draw, self.deaths, self.joins = draw, deaths, joins
        self.loading = [f"w{number}" for number in range(workers)]
        self.at: dict[str, list[tuple[int, bytes]]] = {}
        self.given: list[tuple[str, int]] = []
        self.killers: set[int] = set()
        self.work: Work = work
        self.answered = 0

    @property
    def count(self) -> int:
        return len(self.loading) + len(self.at)

    def begin(self, setup: Any) -> None: ...

    def give(self, worker: str, unit: int, data: bytes) -> None:
        assert worker in self.at, "given to a worker that has no model"
        self.at[worker].append((unit, data))
        assert len(self.at[worker]) <= AHEAD
        self.given.append((worker, unit))

    def events(self, seconds: float) -> list[Event]:
        if seconds == 0.0:
            return []
        if self.joins and self.draw.random() < 0.2:
            self.joins -= 1
            self.loading.append(f"late{self.joins}")
        if self.loading and (not self.at or self.draw.random() < 0.3):
            worker = self.loading.pop(self.draw.randrange(len(self.loading)))
            self.at[worker] = []
            return [Event(worker, "ready", about=ABOUT)]
        busy = [worker for worker, units in self.at.items() if units]
        if not busy:
            return []
        worker = self.draw.choice(busy)
        unit = self.at[worker][0][0]
        if unit in self.killers or (self.deaths and self.draw.random() < 0.3):
            self.deaths -= unit not in self.killers
            del self.at[worker]
            self.loading.append(f"{worker}'")
            return [Event(worker, "gone", why="SIGKILL")]
        return [self.back(worker)]

    def back(self, worker: str) -> Event:
        """What a worker is at is done."""
        unit, data = self.at[worker].pop(0)
        self.answered += 1
        return Event(worker, "answer", unit, answer(lambda: self.work(pickle.loads(data))))

    def end(self) -> None: ...


def blocks(count: int) -> Iterator[list[Given]]:
    for number in range(count):
        lines = [
            Example(text="x", document=number, source=f"news.txt:{number * 2 + line}") for line in (9, 10)
        ]
        yield [Given(number, [lines[:1], lines[1:]])]


EXPECTED = [2 * number for number in range(40)]


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


@given(seed=st.integers(0, 10**6), workers=st.integers(1, 4))
def test_what_is_read_ahead_is_bounded(seed: int, workers: int) -> None:
    played = Played(random.Random(seed), workers)
    done = read = 0

    def source() -> Iterator[list[Given]]:
        nonlocal read
        for unit in blocks(40):
            read += 1
            assert read - done <= WINDOW * workers
            yield unit

    for _ in Dispatch(played, source(), ABOUT).results():
        done += 1


def test_what_is_held_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """But each worker has one unit."""
    monkeypatch.setattr(dispatch, "BYTES", 10_000)
    workers, read = Played(random.Random(0), 2), 0

    def source() -> Iterator[list[Given]]:
        nonlocal read
        for number in range(20):
            read += 1
            assert read - workers.answered <= 3  # one for each, and the one that makes it full
            yield [Given(number, [[Example(text="x" * 6_000, document=number)]])]

    assert results(workers, source()) == ([*range(20)], None)


def test_what_a_worker_leaves_goes_to_others_before_what_is_new() -> None:
    """To those that have a model, and not to the one that loads it again."""

    class Two(Played):
        def events(self, seconds: float) -> list[Event]:
            if seconds and all(len(self.at.get(worker, ())) == AHEAD for worker in ("w0", "w1")):
                del self.at["w0"]
                return [Event("w0", "gone", why="SIGKILL")]
            if seconds and not self.loading and "w0" not in self.at:
                return [self.back("w1")]
            if seconds and self.loading:
                self.at[worker := self.loading.pop()] = []
                return [Event(worker, "ready", about=ABOUT)]
            return []

    workers = Two(random.Random(0), 2)
    with pytest.warns(
        HeadscopeWarning,
        match=r"^w0 ended \(SIGKILL\); what it was working on, block \d \(2 inputs, news.txt:\d+ to news.txt:\d+\), is "
        "done again$",
    ):
        assert results(workers, blocks(9)) == (EXPECTED[:9], None)
    left = [unit for worker, unit in workers.given if worker == "w0"]
    by_other = [unit for worker, unit in workers.given if worker == "w1"]
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
        r"block 4 \(2 inputs, news.txt:17 to news.txt:18\): ended the worker 3 times, the last time \S+ \(SIGKILL\)",
        str(error),
    )
    assert len(said) == DEATHS - 1


def test_what_fails_ends_the_run_in_its_turn() -> None:
    """The first in the order of the corpus, whichever failed first; what is behind it is not done."""

    class Backwards(Played):
        def events(self, seconds: float) -> list[Event]:
            busy = [worker for worker in self.at if self.at[worker]]
            return [self.back(busy[-1])] if seconds and busy and not self.loading else super().events(seconds)

    def fails(unit: Sequence[Given]) -> int:
        if unit[0].number in (3, 5):
            raise InputError(f"no {unit[0].number}")
        return work(unit)

    workers = Backwards(random.Random(0), 3)
    workers.work = fails
    found, error = results(workers, blocks(40))
    assert (found, str(error)) == (EXPECTED[:3], "no 3")
    assert isinstance(error, InputError)
    assert max(unit for _, unit in workers.given) < 3 * WINDOW


def test_what_reading_fails_with_is_told_after_what_was_read() -> None:
    def source() -> Iterator[list[Given]]:
        yield from blocks(7)
        raise StopError

    found, error = results(Played(random.Random(0), 3), source())
    assert found == EXPECTED[:7]
    assert isinstance(error, StopError)


def test_a_worker_that_takes_no_part_is_named_and_the_others_go_on() -> None:
    class OneFails(Played):
        def events(self, seconds: float) -> list[Event]:
            if seconds and "w1" in self.loading:
                self.loading.remove("w1")
                return [Event("w1", "failed", why="no room")]
            return super().events(seconds)

    with pytest.warns(HeadscopeWarning, match=r"^w1 takes no part: no room$"):
        assert results(OneFails(random.Random(0), 2), blocks(9)) == (EXPECTED[:9], None)
    alone = OneFails(random.Random(0), 0)
    alone.loading = ["w1"]
    found, error = results(alone, blocks(9))
    assert (found, str(error)) == ([], "no worker takes part: w1: no room")
    assert isinstance(error, ModelError)


def test_other_circumstances_of_a_worker_are_said() -> None:
    told = r"^w0: its last digits may differ: machine: expected x86_64, found None$"
    with pytest.warns(HeadscopeWarning, match=told):
        found, _ = results(Played(random.Random(0), 1), blocks(3), {**ABOUT, "machine": "x86_64"})
    assert found == EXPECTED[:3]


def test_warnings_of_workers_are_said_once() -> None:
    def warns(unit: Sequence[Given]) -> int:
        warnings.warn("unknown pieces", HeadscopeWarning, stacklevel=1)
        return work(unit)

    workers = Played(random.Random(0), 2)
    workers.work = warns
    with warnings.catch_warnings(record=True, action="always") as said:
        assert results(workers, blocks(9)) == (EXPECTED[:9], None)
    assert [str(each.message) for each in said] == ["unknown pieces"]


def test_inputs_that_cannot_be_sent_are_said() -> None:
    example = Example(text="x", label=cast(Any, lambda: 0))
    found, error = results(Played(random.Random(0), 1), iter([[Given(0, [[example]])]]))
    assert found == []
    assert isinstance(error, InputError)
    assert str(error).startswith(
        "engine: expected inputs that can be sent to other processes, found some that cannot ("
    )
