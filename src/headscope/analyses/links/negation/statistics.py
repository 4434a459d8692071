"""Negation scope in single heads: do the words in the scope of a negation look at its cue?

Source: Zhao & Bethard 2020, "How does BERT's attention change when you fine-tune?", section 3. Each word but the cue is
predicted to be in the scope where the word that it looks at most is the cue; the annotated scope scores that. What the
paper left out is here: intervals and tests over documents (sentences where no documents are known), baselines that
know only where the cue is, and the F1 of heads that were chosen on others than they are scored on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.links.sums import LinkSums
from headscope.core.arrays import Bools, Floats
from headscope.core.counts import layers_by_heads
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError
from headscope.measures.dataset import describe, description
from headscope.measures.tidy import of_heads
from headscope.statistics.jackknife import ENDS, ends, false_discovery
from headscope.statistics.resample import HitRatios, Resampling, paired

SCORES = ("precision", "recall", "f1")
NEAR = range(1, 6)
RULES = (*(f"next_{words}" for words in NEAR), "after", "before", "all")
"""What knows the cue alone: the next 1 to 5 words after a word of the cue are in the scope; all words after its first
word, all before its last, all words."""

BASELINES = ("chance", *RULES)
"""These, and before them what each word looks at by chance (counts are expected ones)."""

SCOPE, OUTSIDE = "scope", "outside"
"""Labels of words in the scope, and of those outside of scope and cue."""

COLUMNS = ("layer", "head", "paper", "score", "value", "ci_low", "ci_high", "n")
_GAIN = ("difference", "difference_low", "difference_high", "p")
MORE = ("system", *_GAIN, "q", "times", "choices", "effective", "clusters")
"""Columns of `table` beside `COLUMNS`."""

_BLOCKS = 2_000
_COUNTS = ("right", "wrong", "missed")


def rules(cue: Bools) -> Bools:
    """Which words each of `RULES` puts into the scope, ``[rule word]``; those of the cue do not count."""
    words = np.arange(len(cue))
    places = np.flatnonzero(cue)
    beyond = words - places[:, None]  # [word of the cue, word]
    near = [((beyond > 0) & (beyond <= reach)).any(0) for reach in NEAR]
    return np.stack([*near, words > places[0], words < places[-1], np.ones_like(cue)])


def counts(sums: LinkSums) -> Floats:
    """Words rightly put into the scope, wrongly so, and missed, of each cluster, ``[cluster predictor 3]``.

    A head puts a word there whose choice is in the cue. Predictors are the heads of `sums`, then `BASELINES`.
    """
    answers = sums.answers
    resampling, inside = Resampling(answers), answers.numbers() == answers.labels.get(SCOPE, -1)
    (right, words), (wrong, _) = resampling.sums(inside), resampling.sums(~inside)
    every: Floats = np.stack([right, wrong, words - right], -1, dtype=np.float64)
    heads = math.prod(sums.shape)
    return np.insert(every[:, :-1], heads, every[:, -1], 1)  # of baselines chance comes first


def scores(sums: Floats, seed: int = 0) -> dict[str, HitRatios]:
    """Precision, recall and F1 of `counts`; 0 where nothing is predicted to be in a scope."""
    right, wrong, missed = np.moveaxis(sums, -1, 0)
    of = (right + wrong, right + missed, right + (wrong + missed) / 2)
    return {name: HitRatios(right, size, seed) for name, size in zip(SCORES, of, strict=True)}


def dataset(
    sums: Floats,
    layers: Sequence[int],
    *,
    kind: str = "sentences",
    seed: int = 0,
    meta: AnyMapping | None = None,
) -> xr.Dataset:
    """``precision``, ``recall`` and ``f1`` over ``(layer, head)``, each with ``_low`` and ``_high``, and of baselines.

    Intervals (95 %) are of the jackknife over clusters. Heads have the ``difference`` of their F1 to that of the
    baseline whose F1 is largest, with ``_low``, ``_high``, the ``p`` that there is no gain, and ``q`` over heads.
    Of the head whose F1 is largest (``best``, its index) there is what choosing gives, the choice included
    (`headscope.statistics.resample.HeldOut`): ``split_f1``, ``times`` that the best head was the choice, of
    ``choices``, and ``split_difference`` to the baseline whose F1 is largest, with ``split_p``. Each ``p`` is the
    largest of those beside each baseline. ``counts`` are those of each block of clusters (neighbours, at most 2,000),
    for `difference`.

    Args:
        sums: `counts`, ``[cluster predictor 3]``.
        layers: the model's index of each layer.
        kind: what the clusters are (`headscope.statistics.resample.Clusters`).
        seed: of the divisions.
        meta: what made the figures.

    Raises `InputError` when there is no sentence.
    """
    if not len(sums):
        raise InputError("corpus: expected at least one sentence with a cue and a scope, found none")
    count = sums.shape[1] - len(BASELINES)
    heads, rules, shape = slice(count), slice(count, None), (len(layers), -1)
    variables: AnyDict = {}
    ratios = scores(sums, seed)
    gain, p = ratios["f1"].gain(heads, rules)
    figures = ends("difference", gain.value, gain.interval()) | {"p": p, "q": false_discovery(p)}
    for name, score in ratios.items():
        for end, values in ends("", score.value, score.interval()).items():
            figures[name + end] = values[heads]
            variables[f"{name}_baseline{end}"] = "rule", values[rules]
    variables |= {name: (("layer", "head"), np.reshape(values, shape)) for name, values in figures.items()}
    for name, value in ratios["f1"].chosen(heads, rules).items():
        plain = name in ("best", "times", "choices")
        variables[name if plain else f"split_{name.replace('split', 'f1')}"] = value
    blocks = np.arange(0, len(sums), -(-len(sums) // _BLOCKS))
    of_heads = np.add.reduceat(sums[:, heads], blocks, axis=0).reshape(len(blocks), *shape, len(_COUNTS))
    variables["counts"] = ("block", "layer", "head", "count"), of_heads
    described = {"sentences": len(sums), **(meta or {}), "seed": seed}
    return xr.Dataset(
        variables,
        {
            "layer": list(layers),
            "head": np.arange(count // len(layers)),
            "rule": list(BASELINES),
            "count": list(_COUNTS),
        },
        describe({**described, "clusters": kind, "clusters_count": len(sums)}),
    )


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head and score, then one a baseline and score, with `COLUMNS` and `MORE`; n is the number of sentences.

    The last row is the F1 of heads that were chosen on some clusters and scored on others: its interval includes the
    choice, those of heads do not.
    """
    about = description(result)

    def of(name: str) -> dict[str, Floats]:
        return {
            column: result[name + end].values.ravel() for column, end in zip(COLUMNS[4:7], ENDS, strict=True)
        }

    gains = {name: result[name].values.ravel() for name in (*_GAIN, "q")}
    heads: Any = _rows(result, lambda score: {**of(score), **(gains if score == "f1" else {})})
    rules = [
        pd.DataFrame({"system": result["rule"].values, "score": score, **of(f"{score}_baseline")})
        for score in SCORES
    ]
    split = {name: float(result[f"split_{name}"]) for name in _GAIN}
    split |= {name: int(result[name]) for name in ("times", "choices")}
    chosen = pd.DataFrame(
        {"system": ["best head, chosen on others"], "score": "f1", **of("split_f1"), **split}
    )
    rows: Any = pd.concat([heads.assign(system="head"), *rules, chosen], ignore_index=True)
    rows = rows.reindex(columns=[*COLUMNS, *MORE]).assign(
        n=about["sentences"], effective=_effective(result), clusters=about["clusters"]
    )
    return rows.astype(dict.fromkeys(("layer", "head", "times", "choices"), "Int64"))


def _effective(result: xr.Dataset) -> float:
    """Effective clusters (blocks of them, where there are many) by the words that are in a scope."""
    return float(scores(result["counts"].values[:, 0, 0])["recall"].documents)


def difference(before: xr.Dataset, after: xr.Dataset) -> pd.DataFrame:
    """What fine-tuning changed: ``layer, head, paper, score, before, after, difference, ci_low, ci_high, n``.

    The intervals are of the difference, paired by cluster. Raises `InputError` for datasets of other sentences,
    clusters or shapes.
    """
    first, second = (description(result) for result in (before, after))
    for name in ("sentences", "clusters", "clusters_count"):
        if first[name] != second[name]:
            raise InputError(
                f"negation: expected the same {name} in both, found {first[name]} and {second[name]}"
            )
    if before["f1"].shape != after["f1"].shape:
        shapes = [
            layers_by_heads([result.sizes["head"]] * result.sizes["layer"]) for result in (before, after)
        ]
        raise InputError(f"negation: expected models of the same shape, found {' and '.join(shapes)}")

    def changed(score: str) -> dict[str, Floats]:
        first, second = (scores(result["counts"].values)[score] for result in (before, after))
        low, high = paired(second.right, second.size, first.right, first.size).interval()
        was, is_now = before[score].values, after[score].values
        columns = {"before": was, "after": is_now, "difference": is_now - was, "ci_low": low, "ci_high": high}
        return {name: values.ravel() for name, values in columns.items()}

    rows: Any = _rows(before, changed)
    rows = rows.assign(n=first["sentences"])
    rows.attrs["meta"] = {"before": first, "after": second}
    return rows


def _rows(result: xr.Dataset, columns: Callable[[str], dict[str, Floats]]) -> pd.DataFrame:
    """A row a score and head. `columns` gives those of a score, ``[head]``."""
    heads: Any = of_heads(result)
    return pd.concat([heads.assign(score=score, **columns(score)) for score in SCORES], ignore_index=True)
