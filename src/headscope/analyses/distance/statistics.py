"""How far apart heads are: Jensen–Shannon divergences over a corpus (Clark et al. 2019, section 6).

The distance of two heads is the mean over tokens of JS(P, Q), where P and Q are what the token attends to in one
head and in the other, in nats: from 0 (the same in every row) to ln 2 (never a key in common). It averages over
tokens of the corpus; its standard error is that of a ratio, clustered by document, as in `headscope.measures.sums`.

Where paper and released code differ: the paper sums over tokens, and its README speaks of an average; the code sums
over the rows of all segments and mixes every row with uniform attention, P = 0.999 a + 0.001 / n. Here the figure is
a mean of exact weights; the preset ``clark2019`` gives the code's sums.

Worked example: two heads, one row over two keys, P = (1, 0) and Q = (1/2, 1/2). M = (3/4, 1/4), so
JS = H(M) − (H(P) + H(Q)) / 2 = 0.5623 − (0 + 0.6931) / 2 = 0.2158 nats.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.errors import InputError
from headscope.heads import Head
from headscope.measures.sums import Open, followed, open_arrays, open_documents
from headscope.measures.surface import Preset

Floats = npt.NDArray[np.float64]

COLUMNS = ("layer_a", "head_a", "layer_b", "head_b", "value", "se", "n")
"""Columns of the tidy table: all ordered pairs of heads, each head with itself as well."""

SMOOTHING: Mapping[Preset | None, float] = {None: 0.0, "clark2019": 0.001}
"""How much uniform attention is mixed into every row."""

_ARRAYS = ("s", "ss", "sn", "n", "nn", "documents")
_OPEN = 2


@dataclass(frozen=True, eq=False)
class PairSums:
    """What is known of a corpus, or of a part of one, about all pairs of heads.

    ``a + b`` is what is known of both, `b` being what follows `a`.

    A document d gives S_d, its divergences summed over rows, and N_d rows. Where only some rows of an input were
    compared, both stand for all of its rows.

    Attributes:
        heads: in the order of the pairs.
        s: ΣS, ``[pair]``: head 0 with 1, 2, …, then head 1 with 2, …
        ss: ΣS², like `s`.
        sn: ΣS·N, like `s`.
        n: ΣN.
        nn: ΣN².
        documents: how many documents have rows that count.
        counts: documents, examples, tokens, and the rows that were compared.
        open: documents that may go on: their S ``[pair]`` and N, in none of the sums above until another document is
            open, or until `closed`.
    """

    heads: tuple[Head, ...]
    s: Floats
    ss: Floats
    sn: Floats
    n: Floats
    nn: Floats
    documents: Floats
    counts: Counter[str] = field(default_factory=Counter[str])
    open: tuple[Open, ...] = ()

    def __add__(self, other: PairSums) -> PairSums:
        if self.heads != other.heads:
            found = f"{len(self.heads)} heads to {self.heads[-1]} and {len(other.heads)} to {other.heads[-1]}"
            raise InputError(f"distances: expected the same heads in both parts, found {found}")
        documents = followed(self.open, other.open)
        known = self._with(documents[:-1], documents[-1:])
        arrays = {name: getattr(known, name) + getattr(other, name) for name in _ARRAYS}
        return replace(known, **arrays, counts=Counter({**known.counts}) + other.counts)

    def closed(self) -> PairSums:
        """The same, where no document goes on."""
        return self._with(self.open, ())

    def _with(self, ended: Sequence[Open], rest: Sequence[Open]) -> PairSums:
        """With documents that have ended, and those that may go on."""
        arrays = [getattr(self, name) for name in _ARRAYS]
        for each in ended:
            arrays = [a + b for a, b in zip(arrays, _document(each.arrays), strict=True)]
        counts = Counter({**self.counts}) + Counter(documents=len(ended))
        return replace(self, **dict(zip(_ARRAYS, arrays, strict=True)), counts=counts, open=tuple(rest))

    def value(self) -> Floats:
        """The distances in nats a token, ``[pair]``; NaN where no row counts."""
        own = self.closed()
        with np.errstate(invalid="ignore", divide="ignore"):
            return own.s / own.n

    def error(self) -> Floats:
        """Their standard errors, ``[pair]``; NaN with fewer than two documents."""
        own = self.closed()
        with np.errstate(invalid="ignore", divide="ignore"):
            value = own.s / own.n
            squares = np.maximum(own.ss - 2 * value * own.sn + value**2 * own.nn, 0.0)
            return np.where(
                own.documents > 1, np.sqrt(own.documents / (own.documents - 1) * squares) / own.n, np.nan
            )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as arrays, for a file."""
        return {
            "heads": np.array(self.heads, np.int64).reshape(-1, 2),
            **{name: getattr(self, name) for name in _ARRAYS},
            "counted": np.array(list(self.counts), np.str_),
            "counts": np.array(list(self.counts.values()), np.int64),
            **open_arrays(self.open, _OPEN),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> PairSums:
        """What `to_arrays` gave."""
        missing = {"heads", *_ARRAYS, "counted", "counts", "open"} - set(arrays)
        if missing:
            expected = ", ".join(sorted(missing))
            raise InputError(f"distances: expected the arrays {expected}, found {', '.join(arrays)}")
        return cls(
            tuple(Head(int(layer), int(head)) for layer, head in arrays["heads"]),
            **{name: np.asarray(arrays[name], np.float64) for name in _ARRAYS},
            counts=Counter(dict(zip(map(str, arrays["counted"]), map(int, arrays["counts"]), strict=True))),
            open=open_documents(arrays, _OPEN),
        )


def _document(arrays: tuple[Floats, ...]) -> list[Floats]:
    """What a document adds to each of `_ARRAYS`."""
    s, n = arrays
    return [s, s * s, s * n, n, n * n, (n > 0).astype(np.float64)]


class PairDocuments:
    """Gathers the inputs of documents, in any order, and closes to `PairSums`."""

    def __init__(self) -> None:
        self._heads: tuple[Head, ...] | None = None
        self._found: dict[int, tuple[Floats, Floats]] = {}
        self._counts: Counter[str] = Counter()

    def add(
        self, document: int, heads: Sequence[Head], sums: Floats, rows: int, compared: int, tokens: int
    ) -> None:
        """One input of a document.

        Args:
            document: its number.
            heads: of all layers, in order.
            sums: divergences summed over the rows that were compared, ``[head head]``.
            rows: how many rows of the input count.
            compared: how many of them were compared; what they give stands for all.
            tokens: of the input.
        """
        if self._heads is None:
            self._heads = tuple(heads)
        elif self._heads != tuple(heads):
            raise InputError(f"document {document}: expected {len(self._heads)} heads, found {len(heads)}")
        pairs = sums[np.triu_indices(len(heads), 1)] * (rows / compared if compared else 0.0)
        before = self._found.get(document, (np.zeros_like(pairs), np.zeros(())))
        self._found[document] = (before[0] + pairs, np.asarray(before[1] + rows))
        self._counts += Counter(examples=1, tokens=tokens, rows=compared)

    def close(self, open: Collection[int] = ()) -> PairSums:
        """The sums over all documents, in order of their numbers; those in `open` have inputs elsewhere as well.

        Raises `InputError` when there is no document.
        """
        if self._heads is None:
            raise InputError("corpus: expected at least one input, found none")
        total = _document((np.zeros(len(self._heads) * (len(self._heads) - 1) // 2), np.zeros(())))
        rest = [Open(document, self._found[document]) for document in sorted(self._found) if document in open]
        for document in sorted(self._found):
            if document not in open:
                own = _document(self._found[document])
                total = [np.asarray(a + b) for a, b in zip(total, own, strict=True)]
        counts = self._counts + Counter(documents=len(self._found) - len(rest))
        arrays = dict(zip(_ARRAYS, total, strict=True))
        return PairSums(self._heads, **arrays, counts=counts, open=tuple(rest))


def dataset(
    sums: PairSums, *, preset: Preset | None = None, meta: Mapping[str, Any] | None = None
) -> xr.Dataset:
    """Distances over ``(head_a, head_b)``: ``distance`` and its standard error ``distance_se``.

    Args:
        sums: over the corpus.
        preset: ``clark2019`` gives the sum over tokens, and the error of that sum.
        meta: what made them; the corpus' counts are added, and it is kept as JSON in ``attrs["meta"]``.

    Returns:
        A symmetric dataset. Its coordinates name the heads (``L7H9``) and hold ``layer_a``, ``layer_b`` and
        ``index_a``, ``index_b``, the head's number in its layer; ``attrs["n"]`` is how many rows were compared.

    Raises `InputError` when no row counts.
    """
    sums = sums.closed()
    if not sums.n > 0:
        raise InputError("distances: expected a token that sees more than itself, found none")
    scale = float(sums.n) if preset else 1.0
    count = len(sums.heads)
    place = np.triu_indices(count, 1)
    squares: list[Floats] = []
    for pairs in (sums.value() * scale, sums.error() * scale):
        square = np.zeros((count, count))
        square[place] = pairs
        squares.append(square + square.T)
    if not sums.documents > 1:
        squares[1][:] = np.nan
    attrs = {
        "title": "Jensen–Shannon divergence",
        "description": "of what a token attends to in one head and in the other",
        "units": "nats, summed over tokens" if preset else "nats a token",
        "by": "token",
        "over": "pieces",
        "source": "Clark et al. 2019, section 6",
        "smoothing": SMOOTHING[preset],
    }
    described = dict(meta or {})
    described["corpus"] = {**described.get("corpus", {}), **dict(sums.counts)}
    names = [str(head) for head in sums.heads]
    coords: dict[str, Any] = {}
    for side in "ab":
        coords[f"head_{side}"] = names
        coords[f"layer_{side}"] = (f"head_{side}", np.array([head.layer for head in sums.heads], np.int64))
        coords[f"index_{side}"] = (f"head_{side}", np.array([head.head for head in sums.heads], np.int64))
    axes = ("head_a", "head_b")
    return xr.Dataset(
        {"distance": (axes, squares[0], attrs), "distance_se": (axes, squares[1], {"units": attrs["units"]})},
        coords=coords,
        attrs={"n": sums.counts["rows"], "meta": json.dumps(described, ensure_ascii=False)},
    )


def heads(found: xr.Dataset) -> list[Head]:
    """The heads of a dataset of distances, in order."""
    pairs = zip(found["layer_a"].values, found["index_a"].values, strict=True)
    return [Head(int(layer), int(head)) for layer, head in pairs]


def table(found: xr.Dataset) -> pd.DataFrame:
    """One row a pair, with `COLUMNS`: every ordered pair, so that it pivots to the whole matrix."""
    found = found.transpose("head_a", "head_b")
    count = found.sizes["head_a"]
    a, b = (index.ravel() for index in np.indices((count, count)))
    return pd.DataFrame(
        {
            "layer_a": found["layer_a"].values[a],
            "head_a": found["index_a"].values[a],
            "layer_b": found["layer_b"].values[b],
            "head_b": found["index_b"].values[b],
            "value": found["distance"].values.ravel(),
            "se": found["distance_se"].values.ravel(),
            "n": int(found.attrs["n"]),
        }
    )
