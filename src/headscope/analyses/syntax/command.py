"""`headscope syntax`: dependency relations in every head."""

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
    WhichPreset,
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


class WordKind(StrEnum):
    """What a word of a treebank is."""

    syntactic = "syntactic"
    surface = "surface"


class RelationKind(StrEnum):
    """Relations with their subtypes, or without."""

    full = "full"
    main = "main"


def syntax(
    treebank: Annotated[
        list[Path] | None,
        typer.Argument(metavar="TREEBANK", help="Trees, .conllu and others; the built-in ones by default."),
    ] = None,
    model: ModelName = None,
    output: Output = None,
    format: AnnotatedFormat = None,
    limit: Sentences = None,
    rows: Annotated[
        FromWord | None,
        typer.Option(
            help="Of a word's pieces, the mean or the first; by default the mean, and the first by the preset."
        ),
    ] = None,
    all_heads: Annotated[
        bool,
        typer.Option("--all-heads", help="Every head and direction, not only the best of each relation."),
    ] = False,
    preset: WhichPreset = None,
    trees: Annotated[
        bool, typer.Option("--trees", help="Also the maximum spanning tree of each head: UAS and UUAS.")
    ] = False,
    words: Annotated[WordKind, typer.Option(help="Of CoNLL-U: do and n't, or don't.")] = WordKind.syntactic,
    relations: Annotated[
        RelationKind, typer.Option(help="Of CoNLL-U: nsubj:pass as it is, or as nsubj.")
    ] = RelationKind.full,
    skip_broken: SkipBroken = False,
    least: Annotated[int, typer.Option(help="Instances that a relation needs to get a best head.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the intervals and of the halves.")] = 0,
    batch_size: Annotated[int, typer.Option(help="Sentences in a batch, at most.")] = 32,
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
    """Which head finds which dependency relation: accuracies with intervals, beside the best fixed offset."""
    from headscope.analyses.syntax.run import syntax as run
    from headscope.analyses.syntax.statistics import every_head, table
    from headscope.stream.estimate import syntax as foresee

    check_places(output, meta)
    sentences = annotated(
        treebank, format, words=words.value, relations=relations.value, skip_broken=skip_broken
    )
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    options: dict[str, Any] = {
        "rows": rows.value if rows else None,
        "preset": preset.value if preset else None,
        "least": least,
        "trees": trees,
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
    best: Any = table(found)
    few = [bool(one) for one in best["few"]]
    if any(few):
        say(f"{sum(few)} of {len(few)} rows have fewer than {least} instances, and no best head")
    made = every_head(found) if all_heads else best
    shown = on_screen(made) if all_heads else on_screen(made, few, dropped=["few"])
    table_out(made, found, output, as_json, meta, shown)
