"""`headscope compare groups`: two groups of labelled texts."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.console import options as console
from headscope.console import sources
from headscope.console.engines import EngineOptions
from headscope.core.validation import Level, expect


def groups(
    model: console.ModelOptions,
    engines: EngineOptions,
    table: console.TableOptions,
    pairs: Annotated[Path, typer.Argument(metavar="PAIRS", help=".tsv, .txt (by tabs), .csv or .jsonl.")],
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The labels; by default a column that is known.")
    ] = None,
    text_a: Annotated[str | None, typer.Option(metavar="COLUMN", help="Text A, or the only text.")] = None,
    text_b: Annotated[str | None, typer.Option(metavar="COLUMN", help="Text B.")] = None,
    document: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Which rows are of one document, permuted together.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="A,B", help="The labels to compare, where there are more than two.")
    ] = None,
    figure: console.FigureFile = None,
    view: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also an input of each group, side by side: .html, .svg, .pdf or .png."
        ),
    ] = None,
    measures: console.Measures = None,
    null: Annotated[
        Literal["means", "distributions"] | None,
        typer.Option(help="What is tested to be equal; by default means, whatever the groups' spread."),
    ] = None,
    length: Annotated[
        Literal["covariate", "stratum"] | None,
        typer.Option(help="Hold lengths equal: by a slope on ln tokens, or in strata of like length."),
    ] = None,
    permutations: Annotated[
        int, typer.Option(max=1_000_000, help="Of the labels, or draws of the bootstrap, at least 20,000.")
    ] = 20_000,
    seed: Annotated[
        int, typer.Option(min=0, max=console.MOST_SEED, help="Of the permutations or draws.")
    ] = 0,
    level: Annotated[float, typer.Option(help="Up to which q a head is said to differ.")] = 0.05,
    theme: console.Theme = "auto",
    limit: console.Limit = None,
    strict: console.Strict = False,
    distinct: console.Distinct = False,
    batch_size: console.BatchSize = 32,
    estimate: console.Estimate = False,
) -> None:
    """Does attention differ between two groups of texts or pairs? Every measure of every head, tested."""
    from headscope import corpora
    from headscope.analyses.compare.groups import run

    table.check()
    expect("level", level, Level)
    console.check_places(figure, suffixes=console.PICTURES)
    console.check_places(view, suffixes=console.PAGES)
    texts = sources.once(
        corpora.pairs(pairs, label=label, text_a=text_a, text_b=text_b, document=document, strict=strict),
        distinct,
    )
    loaded = model.load()
    options: dict[str, Any] = {
        "groups": console.names(groups),
        "measures": console.names(measures),
        "null": null,
        "length": length,
        "permutations": permutations,
        "seed": seed,
        "batch_size": batch_size,
        "limit": limit,
        "engine": engines.engine(),
    }
    if console.foreseen(
        estimate, texts.size_hint(), partial(run.estimate, loaded, texts, **options), limit=limit
    ):
        return
    result = run.groups(loaded, texts, **options, progress=True)
    about: dict[str, Any] = json.loads(result.figures.attrs["meta"])
    console.say_absent(about)
    for name, group in zip("AB", about["groups"], strict=True):
        size = f"{group['inputs']:,} inputs of {group['tokens']:.1f} tokens on average"
        console.say(f"group {name}: label {group['label']}, {size}")
    if (why := run.statistics.no_interval(about)) is not None:
        console.say(why)
    rows: Any = result.differing(level)
    shown = [result.told(level)]
    if len(rows):
        few = rows.head(console.SHOWN).assign(
            **{name: rows[name].map("{:.2g}".format) for name in ("p", "q")}
        )
        shown.append(console.on_screen(few))
    if len(rows) > console.SHOWN:
        shown.append(f"… and {len(rows) - console.SHOWN:,} more; -o FILE writes them all")
    table.out(result.table, "\n".join(shown), dataset=result.figures)
    if figure is not None:
        console.write_figure(result.figure(level=level, theme="dark" if theme == "dark" else "light"), figure)
    if view is not None:
        result.view(theme=theme).save(view)
        console.say(f"{view}: an input of each group")
