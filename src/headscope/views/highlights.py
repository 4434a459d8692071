"""What is worth a first look: what each head does on an input, how two inputs differ, and the keys that are sinks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np

from headscope.core.arrays import AnyFloats, Bools, Floats, Ints
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens, is_space, strip_markers
from headscope.core.words import group
from headscope.measures.measure import mask
from headscope.views.blobs import in_bytes
from headscope.views.fold import reading, within
from headscope.views.images import areas
from headscope.views.inputs import Included
from headscope.views.payload import HighlightsInfo, PartInfo

SINK = 2.0
"""A sink receives at least this many times what even attention would give it."""

SMALL = 0.3
"""What a link of a small word counts, and others count 1."""

ACROSS = 1.25
"""What a link from one text of a pair to the other counts."""

_LITTLE = (
    "a an the this that to of in on at by for from with as into and or but nor so if than then because while when "
    "too very just also not no"
)
SMALL_WORDS = tuple(_LITTLE.split())
"""Words that say little by themselves."""

THIRDS, TENTHS = 3, 10
"""The parts of a picture, on each side, and of a sound."""

DIFFERENCE = ("difference", "difference", "share")
"""The name, title and units of `difference` as a measure of a head."""


def sinks(included: Included) -> Ints:
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


def likely(part: PartInfo) -> int:
    """The layer that a page most likely opens first: that of the head that stands out most."""
    does = part.get("highlights")
    if does is None:
        return part["index"][0]
    numbers = [number for number, heads in zip(part["index"], part["heads"], strict=True) for _ in heads]
    return numbers[int(np.argmax(does.get("moved", np.multiply(does["weight"], does["score"]))))]


def highlights(
    included: Included,
    columns: Mapping[str, AnyFloats],
    *,
    exact: bool,
    moved: Sequence[Floats] | None = None,
) -> HighlightsInfo:
    """What each shown head does on this input, in few figures: what a page opens with, and its first sentence.

    Of a text the link that stands out most (`links`), of a picture or a sound the part that does (`parts`). `columns`
    are the input's own measures ``[layer head]``, `moved` is `difference`; `exact`: weights travel as float32.
    """
    looks = links(included) if areas(included.maps.key) is None else parts(included)

    def measured(name: str) -> Floats:
        if name not in columns:
            return np.zeros(len(looks))
        rows = zip(columns[name], included.heads, strict=True)
        return np.concatenate([row[: len(heads)] for row, heads in rows]).astype(np.float64)

    even: list[Floats] = []
    for place, heads in zip(included.places, included.heads, strict=True):
        nats = np.log(np.maximum(included.maps.sight(place).sum(-1), 1)).mean(-1)
        even.append(nats[heads] if len(nats) > 1 else np.repeat(nats, len(heads)))
    evenness = np.exp(np.minimum(0.0, measured("entropy") - np.concatenate(even)))
    info = HighlightsInfo(
        query=[one.query for one in looks],
        key=[one.key for one in looks],
        weight=_short(one.weight if exact or one.query < 0 else in_bytes(one.weight) for one in looks),
        score=_short(one.score for one in looks),
        near=_short(np.fmax(measured("previous"), measured("next"))),
        evenness=_short(evenness),
    )
    if moved is not None:
        info["moved"] = _short(np.concatenate(moved).tolist())
    return info


def _short(figures: Iterable[float]) -> list[float]:
    """Figures to four decimals; −1 for none."""
    return [round(float(figure), 4) if figure == figure else -1.0 for figure in figures]


class HighlightLink(NamedTuple):
    """What a head looks at: from a query to a key by their places (−1: there is none), and how far it stands out.

    Of a picture or a sound `key` is the number of a part of it, and `query` −1: all queries.
    """

    query: int
    key: int
    weight: float
    score: float


def links(included: Included) -> list[HighlightLink]:
    """The link of each shown head that stands out most, between two words that say something.

    It stands out by what it is above: the mean that its key gets from other queries (a sink gets as much from all),
    and the mean weight at its distance (a head that looks two tokens back does so everywhere). What has no letter, a
    special token, a sink, a neighbour and another piece of the same word is nothing to look at; a small word counts
    `SMALL`, a link between two texts `ACROSS`.
    """
    maps = included.maps
    square = maps.kind != "cross" and len(maps.query) == len(maps.key)
    worth = _worth(maps.query)[:, None] * _worth(maps.key)
    worth[:, sinks(included)] = 0
    sequences = maps.query.sequence_ids, maps.key.sequence_ids
    if square:
        places = np.arange(len(maps.query))
        worth[np.abs(places[:, None] - places) <= 1] = 0
        if maps.query.word_ids is not None:
            word = group(maps.query)
            worth[word[:, None] == word] = 0
        if sequences[0] is not None and sequences[1] is not None:
            worth[sequences[0][:, None] != sequences[1]] *= ACROSS
    return [_link(weights, seen, worth, square) for weights, seen in included.weights()]


def _link(weights: AnyFloats, seen: Bools, worth: Floats, square: bool) -> HighlightLink:
    if not (seen & (worth > 0)).any():
        return HighlightLink(-1, -1, 0.0, 0.0)
    others = (weights.sum(0, dtype=np.float64) - weights) / np.maximum(seen.sum(0) - 1, 1)
    above = np.where(seen & (worth > 0), (weights - others) * worth, -np.inf)
    query, key = divmod(int(above.argmax()), above.shape[1])
    weight, score = float(weights[query, key]), float(above[query, key])
    along = np.diagonal(weights, key - query)
    if square and len(along) > 1:
        mean = (float(along.sum(dtype=np.float64)) - weight) / (len(along) - 1)
        score = min(score, (weight - mean) * float(worth[query, key]))
    return HighlightLink(query, key, weight, max(0.0, score))


def _worth(tokens: Tokens) -> Floats:
    words = [strip_markers(piece).casefold() for piece in tokens.pieces]
    letters = [any(map(str.isalnum, word)) for word in words]
    says = np.array(letters) & ~np.array([is_space(piece) for piece in tokens.pieces])
    small = [word in SMALL_WORDS or (len(word) == 1 and word.isascii()) for word in words]
    return np.where(mask(tokens, "special") | within(tokens), 0.0, says * np.where(small, SMALL, 1.0))


def parts(included: Included) -> list[HighlightLink]:
    """The part of the picture (a ninth) or of the sound (a tenth) on which each shown head stands out most.

    Its share is a mean over queries (of a text with a picture in it over those of the text), and stands out by what it
    is above that of even attention.
    """
    maps = included.maps
    text = reading(maps.query)
    rows = slice(None) if text is None else text
    member = np.eye(1 + max(THIRDS**2, TENTHS))[part_of(maps.key)][:, :-1]
    standing: list[HighlightLink] = []
    for weights, sight in included.weights():
        seen = sight[rows]
        even = ((seen @ member) / np.maximum(seen.sum(-1, keepdims=True), 1)).mean(0)
        shares = weights[rows].mean(0, dtype=np.float64) @ member
        best = int((shares - even).argmax())
        standing.append(
            HighlightLink(-1, best, float(shares[best]), max(0.0, float(shares[best] - even[best])))
        )
    return standing


def part_of(keys: Tokens) -> Ints:
    """The ninth of the picture (row by row) or the tenth of the sound that each key lies in; −1 for none."""
    boxes = areas(keys)
    assert boxes is not None
    there = ~np.isnan(boxes[:, 0])
    number = np.full(len(keys), -1, np.int64)
    if keys.times is not None and keys.sound is not None:
        middle = np.nan_to_num(keys.times.mean(-1), nan=np.inf) / keys.sound.seconds
        heard = there & (middle < 1)
        number[heard] = middle[heard] * TENTHS
        return number
    x, y = (boxes[:, side::2].mean(-1) for side in (0, 1))
    low, high = boxes[there, :2].min(0, initial=np.inf), boxes[there, 2:].max(0, initial=-np.inf)
    column, row = (
        (at[there] - low[side]) / (high[side] - low[side]) * THIRDS for side, at in enumerate((x, y))
    )
    number[there] = row.astype(np.int64) * THIRDS + column.astype(np.int64)
    return number


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
                pair = (one.maps.layers[place][head], other.maps.layers[other.maps.index.index(layer)][head])
                score[at] = _moved(*pair, rows, columns)
        scores.append(score)
    return scores


def _moved(mine: AnyFloats, theirs: AnyFloats, rows: tuple[Ints, Ints], columns: tuple[Ints, Ints]) -> float:
    parts = [
        np.asarray(matrix[places], np.float64) for matrix, places in zip((mine, theirs), rows, strict=True)
    ]
    kept = [part[:, places] for part, places in zip(parts, columns, strict=True)]
    rest = [part.sum(-1) - some.sum(-1) for part, some in zip(parts, kept, strict=True)]
    return float((np.abs(kept[0] - kept[1]).sum(-1) + np.abs(rest[0] - rest[1])).mean() / 2)


def _counterparts(one: AttentionMaps, other: AttentionMaps) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
    rows = _aligned(one.query, other.query)
    return rows, rows if one.kind != "cross" else _aligned(one.key, other.key)


def _aligned(mine: Tokens, other: Tokens) -> tuple[Ints, Ints]:
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
