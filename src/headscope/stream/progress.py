"""Progress on stderr: how far, how fast, how long to go."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from headscope.corpora import Corpus


class Progress:
    """Moves the bar. Call it with the number of inputs that were just worked on."""

    def __init__(self, shown: Any, corpus: Corpus | None, title: str) -> None:
        self._bar, self._corpus, self._title = shown, corpus, title
        self._inputs = 0

    def __call__(self, inputs: int) -> None:
        """So many more inputs of the corpus are behind."""
        self.reached(self._inputs + inputs)

    def reached(self, inputs: int) -> None:
        """So many inputs of the corpus are behind."""
        self._inputs = inputs
        if self._corpus is None:
            self._bar.update(inputs - self._bar.n)
        else:
            self._bar.set_postfix_str(f"{inputs:,} inputs", refresh=False)
            self._bar.update(self._corpus.bytes_read - self._bar.n)

    def passed(self, inputs: int) -> None:
        """The inputs up to here were done by an earlier run: they do not count for the rate."""
        self._inputs, now, bar = inputs, time.time(), self._bar
        if bar.disable:
            return
        bar.n = inputs if self._corpus is None else self._corpus.bytes_read
        bar.initial, bar.last_print_n, bar.start_t = bar.n, bar.n, now
        bar.set_description_str("passing over what is done", refresh=False)
        if now - bar.last_print_t >= bar.mininterval:
            bar.refresh()
            bar.last_print_t = now

    def begin(self) -> None:
        """Work on new inputs begins."""
        self._bar.set_description_str(self._title, refresh=False)


@contextmanager
def bar(corpus: object, limit: int | None, shown: bool, title: str = "measuring") -> Generator[Progress]:
    """A bar by inputs where a limit is known, else by the bytes of the files."""
    size = corpus.size_hint() if isinstance(corpus, Corpus) and limit is None else None
    unit: dict[str, Any] = {"unit": "B", "unit_scale": True} if size else {"unit": " inputs"}
    with tqdm(total=size or limit, desc=title, disable=not shown, delay=1, leave=False, **unit) as own:
        yield Progress(own, corpus if size and isinstance(corpus, Corpus) else None, title)
