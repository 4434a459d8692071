"""Negation scope in single heads: do the words in the scope of a negation look at its cue?

Source: Zhao & Bethard 2020, "How does BERT's attention change when you fine-tune?", section 3. Each word but the cue is
predicted to be in the scope where the word that it looks at most is the cue; the annotated scope scores that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.predictions import papers
from headscope.analyses.syntax.statistics import predictions
from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.measures.measure import Floats
from headscope.measures.resample import bootstrap, interval
from headscope.tokens import BoolArray

SCORES = ("precision", "recall", "f1")
COLUMNS = ("layer", "head", "paper", "score", "value", "ci_low", "ci_high", "n")


def counts(maps: npt.NDArray[Any], cue: BoolArray, scope: BoolArray) -> Floats:
    """Words rightly predicted to be in the scope, wrongly so, and missed, ``[head word word] -> [head 3]``."""
    predicted = cue[predictions(maps)[0]] & ~cue
    gold = scope & ~cue
    return np.stack(
        [(predicted & gold).sum(-1), (predicted & ~gold).sum(-1), (~predicted & gold).sum(-1)], -1
    ).astype(np.float64)


def scores(sums: Floats) -> Floats:
    """Precision, recall and F1 of counts, ``[... 3] -> [... 3]``; 0 where nothing is predicted to be in a scope."""
    right, wrong, missed = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = right / (right + wrong), right / (right + missed), 2 * right / (2 * right + wrong + missed)
    return np.nan_to_num(np.stack(shares, -1))


def dataset(
    sums: Sequence[Floats],
    layers: Sequence[int],
    *,
    seed: int = 0,
    replicates: int = 1000,
    meta: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """``precision``, ``recall`` and ``f1`` over ``(layer, head)``, each with ``_low`` and ``_high``.

    The intervals (95 %) are of a Poisson bootstrap over sentences; the same seed draws the same sentences, so that
    datasets of two models on the same sentences can be compared by `difference`, whose replicates are kept for it.

    Args:
        sums: `counts` of each sentence, ``[layer head 3]``.
        layers: the model's index of each layer.
        seed, replicates: of the bootstrap.
        meta: what made the figures.

    Raises `InputError` when there is no sentence.
    """
    if not sums:
        raise InputError("corpus: expected at least one sentence with a cue and a scope, found none")
    each = np.stack(sums)  # [sentence layer head 3]
    weights = bootstrap(np.random.default_rng(seed), replicates, len(each)).astype(np.float64)
    drawn = scores((weights @ each.reshape(len(each), -1)).reshape(replicates, *each.shape[1:]))
    value = scores(each.sum(0))
    low, high = interval(drawn)
    axes = ("layer", "head")
    variables: dict[str, Any] = {}
    for index, name in enumerate(SCORES):
        for end, values in (("", value), ("_low", low), ("_high", high)):
            variables[name + end] = (axes, values[..., index])
        variables[f"{name}_drawn"] = (("replicate", *axes), drawn[..., index])
    described = {**dict(meta or {}), "sentences": len(each), "seed": seed}
    return xr.Dataset(
        variables,
        coords={"layer": list(layers), "head": np.arange(each.shape[2])},
        attrs={"meta": json.dumps(described, ensure_ascii=False)},
    )


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head and score, with `COLUMNS`; n is the number of sentences."""
    n = description(result)["sentences"]
    ends = {"value": "", "ci_low": "_low", "ci_high": "_high"}
    return _rows(
        result, lambda score: {column: result[score + end].values for column, end in ends.items()}, n
    )


def difference(before: xr.Dataset, after: xr.Dataset) -> pd.DataFrame:
    """What fine-tuning changed: ``layer, head, paper, score, before, after, difference, ci_low, ci_high, n``.

    The intervals are of the difference, the same sentences drawn for both. Raises `InputError` for datasets of other
    sentences, seeds or shapes.
    """
    first, second = (description(each) for each in (before, after))
    for name in ("sentences", "seed"):
        if first[name] != second[name]:
            raise InputError(
                f"negation: expected the same {name} in both, found {first[name]} and {second[name]}"
            )
    if before["f1_drawn"].shape != after["f1_drawn"].shape:
        shapes = [f"{each.sizes['layer']} layers × {each.sizes['head']} heads" for each in (before, after)]
        raise InputError(f"negation: expected models of the same shape, found {' and '.join(shapes)}")

    def changed(score: str) -> dict[str, npt.NDArray[Any]]:
        drawn = after[f"{score}_drawn"].values - before[f"{score}_drawn"].values
        low, high = interval(drawn)
        first, second = before[score].values, after[score].values
        return {
            "before": first,
            "after": second,
            "difference": second - first,
            "ci_low": low,
            "ci_high": high,
        }

    return _rows(before, changed, first["sentences"])


def _rows(result: xr.Dataset, columns: Callable[[str], dict[str, npt.NDArray[Any]]], n: int) -> pd.DataFrame:
    """A row a score and head. `columns` gives those of a score, ``[layer head]``."""
    grid = np.meshgrid(result["layer"].values, result["head"].values, indexing="ij")
    layers, heads = (each.ravel() for each in grid)
    of_head = {"layer": layers, "head": heads, "paper": papers(layers, heads)}
    frames = [
        pd.DataFrame(
            {
                **of_head,
                "score": score,
                **{name: each.ravel() for name, each in columns(score).items()},
                "n": n,
            }
        )
        for score in SCORES
    ]
    return pd.concat(frames, ignore_index=True)
