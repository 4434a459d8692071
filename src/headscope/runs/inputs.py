"""The inputs of a run: their pieces are counted as they are read, and those that the tokenizer does not know."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from headscope.attention.one import ADVICE
from headscope.corpora import Example, builtin
from headscope.errors import HeadscopeWarning, InputError, UnknownError
from headscope.models import Model
from headscope.models.encode import encode
from headscope.models.pieces import of_pieces
from headscope.runs.identical import SeenDocuments

SAID, MOST = 0.01, 0.2
"""Above which share of unknown pieces a run says so, and above which it is refused."""

SOON, HOPELESS = 20_000, 0.5
"""From so many pieces on, a share above this ends a run at once."""

_watching: ContextVar[bool] = ContextVar("watching", default=True)
_warned: ContextVar[set[tuple[object, ...]] | None] = ContextVar("warned", default=None)


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
                warnings.warn(message, HeadscopeWarning, stacklevel=1)
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
