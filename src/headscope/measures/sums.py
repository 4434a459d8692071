"""Sums over a corpus that merge: memory is constant, and parts add up to the whole.

For each measure, layer and head a document d gives a sum S_d and a count N_d. The figure is R = ΣS / ΣN, and
its standard error is that of a ratio, clustered by document: sqrt(D / (D − 1) · Σ(S_d − R·N_d)²) / ΣN over D
documents. Both follow from six sums over documents, all float64.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from headscope.errors import InputError
from headscope.tokens import Tokens

Floats = npt.NDArray[np.float64]
By = Literal["token", "document", "segment"]


@dataclass(frozen=True, eq=False)
class Sums:
    """What is known of a corpus, or of a part of one. ``a + b`` is what is known of both.

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

    def __add__(self, other: Sums) -> Sums:
        for name in ("measures", "layers"):
            if getattr(self, name) != getattr(other, name):
                found = f"{getattr(self, name)} and {getattr(other, name)}"
                raise InputError(f"sums: expected the same {name} in both parts, found {found}")
        if self.s.shape != other.s.shape:
            raise InputError(
                f"sums: expected as many heads in both parts, found {self.s.shape} and {other.s.shape}"
            )
        arrays = {name: getattr(self, name) + getattr(other, name) for name in _ARRAYS}
        return Sums(self.measures, self.layers, **arrays, counts=Counter({**self.counts}) + other.counts)

    def value(self) -> Floats:
        """The figures, ``[measure layer head]``; NaN where no row counts."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.s / self.n[:, None, None]

    def error(self) -> Floats:
        """Their standard errors, ``[measure layer head]``; NaN with fewer than two documents."""
        n, nn, count = (array[:, None, None] for array in (self.n, self.nn, self.documents))
        with np.errstate(invalid="ignore", divide="ignore"):
            value = self.s / n
            squares = np.maximum(self.ss - 2 * value * self.sn + value**2 * nn, 0.0)
            return np.where(count > 1, np.sqrt(count / (count - 1) * squares) / n, np.nan)

    def by_chance(self) -> Floats:
        """What uniform attention over the visible keys gives in the same rows, ``[measure layer]``."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.chance / self.n[:, None]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as arrays, for a file."""
        return {
            "measures": np.array(self.measures),
            "layers": np.array(self.layers, np.int64),
            **{name: getattr(self, name) for name in _ARRAYS},
            "counted": np.array(list(self.counts), np.str_),
            "counts": np.array(list(self.counts.values()), np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Sums:
        """What `to_arrays` gave."""
        missing = {"measures", "layers", *_ARRAYS, "counted", "counts"} - set(arrays)
        if missing:
            raise InputError(
                f"sums: expected the arrays {', '.join(sorted(missing))}, found {', '.join(arrays)}"
            )
        return cls(
            tuple(map(str, arrays["measures"])),
            tuple(map(int, arrays["layers"])),
            **{name: np.asarray(arrays[name], np.float64) for name in _ARRAYS},
            counts=Counter(dict(zip(map(str, arrays["counted"]), map(int, arrays["counts"]), strict=True))),
        )


_ARRAYS = ("s", "ss", "sn", "chance", "n", "nn", "documents")


class Documents:
    """Gathers the inputs of whole documents, in any order, and closes to `Sums`.

    Args:
        measures: names.
        by: what a figure is a mean over: rows (``token``), documents' means (``document``), or inputs' means
            (``segment``, as the released code of Clark et al. 2019 does).
    """

    def __init__(self, measures: Sequence[str], by: By = "token") -> None:
        self._measures, self._by = tuple(measures), by
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

    def close(self) -> Sums:
        """The sums over all documents, in order of their numbers. Raises `InputError` when there are none."""
        if self._layers is None:
            raise InputError("corpus: expected at least one input, found none")
        total: list[Floats] | None = None
        for document in sorted(self._found):
            s, chance, n = self._found[document]
            if self._by == "document":
                s, chance, n = _means(s, chance, n)
            wide = n[:, None, None]
            own = [s, s * s, s * wide, chance, n, n * n, (n > 0).astype(np.float64)]
            total = own if total is None else [a + b for a, b in zip(total, own, strict=True)]
        assert total is not None
        counts = self._counts + Counter(documents=len(self._found))
        return Sums(self._measures, self._layers, **dict(zip(_ARRAYS, total, strict=True)), counts=counts)


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
