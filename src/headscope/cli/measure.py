"""`headscope measure`: figures of every head over a corpus, and the parts of shards put together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import headscope
from headscope.cli.options import (
    AsJson,
    By,
    Corpora,
    Device,
    Dtype,
    Keep,
    Limit,
    Meta,
    ModelName,
    Output,
    Pack,
    Remote,
    Revision,
    TextFormat,
    Untrained,
    WhichPreset,
    command,
    corpus_of,
    load,
    print_json,
    say,
)
from headscope.errors import InputError

LONG = 500_000
"""From how many bytes of corpus on a run first says what it will take."""


def measure(
    corpus: Corpora = None,
    model: ModelName = None,
    output: Output = None,
    format: TextFormat = None,
    measures: Annotated[
        str | None, typer.Option(metavar="A,B", help="Which measures, such as previous,offset-2,entropy.")
    ] = None,
    by: Annotated[By, typer.Option(help="Average over tokens or over documents.")] = By.token,
    pack: Pack = 128,
    limit: Limit = None,
    preset: WhichPreset = None,
    objective: Annotated[
        str | None,
        typer.Option(help="What gradient_… is of: masked-lm, causal-lm, logit:N or cosine."),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Inputs in a batch, at most.")] = 32,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep checkpoints here, and go on from them: the same figures to the last digit.",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Measure the I-th of N parts only, into -o PART.nc; then: merge."),
    ] = None,
    skip_failures: Annotated[
        bool,
        typer.Option("--skip-failures", help="Leave out inputs at which the model fails, and list them."),
    ] = False,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what the run would take, and stop.")
    ] = False,
    as_json: AsJson = False,
    meta: Meta = None,
) -> None:
    """Measure every head over a corpus: offsets, separators, punctuation, entropy, each with its error."""
    from headscope.measures.dataset import check_place, check_suffix
    from headscope.run.measure import estimate as foresee
    from headscope.run.measure import measure as run

    if output is not None:
        check_suffix(output)
    elif shard is not None:
        raise InputError("--shard: expected -o PART.nc for what the shard found, found no -o")
    for place in (output, meta):
        if place is not None:
            check_place(place)
    texts = corpus_of(corpus, format, pack)
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    names = measures.split(",") if measures else None
    if estimate:
        print(foresee(loaded, texts, measures=names, batch_size=batch_size, limit=limit))
        return
    if (texts.size_hint() or 0) > LONG:
        say(foresee(loaded, texts, measures=names, batch_size=batch_size, limit=limit))
    found = run(
        loaded,
        texts,
        measures=names,
        by=by.value,
        preset=preset.value if preset else None,
        objective=objective,
        batch_size=batch_size,
        limit=limit,
        resume=resume,
        shard=shard,
        part=output if shard is not None else None,
        skip_failures=skip_failures,
        progress=True,
        command=command(),
    )
    if shard is not None:
        of = json.loads(found.attrs["meta"])["shard"]["of_blocks"]
        say(f"{output}: shard {shard} of {of:,} blocks")
        output = None
    _figures(found, output, as_json, meta, quiet=shard is not None)


def merge(
    parts: Annotated[
        list[Path], typer.Argument(metavar="PART...", help="What measure --shard wrote: all parts.")
    ],
    output: Output = None,
    as_json: AsJson = False,
    meta: Meta = None,
) -> None:
    """Put the parts of all shards together: the figures of one run over the whole corpus, to the last digit."""
    from headscope.measures.dataset import check_place, check_suffix
    from headscope.run.measure import merge as run

    if output is not None:
        check_suffix(output)
    for place in (output, meta):
        if place is not None:
            check_place(place)
    _figures(run(parts, command=command()), output, as_json, meta)


def _figures(
    found: Any, output: Path | None, as_json: bool, meta: Path | None, *, quiet: bool = False
) -> None:
    """Write or print the figures of heads, and say what has no row and what was left out."""
    from headscope.measures.dataset import table, write

    described: dict[str, Any] = json.loads(found.attrs["meta"])
    for name, reason in described.get("absent", {}).items():
        say(f"{name}: no row; {reason}")
    if left := described.get("failures", {}).get("count"):
        say(f"left out {left:,} {'input' if left == 1 else 'inputs'} that failed; the description lists them")
    if output is not None:
        write(found, output)
        say(f"{output}: {len(table(found)):,} rows")
    elif as_json and not quiet:
        rows: Any = table(found)
        print_json(json.loads(rows.to_json(orient="records")))
    elif not quiet:
        print(_wide(table(found)))
    if meta is not None:
        meta.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def _wide(tidy: Any) -> str:
    """A row a head, a column a measure: for reading on a screen."""
    names = list(dict.fromkeys(tidy["measure"]))
    wide = tidy.pivot(index=["layer", "head", "paper"], columns="measure", values="value")[
        names
    ].reset_index()
    wide.insert(
        0, "name", [str(headscope.Head(*head)) for head in zip(wide["layer"], wide["head"], strict=True)]
    )
    return str(wide.drop(columns=["layer", "head"]).round(3).to_string(index=False, na_rep=""))
