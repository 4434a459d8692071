"""Tables of why texts are near."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import Bools, Floats

LEVEL = 0.05
"""The q up to which a unit, or a pair of them, passes."""

BAR = 0.5
"""Without chance a pair passes with at least this share of the largest interaction."""


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a unit: ``input, side (a or b), unit, level, text, effect, p, q, deleted``."""
    names = {"input": "input_of", "side": "side", "unit": "number"}
    names |= {
        "level": "level",
        "text": "text",
        "effect": "unit_effect",
        "p": "p",
        "q": "q",
        "deleted": "deleted",
    }
    return pd.DataFrame({name: result[of].values for name, of in names.items()})


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
    for name, of in {
        "interaction": "interaction",
        "direction": "direction",
        "p": "p_pair",
        "q": "q_pair",
    }.items():
        frame[name] = result[of].values
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


def passing(interactions: Floats, q: Floats) -> Bools:
    """Which pairs of units pass: by chance, or where that was not measured by their size."""
    if np.isnan(q).all():
        return interactions >= max(BAR * float(interactions.max(initial=0)), np.finfo(float).tiny)
    return q <= LEVEL
