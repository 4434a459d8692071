"""`headscope artefacts`: patches that hold no content, and the heads that look at them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console import options as console
from headscope.console import sources


def artefacts(
    model: console.ModelOptions,
    table: console.TableOptions,
    images: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="IMAGES",
            help="Folders, pictures, or JSON lines of pictures; the built-in ones by default.",
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="What a model of texts and pictures is asked of each that has no text.")
    ] = None,
    cutoff: Annotated[
        float | None,
        typer.Option(help="The norm (or φ) of an artefact; by default told from all patches (or 20)."),
    ] = None,
    dimension: Annotated[
        list[int] | None,
        typer.Option(min=0, help="A sink dimension of the model; repeatable. By default the first token's."),
    ] = None,
    batch_size: console.BatchSize = 8,
    limit: console.Limit = None,
    strict: console.Strict = False,
    distinct: console.Distinct = False,
) -> None:
    """Which patches hold no content (artefacts, visual sinks), and which heads look at them?"""
    from headscope import corpora
    from headscope.analyses.artefacts import run, statistics
    from headscope.measures.dataset import description

    table.check((*console.TABLES, ".nc"))
    source = corpora.builtin_images()
    if images:
        source = sources.once(
            corpora.images(images if len(images) > 1 else images[0], text=text, strict=strict), distinct
        )
    options: dict[str, Any] = {"cutoff": cutoff, "dimensions": dimension or None, "batch_size": batch_size}
    found = run.artefacts(model.load(), source, **options, limit=limit, progress=True)
    about = description(found)
    console.say_left_out(about)
    rows = statistics.table(found)
    lines = [statistics.told(found)]
    if found["artefacts"].item() > 0:
        lines.append(console.on_screen(rows.head(console.SHOWN)))
    table.out(rows, "\n".join(lines), dataset=found)
