"""Retrieval scores over needles: intervals, tests, tables; and accuracy without heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.patching.statistics import chance, effects, p_values, told_apart
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
from headscope.statistics.overlap import TOP, overlap, resamplings, stays
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

WRITTEN = {
    "written": (
        "written",
        "Logits that a head adds to a token of the answer from the needle, less from elsewhere.",
    ),
    "written_low": ("written_low", "Lower end of its 95 % interval."),
    "written_high": ("written_high", "Upper end of its 95 % interval."),
    "written_p": ("written_p", "That it adds what most heads do."),
    "written_q": ("written_q", "p, adjusted for all heads."),
}
"""The same of what heads write."""

LISTS = ("looked at", "written")

CONDITIONS = (
    *("all heads", "without the top k", "without k others"),
    "without the top k by what they write",
)


class Ablation(NamedTuple):
    """Which needles were answered: with all heads, without the top, and without each draw of others.

    Attributes:
        answered: 0 or 1, ``[condition needle]``.
        tops: the names of the heads with the highest scores, by what they look at, and by what they write.
        known: as `answered`, of as many questions that need no retrieval.
    """

    answered: Floats
    tops: Sequence[Sequence[str]]
    known: Floats | None = None


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


def writing(hits: Floats, written: Floats, counts: Floats, seed: int) -> AnyDict:
    """Written scores over needles, and how far the two lists of heads hold and are the same.

    Args:
        hits, counts: as in `scores`.
        written: of each needle what each head adds, ``[needle layer head]``.
        seed: of the halves.
    """
    shape = written.shape[1:]
    flat = written.reshape(len(written), -1)
    there = np.isfinite(flat[0])
    by_head, p = effects(flat[:, there], counts), np.full(len(there), np.nan)
    p[there] = p_values(by_head, chance(by_head.value), len(counts), told_apart(counts))
    figures = {name: np.full(len(there), np.nan) for name in ("written", "written_low", "written_high")}
    for name, values in by_head.named("written").items():
        figures[name][there] = values
    figures |= {"written_p": p, "written_q": false_discovery(p)}
    both = [(one.reshape(flat.shape), np.repeat(counts[:, None], len(there), 1)) for one in (hits, written)]
    same = [overlap(*one, seed=seed) for one in both]
    top = min(TOP, int(there.sum()) // 2)
    drawn = resamplings(len(counts), seed=seed)
    stay = np.concatenate([stays(*one, drawn, [top]) for one in both])
    return {
        "written": {name: values.reshape(shape) for name, values in figures.items()},
        "shared": overlap(*both[0], against=both[1], seed=seed),
        "halves": same,
        "stays": np.where(there & (counts.sum() > 0), stay, np.nan).reshape(2, *shape),
    }


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
    units = dict.fromkeys(FIGURES, "share of copied tokens")
    if "written" in figures:
        coords["list"] = list(LISTS)
        variables |= {name: (("layer", "head"), values) for name, values in figures["written"].items()}
        variables |= {"stays": (("list", "layer", "head"), figures["stays"])} | _agreed(figures)
        units |= dict.fromkeys(WRITTEN, "logits a token")
    if ablation is not None:
        without = ablation.answered[1:]
        count = len(ablation.tops)
        names = [name for name in CONDITIONS if count > 1 or name != CONDITIONS[3]]
        coords |= {"condition": names, "top": list(ablation.tops[0])}
        for name, answered in (("accuracy", ablation.answered), ("known", ablation.known)):
            if answered is not None:
                variables |= {
                    of: ("condition", values) for of, values in _accuracy(name, answered, count).items()
                }
        for name, top in zip(("loss", "written_loss"), without[:count], strict=False):
            loss = np.mean(without[count:], 0) - top
            gain = Gain(loss.mean(), error(loss, np.ones_like(loss)), float(len(loss)))
            losses = ends(name, gain.value, gain.interval()).items()
            variables |= {of: ((), float(value)) for of, value in losses}
        if count > 1:
            coords["top_written"] = list(ablation.tops[1])
    result = xr.Dataset(variables, coords=coords, attrs=describe(meta))
    for name, (_, about) in {**FIGURES, **WRITTEN}.items():
        if name in result:
            unit = "probability" if name in ("p", "q", "written_p", "written_q") else units[name]
            result[name].attrs |= {"units": unit, "description": about}
    return result


def _accuracy(name: str, answered: Floats, tops: int) -> AnyDict:
    """Shares of needles that are answered in each of `CONDITIONS`, with their intervals."""
    all_heads, first, *rest = answered
    rows = np.stack([all_heads, first, np.mean(rest[tops - 1 :], 0), *rest[: tops - 1]])
    count = np.full(len(rows), float(rows.shape[1]))
    interval = share_interval(rows.mean(1), error(rows.T, np.ones_like(rows.T)), count)
    return ends(name, rows.mean(1), interval)


def _agreed(figures: AnyMapping) -> AnyDict:
    """How far the lists are the same, and each is as other needles tell it; NaN with too few needles."""
    names = ("share", "low", "high", "needed", "chance")
    shared, *halves = (
        [np.nan if one is None else getattr(one, name) for name in names]
        for one in (figures["shared"], *figures["halves"])
    )
    ends = ("", "_low", "_high", "_needed", "_chance")
    return {
        f"shared{end}": ((), value) for end, value in zip(ends, shared, strict=True) if end != "_needed"
    } | {f"halves{end}": ("list", list(values)) for end, *values in zip(ends, *halves, strict=True)}


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head, with `COLUMNS` (and those of what it writes, and ``score_chat``), the highest scores first."""
    figures = {name: column for name, (column, _) in FIGURES.items() if column}
    figures |= {"chance": "chance", "produced": "n"}
    if "written" in result:
        result = result.assign({f"stays_{place}": result["stays"][place] for place in (0, 1)})
        result = result.drop_vars("stays")
        more = {name: column for name, (column, _) in WRITTEN.items()}
        more |= {"stays_0": "stays", "stays_1": "written_stays"}
    else:
        more = {}
    more |= {"chat": "score_chat"} if "chat" in result else {}
    figures, columns = figures | more, [*COLUMNS, *more.values()]
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
