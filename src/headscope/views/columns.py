"""Figures of every head: which a dataset holds, and those beside the explorer's grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope import kernels
from headscope.errors import InputError
from headscope.maps import AttentionMaps, FloatArray
from headscope.views.blobs import Blobs
from headscope.views.page import plain_text
from headscope.views.payload import MeasureColumn

ORDER = (
    "previous",
    "current",
    "next",
    "first",
    "cls",
    "sep",
    "sep_sep",
    "rest_sep",
    "punctuation",
    "largest",
    "entropy",
    "entropy_first",
)
"""The order in which a reader meets the measures; others follow by name, entropies last."""

_PER_INPUT: tuple[tuple[str, str, str], ...] = (
    ("previous", "previous token", "share"),
    ("next", "next token", "share"),
    ("current", "itself", "share"),
    ("first", "first token", "share"),
    ("sep", "separators", "share"),
    ("entropy", "entropy", "nats"),
)


def measure_names(dataset: xr.Dataset) -> list[str]:
    """The measures of a dataset, in reading order. `InputError` when there is none."""
    parts = ("_se", "_n", "_chance")
    names = [str(name) for name in dataset.data_vars]
    bases = set(names)

    def is_part(name: str) -> bool:
        return any(name.endswith(end) and name.removesuffix(end) in bases for end in parts)

    found = [name for name in names if not is_part(name) and set(dataset[name].dims) == {"layer", "head"}]
    if not found:
        raise InputError(
            f"dataset: expected measures over (layer, head), found {', '.join(names) or 'nothing'}"
        )

    def rank(name: str) -> tuple[int, bool, float, str]:
        if name in ORDER:
            return (ORDER.index(name), False, 0.0, name)
        entropy = ORDER.index("entropy")
        return (entropy - 1, True, _offset(name), name)

    return sorted(found, key=rank)


def _offset(name: str) -> float:
    try:
        return float(name.removeprefix("offset")) if name.startswith("offset") else math.inf
    except ValueError:
        return math.inf


def from_input(blobs: Blobs, maps: AttentionMaps, layers: Sequence[FloatArray]) -> list[MeasureColumn]:
    """Figures of every head on this very input."""
    square = maps.kind != "cross" and len(maps.query) == len(maps.key)
    sep = maps.key.classes.get("sep")
    kept = {"first", "entropy"} | ({"previous", "next", "current"} if square else set[str]())
    if maps.causal:
        kept.discard("next")
    if sep is not None and sep.any():
        kept.add("sep")
    masks = {"first": maps.key.mask("first"), "sep": sep}
    return [
        MeasureColumn(
            name=name,
            title=title,
            units=units,
            of="input",
            values=blobs.plain(_rectangle([_figure(name, layer, masks) for layer in layers]), "float32"),
        )
        for name, title, units in _PER_INPUT
        if name in kept
    ]


def _figure(name: str, layer: FloatArray, masks: Mapping[str, Any]) -> FloatArray:
    layer = np.asarray(layer, np.float32)
    if name == "entropy":
        rows = kernels.entropy(layer)
    elif name in masks:
        rows = kernels.mass(layer, masks[name].astype(np.float32)[:, None])[..., 0]
    else:
        rows = kernels.offset(layer, {"previous": -1, "next": 1, "current": 0}[name])
    return np.asarray(rows.mean(-1))


def from_corpus(
    blobs: Blobs, measures: xr.Dataset, index: Sequence[int], heads: Sequence[Sequence[int]]
) -> list[MeasureColumn]:
    """Figures of a corpus, for the layers and heads that are shown, by the model's own indices."""
    layers = [int(layer) for layer in measures["layer"].values]
    places = [int(head) for head in measures["head"].values]
    found: list[MeasureColumn] = []
    for name in measure_names(measures):
        values = np.asarray(measures[name].transpose("layer", "head").values, float)
        rows = [
            np.array([_at(values, layers, places, layer, head) for head in asked])
            for layer, asked in zip(index, heads, strict=True)
        ]
        attrs = cast(Mapping[str, Any], measures[name].attrs)
        found.append(
            MeasureColumn(
                name=f"corpus:{name}",
                title=plain_text(str(attrs.get("title", name.replace("_", " ")))),
                units=plain_text(str(attrs.get("units", ""))),
                of="corpus",
                values=blobs.plain(_rectangle(rows), "float32"),
            )
        )
    return found


def _at(values: npt.NDArray[Any], layers: list[int], heads: list[int], layer: int, head: int) -> float:
    if layer not in layers or head not in heads:
        return float("nan")
    return float(values[layers.index(layer), heads.index(head)])


def _rectangle(rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    full = np.full((len(rows), max(len(row) for row in rows)), np.nan)
    for place, row in enumerate(rows):
        full[place, : len(row)] = row
    return full
