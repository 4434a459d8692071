"""How do heads come to do what they do? Measures over checkpoints."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare_figures import Width, about, training_figure
from headscope.analyses.measure.figure import Figure
from headscope.analyses.measure.run import measure
from headscope.attention.load import load
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.measures.dataset import names
from headscope.measures.measure import Measure
from headscope.measures.tidy import tidy
from headscope.models import Model
from headscope.models.revision import name_and_revision
from headscope.views.palette import Theme

COLUMNS = ("checkpoint", "layer", "head", "paper", "measure", "value", "se", "n", "chance")
"""Columns of the tidy table, one row a checkpoint, measure and head."""

MEASURES = ("surface", "patterns")
"""What is measured unless measures are named."""

Checkpoint = str | os.PathLike[str] | Model


@dataclass(frozen=True, eq=False)
class Training:
    """Measures over checkpoints.

    Attributes:
        figures: over ``(checkpoint, measure, layer, head)``: ``value``, ``se`` (clustered by document), ``n``; and
            ``chance`` over ``(checkpoint, measure, layer)``.
    """

    figures: xr.Dataset

    @property
    def table(self) -> pd.DataFrame:
        """One row a checkpoint, measure and head, with `COLUMNS`."""
        return table(self.figures)

    def figure(
        self, measures: Sequence[str] | None = None, *, theme: Theme = "light", width: Width = "text"
    ) -> Figure:
        """Measures over checkpoints, a panel a measure, a line a head; by default the six that changed most.

        `theme` and `width` are as in `headscope.figure`. The figure shows itself in a notebook, and has
        ``save("training.svg")``.
        """
        canvas = training_figure(self.figures, measures, theme=theme, width=width)
        return Figure(canvas, about(self.figures, "Over training"))


def table(found: xr.Dataset) -> pd.DataFrame:
    """One row a checkpoint, measure and head, with `COLUMNS`. Heads that a layer does not have have no row."""
    return tidy(found, COLUMNS, "value", ("checkpoint",))


def training(
    checkpoints: Sequence[Checkpoint] | str | os.PathLike[str],
    corpus: Corpus | Iterable[Example],
    *,
    measures: Sequence[str | Measure] | None = None,
    by: Literal["token", "document"] = "token",
    batch_size: int = 32,
    limit: int | None = None,
    progress: bool = False,
    **options: Any,
) -> Training:
    """Measure every head at each of several checkpoints of one model, one after the other.

    Args:
        checkpoints: hub names or folders, each with ``@REVISION`` behind it where one is meant, or loaded models, in
            order; or one folder that holds ``checkpoint-N`` folders, as transformers' Trainer writes them.
        corpus: from `headscope.corpora`; read once a checkpoint.
        measures: names or definitions; by default `MEASURES`.
        by, batch_size, limit, progress: as in `headscope.measure`.
        **options: of `headscope.load`, for checkpoints that are named: ``device``, ``dtype``, ….

    Raises:
        InputError: fewer than two checkpoints, one that is named twice, or checkpoints of different shapes.
        ModelError: a checkpoint that cannot be loaded.

    >>> curves = hs.compare.training([hs.load(untrained=0), model], corpus, measures=["previous"]).figures
    >>> curves.sizes["checkpoint"]
    2
    """
    if not isinstance(corpus, Corpus):
        corpus = list(corpus)
    found: list[xr.Dataset] = []
    labels: list[str] = []
    for checkpoint in listed(checkpoints):
        name, revision = (
            ("", None) if isinstance(checkpoint, Model) else name_and_revision(os.fspath(checkpoint))
        )
        model = checkpoint if isinstance(checkpoint, Model) else load(name, revision=revision, **options)
        label = (
            ", ".join([Path(model.name).name, *model.notes[:1]]) if not name else revision or Path(name).name
        )
        if label in labels and revision is not None:
            label = f"{name}@{revision}"
        if label in labels:
            raise InputError(f"checkpoints: expected each once, found {label!r} again")
        labels.append(label)
        own = measure(
            model,
            corpus,
            measures=MEASURES if measures is None else measures,
            by=by,
            batch_size=batch_size,
            limit=limit,
            progress=progress,
        )
        _same_shape(labels, [*found, own])
        found.append(own)
    return Training(_joined(found, labels))


def listed(checkpoints: Sequence[Checkpoint] | str | os.PathLike[str]) -> list[Checkpoint]:
    """The checkpoints, in order; those of a folder by their number. Raises `InputError` for fewer than two."""
    if isinstance(checkpoints, str | os.PathLike):
        folder = Path(checkpoints)
        numbered = [
            (int(match[1]), one)
            for one in (folder.iterdir() if folder.is_dir() else ())
            if (match := re.fullmatch(r"checkpoint-(\d+)", one.name)) and one.is_dir()
        ]
        if not numbered:
            raise InputError(
                f"checkpoints: expected several, or a folder with checkpoint-N folders, found {folder}"
            )
        checkpoints = [one for _, one in sorted(numbered)]
    if len(checkpoints) < 2:
        raise InputError(f"checkpoints: expected at least two, found {len(checkpoints)}")
    return list(checkpoints)


def _same_shape(labels: Sequence[str], found: Sequence[xr.Dataset]) -> None:
    first, last = found[0], found[-1]
    if list(first["layer"].values) != list(last["layer"].values) or first.sizes["head"] != last.sizes["head"]:
        told = [f"{one.sizes['layer']} layers × {one.sizes['head']} heads" for one in (first, last)]
        raise InputError(
            f"checkpoints: expected one shape, found {labels[0]} with {told[0]} and {labels[-1]} with {told[1]}"
        )


def _joined(found: Sequence[xr.Dataset], labels: Sequence[str]) -> xr.Dataset:
    """All checkpoints in one dataset; a measure that one of them does not have is left out."""
    shared = [name for name in names(found[0]) if all(name in one.data_vars for one in found)]
    axes = ("checkpoint", "measure", "layer", "head")

    def stack(part: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([[one[name + part].values for name in shared] for one in found])

    metas = [json.loads(one.attrs["meta"]) for one in found]
    meta = {**metas[-1], "models": [one["model"] for one in metas], "checkpoints": list(labels)}
    del meta["model"]
    return xr.Dataset(
        {
            "value": (axes, stack("")),
            "se": (axes, stack("_se")),
            "n": (axes, stack("_n")),
            "chance": (axes[:-1], stack("_chance")),
        },
        {
            "checkpoint": list(labels),
            "measure": shared,
            "layer": found[0]["layer"].values,
            "head": found[0]["head"].values,
            "title": ("measure", [found[0][name].attrs["title"] for name in shared]),
            "units": ("measure", [found[0][name].attrs["units"] for name in shared]),
        },
        {"meta": json.dumps(meta, ensure_ascii=False)},
    )
