"""`headscope coref`: antecedents in every head."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.analyses.clusters import CHOSEN_ON
from headscope.console import options as console
from headscope.console import sources
from headscope.console.engines import EngineOptions
from headscope.core.heads import Head


def coref(
    model: console.ModelOptions,
    table: console.TableOptions,
    long: console.LongOptions,
    engines: EngineOptions,
    documents: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Coreference: .conllu with Entity=, CoNLL-2012, .conll, or .jsonl with clusters; the built-in corpus "
            "by default.",
        ),
    ] = None,
    format: sources.AnnotatedFormat = None,
    limit: console.Sentences = None,
    candidates: Annotated[
        Literal["preceding_mentions", "other_mentions", "any_word"] | None,
        typer.Option(help="Among what a head chooses; by default all three ways."),
    ] = None,
    all_heads: Annotated[
        bool, typer.Option("--all-heads", help="Every head, not only rules and the best heads.")
    ] = False,
    window: Annotated[
        int, typer.Option(help="Tokens of an input: documents are cut into runs of whole sentences.")
    ] = 128,
    rows: Annotated[
        console.FromWord,
        typer.Option(help="Attention from a word: the mean over its pieces, or that of the first."),
    ] = "mean",
    strict: console.Strict = False,
    distinct: console.Distinct = False,
    seed: console.SplitSeed = 0,
    batch_size: Annotated[int, typer.Option(help="Windows in a batch, at most.")] = 32,
    estimate: console.Estimate = False,
) -> None:
    """Which head finds antecedents: accuracies by type of mention with intervals, beside four rules."""
    from headscope.analyses.links.coref import run

    kept = long.run(table.output)
    table.check()
    sentences = sources.once(sources.annotated(documents, format, clusters=True, strict=strict), distinct)
    loaded = model.load()
    options: dict[str, Any] = {
        "window": window,
        "rows": rows,
        "seed": seed,
        "batch_size": batch_size,
        "limit": limit,
    }
    options["engine"] = engines.engine()
    line = partial(run.estimate, loaded, sentences, **options)
    if console.foreseen(estimate, sentences.size_hint(), line, limit=limit, long=console.LONG_TREES):
        return
    dataset = run.coreference(loaded, sentences, **options, **kept, progress=True)
    if long.ends(dataset, table):
        return
    if candidates is not None:
        dataset = dataset.sel(candidates=[candidates])
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
    """Write or print the rules and the heads that find antecedents."""
    from headscope.analyses.clusters import note
    from headscope.analyses.links.coref import statistics

    console.no_map(map)
    described = json.loads(dataset.attrs["meta"])
    console.say_left_out(described)
    console.say(note(described))
    table = console.TableOptions(output, as_json, meta)
    if all_heads:
        every: Any = statistics.every_head(dataset)
        table.out(every, console.on_screen(every), dataset=dataset)
        return
    best: Any = statistics.table(dataset)
    for row in best[best["type"].eq("all") & best["system"].eq("best_head")].itertuples():
        console.say(_held_out(row))
    table.out(best, console.on_screen(best, dropped=statistics.CHOSEN), dataset=dataset)


def _held_out(row: Any) -> str:
    """What choosing the best head on some documents and scoring it on others gives, beside the best rule."""
    head = Head(int(row.layer), int(row.head))
    if not row.choices:
        return f"{row.candidates}: {head} is best; with one document nothing is left to score a choice on"
    between = f" ({row.split_low:.3f} to {row.split_high:.3f})" if row.split_low == row.split_low else ""
    gain = (
        f" ({row.difference_low:+.3f} to {row.difference_high:+.3f}, p = {row.p:.2g})"
        if row.p == row.p
        else ""
    )
    return (
        f"{row.candidates}: the head that is best on {CHOSEN_ON} of the documents, {head} in {row.times} of "
        f"{row.choices} choices, is right in {row.split:.3f}{between} of the rest; beside the best rule: "
        f"{row.difference:+.3f}{gain}"
    )
