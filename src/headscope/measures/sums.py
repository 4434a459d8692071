"""Sums over a corpus that merge: memory is constant, and parts add up to the whole.

For each measure, layer and head a document d gives a sum S_d and a count N_d. The figure is R = ΣS / ΣN, and
its standard error is that of a ratio, clustered by document: sqrt(D / (D − 1) · Σ(S_d − R·N_d)²) / ΣN over D
documents. Both follow from six sums over documents, all float64. A part of a corpus may begin and end in the midst of a
document: what it knows of that one is kept apart until all of it is there (`Open`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from headscope.errors import InputError
from headscope.tokens import Tokens

Floats = npt.NDArray[np.float64]
By = Literal["token", "document", "segment"]


class Open(NamedTuple):
    """A document that may go on in another part of the corpus.

    Attributes:
        document: its number.
        arrays: what is known of it so far; adds up.
    """

    document: int
    arrays: tuple[Floats, ...]


def followed(before: Sequence[Open], after: Sequence[Open]) -> list[Open]:
    """The open documents of a part of the corpus and of one after it, in order; one that goes on is one."""
    found = list(before)
    for each in after:
        if found and found[-1].document == each.document:
            arrays = tuple(a + b for a, b in zip(found[-1].arrays, each.arrays, strict=True))
            found[-1] = Open(each.document, arrays)
        else:
            found.append(each)
    return found


def open_arrays(documents: Sequence[Open], count: int) -> dict[str, npt.NDArray[Any]]:
    """Open documents of `count` arrays each, for a file."""
    found: dict[str, npt.NDArray[Any]] = {"open": np.array([each.document for each in documents], np.int64)}
    for place in range(count):
        found[f"open_{place}"] = np.array([each.arrays[place] for each in documents], np.float64)
    return found


def open_documents(arrays: Mapping[str, npt.NDArray[Any]], count: int) -> tuple[Open, ...]:
    """What `open_arrays` gave."""
    return tuple(
        Open(int(document), tuple(np.asarray(arrays[f"open_{each}"][place]) for each in range(count)))
        for place, document in enumerate(arrays["open"])
    )


@dataclass(frozen=True, eq=False)
class Sums:
    """What is known of a corpus, or of a part of one. ``a + b`` is what is known of both, `b` being what follows `a`.

    Attributes:
        measures: names, the first axis.
        layers: the model's index of each layer, the second axis.
        s: ΣS, ``[measure layer head]``; NaN for heads that a layer does not have.
        ss: ΣS², like `s`.
        sn: ΣS·N, like `s`.
        chance: ΣS of uniform attention over the visible keys, ``[measure layer]``.
        n: ΣN, ``[measure]``.
        nn: ΣN², ``[measure]``.
        documents: how many documents have rows that count, ``[measure]``.
        counts: documents, examples, tokens, words, split_words, and the tokens of each class.
        by: what a figure is a mean over.
        open: documents that may go on: their S ``[measure layer head]``, chance ``[measure layer]`` and N
            ``[measure]``, in none of the sums above until another document is open, or until `closed`.
    """

    measures: tuple[str, ...]
    layers: tuple[int, ...]
    s: Floats
    ss: Floats
    sn: Floats
    chance: Floats
    n: Floats
    nn: Floats
    documents: Floats
    counts: Counter[str] = field(default_factory=Counter[str])
    by: By = "token"
    open: tuple[Open, ...] = ()

    def __add__(self, other: Sums) -> Sums:
        for name in ("measures", "layers", "by"):
            if getattr(self, name) != getattr(other, name):
                found = f"{getattr(self, name)} and {getattr(other, name)}"
                raise InputError(f"sums: expected the same {name} in both parts, found {found}")
        if self.s.shape != other.s.shape:
            raise InputError(
                f"sums: expected as many heads in both parts, found {self.s.shape} and {other.s.shape}"
            )
        documents = followed(self.open, other.open)
        known = self._with(documents[:-1], documents[-1:])
        arrays = {name: getattr(known, name) + getattr(other, name) for name in _ARRAYS}
        return replace(known, **arrays, counts=Counter({**known.counts}) + other.counts)

    def closed(self) -> Sums:
        """The same, where no document goes on."""
        return self._with(self.open, ())

    def _with(self, ended: Sequence[Open], rest: Sequence[Open]) -> Sums:
        """With documents that have ended, and those that may go on."""
        arrays = [getattr(self, name) for name in _ARRAYS]
        for each in ended:
            arrays = [a + b for a, b in zip(arrays, _document(each.arrays, self.by), strict=True)]
        counts = Counter({**self.counts}) + Counter(documents=len(ended))
        return replace(self, **dict(zip(_ARRAYS, arrays, strict=True)), counts=counts, open=tuple(rest))

    def value(self) -> Floats:
        """The figures, ``[measure layer head]``; NaN where no row counts."""
        own = self.closed()
        with np.errstate(invalid="ignore", divide="ignore"):
            return own.s / own.n[:, None, None]

    def error(self) -> Floats:
        """Their standard errors, ``[measure layer head]``; NaN with fewer than two documents."""
        own = self.closed()
        n, nn, count = (array[:, None, None] for array in (own.n, own.nn, own.documents))
        with np.errstate(invalid="ignore", divide="ignore"):
            value = own.s / n
            squares = np.maximum(own.ss - 2 * value * own.sn + value**2 * nn, 0.0)
            return np.where(count > 1, np.sqrt(count / (count - 1) * squares) / n, np.nan)

    def by_chance(self) -> Floats:
        """What uniform attention over the visible keys gives in the same rows, ``[measure layer]``."""
        own = self.closed()
        with np.errstate(invalid="ignore", divide="ignore"):
            return own.chance / own.n[:, None]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as arrays, for a file."""
        return {
            "measures": np.array(self.measures),
            "layers": np.array(self.layers, np.int64),
            **{name: getattr(self, name) for name in _ARRAYS},
            "counted": np.array(list(self.counts), np.str_),
            "counts": np.array(list(self.counts.values()), np.int64),
            "by": np.array([self.by]),
            **open_arrays(self.open, _OPEN),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Sums:
        """What `to_arrays` gave."""
        missing = {"measures", "layers", *_ARRAYS, "counted", "counts", "by", "open"} - set(arrays)
        if missing:
            raise InputError(
                f"sums: expected the arrays {', '.join(sorted(missing))}, found {', '.join(arrays)}"
            )
        return cls(
            tuple(map(str, arrays["measures"])),
            tuple(map(int, arrays["layers"])),
            **{name: np.asarray(arrays[name], np.float64) for name in _ARRAYS},
            counts=Counter(dict(zip(map(str, arrays["counted"]), map(int, arrays["counts"]), strict=True))),
            by=cast(By, str(arrays["by"][0])),
            open=open_documents(arrays, _OPEN),
        )


_ARRAYS = ("s", "ss", "sn", "chance", "n", "nn", "documents")
_OPEN = 3


def _document(arrays: tuple[Floats, ...], by: By) -> list[Floats]:
    """What a document adds to each of `_ARRAYS`."""
    s, chance, n = arrays
    if by == "document":
        s, chance, n = _means(s, chance, n)
    return [s, s * s, s * n[:, None, None], chance, n, n * n, (n > 0).astype(np.float64)]


class Documents:
    """Gathers the inputs of documents, in any order, and closes to `Sums`.

    Args:
        measures: names.
        by: what a figure is a mean over: rows (``token``), documents' means (``document``), or inputs' means
            (``segment``, as the released code of Clark et al. 2019 does).
    """

    def __init__(self, measures: Sequence[str], by: By = "token") -> None:
        self._measures = tuple(measures)
        self._by: By = by
        self._layers: tuple[int, ...] | None = None
        self._found: dict[int, tuple[Floats, Floats, Floats]] = {}
        self._counts: Counter[str] = Counter()

    def add(
        self,
        document: int,
        tokens: Tokens,
        layers: Sequence[int],
        sums: Floats,
        chance: Floats,
        divisors: Floats,
    ) -> None:
        """One input of a document.

        Args:
            document: its number.
            tokens: the input, to be counted.
            layers: the model's index of each layer.
            sums: sums over rows ``[measure layer head]``, NaN for heads that a layer does not have.
            chance: the same of uniform attention ``[measure layer]``.
            divisors: what makes means of them, ``[measure]``; 0 where no row counts.
        """
        if self._layers is None:
            self._layers = tuple(layers)
        if self._by == "segment":
            sums, chance, divisors = _means(sums, chance, divisors)
        before = self._found.get(document)
        if before is None:
            self._found[document] = (sums, chance, divisors)
        else:
            self._found[document] = (before[0] + sums, before[1] + chance, before[2] + divisors)
        self._counts += _counted(tokens)

    def close(self, open: Collection[int] = ()) -> Sums:
        """The sums over all documents, in order of their numbers; those in `open` have inputs elsewhere as well.

        Raises `InputError` when there is no document.
        """
        if self._layers is None:
            raise InputError("corpus: expected at least one input, found none")
        total: list[Floats] | None = None
        rest = [Open(document, self._found[document]) for document in sorted(self._found) if document in open]
        for document in sorted(self._found):
            if document in open:
                continue
            own = _document(self._found[document], self._by)
            total = own if total is None else [a + b for a, b in zip(total, own, strict=True)]
        if total is None:
            total = [np.zeros_like(array) for array in _document(rest[0].arrays, self._by)]
        counts = self._counts + Counter(documents=len(self._found) - len(rest))
        arrays = dict(zip(_ARRAYS, total, strict=True))
        return Sums(self._measures, self._layers, **arrays, counts=counts, by=self._by, open=tuple(rest))


def _means(sums: Floats, chance: Floats, divisors: Floats) -> tuple[Floats, Floats, Floats]:
    """Means in place of sums, each counting once; nothing where no row counts."""
    by = np.where(divisors > 0, divisors, 1.0)
    there = (divisors > 0).astype(np.float64)
    return sums / by[:, None, None] * there[:, None, None], chance / by[:, None] * there[:, None], there


def _counted(tokens: Tokens) -> Counter[str]:
    """One example, its tokens, those of each class, its words and the words of several pieces."""
    found = Counter(examples=1, tokens=len(tokens))
    for name, mask in tokens.classes.items():
        found[f"class {name}"] = int(mask.sum())
    if tokens.special_mask is not None:
        found["class special"] = int(tokens.special_mask.sum())
    if tokens.word_ids is not None:
        inside = tokens.word_ids >= 0
        sequence = np.zeros(len(tokens)) if tokens.sequence_ids is None else tokens.sequence_ids
        words = np.stack([sequence[inside], tokens.word_ids[inside]])
        sizes = np.unique(words, axis=1, return_counts=True)[1]
        found.update(words=len(sizes), split_words=int((sizes > 1).sum()))
    return found
