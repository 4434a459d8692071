"""Which documents of a corpus are the same: they are counted, as errors by document take each for further evidence.

A document is known by a hash of its inputs that adds up, so that blocks may be read anywhere. Of many documents those
with the smallest hashes are kept, which are a sample of all.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from heapq import nsmallest

from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora import Example
from headscope.corpora.example import feed, spelled_out

KEPT = 1 << 14
"""Of so many different documents the hashes are kept."""

_PRIME, _BASE = (1 << 61) - 1, 0x1D2C3B4A59687F01


@dataclass
class SeenDocuments:
    """The documents of some inputs that follow one another.

    Attributes:
        ended: how many have come to their end.
        times: how often each was there, by its hash, of those kept.
        ends: the first and the last, which may go on before and after: the hash, and how many inputs; one, or none.
        last: the number of the last.
    """

    ended: int = 0
    times: dict[int, int] = field(default_factory=dict[int, int])
    ends: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    last: int | None = None

    def add(self, example: Example) -> None:
        """The next input."""
        end = _hash(example), 1
        self._extend([end], joined=self.last == example.document)
        self.last = example.document

    def then(self, after: SeenDocuments, *, joined: bool) -> SeenDocuments:
        """Return these with those after them; `joined` where a document goes on."""
        both = replace(self, times=dict(self.times), ends=list(self.ends))
        for document, times in after.times.items():
            both.times[document] = both.times.get(document, 0) + times
        both.ended += after.ended
        both._extend(after.ends, joined=joined)
        if after.ends:
            both.last = after.last
        return both

    def _extend(self, ends: list[tuple[int, int]], *, joined: bool) -> None:
        if joined and self.ends and ends:
            (one, inputs), (other, more) = self.ends.pop(), ends[0]
            mixed = (one * pow(_BASE, more, _PRIME) + other) % _PRIME
            ends = [(mixed, inputs + more), *ends[1:]]
        every = [*self.ends, *ends]
        for document, _ in every[1:-1]:
            self.ended += 1
            self.times[document] = self.times.get(document, 0) + 1
        self.ends = every[:1] + every[1:][-1:]
        if len(self.times) > 2 * KEPT:
            self._prune()

    def _prune(self) -> None:
        self.times = {document: self.times[document] for document in nsmallest(KEPT, self.times)}

    def identical(self) -> tuple[int, int, bool]:
        """How many documents are the same as one before, of how many, and whether all of them are kept."""
        every = replace(self, times=dict(self.times), ends=[])
        for document, _ in self.ends:
            every.ended += 1
            every.times[document] = every.times.get(document, 0) + 1
        if len(every.times) > KEPT:
            every._prune()
        seen = sum(every.times.values())
        more = seen - len(every.times)
        return (
            (more if seen == every.ended else round(more / seen * every.ended)),
            every.ended,
            seen == every.ended,
        )

    def note(self, name: str) -> str:
        """How many documents of a corpus of this name are the same as one before; empty where none is."""
        same, of, exact = self.identical()
        if not same:
            return ""
        counted = f"{'' if exact else 'about '}{same:,} of {of:,} documents {'is' if same == 1 else 'are'}"
        return (
            f"{name}: {counted} the same as one before: errors and tests take each for further evidence "
            "(corpora.distinct, --distinct: take them once)"
        )

    def to_json(self) -> AnyDict:
        """All of it as JSON."""
        self._prune()
        return {"whole": self.ended, "times": list(self.times.items()), "ends": self.ends, "last": self.last}

    @classmethod
    def from_json(cls, given: AnyMapping | None) -> SeenDocuments:
        """What `to_json` gave; none of what an earlier release has kept."""
        if given is None:
            return cls()
        ends = [(document, inputs) for document, inputs in given["ends"]]
        return cls(given["whole"], dict(given["times"]), ends, given["last"])


def _hash(example: Example) -> int:
    hashed = blake2b(digest_size=8)
    feed(hashed, spelled_out(example))
    return int.from_bytes(hashed.digest(), "little") % _PRIME
