"""`headscope roles`: what each head does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console.options import (
    TABLES,
    AsJson,
    Corpora,
    Device,
    Dtype,
    Keep,
    Limit,
    Meta,
    ModelName,
    Pack,
    Remote,
    Revision,
    TextFormat,
    Untrained,
    check_places,
    command,
    corpus_of,
    load,
    print_rows,
    say,
    write_meta,
)


def roles(
    corpus: Corpora = None,
    model: ModelName = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help=".parquet, .csv or .json.")] = None,
    format: TextFormat = None,
    level: Annotated[float, typer.Option(help="Expected share of wrong roles among those named.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Of the random tokens that show induction heads.")] = 0,
    pack: Pack = 128,
    limit: Limit = None,
    batch_size: Annotated[int, typer.Option(help="Inputs in a batch, at most.")] = 32,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
    as_json: AsJson = False,
    meta: Meta = None,
) -> None:
    """What each head does: its roles, with scores, intervals, thresholds and q."""
    from headscope.analyses.roles.run import roles as run
    from headscope.analyses.roles.statistics import NONE
    from headscope.measures.dataset import write_table

    check_places(output, meta, suffixes=TABLES)
    texts = corpus_of(corpus, format, pack)
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    options: dict[str, Any] = {"level": level, "batch_size": batch_size, "limit": limit, "seed": seed}
    found: Any = run(loaded, texts, **options, progress=True, command=command())
    for role, reason in found.attrs["untested"].items():
        say(f"{role}: not tested ({reason})")
    named = found[found["role"] != NONE]
    if output is not None:
        write_table(found, output)
        say(f"{output}: {len(found):,} rows")
    elif as_json:
        print_rows(found)
    else:
        print(named.round(4).to_string(index=False) if len(named) else "no head has a role")
    say(f"{len(found) - len(named)} heads have no role")
    write_meta(meta, found.attrs["meta"])
