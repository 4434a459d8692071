"""What commands share: options, and how they load, say and print."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headscope.core.demo import demo_package
from headscope.core.escapes import printable
from headscope.core.failures import reason
from headscope.core.validation import MOST_SEED as MOST_SEED
from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.models import Model

ThemeName = Literal["auto", "light", "dark"]
PresetName = Literal["clark2019"]
Average = Literal["token", "document"]
FromWord = Literal["mean", "first"]

LONG = 500_000
"""From how many bytes of texts on a run first says what it will take."""

LONG_TREES = 2_000_000
"""The same of annotated sentences."""

TABLES = (".parquet", ".csv", ".json", ".tex")
"""Suffixes of what is written as a table only."""

PICTURES = (".svg", ".pdf", ".png")
"""Suffixes of figures."""

PAGES = (".html", *PICTURES)
"""Suffixes of views."""

SHOWN = 15
"""Rows of a long table that is printed."""

Limit = Annotated[int | None, typer.Option(help="Stop after this many inputs.")]
Sentences = Annotated[int | None, typer.Option("--limit", help="Stop after this many sentences.")]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict/--skip-broken",
        help="What is broken or too long is left out and listed at the end; --strict refuses it at the start.",
    ),
]
Distinct = Annotated[
    bool,
    typer.Option(
        "--distinct", help="Take documents that are the same once; by default they are counted and said."
    ),
]
SplitSeed = Annotated[
    int, typer.Option(min=0, max=MOST_SEED, help="Of the parts that heads are chosen on, and scored on.")
]
Measures = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Which measures; by default the groups surface and patterns."),
]
FigureFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Also a figure: .svg, .pdf or .png.")]
Theme = Annotated[ThemeName, typer.Option(help="Colours of the figure.")]
BatchSize = Annotated[int, typer.Option(help="Inputs in a batch, at most.")]
By = Annotated[Average, typer.Option(help="Average over tokens or over documents.")]
Preset = Annotated[PresetName | None, typer.Option(help="Follow the released code of a paper.")]
Estimate = Annotated[
    bool, typer.Option("--estimate", help="Say what the run would take in time and memory, and stop.")
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", help=".parquet, .csv, .json, .tex or .nc; else a table is printed."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Meta = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write the run's description here, as JSON.")
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, mps, …, or auto: over all there are.")]
Dtype = Annotated[str | None, typer.Option(help="float32 (default), bfloat16, float16 or float64.")]
Adapter = Annotated[
    str | None,
    typer.Option(metavar="FOLDER", help="Folder or hub name of an adapter (LoRA) to add to the model."),
]
Untrained = Annotated[
    int | None, typer.Option(metavar="SEED", help="Re-initialise the weights with this seed.")
]
Keep = Annotated[
    Literal["embeddings"] | None,
    typer.Option(metavar="embeddings", help="With --untrained: keep the trained embeddings."),
]
Unknown = Annotated[
    bool,
    typer.Option(
        "--allow-unknown", help="Run on text of which the tokenizer does not know a fifth of the pieces."
    ),
]
Remote = Annotated[bool, typer.Option("--trust-remote-code", help="Run code from a hub model's repository.")]


@dataclass(frozen=True)
class LoadOptions:
    """How a model that is named elsewhere is loaded."""

    device: Device = None
    dtype: Dtype = None
    adapter: Adapter = None
    untrained: Untrained = None
    keep: Keep = None
    trust_remote_code: Remote = False
    allow_unknown: Unknown = False

    def load(self, model: str | None, revision: str | None = None) -> Model:
        """The model of this name; the demo model by default."""
        from headscope.attention.load import load

        return load(
            model,
            device=self.device,
            dtype=self.dtype,
            revision=revision,
            adapter=self.adapter,
            untrained=self.untrained,
            keep=self.keep,
            trust_remote_code=self.trust_remote_code,
            allow_unknown=self.allow_unknown,
        )

    def named(self, name: str) -> Model:
        """A model by its name, ``demo`` for the demo model, with ``@REVISION`` or without."""
        from headscope.models.revision import name_and_revision

        if name == "demo" and not Path(name).exists():
            return self.load(None)
        return self.load(*name_and_revision(name))

    @property
    def trained(self) -> LoadOptions:
        """The same for a model with its own weights, nothing added to them."""
        return replace(self, untrained=None, keep=None, adapter=None)


@dataclass(frozen=True)
class ModelOptions:
    """Which model, and how it is loaded."""

    model: Annotated[
        str | None,
        typer.Option(
            "-m",
            "--model",
            metavar="MODEL",
            help="Hub name, folder or .gguf file, or demo-lm; else the demo model.",
        ),
    ] = None
    device: Device = None
    dtype: Dtype = None
    revision: Annotated[str | None, typer.Option(help="Revision of a hub model.")] = None
    adapter: Adapter = None
    untrained: Untrained = None
    keep: Keep = None
    trust_remote_code: Remote = False
    allow_unknown: Unknown = False

    def __post_init__(self) -> None:
        """Raise `ModelError` where no model is named and none is installed, before torch is loaded."""
        if self.model is None:
            demo_package()

    @property
    def how(self) -> LoadOptions:
        """How it is loaded."""
        return LoadOptions(**{each.name: getattr(self, each.name) for each in fields(LoadOptions)})

    def load(self) -> Model:
        """The model."""
        return self.how.load(self.model, self.revision)


@dataclass(frozen=True)
class TableOptions:
    """Where a table goes."""

    output: Output = None
    as_json: AsJson = False
    meta: Meta = None

    def check(self, suffixes: Sequence[str] = ()) -> None:
        """Raise `InputError` where nothing can be written, before a long run."""
        check_places(self.output, self.meta, suffixes=suffixes)
        if self.output is None:
            sys.stdout.write("")  # refuses where it is closed

    def out(
        self, rows: Any, shown: str, *, dataset: Any = None, described: Mapping[str, Any] | None = None
    ) -> None:
        """Write a table (or the dataset it is of, as .nc), or print it as JSON or as it is `shown`.

        `described` is the run's description, by default that of the dataset.
        """
        from headscope.measures.dataset import description, unseen, write, write_table

        if described is None:
            described = {} if dataset is None else description(dataset)
        say_unseen(described, printed=self.output is None and not self.as_json)
        if self.output is not None:
            if dataset is None:
                write_table(rows, self.output, unseen(described))
            else:
                write(dataset, self.output, lambda _: rows)
            say(f"{self.output}: {len(rows):,} rows")
        elif self.as_json:
            print_rows(rows)
        else:
            print(_on_terminal(shown))
        write_meta(self.meta, described)


Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep checkpoints here, and go on from them: the same figures to the last digit.",
    ),
]


@dataclass(frozen=True)
class LongOptions:
    """How a long run is kept."""

    resume: Resume = None
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Work on the I-th of N parts only, into -o PART.nc; then: merge."),
    ] = None
    skip_failures: Annotated[
        bool,
        typer.Option("--skip-failures", help="Leave out inputs at which the model fails, and list them."),
    ] = False

    def run(self, output: Path | None) -> dict[str, Any]:
        """The options of a run whose part goes to `output`."""
        if self.shard is not None and output is None:
            raise InputError("--shard: expected -o PART.nc for what the shard found, found no -o")
        part = output if self.shard is not None else None
        return {"resume": self.resume, "shard": self.shard, "part": part, "skip_failures": self.skip_failures}

    def ends(self, dataset: Any, table: TableOptions) -> bool:
        """Whether the run was of a shard, whose part is written: says so, and writes its description."""
        if self.shard is None:
            return False
        say_part(dataset, table.output, self.shard)
        write_meta(table.meta, json.loads(dataset.attrs["meta"]))
        return True


def names(text: str | None) -> list[str] | None:
    """The names in ``A,B``."""
    return None if text is None else text.split(",")


def check_places(*places: Path | None, suffixes: Sequence[str] = (), printed: bool = False) -> None:
    """Raise `InputError` where nothing can be written, or the first has none of the suffixes (by default: of `write`).

    To be told before a long run, not after it: also a folder that is not there or cannot be written to, and `RunError`
    where the disk has no room, or there is nothing to draw a picture with.
    """
    from headscope.core.lazy import matplotlib
    from headscope.core.saving import check_place
    from headscope.measures.dataset import check_suffix

    if places and places[0] is not None:
        check_suffix(places[0], suffixes)
    for place in places:
        if place is not None:
            check_place(place)
            if place.suffix.lower() in PICTURES and not printed:
                matplotlib()


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

    Returns whether the run is to stop here. An estimate that fails ends no run.
    """
    if estimate:
        print(line())
    elif (size or 0) > long and (limit is None or limit >= 1000):
        try:
            say(line())
        except Exception as error:
            say(f"no estimate ({reason(error)}); the run goes on")
    return estimate


def print_rows(rows: Any) -> None:
    """Print a table as JSON: a list of rows."""
    print_json(json.loads(rows.to_json(orient="records")))


def no_map(map: Path | None) -> None:
    """Raise `InputError` for a map of heads that is asked of other results than distances."""
    if map is not None:
        raise InputError("--map: expected parts of distances, found other ones")


def write_meta(meta: Path | None, described: Mapping[str, Any]) -> None:
    """Write a run's description, where that was asked for."""
    from headscope.core.saving import replacing

    if meta is not None:
        with replacing(meta) as place:
            place.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def print_json(value: Any) -> None:
    """Print JSON on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def say(message: str) -> None:
    """Print a line on stderr."""
    print(printable(message), file=sys.stderr)


def say_part(found: Any, output: Path | None, shard: str) -> None:
    """Say what a shard has written."""
    of = json.loads(found.attrs["meta"])["shard"]["of_blocks"]
    say(f"{output}: shard {shard} of {of:,} blocks")


def say_unseen(described: Mapping[str, Any], *, printed: bool) -> None:
    """Say what of the models' layers has no attention map: above a table that is printed, else on stderr."""
    from headscope.measures.dataset import unseen

    if told := unseen(described):
        (print if printed else say)(told)


def say_left_out(described: Mapping[str, Any]) -> None:
    """Say how many inputs failed and were left out."""
    if left := described.get("failures", {}).get("count"):
        noun = "input" if left == 1 else "inputs"
        say(f"left out {left:,} {noun} that failed; the description lists them")


def on_screen(
    rows: Any,
    few: Sequence[bool] = (),
    *,
    dropped: Sequence[str] = (),
    head: str = "head",
    name: Callable[[int, int], str] | None = None,
) -> str:
    """A table of heads to read: their names first, three digits; rows of `few` instances grey on a terminal.

    Columns in `dropped` are left out. `name` gives a name to a layer and what the column `head` has.
    """
    heads = zip(rows["layer"], rows[head], strict=True)
    missing = rows[head].isna()
    names = ["" if missing.iloc[place] else (name or _name)(*each) for place, each in enumerate(heads)]
    shown = rows.drop(columns=[head, *dropped]).rename(columns={"layer": "name"}).assign(name=names)
    for column in shown.select_dtypes("float"):
        shown[column] = ["" if value != value else f"{value:.3f}" for value in shown[column]]
    lines: list[str] = shown.astype(object).where(shown.notna(), "").to_string(index=False).splitlines()
    if few and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        grey = [f"{_GREY}{line}{_PLAIN}" if one else line for line, one in zip(lines[1:], few, strict=True)]
        lines[1:] = grey
    return "\n".join(lines)


_GREY, _PLAIN = "\x1b[90m", "\x1b[0m"


def _on_terminal(text: str) -> str:
    """A text without control characters but those of `on_screen`."""
    return "".join(
        part if part in (_GREY, _PLAIN) else printable(part)
        for part in re.split(f"({re.escape(_GREY)}|{re.escape(_PLAIN)})", text)
    )


def _name(layer: int, head: int) -> str:
    from headscope.core.heads import Head

    return str(Head(layer, head))


def write_figure(figure: Any, place: Path | None) -> None:
    """Save a figure where that was asked for, and say so."""
    if place is not None:
        figure.save(place)
        say(f"{place}: a figure")


def say_absent(described: Mapping[str, Any]) -> None:
    """Say which measures have no row, and why."""
    for name, why in described.get("absent", {}).items():
        say(f"{name}: no row; {why}")
