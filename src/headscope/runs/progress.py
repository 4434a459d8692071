"""Progress on stderr: how far, how fast, how long to go."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from tqdm import tqdm

from headscope.core.counts import plural
from headscope.core.notebook import in_notebook
from headscope.core.saving import listening
from headscope.core.types import AnyDict
from headscope.corpora import Corpus
from headscope.runs.trial import Trial, TrialBar

T = TypeVar("T")


class CorpusPlace(NamedTuple):
    """A place in a corpus: how many inputs are before it, and these, or the bytes of its files, in the bar's units."""

    inputs: int
    reached: int


class Progress:
    """Moves the bar. Call it with the number of inputs that were just worked on."""

    def __init__(self, shown: Any, corpus: Corpus | None, title: str) -> None:
        self._bar, self._corpus, self._title = shown, corpus, title
        self._inputs = 0
        self._workers = ""

    def __call__(self, inputs: int) -> None:
        """So many more inputs of the corpus are behind."""
        self.reached(self._inputs + inputs)

    def reached(self, inputs: int) -> None:
        """So many inputs of the corpus are behind, up to where it is read."""
        self.at(self.place(inputs))

    def place(self, inputs: int) -> CorpusPlace:
        """Where the corpus is read to now, when so many inputs are behind."""
        return CorpusPlace(inputs, inputs if self._corpus is None else self._corpus.bytes_read)

    def at(self, place: CorpusPlace) -> None:
        """Move the bar to a place that the inputs have come to."""
        self._inputs = place.inputs
        notes = [plural(place.inputs, "input")] if self._corpus is not None else []
        self._bar.set_postfix_str(
            ", ".join([*notes, *([self._workers] if self._workers else [])]), refresh=False
        )
        self._bar.update(place.reached - self._bar.n)

    def workers(self, count: int) -> None:
        """So many workers are at work."""
        self._workers = plural(count, "worker")

    def passed(self, place: CorpusPlace) -> None:
        """The inputs up to here were done by an earlier run: they do not count for the rate."""
        self._inputs, now, bar = place.inputs, time.time(), self._bar
        if bar.disable:
            return
        bar.n = place.reached
        bar.initial, bar.last_print_n, bar.start_t = bar.n, bar.n, now
        bar.set_description_str("passing over what is done", refresh=False)
        if now - bar.last_print_t >= bar.mininterval:
            bar.refresh()
            bar.last_print_t = now

    def begun(self, units: Iterator[T]) -> Iterator[T]:
        """The same units: with each, work on new inputs begins."""
        for unit in units:
            self._bar.set_description_str(self._title, refresh=False)
            yield unit


@contextmanager
def bar(corpus: object, limit: int | None, shown: bool, title: str = "measuring") -> Generator[Progress]:
    """A bar by inputs where a limit is known, else by the bytes of the files."""
    size = corpus.size_hint() if isinstance(corpus, Corpus) and limit is None else None
    unit: AnyDict = {"unit": "B", "unit_scale": True} if size else {"unit": " inputs"}
    with bar_of(shown, total=size or limit, desc=title, **unit) as meter:
        yield Progress(meter, corpus if size and isinstance(corpus, Corpus) else None, title)


def bar_of(shown: bool, **options: Any) -> Any:
    """tqdm's bar on a terminal or in a notebook, where `shown`; elsewhere, such as in a log, a line a minute."""
    if (trial := listening(Trial)) is not None:
        return TrialBar(trial, **options)
    if sys.stderr.isatty() or in_notebook() or not shown:
        return tqdm(disable=not shown, delay=1, leave=False, **options)
    far = "{percentage:.0f}%, {n_fmt} of {total_fmt} [{elapsed}<{remaining}, {rate_fmt}{postfix}]"
    layout = "{desc}: " + (far if options["total"] else "{n_fmt} [{elapsed}, {rate_fmt}{postfix}]")
    return _Lines(bar_format=layout, mininterval=60, miniters=1, delay=60, smoothing=0, **options)


class _Lines(tqdm):  # pyright: ignore[reportMissingTypeArgument]
    """A bar whose states are lines, of which none is taken back."""

    monitor_interval = 0

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Print a line."""
        print(self, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Print no more."""
        self.disable = True
