"""Two groups of inputs, every measure of every head: figures, tests, and the heads that differ.

Two nulls can be tested: that means are equal, whatever the spread and the lengths of the groups, by a bootstrap of
documents (`headscope.statistics.bootstrap`); or that figures have the same distribution in both groups, by permuted
labels (`headscope.statistics.permutation`). The latter finds more where groups differ in nothing but their means, and
names heads of equal means that differ in their spread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import AnyFloats, Bools, Floats, Ints
from headscope.core.counts import plural
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Level
from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.measures.measure import Measure
from headscope.measures.tidy import AXES, labelled, tidy
from headscope.statistics import jackknife
from headscope.statistics.bootstrap import bootstrap, least_p
from headscope.statistics.design import Design, differences
from headscope.statistics.permutation import PERMUTATIONS, permute
from headscope.views.charts import Figure, map_of_heads, measures_to_draw, meta_of, model_name, rounded_up

COLUMNS = (
    *("layer", "head", "paper", "measure", "group_a", "group_b", "difference", "se", "effect", "p", "q"),
    *("n_a", "n_b", "ci_low", "ci_high"),
)
"""Columns of the tidy table. The difference is A − B, with a 95 % interval; the effect is Hedges' g."""

Null = Literal["means", "distributions"]
"""What is tested: that means are equal, or that whole distributions are."""

Length = Literal["covariate", "stratum"]
"""How lengths are held equal: by a slope on the logarithm of the tokens, or in strata of inputs of like length."""

EFFECT = "Hedges' g"
LEVEL = 0.05
"""Up to which q a head is said to differ."""

MEANS = "equal means"
"""How a result says that means were tested."""

STRATA = 5
"""Strata of length, at most."""

IN_STRATUM = 10
"""Inputs in a stratum, on average, at least."""


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
    values: AnyFloats,
    second: Bools,
    document: Ints,
    measures: Sequence[Measure],
    layers: Sequence[int],
    *,
    null: Null | None = None,
    length: Length | None = None,
    tokens: Ints | None = None,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    meta: AnyMapping | None = None,
) -> xr.Dataset:
    """Compare two groups of inputs in every measure and head.

    Args:
        values: ``[input measure layer head]``, the mean of each input; NaN where it has none.
        second: inputs of group B.
        document: the number of each input's document.
        measures: their definitions.
        layers: the model's index of each layer.
        null: what is tested; by default what `null_of` says.
        length: how the lengths of inputs are held equal, if they are.
        tokens: the length of each input; needed with `length`.
        permutations: of the labels, or draws of the bootstrap, at least (see
            `headscope.statistics.permutation.permute`).
        seed: of the permutations or draws.
        meta: what made the values.

    Returns:
        A dataset over ``(measure, layer, head)``: ``group_a``, ``group_b`` (means of inputs), ``difference`` (A − B),
        ``se``, ``effect`` (Hedges' g), ``p`` (of one measure in one head), ``q`` (adjusted for all measures and heads:
        heads are the families of `headscope.statistics.permutation.permute`), ``n_a`` and ``n_b`` (inputs),
        ``ci_low`` and ``ci_high`` (95 % of the difference; none where a group has fewer than five effective documents).
        With `length`, means and differences are those at equal length.
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
    null = null_of(design, null, length)
    covariates = None if length is None else held_equal(tokens, length)
    count, height, across = (int(size) for size in shape)
    width = count * height * across
    family = np.tile(np.arange(height * across), count)  # heads
    flat = np.asarray(values, np.float64).reshape(len(values), width)
    keep = np.flatnonzero(np.isfinite(flat).any(0))
    difference = differences(flat[:, keep], design, covariates)
    if null == "means":
        test = bootstrap(
            flat[:, keep], design, family[keep], covariates=covariates, draws=permutations, seed=seed
        )
    else:
        test = permute(flat[:, keep], design, family[keep], permutations=permutations, seed=seed)
    figures: dict[str, np.ndarray] = {
        "group_a": difference.first,
        "group_b": difference.second,
        "difference": difference.difference,
        "se": difference.se,
        "effect": difference.effect,
        "p": test.p,
        "q": test.q,
        "n_a": difference.n_first,
        "n_b": difference.n_second,
        "ci_low": difference.low,
        "ci_high": difference.high,
    }
    variables: AnyDict = {}
    for name, of_kept in figures.items():
        row_values = np.full(width, np.nan)
        row_values[keep] = of_kept
        variables[name] = (AXES, row_values.reshape(shape), _ATTRS.get(name, {}))
    about = {
        **(meta or {}),
        "effect": EFFECT,
        "permutations": test.permutations,
        "null": f"equal {null}",
        "permuted": design.resampled if null == "means" else design.permuted,
        "least": least_p(design) if null == "means" else design.least,
        "effective": design.effective,
        "length": length,
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


def sentence(dataset: xr.Dataset, level: float = LEVEL) -> str:
    """One sentence: how many heads differ, or that none does."""
    rows: Any = table(dataset)
    if not len(rows):
        return "no measure could be compared: none has two inputs in each group"
    heads = rows.groupby(["layer", "head"])["q"].min()
    count, least = int((heads <= level).sum()), float(heads.min())
    measures = rows["measure"].nunique()
    noun = "measure" if measures == 1 else "measures"
    about = description(dataset)
    tests = f"{len(heads)} heads, {measures} {noun}; null: {null_in(about)}, {drawn(about)}"
    if not count and about["least"] > level:
        return f"no head can be found to differ: no p can be below {about['least']:.2g} ({tests})"
    if not count:
        return f"no head differs between the groups at q ≤ {level:g}: the smallest q is {least:.2g} ({tests})"
    noun = "head differs" if count == 1 else "heads differ"
    return f"{count} {noun} between the groups at q ≤ {level:g} ({tests})"


def drawn(meta: AnyMapping) -> str:
    """What the p values were drawn from: how many permutations, or draws of a bootstrap, of what."""
    draws = "bootstrap draws" if meta.get("null") == MEANS else "permutations"
    return f"{meta['permutations']:,} {draws} of {meta['permuted']}"


def null_in(meta: AnyMapping) -> str:
    """What was tested, in words."""
    return f"{meta['null']}{_AT[meta['length']]}"


def no_interval(meta: AnyMapping) -> str | None:
    """Why there is no interval of a difference, in words; None where a group has documents enough."""
    few = [
        f"{name} has {documents:.1f}"
        for name, documents in zip("AB", meta["effective"], strict=True)
        if documents < jackknife.LEAST
    ]
    return f"no interval of a difference: {jackknife.WHY} in each group, {' and '.join(few)}" if few else None


def null_of(design: Design, null: Null | None, length: Length | None = None) -> Null:
    """What is tested: what is asked for, or equal means; equal distributions where a group is of one document.

    Raises `InputError` for what cannot be tested.
    """
    if null not in (None, *get_args(Null)):
        raise InputError(f"null: expected 'means' or 'distributions', found {null!r}")
    if length not in (None, *get_args(Length)):
        raise InputError(f"length: expected 'covariate' or 'stratum', found {length!r}")
    count, name = min(
        (len(np.unique(design.document[design.second == group])), "AB"[group]) for group in (0, 1)
    )
    if null is None and length is None and count < 2:
        return "distributions"
    if null == "distributions" and length is not None:
        raise InputError(
            f"length: expected null='means' with it, found null={null!r}: permuted labels do not keep to the length"
        )
    if null != "distributions" and count < 2:
        raise InputError(
            f"null: expected two documents in each group to test equal means, found {count} in group {name}"
        )
    return null or "means"


def held_equal(tokens: Ints | None, length: Length) -> Floats:
    """The figures of inputs that hold lengths equal, ``[input other]``.

    Either the logarithm of the tokens, or which of at most `STRATA` strata of length an input is in, by quantiles of
    all inputs, the first stratum left out.
    """
    if tokens is None:
        raise InputError("tokens: expected the length of each input, found none")
    if length == "covariate":
        return np.log(tokens)[:, None].astype(np.float64)
    count = int(np.clip(len(tokens) // IN_STRATUM, 2, STRATA))
    edges = np.unique(np.quantile(tokens, np.arange(1, count) / count))
    stratum = np.searchsorted(edges, tokens, side="left")
    return (stratum[:, None] == np.unique(stratum)[1:]).astype(np.float64)


def nothing(design: Design, level: float = LEVEL) -> str | None:
    """That no head can be found, whatever the inputs give, in words; None where one can."""
    if design.least <= level:
        return None
    ways = "way" if design.labellings == 1 else "ways"
    return (
        f"groups: nothing can be found at q ≤ {level:g}: {design.permuted} can be dealt out in {design.labellings:,} "
        f"{ways}, so no p is below {design.least:.2g}; more documents are needed"
    )


def typical(values: AnyFloats, second: Bools, place: tuple[int, int, int]) -> tuple[int, int]:
    """The input of each group whose figure is nearest to its group's mean; `place` is (measure, layer, head)."""
    figures = np.asarray(values[(slice(None), *place)], np.float64)

    def nearest(group: Bools) -> int:
        away = np.abs(figures - np.nanmean(figures[group]))
        return int(np.where(group & np.isfinite(figures), away, np.inf).argmin())

    return nearest(~second), nearest(second)


_AT = {None: "", "covariate": " at equal ln of the tokens", "stratum": " within strata of length"}

_ATTRS = {
    "difference": {"description": "group A − group B"},
    "effect": {"description": EFFECT},
    "p": {"description": "test of one measure in one head, two-sided"},
    "q": {"description": "adjusted for all measures and heads"},
    "ci_low": {"description": "of a 95 % interval of the difference, by document"},
    "ci_high": {"description": "of a 95 % interval of the difference, by document"},
}


def _by_size(label: str) -> tuple[bool, float, str]:
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label


_MOST = 20.0
"""Of an effect that is drawn."""


def figure(dataset: xr.Dataset, measures: Sequence[str] | None = None, *, level: Level = LEVEL) -> Figure:
    """Effect sizes of every head, a panel a measure; heads whose q is at most `level` have an edge.

    Args:
        dataset: from `headscope.compare.groups`, its ``figures``.
        measures: what to draw; by default those with the smallest q, of equals those with the largest effect.
        level: up to which q a head is said to differ.
    """
    meta = meta_of(dataset)
    effect, q = (dataset[name].transpose("measure", "layer", "head").values for name in ("effect", "q"))
    effect = np.clip(effect, -_MOST, _MOST)
    largest = np.where(np.isfinite(effect), np.abs(effect), -1.0).max((1, 2))
    least = np.where(np.isfinite(q), q, 2.0).min((1, 2))
    order = np.lexsort((-largest, least))[: int((largest >= 0).sum())]
    panels = measures_to_draw(dataset, measures, order)
    high = rounded_up(float(np.nan_to_num(np.abs(effect[panels])).max()))
    edged = np.nan_to_num(q, nan=2.0) <= level
    titles = dataset["title"].values
    charts = [
        map_of_heads(
            dataset, effect[one], high, "effect, Hedges' g", str(titles[one]), edged=edged[one], signed=True
        )
        for one in panels
    ]
    groups = list(meta.get("groups") or [{"label": name, "inputs": 0} for name in "AB"])
    first, second = (f"{group['label']} (n = {group['inputs']:,})" for group in groups)
    count = int(edged.any(0).sum())
    parts = [
        f"Hedges' g of A − B: A is {first}, B is {second}",
        f"edge: q ≤ {level:g}, {plural(count, 'head')}" if count else f"no head has a q ≤ {level:g}",
        *([f"null: {null_in(meta)}"] if "null" in meta else []),
        drawn(meta),
        *([model_name(meta["model"])] if meta.get("model") else []),
    ]
    return Figure(charts, " · ".join(parts), "Two groups", meta, 3)
