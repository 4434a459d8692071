"""The section of the atlas: every head a point, by any two figures of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np
import xarray as xr

from headscope.analyses.atlas.plane import POINTS, Planes, planes
from headscope.analyses.cards.section import CardInfo, cards
from headscope.analyses.distance import arrangement
from headscope.analyses.distance.section import distances
from headscope.analyses.roles.section import known_roles
from headscope.analyses.roles.statistics import roles_of
from headscope.analyses.study import Study
from headscope.core.heads import Head
from headscope.errors import FewError
from headscope.views.blobs import Blobs
from headscope.views.inputs import Input
from headscope.views.payload import ArrayRef, SectionInfo
from headscope.views.section import Section, rounded

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
    in their order. `cards` are there where the page has no section of cards.
    """

    kind: Literal["atlas"]
    layer: list[int]
    head: list[int]
    roles: list[list[str]]
    places: list[list[float | None]] | None
    planes: PlanesInfo | None
    cards: list[CardInfo]
    inputs: int
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
        cards: of each head, where the page has them nowhere else, and from how many inputs.
        command: what gives the same.
    """

    heads: Sequence[Head]
    roles: Mapping[Head, Sequence[str]]
    distances: xr.Dataset | None
    planes: Planes | None
    cards: Sequence[CardInfo] = ()
    inputs: int = 0
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
            of = {
                Head(int(row.layer), int(row.head)): [rounded(row.x), rounded(row.y)]
                for row in table.itertuples()
            }
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
            cards=list(self.cards),
            inputs=self.inputs,
            notes=notes,
            command=self.command,
        )


def section(study: Study) -> list[Section]:
    """The atlas of heads."""
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
    info = made.info(Blobs()) if made is not None and "cards" not in study.sections else None
    most = min(POINTS, max(2, PLANE_BYTES // (6 * len(heads))))
    examples = [(place, one) for place, one in enumerate(study.inputs) if isinstance(one, Input)]
    return [
        Atlas(
            heads,
            roles_of(known_roles(study)),
            result,
            planes(examples, most),
            info["cards"] if info else (),
            made.inputs if made else 0,
            study.typed and study.typed.section("atlas"),
        )
    ]


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
