"""What key heads lose without the middle of a text, over needles: intervals, tests, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.patching.statistics import Effects, agreement
from headscope.core.arrays import Floats
from headscope.core.types import AnyMapping
from headscope.measures.dataset import describe, description
from headscope.statistics.jackknife import (
    LEAST,
    above,
    between,
    error,
    interval,
    needs,
    share_interval,
    skewness,
    unseen,
)
from headscope.views.blocks import Block, rows_of
from headscope.views.charts import Figure, map_of_heads, meta_of, model_name

BAR = 0.01
"""A key head that loses more nats a token needs the whole text."""

COLUMNS = (
    *("layer", "key_head", "heads", "loss", "ci_low", "ci_high", "p", "q"),
    *("estimate", "estimate_low", "estimate_high", "outside"),
)
"""Columns of the table; ``heads`` are the heads that share the key head."""

_COLUMN = {"loss_low": "ci_low", "loss_high": "ci_high"}

FIGURES = {
    "loss": ("nats", "What a token of an answer costs more when the head sees the window alone."),
    "loss_low": ("nats", "Lower end of its 95 % interval."),
    "loss_high": ("nats", "Upper end of its 95 % interval."),
    "p": ("probability", f"That the loss is no more than {BAR:g} nats."),
    "q": ("probability", "p, adjusted for all key heads."),
    "estimate": ("nats", "What a token costs less when it alone sees everything, to first order."),
    "estimate_low": ("nats", "Lower end of its 95 % interval."),
    "estimate_high": ("nats", "Upper end of its 95 % interval."),
    "outside": ("share", "Attention beyond the window, over queries that have keys there."),
}
"""Variables over key heads: their units, and what they are."""

CONDITIONS = ("all see everything", "the window alone", "but the top", "but others")


class AnswerCheck(NamedTuple):
    """Answers in each condition, the draws of others one by one.

    Attributes:
        right: whether the whole answer is produced, 0 or 1, ``[condition needle]``.
        nats: what a token of it costs, ``[condition needle]``.
        top: the names of the key heads that see everything.
    """

    right: Floats
    nats: Floats
    top: Sequence[str]


def name_of(layer: int, key: int) -> str:
    """What a key head is called.

    >>> name_of(18, 2)
    'L18K2'
    """
    return f"L{layer}K{key}"


def over_needles(values: Floats) -> Effects:
    """Means of ``[needle …]`` with 95 % intervals, wider where needles are skew."""
    ones = np.ones_like(values)
    mean: Floats = values.mean(0)
    se, skew = error(values, ones), skewness(values, ones)
    return Effects(mean, se, *interval(mean, se, np.full(mean.shape, float(len(values))), skew=skew), skew)


def p_values(losses: Floats) -> Floats:
    """One-sided, that a loss ``[needle head]`` is no more than `BAR`.

    t is corrected for skewness, and p is never below `headscope.statistics.jackknife.unseen`: a few needles that gain
    much may not be among those drawn.
    """
    over, many = over_needles(losses), np.full(losses.shape[1:], float(len(losses)))
    p = above(over.value, BAR, np.maximum(over.se, 1e-12), many, np.asarray(over.skew), doubt=1.0)
    return np.maximum(p, unseen(many))


def dataset(
    figures: Mapping[str, Floats], layers: Sequence[int], meta: AnyMapping, check: AnswerCheck
) -> xr.Dataset:
    """Label figures over key heads ``[layer key_head]`` and the answers of a check."""

    def four(values: Floats) -> Floats:
        return np.stack([*values[:3], values[3:].mean(0)])

    right, nats = four(check.right), four(check.nats)
    many = np.full(len(right), float(right.shape[1]))
    se = error(right.T, np.ones_like(right.T))
    shares = Effects(right.mean(1), se, *share_interval(right.mean(1), se, many))
    answers = shares.named("accuracy") | over_needles(nats.T).named("nats")
    result = xr.Dataset(
        {name: (("layer", "key_head"), figures[name]) for name in FIGURES}
        | {name: ("condition", values) for name, values in answers.items()}
        | {"agreement": ((), agreement(figures["loss"], figures["estimate"]))},
        coords={
            "layer": list(layers),
            "key_head": np.arange(figures["loss"].shape[1]),
            "condition": list(CONDITIONS),
            "top": list(check.top),
        },
        attrs=describe(meta),
    )
    for name, (units, about) in FIGURES.items():
        result[name].attrs |= {"units": units, "description": about}
    return result


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a key head, with `COLUMNS`: those that were measured first, the largest losses first."""
    rows: Any = result[[*FIGURES]].rename(_COLUMN).to_dataframe().reset_index()
    rows = rows.dropna(subset="estimate").sort_values(["loss", "estimate"], ascending=False)
    many = dict(zip(result["layer"].values, description(result)["groups"], strict=True))
    heads = [
        f"H{first}" if size == 1 else f"H{first}–H{first + size - 1}"
        for first, size in zip(
            rows["key_head"] * rows["layer"].map(many), rows["layer"].map(many), strict=True
        )
    ]
    return rows.assign(heads=heads)[[*COLUMNS]].reset_index(drop=True)


def figure(dataset: xr.Dataset, *, level: float = 0.05) -> Figure:
    """What each key head is estimated to gain by the whole text as a map, layers down and key heads across.

    Args:
        dataset: from `headscope.streaming`.
        level: key heads that were measured and whose q is at most this have an edge.
    """
    meta, edged = meta_of(dataset), np.nan_to_num(dataset["q"].values, nan=1.0) <= level
    values = np.asarray(dataset["estimate"].values, np.float64).clip(0.0)
    chart = map_of_heads(
        dataset,
        values,
        float(np.nanmax([BAR, *values.ravel()])),
        "nats a token (estimate)",
        "gain by each key head that sees the whole text",
        edged=edged,
        root=True,
        across="key_head",
    )
    lengths = " and ".join(map(str, meta["lengths"]))
    parts = [
        model_name(meta["model"]),
        f"window: first {meta['sink']} and last {meta['recent']} of {lengths} tokens",
        f"edge: loses more than {BAR:g} nats a token with q ≤ {level:g} ({int(edged.sum())} key heads)",
    ]
    return Figure([chart], " · ".join(parts), "Streaming", meta)


def findings(result: xr.Dataset) -> list[str | Block]:
    """The key heads that lose most, and how many answers are right without them."""
    rows: Any = table(result)
    about = description(result)
    losses = rows["loss"].dropna()
    lines: list[str | Block] = [
        f"{int((losses > BAR).sum())} of {len(losses)} key heads measured, of {len(rows)}, lose more than {BAR:g} "
        f"nats a token of the answer when they see the first {about['sink']} and last {about['recent']} tokens alone, "
        f"{int((rows['q'] <= 0.05).sum())} of them surely (q ≤ .05)",
        *rows_of(
            rows.assign(key_head=[*map(name_of, rows["layer"], rows["key_head"])]),
            dropped=("estimate_low", "estimate_high"),
        ),
        "answers that are right, and nats a token, of the needles that did not choose the heads:",
    ]
    names = ["all see everything", "all see the window alone"]
    names += [f"all but the {kind} {result.sizes['top']}" for kind in ("top", "other")]
    columns = (result[name].values for name in ("accuracy", "accuracy_low", "accuracy_high", "nats"))
    for name, value, low, high, nats in zip(names, *columns, strict=True):
        lines.append(f"  {name}: {value:.2f}{between(low, high)}, {nats:.3f}")
    few = [needs("needles, and answers as many that did not choose the heads")]
    return [*lines, *(few if about["needles"] < 2 * LEAST else [])]
