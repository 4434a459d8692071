"""What commands share: options, and how they load, say and print."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.corpora import Corpus
    from headscope.models import Model


class Format(StrEnum):
    """How a corpus is written down."""

    text = "text"
    jsonl = "jsonl"
    conllu = "conllu"


class Annotations(StrEnum):
    """How trees and coreference are written down."""

    conllu = "conllu"
    conll2012 = "conll2012"
    word_heads = "word-heads"


class FromWord(StrEnum):
    """What attention from a word is, of its pieces."""

    first = "first"
    mean = "mean"


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


LONG = 500_000
"""From how many bytes of texts on a run first says what it will take."""

LONG_TREES = 2_000_000
"""The same of annotated sentences."""

TABLES = (".parquet", ".csv", ".json")
"""Suffixes of what is written as a table only."""

PICTURES = (".svg", ".pdf", ".png")
"""Suffixes of figures."""

_LISTED = 20

E = TypeVar("E", bound=StrEnum)

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
Sentences = Annotated[int | None, typer.Option("--limit", help="Stop after this many sentences.")]
AnnotatedFormat = Annotated[
    Annotations | None,
    typer.Option(
        "--format",
        help="By default told from the name: .conllu, …_conll (CoNLL-2012), .txt (word head-relation).",
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep checkpoints here, and go on from them: the same figures to the last digit.",
    ),
]
WhichShard = Annotated[
    str | None,
    typer.Option(
        "--shard", metavar="I/N", help="Work on the I-th of N parts only, into -o PART.nc; then: merge."
    ),
]
SkipBroken = Annotated[bool, typer.Option("--skip-broken", help="Leave out broken sentences, and list them.")]
SkipFailures = Annotated[
    bool, typer.Option("--skip-failures", help="Leave out inputs at which the model fails, and list them.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Corpora = Annotated[
    list[Path] | None, typer.Argument(metavar="CORPUS", help="Files; the built-in corpus by default.")
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", help=".parquet, .csv, .json or .nc; else a table is printed."),
]
TextFormat = Annotated[
    Format | None,
    typer.Option("--format", help="By default told from the suffix: .jsonl, .conllu, else text."),
]
WhichPreset = Annotated[Preset | None, typer.Option("--preset", help="Follow the released code of a paper.")]
Estimate = Annotated[
    bool, typer.Option("--estimate", help="Say what the run would take in time and memory, and stop.")
]
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
    from headscope.attention.load import load as run

    return run(
        model,
        device=device,
        dtype=dtype,
        revision=revision,
        untrained=untrained,
        keep=keep,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        trust_remote_code=trust_remote_code,
    )


def named(
    name: str, device: str | None, dtype: str | None, untrained: int | None, keep: str | None, remote: bool
) -> Model:
    """A model by its name, ``demo`` for the demo model, with ``@REVISION`` or without."""
    from headscope.analyses.compare_training.run import parted

    if name == "demo" and not Path(name).exists():
        return load(None, device, dtype, None, untrained, keep, remote)
    found, revision = parted(name)
    return load(found, device, dtype, revision, untrained, keep, remote)


def corpus_of(paths: list[Path] | None, format: Format | None, pack: int) -> Corpus:
    """The corpus in these files, or the built-in one."""
    from headscope import corpora

    if not paths:
        return corpora.builtin(pack=pack or None)
    suffixes = {".jsonl": Format.jsonl, ".conllu": Format.conllu}
    kind = _one_of([format or suffixes.get(path.suffix.lower(), Format.text) for path in paths])
    if kind == Format.text:
        return corpora.text(paths, pack=pack or None)
    return (corpora.jsonl if kind == Format.jsonl else corpora.conllu)(paths)


def annotated(
    paths: list[Path] | None,
    format: Annotations | None,
    *,
    words: Literal["syntactic", "surface"] = "syntactic",
    relations: Literal["full", "main"] = "full",
    skip_broken: bool = False,
) -> Corpus:
    """The sentences with annotations in these files, or the built-in ones.

    Raises `InputError` where a name does not tell the format, and for what the format does not have.
    """
    from headscope import corpora

    if not paths:
        return corpora.builtin_trees(words=words, relations=relations)
    kind = _one_of([format or _annotations(path) for path in paths])
    if kind != Annotations.conllu:
        for option, off in (("--words", words == "syntactic"), ("--relations", relations == "full")):
            if not off:
                raise InputError(f"{option}: expected CoNLL-U, found {kind}")
    if kind == Annotations.conllu:
        return corpora.conllu(paths, words=words, relations=relations, skip_broken=skip_broken)
    if kind == Annotations.word_heads:
        return corpora.word_heads(paths, skip_broken=skip_broken)
    return corpora.conll2012(paths, skip_broken=skip_broken)


def _annotations(path: Path) -> Annotations:
    name = path.name.lower()
    for end, kind in (
        (".conllu", Annotations.conllu),
        ("_conll", Annotations.conll2012),
        (".txt", Annotations.word_heads),
    ):
        if name.endswith(end):
            return kind
    raise InputError(f"{path}: expected a name that ends in .conllu, _conll or .txt; or say --format")


def _one_of(formats: list[E]) -> E:
    kinds = list(dict.fromkeys(formats))
    if len(kinds) > 1:
        raise InputError(f"these files are {' and '.join(kinds)}; give them apart, or say --format")
    return kinds[0]


def check_places(*places: Path | None, suffixes: Sequence[str] = ()) -> None:
    """Raise `InputError` where nothing can be written, or the first has none of the suffixes (by default: of `write`).

    To be told before a long run, not after it.
    """
    from headscope.measures.dataset import check_place, check_suffix

    if places and places[0] is not None:
        check_suffix(places[0], suffixes)
    for place in places:
        if place is not None:
            check_place(place)


def foreseen(
    estimate: bool, size: int | None, line: Callable[[], str], *, limit: int | None = None, long: int = LONG
) -> bool:
    """Say what a run will take: on stdout where that was asked for, and on stderr before a long run.

    Args:
        estimate: whether it was asked for.
        size: of the files in bytes.
        line: tells it; called only where it is said.
        limit: of inputs; a run of fewer than 1,000 is not long.
        long: from how many bytes on a run is long.

    Returns whether the run is to stop here.
    """
    if estimate:
        print(line())
    elif (size or 0) > long and (limit is None or limit >= 1000):
        say(line())
    return estimate


def print_rows(rows: Any) -> None:
    """Print a table as JSON: a list of rows."""
    print_json(json.loads(rows.to_json(orient="records")))


def write_meta(meta: Path | None, described: Mapping[str, Any]) -> None:
    """Write a run's description, where that was asked for."""
    from headscope.measures.files import replacing

    if meta is not None:
        with replacing(meta) as place:
            place.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def command() -> str:
    """What was typed."""
    return " ".join(["headscope", *sys.argv[1:]])


def print_json(value: Any) -> None:
    """Print JSON on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def say(message: str) -> None:
    """Print a line on stderr."""
    print(message, file=sys.stderr)


def say_part(found: Any, output: Path | None, shard: str) -> None:
    """Say what a shard has written."""
    of = json.loads(found.attrs["meta"])["shard"]["of_blocks"]
    say(f"{output}: shard {shard} of {of:,} blocks")


def say_left_out(described: Mapping[str, Any]) -> None:
    """Say how many inputs failed and were left out."""
    if left := described.get("failures", {}).get("count"):
        noun = "input" if left == 1 else "inputs"
        say(f"left out {left:,} {noun} that failed; the description lists them")


def say_broken(corpus: Corpus) -> None:
    """Say which sentences were left out because they are broken, and how many."""
    for error in corpus.broken[:_LISTED]:
        say(f"left out: {error}")
    if count := len(corpus.broken):
        more = f", the first {_LISTED} of them above" if count > _LISTED else ""
        say(f"left out {count:,} broken {'sentence' if count == 1 else 'sentences'}{more}")


def on_screen(rows: Any, few: Sequence[bool] = (), *, dropped: Sequence[str] = ()) -> str:
    """A table of heads to read: their names first, three digits; rows of `few` instances grey on a terminal.

    Columns in `dropped` are left out.
    """
    from headscope.heads import Head

    heads = zip(rows["layer"], rows["head"], strict=True)
    names = ["" if rows["head"].isna()[place] else str(Head(*head)) for place, head in enumerate(heads)]
    shown = rows.drop(columns=["head", *dropped]).rename(columns={"layer": "name"}).assign(name=names)
    for column in shown.select_dtypes("float"):
        shown[column] = ["" if value != value else f"{value:.3f}" for value in shown[column]]
    lines: list[str] = shown.astype(object).where(shown.notna(), "").to_string(index=False).splitlines()
    if few and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        grey = [f"\x1b[90m{line}\x1b[0m" if one else line for line, one in zip(lines[1:], few, strict=True)]
        lines[1:] = grey
    return "\n".join(lines)


def table_out(
    rows: Any, found: Any, output: Path | None, as_json: bool, meta: Path | None, shown: str
) -> None:
    """Write a table (or the dataset it is of, as .nc), or print it as JSON or as it is `shown`."""
    from headscope.measures.dataset import write

    if output is not None:
        write(found, output, lambda _: rows)
        say(f"{output}: {len(rows):,} rows")
    elif as_json:
        print_rows(rows)
    else:
        print(shown)
    write_meta(meta, json.loads(found.attrs["meta"]))
