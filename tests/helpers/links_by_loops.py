"""What heads choose, from whole maps by plain loops: the reference of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headscope.core.arrays import Floats
from headscope.core.link import Link, Span
from headscope.core.tokens import Tokens

Units = list[list[int]]


def words(tokens: Tokens, side: int | None = None) -> Units:
    """The tokens of each word of a text."""
    groups: dict[int, list[int]] = {}
    for place, word in enumerate(tokens.word_ids.tolist()):
        own = side is None or (tokens.sequence_ids is not None and tokens.sequence_ids[place] == side)
        if word >= 0 and own:
            groups.setdefault(word, []).append(place)
    return [groups[word] for word in sorted(groups)]


@dataclass
class Figures:
    """Of one head and one link: whether its choice is right, and the other figures."""

    right: bool
    mass: float
    rank: float
    precision: float


def figures(
    maps: Floats, source: list[int], targets: list[bool], candidates: Units, *, column: bool = False
) -> list[list[Figures]]:
    """Of each layer and head ``[layer head query key]``, where a source of tokens chooses among units."""
    return [
        [_head(head.T if column else head, source, targets, candidates, column) for head in layer]
        for layer in maps
    ]


def _head(
    weights: Floats, source: list[int], targets: list[bool], candidates: Units, column: bool
) -> Figures:
    """`weights` are from sources to candidates; of a column its rows are keys."""
    if column:  # the source is the key: it gets the sum; a candidate, a query, gives the mean
        given = [float(np.mean([weights[np.ix_(source, [q])].sum() for q in unit])) for unit in candidates]
    else:
        given = [float(np.mean([weights[q, unit].sum() for q in source])) for unit in candidates]
    order = np.array(given)
    mass = sum(value for value, right in zip(given, targets, strict=True) if right)
    ranks = [
        1 + float((order > value).sum()) + (float((order == value).sum()) - 1) / 2
        for value, right in zip(given, targets, strict=True)
        if right
    ]
    if not ranks:
        return Figures(False, mass, len(given) + 1, 0.0)
    own = sorted(ranks)
    precision = float(np.mean([(place + 1) / rank for place, rank in enumerate(own)]))
    chosen = int(order.argmax())
    return Figures(targets[chosen] and order[chosen] > 0, mass, own[0], precision)


def averages(each: Sequence[list[list[Figures]]], name: str) -> Floats:
    """The mean of a figure over links, ``[layer head]``."""
    return np.mean([[[getattr(head, name) for head in layer] for layer in one] for one in each], 0)


def spread(span: Span, units: Units) -> list[int]:
    """The tokens of some units."""
    return [token for unit in units[span.start : span.end] for token in unit]


def inside(unit: list[int], tokens: Any) -> bool:
    """Whether a unit is within some tokens."""
    return set(unit) <= set(tokens)


def one(link: Link, units: Units) -> tuple[list[int], list[bool], Units]:
    """Of a link within one text: the source's tokens, which candidates are right, and the candidates."""
    source = spread(link.source, units)
    right = [token for span in link.targets for token in spread(span, units)]
    candidates = [unit for unit in units if not set(unit) & set(source)]
    return source, [inside(unit, right) for unit in candidates], candidates
