"""Tables of why texts are near."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.probes.statistics import Mean
from headscope.analyses.why.statistics import agreement
from headscope.core.arrays import Bools, Floats, quiet
from headscope.statistics import jackknife

LEVEL = 0.05
"""The q up to which a unit, or a pair of them, passes."""

THROUGH = ("input", "side", "unit", "layer", "head", "estimate", "effect")
"""What is known of a head that carries a unit."""

OTHER = "other tokens"
"""The unit, of texts whose tokens have a vector each, of a prompt, special tokens, and what fills a query up."""

PASSES = 1024
"""Interactions of two texts that are read together are measured where they take at most so many passes."""

NEAR = ("similarity", "against")
"""How near pairs are, in a model and in another."""

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
    """How near pairs of each label are: ``label, n, similarity, se``, the nearest first.

    ``below``: in which share of the pairs the right text of the same text A (of a label in `RIGHT`) is nearer. Where
    all labels are numbers: ``label (score), n, correlation`` (Spearman's). ``heed``: of words of a class, as in
    `headscope.analyses.similar.heed`. Of two models each has a row, ``model``, and so has A − B.
    """
    names = [name for name in NEAR if name in result]
    frame: Any = result[[*names, "label", "text_a"]].to_dataframe()
    labels, of = frame["label"], frame["text_a"]
    made: list[dict[tuple[str, str], Mean]] = []
    for place, name in enumerate(names):
        means: dict[tuple[str, str], Mean] = {}
        if all(map(_number, labels)):
            means["score", "correlation"] = _correlation(labels.to_numpy(float), frame[name].to_numpy())
        else:
            known: Any = frame[name].where(labels.isin(RIGHT))
            right = known.groupby(of).ffill()
            right = right.groupby(of).bfill()
            below = (frame[name] < right).astype(float).where(right.notna() & known.isna())
            means |= _means("similarity", frame[name], labels, of) | _means("below", below, labels, of)
        if "heed" in result:
            means |= _means("heed", result["heed"].values[place], result["class"], result["document_of"])
        made.append(means)
    if len(made) == 2:
        made.append({key: one.minus(made[1][key]) for key, one in made[0].items()})
    rows: dict[tuple[bool, str, int], dict[str, Any]] = {}
    for place, means in enumerate(made):
        for (label, name), mean in means.items():
            key = name == "heed", label, place
            row = rows.setdefault(key, {"label": label, "n": int(mean.n)})
            if len(made) > 1:
                row["model"] = ("A", "B", "A − B")[place]
            if name in ("similarity", "heed"):
                row |= {name: mean.value, "heed_se" if name == "heed" else "se": float(mean.gain.se)}
            else:
                row |= jackknife.ends(name, mean.value, _ends(name, mean, paired=place == 2))
    first = sorted(
        (key for key in rows if not key[2]),
        key=lambda key: (key[0], -rows[key].get("heed", rows[key].get("similarity", 0.0))),
    )
    return pd.DataFrame([rows[heed, label, place] for heed, label, _ in first for place in range(len(made))])


def _means(name: str, values: Any, labels: Any, clusters: Any) -> dict[tuple[str, str], Mean]:
    """The mean of each label, over texts or documents."""
    frame: Any = pd.DataFrame({"label": labels, "of": clusters, "value": values}).dropna()
    made: dict[tuple[str, str], Mean] = {}
    for label, some in frame.groupby("label", sort=False):
        s, n = some.groupby("of")["value"].agg(["sum", "count"]).to_numpy(float).T
        documents = float(jackknife.effective(n))
        value = float(s.sum() / n.sum())
        made[label, name] = Mean(
            value, jackknife.left_out(s, n), n > 0, documents, float(n.sum()), share=name == "below"
        )
    return made


def _correlation(scores: Floats, near: Floats) -> Mean:
    """Spearman's correlation, and what it is without each of up to `GROUPS` groups of pairs."""
    count = min(GROUPS, len(near))
    group = np.random.default_rng(0).permutation(len(near)) % count
    without = [agreement(scores[group != one], near[group != one]) for one in range(count)]
    there = np.ones(count, np.bool_)
    documents = float(count if count >= FEW else 0)
    return Mean(agreement(scores, near), np.array(without), there, documents, len(near), share=False)


def _ends(name: str, mean: Mean, *, paired: bool) -> tuple[float, float]:
    """The ends of an interval, of a correlation on Fisher's scale."""
    if name == "below" or paired:
        return mean.ends
    value, se, documents = (np.asarray(one) for one in (mean.value, mean.gain.se, mean.documents))
    with quiet():
        low, high = np.tanh(jackknife.interval(np.arctanh(value), se / (1 - value**2), documents))
    return float(low), float(high)


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


def words(frame: Any) -> Any:
    """The rows of units, or of pairs of them, that are of the texts themselves."""
    return frame[~frame.filter(like="text").eq(OTHER).any(axis=1)]


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
