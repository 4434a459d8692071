"""`headscope compare inputs`: two inputs."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.analyses.comparing import (
    PAGES,
    SHOWN,
    Colours,
    Measures,
)
from headscope.console.options import (
    TABLES,
    AsJson,
    Device,
    Dtype,
    Keep,
    Meta,
    ModelName,
    Remote,
    Revision,
    Theme,
    Untrained,
    check_places,
    command,
    load,
    on_screen,
    say,
    table_out,
    write_meta,
)


class Align(StrEnum):
    """Which tokens of two inputs stand for each other."""

    position = "position"
    word = "word"


def inputs(
    first: Annotated[str, typer.Argument(metavar="TEXT1", help="The first text.")],
    second: Annotated[
        str, typer.Argument(metavar="TEXT2", help="The second, which is taken from the first.")
    ],
    pair1: Annotated[str | None, typer.Option(help="Text B of the first.")] = None,
    pair2: Annotated[str | None, typer.Option(help="Text B of the second.")] = None,
    align: Annotated[
        Align, typer.Option(help="What stands for what: by position, or the same words.")
    ] = Align.position,
    model: ModelName = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help=".html, .svg, .pdf, .png: A − B; .parquet, .csv, .json, .nc: figures."
        ),
    ] = None,
    measures: Measures = None,
    theme: Colours = Theme.auto,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
    as_json: AsJson = False,
    meta: Meta = None,
) -> None:
    """What does a model do differently on two texts, or two pairs? Every head's difference, as a table or a map."""
    from headscope.analyses.compare_inputs.run import inputs as run

    check_places(output, meta, suffixes=(*PAGES, *TABLES, ".nc"))
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    found = run(
        loaded,
        first if pair1 is None else (first, pair1),
        second if pair2 is None else (second, pair2),
        align=align.value,
        measures=measures.split(",") if measures else None,
        command=command(),
    )
    if output is not None and output.suffix.lower() in PAGES:
        found.view(theme=theme.value).save(output)
        say(f"{output}: the first minus the second")
        write_meta(meta, json.loads(found.figures.attrs["meta"]))
        return
    rows: Any = found.table
    rows = rows.drop_duplicates(["layer", "head"]).sort_values("js", ascending=False, ignore_index=True)
    shown = [
        "the heads that differ most (Jensen–Shannon, nats a row; the weight that changed most, A − B)",
        on_screen(rows.head(SHOWN), dropped=("measure", "a", "b", "difference")),
    ]
    table_out(found.table, found.figures, output, as_json, meta, "\n".join(shown))
