"""`headscope plan`: what a corpus of any size will take on any number of workers."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from headscope.console.options import ModelOptions, say
from headscope.core.validation import Count
from headscope.errors import InputError


def plan(
    files: Annotated[list[Path], typer.Argument(metavar="CORPUS...")],
    model: ModelOptions,
    *,
    tokens: Annotated[str, typer.Option(metavar="N,N")] = "1e6,1e9,1e12",
    workers: Annotated[str, typer.Option(metavar="N,N")] = "1,10,100,1000",
    cores: Count | None = None,
) -> None:
    """Tell time, bytes and memory of a run on any number of workers, from what a few blocks cost here.

    Args:
        files: text, packed to 128 tokens: a few blocks are measured.
        model: which one.
        tokens: sizes of corpora.
        workers: numbers of workers.
        cores: that workers and client share; by default each has its own.
    """
    sizes, counts = _numbers("--tokens", tokens), [int(count) for count in _numbers("--workers", workers)]

    from headscope.corpora import text
    from headscope.corpora.kinds import text_of
    from headscope.runs.plan import SHAPES, SMALLEST, measured, scaled, table

    for path in files:
        text_of(path)

    loaded, corpus = model.load(), text(files, pack=128)
    costs = measured(loaded, corpus)
    if (corpus.size_hint() or 0) < SMALLEST:
        say("less than two whole blocks: bytes and the client's work are overstated")
    heads = loaded.config.num_hidden_layers * loaded.config.num_attention_heads
    print(
        "\n".join(f"{field.name}: {getattr(costs, field.name):,.4g}" for field in fields(costs)), end="\n\n"
    )
    others = {shape: scaled(costs, heads, SHAPES[shape]) for shape in SHAPES}
    print(table({f"{loaded.name}, {loaded.device.type}": costs, **others}, sizes, counts, cores))


def _numbers(option: str, given: str) -> list[float]:
    try:
        numbers = [float(number) for number in given.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(1 <= number <= 1e18 for number in numbers):
        raise InputError(f"{option}: expected numbers from 1 such as 1e6,1e9, found {given!r}")
    return numbers
