"""`headscope compare models` and `headscope compare training`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.analyses.comparing import (
    PICTURES,
    SHOWN,
    Batch,
    Colours,
    Figure,
    Measures,
    drawn,
    ground,
    say_absent,
)
from headscope.console.options import (
    TABLES,
    AsJson,
    By,
    Device,
    Dtype,
    Estimate,
    Keep,
    Limit,
    Meta,
    Output,
    Pack,
    Remote,
    TextFormat,
    Theme,
    check_places,
    command,
    corpus_of,
    foreseen,
    named,
    on_screen,
    print_rows,
    say,
    table_out,
    write_meta,
)
from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.models import Model


def models(
    items: Annotated[
        list[str],
        typer.Argument(
            metavar="A [B] [CORPUS]",
            help="Two models (hub name, folder or demo; @REVISION), or one with --untrained; then files of texts, "
            "by default the built-in corpus.",
        ),
    ],
    output: Output = None,
    figure: Figure = None,
    roles: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also what each head's roles became: .parquet, .csv or .json."),
    ] = None,
    measures: Measures = None,
    by: Annotated[By, typer.Option(help="Average over tokens or over documents.")] = By.token,
    format: TextFormat = None,
    pack: Pack = 128,
    theme: Colours = Theme.auto,
    limit: Limit = None,
    batch_size: Batch = 16,
    seed: Annotated[int, typer.Option(help="Of the random tokens that show induction heads.")] = 0,
    device: Device = None,
    dtype: Dtype = None,
    untrained: Annotated[
        int | None, typer.Option(metavar="SEED", help="B is A with its weights drawn again; name A only.")
    ] = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
    estimate: Estimate = False,
    as_json: AsJson = False,
    meta: Meta = None,
) -> None:
    """What did training change? Drift of each head, and change of every measure and role, on the same inputs."""
    from headscope.analyses.compare_figures import models_figure
    from headscope.analyses.compare_models.run import counterparts
    from headscope.analyses.compare_models.run import models as run
    from headscope.stream.estimate import models as foresee

    check_places(output, meta)
    check_places(figure, suffixes=PICTURES)
    check_places(roles, suffixes=TABLES)
    if untrained is not None:
        first, rest = items[0], items[2:] if items[1:2] == items[:1] else items[1:]
        second = first
    elif len(items) < 2:
        raise InputError("models: expected two (or --untrained SEED), found one")
    else:
        first, second, rest = items[0], items[1], items[2:]
    texts = corpus_of([Path(one) for one in rest], format, pack)
    a = named(first, device, dtype, None, None, trust_remote_code)
    b = named(second, device, dtype, untrained, keep, trust_remote_code)
    why = counterparts(a, b)
    if why is not None:
        say(f"{why}: compared by role")
        if estimate:
            raise InputError("--estimate: expected models whose heads have counterparts")
        _roles(a, b, texts, output or roles, as_json, limit, batch_size, seed, meta)
        return
    options: dict[str, Any] = {
        "measures": measures.split(",") if measures else None,
        "by": by.value,
        "batch_size": batch_size,
        "limit": limit,
    }
    by_role = roles is not None or not (as_json or output is not None)

    def line() -> str:
        return foresee(a, b, texts, **options) + ("; then roles" if by_role else "")

    if foreseen(estimate, texts.size_hint(), line, limit=limit):
        return
    found = run(a, b, texts, **options, progress=True, command=command())
    about: dict[str, Any] = json.loads(found.figures.attrs["meta"])
    say_absent(about)
    if about["over"] == "words":
        say("the tokenizers differ: compared on words, without special tokens")
    layers: Any = found.layers
    shown = [
        "the heads that moved most (Jensen–Shannon, nats a row; cosine of the rows)",
        on_screen(found.drift.head(SHOWN)),
        "\nmeans of layers",
        layers.round(4).to_string(index=False),
    ]
    table_out(found.table, found.figures, output, as_json, meta, "\n".join(shown))
    if figure is not None:
        drawn(models_figure(found.figures, theme=ground(theme)), found.figures, figure, "Two models")
    if by_role:
        _roles(a, b, texts, roles, False, limit, batch_size, seed, None)


def _roles(
    a: Model,
    b: Model,
    texts: Any,
    output: Path | None,
    as_json: bool,
    limit: int | None,
    batch_size: int,
    seed: int,
    meta: Path | None,
) -> None:
    """Write or print what the roles became."""
    from headscope.analyses.compare_models.run import counterparts
    from headscope.analyses.compare_roles.run import roles as run
    from headscope.measures.dataset import write_table

    shaped = counterparts(a, b) is None
    try:
        found = run(
            a, b, texts, limit=limit, batch_size=batch_size, seed=seed, progress=True, command=command()
        )
    except InputError as error:
        if not shaped or output is not None:
            raise
        say(f"roles were not compared: {error}")
        return
    rows: Any = found.changes if shaped else found.by_role
    if output is not None:
        write_table(rows, output)
        say(f"{output}: {len(rows):,} rows")
    elif as_json:
        print_rows(rows)
    else:
        counts: Any = found.by_role
        shown = counts.round(3).to_string(index=False) if len(counts) else "no head of either has a role"
        print(f"\nroles of A and B\n{shown}")
        if shaped:
            count = rows["change"].value_counts()
            print(", ".join(f"{int(count.get(name, 0))} {name}" for name in ("kept", "lost", "gained")))
    write_meta(meta, {"a": found.a.attrs["meta"], "b": found.b.attrs["meta"]})
