"""The section on how heads lie to one another: figure 6 of Clark et al. 2019."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from headscope.analyses.distance import arrangement
from headscope.analyses.distance.run import distance
from headscope.analyses.distance.statistics import heads
from headscope.analyses.roles.section import known_roles
from headscope.analyses.roles.statistics import leading
from headscope.analyses.study import Study
from headscope.core.heads import Head
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block, BlocksSection
from headscope.views.charts import map_of_heads
from headscope.views.reasons import because
from headscope.views.section import Section

ROWS = 64
"""How many patches of each picture, or frames of each sound, are compared: there are many, and heads in pairs."""

_NEAR = 3  # nearest heads that a point names


@dataclass(frozen=True)
class HeadPlane(Section):
    """Heads on a plane by their distances, coloured by layer and by role.

    Attributes:
        result: from `headscope.distance`.
        roles: the leading role of heads that have one.
        seed: of the map and of the test.
        command: what gives the same map.
        atlas: the page has the same map in its atlas, to be looked into.
    """

    result: xr.Dataset
    roles: Mapping[Head, str] = field(default_factory=dict[Head, str])
    seed: int = 0
    command: str | None = None
    atlas: bool = False

    def info(self, blobs: Blobs) -> BlocksSection:
        """The map, the distances of layers, and what the test says."""
        result, names = self.result, heads(self.result)
        places: Any = arrangement.head_map(result, seed=self.seed)
        places = places.round(5)
        distances = np.asarray(result["distance"].transpose("head_a", "head_b").values, np.float64)
        groups: Any = arrangement.clusters(result, min(8, len(names)))
        layers = arrangement.by_layer(result).rename("distance")
        units = str(result["distance"].attrs["units"])
        others = distances + np.diag(np.full(len(names), np.inf))
        order: Any = np.argsort(others, axis=1, kind="stable")[:, :_NEAR]
        note = (
            f"Distances are Jensen–Shannon divergences in {units}, from {int(result.attrs['n']):,} tokens, laid out by "
            f"metric multidimensional scaling (stress {float(places.attrs['stress']):.2f}; 0 would be a perfect map; "
            "Clark et al. 2019, §6, figure 6)."
        )
        roles = {head: self.roles[head] for head in names if head in self.roles}
        coloured = roles if 0 < len(set(roles.values())) <= arrangement.FUNCTIONS else None
        near: list[list[Head]] = [
            [names[place] for place in row if place != index] for index, row in enumerate(order)
        ]
        maps = blocks.charts(
            arrangement.figure(result, coloured, places=places).charts,
            reasons=[
                because(
                    f"attends most like {names[row[0]]}",
                    f"{distances[index, row[0]]:.3f} {units}",
                    measure="entropy",
                )
                for index, row in enumerate(order)
            ],
            tips=[
                "\n".join(filter(None, [roles.get(head), f"nearest: {', '.join(map(str, row))}"]))
                for head, row in zip(names, near, strict=True)
            ],
        )
        lines = [blocks.paragraph(line) for line in self.lines()]
        title = f"Mean distance of their heads, {units}"
        between = map_of_heads(
            layers, layers.values, float(np.nanmax(layers)), "", title, across="layer_b", down="layer_a"
        )
        rows = places.assign(role=[roles.get(head) for head in names], cluster=groups["cluster"].to_numpy())
        pairs = layers.to_dataframe().reset_index()
        return blocks.section(
            "clusters",
            "Heads that attend alike",
            f"Each point is one of {len(names)} heads; heads that attend alike lie together. "
            "Choose a point to see where the head looks.",
            [
                *([*lines, blocks.folded("On a map", maps)] if self.atlas else [maps, *lines]),
                blocks.folded("Layer by layer", blocks.charts([between])),
                blocks.table("heads", rows, [*rows.columns], (), title=""),
                blocks.table("layers", pairs, [*pairs.columns], (), title=""),
            ],
            [note],
            self.command,
        )

    def lines(self) -> list[str]:
        """What the permutation test and the order of the layers say, in sentences."""
        lines: list[str] = []
        counts: dict[int, int] = {}
        for head in heads(self.result):
            counts[head.layer] = counts.get(head.layer, 0) + 1
        if len(counts) > 1 and max(counts.values()) > 1:
            test = arrangement.same_layer(self.result, seed=self.seed)
            nearer = "are" if test.within < test.between else "are not"
            lines.append(
                f"Heads of one layer {nearer} nearer to each other ({test.within:.3f}) than to heads of other layers "
                f"({test.between:.3f}): p = {test.p:.2g}, one-sided, by {test.permutations:,} permutations of the "
                "heads over the layers."
            )
        if len(counts) > 2:
            ends = arrangement.first_and_last(self.result)
            lines.append(
                f"The first and the last layer are {ends.distance:.3f} apart, other pairs of layers {ends.others:.3f} "
                f"on average: rank {ends.rank} of {ends.pairs} from the nearest."
            )
        return lines


def findings(result: xr.Dataset) -> list[str | Block]:
    """How far the heads of two layers are apart, and what the tests say."""
    return [
        f"mean distance of the heads of two layers, {result['distance'].attrs['units']}",
        blocks.matrix(arrangement.by_layer(result)),
        *HeadPlane(result).lines(),
    ]


def distances(study: Study) -> xr.Dataset:
    """The distances of all heads over the corpus."""
    rows = None if study.corpus.kind == "text" else ROWS
    return study.once("distances", lambda: distance(study.model, study.corpus, rows=rows, **study.run))


def section(study: Study) -> list[Section]:
    """The map of heads by their distances."""
    drawn = () if study.corpus.kind == "text" else ("--rows", str(ROWS))
    command = study.command("distance", "--map", "map.csv", *drawn)
    return [HeadPlane(distances(study), leading(known_roles(study)), 0, command, "atlas" in study.sections)]
