"""`headscope roles`: what each head does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console import options as console
from headscope.console import sources
from headscope.console.engines import EngineOptions

_PRINTED = 13  # columns, to what the head's offsets score; files have all


@dataclass(frozen=True)
class _TableOptions(console.TableOptions):
    output: Annotated[Path | None, typer.Option("-o", "--output", help=".parquet, .csv, .json or .tex.")] = (
        None
    )


def roles(
    texts: sources.TextOptions,
    modalities: sources.ModalityOptions,
    model: console.ModelOptions,
    engines: EngineOptions,
    table: _TableOptions,
    level: Annotated[float, typer.Option(help="Expected share of wrong roles among those named.")] = 0.05,
    seed: Annotated[
        int,
        typer.Option(min=0, max=console.MOST_SEED, help="Of the random tokens that show induction heads."),
    ] = 0,
    batch_size: console.BatchSize = 32,
    resume: console.Resume = None,
) -> None:
    """What each head does: its roles, with scores, intervals, thresholds and q."""
    from headscope.analyses.roles.run import roles as run
    from headscope.analyses.roles.statistics import COLUMNS, NONE

    table.check(console.TABLES)
    engine = engines.engine()
    corpus, loaded = modalities.read(texts, texts.corpus, model)
    options: dict[str, Any] = {"level": level, "batch_size": batch_size, "limit": texts.limit, "seed": seed}
    rows: Any = run(loaded, corpus, **options, engine=engine, resume=resume, progress=True)
    for role, reason in rows.attrs["untested"].items():
        console.say(f"{role}: not tested ({reason})")
    for role, best in rows.attrs["not_found"].items():
        console.say(f"{role}: no head is known to have it ({best})")
    named = rows[rows["role"] != NONE]
    shown = (
        named[list(COLUMNS[:_PRINTED])].round(4).to_string(index=False)
        if len(named)
        else "no head has a role"
    )
    table.out(rows, shown, described=rows.attrs["meta"])
    console.say(f"{len(rows) - len(named)} heads have no role")
