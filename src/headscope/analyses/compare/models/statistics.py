"""Two models on the same inputs: how far each head's attention moved, and each of its measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core import lazy
from headscope.core.arrays import Floats
from headscope.core.tokens import Tokens, is_punctuation
from headscope.core.types import AnyDict, AnyMapping
from headscope.measures.measure import Measure, without
from headscope.measures.sums import Sums
from headscope.measures.tidy import labelled, tidy
from headscope.statistics.jackknife import WHY, differs, false_discovery, interval
from headscope.views.charts import (
    Chart,
    Figure,
    map_of_heads,
    meta_of,
    model_name,
    numbers,
    points,
    rounded_up,
    texts,
)

_ROUNDING = 1e-9  # of what a layer moved
Gathered = tuple[Tokens, Sequence[int], Floats, Floats, Floats]
"""What one input gives: its axis, the layers, and what `stacked` makes."""
Compared = tuple[list[Gathered], tuple[int, int]]
"""What the inputs of a batch give, and how many pieces the second model's tokenizer does not know, and made of them."""

COLUMNS = (
    *("layer", "head", "paper", "measure", "a", "b", "difference", "se", "n"),
    *("js", "js_se", "cosine", "cosine_se"),
)
"""Columns of the tidy table; ``js`` and ``cosine`` are of the head's maps, whatever the measure."""

DRIFT = ("js", "cosine", "js_layer", "cosine_layer", "js_all", "cosine_all", "js_excess", "cosine_excess")
"""What is gathered beside the measures, in this order; ``excess`` is what a layer has above the mean of all heads."""

TESTED = ("js_layer", "js_excess")
"""Those of them that come with an interval or a test, and so with the skewness of documents."""


def drift(a: Floats, b: Floats) -> Floats:
    """How two heads' rows differ, summed over rows: ``[head row outcome] -> [2 head]``.

    First the Jensen–Shannon divergence in nats (0 for rows that are the same, exactly), then the cosine of the rows as
    vectors (1 for rows that are the same).
    """
    xlogy = lazy.module("scipy.special").xlogy
    mean = 0.5 * (a + b)
    entropies = xlogy(a, a).sum(-1) + xlogy(b, b).sum(-1)
    divergence = np.maximum(0.5 * entropies - xlogy(mean, mean).sum(-1), 0.0)
    lengths = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    cosine = np.minimum((a * b).sum(-1) / np.where(lengths > 0, lengths, 1.0), 1.0)
    return np.stack([divergence.sum(-1), cosine.sum(-1)])


def with_rest(rows: Floats) -> Floats:
    """Rows whose weights need not sum to 1, with what is left as one more outcome."""
    return np.concatenate([rows, np.maximum(1.0 - rows.sum(-1, keepdims=True), 0.0)], -1)


def stacked(
    a: Floats, b: Floats, chance: Floats, divisors: Floats, moved: Floats, rows: int
) -> tuple[Floats, Floats, Floats]:
    """One input's sums, chance and divisors, as `headscope.measures.sums.Documents` takes them (see `names`).

    Args:
        a, b: sums over rows of both models, ``[measure layer head]``.
        chance: of uniform attention, like `a`.
        divisors: rows of each measure, like `a`, the same in both models.
        moved: `drift`, ``[2 layer head]``.
        rows: of `moved`.
    """
    layers = np.broadcast_to(np.nanmean(moved, 2, keepdims=True), moved.shape)
    every_head = np.broadcast_to(np.nanmean(moved, (1, 2), keepdims=True), moved.shape)
    means = [np.where(np.isfinite(moved), mean, np.nan) for mean in (layers, every_head, layers - every_head)]
    sums = np.concatenate([a, b, a - b, moved, *means])
    nothing = np.full((len(DRIFT), *chance.shape[1:]), np.nan)
    every = np.full(nothing.shape, float(rows))
    return (
        sums,
        np.concatenate([chance, chance, 0 * chance, nothing]),
        np.concatenate([divisors] * 3 + [every]),
    )


def names(measures: Sequence[Measure]) -> list[str]:
    """What is gathered: each measure of A, of B and their difference, and `DRIFT`."""
    return [f"{which}:{one.name}" for which in ("a", "b", "a-b") for one in measures] + list(DRIFT)


def side(sums: Sums, measures: Sequence[Measure], which: Literal["a", "b"]) -> Sums:
    """The sums of one model's measures, of what was gathered by `stacked`."""
    first = "ab".index(which) * len(measures)
    rows = slice(first, first + len(measures))
    return replace(
        sums,
        measures=tuple(measure.name for measure in measures),
        apart=tuple(part._replace(s=part.s[rows], n=part.n[rows]) for part in sums.apart),
        **{name: getattr(sums, name)[rows] for name in sums.names()},
    )


def dataset(
    sums: Sums,
    measures: Sequence[Measure],
    *,
    causal: bool,
    absent: Mapping[str, str],
    meta: AnyMapping,
) -> xr.Dataset:
    """Figures over ``(measure, layer, head)`` from what was gathered by `stacked`.

    ``a``, ``b``, ``difference`` (A − B), ``se`` (paired, of the jackknife over documents), ``n``, ``documents``
    (effective); over ``(layer, head)`` ``js`` (nats a row), ``cosine``, ``js_se``, ``cosine_se``; over ``(layer)``
    their means over heads ``js_layer``, ``cosine_layer``, and what these have above the mean of all heads,
    ``js_excess``, ``cosine_excess``, with ``_se``; and over all heads ``js_all``, ``cosine_all``, with ``_se``, and
    ``js_documents``. Errors are NaN with fewer than two documents.

    Raises `InputError` when no measure says anything.
    """
    counts = {name[6:]: count for name, count in sums.counts.items() if name.startswith("class ")}
    count = len(measures)
    missing = without(measures, causal, counts, np.any(sums.n[:count] > 0, (1, 2)), absent)
    kept = [place for place, one in enumerate(measures) if one.name not in missing]
    value, error, documents, skewness = sums.value(), sums.error(), sums.effective(), sums.skewness()
    there = np.isfinite(sums.s[-len(DRIFT)])
    variables: AnyDict = {
        "a": value[:count][kept],
        "b": value[count : 2 * count][kept],
        "difference": value[2 * count : 3 * count][kept],
        "se": error[2 * count : 3 * count][kept],
        "n": np.where(there, sums.n[kept], np.nan),
    }
    by_layer = ("layer",), (..., 0)  # the same in all heads
    means = (("layer", "head"), (...,)), by_layer, ((), (..., 0, 0)), by_layer
    for row, name in enumerate(DRIFT):
        axes, at = means[row // 2]
        variables[name] = (axes, value[3 * count + row][at])
        variables[f"{name}_se"] = (axes, error[3 * count + row][at])
        if name in TESTED:
            variables[f"{name}_skewness"] = (axes, skewness[3 * count + row][at])
    variables["documents"] = np.where(there, documents[2 * count : 3 * count][kept], np.nan)
    variables["js_documents"] = ((), documents[-1, 0, 0])
    known = {name: sums.counts.get(name, 0) for name in ("documents", "examples", "tokens")}
    about = {**meta, "corpus": {**meta.get("corpus", {}), **known}, "absent": missing, "difference": "A − B"}
    return labelled(variables, [measures[place] for place in kept], sums.layers, about)


def table(dataset: xr.Dataset) -> pd.DataFrame:
    """One row a measure and head, with `COLUMNS`. Heads that a layer does not have have no row."""
    return tidy(dataset, COLUMNS, "a")


def by_drift(dataset: xr.Dataset) -> pd.DataFrame:
    """One row a head, those that moved most first: ``layer, head, paper, js, js_se, cosine, cosine_se``."""
    columns = ("layer", "head", "paper", "js", "js_se", "cosine", "cosine_se")
    rows: Any = tidy(dataset, columns, "js", ("layer", "head"))
    return rows.sort_values("js", ascending=False, kind="stable", ignore_index=True)


def by_layer(dataset: xr.Dataset) -> pd.DataFrame:
    """One row a layer: ``layer, js, js_se, cosine, cosine_se``, ``js_low, js_high``, ``excess, excess_q``.

    ``js`` and ``cosine`` are means over its heads, with the 95 % interval of ``js``. ``excess`` is what the layer moved
    more than all heads on average, and ``excess_q`` tests that this is 0: two-sided, Student's t over documents,
    corrected for their skewness, after Benjamini and Hochberg over layers. A layer that is the same in both models has
    no test: there is nothing to find out.
    """
    names = ["js_layer", "js_layer_se", "cosine_layer", "cosine_layer_se"]
    rows: Any = dataset[names].to_dataframe().reset_index()
    rows = rows.rename(columns={name: name.replace("_layer", "") for name in names})
    documents = np.full(len(rows), float(dataset["js_documents"]))
    js = rows["js"].to_numpy()
    skew, lean = (
        dataset[f"{name}_skewness"].values if f"{name}_skewness" in dataset else None for name in TESTED
    )
    low, high = interval(js, rows["js_se"].to_numpy(), documents, skew=skew)
    excess = np.where(np.abs(dataset["js_excess"].values) > _ROUNDING * js, dataset["js_excess"].values, 0.0)
    p = differs(excess, dataset["js_excess_se"].values, documents, lean)
    q = false_discovery(np.where(js > 0, p, np.nan))
    return rows.assign(js_low=np.maximum(low, 0.0), js_high=high, excess=excess, excess_q=q)


def word_axis(words: Sequence[str]) -> Tokens:
    """The axis of the words of a text, without special tokens."""
    count = len(words)
    return Tokens(
        list(words),
        special_mask=np.zeros(count, np.bool_),
        word_ids=np.arange(count),
        sequence_ids=np.zeros(count, np.int64),
        classes={"punctuation": np.array([is_punctuation(word) for word in words], np.bool_)},
    )


def not_over_words(measures: Sequence[Measure]) -> dict[str, str]:
    """Which measures say nothing over words without special tokens, and why."""
    special = {"first", "sep", "cls", "special"}
    return {
        one.name: "not over words, whose rows leave special tokens out"
        for one in measures
        if one.statistic in ("entropy", "rows") or special & {one.of, one.whose} or one.name == "sink"
    }


def figure(dataset: xr.Dataset) -> Figure:
    """How far every head moved between two models, and the mean of each layer with its 95 % interval.

    Args:
        dataset: from `headscope.compare.models`, its ``figures``.
    """
    meta, js = meta_of(dataset), dataset["js"].transpose("layer", "head").values
    means: Any = by_layer(dataset)
    mean, low, high = (numbers(means[name]) for name in ("js", "js_low", "js_high"))
    most = rounded_up(float(np.nanmax([1e-12, *js.ravel(), *means["js"]])))
    heads = map_of_heads(dataset, js, most, "nats", "drift of each head", root=True)
    layers: Chart = {
        "kind": "layers",
        "title": "mean of each layer",
        "x": {"title": "layer", "names": texts(dataset["layer"].values)},
        "y": {"title": "Jensen–Shannon divergence, nats"},
        "rows": points(dataset, js),
        "lines": [{"y": mean, "low": low, "high": high, "dots": True}],
    }
    a, b, corpus = meta["a"], meta["b"], meta["corpus"]
    name = model_name(b)
    if b["name"] == a["name"] and b["notes"]:
        name += f", {b['notes'][0]}"  # what was done to it
    errors = any(value is not None for value in low)
    parts = [
        f"Jensen–Shannon divergence of the rows of A and B, nats a {meta['over'][:-1]}",
        f"A is {model_name(a)}, B is {name}",
        f"{corpus.get('examples', 0):,} inputs of {corpus.get('documents', 0):,} documents",
        "bars: 95 %, by document" if errors else f"no bars: {WHY}",
    ]
    return Figure([heads, layers], " · ".join(parts), "Two models", meta, 2)
