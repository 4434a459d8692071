"""What a run will take in time and memory, told from its first inputs."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self

import torch

from headscope.attention.one import ADVICE
from headscope.core.counts import plural
from headscope.core.failures import warn
from headscope.corpora import Corpus, Example, builtin
from headscope.errors import HeadscopeWarning, InputError, UnknownError
from headscope.models import Model
from headscope.models.encode import encode
from headscope.models.pieces import of_pieces
from headscope.runs.engines import engine_of
from headscope.runs.engines.here import Engine
from headscope.runs.identical import SeenDocuments
from headscope.runs.trial import Trial

SAID, MOST = 0.01, 0.2
"""Above which share of unknown pieces a run says so, and above which it is refused."""

SOON, HOPELESS = 20_000, 0.5
"""From so many pieces on, a share above this ends a run at once."""

_watching: ContextVar[bool] = ContextVar("watching", default=True)
_warned: ContextVar[set[tuple[object, ...]] | None] = ContextVar("warned", default=None)


class Estimate(str):
    """What a run will take, as a sentence and as numbers.

    Attributes:
        seconds: how long; None where nobody knows.
        bytes: of memory.
        least: whether it takes at least so long.
    """

    def __new__(cls, text: str, seconds: float | None, memory: float, *, least: bool = False) -> Self:
        """The sentence, with its numbers."""
        made = super().__new__(cls, text)
        made.seconds, made.bytes, made.least = seconds, int(memory), least
        return made

    seconds: float | None
    bytes: int
    least: bool


class Inputs:
    """Inputs of a model, with their tokens, read once.

    Attributes:
        pieces: of those read so far, without special tokens.
        unknown: how many of these the tokenizer does not know.
        documents: which documents are the same.
    """

    def __init__(self, model: Model, given: Iterable[Example], name: str) -> None:
        self._model, self._given, self._name = model, given, name
        self.pieces = self.unknown = 0
        self.documents = SeenDocuments()

    def __iter__(self) -> Iterator[Example]:
        """The inputs.

        Raises `UnknownError`, unless the model allows it, where more than a fifth of all pieces are unknown to the
        tokenizer (or half of the first 20,000); warns where more than a hundredth are.
        """
        for example in self._given:
            self.count(example)
            self.documents.add(example)
            yield example
        self.end()

    def count(self, example: Example) -> None:
        """Count the pieces of an input. Raises `UnknownError` where it is plain that too many are unknown."""
        if example.tokens is not None:
            self.add(*self._model.unknown(example.tokens))

    def add(self, unknown: int, pieces: int) -> None:
        """Count so many pieces. Raises as `count` does."""
        self.unknown += unknown
        self.pieces += pieces
        if self.pieces >= SOON:
            self._expect_known(HOPELESS)

    def counted(self, unknown: int, pieces: int, documents: SeenDocuments) -> None:
        """Take over what was counted elsewhere: so many pieces, and these documents. Raises as `count` does."""
        self.unknown = self.pieces = 0
        self.documents = documents
        self.add(unknown, pieces)

    def end(self) -> None:
        """All are read: refuse them, or say what share of their pieces is unknown, and which documents are the same."""
        self._expect_known(MOST)
        if not _watching.get():
            return
        counted = (self._model.name, self.unknown, self.pieces), self.documents.identical()
        for key, message in zip(
            counted, ("" if self.known else self._message(), self.documents.note(self._name)), strict=True
        ):
            warned = _warned.get()
            if message and (warned is None or key not in warned):
                warn(message, 1)
                if warned is not None:
                    warned.add(key)

    @property
    def refused(self) -> bool:
        """Whether so many pieces are unknown that a run ends, unless the model allows it."""
        return self.unknown > MOST * self.pieces

    @property
    def known(self) -> bool:
        """Whether so few pieces are unknown that it need not be said."""
        return self.unknown <= SAID * self.pieces

    @property
    def share(self) -> str:
        """The unknown pieces, as ``12 of 300 pieces (4.0 %)``."""
        return of_pieces(self.unknown, self.pieces)

    def counts(self) -> Mapping[str, int]:
        """What was counted, for a description."""
        return {"pieces": self.pieces, "unknown": self.unknown, "identical": self.documents.identical()[0]}

    def _message(self) -> str:
        return f"{self._name}: {self.share} are unknown to the tokenizer of {self._model.name}"

    def _expect_known(self, most: float) -> None:
        if self.unknown > most * self.pieces and not self._model.allow_unknown and _watching.get():
            raise UnknownError(f"{self._message()}, expected at most {100 * most:.0f} %", ADVICE)


def english(model: Model) -> Inputs | None:
    """The pieces of the built-in corpus, counted; None for a model without a tokenizer."""
    if model.tokenizer is None:
        return None
    lines = builtin(pack=None)
    inputs = Inputs(model, (), lines.name)
    for line in lines:
        try:
            with unwatched():
                inputs.count(replace(line, tokens=encode(model.tokenizer, line.text or "")))
        except InputError:  # the tokenizer makes nothing of it
            inputs.pieces, inputs.unknown = inputs.pieces + 1, inputs.unknown + 1
    return inputs


@contextmanager
def unwatched() -> Generator[None]:
    """Neither refuse nor say anything of unknown pieces, as where a run is tried on a few inputs to tell its time."""
    token = _watching.set(False)
    try:
        yield
    finally:
        _watching.reset(token)


@contextmanager
def told_once() -> Generator[None]:
    """Warn of the same pieces once, as where a corpus is read several times."""
    token = _warned.set(set())
    try:
        yield
    finally:
        _warned.reset(token)


READ = 512
"""How many inputs are read; what is beyond them is told from the size of the files."""

FEW = 16
"""How many pictures or sounds are read: each is held whole."""

RUN, FEWER = 64, 16
"""How many of these are run, and how many before: what does not grow with the corpus is told from both."""

CLUSTERS = 3_000, 50_000
"""Bytes that a cluster takes where heads are chosen and scored apart, and how many are told apart at most."""


@dataclass(frozen=True)
class Ahead:
    """What lies ahead of a run.

    Attributes:
        sample: the first inputs.
        inputs, tokens: of all.
        exact: whether they were counted, or told from the size of the files.
    """

    sample: Sequence[Example]
    inputs: int
    tokens: int
    exact: bool

    def text(self, noun: str) -> str:
        """Say how much lies ahead: ``about 1,200 sentences, 30,000 tokens``."""
        about = "" if self.exact else "about "
        return f"{about}{plural(self.inputs, noun)}, {plural(self.tokens, 'token')}"


def ahead(corpus: Corpus, stream: Iterable[Example], limit: int | None) -> Ahead:
    """Read the first inputs of a corpus, and tell from them and from the size of its files how many there are.

    Args:
        corpus: what is read.
        stream: its inputs, with tokens, where there are many only those that count.
        limit: at most so many count.

    Raises `InputError` where there is none.
    """
    rest = islice(stream, limit)
    first = list(islice(rest, READ if corpus.kind == "text" else FEW))
    inputs, tokens = len(first), sum(len(example.tokens or ()) for example in first)
    if not inputs:
        raise InputError("corpus: expected at least one input, found none")
    read, size = corpus.bytes_read, corpus.size_hint()
    following = next(rest, None)
    if following is None:
        return Ahead(first, inputs, tokens, exact=True)
    if size:
        factor = max(1.0, size / max(1, read))
        factor = min(factor, limit / inputs) if limit else factor
        return Ahead(first, round(inputs * factor), round(tokens * factor), exact=False)
    more = [len(example.tokens or ()) for example in (following, *rest)]
    return Ahead(first, inputs + len(more), tokens + sum(more), exact=True)


def line(
    model: Model,
    extent: Ahead,
    work: Callable[[Sequence[Example]], object],
    noun: str,
    grows: int | Callable[[], int] = 0,
    most: int | None = None,
    *,
    together: bool = False,
    engine: Any = None,
) -> Estimate:
    """The estimate of a run whose time is linear in its tokens, from two runs on some of them.

    Args:
        model: what runs.
        extent: what lies ahead.
        work: the run, on some inputs.
        noun: what an input is called.
        grows: bytes of memory for each input, told after the runs; `most`: for so many inputs at most.
        together: run inputs that follow one another, not some from here and there.
        engine: where the run will be; what is tried is tried here, with as many threads as a worker has.
    """
    workers = engine_of(engine)
    step = 1 if together else max(1, len(extent.sample) // RUN)
    sample = extent.sample[::step][:RUN]
    few = max(1, len(sample) // (RUN // FEWER))

    def timed(size: int) -> float:
        started = time.perf_counter()
        with (
            unwatched(),
            threads(workers.threads),
            warnings.catch_warnings(action="ignore", category=HeadscopeWarning),
        ):  # the run says it
            work(sample[:size])
        return time.perf_counter() - started

    def tokens(size: int) -> int:
        return sum(len(example.tokens or ()) for example in sample[:size])

    if extent.inputs == len(sample):
        timed(len(sample))
        seconds = timed(len(sample))
    else:
        timed(few)
        short, long = timed(few), timed(len(sample))
        total = tokens(len(sample))
        per_token = max(0.0, long - short) / max(1, total - tokens(few)) or long / total
        seconds = long + (extent.tokens - total) * per_token / workers.workers
    more = (extent.inputs - len(sample)) * (grows if isinstance(grows, int) else grows())
    if most is not None and not callable(grows):
        more = min(more, most * grows)
    memory = peak_memory(model) + more
    needs = f"about {duration(seconds)} {where(model, workers)} and {memory / 1e9:.1f} GB of memory"
    return Estimate(f"{extent.text(noun)}: {needs}{' each' if workers.remote else ''}", seconds, memory)


def tried(function: Callable[[], object]) -> Estimate:
    """The estimate of what is neither a corpus nor linear in one, from a trial of some seconds."""
    trial = Trial()
    trial.run(function)
    memory, bar = peak_memory(trial.model), None if trial.complete else trial.bar
    seconds = trial.seconds + (bar.rest if bar else 0.0)
    text = f"about {duration(seconds)} and {memory / 1e9:.1f} GB of memory"
    if trial.loading:
        text += f", after {duration(trial.loading)} to load"
    if not trial.complete:
        far = f"{bar.desc} came to {bar.n / bar.total:.0%}" if bar else "it did not come to its end"
        text = f"at least {text}: tried for {duration(trial.seconds)}, in which {far}"
    return Estimate(text, seconds, memory, least=not trial.complete)


@contextmanager
def threads(count: int | None) -> Generator[None]:
    """Within it torch has so many threads, such as those of a worker; None: as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def where(model: Model, workers: Engine) -> str:
    """Say where a run takes place: ``on cpu``, or ``in 4 processes on cpu, where reading keeps up,``."""
    if not workers.remote:
        return f"on {model.device}"
    processes = "1 process" if workers.workers == 1 else f"{workers.workers} processes"
    return f"in {processes} on {workers.device(model)}, where reading keeps up,"


def duration(seconds: float) -> str:
    """Write a time as ``1.5 h``, ``12.0 min`` or ``8 s``."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{max(1, round(seconds))} s"


def peak_memory(model: Model | None) -> float:
    """The most memory in bytes that the process has used so far, on the model's device."""
    if model is not None and model.device.type == "cuda":
        return torch.cuda.max_memory_allocated(model.device)
    try:
        import resource
    except ImportError:  # Windows
        return 4.0 * (model.parameters if model else 0) + 0.5e9
    scale = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale)


def disk_size(count: float) -> str:
    """Write a size as ``1.2 GB`` or ``34 MB``."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(1, round(count / 1e6)):,} MB"
