"""`headscope coref`: antecedents in every head."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.console import options as console


def coref(
    model: console.ModelOptions,
    table: console.TableOptions,
    documents: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Coreference: .conllu with Entity= or CoNLL-2012; the built-in corpus by default.",
        ),
    ] = None,
    format: console.AnnotatedFormat = None,
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
    skip_broken: console.SkipBroken = False,
    seed: Annotated[int, typer.Option(help="Of the intervals and of the halves.")] = 0,
    batch_size: Annotated[int, typer.Option(help="Windows in a batch, at most.")] = 32,
    estimate: console.Estimate = False,
) -> None:
    """Which head finds antecedents: accuracies by type of mention with intervals, beside four rules."""
    from headscope.analyses.coref import run, statistics

    table.check()
    sentences = console.annotated(documents, format, skip_broken=skip_broken)
    loaded = model.load()
    options: dict[str, Any] = {
        "window": window,
        "rows": rows,
        "seed": seed,
        "batch_size": batch_size,
        "limit": limit,
    }
    line = partial(run.estimate, loaded, sentences, **options)
    if console.foreseen(estimate, sentences.size_hint(), line, limit=limit, long=console.LONG_TREES):
        return
    dataset = run.coreference(loaded, sentences, **options, progress=True)
    console.say_broken(sentences)
    if candidates is not None:
        dataset = dataset.sel(candidates=[candidates])
    accuracies = statistics.every_head(dataset) if all_heads else statistics.table(dataset)
    if not all_heads:
        console.say(_held_out(dataset))
    table.out(accuracies, console.on_screen(accuracies), dataset=dataset)


def _held_out(dataset: Any) -> str:
    """What choosing the best head on some documents and scoring it on others gives."""
    scores = [
        f"{name} {float(one['split']):.3f} ({float(one['split_low']):.3f} to {float(one['split_high']):.3f})"
        for name in dataset["candidates"].values
        if float((one := dataset.sel(candidates=name))["split"]) >= 0
    ]
    what = "best heads chosen and scored on different documents: "
    return what + (", ".join(scores) or "not with one document")
