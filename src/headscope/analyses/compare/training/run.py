"""How do heads come to do what they do? Measures over checkpoints."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare.training.callback import kept, numbered, read
from headscope.analyses.measure.run import measure
from headscope.analyses.result import Comparison
from headscope.attention.load import load
from headscope.core.counts import layers_by_heads
from headscope.core.heads import Head
from headscope.core.types import AnyPath
from headscope.core.validation import Count, validated
from headscope.corpora import Corpus, Example, builtin
from headscope.errors import InputError
from headscope.measures.choose import choose
from headscope.measures.dataset import description, mean_chance_of, measure_names
from headscope.measures.measure import Measure
from headscope.measures.tidy import AXES, labelled, tidy
from headscope.models import Model
from headscope.models.revision import name_and_revision
from headscope.views.blocks import Block, matrix
from headscope.views.charts import (
    Chart,
    ChartsFrame,
    Figure,
    map_of_heads,
    measures_to_draw,
    meta_of,
    numbers,
    rounded_up,
    texts,
)

COLUMNS = ("checkpoint", "layer", "head", "paper", "measure", "value", "se", "n", "chance")
"""Columns of the tidy table, one row a checkpoint, measure and head."""

MEASURES = ("surface", "patterns")
"""What is measured unless measures are named."""

Checkpoint = AnyPath | Model


@dataclass(frozen=True, eq=False, repr=False)
class Training(Comparison):
    """Measures over checkpoints.

    Attributes:
        figures: over ``(checkpoint, measure, layer, head)``: ``value``, ``se`` (a jackknife by document), ``n``; and
            ``chance`` over ``(checkpoint, measure, layer)``.
    """

    figures: xr.Dataset


def table(dataset: xr.Dataset) -> pd.DataFrame:
    """One row a checkpoint, measure and head, with `COLUMNS`. Heads that a layer does not have have no row."""
    return tidy(dataset, COLUMNS, "value", ("checkpoint", *AXES))


def largest(dataset: xr.Dataset) -> list[str | Block]:
    """The largest value of a head at each checkpoint."""
    values = dataset["value"].max(("layer", "head")).transpose("measure", "checkpoint")
    return ["the largest value of a head at each checkpoint", matrix(values)]


@validated
def training(
    checkpoints: Sequence[Checkpoint] | str | os.PathLike[str],
    corpus: Corpus | Iterable[Example] | None = None,
    *,
    measures: Sequence[str | Measure] | None = None,
    by: Literal["token", "document"] = "token",
    batch_size: Count = 32,
    limit: Count | None = None,
    progress: bool = False,
    **options: Any,
) -> Training:
    """Measure every head at each of several checkpoints of one model, one after the other.

    Args:
        checkpoints: hub names or folders, each with ``@REVISION`` behind it where one is meant, or loaded models, in
            order; or one folder that holds ``checkpoint-N`` folders, as transformers' Trainer writes them, or what
            `headscope.callback` kept, which is shown as it is.
        corpus: from `headscope.corpora`; read once a checkpoint; by default the built-in one.
        measures: which measures, by names or definitions; by default the groups ``surface`` and ``patterns``, or those
            that were kept.
        by, batch_size, limit, progress: as in `headscope.measure`.
        **options: of `headscope.load`, for checkpoints that are named: ``device``, ``dtype``, ….

    Raises:
        InputError: fewer than two checkpoints, one that is named twice, or checkpoints of different shapes.
        ModelError: a checkpoint that cannot be loaded.

    >>> curves = hs.compare.training([hs.load(untrained=0), model], corpus, measures=["previous"]).figures
    >>> curves.sizes["checkpoint"]
    2
    """
    if isinstance(checkpoints, str | os.PathLike) and (steps := kept(Path(checkpoints))):
        kept_ones = {path.stem: read(path) for _, path in steps}
        return Training(_joined(kept_ones, choose(measures or measure_names(kept_ones[steps[0][1].stem]))))
    corpus = builtin() if corpus is None else corpus if isinstance(corpus, Corpus) else list(corpus)
    definitions = choose(MEASURES if measures is None else measures)
    datasets: dict[str, xr.Dataset] = {}
    for checkpoint in listed(checkpoints):
        if isinstance(checkpoint, Model):
            model, label = checkpoint, ", ".join([Path(checkpoint.name).name, *checkpoint.notes[:1]])
        else:
            name, revision = name_and_revision(os.fspath(checkpoint))
            model, label = load(name, revision=revision, **options), revision or Path(name).name
            if label in datasets and revision is not None:
                label = f"{name}@{revision}"
        if label in datasets:
            raise InputError(f"checkpoints: expected each once, found {label!r} again")
        datasets[label] = measure(
            model,
            corpus,
            measures=definitions,
            by=by,
            batch_size=batch_size,
            limit=limit,
            progress=progress,
        )
        _check_shape(datasets)
    return Training(_joined(datasets, definitions))


def listed(checkpoints: Sequence[Checkpoint] | str | os.PathLike[str]) -> list[Checkpoint]:
    """The checkpoints, in order; those of a folder by their number. Raises `InputError` for fewer than two."""
    if isinstance(checkpoints, str | os.PathLike):
        folder = Path(checkpoints)
        checkpoints = [one for _, one in numbered(folder, r"checkpoint-(\d+)") if one.is_dir()]
        if not checkpoints:
            raise InputError(
                f"checkpoints: expected several, or a folder with checkpoint-N folders, found {folder}"
            )
    if len(checkpoints) < 2:
        raise InputError(f"checkpoints: expected at least two, found {len(checkpoints)}")
    return list(checkpoints)


def _check_shape(datasets: Mapping[str, xr.Dataset]) -> None:
    """Raise `InputError` where the last checkpoint has other layers or heads than the first."""
    first, last = next(iter(datasets)), list(datasets)[-1]
    a, b = datasets[first], datasets[last]
    if list(a["layer"].values) != list(b["layer"].values) or a.sizes["head"] != b.sizes["head"]:
        shapes = [layers_by_heads([dataset.sizes["head"]] * dataset.sizes["layer"]) for dataset in (a, b)]
        raise InputError(
            f"checkpoints: expected one shape, found {first} with {shapes[0]} and {last} with {shapes[1]}"
        )


def _joined(datasets: Mapping[str, xr.Dataset], measures: Sequence[Measure]) -> xr.Dataset:
    """All checkpoints in one dataset; a measure that one of them does not have is left out."""
    shared = [item for item in measures if all(item.name in dataset for dataset in datasets.values())]
    axes = ("checkpoint", *AXES)

    def stack(part: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array(
            [[dataset[item.name + part].values for item in shared] for dataset in datasets.values()]
        )

    metas = [description(dataset) for dataset in datasets.values()]
    meta = {**metas[-1], "models": [meta["model"] for meta in metas], "checkpoints": list(datasets)}
    del meta["model"]
    variables = {
        "value": (axes, stack("")),
        "se": (axes, stack("_se")),
        "n": (axes, stack("_n")),
        "chance": (
            axes[:-1],
            np.array(
                [[mean_chance_of(dataset, item.name) for item in shared] for dataset in datasets.values()]
            ),
        ),
    }
    layers: Any = next(iter(datasets.values()))["layer"]
    return labelled(variables, shared, layers.values.tolist(), meta, checkpoint=list(datasets))


def figure(dataset: xr.Dataset, measures: Sequence[str] | None = None) -> Figure:
    """Measures over checkpoints, a panel a measure, a line a head, coloured by layer; the last checkpoint's top head is
    named. A page steps through maps of all heads, a checkpoint each.

    Args:
        dataset: from `headscope.compare.training`, its ``figures``.
        measures: what to draw; by default those that changed most in some head, in units of their spread.
    """
    meta = meta_of(dataset)
    value = dataset["value"].transpose("measure", "checkpoint", "layer", "head").values
    spread = np.nanstd(value, axis=(1, 2, 3))
    moved = np.nanmax(np.abs(value[:, -1] - value[:, 0]), axis=(1, 2)) / np.where(spread > 0, spread, 1.0)
    panels = measures_to_draw(dataset, measures, np.argsort(-moved, kind="stable"))
    checkpoints = texts(dataset["checkpoint"].values)
    charts = [_chart(dataset, panel, value[panel], _without_prefix(checkpoints)) for panel in panels]
    frames: list[ChartsFrame] = [
        {"name": name, "charts": [_map(dataset, panel, value[panel], step) for panel in panels]}
        for step, name in enumerate(checkpoints)
    ]
    parts = [
        "a line a head",
        "checkpoints: " + ", ".join(checkpoints),
        f"{meta['corpus'].get('examples', 0):,} inputs",
    ]
    return Figure(charts, " · ".join(parts), "Over training", meta, 2, frames=frames)


def _map(dataset: xr.Dataset, panel: int, values: np.ndarray, step: int) -> Chart:
    """One measure at a checkpoint, of ``[checkpoint layer head]``, in colours that are those of every checkpoint."""
    title, units = (str(dataset[name].values[panel]) for name in ("title", "units"))
    finite = values[np.isfinite(values)]
    high = rounded_up(np.abs(finite).max(initial=0))
    return map_of_heads(dataset, values[step], high, units, title, signed=bool((finite < 0).any()))


def _chart(dataset: xr.Dataset, panel: int, values: np.ndarray, checkpoints: Sequence[str]) -> Chart:
    """One measure, ``[checkpoint layer head]``."""
    layers = dataset["layer"].values
    short = [name if len(name) <= 20 else "…" + name[-19:] for name in checkpoints]
    heads: list[list[int]] = np.argwhere(np.isfinite(values).all(0)).tolist()
    top = max(heads, key=lambda head: values[-1, *head], default=None)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    pad = 0.05 * (high - low) or 0.5
    return {
        "kind": "layers",
        "title": str(dataset["title"].values[panel]),
        "x": {"title": "checkpoint", "names": short},
        "y": {"title": str(dataset["units"].values[panel]) or "value", "low": low - pad, "high": high + pad},
        "rows": {"x": [], "y": []},
        "lines": [
            {
                "y": numbers(values[:, layer, head]),
                "colour": layer,
                "name": str(Head(int(layers[layer]), head)) if [layer, head] == top else "",
            }
            for layer, head in heads
        ],
        "colour": {"title": "layer", "of": "layers", "names": texts(layers)},
    }


def _without_prefix(names: Sequence[str]) -> Sequence[str]:
    """The numbers of names that differ in nothing else, such as ``checkpoint-500``; other names as they are."""
    matches = [match for name in names if (match := re.fullmatch(r"(.*\D)(\d+)", name))]
    alike = len(matches) == len(names) and len({match[1] for match in matches}) == 1
    return [match[2] for match in matches] if alike else names
