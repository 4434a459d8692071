"""Negation scope in single heads: do the words in the scope of a negation look at its cue?

Source: Zhao & Bethard 2020, "How does BERT's attention change when you fine-tune?", section 3. Each word but the cue is
said to be in the scope where the word that it looks at most is the cue; this is scored against the annotated scope.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.syntax.statistics import predictions
from headscope.errors import InputError
from headscope.heads import Head
from headscope.measures.measure import Floats
from headscope.measures.resample import bootstrap, interval
from headscope.tokens import BoolArray

SCORES = ("precision", "recall", "f1")
COLUMNS = ("layer", "head", "paper", "score", "value", "ci_low", "ci_high", "n")


def counts(maps: npt.NDArray[Any], cue: BoolArray, scope: BoolArray) -> Floats:
    """Words rightly said to be in the scope, wrongly said to be, and missed, ``[head word word] -> [head 3]``."""
    said = cue[predictions(maps)[0]] & ~cue
    gold = scope & ~cue
    return np.stack([(said & gold).sum(-1), (said & ~gold).sum(-1), (~said & gold).sum(-1)], -1).astype(
        np.float64
    )


def scores(sums: Floats) -> Floats:
    """Precision, recall and F1 of counts, ``[... 3] -> [... 3]``; 0 where nothing is said to be in a scope."""
    right, wrong, missed = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.stack(
            [right / (right + wrong), right / (right + missed), 2 * right / (2 * right + wrong + missed)], -1
        )
    return np.nan_to_num(found)


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
    for place, name in enumerate(SCORES):
        variables[name] = (axes, value[..., place])
        variables[f"{name}_low"] = (axes, low[..., place])
        variables[f"{name}_high"] = (axes, high[..., place])
        variables[f"{name}_drawn"] = (("replicate", *axes), drawn[..., place])
    described = {**dict(meta or {}), "sentences": len(each), "seed": seed}
    return xr.Dataset(
        variables,
        coords={"layer": list(layers), "head": np.arange(each.shape[2])},
        attrs={"meta": json.dumps(described, ensure_ascii=False)},
    )


def table(found: xr.Dataset) -> pd.DataFrame:
    """One row a head and score, with `COLUMNS`; n is the number of sentences."""
    n = json.loads(found.attrs["meta"])["sentences"]
    rows = [
        {**_head(found, layer, head), "score": name, **_interval(found, name, layer, head), "n": n}
        for name in SCORES
        for layer, head in np.ndindex(found.sizes["layer"], found.sizes["head"])
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def difference(before: xr.Dataset, after: xr.Dataset) -> pd.DataFrame:
    """What fine-tuning changed: ``layer, head, paper, score, before, after, difference, ci_low, ci_high, n``.

    The intervals are of the difference, the same sentences drawn for both. Raises `InputError` for datasets of other
    sentences, seeds or shapes.
    """
    metas = [json.loads(each.attrs["meta"]) for each in (before, after)]
    for name in ("sentences", "seed"):
        if metas[0][name] != metas[1][name]:
            raise InputError(
                f"negation: expected the same {name} in both, found {metas[0][name]} and {metas[1][name]}"
            )
    if before["f1_drawn"].shape != after["f1_drawn"].shape:
        shapes = " and ".join(
            f"{found.sizes['layer']} layers × {found.sizes['head']} heads" for found in (before, after)
        )
        raise InputError(f"negation: expected models of the same shape, found {shapes}")
    rows: list[dict[str, Any]] = []
    for name in SCORES:
        gain = after[f"{name}_drawn"].values - before[f"{name}_drawn"].values
        low, high = interval(gain)
        for layer, head in np.ndindex(*low.shape):
            one, two = (float(each[name].values[layer, head]) for each in (before, after))
            row = {
                **_head(before, layer, head),
                "score": name,
                "before": one,
                "after": two,
                "difference": two - one,
            }
            rows.append(
                {**row, "ci_low": low[layer, head], "ci_high": high[layer, head], "n": metas[0]["sentences"]}
            )
    return pd.DataFrame(rows)


def _head(found: xr.Dataset, layer: int, head: int) -> dict[str, Any]:
    which = Head(int(found["layer"].values[layer]), int(found["head"].values[head]))
    return {"layer": which.layer, "head": which.head, "paper": which.paper}


def _interval(found: xr.Dataset, name: str, layer: int, head: int) -> dict[str, float]:
    ends = {"value": name, "ci_low": f"{name}_low", "ci_high": f"{name}_high"}
    return {column: float(found[variable].values[layer, head]) for column, variable in ends.items()}
