"""`headscope measure`: figures of every head over a corpus."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console import options as console
from headscope.console import sources
from headscope.console.engines import EngineOptions
from headscope.core.heads import Head
from headscope.errors import InputError

SUFFIXES = (*console.TABLES, ".nc", *console.PICTURES)
"""What ``-o`` may end in: a table, the dataset, or a figure of the measures."""


@dataclass(frozen=True)
class _TableOptions(console.TableOptions):
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help=".parquet, .csv, .json, .tex or .nc; .svg, .pdf or .png for a figure; else a table is printed.",
        ),
    ] = None


def measure(
    texts: sources.TextOptions,
    modalities: sources.ModalityOptions,
    model: console.ModelOptions,
    table: _TableOptions,
    long: console.LongOptions,
    engines: EngineOptions,
    measures: Annotated[
        str | None, typer.Option(metavar="A,B", help="Which measures, such as previous,offset-2,entropy.")
    ] = None,
    by: console.By = "token",
    preset: console.Preset = None,
    objective: Annotated[
        str | None,
        typer.Option(help="What gradient_… is of: masked-lm, causal-lm, logit:N or cosine."),
    ] = None,
    figure: console.FigureFile = None,
    theme: console.Theme = "auto",
    batch_size: console.BatchSize = 32,
    estimate: console.Estimate = False,
) -> None:
    """Measure every head over a corpus: offsets, separators, punctuation, entropy, each with its error."""
    from headscope.analyses.measure import run

    kept = long.run(table.output)
    if long.shard is not None and figure is not None:
        raise InputError("--figure: expected no shard, found one; -o of merge writes a figure")
    table.check(() if long.shard is not None else SUFFIXES)
    console.check_places(figure, suffixes=console.PICTURES)
    engine = engines.engine()
    corpus, loaded = modalities.read(texts, texts.corpus, model)
    options: dict[str, Any] = {
        "measures": console.names(measures),
        "batch_size": batch_size,
        "limit": texts.limit,
        "engine": engine,
    }
    if console.foreseen(
        estimate, corpus.size_hint(), partial(run.estimate, loaded, corpus, **options), limit=texts.limit
    ):
        return
    options |= {"by": by, "preset": preset, "objective": objective}
    dataset = run.measure(loaded, corpus, **options, **kept, progress=True)
    if long.shard is not None:
        console.say_part(dataset, table.output, long.shard)
        figures(dataset, None, False, table.meta, quiet=True)
    else:
        figures(dataset, table.output, table.as_json, table.meta, figure=figure, theme=theme)


def figures(
    dataset: Any,
    output: Path | None,
    as_json: bool,
    meta: Path | None,
    *,
    map: Path | None = None,
    seed: int = 0,
    figure: Path | None = None,
    theme: console.ThemeName = "auto",
    quiet: bool = False,
) -> None:
    """Write or print the figures of heads, and say what has no row and what was left out."""
    from headscope.measures.dataset import names, table, write

    console.no_map(map)
    described: dict[str, Any] = json.loads(dataset.attrs["meta"])
    console.say_unseen(described, printed=output is None and not as_json and not quiet)
    console.say_absent(described)
    console.say_left_out(described)
    pictures = [place for place in (output, figure) if place and place.suffix.lower() in console.PICTURES]
    for place in pictures:
        from headscope.analyses.measure.figure import figure as draw

        measures = names(dataset)
        draw(dataset, measures, theme="dark" if theme == "dark" else "light").save(place)
        console.say(f"{place}: a figure of {len(measures)} measure{'s' * (len(measures) != 1)}")
    if output is not None and output not in pictures:
        write(dataset, output)
        console.say(f"{output}: {len(table(dataset)):,} rows")
    if output is None and not quiet:
        if as_json:
            console.print_rows(table(dataset))
        else:
            print(_wide(table(dataset)))
    console.write_meta(meta, described)


def _wide(tidy: Any) -> str:
    """A row a head, a column a measure: for reading on a screen."""
    names = list(dict.fromkeys(tidy["measure"]))
    wide = tidy.pivot(index=["layer", "head", "paper"], columns="measure", values="value")[
        names
    ].reset_index()
    wide.insert(0, "name", [str(Head(*head)) for head in zip(wide["layer"], wide["head"], strict=True)])
    return str(wide.drop(columns=["layer", "head"]).round(3).to_string(index=False, na_rep=""))
