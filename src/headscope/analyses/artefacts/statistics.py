"""Which patches stand out, what heads give to them, and where they sit: figures over pictures; no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.media import Picture, covering
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.measures.dataset import describe
from headscope.measures.measure import Measure, mask, pair_measure
from headscope.measures.perceived import speaking
from headscope.measures.sums import Ratios, Sums
from headscope.measures.tidy import tidy
from headscope.statistics.jackknife import share_interval

DEVIATIONS = 6.0
"""How many robust standard deviations above the median a norm is far above the rest."""

FACTOR = 1.5
"""At least how many times the median it is, too: where norms hardly differ, deviations are small."""

TAU = 20.0
"""The least φ at which a token of a language model is a visual sink (Kang et al. 2025, section 4.1)."""

CELLS = 8
"""How many rows and columns, at most, the map has that says where artefacts sit."""

KINDS = ("artefacts", "others")

TO_ARTEFACT = "to_artefact"
"""What a share of attention that goes to artefacts is called among measures of heads."""

COLUMNS = ("layer", "head", "paper", "attention", "se", "chance", "ci_low", "ci_high", "n", "from_cls")
"""Columns of the table: the share of attention that goes to artefacts, over the tokens of pictures that have some."""


SOURCE = "Darcet et al. 2024, §2.1"
"""Where artefacts are from."""


@pair_measure(
    "attention", "Mean share of a token's attention that goes to artefacts, over the tokens that see one."
)
def attention(tokens: Tokens, queries: Ints) -> np.ndarray:
    """In a text with a picture, the rows are those of `headscope.measures.perceived`."""
    rows = speaking(tokens) if "image" in tokens.classes else np.ones(len(tokens), np.bool_)
    return rows[queries, None] & mask(tokens, "artefact")


@pair_measure(
    "from_cls", "Mean share of the attention of [CLS] that goes to artefacts, over pictures that have some."
)
def from_cls(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The row of the classification token alone."""
    return mask(tokens, "cls")[queries, None] & mask(tokens, "artefact")


MEASURES: Sequence[Measure] = (attention, from_cls)


class SeenPicture(NamedTuple):
    """What is known of one picture.

    Attributes:
        tokens: its axis.
        patches: which tokens may be artefacts.
        artefacts: which are.
        strength: what leaves each layer, ``[layer token]``: norms, or φ.
    """

    tokens: Tokens
    patches: Bools
    artefacts: Bools
    strength: Floats


def cutoff_of(norms: np.ndarray) -> float:
    """The norm above which patches are artefacts: `DEVIATIONS` robust standard deviations (1.4826 times the median
    absolute deviation) above the median, and at least `FACTOR` times the median.

    >>> cutoff_of(np.array([9.0, 10, 10, 11, 9, 11, 10, 400]))
    18.8956
    """
    median = float(np.median(norms))
    deviation = 1.4826 * float(np.median(np.abs(norms - median)))
    return max(median + DEVIATIONS * deviation, FACTOR * median)


def figures_of(seen: SeenPicture, grid: tuple[int, int]) -> tuple[Floats, Floats]:
    """What one picture adds to each figure, and to its count.

    Figures are the share of artefacts; of each layer the strength of artefacts and of others; the contrast of both; and
    the share of artefacts in each cell of a grid of rows and columns.
    """
    kinds = np.stack([seen.artefacts, seen.patches & ~seen.artefacts])
    counts = kinds.sum(1).astype(np.float64)
    sums = [np.array([counts[0]]), (seen.strength @ kinds.T).ravel()]
    sizes = [np.array([counts.sum()]), np.tile(counts, len(seen.strength))]
    contrast, cells = contrast_of(seen.tokens, seen.patches), cells_of(seen.tokens, seen.patches, grid)
    count = grid[0] * grid[1]
    sums += [kinds @ contrast, np.bincount(cells[seen.artefacts], minlength=count)]
    sizes += [counts, np.bincount(cells[seen.patches], minlength=count)]
    return np.concatenate(sums).astype(np.float64), np.concatenate(sizes).astype(np.float64)


def contrast_of(tokens: Tokens, patches: Bools) -> Floats:
    """The standard deviation of brightness (0 to 255) within each patch, ``[token]``; 0 for what is none."""
    deviations = np.zeros(len(tokens))
    if tokens.boxes is None:
        return deviations
    greys = {
        number: one.pixels.mean(-1) for number, one in enumerate(tokens.media) if isinstance(one, Picture)
    }
    for place in np.flatnonzero(patches):
        grey = greys[int(tokens.medium[place])]
        down, across = grey.shape
        left, top, right, bottom = tokens.boxes[place]
        first = min(max(int(top), 0), down - 1), min(max(int(left), 0), across - 1)
        last = max(first[0] + 1, int(np.ceil(bottom))), max(first[1] + 1, int(np.ceil(right)))
        deviations[place] = grey[first[0] : last[0], first[1] : last[1]].std()
    return deviations


def grid_of(tokens: Tokens, patches: Bools) -> tuple[int, int]:
    """Rows and columns of the map of artefacts for pictures such as this: those of its patches, at most `CELLS`."""
    middle = _relative(tokens, patches).round(6)
    columns, rows = (min(CELLS, len(np.unique(coordinates))) for coordinates in middle.T)
    return rows, columns


def cells_of(tokens: Tokens, patches: Bools, grid: tuple[int, int]) -> Ints:
    """The cell of a grid over what the model sees in which each patch has its middle, row by row, ``[token]``."""
    rows, columns = grid
    column, row = (_relative(tokens, patches) * (columns, rows)).astype(np.int64).T
    cells = np.zeros(len(tokens), np.int64)
    cells[patches] = np.minimum(row, rows - 1) * columns + np.minimum(column, columns - 1)
    return cells


def _relative(tokens: Tokens, patches: Bools) -> Floats:
    """Where the middle of each patch is, across and down, from 0 to 1 of what the model sees of its picture, ``[patch
    2]``.
    """
    assert tokens.places is not None
    boxes, of = tokens.places[patches, 1:], tokens.medium[patches]
    covered = covering(tokens.places[patches], of)[of, 1:]
    return ((boxes[:, :2] + boxes[:, 2:]) / 2 - covered[:, :2]) / (covered[:, 2:] - covered[:, :2])


def dataset(
    heads: Sums,
    figures: Ratios,
    layers: Sequence[int],
    grid: tuple[int, int],
    strengths: Floats,
    cutoff: float,
    meta: AnyMapping,
) -> xr.Dataset:
    """Label what heads give to artefacts, and what these are.

    Args:
        heads: of `MEASURES`.
        figures: of `figures_of`.
        layers: the model's index of each layer whose states were read.
        grid: rows and columns of the map.
        strengths: of all patches, what was compared with the cutoff.
        cutoff: above (from) which a patch is an artefact.
        meta: what made the result.
    """
    values: AnyDict = {}
    heads = heads.closed()
    there = np.isfinite(heads.s[0])
    value, error, chance, documents = heads.value(), heads.error(), heads.by_chance(), heads.effective()
    for place, measure in enumerate(MEASURES):
        low, high = share_interval(value[place], error[place], documents[place], heads.n[place])
        about = {"units": "share", "description": measure.description}
        values[measure.name] = (("layer", "head"), value[place], about)
        rest = {"se": error, "chance": chance, "documents": documents, "skewness": heads.skewness()}
        rest = {name: array[place] for name, array in rest.items()} | {"low": low, "high": high}
        rest["n"] = np.where(there, heads.n[place], np.nan)
        values |= {f"{measure.name}_{name}": (("layer", "head"), column) for name, column in rest.items()}
    figures = figures.closed()
    means, spread, alike = figures.value(), figures.error(), figures.effective()
    low, high = share_interval(means[0], spread[0], alike[0], figures.n[0])
    many = 2 * len(layers)
    values["artefacts"] = (
        (),
        means[0],
        {"units": "share", "description": "Share of patches that are artefacts."},
    )
    values |= {"artefacts_low": ((), float(low)), "artefacts_high": ((), float(high))}
    values |= {
        "artefacts_n": ((), figures.n[0]),
        "cutoff": ((), cutoff),
        "median": ((), float(np.median(strengths))),
    }
    for end, part in (("", means), ("_se", spread)):
        values[f"strength{end}"] = ("state", "kind"), part[1 : 1 + many].reshape(-1, 2)
        values[f"contrast{end}"] = "kind", part[1 + many : 3 + many]
    values["where"] = ("row", "column"), means[3 + many :].reshape(grid)
    counts, edges = np.histogram(strengths, bins=_bins(strengths))
    values["count"] = "bin", counts
    coords: AnyDict = {
        "layer": list(heads.layers),
        "head": np.arange(heads.s.shape[2]),
        "state": list(layers),
    }
    coords |= {"kind": list(KINDS), "from": ("bin", edges[:-1]), "to": ("bin", edges[1:])}
    return xr.Dataset(values, coords, describe(meta))


def _bins(strengths: Floats) -> Floats:
    """Edges of a histogram, evenly on a scale of logarithms."""
    low, high = max(float(strengths.min()), 1e-6), max(float(strengths.max()), 2e-6)
    return np.geomspace(low * (1 - 1e-6), high * (1 + 1e-6), 61)


def to_artefacts(result: xr.Dataset) -> xr.Dataset:
    """What heads give to artefacts as a measure among others, as `headscope.measure` has them: `TO_ARTEFACT`."""
    of = "attention"
    figures = result[[f"{of}{part}" for part in ("", "_se", "_n", "_chance", "_documents", "_skewness")]]
    renamed = figures.rename({str(name): f"{TO_ARTEFACT}{str(name).removeprefix(of)}" for name in figures})
    renamed[TO_ARTEFACT].attrs |= {"title": "artefacts", "by": "token", "over": "pieces", "source": SOURCE}
    return renamed


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head, with `COLUMNS`, those first that give most to artefacts."""
    names = {"se": "se", "chance": "chance", "low": "ci_low", "high": "ci_high", "n": "n"}
    figures = result.rename({f"attention_{name}": column for name, column in names.items()})
    rows: Any = tidy(figures, COLUMNS, "n", ("layer", "head"))
    rows["n"] = rows["n"].astype(int)
    return rows.sort_values("attention", ascending=False, kind="stable", ignore_index=True)
