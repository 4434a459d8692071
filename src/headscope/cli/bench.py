"""`headscope bench`: one row of a public table, with the published ones beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from headscope.analyses.bench import By, Name
from headscope.console import options as console
from headscope.console import sources
from headscope.core.counts import plural
from headscope.core.validation import Count, Seed
from headscope.errors import InputError


def bench(
    name: Name,
    model: str = "",
    files: list[Path] | None = None,
    *,
    loading: console.LoadOptions,
    table: console.TableOptions,
    data: str = "",
    seed: Seed = 0,
    limit: Count | None = None,
    by: By = "heads",
) -> None:
    """One row of a public table for a model, with the published rows, their source and n beside it.

    Args:
        name: of the table: aer (word alignment), timing (of spoken words), contacts (of proteins), uuas (of trees),
            cite (of sources), retrieval, induction, faithfulness (CPR and CMD of circuits), or circuits (of twenty
            small models whose circuit is known).
        model: hub name, folder or .gguf file; demo or demo-lm; of circuits none.
        files (FILE): what it is measured on; alignments call the first word 1; pairs are as patch takes them or MIB's.
        loading: how the model is loaded.
        table: where the table goes.
        data: what to call the files; by default the first one's name.
        seed: of halves, needles and random tokens.
        limit: use at most this many inputs.
        by: of aer, heads and hidden states, or similar: what a word's absence does to each sentence's vector.
    """
    from headscope import corpora
    from headscope.analyses.bench.circuits import pairs_of
    from headscope.analyses.bench.run import bench as run
    from headscope.analyses.shown import ShownResult
    from headscope.corpora.files import Files
    from headscope.corpora.jsonlines import json_object
    from headscope.views.blocks import rows_of

    table.check(console.TABLES)
    paths = list(files or ())
    readers: dict[str, tuple[int, str, Callable[[], list[Any]]]] = {
        "aer": (3, "three files: sentences A, sentences B and their alignments",
                lambda: [corpora.alignments(*paths, base=1)]),
        "timing": (1, "a .jsonl of audio, words and times", lambda: [corpora.spoken(paths[0])]),
        "contacts": (1, "a .jsonl of sequences with links", lambda: [corpora.links(paths)]),
        "cite": (1, "prompts with sources, or answers with marked stretches", lambda: [corpora.prompts(paths[0])]),
        "uuas": (2, "two treebanks, to train and to score",
                 lambda: [sources.annotated([path]) for path in paths]),
        "faithfulness": (2 if len(paths) == 2 else 1, "pairs, and others to score on",
                         lambda: [pairs_of([*map(json_object, Files(one, records=True))], str(one)) for one in paths]),
    }  # fmt: skip
    count, expected, read = readers.get(name, (0, "no file", list))
    if len(paths) != count:
        raise InputError(f"FILE: {name}: expected {expected}, found {plural(len(paths), 'file')}")
    called = data or (paths[0].name.split(".")[0] if paths else "")
    if bool(model) != (name != "circuits"):
        raise InputError(f"MODEL: expected {'none' if model else 'one'} of {name}, found {model or 'none'}")
    rows: Any = run(
        name, loading.named(model) if model else None, read(), data=called, seed=seed, limit=limit, by=by
    )
    table.out(ShownResult(rows, rows_of(rows, dropped=("name",), most=len(rows))), "bench")
