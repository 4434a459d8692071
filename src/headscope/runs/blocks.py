"""The blocks of a corpus: cut before anything is tokenized, so that each is read by whoever works on it.

Files are cut on their bytes (`headscope.corpora.cuts`): a block that is another's, or done already, is not even read.
What can only be read in order (examples in memory, compressed files) is cut on its examples: those of such a block are
read, but not tokenized.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Protocol

from headscope.corpora import Corpus, Example
from headscope.corpora.batches import Limits, Run, batches, checked, runs
from headscope.corpora.content import content
from headscope.corpora.cuts import Cuts, Stretch, fingerprint
from headscope.models import Model
from headscope.runs import batches as streams
from headscope.runs.identical import Documents
from headscope.runs.read import LISTED, Broken, Read, Told

BYTES = 512
"""So many bytes of a file count as one input where files are cut, and lines of text are packed."""

Inputs = Callable[[Corpus | Iterable[Example]], Iterable[Example]]
"""The inputs of a corpus or of a part of it, with their tokens."""


def _nothing() -> Mapping[str, Sequence[str]]:
    return {}


@dataclass(frozen=True)
class Encoded:
    """The examples of a corpus with their tokens.

    Attributes:
        model: whose tokens.
        bare: without the offsets and the texts of tokens, which is faster.
    """

    model: Model
    bare: bool = False

    def __call__(self, given: Corpus | Iterable[Example]) -> Iterable[Example]:
        """The inputs of a corpus or a part of it; examples that are no corpus have their tokens."""
        return given.encoded(self.model, bare=self.bare) if isinstance(given, Corpus) else given


@dataclass(frozen=True)
class Reader:
    """How a part of a corpus becomes batches.

    It can be sent to other processes, its models left out.

    Attributes:
        model: what reads.
        inputs: of a part.
        size: inputs of a window, in which they are sorted by length.
        limits: of a batch.
        notes: what was found of the inputs that were given last, by its kind.
    """

    model: Model
    inputs: Inputs
    size: int
    limits: Limits
    notes: Callable[[], Mapping[str, Sequence[str]]] = _nothing


def reader_for(
    model: Model,
    inputs: Inputs,
    notes: Callable[[], Mapping[str, Sequence[str]]],
    *,
    batch_size: int,
    size: int | None,
) -> Reader:
    """How parts of a corpus become batches of a model, of at most so many inputs."""
    limits = Limits(batch_size, streams.tokens_per_batch(batch_size, model), model.same_length)
    return Reader(model, inputs, size or streams.BLOCK, limits, notes)


@dataclass(frozen=True)
class Part:
    """A part of a corpus.

    Attributes:
        given: its examples.
        open: the documents that have examples in other parts as well; known when the examples have been read.
        place: where it is, in words.
    """

    given: Corpus | Iterable[Example]
    open: Collection[int] = ()
    place: str = ""

    def __str__(self) -> str:
        return self.place


class Batched:
    """The batches of a part, to be read once.

    Args:
        part: what is read.
        reader: how.
        most: at most so many inputs.
    """

    def __init__(self, part: Part, reader: Reader, most: int | None = None) -> None:
        self.part = part
        self._reader, self._most = reader, most
        self._inputs = self._pieces = self._unknown = 0
        self._ends: tuple[int, int] | None = None
        self._documents = Documents()

    def __iter__(self) -> Iterator[list[Example]]:
        inputs = islice(self._reader.inputs(self.part.given), self._most)
        return batches(self._counted(inputs), self._reader.size, self._reader.limits)

    def _counted(self, inputs: Iterable[Example]) -> Iterator[Example]:
        for example in checked(inputs):
            first = example.document if self._ends is None else self._ends[0]
            self._ends = first, example.document
            self._inputs += 1
            self._documents.add(example)
            if example.tokens is not None:
                unknown, pieces = self._reader.model.unknown(example.tokens)
                self._unknown += unknown
                self._pieces += pieces
            yield example

    @property
    def open(self) -> Collection[int]:
        """The documents that have inputs in other blocks as well; known when the batches have been read."""
        return self.part.open

    @property
    def read(self) -> Read:
        """What reading has told, when the batches have been read."""
        notes = {
            kind: Told(len(items), tuple(items[:LISTED])) for kind, items in self._reader.notes().items()
        }
        read = Read(
            self._inputs, self._pieces, self._unknown, notes=notes, ends=self._ends, documents=self._documents
        )
        given = self.part.given
        if not isinstance(given, Corpus):
            return read
        return replace(read, counts=given.counts).then(left_out_of(given))


def left_out_of(corpus: Corpus) -> Read:
    """What a corpus has left out so far."""
    broken = tuple(Broken(error.path, error.line, error.message) for error in corpus.broken)
    return Read(left_out=corpus.left_out, broken=broken)


class Block(Protocol):
    """A numbered block of a corpus, and what reading it has told, when its batches have been read."""

    @property
    def number(self) -> int:
        """The block's number, from 0."""
        ...

    @property
    def open(self) -> Collection[int]:
        """The documents that have inputs in other blocks as well; known when the batches have been read."""
        ...

    @property
    def read(self) -> Read:
        """What reading has told."""
        ...

    @property
    def part(self) -> Part | None:
        """The part by which anybody can read the block; None where it has to be read here, in order."""
        ...

    @property
    def end(self) -> int | None:
        """The byte of the files that the block reaches up to; None where these are not cut on bytes."""
        ...

    def __iter__(self) -> Iterator[list[Example]]:
        """Iterate over the batches, once and before the next block is asked for."""
        ...

    def digest(self) -> str:
        """The sha256 of what it holds, whose batches need not be read."""
        ...


class Source(Protocol):
    """The blocks of a corpus."""

    @property
    def bytes(self) -> int | None:
        """The size of the files that are cut on bytes; None where none are."""
        ...

    def __iter__(self) -> Iterator[Block]: ...

    def fingerprint(self) -> str:
        """What those have in common who have worked on blocks of one corpus."""
        ...


def source(
    corpus: Corpus | Iterable[Example],
    reader: Reader,
    *,
    windows: int | None = None,
    limit: int | None = None,
    hashed: bool = True,
) -> Source:
    """The blocks of a corpus.

    Args:
        corpus: what is read.
        reader: how.
        windows: a block ends after about so many windows at the latest, though that may be in the midst of a document.
        limit: of inputs. To count them, blocks before are read and tokenized, whoever works on them.
        hashed: whether digests will be asked for.
    """
    if isinstance(corpus, Corpus) and (cuts := corpus.cuts(reader.size * BYTES, windows)) is not None:
        return _Cut(corpus, cuts, reader, limit)
    return _InOrder(corpus, reader, windows, limit, hashed)


class _Cut:
    """The blocks of files that are cut on their bytes."""

    def __init__(self, corpus: Corpus, cuts: Cuts, reader: Reader, limit: int | None) -> None:
        self._corpus, self._cuts, self._reader, self._limit = corpus, cuts, reader, limit

    def __iter__(self) -> Iterator[Block]:
        left = self._limit
        for number in range(len(self._cuts)):
            if left == 0:
                return
            block = _Stretch(number, self._corpus, self._cuts, self._reader, left)
            yield block
            if left is not None:
                left -= block.finish()

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(self._cuts.sizes)

    def fingerprint(self) -> str:
        """A checksum of the sizes of the files: who works on some blocks knows no more of the others."""
        return hashlib.sha256(repr(self._cuts.sizes).encode()).hexdigest()


class _Stretch:
    """A block of files."""

    def __init__(self, number: int, corpus: Corpus, cuts: Cuts, reader: Reader, most: int | None) -> None:
        self.number = number
        self._corpus, self._cuts, self._reader, self._most = corpus, cuts, reader, most
        self._batches: Batched | None = None

    @cached_property
    def _stretch(self) -> Stretch:
        return self._cuts.stretch(self.number)

    def _part(self, *, here: bool) -> Part:
        stretch = self._stretch
        place = f"bytes {stretch.cut.start + 1:,} to {stretch.cut.end:,}"
        return Part(self._corpus.stretch(stretch, here=here), stretch.open, place)

    @property
    def part(self) -> Part | None:
        """The part by which anybody can read the block, where inputs need not be counted."""
        return self._part(here=False) if self._most is None else None

    @property
    def open(self) -> Collection[int]:
        """The documents that, as the stretch says, have examples in other blocks as well."""
        return self._stretch.open

    @property
    def end(self) -> int:
        """The byte at which the block ends."""
        return self._cuts[self.number].end

    @property
    def read(self) -> Read:
        """What reading has told."""
        return Read() if self._batches is None else self._batches.read

    def __iter__(self) -> Iterator[list[Example]]:
        self._batches = Batched(self._part(here=True), self._reader, self._most)
        return iter(self._batches)

    def digest(self) -> str:
        """A checksum of the block's bytes."""
        return fingerprint(self._stretch)

    def finish(self) -> int:
        """Read it, where nobody has; how many inputs it has."""
        if self._batches is None:
            for _ in self:
                pass
        return self.read.inputs


class _InOrder:
    """The blocks of what is read in order."""

    def __init__(
        self,
        corpus: Corpus | Iterable[Example],
        reader: Reader,
        windows: int | None,
        limit: int | None,
        hashed: bool,
    ) -> None:
        self._corpus, self._reader = corpus, reader
        self._windows, self._limit, self._hashed = windows, limit, hashed
        self._digest = ""
        self.bytes = None

    def __iter__(self) -> Iterator[Block]:
        corpus, unit, weight = self._corpus, 1, _one
        if isinstance(corpus, Corpus) and corpus.pack is not None:
            unit, weight = BYTES, _bytes
        size = self._reader.size * unit
        stream = corpus.examples() if isinstance(corpus, Corpus) else checked(corpus)
        left = self._limit
        for run in runs(stream, size, None if self._windows is None else self._windows * size, weight):
            if left == 0:
                return
            block = _Run(run, corpus, self._reader, left, self._hashed)
            yield block
            inputs = block.finish()
            left = None if left is None else left - inputs
            if isinstance(corpus, Corpus):
                corpus.broken.clear()  # told by the block
            self._digest = hashlib.sha256((self._digest + block.digest()).encode()).hexdigest()

    def fingerprint(self) -> str:
        """A checksum of all blocks so far."""
        return self._digest


def _one(_: Example) -> int:
    return 1


def _bytes(example: Example) -> int:
    return len((example.text or "").encode())


class _Run:
    """A block of examples that are read in order."""

    part, end = None, None

    def __init__(
        self, run: Run, corpus: Corpus | Iterable[Example], reader: Reader, most: int | None, hashed: bool
    ) -> None:
        self.number, self.open = run.number, run.open
        self._corpus, self._most = corpus, most
        self._hash = hashlib.sha256() if hashed else None
        self._examples = self._seen(run.examples)
        given = corpus.part(partial(iter, self._examples)) if isinstance(corpus, Corpus) else self._examples
        self._batches = Batched(Part(given, run.open), reader, most)
        self._begun = False

    def _seen(self, examples: Iterable[Example]) -> Iterator[Example]:
        for example in examples:
            if self._hash is not None:
                for part in content(example):
                    self._hash.update(len(part).to_bytes(8, "little"))
                    self._hash.update(part)
            yield example

    @property
    def read(self) -> Read:
        """What reading has told; first what the corpus left out on the way."""
        read = self._batches.read
        return left_out_of(self._corpus).then(read) if isinstance(self._corpus, Corpus) else read

    def __iter__(self) -> Iterator[list[Example]]:
        self._begun = True
        return iter(self._batches)

    def digest(self) -> str:
        """A checksum of the examples; those that nobody has read are passed over."""
        self.finish()
        return "" if self._hash is None else f"{self._hash.hexdigest()} {sorted(self.open)}"

    def finish(self) -> int:
        """Pass over what nobody has read, or read it where inputs are counted; how many it has."""
        if not self._begun and self._most is not None:
            for _ in self:
                pass
        for _ in self._examples:
            pass
        return self._batches.read.inputs
