"""Effects of patches over pairs of prompts: means, intervals and tests; tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.reproduce import see_head
from headscope.core.arrays import Floats, quiet
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError
from headscope.measures.dataset import describe, description
from headscope.measures.tidy import tidy
from headscope.statistics.jackknife import LEAST, ROUNDING, differs, ends, false_discovery, interval, skewness
from headscope.views.blocks import FEW, Block, rows_of
from headscope.views.charts import (
    Chart,
    Figure,
    map_of_heads,
    meta_of,
    model_name,
    numbers,
    rounded_up,
    texts,
)

COLUMNS = (
    "layer",
    "head",
    "paper",
    "to",
    "effect",
    "ci_low",
    "ci_high",
    "p",
    "q",
    "estimate",
    "estimate_low",
    "estimate_high",
    "chance",
    "n",
)
"""Columns of the table of heads and edges; `to` is empty for all that comes after a head."""

FIGURES = {
    "patching": ("effect", "Effect of patching the head's output, run for run."),
    "patching_low": ("ci_low", "Lower end of its 95 % interval."),
    "patching_high": ("ci_high", "Upper end of its 95 % interval."),
    "p": ("p", "That the effect is no larger than those of most heads."),
    "q": ("q", "p, adjusted for all heads."),
    "estimate": ("estimate", "Effect as attribution patching estimates it, to the first order."),
    "estimate_low": ("estimate_low", "Lower end of its 95 % interval."),
    "estimate_high": ("estimate_high", "Upper end of its 95 % interval."),
}
"""Variables over heads, their columns, and what they are."""

EDGES = {"edge": "effect", "edge_low": "ci_low", "edge_high": "ci_high", "edge_p": "p", "edge_q": "q"}
"""Variables over edges, and their columns."""


class Effects(NamedTuple):
    """Effects over pairs, ``[figure]``: the share of the gap, its error, its 95 % interval, and its skewness.

    Error and interval are NaN with fewer than `headscope.statistics.jackknife.LEAST` pairs.
    """

    value: Floats
    se: Floats
    low: Floats
    high: Floats
    skew: Floats | float = 0.0

    def named(self, name: str) -> dict[str, Floats]:
        """The effects and the ends of their intervals, as ``name``, ``name_low`` and ``name_high``."""
        return ends(name, self.value, (self.low, self.high))


def effects(changes: Floats, gaps: Floats) -> Effects:
    """The mean change over the mean gap, with the error and the interval of a ratio over pairs.

    The mean of shares would hang on the pairs whose gap is near 0. Of a few pairs with another effect the interval
    knows by their skewness (`headscope.statistics.jackknife.interval`); it is NaN where the gap may be 0, as the model
    does not tell the prompts apart.

    Args:
        changes: of the logit difference, ``[pair figure]``, of one sign with the gaps.
        gaps: between the logit differences of the clean and the corrupted prompt, ``[pair]``.

    Three pairs with changes 1, 0, 2 and gaps 2, 2, 2 have a ratio of 1/2; the rests are 0, −1, 1, and the error is
    √(3/2 · 2) / 6.

    >>> round(float(effects(np.array([[1.0], [0], [2]] * 3), np.full(9, 2.0)).value[0]), 9)
    0.5
    """
    pairs, total = len(gaps), gaps.sum()
    with quiet():
        value = changes.sum(0) / total
        rests = changes - value * gaps[:, None]
        squares = (rests**2).sum(0)
        squares = np.where(squares > ROUNDING * (changes**2).sum(0), squares, 0.0)
        se = np.sqrt(pairs / max(pairs - 1, 1) * squares) / abs(total)
    se = np.where(pairs >= LEAST, se, np.nan)
    many = np.full(value.shape, float(pairs) if told_apart(gaps) else 0.0)
    skew = np.sign(total) * skewness(changes, np.broadcast_to(gaps[:, None], changes.shape))
    return Effects(value, se, *interval(value, se, many, skew=skew), skew)


class Paths(NamedTuple):
    """Effects of edges: the names of senders and receivers, the effects, and their p."""

    names: Sequence[tuple[str, ...]]
    effects: Effects
    p: Floats


def told_apart(gaps: Floats) -> bool:
    """Whether the model tells the clean prompts from the corrupted: the mean gap is surely above 0 (95 %)."""
    pairs = len(gaps)
    if pairs < LEAST:
        return False
    mean, error = gaps.mean(), gaps.std(ddof=1) / np.sqrt(pairs)
    return bool(interval(mean, error, np.asarray(float(pairs)))[0] > 0)


def chance(estimates: Floats) -> float:
    """How large the effects of heads are that are not among the few: 1.4826 times their median size.

    That is the standard deviation where effects are normal about 0, as those of an untrained model's heads about are.
    """
    return 1.4826 * float(np.median(np.abs(estimates)))


def p_values(tested: Effects, spread: float, pairs: int, told_apart: bool = True) -> Floats:
    """Two-sided p that an effect is one of those that most heads have, ``[figure]``; NaN without an error.

    t is corrected for the skewness of the pairs. All are NaN where the model does not tell the clean prompts from the
    corrupted.
    """
    if not told_apart:
        return np.full(tested.value.shape, np.nan)
    error = np.hypot(tested.se, spread)
    with quiet():
        skew = np.where(error > 0, tested.skew * (tested.se / error) ** 3, 0.0)
    p = differs(tested.value, error, np.full(error.shape, float(pairs)), skew)
    return np.where(np.isnan(error), np.nan, p)


def placed(
    shape: tuple[int, int], *parts: tuple[Sequence[tuple[int, int]], Mapping[str, Floats]]
) -> dict[str, Floats]:
    """Figures of heads at the places of these, ``[head] -> [layer head]``; NaN at others."""
    figures: dict[str, Floats] = {}
    for spots, columns in parts:
        places = tuple(np.array(spots, np.int64).reshape(-1, 2).T)
        for name, values in columns.items():
            figures[name] = np.full(shape, np.nan)
            figures[name][places] = values
    return figures


def adjusted(p: Floats, tests: int) -> Floats:
    """q of p values of some of so many tests: the others count as if their p were 1."""
    known = np.isfinite(p)
    q = np.full(p.shape, np.nan)
    if known.any():
        q[known] = false_discovery(np.concatenate([p[known], np.ones(tests - int(known.sum()))]))[
            : known.sum()
        ]
    return q


def agreement(exact: Floats, estimates: Floats) -> float:
    """Pearson's correlation of exact effects and estimates; NaN for fewer than three."""
    known = np.isfinite(exact) & np.isfinite(estimates)
    if known.sum() < 3 or np.ptp(exact[known]) == 0 or np.ptp(estimates[known]) == 0:
        return float("nan")
    return float(np.corrcoef(exact[known], estimates[known])[0, 1])


def dataset(
    figures: Mapping[str, Floats],
    scalars: Mapping[str, float],
    layers: Sequence[int],
    meta: AnyMapping,
    paths: Paths | None = None,
) -> xr.Dataset:
    """Label effects.

    Args:
        figures: `FIGURES`, ``[layer head]``.
        scalars: logit differences, the chance, the agreement.
        layers: the model's index of each layer.
        meta: what made them.
        paths: effects from head to head.
    """
    variables: AnyDict = {name: (("layer", "head"), figures[name]) for name in FIGURES}
    variables |= {name: ((), value) for name, value in scalars.items()}
    coords: AnyDict = {"layer": list(layers), "head": list(range(figures["estimate"].shape[1]))}
    if paths is not None:
        coords |= {
            side: ("path", list(names))
            for side, names in zip(("sender", "receiver"), zip(*paths.names, strict=True), strict=True)
        }
        along = paths.effects.value, paths.effects.low, paths.effects.high, paths.p, false_discovery(paths.p)
        variables |= {name: ("path", values) for name, values in zip(EDGES, along, strict=True)}
    result = xr.Dataset(variables, coords=coords, attrs=describe(meta))
    for name, (_, about) in FIGURES.items():
        units = "probability" if name in ("p", "q") else "share of the gap"
        result[name].attrs |= {"units": units, "description": about}
    return result


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head, with `COLUMNS`, those that were patched first, then one an edge; the largest effects first."""
    more = {"to": "", "n": description(result)["pairs"]}
    heads = result[[*FIGURES, "chance"]].rename({name: column for name, (column, _) in FIGURES.items()})
    rows: Any = tidy(heads.assign(more), COLUMNS, "estimate", ("layer", "head"))
    rows = rows.sort_values(["effect", "estimate"], key=np.abs, ascending=False, ignore_index=True)
    if "edge" not in result:
        return rows
    edges: Any = (
        result[[*EDGES, "chance"]]
        .rename(EDGES)
        .to_dataframe()
        .sort_values("effect", key=np.abs, ascending=False)
    )
    senders = [Head.parse(name) for name in edges["sender"]]
    edges = edges.assign(n=more["n"], to=edges["receiver"], paper=[head.paper for head in senders])
    edges[["layer", "head"]] = senders
    return pd.concat([rows, edges.reindex(columns=rows.columns)], ignore_index=True)


def first_edges(result: xr.Dataset, count: int) -> pd.DataFrame:
    """The edges with the largest scores by integrated gradients, one row each; `edges` is the size of the smallest
    circuit with it, and `in draws` the share of draws of pairs in which it stays in that."""
    names = {f"integrated{end}": f"estimate{end}" for end in ("", "_low", "_high")}
    rows: Any = (
        result[[*names]].rename({**names, "writer": "from", "reader": "to"}).to_dataframe().reset_index()
    )
    rows = rows.sort_values("estimate", key=np.abs, ascending=False, kind="stable").head(count)
    sizes = result["size"].values
    held = [sizes[min(int(np.searchsorted(sizes, rank + 1)), len(sizes) - 1)] for rank in range(len(rows))]
    places = zip(held, rows["from"], rows["to"], strict=True)
    stay: Any = result["stays"]
    stay = stay.sel(draw="pairs")
    shares = [float(stay.sel(size=size, writer=one, reader=other)) for size, one, other in places]
    return rows.assign(**{"edges": held, "in draws": shares})


def curve_table(result: xr.Dataset) -> pd.DataFrame:
    """How faithful circuits are, one row an order and a size: `order, edges, faithfulness, ci_low, ci_high`; and, of
    those by integrated gradients, `jaccard` of two halves of the pairs, with its interval and its chance."""
    names = {"size": "edges", "faithfulness_low": "ci_low", "faithfulness_high": "ci_high"}
    figures = result[["faithfulness", "faithfulness_low", "faithfulness_high"]].rename(names)
    rows: Any = figures.to_dataframe(dim_order=["order", "edges"]).reset_index()
    ours = rows["order"] == str(result["order"].values[0])
    for name in ("jaccard", "jaccard_low", "jaccard_high", "jaccard_chance"):
        rows[name] = np.where(ours, np.resize(result[name].values, len(rows)), np.nan)
    return rows


def figure(dataset: xr.Dataset, *, level: float = 0.05) -> Figure:
    """The effect of every head as a map, layers down and heads across; as estimated where not all were patched. Of a
    result with a curve how faithful circuits are by their number of edges.

    Args:
        dataset: from `headscope.patching`.
        level: heads that were patched and whose q is at most this have an edge.

    Raises `InputError` for a result without any effect.
    """
    meta = meta_of(dataset)
    pairs = f"{plural(meta['pairs'], 'pair')} ({meta['corpus']['name']})"
    if "faithfulness" in dataset:
        chart, parts = (
            _curve(dataset),
            [
                pairs,
                f"circuits of edges among heads and MLPs, of {int(dataset['integrated'].notnull().sum()):,}",
                "bars, where there are: 95 %, over pairs",
            ],
        )
        return Figure([chart], " · ".join(parts), "Patching", meta)
    every = meta["exact"] == "all"
    values = np.asarray(dataset["patching" if every else "estimate"].values, np.float64)
    if not np.isfinite(values).any():
        raise InputError("figure: expected effects of heads, found none")
    edged = np.nan_to_num(dataset["q"].values, nan=1.0) <= level
    chart = map_of_heads(
        dataset,
        values,
        rounded_up(max(float(np.nanmax(np.abs(values))), 1e-12)),
        "share of the gap",
        "effect of each head" if every else "estimated effect of each head",
        edged=edged,
        signed=True,
    )
    how = "noising" if meta["noising"] else "denoising"
    parts = [
        model_name(meta["model"]),
        pairs,
        f"{'activation' if every else 'attribution'} patching of heads' outputs, {how}",
        f"edge: q ≤ {level:g} of the exact effect ({int(edged.sum())} heads)",
    ]
    return Figure([chart], " · ".join(parts), "Patching", meta)


def _curve(dataset: xr.Dataset) -> Chart:
    """How much of the gap circuits bring back, by their number of edges."""
    orders = texts(dataset["order"].values)
    value, low, high = (
        dataset[f"faithfulness{end}"].transpose("order", "size").values for end in ("", "_low", "_high")
    )
    return {
        "kind": "layers",
        "title": "faithfulness of circuits by their size",
        "x": {"title": "edges of the circuit", "names": [f"{size:,}" for size in dataset["size"].values]},
        "y": {"title": "faithfulness, share of the gap"},
        "rows": {"x": [], "y": []},
        "lines": [
            {
                "y": numbers(value[i]),
                "low": numbers(low[i]),
                "high": numbers(high[i]),
                "colour": i,
                "dots": True,
            }
            for i in range(len(orders))
        ],
        "colour": {"title": "", "of": "heads", "names": orders},
    }


_DROPPED = ("chance", "n", "estimate_low", "estimate_high")


def findings(result: xr.Dataset) -> list[str | Block]:
    """The heads of the largest effects, and how one is seen."""
    rows: Any = table(result)
    heads, paths = (rows[here] for here in (rows["to"] == "", rows["to"] != ""))
    about = description(result)
    lines: list[str | Block] = [
        f"{about['corpus']['name']}: {plural(about['pairs'], 'pair')}; logit of the answer less that of the other "
        f"token: {float(result['clean']):.2f} after clean prompts (above 0 in {float(result['solved']):.0%}), "
        f"{float(result['corrupted']):.2f} after corrupted ones",
        f"effect: share of that gap that a head's output {'takes away' if about['noising'] else 'brings back'}; by "
        f"chance within ±{2 * float(result['chance']):.3f}; estimates agree with it (correlation "
        f"{float(result['agreement']):.2f})",
        *rows_of(heads, dropped=("to", *_DROPPED)),
    ]
    if len(paths):
        lines += [
            "edges: what a head hands to another, or to the logits directly, all other heads held",
            *rows_of(paths, dropped=("estimate", *_DROPPED)),
        ]
    if "faithfulness" in result:
        lines += [
            f"edges by integrated gradients, of {int(result['integrated'].notnull().sum()):,}; below them the share of "
            "the gap that circuits of the first of them bring back, beside circuits of as many in other orders",
            *rows_of(first_edges(result, FEW)),
            *rows_of(curve_table(result)),
        ]
    if rows["q"].isna().all() and about["exact"] != 0:
        lines.append(
            "no interval, p or q: the model does not tell the clean prompts from the corrupted, or there are too few"
        )
    if about["example"] is not None:
        lines.append(see_head(about["example"], rows.iloc[0], about))
    return lines
