"""`headscope links`: which head connects what belongs together."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.console import options as console
from headscope.console import sources
from headscope.console.engines import EngineOptions
from headscope.errors import InputError


def links(
    model: console.ModelOptions,
    table: console.TableOptions,
    long: console.LongOptions,
    engines: EngineOptions,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Links: .jsonl (of pictures, too), A B ALIGNMENT, speech, trees or coreference; by default the "
            "built-in trees or, with a model of pictures, the built-in pictures.",
        ),
    ] = None,
    format: sources.LinksFormat = None,
    candidates: Annotated[
        Literal["any", "earlier", "later", "other", "listed"],
        typer.Option(
            help="Among what a head chooses: other words, those before or after, of the other text, listed."
        ),
    ] = "any",
    direction: Annotated[
        Literal["both", "row", "column"],
        typer.Option(help="row: what a source looks at most; column: what looks at it most."),
    ] = "both",
    all_heads: Annotated[
        bool, typer.Option("--all-heads", help="Every head and direction, not only the best of each label.")
    ] = False,
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="All heads together: a sparse logistic regression and the mean of the best few, beside the best head.",
        ),
    ] = False,
    symmetrise: Annotated[
        bool,
        typer.Option(
            "--symmetrise",
            help="With --together: maps and their transposes with average-product correction, for contacts.",
        ),
    ] = False,
    rows: Annotated[
        console.FromWord,
        typer.Option(help="Attention from a span: the mean over its pieces, or that of the first."),
    ] = "mean",
    source: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Of pictures: which tokens look at the regions, in place of words, such as cls (the default of the "
            "built-in pictures, where a model reads no text).",
        ),
    ] = None,
    documents: Annotated[
        str | None,
        typer.Option(
            metavar="field:NAME", help="Of .jsonl: what is of one name in this field is one document."
        ),
    ] = None,
    base: Annotated[
        int, typer.Option(min=0, max=1, help="Of alignments: what they call the first word.")
    ] = 0,
    limit: console.Limit = None,
    strict: console.Strict = False,
    distinct: console.Distinct = False,
    least: Annotated[
        int | None,
        typer.Option(
            help="Instances that a label needs to get a best head: by default 20, of the built-in pictures 10.",
            show_default=False,
        ),
    ] = None,
    seed: console.SplitSeed = 0,
    batch_size: Annotated[int, typer.Option(help="Inputs in a batch, at most.")] = 32,
    estimate: console.Estimate = False,
) -> None:
    """Which head connects X to Y, by any annotation: accuracies with intervals, beside the best simple rule."""
    from headscope.analyses.links import run
    from headscope.analyses.links.combine import command as combined
    from headscope.corpora import builtin_images, from_class

    kept = long.run(table.output)
    table.check()
    if documents is not None and not documents.removeprefix("field:"):
        raise InputError("--documents: expected field:NAME, found no name")
    field = None if documents is None else documents.removeprefix("field:")
    corpus = sources.once(
        sources.linked(files, format, document=field, base=1 if base else 0, strict=strict), distinct
    )
    engine = engines.engine()
    if together:
        combined.check(long, estimate=estimate, all_heads=all_heads)
        if engine is not None:
            raise InputError("--devices, --dask: expected no --together with them, found it")
    elif symmetrise:
        raise InputError("--symmetrise: expected --together with it, found none")
    loaded = model.load()
    if not files and format is None and loaded.image_processor is not None:
        corpus = builtin_images()
        source = source or ("cls" if loaded.processor is None else None)
        least = 10 if least is None else least
    if source is not None:
        corpus = from_class(corpus, source)
    options: dict[str, Any] = {
        "candidates": candidates,
        "direction": direction,
        "rows": rows,
        "least": 20 if least is None else least,
        "seed": seed,
        "batch_size": batch_size,
        "limit": limit,
    }
    if together:
        combined.printed(loaded, corpus, table, symmetrise=symmetrise, resume=long.resume, **options)
        return
    options["engine"] = engine
    line = partial(run.estimate, loaded, corpus, **options)
    if console.foreseen(estimate, corpus.size_hint(), line, limit=limit, long=console.LONG_TREES):
        return
    dataset = run.links(loaded, corpus, **options, **kept, progress=True)
    if long.ends(dataset, table):
        return
    printed(dataset, table.output, table.as_json, table.meta, all_heads=all_heads)


def printed(
    dataset: Any,
    output: Path | None,
    as_json: bool,
    meta: Path | None,
    *,
    map: Path | None = None,
    seed: int = 0,
    all_heads: bool = False,
) -> None:
    """Write or print the heads of each label."""
    from headscope.analyses.clusters import CHOSEN_ON, note
    from headscope.analyses.links import statistics

    console.no_map(map)
    described = json.loads(dataset.attrs["meta"])
    console.say_left_out(described)
    best: Any = statistics.table(dataset)
    few = [bool(one) for one in best["few"]]
    if any(few):
        console.say(
            f"{sum(few)} of {len(few)} rows have fewer than {described['least']} instances, or no head that is right, "
            "and no best head"
        )
    for line in _unasked(dataset):
        console.say(line)
    console.say(note(described))
    options = console.TableOptions(output, as_json, meta)
    if all_heads:
        every: Any = statistics.every_head(dataset).dropna(
            subset=["accuracy"]
        )  # of directions without sources
        options.out(every, console.on_screen(every), dataset=dataset)
        return
    if not all(few):
        console.say(
            f"split: the head that is best on {CHOSEN_ON} of the {best['clusters'][0]}, scored on the rest; the head "
            f"named was the choice so many times of {best['choices'].max()}"
        )
    dropped = [name for name in _DROPPED if name in best]
    options.out(best, console.on_screen(best, few, dropped=dropped), dataset=dataset)


def _unasked(dataset: Any) -> list[str]:
    """Of each direction in which some sources of a label have candidates and others none, how many these are."""
    from headscope.analyses.links import statistics

    labels = [
        label for label in dataset["label"].values if label != statistics.ALL or dataset.sizes["label"] == 1
    ]
    own = dataset.sel(label=labels)
    missing = own["n"] - own["asked"].where(own["asked"] > 0, own["n"])
    return [
        f"{direction}: {int(count):,} of {int(own['n'].sum()):,} sources have no candidates: no head is right there, "
        "and mass, rank and average precision are over the others"
        for direction, count in zip(own["direction"].values, missing.sum("label").values, strict=True)
        if count
    ]


_DROPPED = (
    "few",
    "p",
    "difference",
    "difference_low",
    "difference_high",
    "split_low",
    "split_high",
    "aer_low",
    "aer_high",
    "choices",
    "clusters",
)
"""Columns that files have and a screen has no room for."""
