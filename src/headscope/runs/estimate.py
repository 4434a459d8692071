"""What a run will take in time and memory, told from its first inputs."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from headscope.core.counts import plural
from headscope.corpora import Corpus, Example
from headscope.errors import HeadscopeWarning, InputError
from headscope.models import Model
from headscope.runs.engines import engine_of
from headscope.runs.engines.here import Engine
from headscope.runs.inputs import unwatched

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
) -> str:
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
            as_worker(workers),
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
    memory = (peak_memory(model) + more) / 1e9
    needs = f"about {duration(seconds)} {where(model, workers)} and {memory:.1f} GB of memory"
    return f"{extent.text(noun)}: {needs}{' each' if workers.remote else ''}"


@contextmanager
def as_worker(workers: Engine) -> Generator[None]:
    """Within it torch has as many threads as in a worker."""
    before = torch.get_num_threads()
    torch.set_num_threads(workers.threads or before)
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


def peak_memory(model: Model) -> float:
    """The most memory in bytes that the process has used so far, on the model's device."""
    if model.device.type == "cuda":
        return torch.cuda.max_memory_allocated(model.device)
    try:
        import resource
    except ImportError:  # Windows
        return 4.0 * model.parameters + 0.5e9
    scale = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale)


def disk_size(count: float) -> str:
    """Write a size as ``1.2 GB`` or ``34 MB``."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(1, round(count / 1e6)):,} MB"
