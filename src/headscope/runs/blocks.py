"""The blocks of a corpus: cut on its examples, which are read once, in order; whoever works on a block tokenizes it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from headscope.corpora import Corpus, Example
from headscope.corpora.batches import Limits, batches, checked, runs
from headscope.corpora.corpus import CorpusFiles
from headscope.corpora.example import content, feed
from headscope.models import Model
from headscope.runs import batches as streams
from headscope.runs.checkpoint import SentBlock
from headscope.runs.identical import SeenDocuments
from headscope.runs.read import LISTED, Broken, ReadBlocks, Told

BYTES = 512
"""So many bytes of a text count as one input where its lines are packed."""

Inputs = Callable[[Corpus | Iterable[Example]], Iterable[Example]]
"""The inputs of a corpus or of a part of it, with their tokens."""


@dataclass(frozen=True)
class Encoded:
    """The examples of a corpus with their tokens.

    Attributes:
        model: whose tokens.
    """

    model: Model

    def __call__(self, given: Corpus | Iterable[Example]) -> Iterable[Example]:
        """The inputs of a corpus or a part of it; examples that are no corpus have their tokens."""
        return given.encoded(self.model) if isinstance(given, Corpus) else given


@dataclass(frozen=True)
class PartReader:
    """How a block of a corpus becomes batches.

    It can be sent to other processes, its models left out.

    Attributes:
        model: what reads.
        inputs: of a block.
        size: inputs of a window, in which they are sorted by length.
        limits: of a batch.
        notes: what was found of the inputs that were given last, by its kind.
    """

    model: Model
    inputs: Inputs
    size: int
    limits: Limits
    notes: Callable[[], Mapping[str, Sequence[str]]] = dict


def reader_for(
    model: Model,
    inputs: Inputs,
    notes: Callable[[], Mapping[str, Sequence[str]]],
    *,
    batch_size: int,
    size: int | None,
) -> PartReader:
    """How blocks of a corpus become batches of a model, of at most so many inputs."""
    limits = Limits(batch_size, streams.tokens_per_batch(batch_size, model), model.same_length)
    return PartReader(model, inputs, size or streams.BLOCK, limits, notes)


@dataclass
class _Held:
    """Examples that were read, and how many bytes of the corpus' files then; in this process these go along again."""

    examples: Sequence[Example]
    ends: Sequence[int]
    files: CorpusFiles | None

    def __call__(self) -> Iterator[Example]:
        for example, end in zip(self.examples, self.ends, strict=True):
            if self.files is not None:
                self.files.read = end
            yield example

    def __reduce__(self) -> tuple[object, ...]:
        return _Held, (self.examples, self.ends, None)


@dataclass
class CorpusBlock(SentBlock):
    """A block of a corpus, by which anybody can read it: its examples, without tokens where they are of a corpus.

    Attributes:
        given: the part of the corpus that it is.
        open: the documents that have examples in other blocks as well.
        left_out: what the corpus has left out on the way to it.
        end: how many bytes of the corpus' files were read then; None where there are none.
        most: so many inputs count.
        inputs: how many it has, where it was read here.
    """

    given: Corpus | Sequence[Example] = ()
    open: frozenset[int] = frozenset()
    left_out: ReadBlocks = field(default_factory=ReadBlocks)
    end: int | None = None
    most: int | None = None
    inputs: int | None = None


class Batched:
    """The batches of a block, to be read once; `open` are the documents that have inputs in other blocks as well."""

    def __init__(self, block: CorpusBlock, reader: PartReader) -> None:
        self.open = block.open
        self._block, self._reader = block, reader
        self._inputs = self._pieces = self._unknown = 0
        self._ends: tuple[int, int] | None = None
        self._documents = SeenDocuments()

    def __iter__(self) -> Iterator[list[Example]]:
        inputs = islice(self._reader.inputs(self._block.given), self._block.most)
        yield from batches(self._counted(inputs), self._reader.size, self._reader.limits)
        self._block.inputs = self._inputs

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
    def read(self) -> ReadBlocks:
        """What reading has told, when the batches have been read; first what the corpus left out on the way."""
        notes = {
            kind: Told(len(items), tuple(items[:LISTED])) for kind, items in self._reader.notes().items()
        }
        read = ReadBlocks(
            self._inputs, self._pieces, self._unknown, notes=notes, ends=self._ends, documents=self._documents
        )
        given = self._block.given
        if isinstance(given, Corpus):
            read = replace(read, counts=given.counts).then(_left_out(given))
        return self._block.left_out.then(read)


def _left_out(corpus: Corpus) -> ReadBlocks:
    """What a corpus has left out so far."""
    broken = tuple(Broken(error.path, error.line, error.message) for error in corpus.broken)
    return ReadBlocks(left_out=corpus.left_out, broken=broken)


class CorpusBlocks:
    """The blocks of a corpus, to be read once.

    Args:
        corpus: what is read.
        reader: how.
        windows: a block ends after about so many windows at the latest, though that may be in the midst of a document.
        limit: of inputs. To count them, blocks before are tokenized here, whoever works on them.
        hashed: whether digests will be asked for.
    """

    def __init__(
        self,
        corpus: Corpus | Iterable[Example],
        reader: PartReader,
        *,
        windows: int | None = None,
        limit: int | None = None,
        hashed: bool = True,
    ) -> None:
        self._corpus, self._reader = corpus, reader
        self._windows, self._left, self._hashed = windows, limit, hashed
        self._digest = ""

    def __iter__(self) -> Iterator[CorpusBlock]:
        corpus = self._corpus if isinstance(self._corpus, Corpus) else None
        packed = corpus is not None and corpus.pack is not None
        size = self._reader.size * (BYTES if packed else 1)
        longest = None if self._windows is None else self._windows * size
        stream = checked(self._corpus) if corpus is None else corpus.examples()
        for number, given, open_ in runs(stream, size, longest, _bytes if packed else lambda _: 1):
            if self._left == 0:
                return
            examples, ends = list[Example](), list[int]()
            for example in given:
                examples.append(example)
                ends.append(0 if corpus is None else corpus.bytes_read)
            block = CorpusBlock(number, [examples], given=examples, open=frozenset(open_), most=self._left)
            if corpus is not None:
                block.left_out = _left_out(corpus)
                corpus.broken.clear()  # told by the block
                block.end = None if corpus.size_hint() is None else corpus.bytes_read
                block.given = corpus.part(_Held(examples, ends, corpus.files))
            if self._hashed:
                block.digest = _digest(examples, block.open)
                self._digest = hashlib.sha256((self._digest + block.digest).encode()).hexdigest()
            yield block
            if self._left is not None:
                for _ in Batched(block, self._reader) if block.inputs is None else ():
                    pass
                self._left -= block.inputs or 0

    def fingerprint(self) -> str:
        """A checksum of all blocks so far: what those have in common who have worked on blocks of one corpus."""
        return self._digest


def _bytes(example: Example) -> int:
    return len((example.text or "").encode())


def _digest(examples: Iterable[Example], open_: Iterable[int]) -> str:
    """A checksum of examples."""
    hashed = hashlib.sha256()
    for example in examples:
        feed(hashed, content(example))
    return f"{hashed.hexdigest()} {sorted(open_)}"
