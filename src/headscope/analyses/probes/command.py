"""`headscope probe`: trees read off attention, words and hidden states."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.console import options as console
from headscope.console import sources
from headscope.console.engines import EngineOptions

KINDS = "attention|attention+words|distance+words|right-branching|reinitialised|structural|all"


def probe(
    model: console.ModelOptions,
    engines: EngineOptions,
    table: console.TableOptions,
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="The treebank to train on.")],
    dev: Annotated[Path, typer.Argument(metavar="DEV", help="The treebank to score on.")],
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar=KINDS, help="Which probe; all by default. Repeatable.", show_default=False),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Vectors of words, a text file of GloVe or word2vec; by default the model's input embeddings.",
        ),
    ] = None,
    format: sources.AnnotatedFormat = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=console.MOST_SEED,
            help="Of training, the control task and the re-initialised model.",
        ),
    ] = 0,
    epochs: Annotated[int, typer.Option(help="At most; training stops when it no longer helps.")] = 40,
    limit: Annotated[int | None, typer.Option(help="Train on at most so many sentences.")] = None,
    precision: Annotated[
        Literal["uint8", "float16", "float32"], typer.Option(help="How maps are kept on disk.")
    ] = "uint8",
    strict: console.Strict = False,
    distinct: console.Distinct = False,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep maps, hidden states and checkpoints here, and go on from them: the same figures to the last "
            "digit.",
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Sentences in a batch of the model, at most.")] = 32,
    estimate: console.Estimate = False,
) -> None:
    """How much of a dependency tree can be read off attention, words and hidden states by a trained probe."""
    from headscope.analyses.clusters import note
    from headscope.analyses.probes import run, statistics

    table.check()
    sides = [
        sources.once(sources.annotated([path], format, strict=strict), distinct) for path in (train, dev)
    ]
    loaded = model.load()
    options: dict[str, Any] = {
        "kinds": kind or ["all"],
        "seed": seed,
        "epochs": epochs,
        "precision": precision,
        "limit": limit,
        "batch_size": batch_size,
        "engine": engines.engine(),
    }
    size = sum(side.size_hint() or 0 for side in sides)
    line = partial(run.estimate, loaded, *sides, **options)
    if console.foreseen(estimate, size, line, limit=limit, long=console.LONG_TREES):
        return
    dataset = run.probe(loaded, *sides, **options, vectors=vectors, resume=resume, progress=True)
    described: dict[str, Any] = json.loads(dataset.attrs["meta"])
    if "vectors" in described:
        words = described["vectors"]
        console.say(f"vectors: {words['name']}; {words['share of words without']:.1%} of the words have none")
    if "root" in described:
        console.say(f"the root is read off attention to: {', '.join(described['root'])}")
    rows: Any = statistics.table(dataset)
    console.say(note(described))
    table.out(rows, _shown(rows) + _compared(statistics.differences(dataset)), dataset=dataset)


_SHOWN = (
    "probe",
    "uas",
    "uas_low",
    "uas_high",
    "uas_punct",
    "uuas",
    "spearman",
    "depth_spearman",
    "root_accuracy",
    "control",
    "selectivity",
    "n",
    "vectors",
)


def _shown(rows: Any) -> str:
    """What fits a screen; UAS is without punctuation, uas_punct with it."""
    shown = rows[[name for name in _SHOWN if (rows[name].notna() & (rows[name] != "")).any()]].copy()
    for column in shown.select_dtypes("float"):
        shown[column] = ["" if value != value else f"{value:.3f}" for value in shown[column]]
    return str(shown.to_string(index=False))


def _compared(rows: Any) -> str:
    """What probes have more than others, for a screen: pairs of the same sentences."""
    if not len(rows):
        return ""
    shown = rows.copy()
    for column in ("difference", "low", "high"):
        shown[column] = ["" if value != value else f"{value:+.3f}" for value in shown[column]]
    shown["p"] = ["" if value != value else f"{value:.2g}" for value in shown["p"]]
    return (
        "\n\nwhat a probe has more than another, of the same sentences, with 95 % intervals and two-sided p\n"
        + str(shown.to_string(index=False))
    )
