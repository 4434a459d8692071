"""`headscope merge`: the parts of all shards put together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.console import options as console


def merge(
    table: console.TableOptions,
    parts: Annotated[
        list[Path],
        typer.Argument(metavar="PART", help="What a command with --shard wrote: all parts."),
    ],
    map: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Of distances, also the heads' map: .parquet, .csv, .json or .tex; .svg, .pdf or .png for a figure.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=console.MOST_SEED, help="Of distances' map and test.")] = 0,
) -> None:
    """Put the parts of all shards together: the figures of one run over the whole corpus, to the last digit."""
    from headscope.analyses.merge import analysis_of
    from headscope.analyses.merge import merge as run

    table.check()
    console.check_places(map, suffixes=(*console.TABLES, *console.PICTURES))
    analysis = analysis_of(parts)
    print_result = analysis.load(analysis.prints)
    print_result(run(parts), table.output, table.as_json, table.meta, map=map, seed=seed)
