"""Sums over a corpus that merge: memory is constant, and parts add up to the whole.

For each figure a document d gives a sum S_d and a count N_d. The figure is R = ΣS / ΣN, and its standard error is the
jackknife's over documents (`headscope.statistics.jackknife`): without document d the figure moves by
(S_d − R·N_d) / (ΣN − N_d). So it follows from six sums over documents, all float64 (`Ratios`), and from the largest
documents, which are kept (`APART`); of the others, each a small share of the corpus, the mean share stands for each.
A part of a corpus may begin and end in the midst of a document: what it knows of that one is kept apart until all of
it is there (`Open`).

`Sums` are the figures of measures in heads; `headscope.analyses.distance.statistics.PairSums` those of pairs of heads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar, cast

import numpy as np

from headscope.core.arrays import Arrays, Floats, quiet
from headscope.core.tokens import Tokens, is_space
from headscope.core.types import AnyDict
from headscope.errors import InputError
from headscope.statistics import jackknife

By = Literal["token", "document", "segment"]

APART = 32
"""How many of the largest documents are kept, as long as they take no more than `APART_BYTES`, and 8 in any case."""

APART_BYTES = 1 << 26

FOLDS = 64
"""Into how many parts documents fall, of whose sums is told how far the top of a list holds."""


ALIKE = 1e-8
"""A share of ΣS²: documents whose residuals have smaller squares have no skewness. Their third powers, below 1e-12 of
ΣS³, are differences of sums that float64 holds to 1e-16 each."""


class Open(NamedTuple):
    """A document that may go on in another part of the corpus.

    Attributes:
        document: its number.
        arrays: what is known of it so far: S, any further sums, and N.
    """

    document: int
    arrays: tuple[Floats, ...]


class Apart(NamedTuple):
    """One of the largest documents.

    Attributes:
        size: ΣN over all figures.
        document: its number.
        s, n: its S and N.
    """

    size: float
    document: int
    s: Floats
    n: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Ratios:
    """What is known of a corpus, or of a part of one. ``a + b`` is what is known of both, `b` being what follows `a`.

    Attributes:
        s: ΣS, with the axes of N and any further ones.
        ss: ΣS², like `s`.
        sn: ΣS·N, like `s`.
        n: ΣN.
        nn: ΣN², like `n`.
        documents: how many documents have rows that count, like `n`.
        counts: documents, examples, tokens and whatever else was counted.
        open: documents that may go on, in none of the sums above until another document is open, or until `closed`.
        apart: the largest of the documents that have ended, which are in the sums above as well.
    """

    s: Floats
    ss: Floats
    sn: Floats
    n: Floats
    nn: Floats
    documents: Floats
    counts: Counter[str] = field(default_factory=Counter[str])
    open: tuple[Open, ...] = ()
    apart: tuple[Apart, ...] = ()

    labels: ClassVar[tuple[str, ...]] = ()
    """Attributes that name the axes: the same in all parts."""
    more: ClassVar[tuple[str, ...]] = ()
    """Further attributes that are sums over documents, of further arrays."""
    cubes: ClassVar[tuple[str, ...]] = ()
    """Attributes that hold ΣS³, ΣS²N, ΣSN² and ΣN³, where skewness is asked for."""

    @classmethod
    def empty(cls, arrays: Sequence[Floats], **labels: Any) -> Self:
        """The sums of no document, for documents of such arrays."""
        s, *more, n = (
            np.full_like(array, -0.0) for array in arrays
        )  # -0.0 + x is x, the sign of zero included
        sums: AnyDict = {**dict.fromkeys(cls.cubes, s), **dict(zip(cls.more, more, strict=True))}
        sums |= {"s": s, "ss": s, "sn": s, "n": n, "nn": n, "documents": n}
        return cls(**labels, **sums)

    def weighed(self, arrays: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """The arrays of a document as they count."""
        return arrays

    def of_document(self, arrays: Sequence[Floats]) -> dict[str, Floats]:
        """What a document adds to each sum."""
        s, *more, n = arrays
        m = over(n, s)
        squares = {"ss": s * s, "sn": s * m, "nn": n * n, "documents": (n > 0).astype(np.float64)}
        cubes = zip(self.cubes, (s**3, s * s * m, s * m * m, m**3), strict=True) if self.cubes else ()
        return {"s": s, "n": n, **squares, **dict(cubes), **dict(zip(self.more, more, strict=True))}

    def __add__(self, other: Self) -> Self:
        for name in self.labels:
            if getattr(self, name) != getattr(other, name):
                raise InputError(
                    f"sums: expected the same {name} in both parts, found {_listed(getattr(self, name))} and "
                    f"{_listed(getattr(other, name))}"
                )
        if self.s.shape != other.s.shape:
            raise InputError(
                f"sums: expected as many heads in both parts, found {self.s.shape} and {other.s.shape}"
            )
        documents = list(self.open)
        for part in other.open:
            if documents and documents[-1].document == part.document:
                arrays = tuple(a + b for a, b in zip(documents[-1].arrays, part.arrays, strict=True))
                documents[-1] = Open(part.document, arrays)
            else:
                documents.append(part)
        known = self.with_documents(documents[:-1], documents[-1:])
        sums = {name: getattr(known, name) + getattr(other, name) for name in self.names()}
        apart = _largest(known.apart + other.apart)
        return replace(known, **sums, apart=apart, counts=Counter({**known.counts}) + other.counts)

    def closed(self) -> Self:
        """These sums, where no document goes on."""
        return self.with_documents(self.open, ())

    def with_documents(self, ended: Sequence[Open], rest: Sequence[Open]) -> Self:
        """These sums with documents that have ended, and those that may go on."""
        sums = {name: getattr(self, name) for name in self.names()}
        apart = self.apart
        for part in ended:
            arrays = self.weighed(part.arrays)
            sums = {name: sums[name] + array for name, array in self.of_document(arrays).items()}
            s, n = arrays[0], arrays[-1]
            apart = _largest((*apart, Apart(float(n.sum()), part.document, s, n)))
        counts = Counter({**self.counts}) + Counter(documents=len(ended))
        return replace(self, **sums, apart=apart, counts=counts, open=tuple(rest))

    def value(self) -> Floats:
        """The figures, like `s`; NaN where no row counts."""
        total = self.closed()
        with quiet():
            return total.s / over(total.n, total.s)

    def error(self) -> Floats:
        """Their jackknife errors, like `s`; NaN with fewer than two documents.

        Exact for up to `APART` documents. Of more, those that are not kept have less than 1 / `APART` of the corpus
        each, and are taken to have their mean share of it.
        """
        total = self.closed()
        n, nn, count = (over(array, total.s) for array in (total.n, total.nn, total.documents))
        known = np.zeros_like(total.s)
        first, second = np.zeros((2, 3, *total.s.shape))  # sums over documents, and of squares
        with quiet():
            value = total.s / n
            for part in total.apart:  # one at a time: of distances each has a figure for every pair of heads
                weight = over(part.n, total.s)
                residual = part.s - value * weight
                known += weight > 0
                for place, of in enumerate((weight, residual, residual / (n - weight))):
                    first[place] += of
                    second[place] += of**2
            squares = total.ss - 2 * value * total.sn + value**2 * nn - second[1]
            share = (nn - second[0]) / (n - first[0]) / n
            rest = np.where(count > known, n * (1 - share), np.inf)
            moved = first[2] - first[1] / rest
            square = second[2] + np.maximum(squares, 0.0) / rest**2
            variance = np.maximum(square - moved**2 / count, 0.0) * (count - 1) / count
            return np.where(count > 1, np.sqrt(variance), np.nan)

    def effective(self) -> Floats:
        """How many documents of equal size tell as much, with the axes of `n` (`headscope.statistics.jackknife`)."""
        total = self.closed()
        return jackknife.equal(total.n, total.nn)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays, for a file."""
        stored = {name: np.atleast_1d(np.array(getattr(self, name))) for name in self.labels}
        stored |= {name: getattr(self, name) for name in self.names()}
        stored["counted"] = np.array(list(self.counts), np.str_)
        stored["counts"] = np.array(list(self.counts.values()), np.int64)
        stored["open"] = np.array([part.document for part in self.open], np.int64)
        for place in range(2 + len(self.more)):
            stored[f"open_{place}"] = np.array([part.arrays[place] for part in self.open], np.float64)
        for name, values in zip(
            _APART, zip(*self.apart, strict=True) if self.apart else [()] * 4, strict=True
        ):
            stored[f"apart_{name}"] = np.array(values, np.int64 if name == "document" else np.float64)
        return stored

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """What `to_arrays` gave. Raises `InputError` for other arrays."""
        apart = [f"apart_{name}" for name in _APART]
        missing = {*cls.labels, *cls.names(), "counted", "counts", "open", *apart} - set(arrays)
        if missing:
            raise InputError(
                f"sums: expected the arrays {', '.join(sorted(missing))}, found {', '.join(arrays)}"
            )
        stored = [arrays[f"open_{place}"] for place in range(2 + len(cls.more))]
        sums = {name: np.asarray(arrays[name], np.float64) for name in cls.names()}
        return cls(
            **cls.named(arrays),
            **sums,
            counts=Counter(dict(zip(map(str, arrays["counted"]), map(int, arrays["counts"]), strict=True))),
            open=tuple(
                Open(int(document), tuple(np.asarray(array[place]) for array in stored))
                for place, document in enumerate(arrays["open"])
            ),
            apart=tuple(
                Apart(float(size), int(document), np.asarray(s, np.float64), np.asarray(n, np.float64))
                for size, document, s, n in zip(*(arrays[name] for name in apart), strict=True)
            ),
        )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The attributes that are sums over documents."""
        return (*_SUMS, *cls.cubes, *cls.more)

    @classmethod
    def named(cls, arrays: Arrays) -> AnyDict:
        """The labels from their arrays."""
        return {name: tuple(map(str, arrays[name])) for name in cls.labels}


_APART = ("size", "document", "s", "n")
_SUMS = ("s", "ss", "sn", "n", "nn", "documents")


def _largest(documents: tuple[Apart, ...]) -> tuple[Apart, ...]:
    """The largest documents, which are kept."""
    size = max(1, documents[0].s.nbytes + documents[0].n.nbytes) if documents else 1
    count = min(APART, max(8, APART_BYTES // size))
    return tuple(sorted(documents, key=lambda part: (-part.size, part.document))[:count])


def over(n: Floats, s: Floats) -> Floats:
    """N with the axes of S."""
    return n.reshape(n.shape + (1,) * (s.ndim - n.ndim))


def _listed(label: object) -> str:
    """A label in a message; of many names, their number and the last."""
    if isinstance(label, str):
        return label
    names = cast(Sequence[object], label)
    return f"{len(names)} to {names[-1]}" if len(names) > 8 else ", ".join(map(str, names))


R = TypeVar("R", bound=Ratios)


class Gathering(Generic[R]):
    """Gathers the inputs of documents, in any order, and closes to sums."""

    def __init__(self, kind: type[R], **labels: Any) -> None:
        self.labels = labels
        self._kind, self._counts = kind, Counter[str]()
        self._documents: dict[int, tuple[Floats, ...]] = {}

    def gather(self, document: int, arrays: tuple[Floats, ...], counts: Counter[str]) -> None:
        """Add one input of a document: S, any further sums, and N; and what is counted."""
        before = self._documents.get(document)
        if before is not None:
            arrays = tuple(a + b for a, b in zip(before, arrays, strict=True))
        self._documents[document] = arrays
        self._counts += counts

    def close(self, open: Collection[int] = ()) -> R:
        """The sums over all documents, in order of their numbers; those in `open` have inputs elsewhere as well.

        Raises `InputError` when there is no document.
        """
        documents = [Open(number, self._documents[number]) for number in sorted(self._documents)]
        if not documents:
            raise InputError("corpus: expected at least one input, found none")
        ended = [part for part in documents if part.document not in open]
        rest = [part for part in documents if part.document in open]
        empty = self._kind.empty(documents[0].arrays, counts=self._counts, **self.labels)
        return empty.with_documents(ended, rest)


@dataclass(frozen=True, eq=False, kw_only=True)
class Skewed(Ratios):
    """Sums that tell how skewed their figures are.

    Attributes:
        sss, ssn, snn, nnn: ΣS³, ΣS²N, ΣSN², ΣN³, like `s`.
    """

    sss: Floats
    ssn: Floats
    snn: Floats
    nnn: Floats

    cubes: ClassVar[tuple[str, ...]] = ("sss", "ssn", "snn", "nnn")

    def skewness(self) -> Floats:
        """Skewness of the figures, as `headscope.statistics.jackknife.skewness` has it, like `s`; 0 where documents are
        `ALIKE`."""
        total = self.closed()
        n, nn = (over(array, total.s) for array in (total.n, total.nn))
        with quiet():
            value = total.s / n
            squares = total.ss - 2 * value * total.sn + value**2 * nn
            cubes = total.sss - 3 * value * total.ssn + 3 * value**2 * total.snn - value**3 * total.nnn
            flat = squares <= ALIKE * total.ss
            return np.where(flat, 0.0, np.clip(cubes / np.maximum(squares, 0.0) ** 1.5, -1.0, 1.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class Sums(Skewed):
    """The sums of measures in heads: `s` is ``[measure layer head]``, NaN for heads that a layer does not have.

    So is `n`: windows hide other rows in other layers.

    Attributes:
        measures: names, the first axis.
        layers: the model's index of each layer, the second axis.
        chance: ΣS of uniform attention over the visible keys, like `s`.
        by: what a figure is a mean over.
        folds: S and N of parts of the documents ``[fold 2 measure layer head]``; no part where they are not asked for.

    Among `counts` are words, split_words, and the tokens of each class.
    """

    measures: tuple[str, ...]
    layers: tuple[int, ...]
    chance: Floats
    by: By = "token"
    folds: Floats

    labels = ("measures", "layers", "by")
    more = ("chance",)

    @classmethod
    def empty(cls, arrays: Sequence[Floats], *, folds: int = 0, **labels: Any) -> Self:
        """The sums of no document, for documents of such arrays, and of so many parts."""
        return super().empty(arrays, folds=np.full((folds, 2, *arrays[0].shape), -0.0), **labels)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The attributes that are sums over documents."""
        return (*super().names(), "folds")

    def __add__(self, other: Self) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        if len(self.folds) != len(other.folds):  # files of before have no parts
            self, other = (replace(sums, folds=sums.folds[:0]) for sums in (self, other))
        return super().__add__(other)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """What `to_arrays` gave, or did before there were parts. Raises `InputError` for other arrays."""
        none = np.zeros((0, 2, *np.shape(arrays.get("s", ()))))
        return super().from_arrays({"folds": none, **arrays})

    def with_documents(self, ended: Sequence[Open], rest: Sequence[Open]) -> Self:
        """These sums with documents that have ended, and those that may go on."""
        known, folds = super().with_documents(ended, rest), self.folds.copy()
        for part in ended if len(folds) else ():
            s, _, n = self.weighed(part.arrays)
            folds[part.document % len(folds)] += s, n
        return replace(known, folds=folds)

    def weighed(self, arrays: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """The arrays of a document as they count: its means, where documents count the same."""
        s, chance, n = arrays
        return _means(s, chance, n) if self.by == "document" else arrays

    def by_chance(self) -> Floats:
        """What uniform attention over the visible keys gives in the same rows, like `s`."""
        total = self.closed()
        with quiet():
            return total.chance / total.n

    @classmethod
    def named(cls, arrays: Arrays) -> AnyDict:
        """The labels from their arrays."""
        measures, layers = tuple(map(str, arrays["measures"])), tuple(map(int, arrays["layers"]))
        return {"measures": measures, "layers": layers, "by": cast(By, str(arrays["by"][0]))}


class Documents(Gathering[Sums]):
    """Gathers the inputs of documents, in any order, and closes to `Sums`.

    Args:
        measures: names.
        by: what a figure is a mean over: rows (``token``), documents' means (``document``), or inputs' means
            (``segment``, as the released code of Clark et al. 2019 does).
        folds: into how many parts documents fall (`Sums`).
    """

    def __init__(self, measures: Sequence[str], by: By = "token", folds: int = 0) -> None:
        super().__init__(Sums, measures=tuple(measures), by=by, folds=folds)

    def add(
        self,
        document: int,
        tokens: Tokens,
        layers: Sequence[int],
        sums: Floats,
        chance: Floats,
        divisors: Floats,
    ) -> None:
        """Add one input of a document.

        Args:
            document: its number.
            tokens: the input, to be counted.
            layers: the model's index of each layer.
            sums: sums over rows ``[measure layer head]``, NaN for heads that a layer does not have.
            chance: the same of uniform attention ``[measure layer head]``, or ``[measure layer]`` where heads agree.
            divisors: what makes means of them, like `chance`, or ``[measure]`` where layers agree, too; 0 where no
                row counts.
        """
        self.labels.setdefault("layers", tuple(layers))
        chance, divisors = (
            np.array(np.broadcast_to(over(array, sums), sums.shape)) for array in (chance, divisors)
        )
        if self.labels["by"] == "segment":
            sums, chance, divisors = _means(sums, chance, divisors)
        self.gather(document, (sums, chance, divisors), _counted(tokens))


def _means(sums: Floats, chance: Floats, divisors: Floats) -> tuple[Floats, Floats, Floats]:
    """Means in place of sums, each counting once; nothing where no row counts."""
    by = np.where(divisors > 0, divisors, 1.0)
    there = (divisors > 0).astype(np.float64)
    return sums / by * there, chance / by * there, there


def _counted(tokens: Tokens) -> Counter[str]:
    """One example, its tokens, those of each class, its words and the words of several pieces (spaces aside)."""
    counts = Counter(examples=1, tokens=len(tokens))
    for name in tokens.named:
        if name != "first":
            counts[f"class {name}"] = int(tokens.mask(name).sum())
    if tokens.word_ids is not None:
        inside = (tokens.word_ids >= 0) & ~np.array([is_space(piece) for piece in tokens.pieces], np.bool_)
        sequence = np.zeros(len(tokens)) if tokens.sequence_ids is None else tokens.sequence_ids
        words = np.stack([sequence[inside], tokens.word_ids[inside]])
        sizes = np.unique(words, axis=1, return_counts=True)[1]
        counts.update(words=len(sizes), split_words=int((sizes > 1).sum()))
    return counts
