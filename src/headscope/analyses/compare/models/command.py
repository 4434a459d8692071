"""`headscope compare models`: two models on the same inputs."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.console import options as console
from headscope.console import sources
from headscope.console.engines import EngineOptions
from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.models import Model


def models(
    how: console.LoadOptions,
    engines: EngineOptions,
    reading: sources.ReadingOptions,
    table: console.TableOptions,
    items: Annotated[
        list[str],
        typer.Argument(
            metavar="A [B] [CORPUS]",
            help="Two models (hub name, folder or demo; @REVISION), or one with --adapter or --untrained SEED, which "
            "compares it with the adapted one, or with its weights drawn again; then files of texts, by default the "
            "built-in corpus.",
        ),
    ],
    figure: console.FigureFile = None,
    roles: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also what each head's roles became: .parquet, .csv, .json or .tex."
        ),
    ] = None,
    measures: console.Measures = None,
    by: console.By = "token",
    theme: console.Theme = "auto",
    batch_size: console.BatchSize = 16,
    seed: Annotated[
        int,
        typer.Option(min=0, max=console.MOST_SEED, help="Of the random tokens that show induction heads."),
    ] = 0,
    estimate: console.Estimate = False,
) -> None:
    """What did training change? Drift of each head, and change of every measure and role, on the same inputs."""
    from headscope.analyses.compare.models import run

    table.check()
    console.check_places(figure, suffixes=console.PICTURES)
    console.check_places(roles, suffixes=console.TABLES)
    if how.untrained is not None or how.adapter is not None:
        first, rest = items[0], items[2:] if items[1:2] == items[:1] else items[1:]
        second = first
    elif len(items) < 2:
        raise InputError("models: expected two (or --adapter or --untrained SEED), found one")
    else:
        first, second, rest = items[0], items[1], items[2:]
    for one in (first, second):
        if Path(one).is_file() and Path(one).suffix.lower() != ".gguf":
            raise InputError(
                f"models: expected A [B] [CORPUS], models first, found the file {one} in a model's place"
            )
    texts = reading.of([Path(one) for one in rest])
    a, b = how.trained.named(first), how.named(second)
    why = run.counterparts(a, b)
    shared: dict[str, Any] = {"batch_size": batch_size, "limit": reading.limit, "engine": engines.engine()}
    if why is not None:
        console.say(f"{why}: compared by role")
        if estimate:
            raise InputError("--estimate: expected models whose heads have counterparts")
        _roles(a, b, texts, table.output or roles, table.as_json, table.meta, seed=seed, **shared)
        return
    options: dict[str, Any] = {"measures": console.names(measures), "by": by, **shared}
    by_role = roles is not None or not (table.as_json or table.output is not None)
    line = partial(run.estimate, a, b, texts, **options)
    if console.foreseen(
        estimate, texts.size_hint(), lambda: line() + ("; then roles" if by_role else ""), limit=reading.limit
    ):
        return
    result = run.models(a, b, texts, **options, progress=True)
    about: dict[str, Any] = json.loads(result.figures.attrs["meta"])
    console.say_absent(about)
    if about["over"] == "words":
        console.say("the tokenizers differ: compared on words, without special tokens")
    layers: Any = result.layers
    shown = [
        "the heads that moved most (Jensen–Shannon, nats a row; cosine of the rows)",
        console.on_screen(result.drift.head(console.SHOWN)),
        "\nmeans of layers",
        layers.round(4).to_string(index=False),
    ]
    table.out(result.table, "\n".join(shown), dataset=result.figures)
    if figure is not None:
        console.write_figure(result.figure(theme="dark" if theme == "dark" else "light"), figure)
    if by_role:
        _roles(a, b, texts, roles, False, None, seed=seed, **shared)


def _roles(
    a: Model, b: Model, texts: Any, output: Path | None, as_json: bool, meta: Path | None, **options: Any
) -> None:
    """Write or print what the roles became."""
    from headscope.analyses.compare.models.shapes import counterparts
    from headscope.analyses.compare.roles.run import roles
    from headscope.analyses.compare.roles.statistics import CHANGES
    from headscope.measures.dataset import write_table

    shaped = counterparts(a, b) is None
    try:
        result = roles(a, b, texts, **options, progress=True)
    except InputError as error:
        if not shaped or output is not None:
            raise
        console.say(f"roles were not compared: {error}")
        return
    rows: Any = result.changes if shaped else result.by_role
    if output is not None:
        write_table(rows, output)
        console.say(f"{output}: {len(rows):,} rows")
    elif as_json:
        console.print_rows(rows)
    else:
        counts: Any = result.by_role
        shown = counts.round(3).to_string(index=False) if len(counts) else "no head of either has a role"
        print(f"\nroles of A and B\n{shown}")
        if shaped:
            count = rows["change"].value_counts()
            print(", ".join(f"{int(count.get(name, 0))} {name}" for name in CHANGES))
    console.write_meta(meta, {"a": result.a.attrs["meta"], "b": result.b.attrs["meta"]})
