"""How far apart heads are: Jensen–Shannon divergences over a corpus (Clark et al. 2019, section 6).

The distance of two heads is the mean over tokens of JS(P, Q), where P and Q are what the token attends to in one
head and in the other, in nats: from 0 (the same in every row) to ln 2 (never a key in common). It averages over
tokens of the corpus; its standard error is that of a ratio, a jackknife by document, as in `headscope.measures.sums`.

Where paper and released code differ: the paper sums over tokens, and its README speaks of an average; the code sums
over the rows of all segments and mixes every row with uniform attention, P = 0.999 a + 0.001 / n. Here the figure is
a mean of exact weights; the preset ``clark2019`` gives the code's sums.

Worked example: two heads, one row over two keys, P = (1, 0) and Q = (1/2, 1/2). M = (3/4, 1/4), so
JS = H(M) − (H(P) + H(Q)) / 2 = 0.5623 − (0 + 0.6931) / 2 = 0.2158 nats.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import Arrays, Floats
from headscope.core.heads import Head
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError
from headscope.measures.sums import Gathering, Ratios
from headscope.measures.surface import Preset

COLUMNS = ("layer_a", "head_a", "layer_b", "head_b", "value", "se", "n")
"""Columns of the tidy table: all ordered pairs of heads, each head with itself as well."""

SMOOTHING: Mapping[Preset | None, float] = {None: 0.0, "clark2019": 0.001}
"""How much uniform attention is mixed into every row."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PairSums(Ratios):
    """The sums of all pairs of heads: `s` is ``[pair]``, head 0 with 1, 2, …, then head 1 with 2, …; `n` is one number.

    A document d gives S_d, its divergences summed over rows, and N_d rows. Where only some rows of an input were
    compared, both stand for all of its rows. Among `counts` are the rows that were compared.

    Attributes:
        heads: in the order of the pairs.
    """

    heads: tuple[Head, ...]

    labels = ("heads",)

    def __bool__(self) -> bool:
        """Whether any row counts."""
        return bool(self.closed().n > 0)

    @classmethod
    def named(cls, arrays: Arrays) -> AnyDict:
        """The heads from their array."""
        return {"heads": tuple(Head(int(layer), int(head)) for layer, head in arrays["heads"])}


class PairDocuments(Gathering[PairSums]):
    """Gathers the inputs of documents, in any order, and closes to `PairSums`."""

    def __init__(self) -> None:
        super().__init__(PairSums)

    def add(
        self, document: int, heads: Sequence[Head], sums: Floats, rows: int, compared: int, tokens: int
    ) -> None:
        """Add one input of a document.

        Args:
            document: its number.
            heads: of all layers, in order.
            sums: divergences summed over the rows that were compared, ``[head head]``.
            rows: how many rows of the input count.
            compared: how many of them were compared; what they give stands for all.
            tokens: of the input.
        """
        expected: tuple[Head, ...] = self.labels.setdefault("heads", tuple(heads))
        if expected != tuple(heads):
            raise InputError(f"document {document}: expected {len(expected)} heads, found {len(heads)}")
        pairs = sums[np.triu_indices(len(heads), 1)] * (rows / compared if compared else 0.0)
        counts = Counter(examples=1, tokens=tokens, rows=compared)
        self.gather(document, (pairs, np.array(float(rows))), counts)


def dataset(sums: PairSums, *, preset: Preset | None = None, meta: AnyMapping | None = None) -> xr.Dataset:
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
    squares = np.zeros((2, count, count))
    squares[:, *np.triu_indices(count, 1)] = sums.value() * scale, sums.error() * scale
    squares += squares.swapaxes(1, 2).copy()
    if not sums.documents > 1:
        squares[1] = np.nan
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
    coords: AnyDict = {}
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


def heads(distances: xr.Dataset) -> list[Head]:
    """The heads of a dataset of distances, in order."""
    pairs = zip(distances["layer_a"].values, distances["index_a"].values, strict=True)
    return [Head(int(layer), int(head)) for layer, head in pairs]


def table(distances: xr.Dataset) -> pd.DataFrame:
    """One row a pair, with `COLUMNS`: every ordered pair, so that it pivots to the whole matrix."""
    distances = distances.transpose("head_a", "head_b")
    count = distances.sizes["head_a"]
    a, b = (index.ravel() for index in np.indices((count, count)))
    return pd.DataFrame(
        {
            "layer_a": distances["layer_a"].values[a],
            "head_a": distances["index_a"].values[a],
            "layer_b": distances["layer_b"].values[b],
            "head_b": distances["index_b"].values[b],
            "value": distances["distance"].values.ravel(),
            "se": distances["distance_se"].values.ravel(),
            "n": int(distances.attrs["n"]),
        }
    )
