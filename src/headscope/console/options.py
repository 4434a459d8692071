"""What commands share: options, and how they load, say and print."""

from __future__ import annotations

import json
import re
import sys
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from headscope.analyses.shown import ShownResult
from headscope.console.answer import FILES, Answer
from headscope.core.counts import plural
from headscope.core.demo import demo_package
from headscope.core.escapes import GREY, PLAIN, printable
from headscope.core.failures import reason
from headscope.core.saving import PAGES as PAGES
from headscope.core.saving import PICTURES as PICTURES
from headscope.core.saving import TABLES as TABLES
from headscope.core.saving import check_place, listening, replacing
from headscope.core.types import AnyMapping
from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.models import Model
    from headscope.runs.engines.here import Engine


LONG = 500_000
"""From how many bytes of texts on a run first says what it will take."""

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
Estimate = Annotated[
    bool, typer.Option("--estimate", help="Say what the run would take in time and memory, and stop.")
]
Named = Annotated[
    str | None,
    typer.Option(
        "-m",
        "--model",
        metavar="MODEL",
        help="Hub name, folder or .gguf file, or demo-lm; else the demo model.",
    ),
]


@dataclass(frozen=True)
class AnswerOptions:
    """What every command has."""

    as_json: Annotated[
        bool, typer.Option("--json", help="Answer with one JSON object, also of an error: docs/json.md.")
    ] = False


@dataclass(frozen=True)
class TriedOptions(AnswerOptions):
    """What every command has that loads a model and makes no estimate of its own."""

    estimate: Estimate = False


@dataclass(frozen=True)
class CheckpointOptions:
    """How the checkpoints of one model are loaded.

    Attributes:
        device: ``cpu``, cuda, mps, …, or auto: over all there are.
        dtype: ``float32`` (default), bfloat16, float16 or float64.
        trust_remote_code: run code from a hub model's repository.
        allow_unknown: run on text of which the tokenizer does not know a fifth of the pieces.
    """

    device: str | None = None
    dtype: str | None = None
    trust_remote_code: bool = False
    allow_unknown: bool = False


@dataclass(frozen=True)
class LoadOptions(CheckpointOptions):
    """How a model that is named elsewhere is loaded.

    Attributes:
        adapter (FOLDER): folder or hub name of an adapter (LoRA) to add to the model.
        untrained (SEED): re-initialise the weights with this seed.
        keep (embeddings): with --untrained: keep the trained embeddings.
    """

    adapter: str | None = None
    untrained: int | None = None
    keep: Literal["embeddings"] | None = None

    def of(self, model: str | None, revision: str | None = None) -> Model:
        """The model of this name; the demo model by default."""
        from headscope.attention.load import load
        from headscope.runs.trial import Trial

        loading: Any = {option.name: getattr(self, option.name) for option in fields(LoadOptions)}
        loaded = load(model, revision=revision, **loading)
        if (trial := listening(Trial)) is not None:
            trial.loaded(loaded)
        return loaded

    def named(self, name: str) -> Model:
        """A model by its name, ``demo`` for the demo model, with ``@REVISION`` or without."""
        from headscope.models.revision import name_and_revision

        if name == "demo" and not Path(name).exists():
            return self.of(None)
        return self.of(*name_and_revision(name))

    @property
    def trained(self) -> LoadOptions:
        """The same for a model with its own weights, nothing added to them."""
        return replace(self, untrained=None, keep=None, adapter=None)


@dataclass(frozen=True)
class _NamedModel:
    model: Named = None


@dataclass(frozen=True)
class ModelOptions(LoadOptions, _NamedModel):
    """Which model, and how it is loaded.

    Attributes:
        revision: revision of a hub model.
    """

    revision: str | None = None

    def __post_init__(self) -> None:
        """Raise `ModelError` where no model is named and none is installed, before torch is loaded."""
        if self.model is None:
            demo_package()

    def load(self) -> Model:
        """The model."""
        return self.of(self.model, self.revision)


@dataclass(frozen=True)
class TableOptions:
    """Where a table goes.

    Attributes:
        output: ``.parquet``, .csv, .json, .tex or .nc; else a table is printed.
        meta (FILE): also write the run's description here, as JSON.
    """

    output: Path | None = None
    meta: Path | None = None

    def check(self, suffixes: Sequence[str] = ()) -> None:
        """Raise `InputError` where nothing can be written, before a long run."""
        check_places(self.output, self.meta, suffixes=suffixes)
        if self.output is None:
            sys.stdout.write("")  # refuses where it is closed

    def out(self, shown: ShownResult, name: str = FILES) -> None:
        """Write a result, or print it, or answer with it in the format of this name."""
        from headscope.measures.dataset import description, records, unseen, write, write_table

        rows, data, place, answer = shown.rows, shown.dataset, self.output, listening(Answer)
        described = rows.attrs.get("meta", rows.attrs) if data is None else description(data)
        say_run(described, printed=place is None and answer is None)
        for line in shown.remarks:
            say(line)
        if answer is not None:
            table = {} if place else {"rows": records(rows)}
            answer.give(FILES if place else name, **table, findings=shown.findings, run=described)
        if place is None:
            if answer is None:
                print(_on_terminal(shown.text))
        elif shown.save is not None and place.suffix.lower() in PAGES:
            shown.save(place)
            say(f"{place}: a {'page' if place.suffix.lower() == '.html' else 'figure'}")
        else:
            if data is None:
                write_table(rows, place, unseen(described))
            else:
                write(data, place, lambda _: rows)
            say(f"{place}: {plural(len(rows), 'row')}")
        write_meta(self.meta, described)


Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep checkpoints here, and go on from them: the same figures to the last digit.",
    ),
]


@dataclass(frozen=True)
class KeptOptions:
    """How a long run is kept.

    Attributes:
        shard (I/N): work on the I-th of N parts only, into -o PART.nc; then: merge.
    """

    resume: Resume = None
    shard: str | None = None

    def part(self, output: Path | None) -> Path | None:
        """The file of a shard's part, which is the output. Raises `InputError` where there is none."""
        if self.shard is not None and output is None:
            raise InputError("--shard: expected -o PART.nc for what the shard found, found no -o")
        return output if self.shard is not None else None

    def ends(self, dataset: Any, table: TableOptions) -> bool:
        """Whether the run was of a shard, whose part is written: says so, and writes its description."""
        if self.shard is None:
            return False
        described = json.loads(dataset.attrs["meta"])
        say(f"{table.output}: shard {self.shard} of {described['shard']['of_blocks']:,} blocks")
        say_run(described, printed=False)
        write_meta(table.meta, described)
        return True


@dataclass(frozen=True)
class LongOptions(KeptOptions):
    """How a long run is kept that adds up block by block.

    Attributes:
        skip_failures: leave out inputs at which the model fails, and list them.
    """

    skip_failures: bool = False


@dataclass(frozen=True)
class EngineOptions:
    """In which processes the model runs; see docs/streams.md.

    Attributes:
        devices (LIST): run in local processes, with one thread each: cpu:4, cuda:0,cuda:1 or cuda:*.
        dask (ADDRESS): run on the workers of a Dask cluster, such as tcp://10.0.0.1:8786; needs headscope[cluster].
    """

    rules: ClassVar = {"devices": "-dask"}

    devices: str | None = None
    dask: str | None = None

    def engine(self) -> Engine | None:
        """The engine that was asked for; None for this process."""
        if self.devices is None and self.dask is None:
            return None
        from headscope.runs.engines import Dask, Processes

        return Processes(self.devices) if self.devices is not None else Dask(self.dask)


def check_places(*places: Path | None, suffixes: Sequence[str] = (), printed: bool = False) -> None:
    """Raise `InputError` where nothing can be written, or the first has none of the suffixes (by default: of `write`).

    To be told before a long run, not after it: also a folder that is not there or cannot be written to, and `RunError`
    where the disk has no room, or there is nothing to draw a picture with.
    """
    from headscope.core.lazy import module
    from headscope.measures.dataset import check_suffix

    if places and places[0] is not None:
        check_suffix(places[0], suffixes)
    for place in places:
        if place is not None:
            check_place(place)
            if place.suffix.lower() in PICTURES and not printed:
                module("py_mini_racer")
                if place.suffix.lower() != ".svg":
                    module("vl_convert")


def foreseen(estimate: bool, size: int | None, line: Callable[[], str], *, limit: int | None = None) -> bool:
    """Say what a run will take: on stdout where that was asked for, and on stderr before a long run.

    Args:
        estimate: whether it was asked for.
        size: of the files in bytes.
        line: tells it; called only where it is said.
        limit: of inputs; a run of fewer than 1,000 is not long.

    Returns whether the run is to stop here. An estimate that fails ends no run.
    """
    if estimate:
        tell(line())
    elif (size or 0) > LONG and (limit is None or limit >= 1000):
        try:
            say(line())
        except Exception as error:
            say(f"no estimate ({reason(error)}); the run goes on")
    return estimate


def tell(estimate: str) -> None:
    """Print an estimate."""
    if (answer := listening(Answer)) is None:
        print(estimate)
    else:
        numbers = {name: getattr(estimate, name, None) for name in ("seconds", "bytes")}
        answer.give("estimate", **numbers, least=getattr(estimate, "least", False), text=estimate)


def open_page(path: Path) -> None:
    """Open a page in the browser; say so where there is none."""
    if not webbrowser.open(path.resolve().as_uri()):
        say("--open: there is no browser here; open the file yourself")


def write_meta(meta: Path | None, described: AnyMapping) -> None:
    """Write a run's description, where that was asked for."""
    if meta is not None:
        with replacing(meta) as place:
            place.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def say(message: str) -> None:
    """Print a line on stderr."""
    print(printable(message), file=sys.stderr)
    if (answer := listening(Answer)) is not None:
        answer.remarks.append(message)


def say_run(described: AnyMapping, *, printed: bool) -> None:
    """Say what a run has no figures of, and why: layers without attention maps (above a table that is printed),
    measures without a row, inputs that failed.
    """
    from headscope.measures.dataset import unseen

    if note := unseen(described):
        (print if printed else say)(note)
    for name, why in described.get("absent", {}).items():
        say(f"{name}: no row; {why}")
    if left := described.get("failures", {}).get("count"):
        say(f"left out {plural(left, 'input')} that failed; the description lists them")


def _on_terminal(text: str) -> str:
    """A text without control characters but those of `on_screen`."""
    return "".join(
        part if part in (GREY, PLAIN) else printable(part)
        for part in re.split(f"({re.escape(GREY)}|{re.escape(PLAIN)})", text)
    )
