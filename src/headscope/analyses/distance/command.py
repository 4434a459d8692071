"""`headscope distance`: which heads attend alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.console import options as console
from headscope.console import sources
from headscope.console.engines import EngineOptions
from headscope.errors import InputError


def distance(
    texts: sources.TextOptions,
    modalities: sources.ModalityOptions,
    model: console.ModelOptions,
    table: console.TableOptions,
    long: console.LongOptions,
    engines: EngineOptions,
    map: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Also the heads' map: .parquet, .csv, .json or .tex; .svg, .pdf or .png for a figure.",
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Compare only this many rows of each input, drawn at random.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=console.MOST_SEED, help="Of the rows drawn, of the map and of the test.")
    ] = 0,
    preset: console.Preset = None,
    precision: Annotated[
        Literal["float32", "float64"],
        typer.Option(help="float64: of the model's own eager weights, at twice the time."),
    ] = "float32",
    theme: console.Theme = "auto",
    batch_size: Annotated[int, typer.Option(help="Inputs in a batch, at most.")] = 8,
) -> None:
    """Jensen–Shannon distances between all heads over a corpus, and how heads and layers lie to one another."""
    from headscope.analyses.distance.run import distance as run

    kept = long.run(table.output)
    if long.shard is not None and map is not None:
        raise InputError("--map: expected no shard, found one; give it to merge")
    table.check()
    console.check_places(map, suffixes=(*console.TABLES, *console.PICTURES))
    engine = engines.engine()
    corpus, loaded = modalities.read(texts, texts.corpus, model)
    dataset = run(
        loaded,
        corpus,
        rows=rows,
        seed=seed,
        preset=preset,
        precision=precision,
        batch_size=batch_size,
        limit=texts.limit,
        **kept,
        engine=engine,
        progress=True,
    )
    if long.ends(dataset, table):
        return
    distances(dataset, table.output, table.as_json, table.meta, map=map, seed=seed, theme=theme)


def distances(
    dataset: Any,
    output: Path | None,
    as_json: bool,
    meta: Path | None,
    *,
    map: Path | None = None,
    seed: int = 0,
    theme: console.ThemeName = "auto",
) -> None:
    """Write distances and their map, and print what they say."""
    from headscope.analyses.distance.arrangement import by_layer, head_map, summary
    from headscope.analyses.distance.statistics import table
    from headscope.measures.dataset import unseen, write, write_table

    described: dict[str, Any] = json.loads(dataset.attrs["meta"])
    console.say_unseen(described, printed=not as_json)
    console.say_left_out(described)
    if output is not None:
        write(dataset, output, table)
        console.say(f"{output}: {len(table(dataset)):,} rows")
    if map is not None:
        places = head_map(dataset, seed=seed)
        if map.suffix.lower() in console.PICTURES:
            from headscope.analyses.distance.figure import figure

            figure(dataset, places=places, theme="dark" if theme == "dark" else "light").save(map)
        else:
            write_table(places, map, unseen(described))
        console.say(f"{map}: {len(places):,} heads, stress {places.attrs['stress']:.3f}")
    if as_json:
        console.print_rows(table(dataset))
    else:
        print("mean distance of the heads of two layers, " + dataset["distance"].attrs["units"])
        layers: Any = by_layer(dataset).to_pandas()
        print(layers.round(3).to_string(na_rep=""))
        for line in summary(dataset, seed=seed):
            print(line)
    console.write_meta(meta, described)
