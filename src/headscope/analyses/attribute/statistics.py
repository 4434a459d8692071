"""The terms of a logit as a dataset and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import Floats
from headscope.core.heads import Head
from headscope.measures.dataset import describe, description
from headscope.views.blocks import Block, rows_of

COLUMNS = ("part", "layer", "head", "paper", "contribution", "source", "token", "from_source")
"""Columns of the table: ``source`` is the index of the token from which most of a head's part comes."""

TERMS = {
    "heads": "What a head adds to the logit with what it takes from a source token.",
    "attention_bias": "What the biases of a layer's attention add, which come from no head.",
    "mixer": "What else mixes tokens in a layer adds: a convolution, linear attention, a state space.",
    "mlp": "What a layer adds besides its attention.",
    "embedding": "What enters the first layer adds: the token itself, and its position.",
    "bias": "What the biases of the final norm and of the unembedding add.",
}
"""The terms of a logit, and what they are."""


def dataset(
    heads: Sequence[Floats],
    terms: Mapping[str, Any],
    layers: Sequence[int],
    pieces: Sequence[str],
    meta: Mapping[str, Any],
    kinds: Sequence[str],
) -> xr.Dataset:
    """Label the terms of a logit.

    Args:
        heads: of each layer ``[head source]``.
        terms: the others of `TERMS`, and the ``logit``: a number, or one of each layer.
        layers: the model's index of each layer.
        pieces: of the input's tokens.
        meta: what made them.
        kinds: what else mixes tokens in each layer; empty for nothing. Where there is nothing at all there is no
            ``mixer``.
    """
    padded = np.full((len(heads), max(map(len, heads)), len(pieces)), np.nan)
    for place, layer in enumerate(heads):
        padded[place, : len(layer)] = layer
    variables: dict[str, Any] = {"heads": (("layer", "head", "source"), padded)}
    if not any(kinds):
        terms = {name: value for name, value in terms.items() if name != "mixer"}
    for name, value in terms.items():
        variables[name] = ("layer", value) if np.ndim(value) else ((), value)
    coords: dict[str, Any] = {"layer": list(layers), "source": np.arange(len(pieces))}
    coords["piece"] = "source", list(pieces)
    if any(kinds):
        coords["mixer_kind"] = "layer", list(kinds)
    result = xr.Dataset(variables, coords=coords, attrs=describe(meta))
    for name in variables:
        about = TERMS.get(name, "The logit, before a final softcap: the sum of all others.")
        result[name].attrs |= {"units": "logit", "description": about}
    return result


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head and one each other term, with `COLUMNS`, the largest first. They sum to the logit."""
    rows: list[dict[str, Any]] = []
    layers = [int(layer) for layer in result["layer"].values]
    for index, layer in enumerate(layers):
        for head, sources in enumerate(result["heads"].values[index]):
            if np.isnan(sources).all():
                continue
            total = float(sources.sum())
            most = int((sources * (1 if total >= 0 else -1)).argmax())
            rows.append(
                {
                    "part": "head",
                    "layer": layer,
                    "head": head,
                    "paper": Head(layer, head).paper,
                    "contribution": total,
                    "source": most,
                    "token": str(result["piece"].values[most]),
                    "from_source": float(sources[most]),
                }
            )
    for name in TERMS:
        if name != "heads" and name in result:
            values = np.atleast_1d(result[name].values)
            of = layers if result[name].ndim else [None]
            parts = result["mixer_kind"].values if name == "mixer" else [name] * len(of)
            rows += [
                {"part": str(part), "layer": layer, "contribution": float(value)}
                for part, layer, value in zip(parts, of, values, strict=True)
                if not np.isnan(value)
            ]
    rows.sort(key=lambda row: -abs(row["contribution"]))
    frame: Any = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(("layer", "head", "source"), "Int64"))


_SUMS = {
    "heads": "heads",
    "attention_bias": "biases of attention",
    "mixer": "what else mixes tokens",
    "mlp": "MLPs",
    "embedding": "embedding",
    "bias": "final biases",
}


def findings(result: xr.Dataset) -> list[str | Block]:
    """What the logit is the sum of, and the heads that add or take most."""
    rows: Any = table(result)
    about = description(result)
    parts = ", ".join(
        f"{name} {float(result[key].sum()):.3f}" for key, name in _SUMS.items() if key in result
    )
    capped = f", before the softcap of {about['softcap']:g}" if about["softcap"] else ""
    return [
        f"the logit of {about['token']!r} after {about['after']!r}: {float(result['logit']):.3f}{capped} = {parts}",
        "the heads that add or take most (token: from which most of it comes)",
        *rows_of(rows[rows["part"] == "head"], of="attribute", dropped=("part", "source")),
    ]
