"""What is worth a first look: what each head does on an input, how two inputs differ, and the keys that are sinks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np

from headscope.core.arrays import AnyFloats, Floats, Ints
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens, is_space, strip_markers
from headscope.core.words import group, words
from headscope.measures.measure import mask
from headscope.views.fold import reading, within
from headscope.views.inputs import Included, word_labels
from headscope.views.payload import HighlightsInfo, PartInfo
from headscope.views.sheet import Sheet

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

LINKED = 0.3
"""A word looks at another where its weight there is so much above what that word gets from others."""

ROWS = 5
"""So many keys a query has to see before its row says how evenly a head looks."""

RELATED = 0.5
"""Two texts that have this part of their words in common are compared."""

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
    included: Included, columns: Mapping[str, AnyFloats], *, moved: Sequence[Floats] | None = None
) -> HighlightsInfo:
    """What each shown head does on this input, in few figures: what a page opens with, and its first sentence.

    Of a text the link that stands out most (`links`), of a picture or a sound the part that does (`parts`). `columns`
    are the input's own measures ``[layer head]``, `moved` is `difference`.
    """
    looks = links(included) if included.maps.key.places is None else parts(included)

    def measured(name: str) -> Floats:
        if name not in columns:
            return np.zeros(len(looks))
        rows = zip(columns[name], included.heads, strict=True)
        return np.concatenate([row[: len(heads)] for row, heads in rows]).astype(np.float64)

    info = HighlightsInfo(
        query=[one.query for one in looks],
        key=[one.key for one in looks],
        weight=_short(one.weight for one in looks),
        score=_short(one.score for one in looks),
        share=_short(one.share for one in looks),
        alike=_short(one.alike for one in looks),
        near=_short(np.fmax.reduce([measured(name) for name in ("previous", "next", "current")])),
        evenness=_short(_evenness(included, measured("entropy"))),
    )
    if moved is not None:
        info["moved"] = _short(np.concatenate(moved).tolist())
    return info


def _evenness(included: Included, entropy: Floats) -> Floats:
    """The part of the keys it sees on which even attention would be as spread out as each head's, whose mean entropies
    are given; over the rows that see `ROWS` keys (NaN: none does).
    """
    nats: list[Floats] = []
    for weights, sight in included.weights():
        seen = sight.sum(-1)
        many = seen >= ROWS
        some = ~many.all(0)
        left = np.where(many[:, some, None], 0, weights[:, some].astype(np.float64))
        of, left = entropy[: len(weights)], (left * np.log(np.where(left > 0, left, 1))).sum((1, 2))
        entropy, count = entropy[len(weights) :], many.sum(-1)
        even = np.log(np.where(many, seen, 1)).sum(-1)
        nats.append((of * seen.shape[1] + left - even) / np.where(count, count, np.nan))
    return np.exp(np.minimum(0.0, np.concatenate(nats)))


def _short(figures: Iterable[float]) -> list[float]:
    """Figures to six decimals; −1 for none."""
    return [round(float(figure), 6) if figure == figure else -1.0 for figure in figures]


class HighlightLink(NamedTuple):
    """What a head looks at: from a query to a key by their places (−1: there is none), and how far it stands out.

    Places are those of the first pieces of two words, `weight` is between the words. `share` is the part of the words
    that look at another so (`LINKED`), `alike` the part of these that look at the same word elsewhere. Of a picture
    or a sound `key` is the number of a part of it, and `query` −1: all queries.
    """

    query: int
    key: int
    weight: float
    score: float
    share: float = 0.0
    alike: float = 0.0


def links(included: Included) -> list[HighlightLink]:
    """The link of each shown head that stands out most, between two words that say something.

    It stands out by what it is above: the mean that its key gets from other queries (a sink gets as much from all),
    and the mean weight at its distance (a head that looks two words back does so everywhere). What has no letter, a
    special token, a sink and a neighbour is nothing to look at; a small word counts `SMALL`, a link between two texts
    `ACROSS`.
    """
    maps = included.maps
    mine = _axis(maps.query)
    first, query, called, says = mine
    start, key, other, worth = mine if maps.key is maps.query else _axis(maps.key)
    square = maps.kind != "cross" and len(query) == len(key)
    worth = says[:, None] * worth
    worth[:, np.searchsorted(start, sinks(included), "right") - 1] = 0
    if square:
        places = np.arange(len(query))
        worth[np.abs(places[:, None] - places) <= 1] = 0
        if query.sequence_ids is not None and key.sequence_ids is not None:
            worth[query.sequence_ids[:, None] != key.sequence_ids] *= ACROSS
    same = np.array(called)[:, None] == np.array(other)
    size = np.diff(first, append=len(maps.query))[:, None]
    hidden, factor = np.where(worth > 0, 0.0, -np.inf), np.where(worth > 0, worth, 1.0)
    more = [
        np.delete(np.arange(len(axis)), of).tolist() for axis, of in ((maps.query, first), (maps.key, start))
    ]
    best: list[HighlightLink] = []
    last = above = others = able = np.empty(0)
    for weights, seen in included.weights():
        if seen is not last:
            sight = np.logical_or.reduceat(np.logical_or.reduceat(seen, first, 1), start, 2)
            others = np.maximum(sight.sum(1, keepdims=True) - 1, 1)
            last, above = seen, np.where(sight, hidden, -np.inf)
            able = (above == 0).any(2).sum(1)
        to = _summed(_summed(weights.astype(np.float64), first, more[0], 1), start, more[1], 2) / size
        gain = to - (to.sum(1, keepdims=True) - to) / others + above
        most = gain.argmax(2)
        linked = np.take_along_axis(gain, most[..., None], 2)[..., 0] > LINKED
        alike = (linked & same[np.arange(len(same)), most]).sum(1) / np.maximum(linked.sum(1), 1)
        share = linked.sum(1) / np.maximum(able, 1)
        gain *= factor
        for head, at in enumerate(gain.reshape(len(to), -1).argmax(1).tolist()):
            row, column = divmod(at, len(start))
            weight, score = float(to[head, row, column]), float(gain[head, row, column])
            if score == -np.inf:
                best.append(HighlightLink(-1, -1, 0.0, 0.0))
                continue
            along = to[head].diagonal(column - row)
            if square and len(along) > 1:
                mean = (float(along.sum()) - weight) / (len(along) - 1)
                score = min(score, (weight - mean) * float(worth[row, column]))
            query, key = int(first[row]), int(start[column])
            best.append(
                HighlightLink(query, key, weight, max(0.0, score), float(share[head]), float(alike[head]))
            )
    return best


def _summed(weights: Floats, first: Ints, more: Sequence[int], axis: int) -> Floats:
    """The weights of each word's pieces added up: its first and, as few words have them, one by one the others."""
    sums = weights.take(first, axis)
    words, pieces = sums.swapaxes(0, axis), weights.swapaxes(0, axis)
    for piece in more:
        words[first.searchsorted(piece) - 1] += pieces[piece]
    return sums


def _words(tokens: Tokens) -> tuple[Ints, Tokens]:
    """Of each word its first piece, and the axis of words; pieces where nothing says which of them are a word."""
    if tokens.word_ids is None:
        return np.arange(len(tokens)), tokens
    return np.unique(group(tokens), return_index=True)[1], words(tokens)


def _bare(tokens: Tokens) -> list[str]:
    return [strip_markers(label).casefold() for label in word_labels(tokens)]


def _axis(tokens: Tokens) -> tuple[Ints, Tokens, list[str], Floats]:
    """The words of an axis as `_words` has them, their letters, and what a link of each counts."""
    first, tokens = _words(tokens)
    bare = _bare(tokens)
    letters = [any(map(str.isalnum, word)) for word in bare]
    says = np.array(letters) & ~np.array([is_space(piece) for piece in tokens.pieces])
    small = [word in SMALL_WORDS or (len(word) == 1 and word.isascii()) for word in bare]
    worth = np.where(mask(tokens, "special") | within(tokens), 0.0, says * np.where(small, SMALL, 1.0))
    return first, tokens, bare, worth


def parts(included: Included) -> list[HighlightLink]:
    """The part of the picture (a ninth) or of another medium (a tenth) on which each shown head stands out most; of
    several media the one.

    Its share is a mean over queries (of a text with a picture in it over those of the text), and stands out by what it
    is above that of even attention.
    """
    maps = included.maps
    text = reading(maps.query)
    rows = slice(None) if text is None else text
    part = part_of(maps.key)
    member = np.eye(1 + max(TENTHS, *part + 1))[part][:, :-1]
    standing: list[HighlightLink] = []
    for weights, sight in included.weights():
        seen = sight[:, rows]
        even = ((seen @ member) / np.maximum(seen.sum(-1, keepdims=True), 1)).mean(1)
        shares = weights[:, rows].mean(1, dtype=np.float64) @ member
        for share, above in zip(shares, shares - even, strict=True):
            best = int(above.argmax())
            standing.append(HighlightLink(-1, best, float(share[best]), max(0.0, float(above[best])), 1.0))
    return standing


def part_of(keys: Tokens) -> Ints:
    """The ninth of the picture (row by row) or the tenth of another medium that each key lies in; −1 for none.

    Of several media it is the number of the medium among them.
    """
    sheet = Sheet([keys])
    boxes = sheet.areas(keys)
    assert boxes is not None
    there = ~np.isnan(boxes[:, 0])
    media = np.unique(keys.medium[there])
    if len(media) > 1:
        return np.where(there, np.searchsorted(media, keys.medium), -1)
    number = np.full(len(keys), -1, np.int64)
    if keys.times is not None and keys.sound is not None:
        middle = np.nan_to_num(keys.times.mean(-1), nan=np.inf) / keys.sound.seconds
        heard = there & (middle < 1)
        number[heard] = middle[heard] * TENTHS
        return number
    if keys.picture is None:
        number[there] = (boxes[there, ::2].mean(-1) / sheet.size[0] * TENTHS).astype(np.int64)
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


def difference(one: Included, other: Included) -> list[Floats] | None:
    """How much each head of `one` looks elsewhere on the other input, ``[head]`` a layer; None where the texts have too
    little in common (`RELATED`), NaN of a head that has no counterpart or is switched off in one of them.

    The share of attention that moves: half the sum of the absolute differences of a row (total variation), a mean over
    rows. Rows and keys are compared with their counterparts: token by token where both inputs are as long, else what is
    equal or replaced one by one; keys without a counterpart count together.
    """
    bare = [
        [word for word, special in zip(_bare(axis), axis.special, strict=True) if not special]
        for _, axis in (_words(one.maps.query), _words(other.maps.query))
    ]
    if SequenceMatcher(None, *bare, autojunk=False).ratio() < RELATED:
        return None
    rows, columns = _counterparts(one.maps, other.maps)
    scores: list[Floats] = []
    for layer, place, heads in zip(one.index, one.places, one.heads, strict=True):
        score = np.full(len(heads), np.nan)
        theirs = other.of(layer)
        for at, head in enumerate(heads):
            if head in theirs and len(rows[0]):
                pair = (one.maps.layers[place][head], other.maps.layers[other.maps.index.index(layer)][head])
                score[at] = _moved(*pair, rows, columns) if all(map(np.any, pair)) else np.nan
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
