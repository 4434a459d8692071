"""What heads write as a dataset and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import Floats, quiet
from headscope.core.lazy import module
from headscope.core.types import AnyDict, AnyMapping
from headscope.measures.dataset import describe
from headscope.measures.tidy import tidy
from headscope.statistics.jackknife import false_discovery

COLUMNS = (
    "layer",
    "head",
    "paper",
    "copying",
    "copying_chance",
    "copying_p",
    "copying_q",
    "positive",
    "positive_chance",
    "itself",
    "itself_low",
    "itself_high",
    "itself_chance",
    "token",
    "promotes",
    "prefers",
    "offset",
    "offset_gain",
)
"""Columns of the table, which has one row a head and token that it looks at."""

FIGURES = {
    "copying": "Sum of the eigenvalues of the OV circuit over the sum of their sizes: from -1 to 1.",
    "copying_chance": "Within ± this lie 95 % of such scores where what is read and what is written have no relation.",
    "copying_p": "Two-sided, that what is read and what is written have no relation.",
    "copying_q": "The same, adjusted for all heads.",
    "positive": "Share of those eigenvalues whose real part is positive.",
    "positive_chance": "Within 0.5 ± this lie 95 % of such shares by the same chance.",
    "itself": "Share of the sampled tokens that are among the k which the head promotes most on looking at them.",
    "itself_low": "Lower end of its 95 % interval (Wilson).",
    "itself_high": "Upper end of its 95 % interval (Wilson).",
}
"""Figures of a head."""


def eigenvalue_scores(products: Floats, draws: int, seed: int) -> dict[str, Floats]:
    """The copying score of each head and its share of positive eigenvalues, each with its chance line.

    Chance is told by turning what the head reads at random within its own dimensions, which keeps how strongly it
    reads and writes: by symmetry the scores then have mean 0, and the shares 1/2. p is of Student's t with as many
    degrees of freedom as there are rotations.

    Args:
        products: of each head ``W_V W_E W_U W_O``, ``[head value_dim value_dim]``.
        draws: rotations.
        seed: of them.

    Returns:
        Of `FIGURES` those of eigenvalues, each ``[head]``, without q; NaN for a head that writes nothing.

    >>> found = eigenvalue_scores(np.array([np.eye(3), -np.eye(3)]), 4, 0)
    >>> found["copying"].tolist(), found["positive"].tolist()
    ([1.0, -1.0], [1.0, 0.0])
    """
    size = products.shape[-1]
    random = np.random.default_rng(seed)
    turned = np.stack([_scores(products @ _rotation(size, random)) for _ in range(draws)])
    copying, positive = _scores(products)
    spread = np.sqrt(np.square(turned - np.array([0.0, 0.5])[:, None]).mean(0))
    by_chance = 1.96 * spread
    with quiet():
        p = 2 * module("scipy.stats").t.sf(np.abs(copying / spread[0]), draws)
    return {
        "copying": copying,
        "copying_chance": by_chance[0],
        "copying_p": p,
        "positive": positive,
        "positive_chance": by_chance[1],
    }


def _scores(matrices: Floats) -> Floats:
    """Both scores of matrices, ``[score head]``; eigenvalues of 0 count for neither side."""
    values = np.linalg.eigvals(matrices)
    sizes, real = np.abs(values), values.real
    total = sizes.sum(-1)
    there = sizes > 1e-12 * sizes.max(-1, keepdims=True)
    share = (there & (real > 0)).sum(-1) / np.maximum(1, there.sum(-1))
    safe = np.where(total > 0, total, np.nan)
    return np.stack([real.sum(-1) / safe, np.where(total > 0, share, np.nan)])


def _rotation(size: int, random: np.random.Generator) -> Floats:
    q, r = np.linalg.qr(random.standard_normal((size, size)))
    return q * np.sign(np.diag(r))


def dataset(
    values: Mapping[str, tuple[Sequence[str], Any]],
    layers: Sequence[int],
    heads: Sequence[int],
    chance: float,
    meta: AnyMapping,
) -> xr.Dataset:
    """Label what heads write.

    Args:
        values: by name the dims and the numbers or tokens.
        layers: the model's index of each layer.
        heads: of each head in its layer.
        chance: the share of tokens that would promote themselves by chance.
        meta: what made them.
    """
    p = np.asarray(values["copying_p"][1], np.float64)
    values = {**values, "copying_q": (("layer", "head"), false_discovery(p.ravel()).reshape(p.shape))}
    result = xr.Dataset(
        {**values, "itself_chance": ((), chance)},
        coords={"layer": list(layers), "head": list(heads)},
        attrs=describe(meta),
    )
    for name, about in FIGURES.items():
        result[name].attrs |= {"description": about}
    return result


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head and token that it looks at, with `COLUMNS`."""
    scores = result["offset_score"]
    gain = scores.max("offset")
    best = scores.fillna(-np.inf).argmax("offset").where(gain.notnull())
    lists: AnyDict = {
        column: module("xarray").apply_ufunc(
            _listed, result[name], input_core_dims=[["rank"]], output_dtypes=[object], vectorize=True
        )
        for column, name in (("promotes", "promoted"), ("prefers", "preferred"))
    }
    result = result.drop_dims(["offset", "rank"]).assign(lists | {"offset": best, "offset_gain": gain})
    rows: Any = tidy(result, COLUMNS, "itself", ("layer", "head", "at"))
    return rows.astype({"offset": "Int64"})


def _listed(pieces: Any) -> str:
    return " ".join(filter(None, pieces))
