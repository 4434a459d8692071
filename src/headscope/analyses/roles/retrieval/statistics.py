"""Retrieval scores over needles: intervals, tests, tables; and accuracy without heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import Floats, quiet
from headscope.core.counts import plural
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError
from headscope.measures.dataset import describe
from headscope.measures.tidy import tidy
from headscope.statistics.jackknife import (
    above,
    effective,
    ends,
    error,
    false_discovery,
    share_interval,
    skewness,
    unseen,
)
from headscope.statistics.overlap import TOP
from headscope.statistics.resample import Gain
from headscope.views.charts import Figure, map_of_heads, meta_of, model_name

BAR = 0.1
"""A head that scores higher is a retrieval head (Wu et al. 2024, section 2)."""

COLUMNS = ("layer", "head", "paper", "score", "ci_low", "ci_high", "p", "q", "chance", "n")
"""Columns of the table; ``n`` counts tokens that the model produced."""

FIGURES = {
    "retrieval": ("score", "Share of copied tokens that the head looks at most while they are produced."),
    "retrieval_low": ("ci_low", "Lower end of its 95 % interval."),
    "retrieval_high": ("ci_high", "Upper end of its 95 % interval."),
    "p": ("p", f"That the score is no higher than {BAR:g}."),
    "q": ("q", "p, adjusted for all heads."),
    "retrieval_se": ("", "Jackknife error over needles."),
    "retrieval_n": ("", "Tokens that the model produced."),
    "retrieval_documents": ("", "How many needles of equal size would tell as much."),
    "retrieval_skewness": ("", "Skewness over needles."),
    "retrieval_chance": ("", "What uniform attention scores."),
}
"""Variables over heads, their columns, and what they are."""

CONDITIONS = ("all heads", "without the top k", "without k others")


class Ablation(NamedTuple):
    """Which needles were answered: with all heads, without the top, and without each draw of others.

    Attributes:
        answered: 0 or 1, ``[condition needle]``.
        top: the names of the heads with the highest scores.
    """

    answered: Floats
    top: Sequence[str]


def scores(hits: Floats, counts: Floats, chance: float) -> AnyDict:
    """Figures over heads.

    Args:
        hits: of each needle the tokens that a head looked at, ``[needle layer head]``; NaN where there is no such head.
        counts: of each needle the tokens that the model produced, ``[needle]``.
        chance: what uniform attention scores.
    """
    s, n = np.broadcast_arrays(hits, counts[:, None, None])
    n = np.where(np.isfinite(s), n, 0.0)
    s = np.where(n > 0, s, 0.0)
    total = n.sum(0)
    with quiet():
        value = s.sum(0) / total
    se, documents = error(s, n), effective(n)
    skew = skewness(s, n)
    with quiet():
        p = np.maximum(above(value, BAR, np.maximum(se, 1e-9), documents, skew, doubt=1.0), unseen(documents))
    return {
        # a needle is looked at in all of its tokens or in none
        **ends("retrieval", value, share_interval(value, se, documents)),
        "retrieval_se": se,
        "retrieval_n": total,
        "retrieval_documents": documents,
        "retrieval_skewness": skew,
        "retrieval_chance": np.full(value.shape, chance),
        "p": p,
        "q": false_discovery(p.ravel()).reshape(p.shape),
        "chance": chance,
        "n": int(counts.sum()),
        "hits": hits,
        "answered": counts,
    }


def within_template(score: Floats, hits: Floats, counts: Sequence[int]) -> AnyDict:
    """Scores within a chat template, from `hits` as in `scores`, and how far the highest of both lists are the same.

    The overlap is NaN where either list has no scores.
    """
    total = sum(counts)
    chat = hits.sum(0) / total if total else np.full(hits.shape[1:], np.nan)
    there = int(np.isfinite(hits[0]).sum())
    top = min(TOP, there // 2)
    tops = [{*highest(one)[:top]} for one in (score, chat)]
    share = len(tops[0] & tops[1]) / top if top and all(len(one) == top for one in tops) else np.nan
    return {"chat": chat, "chat_produced": total, "overlap": share, "overlap_chance": top / there}


def highest(score: Floats) -> list[tuple[int, int]]:
    """The places of the heads that have a score, the highest first."""
    places: list[Any] = [tuple(place) for place in np.argwhere(np.isfinite(score)).tolist()]
    return sorted(places, key=lambda place: -score[place])


def dataset(
    figures: AnyMapping, layers: Sequence[int], meta: AnyMapping, ablation: Ablation | None
) -> xr.Dataset:
    """Label scores, and the accuracies of an ablation."""
    variables: AnyDict = {name: (("layer", "head"), figures[name]) for name in FIGURES}
    variables |= {"chance": ((), figures["chance"]), "produced": ((), figures["n"])}
    variables |= {
        "hits": (("needle", "layer", "head"), figures["hits"]),
        "answered": ("needle", figures["answered"]),
    }
    if "chat" in figures:
        variables["chat"] = (("layer", "head"), figures["chat"])
        variables |= {name: ((), figures[name]) for name in ("chat_produced", "overlap", "overlap_chance")}
    coords: AnyDict = {"layer": list(layers), "head": list(range(figures["retrieval"].shape[1]))}
    if ablation is not None:
        all_heads, top, *others = ablation.answered
        rows = np.stack([all_heads, top, np.mean(others, 0)])
        count = np.full(len(rows), float(rows.shape[1]))
        ones = np.ones_like(rows.T)
        interval = share_interval(rows.mean(1), error(rows.T, ones), count)
        loss = rows[2] - rows[1]
        gain = Gain(loss.mean(), error(loss, np.ones_like(loss)), count[0])
        coords |= {"condition": list(CONDITIONS), "top": list(ablation.top)}
        shares = ends("accuracy", rows.mean(1), interval).items()
        losses = ends("loss", gain.value, gain.interval()).items()
        variables |= {name: ("condition", values) for name, values in shares}
        variables |= {name: ((), float(value)) for name, value in losses}
    result = xr.Dataset(variables, coords=coords, attrs=describe(meta))
    for name, (_, about) in FIGURES.items():
        units = "probability" if name in ("p", "q") else "share of copied tokens"
        result[name].attrs |= {"units": units, "description": about}
    return result


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head, with `COLUMNS` (and ``score_chat``), the highest scores first."""
    figures = {name: column for name, (column, _) in FIGURES.items() if column}
    figures |= {"chance": "chance", "produced": "n"} | ({"chat": "score_chat"} if "chat" in result else {})
    columns = [*COLUMNS, *(["score_chat"] if "chat" in result else [])]
    rows: Any = tidy(result[[*figures]].rename(figures), columns, "layer", ("layer", "head"))
    return rows.sort_values("score", ascending=False, kind="stable", ignore_index=True)


def figure(dataset: xr.Dataset, *, level: float = 0.05) -> Figure:
    """The retrieval score of every head as a map, layers down and heads across.

    Args:
        dataset: from `headscope.retrieval`.
        level: heads whose q is at most this have an edge.

    Raises `InputError` where the model produced no answer.
    """
    values = np.asarray(dataset["retrieval"].values, np.float64)
    if not np.isfinite(values).any():
        raise InputError(
            "figure: expected scores of heads, found none: the model produced no token of an answer"
        )
    meta, edged = meta_of(dataset), np.nan_to_num(dataset["q"].values, nan=1.0) <= level
    title = "retrieval score of each head"
    chart = map_of_heads(dataset, values, 1.0, "share of copied tokens", title, edged=edged)
    lengths = " and ".join(map(str, meta["lengths"]))
    parts = [
        model_name(meta["model"]),
        f"{plural(meta['needles'], 'needle')} in texts of {lengths} tokens",
        f"edge: above {BAR:g} with q ≤ {level:g} ({int(edged.sum())} heads)",
    ]
    return Figure([chart], " · ".join(parts), "Retrieval", meta)
