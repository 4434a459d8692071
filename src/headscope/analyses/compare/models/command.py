"""`headscope compare models`: the models that it is given, by head and by role."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headscope.analyses.shown import Table
from headscope.core.counts import plural
from headscope.core.validation import Seed
from headscope.errors import InputError


def read(items: Sequence[str], *, models: Any, reading: Any) -> tuple[Any, Any, Any]:
    """Two models and a corpus of what was typed."""
    if models.untrained is not None or models.adapter is not None:
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
    return models.trained.named(first), models.named(second), texts


def run(
    a: Any,
    b: Any,
    corpus: Any,
    *,
    roles: Table | None = None,
    similar: Table | None = None,
    seed: Seed = 0,
    **options: Any,
) -> Any:
    """Two models head by head, or by role where their heads have no counterparts.

    Args:
        a, b: from `headscope.load`.
        corpus: what both read.
        roles: also what each head's roles became: .parquet, .csv, .json or .tex.
        similar: also how near both find pairs of texts that differ in one thing (`headscope similar --against`).
        seed: of the random tokens that show induction heads.
        **options: of `headscope.compare.models`.
    """
    from headscope.analyses.compare.models.run import counterparts, models
    from headscope.analyses.compare.roles.run import roles as roles_of
    from headscope.measures.dataset import write_table

    if similar is not None:
        from headscope.analyses.result import table
        from headscope.analyses.similar.command import labelled
        from headscope.analyses.similar.run import similar as near

        write_table(table(near(a, **labelled(), against=b)), similar)
    why = counterparts(a, b)
    result = models(a, b, corpus, **options) if why is None else None
    if result is not None and roles is None:
        return result
    shared = {name: value for name, value in options.items() if name not in ("measures", "by")}
    both = roles_of(a, b, corpus, seed=seed, **shared)
    rows = both.by_role if result is None else both.changes
    if roles is not None:
        write_table(rows, roles)
        print(f"{roles}: {plural(len(rows), 'row')}", file=sys.stderr)
    if result is None:
        print(f"{why}: compared by role", file=sys.stderr)
        return rows
    return result
