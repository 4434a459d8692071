"""Which head feeds which, as a dataset and as a table of edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import Floats, quiet
from headscope.core.heads import Head
from headscope.core.lazy import module
from headscope.core.types import AnyMapping
from headscope.measures.dataset import describe
from headscope.statistics import jackknife
from headscope.statistics.jackknife import false_discovery

KINDS = ("K", "Q", "V")
LEAST = 0.25
"""The share above which the whole interval of an edge is."""

LEVEL = 0.05
"""The largest q of an edge."""

COLUMNS = (
    "layer",
    "head",
    "paper",
    "kind",
    "writer_layer",
    "writer_head",
    "writer",
    "share",
    "ci_low",
    "ci_high",
    "z",
    "q",
)
"""Columns of the table."""

_ABOUT = {
    "share": "Of what a head reads, the share that another wrote.",
    "z": "The share by what it is when what the other writes is turned at random, the root of the mean square.",
    "p": "That the other's writing, turned at random, gives as much.",
    "q": "The same, over all pairs of heads and kinds.",
}


def dataset(
    heads: Sequence[Head], value: Floats, se: Floats, skew: Floats, documents: Floats, meta: AnyMapping
) -> xr.Dataset:
    """Shares with intervals, and what is an edge.

    Args:
        heads: readers and writers.
        value, se, skew: shares and what random turns give, their errors and skewness, ``[kind reader writer 2]``.
        documents: how many effective documents, ``[kind reader]``.
        meta: what made them.
    """
    layers = np.array([head.layer for head in heads])
    before = (layers[:, None] > layers) & np.isfinite(value[..., 0])
    share, error, turned, lean = (
        np.where(before, array, np.nan) for array in (value[..., 0], se[..., 0], value[..., 1], skew[..., 0])
    )
    many = np.broadcast_to(documents[..., None], share.shape)
    with quiet():
        z = share / turned
    p = np.asarray(module("scipy.stats").norm.sf(z))
    q = false_discovery(p.ravel()).reshape(p.shape)
    figures = {
        **jackknife.ends("share", share, jackknife.interval(share, error, many, skew=lean)),
        "share_se": error,
        "z": z,
        "p": p,
        "q": q,
    }
    axes = ("kind", "reader", "writer")
    names = [str(head) for head in heads]
    result = xr.Dataset(
        {name: (axes, array) for name, array in figures.items()},
        {"kind": list(KINDS), "reader": names, "writer": names},
        attrs=describe(meta),
    )
    for name, about in _ABOUT.items():
        result[name].attrs |= {"description": about}
    return result


def table(result: xr.Dataset, level: float = LEVEL) -> pd.DataFrame:
    """One row an edge, the largest share first, with `COLUMNS`."""
    names = {"share_low": "ci_low", "share_high": "ci_high"}
    figures = result[["share", *names, "z", "q"]].rename(names)
    edges = np.nonzero(((figures["q"] <= level) & (figures["ci_low"] > LEAST)).values)
    rows: Any = pd.DataFrame({name: values.values[edges] for name, values in figures.items()})
    rows = rows.assign(kind=np.array(KINDS)[edges[0]], writer=result["writer"].values[edges[2]])
    readers = [Head.parse(name) for name in result["reader"].values[edges[1]]]
    rows[["layer", "head"]] = np.array(readers, np.int64).reshape(-1, 2)
    rows[["writer_layer", "writer_head"]] = np.array([*map(Head.parse, rows["writer"])], np.int64).reshape(
        -1, 2
    )
    rows["paper"] = [head.paper for head in readers]
    return rows.sort_values("share", ascending=False, kind="stable", ignore_index=True)[[*COLUMNS]]
