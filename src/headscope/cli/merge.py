"""`headscope merge`: the parts of all shards put together."""

from __future__ import annotations

from pathlib import Path

from headscope.console import options as console
from headscope.core.validation import Seed
from headscope.errors import InputError


def merge(
    table: console.TableOptions,
    parts: list[Path],
    *,
    map: Path | None = None,
    seed: Seed = 0,
) -> None:
    """Put the parts of all shards together: the figures of one run over the whole corpus, to the last digit.

    Args:
        table: where they go.
        parts (PART): what a command with --shard wrote: all parts.
        map: of distances, also the heads' map: .parquet, .csv, .json or .tex; .svg, .pdf or .png for a figure.
        seed: of distances' map and test.
    """
    from headscope.analyses.merge import analysis_of
    from headscope.analyses.merge import merge as run
    from headscope.console.commands import Made

    analysis = analysis_of(parts)
    table.check(analysis.output[1])
    console.check_places(map, suffixes=(*console.TABLES, *console.PICTURES))
    made = Made(analysis)
    if map is not None and "map" not in made.writes:
        raise InputError("--map: expected parts of distances, found other ones")
    made.tell(run(parts), {"analysis": analysis, "table": table, "map": map, "seed": seed})
