"""What is worth a first look: the head that opens, how two inputs differ, and the keys that are sinks."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headscope.core.maps import AttentionMaps, FloatArray
from headscope.core.tokens import IntArray, Tokens
from headscope.measures.measure import mask
from headscope.views.inputs import Included

SINK = 2.0
"""A sink receives at least this many times what even attention would give it."""

NEIGHBOUR = 0.1
"""What a weight on the token itself or beside it counts in `peakedness`, and others count 1."""

DIFFERENCE = ("difference", "difference", "share")
"""The name, title and units of `difference` as a measure of a head."""

Floats = npt.NDArray[np.float64]


class Opening(NamedTuple):
    """Which layer opens where a state names none, and of each shown layer which head; the model's own indices."""

    layer: int
    heads: list[int]


def sinks(included: Included) -> IntArray:
    """The keys that are sinks: special tokens or the first one that, over all shown heads, take `SINK` even shares.

    An even share is what a key would receive from queries that look at all the keys they see alike.
    """
    maps = included.maps
    received, even = np.zeros((2, len(maps.key)))
    known: dict[int, Floats] = {}
    for place, heads, layer in zip(
        included.places, included.heads, included.cut(maps.layers, "weights"), strict=True
    ):
        kind = 0 if maps.visible is None else id(maps.visible[place])
        if kind not in known:
            sight = maps.sight(place)
            known[kind] = (sight / np.maximum(sight.sum(-1, keepdims=True), 1)).sum(1)
        shares = known[kind]
        received += layer.sum((0, 1), dtype=np.float64)
        even += shares[heads].sum(0) if len(shares) > 1 else len(heads) * shares[0]
    first = mask(maps.key, "first") | mask(maps.key, "special")
    return np.flatnonzero(first & (received >= (1 - 1e-6) * SINK * even) & (received > 0))


def peakedness(included: Included) -> list[Floats]:
    """How peaked the rows of each shown head are, ``[head]`` a layer: whether each looks at a key of its own.

    Of each row the largest weight in excess of what the key receives from all rows on average, a mean over rows: a
    sink, which all rows look at, has none. A weight on the token itself or on its neighbours counts a tenth, one on a
    special token nothing; rows of special tokens are left out.
    """
    maps = included.maps
    neighbours = maps.kind != "cross" and len(maps.query) == len(maps.key)
    queries = np.arange(len(maps.query))[:, None]
    near = np.abs(queries - np.arange(len(maps.key))) <= 1
    worth = np.where(near & neighbours, NEIGHBOUR, 1.0) * ~mask(maps.key, "special")
    if not worth.size:
        return [np.zeros(len(heads)) for heads in included.heads]
    rows = ~mask(maps.query, "special")
    rows = rows if rows.any() else ~rows
    peaks: list[Floats] = []
    for place, heads in zip(included.places, included.heads, strict=True):
        sight = maps.sight(place)
        scores = [
            _peaked(maps.layers[place][head], sight[head if len(sight) > 1 else 0], worth)[rows].mean()
            for head in heads
        ]
        peaks.append(np.array(scores))
    return peaks


def _peaked(weights: FloatArray, seen: npt.NDArray[np.bool_], worth: Floats) -> Floats:
    """The largest excess of each row over what the key receives on average from those that see it, ``[query]``."""
    received = weights.sum(0, dtype=np.float64) / np.maximum(seen.sum(0), 1)
    return np.where(seen, (weights - received) * worth, 0.0).max(-1, initial=-np.inf)


def opening(scores: Sequence[Floats], included: Included) -> Opening:
    """The heads of the highest scores; of equal ones (to four decimals) the first in the model's order."""
    rounded = [np.nan_to_num(np.round(score, 4), nan=-1.0) for score in scores]
    best = [int(score.argmax()) for score in rounded]
    layer = int(np.argmax([score[head] for score, head in zip(rounded, best, strict=True)]))
    heads = [numbers[head] for numbers, head in zip(included.heads, best, strict=True)]
    return Opening(included.index[layer], heads)


def changed(mine: Sequence[str], other: Sequence[str]) -> list[int]:
    """The places of pieces that have no equal counterpart in the other text."""
    blocks = SequenceMatcher(None, mine, other, autojunk=False).get_matching_blocks()
    kept = {block.a + step for block in blocks for step in range(block.size)}
    return [place for place in range(len(mine)) if place not in kept]


def difference(one: Included, other: Included) -> list[Floats]:
    """How much each head of `one` looks elsewhere on the other input, ``[head]`` a layer; NaN: it has no counterpart.

    The share of attention that moves: half the sum of the absolute differences of a row (total variation), a mean over
    rows. Rows and keys are compared with their counterparts: token by token where both inputs are as long, else what is
    equal or replaced one by one; keys without a counterpart count together.
    """
    rows, columns = _counterparts(one.maps, other.maps)
    scores: list[Floats] = []
    for layer, place, heads in zip(one.index, one.places, one.heads, strict=True):
        score = np.full(len(heads), np.nan)
        theirs = other.of(layer)
        for at, head in enumerate(heads):
            if head in theirs and len(rows[0]):
                pair = (
                    one.maps.layers[place][head],
                    other.maps.layers[other.maps.index.index(layer)][head],
                )
                score[at] = _moved(*pair, rows, columns)
        scores.append(score)
    return scores


def _moved(
    mine: FloatArray, theirs: FloatArray, rows: tuple[IntArray, IntArray], columns: tuple[IntArray, IntArray]
) -> float:
    parts = [
        np.asarray(matrix[places], np.float64) for matrix, places in zip((mine, theirs), rows, strict=True)
    ]
    kept = [part[:, places] for part, places in zip(parts, columns, strict=True)]
    rest = [part.sum(-1) - some.sum(-1) for part, some in zip(parts, kept, strict=True)]
    return float((np.abs(kept[0] - kept[1]).sum(-1) + np.abs(rest[0] - rest[1])).mean() / 2)


def _counterparts(
    one: AttentionMaps, other: AttentionMaps
) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
    rows = _aligned(one.query, other.query)
    return rows, rows if one.kind != "cross" else _aligned(one.key, other.key)


def _aligned(mine: Tokens, other: Tokens) -> tuple[IntArray, IntArray]:
    """Places of tokens that stand for each other."""
    if len(mine) == len(other):
        return np.arange(len(mine)), np.arange(len(other))
    matcher = SequenceMatcher(None, mine.pieces, other.pieces, autojunk=False)
    pairs = [
        (first, second)
        for _, a, b, c, d in matcher.get_opcodes()
        if b - a == d - c
        for first, second in zip(range(a, b), range(c, d), strict=True)
    ]
    places = np.array(pairs, np.int64).reshape(-1, 2)
    return places[:, 0], places[:, 1]
