"""`headscope measure`: figures of every head over a corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import headscope
from headscope.console.options import (
    PICTURES,
    AsJson,
    By,
    Corpora,
    Device,
    Dtype,
    Estimate,
    Keep,
    Limit,
    Meta,
    ModelName,
    Pack,
    Remote,
    Resume,
    Revision,
    SkipFailures,
    TextFormat,
    Untrained,
    WhichPreset,
    WhichShard,
    check_places,
    command,
    corpus_of,
    foreseen,
    load,
    print_rows,
    say,
    say_left_out,
    say_part,
    write_meta,
)
from headscope.errors import InputError

SUFFIXES = (".parquet", ".csv", ".json", ".nc", *PICTURES)
"""What ``-o`` may end in: a table, the dataset, or a figure of the measures."""


def measure(
    corpus: Corpora = None,
    model: ModelName = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help=".parquet, .csv, .json or .nc; .svg, .pdf or .png for a figure; else a table is printed.",
        ),
    ] = None,
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
    resume: Resume = None,
    shard: WhichShard = None,
    skip_failures: SkipFailures = False,
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
    """Measure every head over a corpus: offsets, separators, punctuation, entropy, each with its error."""
    from headscope.analyses.measure.run import estimate as foresee
    from headscope.analyses.measure.run import measure as run

    if shard is not None and output is None:
        raise InputError("--shard: expected -o PART.nc for what the shard found, found no -o")
    check_places(output, meta, suffixes=() if shard is not None else SUFFIXES)
    texts = corpus_of(corpus, format, pack)
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    names = measures.split(",") if measures else None

    def line() -> str:
        return foresee(loaded, texts, measures=names, batch_size=batch_size, limit=limit)

    if foreseen(estimate, texts.size_hint(), line, limit=limit):
        return
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
        say_part(found, output, shard)
        output = None
    figures(found, output, as_json, meta, quiet=shard is not None)


def figures(
    found: Any,
    output: Path | None,
    as_json: bool,
    meta: Path | None,
    *,
    map: Path | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> None:
    """Write or print the figures of heads, and say what has no row and what was left out."""
    from headscope.measures.dataset import names, table, write

    if map is not None:
        raise InputError("--map: expected parts of distances, found other ones")
    described: dict[str, Any] = json.loads(found.attrs["meta"])
    for name, reason in described.get("absent", {}).items():
        say(f"{name}: no row; {reason}")
    say_left_out(described)
    if output is not None and output.suffix.lower() in PICTURES:
        from headscope.analyses.measure.figure import figure

        drawn = figure(found, names(found)).save(output)
        count = len(names(found))
        say(f"{drawn}: a figure of {count} measure{'s' * (count != 1)}")
    elif output is not None:
        write(found, output)
        say(f"{output}: {len(table(found)):,} rows")
    elif as_json and not quiet:
        print_rows(table(found))
    elif not quiet:
        print(_wide(table(found)))
    write_meta(meta, described)


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
