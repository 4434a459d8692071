"""Figures of every head: which a dataset holds, and those beside the explorer's grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from headscope.core.arrays import AnyFloats, Bools, Singles
from headscope.core.tokens import Kind, Tokens
from headscope.core.types import AnyMapping
from headscope.measures.choose import choose, row_statistic
from headscope.measures.dataset import measure_names
from headscope.measures.measure import mask
from headscope.views.inputs import Included

if TYPE_CHECKING:
    import xarray as xr

PER_INPUT: Mapping[Kind | Literal["talk"], Sequence[str]] = {
    "text": ("previous", "next", "current", "first", "sep", "entropy"),
    "talk": ("to_image", "to_question", "to_written", "first", "entropy"),
    "images": ("distance_pixels", "locality", "same_row", "same_column", "cls", "to_register", "entropy"),
    "sounds": ("distance_seconds", "locality_seconds", "diagonality", "after_sound", "largest", "entropy"),
}
"""The measures that stand beside the grid of one input, by what its keys are; "talk": a picture within a text."""

_MEASURES = {measure.name: measure for names in PER_INPUT.values() for measure in choose(names)}


def kind_of(key: Tokens) -> Kind:
    """What keys are: frames of a sound, patches of a picture (special tokens aside), or a text with or without one."""
    if key.times is not None:
        return "sounds"
    return "images" if key.boxes is not None and np.isfinite(key.boxes[~key.special]).all() else "text"


class HeadColumn(NamedTuple):
    """One figure of every head, ``[layer head]`` (NaN: none), from this input or from a corpus."""

    name: str
    title: str
    units: str
    of: Literal["input", "corpus"]
    values: Singles


def from_input(included: Included) -> list[HeadColumn]:
    """Figures of every shown head on this very input, over the rows that `headscope.measure` counts for each."""
    maps, layers = included.maps, included.cut(included.maps.layers, "weights")
    square = maps.kind != "cross" and len(maps.query) == len(maps.key)
    columns: list[HeadColumn] = []
    if len(maps.query) == 0:
        return columns
    kind = kind_of(maps.key)
    talk = kind == "text" and mask(maps.key, "image").any()
    for measure in map(_MEASURES.__getitem__, PER_INPUT["talk" if talk else kind]):
        if measure.statistic in ("offset", "pairs") and not (square and measure.absent(maps.causal) is None):
            continue
        if measure.name == "largest" and square:  # of cross attention to a sound there is little else
            continue
        if not all(
            mask(maps.key, name).any() for name in (measure.needs if talk or kind != "text" else ())
        ) or (measure.of == "sep" and not mask(maps.key, "sep").any()):
            continue
        rows: list[AnyFloats] = []
        last, counted = None, np.empty(0, np.bool_)
        for place, heads, layer in zip(included.places, included.heads, layers, strict=True):
            if (sight := maps.sight(place)) is not last:
                last, counted = sight, measure.select(maps.query, sight)
            values = row_statistic(measure, np.asarray(layer, np.float32), maps.key)
            rows.append(_mean(values, counted[heads] if len(sight) > 1 else counted))
        if kind == "text" or any(np.isfinite(row).any() for row in rows):
            columns.append(HeadColumn(measure.name, measure.title, measure.units, "input", _rectangle(rows)))
    return columns


def _mean(rows: AnyFloats, counted: Bools) -> AnyFloats:
    """The mean of a head's rows over those that count, ``[head query] -> [head]``; NaN where none does."""
    number = counted.sum(-1)
    return np.where(number > 0, (rows * counted).sum(-1) / np.maximum(number, 1), np.nan)


def from_scores(name: str, title: str, units: str, scores: Sequence[AnyFloats]) -> HeadColumn:
    """A figure that was computed of every shown head of this input, ``[head]`` a layer."""
    return HeadColumn(name, title, units, "input", _rectangle(scores))


def from_corpus(
    measures: xr.Dataset, index: Sequence[int], heads: Sequence[Sequence[int]]
) -> list[HeadColumn]:
    """Figures of a corpus, for the layers and heads that are shown, by the model's own indices."""
    across = range(1 + max(map(max, heads)))
    every = measures.reindex(layer=list(index), head=list(across))
    columns: list[HeadColumn] = []
    for name in measure_names(measures):
        values = every[name].transpose("layer", "head").values
        attrs = cast(AnyMapping, measures[name].attrs)
        columns.append(
            HeadColumn(
                f"corpus:{name}",
                str(attrs.get("title", name.replace("_", " "))),
                str(attrs.get("units", "")),
                "corpus",
                _rectangle([row[list(kept)] for row, kept in zip(values, heads, strict=True)]),
            )
        )
    return columns


def _rectangle(rows: Sequence[npt.NDArray[Any]]) -> Singles:
    full = np.full((len(rows), max(map(len, rows))), np.nan, np.float32)
    for place, row in enumerate(rows):
        full[place, : len(row)] = row
    return full
