"""The section on where attention goes: by distance from the token that looks, and by position in the input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope.analyses.measure.run import measure
from headscope.analyses.study import Study
from headscope.core.arrays import Floats
from headscope.core.types import AnyDict
from headscope.core.validation import Count, validated
from headscope.corpora import Corpus
from headscope.measures import positions as definitions
from headscope.measures.dataset import (
    count_of,
    description,
    error_of,
    figures_of,
    mean_chance_of,
    measure_of,
    names,
)
from headscope.models import Model
from headscope.views.blobs import Blobs
from headscope.views.explorer import Input
from headscope.views.payload import SectionInfo
from headscope.views.reasons import seen
from headscope.views.section import Section, SideBySide, rounded

UNBOUNDED = 1 << 17
"""Up to so many tokens back is looked where a model sets no limit."""


@validated
def positions(
    model: Model,
    corpus: Corpus,
    *,
    known: xr.Dataset | None = None,
    limit: Count | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """The measures of `headscope.measures.positions` that say something of a corpus, as `headscope.measure` has them.

    Args:
        model: from `headscope.load`.
        corpus: from `headscope.corpora`.
        known: figures of the same corpus that need not be taken again.
        limit, progress: as in `headscope.measure`.
    """
    names = wanted(model)
    have = [name for name in names if known is not None and name in known]
    result = measure(
        model, corpus, measures=[name for name in names if name not in have], limit=limit, progress=progress
    )
    if known is not None:
        kept = [str(name) for name in known.data_vars if measure_of(known, str(name)) in have]
        result = result.assign({name: known[name] for name in kept})
    order = [name for name in names if name in result]
    return result[sorted(map(str, result.data_vars), key=lambda name: order.index(measure_of(result, name)))]


def wanted(model: Model) -> Sequence[str]:
    """The measures by position and by distance up to a model's longest input, as they stand on a page."""
    most = model.max_length or UNBOUNDED
    return [*definitions.positions(), *definitions.distances(most, causal=model.causal)]


Rows = list[list[float | None]]


class PositionColumn(TypedDict):
    """One range of keys: its measure, and the figures of every head ``[layer][head]``.

    `label` is its distances or its tokens. `chance` is by layer. `example` and `place` say where a head's
    figure is seen: an example of the page and the query, -1 for none.
    """

    measure: str
    title: str
    label: str
    group: Literal["tokens", "before", "itself", "after"]
    value: Rows
    se: Rows
    n: Rows
    chance: list[float | None]
    example: list[list[int]]
    place: list[list[int]]


class PositionsSection(SectionInfo):
    """Shares of attention by position and distance, by layer and head."""

    kind: Literal["positions"]
    layers: list[int]
    heads: list[int]
    columns: list[PositionColumn]
    notes: list[str]
    command: str | None


@dataclass(frozen=True)
class Positions(Section):
    """Where attention goes.

    Attributes:
        dataset: from `headscope.analyses.positions.section.positions`.
        examples: of the page.
        command: what gives the same figures.
    """

    dataset: xr.Dataset
    examples: Sequence[Input | SideBySide] = ()
    command: str | None = None

    def info(self, blobs: Blobs) -> PositionsSection:
        """The columns; nothing travels beside them."""
        measures = names(self.dataset)
        layers = [int(layer) for layer in self.dataset["layer"].values]
        heads = [int(head) for head in self.dataset["head"].values]
        values = np.stack([figures_of(self.dataset, name) for name in measures])
        where, _ = seen(self.examples, measures, values, layers, heads)
        inputs = int(description(self.dataset).get("corpus", {}).get("examples") or 0)
        over = f" Means over tokens of {inputs:,} inputs." if inputs else ""
        return PositionsSection(
            kind="positions",
            title="Where attention goes by distance and position",
            about="The share of attention by how far from a token its keys stand, and by where these stand in the "
            "input; the colour is this share against that of even attention. Choose a cell to see the head of its "
            "layer that gives most there, and the others below.",
            layers=layers,
            heads=heads,
            columns=[_column(self.dataset, name, where[place]) for place, name in enumerate(measures)],
            notes=[
                "Distances are in tokens, and ranges double: where there is no room, 5 stands for 5 to 8. A share is "
                "the mean over the tokens that see a key there, chance that of attention spread evenly over all keys "
                f"that they see.{over}",
                "From a distance of 3 on the first token of the input is left out: a head that rests its attention "
                "there (Xiao et al. 2023) would seem to look as far as that happens to be.",
                "The last range ends where inputs do.",
            ],
            command=self.command,
        )


def section(study: Study) -> list[Section]:
    """Shares by distance and position: those among the surface measures, and the ranges beyond them."""
    dataset = positions(study.model, study.corpus, known=study.surface, **study.run)
    command = study.command("measure", "--measures", ",".join(names(dataset)))
    return [Positions(dataset, study.inputs, command)]


def _column(dataset: xr.Dataset, name: str, where: npt.NDArray[np.int32]) -> PositionColumn:
    label, group = _called(name)
    return PositionColumn(
        measure=name,
        title=str(dataset[name].attrs.get("title", name)),
        label=label,
        group=group,
        value=_rows(figures_of(dataset, name)),
        se=_rows(error_of(dataset, name)),
        n=_rows(count_of(dataset, name)),
        chance=[rounded(value) for value in mean_chance_of(dataset, name)],
        example=where[..., 0].tolist(),
        place=where[..., 1].tolist(),
    )


def _called(name: str) -> tuple[str, Literal["tokens", "before", "itself", "after"]]:
    """What a column is called, and where it stands."""
    if name.startswith("tokens"):
        first, _, last = name.removeprefix("tokens").partition("..")
        return (f"{first}–{last}" if last else f"{first}+"), "tokens"
    plain: AnyDict = {
        "first": ("1", "tokens"),
        "previous": ("1", "before"),
        "current": ("0", "itself"),
        "next": ("1", "after"),
    }
    if name in plain:
        return plain[name]
    ends = sorted(abs(int(edge)) for edge in name.removeprefix("offset").split(".."))
    return "–".join(map(str, ends)), "before" if "-" in name else "after"


def _rows(array: Floats) -> Rows:
    return [[rounded(value) for value in row] for row in array]
