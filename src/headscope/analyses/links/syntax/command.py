"""`headscope syntax`: dependency relations in every head."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.console import options as console
from headscope.console import sources
from headscope.console.engines import EngineOptions


def syntax(
    model: console.ModelOptions,
    table: console.TableOptions,
    long: console.LongOptions,
    engines: EngineOptions,
    treebank: Annotated[
        list[Path] | None,
        typer.Argument(metavar="TREEBANK", help="Trees, .conllu and others; the built-in ones by default."),
    ] = None,
    format: sources.AnnotatedFormat = None,
    limit: console.Sentences = None,
    rows: Annotated[
        console.FromWord | None,
        typer.Option(
            help="Of a word's pieces, the mean or the first; by default the mean, and the first by the preset."
        ),
    ] = None,
    all_heads: Annotated[
        bool,
        typer.Option("--all-heads", help="Every head and direction, not only the best of each relation."),
    ] = False,
    preset: console.Preset = None,
    trees: Annotated[
        bool, typer.Option("--trees", help="Also the maximum spanning tree of each head: UAS and UUAS.")
    ] = False,
    words: Annotated[
        Literal["syntactic", "surface"], typer.Option(help="Of CoNLL-U: do and n't, or don't.")
    ] = "syntactic",
    relations: Annotated[
        Literal["full", "main"], typer.Option(help="Of CoNLL-U: nsubj:pass as it is, or as nsubj.")
    ] = "full",
    strict: console.Strict = False,
    distinct: console.Distinct = False,
    least: Annotated[int, typer.Option(help="Instances that a relation needs to get a best head.")] = 100,
    seed: console.SplitSeed = 0,
    batch_size: Annotated[int, typer.Option(help="Sentences in a batch, at most.")] = 32,
    estimate: console.Estimate = False,
) -> None:
    """Which head finds which dependency relation: accuracies with intervals, beside the best fixed offset."""
    from headscope.analyses.links.syntax import run

    kept = long.run(table.output)
    table.check()
    sentences = sources.once(
        sources.annotated(treebank, format, words=words, relations=relations, strict=strict), distinct
    )
    loaded = model.load()
    options: dict[str, Any] = {
        "rows": rows,
        "preset": preset,
        "least": least,
        "trees": trees,
        "seed": seed,
        "batch_size": batch_size,
        "limit": limit,
    }
    options["engine"] = engines.engine()
    line = partial(run.estimate, loaded, sentences, **options)
    if console.foreseen(estimate, sentences.size_hint(), line, limit=limit, long=console.LONG_TREES):
        return
    dataset = run.syntax(loaded, sentences, **options, **kept, progress=True)
    if long.ends(dataset, table):
        return
    printed(dataset, table.output, table.as_json, table.meta, all_heads=all_heads)


def printed(
    dataset: Any,
    output: Path | None,
    as_json: bool,
    meta: Path | None,
    *,
    map: Path | None = None,
    seed: int = 0,
    all_heads: bool = False,
) -> None:
    """Write or print the heads of each relation."""
    from headscope.analyses.clusters import CHOSEN_ON, note
    from headscope.analyses.links.syntax import statistics

    console.no_map(map)
    described = json.loads(dataset.attrs["meta"])
    console.say_left_out(described)
    table = console.TableOptions(output, as_json, meta)
    best: Any = statistics.table(dataset)
    few = [bool(one) for one in best["few"]]
    if any(few):
        console.say(
            f"{sum(few)} of {len(few)} rows have fewer than {described['least']} instances, and no best head"
        )
    console.say(note(described))
    if all_heads:
        every: Any = statistics.every_head(dataset)
        table.out(every, console.on_screen(every), dataset=dataset)
    else:
        if not all(few):
            console.say(
                f"split: the head that is best on {CHOSEN_ON} of the {best['clusters'][0]}, scored on the rest; the "
                f"head named was the choice so many times of {best['choices'].max()}"
            )
        table.out(best, console.on_screen(best, few, dropped=_DROPPED), dataset=dataset)


_DROPPED = ("few", "p", "difference_low", "difference_high", "choices", "clusters")
"""Columns that files have and a screen has no room for."""
