"""Two models on the same inputs: how far each head's attention moved, and each of its measures."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.heads import Head
from headscope.measures.measure import Measure, without
from headscope.measures.sums import Sums
from headscope.measures.tidy import tidy
from headscope.tokens import Tokens

Floats = npt.NDArray[np.float64]

COLUMNS = (
    *("layer", "head", "paper", "measure", "a", "b", "difference", "se", "n"),
    *("js", "js_se", "cosine", "cosine_se"),
)
"""Columns of the tidy table; ``js`` and ``cosine`` are of the head's maps, whatever the measure."""

DRIFT = ("js", "cosine", "js_layer", "cosine_layer", "js_all", "cosine_all")
"""What is gathered beside the measures, in this order."""


def drift(a: Floats, b: Floats) -> Floats:
    """How two heads' rows differ, summed over rows: ``[head row outcome] -> [2 head]``.

    First the Jensen–Shannon divergence in nats (0 for rows that are the same, exactly), then the cosine of the rows as
    vectors (1 for rows that are the same).
    """
    xlogy: Any = importlib.import_module("scipy.special").xlogy
    mean = 0.5 * (a + b)
    own = xlogy(a, a).sum(-1) + xlogy(b, b).sum(-1)
    divergence = np.maximum(0.5 * own - xlogy(mean, mean).sum(-1), 0.0)
    lengths = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    cosine = np.minimum((a * b).sum(-1) / np.where(lengths > 0, lengths, 1.0), 1.0)
    return np.stack([divergence.sum(-1), cosine.sum(-1)])


def stacked(
    a: Floats, b: Floats, chance: Floats, divisors: Floats, moved: Floats, rows: int
) -> tuple[Floats, Floats, Floats]:
    """One input's sums, chance and divisors, as `headscope.measures.sums.Documents` takes them (see `names`).

    Args:
        a, b: sums over rows of both models, ``[measure layer head]``.
        chance: of uniform attention, ``[measure layer]``.
        divisors: rows of each measure, ``[measure]``, the same in both models.
        moved: `drift`, ``[2 layer head]``.
        rows: of `moved`.
    """
    layers = np.broadcast_to(np.nanmean(moved, 2, keepdims=True), moved.shape)
    every_head = np.broadcast_to(np.nanmean(moved, (1, 2), keepdims=True), moved.shape)
    means = [np.where(np.isfinite(moved), mean, np.nan) for mean in (layers, every_head)]
    sums = np.concatenate([a, b, a - b, moved, *means])
    nothing = np.full((len(DRIFT), chance.shape[1]), np.nan)
    every = np.full(len(DRIFT), float(rows))
    return (
        sums,
        np.concatenate([chance, chance, 0 * chance, nothing]),
        np.concatenate([divisors] * 3 + [every]),
    )


def names(measures: Sequence[Measure]) -> list[str]:
    """What is gathered: each measure of A, of B and their difference, and `DRIFT`."""
    return [f"{which}:{one.name}" for which in ("a", "b", "a-b") for one in measures] + list(DRIFT)


def dataset(
    sums: Sums,
    measures: Sequence[Measure],
    *,
    causal: bool,
    absent: Mapping[str, str],
    meta: Mapping[str, Any],
) -> xr.Dataset:
    """Figures over ``(measure, layer, head)`` from what was gathered by `stacked`.

    ``a``, ``b``, ``difference`` (A − B), ``se`` (paired, clustered by document), ``n``; over ``(layer, head)`` ``js``
    (nats a row), ``cosine``, ``js_se``, ``cosine_se``; over ``(layer)`` their means over heads ``js_layer``,
    ``cosine_layer``, with ``_se``; and over all heads ``js_all``, ``cosine_all``, with ``_se``. Errors are NaN with
    fewer than two documents.

    Raises `InputError` when no measure says anything.
    """
    counts = {name[6:]: count for name, count in sums.counts.items() if name.startswith("class ")}
    count = len(measures)
    missing = without(measures, causal, counts, sums.n[:count] > 0, absent)
    kept = [place for place, one in enumerate(measures) if one.name not in missing]
    value, error = sums.value(), sums.error()
    axes = ("measure", "layer", "head")
    there = np.isfinite(sums.s[-len(DRIFT)])
    n = np.where(there, sums.n[kept][:, None, None], np.nan)
    variables: dict[str, Any] = {
        "a": (axes, value[:count][kept]),
        "b": (axes, value[count : 2 * count][kept]),
        "difference": (axes, value[2 * count : 3 * count][kept]),
        "se": (axes, error[2 * count : 3 * count][kept]),
        "n": (axes, n),
    }
    for place, name in enumerate(DRIFT[:2], 3 * count):
        variables[name], variables[f"{name}_se"] = (axes[1:], value[place]), (axes[1:], error[place])
    for place, name in enumerate(DRIFT[2:4], 3 * count + 2):
        found, spread = value[place, :, 0], error[place, :, 0]  # the same in every head of a layer
        variables[name], variables[f"{name}_se"] = (("layer",), found), (("layer",), spread)
    for place, name in enumerate(DRIFT[4:], 3 * count + 4):
        variables[name], variables[f"{name}_se"] = ((), value[place, 0, 0]), ((), error[place, 0, 0])
    coords: dict[str, Any] = {
        "measure": [measures[place].name for place in kept],
        "layer": list(sums.layers),
        "head": np.arange(sums.s.shape[2]),
        "title": ("measure", [measures[place].title for place in kept]),
        "units": ("measure", [measures[place].units for place in kept]),
    }
    known = {name: sums.counts.get(name, 0) for name in ("documents", "examples", "tokens")}
    about = {**meta, "corpus": {**meta.get("corpus", {}), **known}, "absent": missing, "difference": "A − B"}
    return xr.Dataset(variables, coords, {"meta": json.dumps(about, ensure_ascii=False)})


def table(found: xr.Dataset) -> pd.DataFrame:
    """One row a measure and head, with `COLUMNS`. Heads that a layer does not have have no row."""
    return tidy(found, COLUMNS, "a")


def by_drift(found: xr.Dataset) -> pd.DataFrame:
    """One row a head, those that moved most first: ``layer, head, paper, js, js_se, cosine, cosine_se``."""
    layer, head = (grid.reshape(-1) for grid in np.meshgrid(found["layer"], found["head"], indexing="ij"))
    rows: Any = pd.DataFrame(
        {
            "layer": layer,
            "head": head,
            "paper": [Head(int(a), int(b)).paper for a, b in zip(layer, head, strict=True)],
            **{name: found[name].values.reshape(-1) for name in ("js", "js_se", "cosine", "cosine_se")},
        }
    )
    rows = rows[np.isfinite(rows["js"])]
    return rows.sort_values("js", ascending=False, kind="stable").reset_index(drop=True)


def by_layer(found: xr.Dataset) -> pd.DataFrame:
    """One row a layer: ``layer, js, js_se, cosine, cosine_se``, means over its heads."""
    columns = {name: found[f"{name}_layer"].values for name in ("js", "cosine")}
    errors = {f"{name}_se": found[f"{name}_layer_se"].values for name in ("js", "cosine")}
    rows: Any = pd.DataFrame({"layer": found["layer"].values, **columns, **errors})
    return rows[["layer", "js", "js_se", "cosine", "cosine_se"]]


def word_axis(words: Sequence[str], punctuation: npt.NDArray[np.bool_]) -> Tokens:
    """The axis of the words of a text, without special tokens."""
    count = len(words)
    return Tokens(
        list(words),
        special_mask=np.zeros(count, np.bool_),
        word_ids=np.arange(count),
        sequence_ids=np.zeros(count, np.int64),
        classes={"punctuation": punctuation},
    )


def not_over_words(measures: Sequence[Measure]) -> dict[str, str]:
    """Which measures say nothing over words without special tokens, and why."""
    special = {"first", "sep", "cls", "special"}
    return {
        one.name: "not over words, whose rows leave special tokens out"
        for one in measures
        if one.statistic in ("entropy", "rows") or special & {one.of, one.whose} or one.name == "sink"
    }
