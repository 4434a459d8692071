"""The section of the atlas: every head a point, by any two figures of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope.analyses.cards.section import cards
from headscope.analyses.distance import arrangement
from headscope.analyses.distance.run import distances
from headscope.analyses.roles.section import known_roles
from headscope.analyses.roles.statistics import roles_of
from headscope.analyses.study import Study
from headscope.core.arrays import Floats, Ints
from headscope.core.heads import Head
from headscope.errors import FewError
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.highlights import sinks
from headscope.views.inputs import Included, Input, word_labels
from headscope.views.payload import ArrayRef, SectionInfo
from headscope.views.section import Ready, Section, rounded

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
        left_out |= maps.key.special
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


PLANE_BYTES = 900_000
"""Up to how many bytes the planes take before they are packed: a token takes six of each head."""


class PlaneToken(TypedDict):
    """A token on the planes: its piece, and where it stands: the example and its place there."""

    piece: str
    example: int
    place: int


class PlanesInfo(TypedDict):
    """Queries and keys of every head on a plane of its own, in bytes.

    `query` and `key` are ``[head token 2]``: 0 to 255 over the square that holds both. `looks` is ``[head token]``, the
    token that a query looks at most, and `weight` the weight on it; it is itself with the weight 0 where there is none.
    `share` is what each plane shows of the variance.
    """

    tokens: list[PlaneToken]
    query: ArrayRef
    key: ArrayRef
    looks: ArrayRef
    weight: ArrayRef
    share: list[float | None]


class AtlasSection(SectionInfo):
    """Every head a point by any two figures of the page.

    `layer`, `head`, `roles` and `places` (x and y on the map by distances; None where there is none) are of the heads
    in their order.
    """

    kind: Literal["atlas"]
    layer: list[int]
    head: list[int]
    roles: list[list[str]]
    places: list[list[float | None]] | None
    planes: PlanesInfo | None
    notes: list[str]
    command: str | None


@dataclass(frozen=True)
class Atlas(Section):
    """A plane on which every head is a point.

    Attributes:
        heads: in their order.
        roles: of each head that has some.
        distances: the distances of heads; None where they could not be taken.
        planes: queries and keys; None without examples.
        command: what gives the same.
    """

    heads: Sequence[Head]
    roles: Mapping[Head, Sequence[str]]
    distances: xr.Dataset | None
    planes: Planes | None
    command: str | None = None

    def info(self, blobs: Blobs) -> AtlasSection:
        """The points, and the planes of their queries and keys."""
        notes = [
            "Choose what the axes and the colour are. Heads that are marked by a drag stay marked on other axes. The "
            "filter takes names of heads and comparisons: L5 entropy<1."
        ]
        places = None
        if self.distances is not None:
            table: Any = arrangement.head_map(self.distances)
            of = {Head.at(row): [rounded(row.x), rounded(row.y)] for row in table.itertuples()}
            places = [of.get(head, [None, None]) for head in self.heads]
            notes.append(
                "The map by distances is that of figure 6 of Clark et al. 2019: heads that attend alike lie together."
            )
        if self.planes is not None:
            notes.append(
                "Queries and keys are as they meet, with what the model adds for positions, each around its own mean "
                "and scaled to the same spread, on their two first common principal components (after Yeh et al. "
                "2023). Special tokens and sinks are left out."
            )
        return AtlasSection(
            kind="atlas",
            title="Atlas of heads",
            about=f"Each point is one of {len(self.heads)} heads, by what it does. Choose one to open it; drag over "
            "some to mark them.",
            layer=[head.layer for head in self.heads],
            head=[head.head for head in self.heads],
            roles=[list(self.roles.get(head, ())) for head in self.heads],
            places=places,
            planes=None if self.planes is None else _planes(self.heads, self.planes, blobs),
            notes=notes,
            command=self.command,
        )


def section(study: Study) -> list[Section]:
    """The atlas of heads, and below it the card of the open one where the page has no section of cards."""
    surface = study.surface
    layers, columns = surface["layer"].values, surface["head"].values
    shown = surface[next(iter(surface.data_vars))]
    there = np.isfinite(shown.values) if shown.ndim == 2 else np.ones((len(layers), len(columns)), bool)
    heads = [Head(int(layers[i]), int(columns[j])) for i, j in np.argwhere(there)]
    try:
        result = distances(study)
    except FewError:
        result = None
    made = cards(study)
    most = min(POINTS, max(2, PLANE_BYTES // (6 * len(heads))))
    examples = [(place, one) for place, one in enumerate(study.inputs) if isinstance(one, Input)]
    command = study.typed and study.typed.section("atlas")
    atlas = Atlas(heads, roles_of(known_roles(study)), result, planes(examples, most), command)
    if made is None or "cards" in study.sections:
        return [atlas]
    return [atlas, Ready(blocks.section("card", "", "", [made.block(alone=True)]))]


def _planes(heads: Sequence[Head], drawn: Planes, blobs: Blobs) -> PlanesInfo:
    count = len(drawn.points)
    query, key = np.zeros((2, len(heads), count, 2))
    looks = np.tile(np.arange(count), (len(heads), 1))
    weight = np.zeros((len(heads), count))
    for row, head in enumerate(heads):
        if head not in drawn.planes:
            continue
        plane = drawn.planes[head]
        both = np.concatenate([plane.query, plane.key])
        low, side = both.min(0), max(float(np.ptp(both, axis=0).max()), 1e-12)
        low = low - (side - np.ptp(both, axis=0)) / 2
        query[row], key[row] = (np.rint(255 * (part - low) / side) for part in (plane.query, plane.key))
        looks[row] = np.where(drawn.key[head] < 0, np.arange(count), drawn.key[head])
        weight[row] = np.where(drawn.key[head] < 0, 0.0, drawn.weight[head])
    return PlanesInfo(
        tokens=[
            PlaneToken(piece=point.piece, example=point.example, place=point.place) for point in drawn.points
        ],
        query=blobs.plain(query, "uint8"),
        key=blobs.plain(key, "uint8"),
        looks=blobs.plain(looks, "uint8"),
        weight=blobs.weights(weight.clip(0, 1)),
        share=[rounded(drawn.planes[head].share) if head in drawn.planes else None for head in heads],
    )
