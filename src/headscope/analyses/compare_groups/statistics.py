"""Two groups of inputs, every measure of every head: figures, tests, and the heads that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.measures.measure import Measure
from headscope.measures.permutation import PERMUTATIONS, Design, differences, permute
from headscope.measures.tidy import AXES, labelled, tidy

COLUMNS = (
    *("layer", "head", "paper", "measure", "group_a", "group_b", "difference", "se", "effect", "p", "q"),
    *("n_a", "n_b"),
)
"""Columns of the tidy table. The difference is A − B, the effect Hedges' g."""

EFFECT = "Hedges' g"
LEVEL = 0.05
"""Up to which q a head is said to differ."""


def choose_groups(labels: Sequence[str], groups: Sequence[str] | None = None) -> tuple[str, str]:
    """The two groups to compare: those asked for, or the only two labels there are, in order (numbers by size).

    Raises `InputError` for another number of labels, with how many inputs each has, and for a label that is not there.
    """
    counts = Counter(labels)
    there = ", ".join(f"{label} ({count:,})" for label, count in counts.most_common(12))
    there += ", …" if len(counts) > 12 else ""
    if groups is None:
        if len(counts) != 2:
            raise InputError(
                f"label: expected two groups, found {len(counts)}: {there}"
                + ("; choose two with groups" if len(counts) > 2 else "")
            )
        first, second = sorted(counts, key=_by_size)
        return first, second
    names = [str(name) for name in groups]
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(f"groups: expected two labels, found {', '.join(names) or 'none'}")
    for name in names:
        if name not in counts:
            raise InputError(f"groups: expected labels that are there, {there}; found {name!r}")
    return names[0], names[1]


def compare(
    values: npt.NDArray[np.floating],
    second: npt.NDArray[np.bool_],
    document: npt.NDArray[np.int64],
    measures: Sequence[Measure],
    layers: Sequence[int],
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    meta: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Compare two groups of inputs in every measure and head.

    Args:
        values: ``[input measure layer head]``, the mean of each input; NaN where it has none.
        second: inputs of group B.
        document: the number of each input's document.
        measures: their definitions.
        layers: the model's index of each layer.
        permutations: of the labels, at least (see `headscope.measures.permutation.permute`).
        seed: of the permutations.
        meta: what made the values.

    Returns:
        A dataset over ``(measure, layer, head)``: ``group_a``, ``group_b`` (means of inputs), ``difference`` (A − B),
        ``se``, ``effect`` (Hedges' g), ``p`` (of one measure in one head), ``q`` (adjusted for all measures and heads:
        heads are the families of `headscope.measures.permutation.permute`), ``n_a`` and ``n_b`` (inputs).
    """
    if permutations < PERMUTATIONS:
        raise InputError(f"permutations: expected at least {PERMUTATIONS:,}, found {permutations:,}")
    shape = values.shape[1:]
    if values.ndim != 4 or shape[:2] != (len(measures), len(layers)):
        raise InputError(
            f"values: expected [input measure layer head] of {len(measures)} measures and {len(layers)} layers, "
            f"found {values.shape}"
        )
    design = Design(np.asarray(second, np.bool_), np.asarray(document, np.int64))
    count, height, across = (int(size) for size in shape)
    width = count * height * across
    family = np.tile(np.arange(height * across), count)  # heads
    flat = np.asarray(values, np.float64).reshape(len(values), width)
    keep = np.flatnonzero(np.isfinite(flat).any(0))
    difference = differences(flat[:, keep], design)
    test = permute(flat[:, keep], design, family[keep], permutations=permutations, seed=seed)
    figures: dict[str, npt.NDArray[Any]] = {
        "group_a": difference.first,
        "group_b": difference.second,
        "difference": difference.difference,
        "se": difference.se,
        "effect": difference.effect,
        "p": test.p,
        "q": test.q,
        "n_a": difference.n_first,
        "n_b": difference.n_second,
    }
    variables: dict[str, Any] = {}
    for name, of_kept in figures.items():
        whole = np.full(width, np.nan)
        whole[keep] = of_kept
        variables[name] = (AXES, whole.reshape(shape), _ATTRS.get(name, {}))
    about = {
        **(meta or {}),
        "effect": EFFECT,
        "permutations": test.permutations,
        "permuted": design.permuted,
        "seed": seed,
        "difference": "A − B",
        "over": "means of inputs",
        "families": "heads",
    }
    return labelled(variables, measures, layers, about)


def table(dataset: xr.Dataset) -> pd.DataFrame:
    """One row a measure and head, with `COLUMNS`; none where a group has fewer than two inputs with the measure."""
    rows: Any = tidy(dataset, COLUMNS, "p")
    return rows.astype({"n_a": int, "n_b": int})


def differing(dataset: xr.Dataset, level: float = LEVEL) -> pd.DataFrame:
    """The rows of the table whose q is at most `level`, the largest effects first; none where nothing differs."""
    rows: Any = table(dataset)
    return rows[rows["q"] <= level].sort_values(
        "effect", key=abs, ascending=False, kind="stable", ignore_index=True
    )


def told(dataset: xr.Dataset, level: float = LEVEL) -> str:
    """One sentence: how many heads differ, or that none does."""
    rows: Any = table(dataset)
    if not len(rows):
        return "no measure could be compared: none has two inputs in each group"
    heads = rows.groupby(["layer", "head"])["q"].min()
    count, least = int((heads <= level).sum()), float(heads.min())
    measures = rows["measure"].nunique()
    noun = "measure" if measures == 1 else "measures"
    tests = f"{len(heads)} heads, {measures} {noun}, {description(dataset)['permutations']:,} permutations"
    if not count:
        return f"no head differs between the groups at q ≤ {level:g}: the smallest q is {least:.2g} ({tests})"
    noun = "head differs" if count == 1 else "heads differ"
    return f"{count} {noun} between the groups at q ≤ {level:g} ({tests})"


def typical(
    values: npt.NDArray[np.floating], second: npt.NDArray[np.bool_], place: tuple[int, int, int]
) -> tuple[int, int]:
    """The input of each group whose figure is nearest to its group's mean; `place` is (measure, layer, head)."""
    figures = np.asarray(values[(slice(None), *place)], np.float64)

    def nearest(group: npt.NDArray[np.bool_]) -> int:
        away = np.abs(figures - np.nanmean(figures[group]))
        return int(np.where(group & np.isfinite(figures), away, np.inf).argmin())

    return nearest(~second), nearest(second)


_ATTRS = {
    "difference": {"description": "group A − group B"},
    "effect": {"description": EFFECT},
    "p": {"description": "permutation test of one measure in one head, two-sided"},
    "q": {"description": "adjusted for all measures and heads"},
}


def _by_size(label: str) -> tuple[bool, float, str]:
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label
