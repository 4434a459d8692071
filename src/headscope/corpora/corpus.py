"""A corpus: examples in, inputs of a model out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

import numpy as np

from headscope.corpora import packing
from headscope.corpora.encoder import Counts, Encoder
from headscope.corpora.example import Example
from headscope.corpora.files import Files, Line, Paths
from headscope.doors import Expected, expect
from headscope.errors import CorpusError, InputError
from headscope.tokens import Tokens

Pack = Annotated[int, Expected("at least 8 tokens, or None", least=8)]
"""How many tokens an input is filled up to."""

Read = Iterator[Example] | Iterator[Callable[[], Example]]
"""Examples, or what makes one each and raises `CorpusError` where it is broken."""


class Corpus:
    """Examples that can be read again and again, in order, without being kept.

    Attributes:
        name: what to call it in tables and figures.
        pack: pack lines into inputs of at most so many tokens; None: each example is an input.
        counts: what the last (or the present) pass of `encoded` has seen.
        broken: what was left out, on request, of the last (or the present) pass, and why.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], Read],
        *,
        pack: int | None = None,
        files: Files | None = None,
        skip_broken: bool = False,
        expected: str = "",
    ) -> None:
        expect("pack", pack, Pack | None)
        self.name = name
        self.pack = pack
        self.counts = Counts()
        self.broken: list[CorpusError] = []
        self._read = read
        self._files = files
        self._skip_broken = skip_broken
        self._expected = expected

    @classmethod
    def of_files(
        cls,
        paths: Paths,
        read: Callable[[Iterable[Line]], Read],
        *,
        expected: str,
        pack: int | None = None,
        skip_broken: bool = False,
    ) -> Corpus:
        """What `read` makes of the lines of some files.

        Args:
            paths: a file or several.
            read: gives examples, or what makes one each.
            expected: the error where there is no example, such as "expected text, found blank lines only".
            pack: as in the attribute.
            skip_broken: leave out the examples that are broken, and list them in `broken`.
        """
        files = Files(paths)
        return cls(
            files.name,
            lambda: read(files),
            pack=pack,
            files=files,
            skip_broken=skip_broken,
            expected=expected,
        )

    def __repr__(self) -> str:
        return f"Corpus({self.name!r}, pack={self.pack})"

    def __iter__(self) -> Iterator[Example]:
        """The examples as they are in the source, without tokens."""
        self.broken.clear()
        empty = True
        for item in self._read():
            try:
                example = item() if callable(item) else item
            except CorpusError as error:
                if not self._skip_broken:
                    raise
                self.broken.append(error)
            else:
                empty = False
                yield example
        if empty and self._files is not None:
            what = f"{self._expected.partition(',')[0]}, found none that can be read"
            raise CorpusError(self._files.paths[-1], None, what if self.broken else self._expected)

    def size_hint(self) -> int | None:
        """Size of the files in bytes; None for corpora in memory."""
        return self._files.total if self._files else None

    @property
    def bytes_read(self) -> int:
        """How many bytes of the files the pass under way has read."""
        return self._files.read if self._files else 0

    def encoded(self, model: Encoder, *, max_length: int | None = None) -> Iterator[Example]:
        """The inputs of a model, with their tokens, in order; `counts` starts anew and goes along.

        `max_length` lowers what the model takes. A text that is longer is cut between two pieces, one that is
        given as words between two words, and the cuts are counted; a pair, or tokens taken as they are, is
        not to be cut.

        Raises `InputError` where `pack` is more than the model takes, and `CorpusError` with file and line
        for inputs that do not fit or have no tokens.
        """
        limits = [limit for limit in (max_length, model.max_length) if limit is not None]
        limit = min(limits) if limits else None
        if self.pack is not None and limit is not None and self.pack > limit:
            raise InputError(
                f"pack: expected at most the {limit} tokens that the model takes, found {self.pack}"
            )
        self.counts = counts = Counts()
        if self.pack is not None:
            stream = packing.packed(model, self, self.pack, counts)
        else:
            stream = packing.fitted(model, self, limit, counts)
        return _counted(stream, counts)


def _counted(stream: Iterator[Example], counts: Counts) -> Iterator[Example]:
    document = None
    for example in stream:
        assert example.tokens is not None
        counts.documents += example.document != document
        document = example.document
        counts.examples += 1
        counts.tokens += len(example.tokens)
        sizes = _word_sizes(example.tokens)
        counts.words += len(sizes)
        counts.split_words += int((sizes > 1).sum())
        yield example


def _word_sizes(tokens: Tokens) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How many pieces each word has."""
    if tokens.word_ids is None:
        return np.zeros(0, np.int64)
    sequence = np.zeros(len(tokens), np.int64) if tokens.sequence_ids is None else tokens.sequence_ids
    words = sequence * (tokens.word_ids.max(initial=0) + 1) + tokens.word_ids
    return np.unique(words[tokens.word_ids >= 0], return_counts=True)[1]
