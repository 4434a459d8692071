"""`headscope probe`: probes for dependency trees."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console.options import (
    LONG_TREES,
    AnnotatedFormat,
    AsJson,
    Device,
    Dtype,
    Estimate,
    Keep,
    Meta,
    ModelName,
    Output,
    Remote,
    Revision,
    SkipBroken,
    Untrained,
    annotated,
    check_places,
    command,
    foreseen,
    load,
    say,
    say_broken,
    table_out,
)


class Kind(StrEnum):
    """Which probe; docs/probes.md says what each is."""

    attention = "attention"
    attention_words = "attention+words"
    distance_words = "distance+words"
    right_branching = "right-branching"
    reinitialised = "reinitialised"
    structural = "structural"
    all = "all"


class Kept(StrEnum):
    """How maps are kept on disk."""

    uint8 = "uint8"
    float16 = "float16"
    float32 = "float32"


def probe(
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="The treebank to train on.")],
    dev: Annotated[Path, typer.Argument(metavar="DEV", help="The treebank to score on.")],
    model: ModelName = None,
    output: Output = None,
    kind: Annotated[
        list[Kind] | None, typer.Option(help="Which probe; all by default. Repeatable.", show_default=False)
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Vectors of words, a text file of GloVe or word2vec; by default the model's input embeddings.",
        ),
    ] = None,
    format: AnnotatedFormat = None,
    seed: Annotated[
        int, typer.Option(help="Of training, the control task, the re-initialised model and the intervals.")
    ] = 0,
    epochs: Annotated[int, typer.Option(help="At most; training stops when it no longer helps.")] = 40,
    limit: Annotated[int | None, typer.Option(help="Train on at most so many sentences.")] = None,
    precision: Annotated[Kept, typer.Option(help="How maps are kept on disk.")] = Kept.uint8,
    skip_broken: SkipBroken = False,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep maps, hidden states and checkpoints here, and go on from them: the same figures to the last "
            "digit.",
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Sentences in a batch of the model, at most.")] = 32,
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
    """How much of a dependency tree can be read off attention, words and hidden states by a trained probe."""
    from headscope.analyses.probes.results import table
    from headscope.analyses.probes.run import probe as run
    from headscope.stream.estimate import probe as foresee

    check_places(output, meta)
    sides = [annotated([path], format, skip_broken=skip_broken) for path in (train, dev)]
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    options: dict[str, Any] = {
        "kinds": [each.value for each in kind or [Kind.all]],
        "seed": seed,
        "epochs": epochs,
        "precision": precision.value,
        "limit": limit,
        "batch_size": batch_size,
    }

    def line() -> str:
        return foresee(loaded, *sides, **options)

    size = sum(side.size_hint() or 0 for side in sides)
    if foreseen(estimate, size, line, limit=limit, long=LONG_TREES):
        return
    found = run(loaded, *sides, **options, vectors=vectors, resume=resume, progress=True, command=command())
    for side in sides:
        say_broken(side)
    described: dict[str, Any] = json.loads(found.attrs["meta"])
    if "vectors" in described:
        own = described["vectors"]
        say(f"vectors: {own['name']}; {own['share of words without']:.1%} of the words have none")
    if "root" in described:
        say(f"the root is read off attention to: {', '.join(described['root'])}")
    rows: Any = table(found)
    table_out(rows, found, output, as_json, meta, _shown(rows))


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
