"""Queries and keys of a head on one plane: what they have in common, seen from its first two components.

Source: Yeh et al. 2023, "AttentionViz: A Global View of Transformer Attention", sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headscope.core.arrays import Floats, Ints
from headscope.core.heads import Head
from headscope.views.highlights import sinks
from headscope.views.inputs import Included, Input, word_labels

POINTS = 256
"""At most so many tokens stand on a plane: it can still be read, and a token's place is a byte."""


class Point(NamedTuple):
    """A token on the planes: the example it is in, its place there, and what is written there, or its piece."""

    example: int
    place: int
    piece: str


class Plane(NamedTuple):
    """The queries and keys of one head.

    Attributes:
        query: ``[token 2]``.
        key: ``[token 2]``, on the same axes.
        share: of the variance of both, what the plane shows.
    """

    query: Floats
    key: Floats
    share: float


@dataclass(frozen=True)
class Planes:
    """The same tokens on the plane of every head.

    Attributes:
        points: the tokens.
        planes: of each head.
        key: the token that each one's query looks at most, of those on the plane, ``[token]``; -1 where it sees none.
        weight: and the weight on it, ``[token]``.
    """

    points: Sequence[Point]
    planes: dict[Head, Plane]
    key: dict[Head, Ints]
    weight: dict[Head, Floats]


def plane(query: npt.ArrayLike, key: npt.ArrayLike) -> Plane:
    """Queries ``[n d]`` and keys ``[m d]`` on their first two common principal components.

    Both are taken around their own means, since moving all keys alike changes no weight, and are scaled to the same
    spread, since queries times c and keys by c have the same scores. A pair whose query and key point the same way from
    the middle has a large score, as far as the plane shows it.
    """
    sides = [np.asarray(side, np.float64) for side in (query, key)]
    sides = [side - side.mean(0) for side in sides]
    spreads = [float(np.sqrt((side**2).sum(-1).mean())) for side in sides]
    sides = [side / spread if spread > 0 else side for side, spread in zip(sides, spreads, strict=True)]
    scale = float(np.sqrt(spreads[0] * spreads[1]))
    both = np.concatenate(sides)
    _, values, axes = np.linalg.svd(both, full_matrices=False)
    two = axes[:2]
    two = two * np.where(two[np.arange(len(two)), np.abs(two).argmax(1)] < 0, -1.0, 1.0)[:, None]
    shown = np.zeros((len(both), 2))
    shown[:, : len(two)] = both @ two.T * scale
    total = float((values**2).sum())
    share = float((values[:2] ** 2).sum() / total) if total > 0 else 1.0
    return Plane(shown[: len(sides[0])], shown[len(sides[0]) :], share)


def planes(examples: Iterable[tuple[int, Input]], most: int = POINTS) -> Planes | None:
    """The tokens of some examples on the plane of every head; None where no example has queries and keys.

    Special tokens are left out, and so are sinks (`headscope.views.highlights.sinks`): one key far from all others
    would take the first component for itself.

    Args:
        examples: with their places among those of the page; of each the first part is taken.
        most: so many tokens, of the first examples.
    """
    points: list[Point] = []
    kept: list[tuple[Input, Ints, int]] = []
    for number, example in examples:
        name, maps = example.part(), example.first
        if name not in example.neurons or len(maps.query) != len(maps.key) or len(points) >= most:
            continue
        left_out = np.zeros(len(maps.key), bool)
        left_out[sinks(Included(maps, None, None))] = True
        if maps.key.special_mask is not None:
            left_out |= maps.key.special_mask
        places = np.flatnonzero(~left_out)[: most - len(points)]
        if not len(places):
            continue
        kept.append((example, places, len(points)))
        written = word_labels(maps.key)
        points += [Point(number, int(place), written[place]) for place in places]
    if len(points) < 2:
        return None
    result = Planes(points, {}, {}, {})
    maps = kept[0][0].first
    for layer, index in enumerate(maps.index):
        for head in range(len(maps.layers[layer])):
            named = Head(index, head)
            vectors = [_vectors(example, layer, head, places) for example, places, _ in kept]
            query, key = (np.concatenate(side) for side in zip(*vectors, strict=True))
            result.planes[named] = plane(query, key)
            looks = [_looks(example, layer, head, places, first) for example, places, first in kept]
            result.key[named], result.weight[named] = (
                np.concatenate(side) for side in zip(*looks, strict=True)
            )
    return result


def _vectors(example: Input, layer: int, head: int, places: Ints) -> tuple[Floats, Floats]:
    neurons = example.neurons[example.part()]
    query, key = neurons.q[layer][head], neurons.k[layer][head // neurons.groups(layer)]
    return np.asarray(query, np.float64)[places], np.asarray(key, np.float64)[places]


def _looks(example: Input, layer: int, head: int, places: Ints, first: int) -> tuple[Ints, Floats]:
    """Find what each token looks at most, of those that stand on the plane, and the weight."""
    weights = np.asarray(example.first.layers[layer][head], np.float64)[np.ix_(places, places)]
    key = weights.argmax(-1)
    weight = weights[np.arange(len(places)), key]
    return np.where(weight > 0, first + key, -1), weight
