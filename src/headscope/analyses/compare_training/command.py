"""`headscope compare training`: the checkpoints of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.analyses.comparing import (
    PICTURES,
    Batch,
    Colours,
    Figure,
    Measures,
    drawn,
    ground,
    say_absent,
)
from headscope.console.options import (
    AsJson,
    By,
    Device,
    Dtype,
    Limit,
    Meta,
    Output,
    Pack,
    Remote,
    TextFormat,
    Theme,
    check_places,
    command,
    corpus_of,
    table_out,
)


def training(
    checkpoints: Annotated[
        list[str],
        typer.Argument(
            metavar="CHECKPOINT",
            help="Hub names or folders in order, NAME@REVISION, or one folder of checkpoint-N folders.",
        ),
    ],
    corpus: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="The texts; the built-in corpus by default.")
    ] = None,
    output: Output = None,
    figure: Figure = None,
    measures: Measures = None,
    by: Annotated[By, typer.Option(help="Average over tokens or over documents.")] = By.token,
    format: TextFormat = None,
    pack: Pack = 128,
    theme: Colours = Theme.auto,
    limit: Limit = None,
    batch_size: Batch = 32,
    device: Device = None,
    dtype: Dtype = None,
    trust_remote_code: Remote = False,
    as_json: AsJson = False,
    meta: Meta = None,
) -> None:
    """How do heads come to do what they do? Every measure at each of several checkpoints of one model."""
    from headscope.analyses.compare_figures import training_figure
    from headscope.analyses.compare_training.run import training as run

    check_places(output, meta)
    check_places(figure, suffixes=PICTURES)
    texts = corpus_of(corpus, format, pack)
    named = measures.split(",") if measures else None
    found = run(
        checkpoints[0] if len(checkpoints) == 1 else checkpoints,
        texts,
        measures=named,
        by=by.value,
        batch_size=batch_size,
        limit=limit,
        progress=True,
        command=command(),
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
    )
    say_absent(json.loads(found.figures.attrs["meta"]))
    rows: Any = found.table
    best = rows.loc[rows.groupby(["measure", "checkpoint"], sort=False)["value"].idxmax()]
    wide = best.pivot(index="measure", columns="checkpoint", values="value")
    wide = wide.loc[list(found.figures["measure"].values), list(found.figures["checkpoint"].values)]
    shown = f"the largest value of a head at each checkpoint\n{wide.round(3).to_string()}"
    table_out(found.table, found.figures, output, as_json, meta, shown)
    if figure is not None:
        drawn(
            training_figure(found.figures, named, theme=ground(theme)),
            found.figures,
            figure,
            "Over training",
        )
