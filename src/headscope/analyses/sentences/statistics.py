"""Which sentences receive a head's attention: kurtosis, chance, tables; no torch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import Bools, Floats
from headscope.core.heads import AnyHead, Head
from headscope.core.lazy import module
from headscope.errors import InputError
from headscope.measures.dataset import describe
from headscope.measures.tidy import tidy
from headscope.statistics.jackknife import error, interval, skewness
from headscope.statistics.significance import false_discovery
from headscope.views.charts import Figure, map_of_heads, meta_of, model_name

COLUMNS = (
    *("layer", "head", "paper", "kurtosis", "ci_low", "ci_high", "chance", "p", "q"),
    *("sentence", "received", "text"),
)
"""Columns of the table: ``sentence`` is the one that receives most, of one text."""

FIGURES = {
    "kurtosis": "Fisher's kurtosis of what sentences receive, a mean over texts.",
    "kurtosis_low": "Lower end of its 95 % interval over texts.",
    "kurtosis_high": "Upper end of its 95 % interval over texts.",
    "p": "That sentences receive as if drawn from one normal distribution.",
    "q": "p, adjusted for all heads.",
}
"""Variables over heads, and what they are."""

LEAST = 5
"""How many sentences at least a test of a kurtosis takes."""

SHORT = 60
"""How many characters of a sentence are shown."""


class Maps(NamedTuple):
    """Attention between the sentences of one text, what each receives, and their texts."""

    attention: Floats
    received: Floats
    texts: Sequence[str]


def received(maps: Floats, seen: Floats, apart: int) -> Floats:
    """What sentences receive ``[… sentence]``, as a multiple of an even share; the last `apart` are left out.

    Args:
        maps: mean weights ``[… later sentence]``.
        seen: how many tokens each later sentence sees ``[later]``.
        apart: a sentence and the next are 1 apart.
    """
    size = maps.shape[-1]
    far: Bools = np.tri(size, size, -max(apart, 1), dtype=np.bool_)
    columns = far.any(0)
    total = np.where(far, maps * seen[:, None], 0.0).sum(-2)
    return total[..., columns] / far.sum(0)[columns]


def kurtosis(values: Floats) -> Floats:
    """Fisher's kurtosis over the last axis; 0 where all values are the same.

    >>> kurtosis(np.array([0.0, 0.0, 0.0, 0.0, 1.0])).round(2).item()
    0.25
    """
    away = values - values.mean(-1, keepdims=True)
    second, fourth = (away**2).mean(-1), (away**4).mean(-1)
    spread = second > 1e-24
    return np.where(spread, fourth / np.where(spread, second, 1.0) ** 2 - 3.0, 0.0)


def beyond_normal(values: Floats) -> Floats:
    """z of a kurtosis over the last axis, of draws from a normal distribution (Anscombe and Glynn 1983)."""
    spread = values.std(-1) > 1e-12
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of few sentences
        z = np.asarray(module("scipy.stats").kurtosistest(values, axis=-1).statistic)
    return np.where(spread, z, np.where(np.isfinite(values).all(-1), -np.inf, np.nan))


def dataset(
    texts: Sequence[Floats], layers: Sequence[int], meta: Mapping[str, Any], maps: Maps | None
) -> xr.Dataset:
    """Label kurtoses.

    Args:
        texts: of each what its sentences receive ``[layer head sentence]``.
        layers: the model's index of each layer.
        meta: what made them.
        maps: of one text.
    """
    values = np.stack([kurtosis(text) for text in texts])
    mean = values.mean(0)
    many = np.full(mean.shape, float(len(values)))
    ones = np.ones_like(values)
    low, high = interval(mean, error(values, ones), many, skew=skewness(values, ones))
    z = sum(beyond_normal(text) for text in texts) / math.sqrt(len(texts))
    p = np.asarray(module("scipy.stats").norm.sf(z))
    figures = {
        "kurtosis": mean,
        "kurtosis_low": low,
        "kurtosis_high": high,
        "p": p,
        "q": false_discovery(p.ravel()).reshape(p.shape),
    }
    variables: dict[str, Any] = {name: (("layer", "head"), array) for name, array in figures.items()}
    variables["chance"] = ((), float(np.mean([-6 / (text.shape[-1] + 1) for text in texts])))
    coords: dict[str, Any] = {"layer": list(layers), "head": list(range(mean.shape[1]))}
    if maps is not None:
        padded = np.full((*mean.shape, len(maps.texts)), np.nan)
        padded[..., : maps.received.shape[-1]] = maps.received
        variables["attention"] = ("layer", "head", "later", "sentence"), maps.attention.astype(np.float32)
        variables["received"] = ("layer", "head", "sentence"), padded
        coords |= {"sentence": np.arange(len(maps.texts)), "text": ("sentence", list(maps.texts))}
    result = xr.Dataset(variables, coords=coords, attrs=describe(meta))
    for name, about in FIGURES.items():
        units = "probability" if name in ("p", "q") else "kurtosis"
        result[name].attrs |= {"units": units, "description": about}
    return result


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head, with `COLUMNS`, the highest kurtosis first."""
    figures = result[[*FIGURES, "chance"]].rename(kurtosis_low="ci_low", kurtosis_high="ci_high")
    if "received" in result:
        most = result["received"].fillna(-1.0).argmax("sentence")
        texts = [
            text if len(text) <= SHORT else f"{text[: SHORT - 1].rstrip()}…"
            for text in map(str, result["text"].values)
        ]
        figures = figures.assign(
            sentence=most,
            received=result["received"].max("sentence"),
            text=(most.dims, np.array(texts, object)[most.values]),
        )
    rows: Any = tidy(figures, ("layer", "head", "paper", *map(str, figures)), "kurtosis", ("layer", "head"))
    rows = rows.sort_values("kurtosis", ascending=False, kind="stable", ignore_index=True)
    return rows.reindex(columns=list(COLUMNS)).astype({"sentence": "Int64"})


def receivers(result: xr.Dataset, level: float = 0.05, most: int = 8) -> list[tuple[int, int]]:
    """The places of the heads with the highest kurtosis whose q is at most `level`; of none, those with the highest."""
    scores = np.nan_to_num(result["kurtosis"].values, nan=-np.inf)
    ranked = np.unravel_index(np.argsort(-scores, axis=None, kind="stable"), scores.shape)
    order = [(int(layer), int(head)) for layer, head in zip(*ranked, strict=True)]
    sure = [spot for spot in order if result["q"].values[spot] <= level]
    return (sure or order)[:most]


_WRITTEN = 46
"""The most sentences that a figure writes out; of more there are only the numbers."""


def figure(dataset: xr.Dataset, *, head: AnyHead | None = None, level: float = 0.05) -> Figure:
    """Where sentences look back, as a map of later against earlier sentences.

    Args:
        dataset: from `headscope.sentences`, of one text.
        head: whose; by default the mean of the receiver heads, at most eight.
        level: receiver heads are those whose q is at most this.

    Raises `InputError` for figures of several texts, or for a head that the model has not.
    """
    if "attention" not in dataset:
        raise InputError("figure: expected figures of one text, found those of several, which have no map")
    meta, layers = meta_of(dataset), dataset["layer"].values.tolist()
    if head is None:
        spots = receivers(dataset, level)
        names = [str(Head(layers[layer], number)) for layer, number in spots]
        whose = f"mean of {len(spots)} heads: {', '.join(names)}" if len(spots) > 1 else names[0]
    else:
        one = Head.of(head)
        if one.layer not in layers or not 0 <= one.head < dataset.sizes["head"]:
            raise InputError(
                f"head: expected one of {len(layers)} layers of {dataset.sizes['head']}, found {one}"
            )
        spots, whose = [(layers.index(one.layer), one.head)], str(one)
    values = np.mean([dataset["attention"].values[spot] for spot in spots], 0).astype(np.float64)
    place = np.arange(len(values))
    far = place[:, None] - place >= max(int(meta["apart"]), 1)
    high = float(np.nanmax(np.where(far, values, 0.0))) or float(np.nanmax(values))
    written = [f"{text}  {number}" for number, text in enumerate(dataset["text"].values)]
    axes = xr.Dataset(coords={"sentence": written if len(written) <= _WRITTEN else place, "looked": place})
    chart = map_of_heads(
        axes,
        values,
        high,
        "mean weight of two tokens",
        "attention between sentences",
        root=True,
        across="looked",
        down="sentence",
    )
    chart["x"]["title"] = "sentence looked at"
    caption = " · ".join([model_name(meta["model"]), whose, f"{meta['tokens']:,} tokens"])
    return Figure([chart], caption, "Sentences", meta)
