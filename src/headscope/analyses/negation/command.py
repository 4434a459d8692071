"""`headscope negation`: which head tells the scope of a negation, and what fine-tuning changed of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console.options import (
    LONG,
    TABLES,
    AsJson,
    Device,
    Dtype,
    Estimate,
    Keep,
    Meta,
    ModelName,
    Output,
    Remote,
    Revision,
    Sentences,
    SkipBroken,
    Untrained,
    check_places,
    command,
    foreseen,
    load,
    named,
    on_screen,
    print_rows,
    say,
    say_broken,
    table_out,
    write_meta,
)

SHOWN = 15
"""Heads that are printed."""


def negation(
    scopes: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help='JSON lines: {"words": [...], "cue": [2], "scope": [0, 1, 3]}.'),
    ],
    model: ModelName = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Also what changed since this model, before fine-tuning (hub name, folder or demo; @REVISION).",
        ),
    ] = None,
    output: Output = None,
    limit: Sentences = None,
    skip_broken: SkipBroken = False,
    seed: Annotated[int, typer.Option(help="Of the intervals.")] = 0,
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
    """Do the words in the scope of a negation look at its cue? Precision, recall and F1 of every head."""
    from headscope import corpora
    from headscope.analyses.negation.run import negation as run
    from headscope.analyses.negation.statistics import difference, table
    from headscope.measures.dataset import write_table
    from headscope.stream.estimate import negation as foresee

    check_places(output, meta, suffixes=() if against is None else TABLES)
    sentences = corpora.negations(scopes, skip_broken=skip_broken)
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    options: dict[str, Any] = {"limit": limit, "batch_size": batch_size}

    def line() -> str:
        return foresee(loaded, sentences, **options)

    if foreseen(estimate, sentences.size_hint(), line, limit=limit, long=LONG):
        return
    options |= {"seed": seed, "progress": True, "command": command()}
    found = run(loaded, sentences, **options)
    say_broken(sentences)
    if against is None:
        rows: Any = table(found)
        table_out(rows, found, output, as_json, meta, _best(rows))
        return
    before = run(named(against, device, dtype, None, None, trust_remote_code), sentences, **options)
    rows = difference(before, found)
    if output is not None:
        write_table(rows, output)
        say(f"{output}: {len(rows):,} rows")
    elif as_json:
        print_rows(rows)
    else:
        print(_changed(rows))
    write_meta(meta, {"before": json.loads(before.attrs["meta"]), "after": json.loads(found.attrs["meta"])})


def _best(rows: Any) -> str:
    """The heads of the largest F1, a column a score."""
    wide = rows.pivot(index=["layer", "head", "paper"], columns="score", values="value").reset_index()
    ends = rows[rows["score"] == "f1"].set_index(["layer", "head"])[["ci_low", "ci_high", "n"]]
    wide = wide.join(ends, on=["layer", "head"]).sort_values("f1", ascending=False, kind="stable")
    columns = ["layer", "head", "paper", "precision", "recall", "f1", "ci_low", "ci_high", "n"]
    return _few("the heads of the largest F1, with its 95 % interval", wide[columns])


def _changed(rows: Any) -> str:
    """The heads whose F1 changed most."""
    own = rows[rows["score"] == "f1"].drop(columns="score")
    own = own.loc[own["difference"].abs().sort_values(ascending=False, kind="stable").index]
    return _few("the heads whose F1 changed most, with the 95 % interval of the change", own)


def _few(title: str, rows: Any) -> str:
    lines = [title, on_screen(rows.head(SHOWN).reset_index(drop=True))]
    if len(rows) > SHOWN:
        lines.append(f"… and {len(rows) - SHOWN:,} more; -o FILE writes them all")
    return "\n".join(lines)
