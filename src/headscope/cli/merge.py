"""`headscope merge`: the parts of all shards put together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.analyses.distance.command import MAPS, MapFile, distances
from headscope.analyses.measure.command import figures
from headscope.console.options import AsJson, Meta, Output, check_places, command
from headscope.errors import InputError


def merge(
    parts: Annotated[
        list[Path],
        typer.Argument(metavar="PART", help="What measure --shard or distance --shard wrote: all parts."),
    ],
    output: Output = None,
    map: MapFile = None,
    seed: Annotated[int, typer.Option(help="Of distances' map and test.")] = 0,
    as_json: AsJson = False,
    meta: Meta = None,
) -> None:
    """Put the parts of all shards together: the figures of one run over the whole corpus, to the last digit."""
    from headscope.analyses.merge import merge as run

    check_places(output, meta)
    check_places(map, suffixes=MAPS)
    found = run(parts, command=command())
    if "distance" in found:
        distances(found, output, map, as_json, meta, seed=seed)
    elif map is not None:
        raise InputError(f"--map: expected parts of distances, found other ones in {parts[0]}")
    else:
        figures(found, output, as_json, meta)
