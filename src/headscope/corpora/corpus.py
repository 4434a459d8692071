"""A corpus: examples in, inputs of a model out."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from hashlib import blake2b
from typing import Annotated, Any, Protocol

import numpy as np

from headscope.core.counts import plural
from headscope.core.failures import Bounded, warn
from headscope.core.pictures import Video
from headscope.core.tokens import WHAT, Kind, Tokens
from headscope.core.validation import Count, Expected, expect, validated
from headscope.corpora import packing
from headscope.corpora.encoder import Counts, Encoder
from headscope.corpora.example import Example, feed, spelled_out
from headscope.corpora.files import Files, Line, Paths
from headscope.errors import CorpusError, InputError

Pack = Annotated[int, Expected("at least 8 tokens, or None", least=8)]
"""How many tokens an input is filled up to."""

Item = Example | Callable[[], Example]
"""An example, or what makes one and raises `CorpusError` where it is broken."""

Read = Iterator[Example] | Iterator[Callable[[], Example]] | Iterator[Item]
"""What a pass over a corpus reads."""

LISTED = 20
"""How many of the inputs that were left out are named in a warning; the rest are counted."""

HOPELESS = 1_000
"""After how many inputs that all cannot be used for one reason, and none that can, reading stops."""

_DIGITS = re.compile("[0-9]+")


class CorpusFiles(Protocol):
    """What a corpus asks of the files that it is read from: `paths`, and how many bytes there are and were read."""

    paths: list[str]
    total: int
    read: int


class Corpus:
    """Examples that can be read again and again, in order, without being kept.

    What cannot be used (a sentence that is broken, or longer than the model takes) is left out and listed, with file
    and line: in `broken`, in a warning at the end of a run, and in the description of its result. A strict corpus
    refuses it.

    Attributes:
        name: what to call it in tables and figures.
        pack: pack lines into inputs of at most so many tokens; None: each example is an input.
        documents: what is taken as one document, in words, such as "each file"; empty where that is not known.
        kind: ``text``, ``images`` or ``sounds``.
        strict: whether to refuse what cannot be used; a run reads such a corpus to its end before the model runs.
        counts: what the last (or the present) pass has seen.
        broken: what was left out of the last (or the present) pass, and why; the first of very many (`left_out` counts
            all).
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], Read],
        *,
        pack: int | None = None,
        files: CorpusFiles | None = None,
        strict: bool = False,
        expected: str = "",
        documents: str = "",
        kind: Kind = "text",
        remarks: Sequence[str] = (),
    ) -> None:
        expect("pack", pack, Pack | None)
        self.name = name
        self.pack = pack
        self.documents = documents
        self.kind: Kind = kind
        self.counts = Counts()
        self.broken = Bounded[CorpusError]()
        self._read = read
        self.files = files
        self.strict = strict
        self._expected = expected
        self._remarks = remarks
        self._warned: set[str] = set()
        self._complete = True

    @classmethod
    def of_files(
        cls,
        paths: Paths | Files,
        read: Callable[[Iterable[Line]], Read],
        *,
        suffixes: Sequence[str] = (),
        records: bool = False,
        **more: Any,
    ) -> Corpus:
        """What `read` makes of the lines of some files.

        Args:
            paths: a file or several, or these as they have been looked at.
            read: gives examples, or what makes one each.
            suffixes: of the files that are read of a folder.
            records: whether arrays of JSON are read as JSON lines are.
            more: what a corpus is made with besides (`pack`, `strict`, `kind`, `documents`), and `expected`, the error
                where there is no example, such as "expected text, found blank lines only".
        """
        files = paths if isinstance(paths, Files) else Files(paths, suffixes, records=records)
        return cls(files.name, partial(read, files), files=files, remarks=files.remarks, **more)

    def __repr__(self) -> str:
        option = f"pack={self.pack}" if self.kind == "text" else f"kind={self.kind!r}"
        return f"Corpus({self.name!r}, {option})"

    def __iter__(self) -> Iterator[Example]:
        """The examples as they are in the source, without tokens. Warns of those that were left out."""
        self.counts = counts = Counts()
        for example in self.examples():
            counts.examples += 1
            counts.undecided += example.undecided is True
            yield example
        self.tell()

    def examples(self) -> Generator[Example]:
        """The examples without the warning, for runs, which may leave out more.

        Raises `CorpusError` where none of the first `HOPELESS` can be used, all for one reason.
        """
        self.broken.clear()
        empty = True
        reasons = set[str]()
        for item in self._read():
            try:
                example = item() if callable(item) else item
            except CorpusError as error:
                self.leave_out(error)
                if empty and self._complete and self.broken.number <= HOPELESS:
                    reasons.add(_DIGITS.sub("0", error.message.partition(", found ")[0]))
                    if self.broken.number == HOPELESS and len(reasons) == 1:
                        raise self.nothing_left(stopped=True) from None
            else:
                empty = False
                yield example
        if empty and self._complete and (self.broken or self.files is not None):
            raise self.nothing_left()

    def leave_out(self, error: CorpusError) -> None:
        """Note an input of the pass under way that cannot be used. Raises the error where the corpus is strict."""
        if self.strict:
            raise error
        error.__context__ = error.__cause__ = None  # they would keep what was read alive
        self.broken.append(error.with_traceback(None))

    def nothing_left(self, *, stopped: bool = False) -> CorpusError | InputError:
        """The error of a pass that gave no input, or `stopped` for that: the first of what was left out."""
        if self.broken:
            first, more = self.broken[0], self.broken.number - 1
            also = f" (and {more:,} more cannot be used either: none is left)" if more else ""
            if stopped:
                also = f" (and so on: none of the first {more + 1:,} inputs can be used, all for this reason)"
            return CorpusError(first.path, first.line, first.message + also)
        if self.files is None:
            return InputError("corpus: expected at least one input, found none")
        return CorpusError(self.files.paths[-1], None, self._expected)

    def tell(self) -> None:
        """Warn of what was left out, with file and line, of files not read, and of inputs without an agreed label.

        What was told before is not told again.
        """
        remarks = [*self._remarks]
        if self.counts.undecided:
            number = f"{self.counts.undecided:,} of {self.counts.examples:,} inputs"
            remarks.append(
                f"the annotators of {number} do not agree on a label ('-'): these are read without one"
            )
        for remark in remarks:
            if remark not in self._warned:
                self._warned.add(remark)
                warn(f"{self.name}: {remark}", 3)
        new = [message for error in self.broken if (message := str(error)) not in self._warned]
        self._warned.update(new)
        if new:
            count = len(new) + self.broken.more
            files = self.files.paths if self.files is not None else ()
            of = f"{len(files)} files" if len(files) > 1 else self.name
            listed = [f"left out {plural(count, 'input')} of {of}:", *new[:LISTED]]
            if count > LISTED:
                listed.append(f"and {count - LISTED:,} more")
            warn("\n  ".join(listed), 3)

    def part(self, read: Callable[[], Read]) -> Corpus:
        """A corpus of a part of its examples, which `read` gives, and which may be none.

        What it leaves out and counts is its own.
        """
        part = copy(self)
        part._read, part._complete, part.files = read, False, None
        part.counts, part.broken, part._warned = Counts(), Bounded[CorpusError](), set()
        return part

    def was_read(self, counts: Counts, broken: Sequence[CorpusError], left_out: int) -> None:
        """Note what a pass has counted and left out that read the corpus in parts; `broken` are the first of those."""
        self.counts, self.broken = counts, Bounded(broken)
        self.broken.more = left_out - len(broken)

    @property
    def noun(self) -> str:
        """What the inputs of the last (or the present) pass are, such as ``pictures``."""
        videos, examples = self.counts.videos, self.counts.examples
        return "videos" if 0 < videos == examples else "inputs" if videos else WHAT[self.kind]

    @property
    def left_out(self) -> int:
        """How many inputs the last (or the present) pass has left out."""
        return self.broken.number

    def size_hint(self) -> int | None:
        """Size of the files in bytes; None for corpora in memory."""
        return self.files.total if self.files else None

    @property
    def bytes_read(self) -> int:
        """How many bytes of the files the pass under way has read."""
        return self.files.read if self.files else 0

    @validated
    def encoded(self, model: Encoder, *, max_length: Count | None = None) -> Iterator[Example]:
        """The inputs of a model, with their tokens, in order; `counts` starts anew and goes along.

        `max_length` lowers what the model takes. A text that is longer is cut between two pieces, one that is
        given as words between two words, and the cuts are counted. What is not to be cut (a sentence with annotations,
        a pair, tokens taken as they are), or has no tokens, is left out.

        Raises `InputError` where `pack` is more than the model takes, and `CorpusError` with file and line where
        nothing is left, or for the first input that cannot be used of a strict corpus.
        """
        limits = [limit for limit in (max_length, model.max_length) if limit is not None]
        limit = min(limits) if limits else None
        if self.pack is not None and limit is not None and self.pack > limit:
            raise InputError(
                f"pack: expected at most the {limit} tokens that the model takes, found {self.pack}"
            )
        self.counts = counts = Counts()
        if self.pack is not None:
            stream = packing.packed(model, self.examples(), self.pack, counts, self.leave_out)
        else:
            stream = packing.fitted(model, self.examples(), limit, counts, self.leave_out)
        return self._counted(stream, counts)

    def _counted(self, stream: Iterator[Example], counts: Counts) -> Iterator[Example]:
        document = None
        for example in stream:
            assert example.tokens is not None
            counts.documents += example.document != document
            document = example.document
            counts.examples += 1
            counts.undecided += example.undecided is True
            counts.videos += isinstance(example.image, Video)
            counts.tokens += len(example.tokens)
            words, split = _words(example.tokens)
            counts.words += words
            counts.split_words += split
            yield example
        if not counts.examples and self._complete and self.broken:
            raise self.nothing_left()


def plain(corpus: Corpus | Iterable[Example]) -> Iterator[Example]:
    """The examples of a corpus or a list as they are, for a run."""
    return corpus.examples() if isinstance(corpus, Corpus) else iter(corpus)


def leave_out(corpus: object, error: CorpusError) -> None:
    """Note an input that cannot be used. Raises the error of examples that are no corpus, or a strict one."""
    if not isinstance(corpus, Corpus):
        raise error
    corpus.leave_out(error)


_TEXT = 40
"""A text has fewer words than two to the power of this."""


def _words(tokens: Tokens) -> tuple[int, int]:
    """How many words there are, and how many of them have several pieces."""
    if tokens.word_ids is None:
        return 0, 0
    words = tokens.word_ids
    if tokens.sequence_ids is not None:
        words = (tokens.sequence_ids << _TEXT) + words
    inside = words[tokens.word_ids >= 0]
    moves = inside[1:] - inside[:-1]
    if moves.min(initial=0) < 0:  # the pieces of a word do not stand together
        sizes = np.unique(inside, return_counts=True)[1]
        return len(sizes), int(np.count_nonzero(sizes > 1))
    goes_on = moves == 0
    begins = np.count_nonzero(goes_on[1:] > goes_on[:-1]) + np.count_nonzero(goes_on[:1])
    return len(inside) - int(np.count_nonzero(goes_on)), int(begins)


@validated
def distinct(corpus: Corpus) -> Corpus:
    """A corpus without the documents that are the same as one before.

    Documents are the same where all that is read and annotated is; a document is held in memory as it is read, and a
    hash of each thereafter. Without it a document that is there twice is two, so that errors by document are too small
    (a run says how many there are).

    >>> corpus = hs.corpora.texts(["The cat sat.", "A dog barked.", "The cat sat."])
    >>> [example.text for example in hs.corpora.distinct(corpus)]
    ['The cat sat.', 'A dog barked.']
    """
    filtered = copy(corpus)
    filtered.__dict__.update(
        _read=partial(_once, corpus._read),  # pyright: ignore[reportPrivateUsage]
        broken=Bounded[CorpusError](),
        _warned=set[str](),
    )
    return filtered


def _once(read: Callable[[], Read]) -> Iterator[Example | Callable[[], Example]]:
    seen: set[bytes] = set()
    document: list[Example] = []

    def new() -> bool:
        digest = blake2b(digest_size=16)
        for example in document:
            feed(digest, spelled_out(example))
        known = digest.digest() in seen
        seen.add(digest.digest())
        return not known

    for item in read():
        try:
            example = item() if callable(item) else item
        except CorpusError as error:
            yield partial(refuse, error)
            continue
        if document and example.document != document[0].document:
            if new():
                yield from document
            document = []
        document.append(example)
    if document and new():
        yield from document


def refuse(error: CorpusError) -> Example:
    """Raise what is wrong with an example."""
    raise error
