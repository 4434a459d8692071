"""What reading some blocks of a corpus has told; it adds up in their order, whoever has read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from headscope.core.failures import KEPT
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora import Counts
from headscope.errors import CorpusError
from headscope.runs.identical import SeenDocuments

LISTED = 1_000
"""How many things of a kind are told by name; the rest are counted."""


class Told(NamedTuple):
    """Things of a kind that reading came upon: how many, and what is said of the first."""

    number: int = 0
    first: tuple[str, ...] = ()

    def then(self, after: Told) -> Told:
        """Return these with those after them."""
        return Told(self.number + after.number, (self.first + after.first)[:LISTED])


class Broken(NamedTuple):
    """An input that was left out: its file, its line, and why."""

    path: str
    line: int | None
    message: str


@dataclass(frozen=True)
class ReadBlocks:
    """What reading some blocks has told.

    Attributes:
        inputs: how many inputs there were.
        pieces: pieces of these, without special tokens.
        unknown: how many of these the tokenizer does not know.
        left_out: inputs that could not be used.
        broken: the first of these.
        counts: what the corpus has counted.
        notes: what else was found, by its kind.
        ends: the documents of the first and of the last input; None without inputs.
        documents: which documents are the same.
    """

    inputs: int = 0
    pieces: int = 0
    unknown: int = 0
    left_out: int = 0
    broken: tuple[Broken, ...] = ()
    counts: Counts = field(default_factory=Counts)
    notes: Mapping[str, Told] = field(default_factory=dict[str, Told])
    ends: tuple[int, int] | None = None
    documents: SeenDocuments = field(default_factory=SeenDocuments)

    def then(self, after: ReadBlocks) -> ReadBlocks:
        """Return these blocks with those after them."""
        ends, counts = self.ends or after.ends, self.counts + after.counts
        joined = False
        if self.ends is not None and after.ends is not None:
            ends = self.ends[0], after.ends[1]
            joined = self.ends[1] == after.ends[0]
            if joined:  # a document of both
                counts.documents -= min(1, counts.documents)
        return ReadBlocks(
            self.inputs + after.inputs,
            self.pieces + after.pieces,
            self.unknown + after.unknown,
            self.left_out + after.left_out,
            (self.broken + after.broken)[:KEPT],
            counts,
            {
                kind: self.notes.get(kind, Told()).then(after.notes.get(kind, Told()))
                for kind in dict.fromkeys([*self.notes, *after.notes])
            },
            ends,
            self.documents.then(after.documents, joined=joined),
        )

    @property
    def errors(self) -> Sequence[CorpusError]:
        """The first inputs that were left out, as errors."""
        return [CorpusError(*error) for error in self.broken]

    def to_json(self) -> AnyDict:
        """All of it as JSON."""
        return {**asdict(self), "documents": self.documents.to_json()}

    @classmethod
    def from_json(cls, given: AnyMapping) -> ReadBlocks:
        """What `to_json` gave."""
        return cls(
            given["inputs"],
            given["pieces"],
            given["unknown"],
            given["left_out"],
            tuple(Broken(*error) for error in given["broken"]),
            Counts(**given["counts"]),
            {kind: Told(number, tuple(first)) for kind, (number, first) in given["notes"].items()},
            None if given["ends"] is None else (given["ends"][0], given["ends"][1]),
            SeenDocuments.from_json(given.get("documents")),
        )
