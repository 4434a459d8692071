"""What commands share: options, and how they load, say and print."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.corpora import Corpus
    from headscope.models import Model


class Format(StrEnum):
    """How a corpus is written down."""

    text = "text"
    jsonl = "jsonl"


class By(StrEnum):
    """What a figure is averaged over."""

    token = "token"
    document = "document"


class Quantity(StrEnum):
    """A matrix per pair beside the weights."""

    gradient = "gradient"
    norm = "norm"


class Precision(StrEnum):
    """In which distances are computed."""

    float32 = "float32"
    float64 = "float64"


class Scale(StrEnum):
    """A view."""

    model = "model"
    head = "head"
    neuron = "neuron"


class Theme(StrEnum):
    """Colours of a page or picture."""

    auto = "auto"
    light = "light"
    dark = "dark"


class Preset(StrEnum):
    """Whose code to follow instead of the exact defaults."""

    clark2019 = "clark2019"


ModelName = Annotated[
    str | None,
    typer.Option("-m", "--model", metavar="MODEL", help="Hub name or folder; the demo model by default."),
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, mps, …")]
Dtype = Annotated[str | None, typer.Option(help="float32 (default), bfloat16, float16 or float64.")]
Revision = Annotated[str | None, typer.Option(help="Revision of a hub model.")]
Untrained = Annotated[
    int | None, typer.Option(metavar="SEED", help="Re-initialise the weights with this seed.")
]
Keep = Annotated[
    str | None, typer.Option(metavar="embeddings", help="With --untrained: keep the trained embeddings.")
]
Remote = Annotated[bool, typer.Option("--trust-remote-code", help="Run code from a hub model's repository.")]
Pack = Annotated[
    int, typer.Option(help="Fill inputs of text with whole lines up to this many pieces; 0: a line an input.")
]
Limit = Annotated[int | None, typer.Option(help="Stop after this many inputs.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Corpora = Annotated[
    list[Path] | None, typer.Argument(metavar="[CORPUS]...", help="Files; the built-in corpus by default.")
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", help=".parquet, .csv, .json or .nc; else a table is printed."),
]
TextFormat = Annotated[
    Format | None, typer.Option("--format", help="By default told from the suffix: .jsonl, else text.")
]
WhichPreset = Annotated[Preset | None, typer.Option("--preset", help="Follow the released code of a paper.")]
Meta = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write the run's description here, as JSON.")
]


def load(
    model: str | None,
    device: str | None,
    dtype: str | None,
    revision: str | None,
    untrained: int | None,
    keep: str | None,
    trust_remote_code: bool,
) -> Model:
    """The model that the options name."""
    from headscope.run.load import load as run

    return run(
        model,
        device=device,
        dtype=dtype,
        revision=revision,
        untrained=untrained,
        keep=keep,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        trust_remote_code=trust_remote_code,
    )


def corpus_of(paths: list[Path] | None, format: Format | None, pack: int) -> Corpus:
    """The corpus in these files, or the built-in one."""
    from headscope import corpora

    if not paths:
        return corpora.builtin(pack=pack or None)
    formats = {format or (Format.jsonl if path.suffix == ".jsonl" else Format.text) for path in paths}
    if len(formats) > 1:
        raise InputError("these files are text and jsonl; measure them apart, or say --format")
    return corpora.jsonl(paths) if formats == {Format.jsonl} else corpora.text(paths, pack=pack or None)


def command() -> str:
    """What was typed."""
    return " ".join(["headscope", *sys.argv[1:]])


def print_json(value: Any) -> None:
    """Print JSON on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def say(message: str) -> None:
    """Print a line on stderr."""
    print(message, file=sys.stderr)
