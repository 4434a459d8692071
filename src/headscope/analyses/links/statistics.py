"""Which head connects what belongs together: accuracies with intervals, choices scored apart, baselines, tables.

Of each source, a head's choice is the candidate that gets most of the source's row (or gives most in its column); it is
right where it is a target (Clark et al. 2019, section 4.2, with any annotation in place of dependency relations).
Intervals are over documents, and heads are scored on others than they are chosen on (`headscope.statistics.resample`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.links.questions import ALL
from headscope.analyses.links.sums import FIGURES, LinkSums
from headscope.core.arrays import Bools, Floats
from headscope.core.counts import plural
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError
from headscope.measures.dataset import describe, description
from headscope.measures.tidy import papers
from headscope.statistics.jackknife import false_discovery
from headscope.statistics.resample import Answers, HitRatios, Resampling

MEAN_MAP = "mean map"
"""The baseline of models that see pictures: the best head's average map over the words of an input, which looks at the
same place whatever the word is."""

ALIGNED = "aligned"
"""The name of the answers that the alignment error rate is of."""

HEADS = ("accuracy", "ci_low", "ci_high")
PICTURED = ("inside", "area", "mean_map")
ERROR_RATE = ("aer", "aer_low", "aer_high")
_SPLIT = ("split_accuracy", "split_low", "split_high", "p")
_GAIN = ("difference", "difference_low", "difference_high", "times", "choices")
CHOSEN = (*_SPLIT, "q", "few", *_GAIN, "effective", "clusters")
"""What the choice of a best head gives, beside its accuracy."""

COLUMNS = (
    "label",
    "n",
    "layer",
    "head",
    "paper",
    "direction",
    *HEADS,
    "split_accuracy",
    "mass",
    "rank",
    "baseline",
    "baseline_accuracy",
    "p",
    "q",
)
"""Columns of the table, which `MORE` follow; that of every head has those that are of a head."""

MORE = ("average_precision", *(name for name in CHOSEN if name not in COLUMNS))


def dataset(sums: LinkSums, *, seed: int = 0, least: int = 20, meta: AnyMapping | None = None) -> xr.Dataset:
    """Accuracies of all heads over ``(label, direction, layer, head)``, with intervals over clusters.

    Args:
        sums: what was chosen.
        seed: of the divisions into parts, to choose and to score apart.
        least: instances that a label needs for a best head to be named.
        meta: what made the figures.

    Returns:
        As `accuracies` over ``label`` and ``rule``, and of every head the means over sources of the ``mass`` on its
        targets, of the ``rank`` of the first of them among the candidates, and the ``average_precision`` of that
        ranking: over those that have candidates in the direction, of which so many are ``asked``. Of links between two
        texts also the alignment error rate ``aer`` with ``aer_low`` and ``aer_high`` (Och & Ney 2003), and ``aer_rule``
        of the baselines; of links to regions of a picture the share of the attention to its patches that is ``inside``
        (the energy-based pointing game of Wang et al. 2020, "Score-CAM"), beside the share of the patches that are,
        ``area``, and ``mean_map``, the accuracy of a head's average map over the words of an input. NaN where a
        direction has no such source.

    Raises `InputError` when there is no link.
    """
    answers = sums.answers
    if not len(answers):
        raise InputError(f"corpus: expected at least one link, found none in {plural(sums.count, 'input')}")
    subsets = by_label(answers)
    if len(answers.labels) > 1:
        subsets = {ALL: np.ones(len(answers), np.bool_), **subsets}
    result = accuracies(sums, subsets, seed=seed, least=least, meta={**(meta or {}), "inputs": sums.count})
    axes = ("label", "direction", "layer", "head")
    if sums.figures:
        means = [sums.means(list(answers.labels) if name == ALL else [name]) for name in subsets]
        columns = stacked(means)
        mass, rank, precision, asked = (columns[name] for name in FIGURES)
        named = {"mass": mass, "rank": rank, "average_precision": precision}
        if "pictured" in columns and columns["pictured"].any():
            named |= {name: columns[name] for name in PICTURED if name in columns}
            blind = result["mean_map"].values
            named["mean_map"] = np.where(blind.any((-2, -1), keepdims=True), blind, np.nan)
        elif "mean_map" in result:  # no link is to a region
            result = result.drop_vars("mean_map")
        named |= {name: result[name].values for name in HEADS}
        result = result.assign(
            {name: (axes, np.where(asked > 0, array, np.nan)) for name, array in named.items()}
        )
        result["asked"] = axes[:2], asked.max((2, 3)).astype(np.int64)
    if ALIGNED in sums.others and len(sums.others[ALIGNED]):
        aligned = sums.other(ALIGNED)
        shares = accuracies(aligned, masks(aligned.answers, subsets), seed=seed, least=sys.maxsize)
        rates = zip((*ERROR_RATE, "aer_rule"), ("accuracy", "ci_high", "ci_low", "baseline"), strict=True)
        result = result.assign({name: 1 - shares[share] for name, share in rates})
    return result


def masks(answers: Answers, labels: Iterable[str]) -> dict[str, Bools]:
    """The instances of each label, and all under the name `ALL`."""
    numbers = answers.numbers()
    return {
        name: np.ones(len(numbers), np.bool_) if name == ALL else numbers == answers.labels.get(name, -1)
        for name in labels
    }


def by_label(answers: Answers) -> dict[str, Bools]:
    """The instances of each label, the most frequent first."""
    sizes = np.bincount(answers.numbers(), minlength=len(answers.labels))
    return masks(answers, sorted(answers.labels, key=lambda name: (-int(sizes[answers.labels[name]]), name)))


def accuracies(
    sums: LinkSums,
    subsets: Mapping[str, Bools],
    *,
    axis: str = "label",
    rule: str = "rule",
    seed: int = 0,
    least: int = 100,
    meta: AnyMapping | None = None,
) -> xr.Dataset:
    """Accuracies of all heads on some subsets of the instances, over ``(axis, direction, layer, head)``.

    Args:
        sums: what was chosen.
        subsets: by name, which instances are of each, ``[instance]``.
        axis, rule: names of the axes of subsets and of baselines.
        seed: of the divisions into parts.
        least: instances that a subset needs for a best head to be named.
        meta: what made the figures.

    Returns:
        ``accuracy``, ``ci_low``, ``ci_high`` of every head (95 %, of that head, given the choice where it is the best),
        ``n`` and ``effective`` clusters of every subset, ``baseline`` over ``(axis, rule)``; and over
        ``axis``, where a best head is named: ``best`` (its index among direction × layer × head, −1 for none);
        ``split_accuracy``, ``split_low`` and ``split_high`` of choosing and scoring on different clusters, the choice
        included (`headscope.statistics.resample.HeldOut`); ``times`` that the best head was the choice, of ``choices``;
        ``difference`` of the former to the best baseline, with ``difference_low`` and ``difference_high``; ``p`` that
        some baseline is no worse, and ``q`` with the false discovery rate over the subsets. Intervals and tests are
        NaN with too few effective clusters (`headscope.statistics.jackknife.LEAST`).
    """
    resampling = Resampling(sums.answers, seed=seed)
    columns = stacked([_figures(sums, resampling.of(mask), least) for mask in subsets.values()])
    columns["q"] = false_discovery(columns["p"])
    axes = {**dict.fromkeys((*HEADS, "mean_map"), ("direction", "layer", "head")), "baseline": (rule,)}
    described = {**(meta or {}), "seed": seed, "least": least}
    described |= {
        "clusters": sums.clusters.kind or "sentences",
        "clusters_count": sums.answers.clusters_count,
    }
    return xr.Dataset(
        {name: ((axis, *axes.get(name, ())), values) for name, values in columns.items()},
        coords={
            axis: list(subsets),
            "direction": list(sums.ways),
            "layer": list(sums.layers),
            "head": np.arange(sums.heads),
            rule: [*sums.baselines, *([MEAN_MAP] if sums.blind else [])],
        },
        attrs=describe(described),
    )


def _figures(sums: LinkSums, scores: HitRatios, least: int) -> AnyDict:
    """The figures of a subset."""
    count = math.prod(sums.shape)
    ends = zip(HEADS, (scores.value, *scores.interval()), strict=True)
    row: AnyDict = {name: values[:count].reshape(sums.shape) for name, values in ends}
    baselines = scores.value[count:]
    if sums.blind:
        row["mean_map"] = baselines[:count].reshape(sums.shape)
        baselines = np.append(baselines[count:], row["mean_map"].max())
    row |= {"baseline": baselines, "n": int(scores.n[0]), "effective": scores.documents[0], "best": -1}
    row |= dict.fromkeys((*_SPLIT, *_GAIN), np.nan)
    if row["n"] < least or not row["accuracy"].any():  # of roots no head is right
        return row
    chosen = scores.chosen(slice(count), slice(count, None))
    return {**row, "split_accuracy": chosen.pop("split"), **chosen}


def table(result: xr.Dataset) -> pd.DataFrame:
    """The best head of each label, with `COLUMNS` and `MORE`; no head where there are `few` instances.

    ``ci_low`` and ``ci_high`` are given the choice; ``split_low`` and ``split_high`` include it.
    """
    more = [name for name in (*PICTURED, *ERROR_RATE) if name in result]
    rows: Any = best_heads(result, every_head(result), "label", "baseline")
    return rows[[*COLUMNS, *more, *MORE]]


def every_head(result: xr.Dataset) -> pd.DataFrame:
    """Every head and direction of each label, with those of `COLUMNS` that are of a head."""
    more = [name for name in (*PICTURED, *ERROR_RATE) if name in result]
    figures = [*HEADS, "mass", "rank", "average_precision", *more]
    rows: Any = heads_of(result, "label", "rule", "baseline", figures)
    first = [name for name in COLUMNS if name in rows]
    return rows[[*first, *(name for name in rows if name not in first)]]


def heads_of(
    result: xr.Dataset, axis: str, rule: str, baseline: str, figures: Collection[str]
) -> pd.DataFrame:
    """A row for every head and direction of each value of an axis: figures of heads, and the best baseline.

    Args:
        result: of `accuracies`.
        axis, rule: its axes of subsets and of baselines.
        baseline: the column of the best baseline's name.
        figures: variables of the result.
    """
    rows: Any = result[["n", *figures]].to_dataframe([axis, "direction", "layer", "head"]).reset_index()
    heads = len(rows) // result.sizes[axis]
    rules = result[rule].values
    best = [_best(figures, rules) for figures in result["baseline"].transpose(axis, rule).values]
    rows["paper"] = papers(rows["layer"], rows["head"])
    rows[baseline] = [name for name, _ in best for _ in range(heads)]
    rows["baseline_accuracy"] = [accuracy for _, accuracy in best for _ in range(heads)]
    return rows


def best_heads(result: xr.Dataset, every: Any, axis: str, baseline: str) -> pd.DataFrame:
    """Keep of the rows of every head those of the best of each value of the axis, with what choosing gives."""
    best = result["best"].values
    few = best < 0
    rows = every.iloc[np.arange(len(best)) * (len(every) // len(best)) + best.clip(0)].reset_index(drop=True)
    of_head = [name for name in rows if name not in (axis, "n", baseline, "baseline_accuracy")]
    rows[of_head] = rows[of_head].mask(np.repeat(few[:, None], len(of_head), 1))
    figures: AnyDict = {name: result[name].values for name in CHOSEN if name in result}
    rows = rows.assign(**figures, few=few, clusters=description(result)["clusters"])
    integers = [name for name in ("layer", "head", "baseline_offset", "times", "choices") if name in rows]
    return rows.astype(dict.fromkeys(integers, "Int64"))


def _best(accuracies: Floats, rules: np.ndarray) -> tuple[Any, float]:
    """The best baseline and its accuracy; None where there is none."""
    if not np.isfinite(accuracies).any():
        return None, np.nan
    best = int(np.nanargmax(accuracies))
    return rules[best].item(), float(accuracies[best])


def stacked(rows: Sequence[AnyMapping]) -> dict[str, np.ndarray]:
    """Rows with the same keys as arrays, one for each key."""
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
