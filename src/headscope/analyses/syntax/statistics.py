"""Dependency syntax in single heads: does the word that a head looks at most stand in a relation to the word it is in?

Source: Clark et al. 2019, section 4.2 and table 1. Of each word's row (``dep->head``) or column (``head->dep``) of a
head's map over words, without its own place and without special tokens, the largest weight is the prediction of the
word's head. What the paper left out is here: intervals over documents (sentences where no documents are known), and
accuracies of heads that were chosen on others than they are scored on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.predictions import Predictions, papers, stacked
from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.measures.resample import Accuracies, Answers, Resampling
from headscope.measures.significance import false_discovery
from headscope.tokens import BoolArray, IntArray

DIRECTIONS = ("dep->head", "head->dep")
"""``dep->head``: by the row of the dependent; ``head->dep``: by its column."""

ALL, WITHOUT = "all", "all but punct, root"
"""Names of the rows over all words, and over all but punctuation and roots (as UAS is mostly given)."""

COLUMNS = (
    "relation",
    "n",
    "layer",
    "head",
    "paper",
    "direction",
    "accuracy",
    "ci_low",
    "ci_high",
    "baseline_offset",
    "baseline_accuracy",
)
"""Columns of the tables; that of best heads has `CHOSEN` as well."""

_HEADS = ("accuracy", "ci_low", "ci_high")
_SPLIT = ("split_accuracy", "split_low", "split_high", "p")
_GAIN = ("difference", "difference_low", "difference_high", "times", "choices")
CHOSEN = (*_SPLIT, "q", "few", *_GAIN, "effective", "clusters")


def predictions(weights: npt.NDArray[Any]) -> tuple[IntArray, IntArray]:
    """The word that each word's row and column gives or gets most of, its own place left out.

    ``[head word word] -> [head word], [head word]``: ``dep->head`` and ``head->dep``. Of equal weights the first
    counts. A word alone in its sentence predicts itself.
    """
    weights = weights.copy()
    words: IntArray = np.arange(weights.shape[-1], dtype=np.int64)
    weights[..., words, words] = 0.0
    return weights.argmax(-1), weights.argmax(-2)


def by_offsets(count: int, offsets: Sequence[int], *, clip: bool = False) -> IntArray:
    """The word at each offset, ``[offset word]``: −2 where there is none (before the first: −1, the root, if `clip`).

    The released code of Clark et al. clips: what is beyond the end is the last word, what is before the start the
    root, which makes far offsets to the left score on roots.
    """
    words = np.arange(count) + np.array(offsets, np.int64)[:, None]
    if clip:
        return np.clip(words, -1, count - 1)
    return np.where((words >= 0) & (words < count), words, -2)


class Words(Predictions):
    """Which predictions were right for each word of a treebank, ``[direction layer head word]``.

    Args:
        layers, heads: of the model; a head that a layer does not have is never right.
        offsets: of the baselines.
    """

    def __init__(self, layers: Sequence[int], heads: int, offsets: Sequence[int]) -> None:
        super().__init__(DIRECTIONS, layers, heads, offsets)


def dataset(
    words: Words,
    *,
    clusters: str = "sentences",
    seed: int = 0,
    least: int = 100,
    meta: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Accuracies of all heads over ``(relation, direction, layer, head)``, with intervals over clusters.

    Args:
        words: what was predicted.
        clusters: what the clusters are, ``documents`` or ``sentences`` (`headscope.measures.resample.Clusters`).
        seed: of the divisions into parts, to choose and to score apart.
        least: instances that a relation needs for a best head to be named (100 in the paper).
        meta: what made the figures.

    Returns:
        ``accuracy``, ``ci_low``, ``ci_high`` of every head (95 %, of that head, given the choice where it is the best),
        ``n`` and ``effective`` clusters of every relation, ``baseline`` over ``(relation, offset)``; and over
        ``relation``, where a best head is named: ``best`` (its index among direction × layer × head, −1 for none);
        ``split_accuracy``, ``split_low`` and ``split_high`` of choosing and scoring on different clusters, the choice
        included (`headscope.measures.resample.Chosen`); ``times`` that the best head was the choice, of ``choices``;
        ``difference`` to the best offset, chosen and scored alike, with ``difference_low`` and ``difference_high``;
        ``p`` that there is no gain, and ``q`` with the false discovery rate over the relations. Intervals and tests are
        NaN with too few effective clusters (`headscope.measures.jackknife.LEAST`).

    Raises `InputError` when there is no sentence.
    """
    if not words.count:
        raise InputError("treebank: expected at least one sentence, found none")
    resampling = Resampling(words.answers, seed=seed)
    subsets = _subsets(words.answers)
    columns = stacked([_relation(words, resampling.of(instances), least) for instances in subsets.values()])
    columns["q"] = false_discovery(columns["p"])
    axes = {**dict.fromkeys(_HEADS, ("direction", "layer", "head")), "baseline": ("offset",)}
    described = {**(meta or {}), "sentences": words.count, "seed": seed, "least": least}
    described |= {"clusters": clusters, "clusters_count": words.answers.clusters_count}
    return xr.Dataset(
        {name: (("relation", *axes.get(name, ())), values) for name, values in columns.items()},
        coords={
            "relation": list(subsets),
            "direction": list(DIRECTIONS),
            "layer": list(words.layers),
            "head": np.arange(words.heads),
            "offset": list(words.baselines),
        },
        attrs={"meta": json.dumps(described, ensure_ascii=False)},
    )


def _relation(words: Words, scores: Accuracies, least: int) -> dict[str, Any]:
    """The figures of a relation."""
    count = math.prod(words.shape)
    ends = zip(_HEADS, (scores.value, *scores.interval()), strict=True)
    row: dict[str, Any] = {name: values[:count].reshape(words.shape) for name, values in ends}
    row |= {"baseline": scores.value[count:], "n": scores.n, "effective": scores.documents, "best": -1}
    row |= dict.fromkeys((*_SPLIT, *_GAIN), np.nan)
    if scores.n < least or not row["accuracy"].any():  # of roots no head is right
        return row
    best = scores.chosen(slice(count))
    row |= {"best": best.place, "times": best.times, "choices": best.choices}
    row |= zip(_SPLIT, (best.split, *best.interval()), strict=False)
    if words.baselines:
        gain = best.gain(scores.chosen(slice(count, None)))
        row |= zip(_GAIN, (gain.value, *gain.interval()), strict=False)
        row["p"] = gain.above()
    return row


def _subsets(answers: Answers) -> dict[str, BoolArray]:
    """The words of each row of the table: all, all but punctuation and roots, each relation by frequency."""
    numbers = answers.numbers()
    outside = [number for name, number in answers.labels.items() if name.split(":")[0] in ("punct", "root")]
    sizes = np.bincount(numbers, minlength=len(answers.labels))
    names = sorted(answers.labels, key=lambda name: (-int(sizes[answers.labels[name]]), name))
    subsets = {ALL: np.ones(len(numbers), np.bool_), WITHOUT: ~np.isin(numbers, outside)}
    return subsets | {name: numbers == answers.labels[name] for name in names}


def table(result: xr.Dataset) -> pd.DataFrame:
    """The best head of each relation, with `COLUMNS` and `CHOSEN`; no head where there are `few` instances.

    ``ci_low`` and ``ci_high`` are given the choice; ``split_low`` and ``split_high`` include it.
    """
    best = result["best"].values
    few = best < 0
    heads = result["accuracy"].size // len(best)
    every: Any = every_head(result)
    rows = every.iloc[np.arange(len(best)) * heads + best.clip(0)].reset_index(drop=True)
    of_head = ["layer", "head", "paper", "direction", *_HEADS]
    rows[of_head] = rows[of_head].mask(np.repeat(few[:, None], len(of_head), 1))
    figures: dict[str, Any] = {name: result[name].values for name in CHOSEN if name in result}
    rows = rows.assign(**figures, few=few, clusters=description(result)["clusters"])
    whole = ("layer", "head", "baseline_offset", "times", "choices")
    return rows[[*COLUMNS, *CHOSEN]].astype(dict.fromkeys(whole, "Int64"))


def every_head(result: xr.Dataset) -> pd.DataFrame:
    """Every head and direction of each relation, with `COLUMNS`."""
    axes = ["relation", "direction", "layer", "head"]
    rows: Any = result[["n", *_HEADS]].to_dataframe(axes).reset_index()
    heads = len(rows) // result.sizes["relation"]
    offsets = [_baseline(result.sel(relation=name)) for name in result["relation"].values]
    rows["baseline_offset"] = [offset for offset, _ in offsets for _ in range(heads)]
    rows["baseline_accuracy"] = [accuracy for _, accuracy in offsets for _ in range(heads)]
    rows["paper"] = papers(rows["layer"], rows["head"])
    return rows[list(COLUMNS)]


def _baseline(relation: xr.Dataset) -> tuple[int | None, float]:
    """The best offset and its accuracy."""
    accuracies = relation["baseline"].values
    if not np.isfinite(accuracies).any():
        return None, np.nan
    best = int(np.nanargmax(accuracies))
    return int(relation["offset"][best]), float(accuracies[best])
