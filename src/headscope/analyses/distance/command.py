"""`headscope distance`: Jensen–Shannon distances between heads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console.options import (
    PICTURES,
    TABLES,
    AsJson,
    Corpora,
    Device,
    Dtype,
    Keep,
    Limit,
    Meta,
    ModelName,
    Output,
    Pack,
    Precision,
    Remote,
    Resume,
    Revision,
    SkipFailures,
    TextFormat,
    Theme,
    Untrained,
    WhichPreset,
    WhichShard,
    check_places,
    command,
    corpus_of,
    load,
    print_rows,
    say,
    say_left_out,
    say_part,
    write_meta,
)
from headscope.errors import InputError

MAPS = (*TABLES, *PICTURES)
MapFile = Annotated[
    Path | None,
    typer.Option(
        "--map",
        metavar="FILE",
        help="Also the heads' map: .parquet, .csv or .json; .svg, .pdf or .png for a figure.",
    ),
]


def distance(
    corpus: Corpora = None,
    model: ModelName = None,
    output: Output = None,
    map: MapFile = None,
    format: TextFormat = None,
    rows: Annotated[
        int | None, typer.Option(help="Compare only this many rows of each input, drawn at random.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the rows drawn, of the map and of the test.")] = 0,
    preset: WhichPreset = None,
    precision: Annotated[
        Precision, typer.Option(help="float64: of the model's own eager weights, at twice the time.")
    ] = Precision.float32,
    resume: Resume = None,
    shard: WhichShard = None,
    skip_failures: SkipFailures = False,
    theme: Annotated[Theme, typer.Option(help="Colours of the figure.")] = Theme.auto,
    pack: Pack = 128,
    limit: Limit = None,
    batch_size: Annotated[int, typer.Option(help="Inputs in a batch, at most.")] = 8,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
    as_json: AsJson = False,
    meta: Meta = None,
) -> None:
    """Jensen–Shannon distances between all heads over a corpus, and how heads and layers lie to one another."""
    from headscope.analyses.distance.run import distance as run

    if shard is not None and output is None:
        raise InputError("--shard: expected -o PART.nc for what the shard found, found no -o")
    if shard is not None and map is not None:
        raise InputError("--map: expected no shard, found one; give it to merge")
    check_places(output, meta)
    check_places(map, suffixes=MAPS)
    texts = corpus_of(corpus, format, pack)
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    found = run(
        loaded,
        texts,
        rows=rows,
        seed=seed,
        preset=preset.value if preset else None,
        precision=precision.value,
        batch_size=batch_size,
        limit=limit,
        resume=resume,
        shard=shard,
        part=output if shard is not None else None,
        skip_failures=skip_failures,
        progress=True,
        command=command(),
    )
    if shard is not None:
        say_part(found, output, shard)
        write_meta(meta, json.loads(found.attrs["meta"]))
        return
    distances(found, output, as_json, meta, map=map, seed=seed, theme=theme)


def distances(
    found: Any,
    output: Path | None,
    as_json: bool,
    meta: Path | None,
    *,
    map: Path | None = None,
    seed: int = 0,
    theme: Theme = Theme.auto,
) -> None:
    """Write distances and their map, and print what they say."""
    from headscope.analyses.distance.arrangement import by_layer, head_map, summary
    from headscope.analyses.distance.statistics import table
    from headscope.measures.dataset import write, write_table
    from headscope.measures.files import replacing

    described: dict[str, Any] = json.loads(found.attrs["meta"])
    say_left_out(described)
    if output is not None:
        write(found, output, table)
        say(f"{output}: {len(table(found)):,} rows")
    if map is not None:
        places = head_map(found, seed=seed)
        if map.suffix.lower() in PICTURES:
            from headscope.analyses.distance import figure as figure_clusters

            drawn = figure_clusters.figure(
                found, places=places, theme="dark" if theme == Theme.dark else "light"
            )
            with replacing(map) as place:
                place.write_bytes(drawn.save(map.suffix.lower()[1:], figure_clusters.about(found)))
        else:
            write_table(places, map)
        say(f"{map}: {len(places):,} heads, stress {places.attrs['stress']:.3f}")
    if as_json:
        print_rows(table(found))
    else:
        print("mean distance of the heads of two layers, " + found["distance"].attrs["units"])
        layers: Any = by_layer(found).to_pandas()
        print(layers.round(3).to_string(na_rep=""))
        for line in summary(found, seed=seed):
            print(line)
    write_meta(meta, described)
