"""What a run will take, before it starts."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from headscope.corpora import Corpus, Example
from headscope.models import Model
from headscope.run.measure import measure

SAMPLE = 256
"""How many inputs at the head of the corpus are looked at."""

TRIED = 32
"""How many of them are measured, once to warm up and once for the clock."""


@dataclass(frozen=True)
class Estimate:
    """What a run will take. `exact`: the whole corpus was looked at, so inputs and tokens are counted, not guessed."""

    inputs: int
    tokens: int
    seconds: float
    gigabytes: float | None
    exact: bool

    def __str__(self) -> str:
        about = "" if self.exact else "about "
        memory = "" if self.gigabytes is None else f", {self.gigabytes:.1f} GB of memory"
        rate = self.tokens / self.seconds if self.seconds else 0.0
        return (
            f"{about}{self.inputs:,} inputs, {self.tokens:,} tokens: "
            f"about {duration(self.seconds)} at {rate:,.0f} tokens a second{memory}"
        )


def estimate(
    model: Model,
    corpus: Corpus,
    *,
    measures: Sequence[str] | None = None,
    batch_size: int = 32,
    limit: int | None = None,
) -> Estimate:
    """Look at the head of a corpus and measure a few of its inputs, to say what all of it will take."""
    stream = corpus.encoded(model)
    sample = list(islice(stream, SAMPLE if limit is None else min(SAMPLE, limit)))
    total, read = corpus.size_hint(), corpus.bytes_read
    exact = len(sample) == limit or next(stream, None) is None
    tokens = sum(_length(example) for example in sample)
    factor = 1.0 if exact or not total or not read else max(1.0, total / read)
    if limit is not None:
        factor = min(factor, limit / max(1, len(sample)))
    tried = sample[:TRIED]
    for _ in range(2):
        started = time.perf_counter()
        measure(model, Given(corpus.name, tried), measures=measures, batch_size=batch_size)
        seconds = time.perf_counter() - started
    rate = seconds / max(1, sum(_length(example) for example in tried))
    return Estimate(round(len(sample) * factor), round(tokens * factor), tokens * factor * rate, _memory(), exact)


class Given(Corpus):
    """Examples that are already encoded."""

    def __init__(self, name: str, examples: Sequence[Example]) -> None:
        super().__init__(name, lambda: iter(examples))
        self._examples = examples

    def encoded(self, model: object, *, max_length: int | None = None):  # noqa: ANN201
        """The examples as they are."""
        return iter(self._examples)


def duration(seconds: float) -> str:
    """Seconds as a person says them: ``4 s``, ``3 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _length(example: Example) -> int:
    return 0 if example.tokens is None else len(example.tokens)


def _memory() -> float | None:
    """The most memory this process has held, in GB; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e9 if sys.platform == "darwin" else peak * 1024 / 1e9
