"""Effects of patches over pairs of prompts: means, intervals and tests; tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.heads import Head
from headscope.lazy import module
from headscope.measures.dataset import describe, description
from headscope.measures.jackknife import LEAST, ROUNDING, interval
from headscope.measures.significance import false_discovery
from headscope.measures.sums import Floats

DRAWS = 2000
"""Resamples of the pairs behind an interval."""

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
    """Effects over pairs, ``[figure]``: the share of the gap, its error, and its 95 % interval.

    Error and interval are NaN with fewer than `headscope.measures.jackknife.LEAST` pairs.
    """

    value: Floats
    se: Floats
    low: Floats
    high: Floats


def effects(changes: Floats, gaps: Floats, seed: int) -> Effects:
    """The mean change over the mean gap, with a bootstrap of pairs.

    The mean of shares would hang on the pairs whose gap is near 0. The interval is the studentised bootstrap's (Efron
    and Tibshirani 1993, section 12.5): in each of `DRAWS` resamples, how many of its own errors the ratio is off.

    Args:
        changes: of the logit difference, ``[pair figure]``, of one sign with the gaps.
        gaps: between the logit differences of the clean and the corrupted prompt, ``[pair]``.
        seed: of the resamples.

    Three pairs with changes 1, 0, 2 and gaps 2, 2, 2 have a ratio of 1/2; the rests are 0, −1, 1, and the error is
    √(3/2 · 2) / 6.

    >>> round(float(effects(np.array([[1.0], [0], [2]] * 3), np.full(9, 2.0), 0).value[0]), 9)
    0.5
    """
    pairs = len(gaps)
    once = np.ones((1, pairs))
    value, se = (each[0] for each in _ratios(once, changes, gaps))
    blank = np.full_like(value, np.nan)
    if pairs < LEAST:
        return Effects(value, blank, blank, blank)
    times = np.random.default_rng(seed).multinomial(pairs, np.full(pairs, 1 / pairs), DRAWS)
    drawn, own = _ratios(times.astype(np.float64), changes, gaps)
    with np.errstate(invalid="ignore", divide="ignore"):
        off = (drawn - value) / own
    off = np.where(np.isnan(off), 0.0, off)  # no error and none off
    most = np.finfo(np.float64).max / 4
    low, high = np.quantile(off.clip(-most, most), [0.025, 0.975], axis=0)
    with np.errstate(over="ignore"):
        return Effects(
            value, se, np.where(se > 0, value - high * se, value), np.where(se > 0, value - low * se, value)
        )


def _ratios(times: Floats, changes: Floats, gaps: Floats) -> tuple[Floats, Floats]:
    """Of resamples ``[draw pair]`` the ratios and their errors, ``[draw figure]``."""
    pairs = len(gaps)
    gap = (times @ gaps)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = times @ changes / gap
        squares = times @ changes**2
        rests = (
            squares - 2 * ratio * (times @ (changes * gaps[:, None])) + ratio**2 * (times @ gaps**2)[:, None]
        )
        rests = np.where(rests > ROUNDING * squares, rests, 0.0)
        return ratio, np.sqrt(pairs / max(pairs - 1, 1) * rests) / np.abs(gap)


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


def p_values(found: Effects, spread: float, pairs: int, told_apart: bool = True) -> Floats:
    """Two-sided p that an effect is one of those that most heads have, ``[figure]``; NaN without an error.

    All are NaN where the model does not tell the clean prompts from the corrupted.
    """
    if not told_apart:
        return np.full(found.value.shape, np.nan)
    error = np.hypot(found.se, spread)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(found.value == 0, 0.0, np.abs(found.value) / error)
    return np.where(np.isnan(error), np.nan, 2 * np.asarray(module("scipy.stats").t.sf(t, pairs - 1)))


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
    meta: Mapping[str, Any],
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
    variables: dict[str, Any] = {name: (("layer", "head"), figures[name]) for name in FIGURES}
    variables |= {name: ((), value) for name, value in scalars.items()}
    coords: dict[str, Any] = {"layer": list(layers), "head": list(range(figures["estimate"].shape[1]))}
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
    rows: list[dict[str, Any]] = []
    told = description(result)
    for index, layer in enumerate(result["layer"].values):
        for head in result["head"].values:
            row = {column: float(result[name].values[index, head]) for name, (column, _) in FIGURES.items()}
            if not np.isnan(row["estimate"]):
                place = {"layer": int(layer), "head": int(head), "paper": Head(int(layer), int(head)).paper}
                rows.append({**place, "to": "", **row, "chance": float(result["chance"]), "n": told["pairs"]})
    rows.sort(
        key=lambda row: (np.isnan(row["effect"]), -abs(np.nan_to_num(row["effect"])), -abs(row["estimate"]))
    )
    return pd.DataFrame([*rows, *_edges(result, told["pairs"])], columns=list(COLUMNS))


def _edges(result: xr.Dataset, pairs: int) -> list[dict[str, Any]]:
    """The rows of edges, the largest effects first."""
    if "edge" not in result:
        return []
    rows: list[dict[str, Any]] = []
    for place in np.argsort(-np.abs(result["edge"].values), kind="stable"):
        sender = Head.parse(str(result["sender"].values[place]))
        row = {column: float(result[name].values[place]) for name, column in EDGES.items()}
        at = {
            "layer": sender.layer,
            "head": sender.head,
            "paper": sender.paper,
            "to": str(result["receiver"].values[place]),
        }
        rows.append({**at, **row, "chance": float(result["chance"]), "n": pairs})
    return rows
