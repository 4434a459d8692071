"""`headscope compare inputs`: two inputs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.console import options as console


@dataclass(frozen=True)
class _TableOptions(console.TableOptions):
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help=".html, .svg, .pdf, .png: A − B; .parquet, .csv, .json, .tex, .nc: figures.",
        ),
    ] = None


def inputs(
    model: console.ModelOptions,
    table: _TableOptions,
    first: Annotated[str, typer.Argument(metavar="TEXT1", help="The first text.")],
    second: Annotated[
        str, typer.Argument(metavar="TEXT2", help="The second, which is taken from the first.")
    ],
    pair1: Annotated[str | None, typer.Option(help="Text B of the first.")] = None,
    pair2: Annotated[str | None, typer.Option(help="Text B of the second.")] = None,
    align: Annotated[
        Literal["position", "word"],
        typer.Option(help="What stands for what: by position, or the same words."),
    ] = "position",
    measures: console.Measures = None,
    theme: console.Theme = "auto",
) -> None:
    """What does a model do differently on two texts, or two pairs? Every head's difference, as a table or a map."""
    from headscope.analyses.compare.inputs.run import inputs as run

    table.check((*console.PAGES, *console.TABLES, ".nc"))
    result = run(
        model.load(),
        first if pair1 is None else (first, pair1),
        second if pair2 is None else (second, pair2),
        align=align,
        measures=console.names(measures),
    )
    output = table.output
    if output is not None and output.suffix.lower() in console.PAGES:
        result.view(theme=theme).save(output)
        console.say(f"{output}: the first minus the second")
        console.write_meta(table.meta, json.loads(result.figures.attrs["meta"]))
        return
    rows: Any = result.table
    rows = rows.drop_duplicates(["layer", "head"])
    rows = rows.sort_values("js", ascending=False, kind="stable", ignore_index=True)
    shown = [
        "the heads that differ most (Jensen–Shannon, nats a row; the weight that changed most, A − B)",
        console.on_screen(rows.head(console.SHOWN), dropped=("measure", "a", "b", "difference")),
    ]
    table.out(result.table, "\n".join(shown), dataset=result.figures)
