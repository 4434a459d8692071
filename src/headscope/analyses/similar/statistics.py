"""Tables of why texts are near."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.why.statistics import agreement
from headscope.core.arrays import Bools, Floats
from headscope.statistics import jackknife

LEVEL = 0.05
"""The q up to which a unit, or a pair of them, passes."""

THROUGH = ("input", "side", "unit", "layer", "head", "estimate", "effect")
"""What is known of a head that carries a unit."""

OTHER = "other tokens"
"""The unit, of texts whose tokens have a vector each, of a prompt, special tokens, and what fills a query up."""

PASSES = 1024
"""Interactions of two texts that are read together are measured where they take at most so many passes."""

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

    ``below``: in which share of the pairs a pair of the label ``paraphrase`` with the same text A is nearer, and
    ``below_se``. Where all labels are numbers: ``label (score), n, correlation`` (Spearman's).
    """
    frame: Any = result[["similarity", "label", "text_a"]].to_dataframe()
    if all(map(_number, frame["label"])):
        rank = agreement(frame["label"].astype(float).to_numpy(), frame["similarity"].to_numpy())
        return pd.DataFrame([{"label": "score", "n": len(frame), "correlation": rank}])
    best = frame[frame["label"] == "paraphrase"].groupby("text_a")["similarity"].max()
    nearer: Any = frame["text_a"].map(best)
    frame["below"] = (frame["similarity"] < nearer).astype(float).where(nearer.notna())
    rows: list[dict[str, Any]] = []
    for label, some in frame.groupby("label", sort=False):
        row = {"label": label, "n": len(some)}
        for name in ("similarity", "below"):
            values = some[name].to_numpy()
            ones = np.ones(len(values))
            row |= {
                name: values.mean(),
                f"{'' if name == 'similarity' else 'below_'}se": float(jackknife.error(values, ones)),
            }
        rows.append(row | ({"below": np.nan, "below_se": np.nan} if label == "paraphrase" else {}))
    return pd.DataFrame(rows).sort_values("similarity", ascending=False, kind="stable", ignore_index=True)


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
