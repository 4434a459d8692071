"""`headscope distance`: Jensen–Shannon distances between heads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli.options import (
    AsJson,
    Corpora,
    Device,
    Dtype,
    Keep,
    Limit,
    Meta,
    ModelName,
    Pack,
    Precision,
    Remote,
    Revision,
    TextFormat,
    Theme,
    Untrained,
    WhichPreset,
    command,
    corpus_of,
    load,
    print_json,
    say,
)


def distance(
    corpus: Corpora = None,
    model: ModelName = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help=".parquet, .csv, .json or .nc: all pairs of heads."),
    ] = None,
    map: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also the heads' map: .parquet, .csv or .json; .svg, .pdf or .png for a figure.",
        ),
    ] = None,
    format: TextFormat = None,
    rows: Annotated[
        int | None, typer.Option(help="Compare only this many rows of each input, drawn at random.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the rows drawn, of the map and of the test.")] = 0,
    preset: WhichPreset = None,
    precision: Annotated[
        Precision, typer.Option(help="float64: of the model's own eager weights, at twice the time.")
    ] = Precision.float32,
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
    from headscope.measures.arrangement import by_layer, head_map, summary
    from headscope.measures.dataset import check_place, check_suffix, write, write_table
    from headscope.measures.distance import table
    from headscope.run.distance import distance as run

    pictures = (".svg", ".pdf", ".png")
    if output is not None:
        check_suffix(output)
    if map is not None:
        check_suffix(map, [".parquet", ".csv", ".json", *pictures])
    for place in (output, map, meta):
        if place is not None:
            check_place(place)
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
        progress=True,
        command=command(),
    )
    if output is not None:
        write(found, output, table)
        say(f"{output}: {len(table(found)):,} rows")
    if map is not None:
        places = head_map(found, seed=seed)
        if map.suffix.lower() in pictures:
            from headscope.views import figure_clusters

            drawn = figure_clusters.figure(
                found, places=places, theme="dark" if theme == Theme.dark else "light"
            )
            map.write_bytes(drawn.save(map.suffix.lower()[1:], figure_clusters.about(found)))
        else:
            write_table(places, map)
        say(f"{map}: {len(places):,} heads, stress {places.attrs['stress']:.3f}")
    if as_json:
        rows_found: Any = table(found)
        print_json(json.loads(rows_found.to_json(orient="records")))
    else:
        print("mean distance of the heads of two layers, " + found["distance"].attrs["units"])
        layers: Any = by_layer(found).to_pandas()
        print(layers.round(3).to_string(na_rep=""))
        for line in summary(found, seed=seed):
            print(line)
    if meta is not None:
        described: dict[str, Any] = json.loads(found.attrs["meta"])
        meta.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
