"""`headscope report`: one page about a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options import (
    Device,
    Dtype,
    Keep,
    Limit,
    ModelName,
    Pack,
    Remote,
    Revision,
    TextFormat,
    Untrained,
    command,
    corpus_of,
    load,
)
from headscope.errors import InputError


def report(
    text: Annotated[
        list[Path] | None,
        typer.Option("--text", help="Text or jsonl to measure; the built-in corpus by default."),
    ] = None,
    model: ModelName = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write, .html.")] = Path(
        "report.html"
    ),
    format: TextFormat = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    examples: Annotated[int, typer.Option(help="How many examples to show heads on.")] = 3,
    pack: Pack = 128,
    limit: Limit = None,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
) -> None:
    """Write one page about a model: what every head does over a corpus, and the maps behind the figures."""
    from headscope.run.report import report as run

    if output.suffix.lower() != ".html":
        raise InputError(f"{output}: expected a name that ends in .html")
    started = time.monotonic()
    texts = corpus_of(text, format, pack)
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    page = run(loaded, texts, title=title, examples=examples, limit=limit, progress=True, command=command())
    output.write_text(page, encoding="utf-8")
    size, seconds = output.stat().st_size / 1e6, time.monotonic() - started
    print(f"{output.resolve()}  ({size:.1f} MB, {seconds:.0f} s; open it in a browser, it needs no network)")
