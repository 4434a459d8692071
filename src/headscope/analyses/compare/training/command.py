"""`headscope compare training`: the checkpoints of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console import options as console
from headscope.console import sources
from headscope.errors import InputError


def training(
    table: console.TableOptions,
    reading: sources.ReadingOptions,
    items: Annotated[
        list[str],
        typer.Argument(
            metavar="CHECKPOINT... [CORPUS...]",
            help="Hub names or folders in order, NAME@REVISION, or one folder of checkpoint-N folders; then files of "
            "texts, by default the built-in corpus.",
        ),
    ],
    corpus: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Files of texts, as CORPUS.")
    ] = None,
    figure: console.FigureFile = None,
    measures: console.Measures = None,
    by: console.By = "token",
    theme: console.Theme = "auto",
    batch_size: console.BatchSize = 32,
    device: console.Device = None,
    dtype: console.Dtype = None,
    trust_remote_code: console.Remote = False,
    allow_unknown: console.Unknown = False,
) -> None:
    """How do heads come to do what they do? Every measure at each of several checkpoints of one model."""
    from headscope.analyses.compare.training.run import training as run

    table.check()
    console.check_places(figure, suffixes=console.PICTURES)
    start = next((index for index, item in enumerate(items) if _is_text(Path(item))), len(items))
    checkpoints, texts = items[:start], [*(corpus or ()), *map(Path, items[start:])]
    if not checkpoints:
        raise InputError(f"training: expected a checkpoint before the texts, found {items[0]}")
    result = run(
        checkpoints[0] if len(checkpoints) == 1 else checkpoints,
        reading.of(texts),
        measures=console.names(measures),
        by=by,
        batch_size=batch_size,
        limit=reading.limit,
        progress=True,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        allow_unknown=allow_unknown,
    )
    console.say_absent(json.loads(result.figures.attrs["meta"]))
    rows: Any = result.table
    best = rows.loc[rows.groupby(["measure", "checkpoint"], sort=False)["value"].idxmax()]
    wide = best.pivot(index="measure", columns="checkpoint", values="value")
    wide = wide.loc[list(result.figures["measure"].values), list(result.figures["checkpoint"].values)]
    shown = f"the largest value of a head at each checkpoint\n{wide.round(3).to_string()}"
    table.out(result.table, shown, dataset=result.figures)
    if figure is not None:
        theme_ = "dark" if theme == "dark" else "light"
        console.write_figure(result.figure(console.names(measures), theme=theme_), figure)


def _is_text(path: Path) -> bool:
    """Whether this is a file of texts, there or not; checkpoints are folders or names."""
    return path.is_file() or path.suffix.lower() in (".txt", *sources.SUFFIXES)
