"""Tables of why texts are near."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.why.statistics import agreement
from headscope.core.arrays import Bools, Floats, quiet
from headscope.statistics import jackknife

LEVEL = 0.05
"""The q up to which a unit, or a pair of them, passes."""

THROUGH = ("input", "side", "unit", "layer", "head", "estimate", "effect")
"""What is known of a head that carries a unit."""

PASSES = 1024
"""Interactions of two texts that are read together are measured where they take at most so many passes."""

NEAR = ("similarity", "against")
"""How near pairs are, in a model and in another."""

MODELS = ("A", "B", "A − B")
"""Rows of each label, where there are two models."""

RIGHT = ("paraphrase", "right")
"""Labels of pairs that should be nearer than others of the same text A."""

GROUPS, FEW = 200, 10
"""In so many groups pairs are left out for a correlation's error; with fewer pairs it has none."""

BAR = 0.5
"""Without chance a pair passes with at least this share of the largest interaction."""


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a unit: ``input, side (a or b), unit, level, text, effect, p, q, deleted``; of pairs, one a label."""
    if "label" in result.coords:
        return by_label(result)
    names = {"input": "input_of", "unit": "number", "effect": "unit_effect"}
    columns = ("input", "side", "unit", "level", "text", "effect", "p", "q", "deleted")
    return pd.DataFrame({name: result[names.get(name, name)].values for name in columns})


def by_label(result: xr.Dataset) -> pd.DataFrame:
    """How near pairs of each label are: ``label, n, similarity``, the nearest first, with the ends of intervals.

    ``below``: in which share of the pairs the right text of the same text A (of a label in `RIGHT`) is nearer. Where
    all labels are numbers: ``label (score), n, correlation`` (Spearman's). ``heed``: of words of a class, as in
    `headscope.analyses.similar.heed`. Of two models each has a row, ``model``, and so has A − B.
    """
    names = [name for name in NEAR if name in result]
    frame: Any = result[[*names, "label", "text_a"]].to_dataframe()
    labels, of, near = frame["label"], frame["text_a"], frame[names].to_numpy().T
    if all(map(_number, labels)):
        tables = [_correlations(labels.to_numpy(float), near)]
    else:
        known: Any = frame[names].where(labels.isin(RIGHT))
        right = known.groupby(of).ffill().groupby(of).bfill()
        below = (frame[names] < right).astype(float).where(right.notna() & known.isna()).to_numpy().T
        share: Any = _means("below", below, labels, of).drop(columns="n")
        tables = [_means("similarity", near, labels, of).merge(share, "left", ["label", "model"])]
    if "heed" in result:
        tables.append(
            _means("heed", result["heed"].values, result["class"].values, result["document_of"].values)
        )
    rows: Any = pd.concat(tables, ignore_index=True)
    return rows if len(names) > 1 else rows.drop(columns="model")


def _means(name: str, values: Floats, labels: Any, of: Any) -> Any:
    """The mean of each label by model, ``[model value]``, over texts or documents; the largest first."""
    values = np.concatenate([values, values[:1] - values[1:]])
    frame: Any = pd.DataFrame({"label": labels, "of": of, **dict(enumerate(values))}).dropna()
    rows: list[dict[str, Any]] = []
    for label, some in frame.groupby("label", sort=False):
        for place, model in zip(range(len(values)), MODELS, strict=False):
            s, n = some.groupby("of")[place].agg(["sum", "count"]).to_numpy(float).T
            value, se, documents = s.sum() / n.sum(), jackknife.error(s, n), jackknife.effective(n)
            if name != "below":
                ends = jackknife.interval(value, se, documents, skew=jackknife.skewness(s, n))
            elif place < len(NEAR):
                ends = jackknife.share_interval(value, se, documents, n.sum())
            else:
                ends = jackknife.interval(value, se, documents, most=1.0)
            rows.append(
                {"label": label, "n": int(n.sum()), "model": model, **jackknife.ends(name, value, ends)}
            )
    made: Any = pd.DataFrame(rows, columns=["label", "n", "model", *jackknife.ends(name, 0, (0, 0))])
    first = made[made["model"] == "A"].sort_values(name, ascending=False, kind="stable")["label"]
    return made.set_index("label").loc[first].reset_index()


def _correlations(scores: Floats, near: Floats) -> Any:
    """Spearman's correlation by model, ``[model pair]``, with an interval by up to `GROUPS` groups of pairs."""
    count = min(GROUPS, len(scores))
    group = np.random.default_rng(0).permutation(len(scores)) % count
    kept = [np.ones(len(scores), np.bool_), *(group != one for one in range(count))]
    values = np.array([[agreement(scores[some], one[some]) for some in kept] for one in near])
    rows: list[dict[str, Any]] = []
    for model, (value, *without) in zip(MODELS, [*values, *(values[:1] - values[1:])], strict=False):
        se = jackknife.spread(np.array(without), np.ones(count, np.bool_))
        documents = np.asarray(float(count if count >= FEW else 0))
        with quiet():
            ends: Any = (
                jackknife.interval(value, se, documents, most=1.0)
                if model == MODELS[-1]
                else np.tanh(jackknife.interval(np.arctanh(value), se / (1 - value**2), documents))
            )
        rows.append(
            {"label": "score", "n": len(scores), "model": model, **jackknife.ends("correlation", value, ends)}
        )
    return pd.DataFrame(rows)


def _number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def pairs(result: xr.Dataset) -> pd.DataFrame:
    """One row a pair of units, the largest interactions first.

    ``input, unit_a, unit_b, text_a, text_b, interaction, direction, p, q``, and whether each is the other's best by
    either: ``by_interaction``, ``by_direction``.
    """
    rows: Any = table(result)
    units: Any = rows.set_index(["input", "side", "unit"])["text"]
    names = {"input": "input_of_pair", "unit_a": "unit_a", "unit_b": "unit_b"}
    frame: Any = pd.DataFrame({name: result[of].values for name, of in names.items()})
    for side in "ab":
        keys = zip(frame["input"], [side] * len(frame), frame[f"unit_{side}"], strict=True)
        frame[f"text_{side}"] = units.loc[[*keys]].to_numpy()
    for name in ("interaction", "direction", "p_pair", "q_pair"):
        frame[name.removesuffix("_pair")] = result[name].values
    for name in ("interaction", "direction"):
        best = [frame.groupby(["input", f"unit_{side}"])[name].transform("max") for side in "ab"]
        frame[f"by_{name}"] = (frame[name] == best[0]) & (frame[name] == best[1]) & (frame[name] > 0)
    return frame.sort_values(
        ["input", "interaction"], ascending=[True, False], kind="stable", ignore_index=True
    )


def ranked(result: xr.Dataset) -> pd.DataFrame:
    """One row a document, the nearest first: ``rank, document, similarity, text``."""
    return pd.DataFrame(
        {
            "rank": np.arange(1, result.sizes["document"] + 1),
            "document": result["document"].values,
            "similarity": result["ranked"].values,
            "text": result["document_text"].values,
        }
    )


def through(result: xr.Dataset) -> pd.DataFrame:
    """One row a head that carries a unit: ``input, side, unit, layer, head, estimate, effect``, without these none."""
    names = {name: f"through_{name}" for name in THROUGH}
    return pd.DataFrame({name: result[of].values if of in result else [] for name, of in names.items()})


def passing(interactions: Floats, q: Floats) -> Bools:
    """Which pairs of units pass: by chance, or where that was not measured by their size."""
    if np.isnan(q).all():
        return interactions >= max(BAR * float(interactions.max(initial=0)), np.finfo(float).tiny)
    return q <= LEVEL
