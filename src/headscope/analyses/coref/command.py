"""`headscope coref`: coreference in every head."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console.options import (
    LONG_TREES,
    AnnotatedFormat,
    AsJson,
    Device,
    Dtype,
    Estimate,
    FromWord,
    Keep,
    Meta,
    ModelName,
    Output,
    Remote,
    Revision,
    Sentences,
    SkipBroken,
    Untrained,
    annotated,
    check_places,
    command,
    foreseen,
    load,
    on_screen,
    say,
    say_broken,
    table_out,
)


class Among(StrEnum):
    """Among what a head chooses an antecedent."""

    preceding_mentions = "preceding_mentions"
    other_mentions = "other_mentions"
    any_word = "any_word"


def coref(
    documents: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Coreference: .conllu with Entity= or CoNLL-2012; the built-in corpus by default.",
        ),
    ] = None,
    model: ModelName = None,
    output: Output = None,
    format: AnnotatedFormat = None,
    limit: Sentences = None,
    candidates: Annotated[
        Among | None, typer.Option(help="Among what a head chooses; by default all three ways.")
    ] = None,
    all_heads: Annotated[
        bool, typer.Option("--all-heads", help="Every head, not only rules and the best heads.")
    ] = False,
    window: Annotated[
        int, typer.Option(help="Tokens of an input: documents are cut into runs of whole sentences.")
    ] = 128,
    rows: Annotated[
        FromWord, typer.Option(help="Attention from a word: the mean over its pieces, or that of the first.")
    ] = FromWord.mean,
    skip_broken: SkipBroken = False,
    seed: Annotated[int, typer.Option(help="Of the intervals and of the halves.")] = 0,
    batch_size: Annotated[int, typer.Option(help="Windows in a batch, at most.")] = 32,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
    estimate: Estimate = False,
    as_json: AsJson = False,
    meta: Meta = None,
) -> None:
    """Which head finds antecedents: accuracies by type of mention with intervals, beside four rules."""
    from headscope.analyses.coref.run import coreference as run
    from headscope.analyses.coref.statistics import every_head, table
    from headscope.stream.estimate import coreference as foresee

    check_places(output, meta)
    sentences = annotated(documents, format, skip_broken=skip_broken)
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    options: dict[str, Any] = {
        "window": window,
        "rows": rows.value,
        "seed": seed,
        "batch_size": batch_size,
        "limit": limit,
    }

    def line() -> str:
        return foresee(loaded, sentences, **options)

    if foreseen(estimate, sentences.size_hint(), line, limit=limit, long=LONG_TREES):
        return
    found = run(loaded, sentences, **options, progress=True, command=command())
    say_broken(sentences)
    if candidates is not None:
        found = found.sel(candidates=[candidates.value])
    made = every_head(found) if all_heads else table(found)
    if not all_heads:
        say(_held_out(found))
    table_out(made, found, output, as_json, meta, on_screen(made))


def _held_out(found: Any) -> str:
    """What choosing the best head on some documents and scoring it on others gives."""
    shown = [
        f"{name} {float(one['split']):.3f} ({float(one['split_low']):.3f} to {float(one['split_high']):.3f})"
        for name in found["candidates"].values
        if float((one := found.sel(candidates=name))["split"]) >= 0
    ]
    what = "best heads chosen and scored on different documents: "
    return what + (", ".join(shown) or "not with one document")
