"""What commands share: options, and how they load, say and print."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import typer

from headscope.demo import demo_package
from headscope.doors import MOST_SEED as MOST_SEED
from headscope.errors import InputError
from headscope.failures import reason

if TYPE_CHECKING:
    from headscope.corpora import Corpus
    from headscope.models import Model

TextKind = Literal["text", "jsonl", "conllu", "csv", "tsv", "parquet", "arrow"]
AnnotationKind = Literal["conllu", "conll2012", "word-heads"]
LinksKind = Literal["jsonl", "pharaoh", "conllu", "conll2012", "word-heads"]
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

SUFFIXES: dict[str, TextKind] = {
    ".jsonl": "jsonl",
    ".conllu": "conllu",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
}
"""Suffixes of files of texts that are not plain text."""

ALIGNED = (".align", ".pharaoh", ".talp", ".gdfa")
"""Suffixes of word alignments."""

_PACK = 128
_FIELDS = ("jsonl", "csv", "tsv", "parquet", "arrow")  # formats of fields that have names
_FORMATS = {
    "text": "plain text",
    "conllu": "CoNLL-U",
    "builtin": "the built-in corpus",
    "pharaoh": "word alignments",
}

Limit = Annotated[int | None, typer.Option(help="Stop after this many inputs.")]
Sentences = Annotated[int | None, typer.Option("--limit", help="Stop after this many sentences.")]
Format = Annotated[
    TextKind | None,
    typer.Option(
        "--format",
        help="By default told from the suffix (before .gz or .zst): .jsonl, .conllu, .csv, .tsv, .parquet, .arrow, "
        "else text.",
    ),
]
AnnotatedFormat = Annotated[
    AnnotationKind | None,
    typer.Option(
        "--format",
        help="By default told from the name: .conllu, …_conll (CoNLL-2012), .txt (word head-relation).",
    ),
]
LinksFormat = Annotated[
    LinksKind | None,
    typer.Option(
        "--format",
        help="By default told from the name: .jsonl, .conllu, …_conll (CoNLL-2012), .txt (word head-relation); three "
        f"files A B LINKS with {', '.join(ALIGNED)} last are pharaoh.",
    ),
]
Pack = Annotated[
    int, typer.Option(help="Fill inputs of text with whole lines up to this many pieces; 0: a line an input.")
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict/--skip-broken",
        help="What is broken or too long is left out and listed at the end; --strict refuses it at the start.",
    ),
]
Documents = Annotated[
    str | None,
    typer.Option(
        metavar="blank|line|file|folder|field:NAME",
        help="What a document is: of text, lines up to a blank one (as by default), each line or each file; of .jsonl, "
        ".csv, .tsv, .parquet and .arrow, what is of one name in this field; of pictures and sounds each file, or the "
        "files of a folder.",
    ),
]
TextField = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of .jsonl, .csv, .tsv, .parquet and .arrow: which field is the text."),
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
    typer.Option(metavar="ADAPTER", help="Folder or hub name of an adapter (LoRA) to add to the model."),
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

    def out(
        self, rows: Any, shown: str, *, dataset: Any = None, described: Mapping[str, Any] | None = None
    ) -> None:
        """Write a table (or the dataset it is of, as .nc), or print it as JSON or as it is `shown`.

        `described` is the run's description, by default that of the dataset.
        """
        from headscope.measures.dataset import description, write, write_table

        if self.output is not None:
            if dataset is None:
                write_table(rows, self.output)
            else:
                write(dataset, self.output, lambda _: rows)
            say(f"{self.output}: {len(rows):,} rows")
        elif self.as_json:
            print_rows(rows)
        else:
            print(shown)
        if described is None and dataset is not None:
            described = description(dataset)
        write_meta(self.meta, described or {})


@dataclass(frozen=True)
class LongOptions:
    """How a long run is kept."""

    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep checkpoints here, and go on from them: the same figures to the last digit.",
        ),
    ] = None
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


@dataclass(frozen=True)
class ReadingOptions:
    """How texts are read."""

    format: Format = None
    pack: Pack = _PACK
    documents: Documents = None
    text_field: TextField = None
    limit: Limit = None
    strict: Strict = False

    def of(self, paths: Sequence[Path] | None) -> Corpus:
        """The corpus in these files, or the built-in one.

        Raises `InputError` where documents or fields are named that the format does not have.
        """
        from headscope import corpora
        from headscope.corpora.readers import Ends

        files = list(paths or ())
        kind = _one_of([kind for path in files for kind in _kinds(path, self.format)] or ["builtin"])
        pack = self.pack or None
        if self.text_field is not None and kind not in _FIELDS:
            expected = "expected .jsonl, .csv, .tsv, .parquet or .arrow"
            raise InputError(f"--text-field: {expected}, found {_FORMATS.get(kind, kind)}")
        if kind == "text":
            ends = self._among(get_args(Ends), kind) or "blank"
            return corpora.text(files, pack=pack, documents=ends, strict=self.strict)
        if kind == "jsonl":
            field = self._field(kind)
            return corpora.jsonl(files, text=self.text_field, document=field, strict=self.strict)
        if kind in ("csv", "tsv"):
            named = {"text": self.text_field, "document": self._field(kind)}
            return corpora.table(files, **named, format=kind, strict=self.strict)
        if kind in ("parquet", "arrow"):
            return corpora.dataset(
                files, text=self.text_field, document=self._field(kind), strict=self.strict
            )
        self._among((), kind)
        return corpora.conllu(files, strict=self.strict) if files else corpora.builtin(pack=pack)

    def _field(self, kind: str) -> str | None:
        """The field that names documents."""
        field = (self.documents or "").removeprefix("field:")
        self._among((f"field:{field or 'NAME'}",), kind)
        return field or None

    def _among(self, allowed: tuple[str, ...], kind: str) -> Any:
        """What was said of documents, which has to be among these."""
        if self.documents is not None and self.documents not in allowed:
            if not allowed:
                raise InputError(
                    f"--documents: expected text or fields, found {_FORMATS[kind]}, with its own documents"
                )
            raise InputError(
                f"--documents: expected {' or '.join(allowed)} of {kind}, found {self.documents!r}"
            )
        return self.documents


def _kinds(path: Path, format: TextKind | None) -> Sequence[str]:
    """What a file of texts holds, told from its name, or the files of a folder."""
    from headscope.corpora.opening import counted, suffix_of, walked

    if format is not None:
        return [format]
    if not os.path.isdir(path):
        return [SUFFIXES.get(suffix_of(path), "text")]
    suffixes = (".txt", *SUFFIXES)
    found, others = walked(path, suffixes, compressed=True)
    if not found:
        said = counted(others) if others else "none"
        raise InputError(f"{path}: expected files that end in {', '.join(suffixes)}, found {said}")
    return [SUFFIXES.get(suffix_of(each), "text") for each in found]


@dataclass(frozen=True)
class SenseOptions:
    """Pictures or sounds in place of texts."""

    images: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Pictures in place of texts, for a model of vision: a folder, a picture or .jsonl; repeatable.",
        ),
    ] = None
    audio: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Sounds in place of texts, for a model of sound: a folder, a WAV file or .jsonl; repeatable.",
        ),
    ] = None

    @property
    def given(self) -> tuple[str, Sequence[Path]]:
        """The option that was given, and its files; empty where there are none."""
        return next(((name, own) for name, own in _senses(self).items() if own), ("", ()))

    def read(
        self, reading: ReadingOptions, texts: Sequence[Path] | None, model: ModelOptions
    ) -> tuple[Corpus, Model]:
        """The corpus that was given, and the model; without one the built-in one of what the model reads.

        Raises `InputError` for what is wrong with files and options before the model is loaded, and for a model that
        reads no such inputs.
        """
        corpus = self._corpus(reading, texts)
        loaded = model.load()
        from headscope.corpora.shipped import shipped
        from headscope.models.perceive import expect_reads, reads

        if corpus is None:
            corpus = reading.of(()) if reads(loaded) == "text" else shipped(reads(loaded))
        if corpus.kind != "text":
            expect_reads(loaded, corpus.kind)
        return corpus, loaded

    def _corpus(self, reading: ReadingOptions, texts: Sequence[Path] | None) -> Corpus | None:
        name, files = self.given
        if not name:
            return reading.of(texts) if texts else None
        if texts or all(_senses(self).values()):
            raise InputError(f"{name}: expected pictures, sounds or texts, found several of them")
        for option, off in (
            ("--format", reading.format is None),
            ("--pack", reading.pack == _PACK),
            ("--text-field", reading.text_field is None),
        ):
            if not off:
                raise InputError(f"{option}: goes with texts, found {name}")
        by = reading.documents or "file"
        if by not in ("file", "folder"):
            raise InputError(f"--documents: expected file or folder with {name}, found {by!r}")
        from headscope import corpora

        read = corpora.images if name == "--images" else corpora.sounds
        source = files[0] if len(files) == 1 else list(files)
        return read(source, documents=cast("Any", by), strict=reading.strict)


def _senses(options: SenseOptions) -> dict[str, list[Path] | None]:
    return {"--images": options.images, "--audio": options.audio}


def _file(name: str) -> Path:
    """A file or folder of this name. An empty one, as of a shell's variable that is not set, is no folder."""
    if not name:
        raise typer.BadParameter("expected a file or folder, found an empty name")
    return Path(name)


@dataclass(frozen=True)
class TextOptions(ReadingOptions):
    """A corpus of texts."""

    corpus: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CORPUS",
            help="Files, folders of them, or - for standard input; the built-in corpus by default.",
            parser=_file,
        ),
    ] = None

    def read(self) -> Corpus:
        """The corpus."""
        return self.of(self.corpus)


def annotated(
    paths: list[Path] | None,
    format: AnnotationKind | None,
    *,
    words: Literal["syntactic", "surface"] = "syntactic",
    relations: Literal["full", "main"] = "full",
    strict: bool = False,
) -> Corpus:
    """The sentences with annotations in these files, or the built-in ones.

    Raises `InputError` where a name does not tell the format, and for what the format does not have.
    """
    from headscope import corpora

    if not paths:
        return corpora.builtin_trees(words=words, relations=relations)
    kind = _one_of([format or _told(path, _ENDS) for path in paths])
    if kind == "conllu":
        return corpora.conllu(paths, words=words, relations=relations, strict=strict)
    for option, off in (("--words", words == "syntactic"), ("--relations", relations == "full")):
        if not off:
            raise InputError(f"{option}: expected CoNLL-U, found {kind}")
    return (corpora.word_heads if kind == "word-heads" else corpora.conll2012)(paths, strict=strict)


def linked(
    paths: list[Path] | None,
    format: LinksKind | None,
    *,
    document: str | None = None,
    base: Literal[0, 1] = 0,
    words: Literal["syntactic", "surface"] = "syntactic",
    relations: Literal["full", "main"] = "full",
    strict: bool = False,
) -> Corpus:
    """The inputs with links in these files: JSON lines, word alignments, or what `annotated` reads.

    `document` is the field of JSON lines that names documents, and `base` what alignments call the first word. Raises
    `InputError` where a name does not tell the format, and for files of several or, of alignments, not three of them.
    """
    from headscope import corpora

    files = list(paths or ())
    aligned = [format == "pharaoh" or (not format and path.suffix.lower() in ALIGNED) for path in files]
    kinds = ["pharaoh"] if any(aligned) else [format or _told(path, _ENDS_LINKS) for path in files]
    kind = _one_of(kinds or [format or "conllu"])
    for option, off, of in (
        ("--base", base == 0, "pharaoh"),
        ("--documents", document is None, "jsonl"),
        ("--words", words == "syntactic", "conllu"),
        ("--relations", relations == "full", "conllu"),
    ):
        if not off and kind != of:
            raise InputError(f"{option}: expected {_FORMATS.get(of, of)}, found {_FORMATS.get(kind, kind)}")
    if kind == "pharaoh":
        if len(files) != 3 or not aligned[2]:
            found = ", ".join(map(str, files)) or "none"
            raise InputError(f"expected three files, A, B and their alignments last, found {found}")
        return corpora.alignments(*files, base=base, strict=strict)
    if kind == "jsonl":
        return corpora.links(files, document=document, strict=strict)
    return annotated(files, cast("AnnotationKind", kind), words=words, relations=relations, strict=strict)


_ENDS: Mapping[str, AnnotationKind] = {".conllu": "conllu", "_conll": "conll2012", ".txt": "word-heads"}
_ENDS_LINKS: Mapping[str, LinksKind] = {".jsonl": "jsonl", **_ENDS}


def _told(path: Path, ends: Mapping[str, str]) -> str:
    """The format that a name tells by its end."""
    from headscope.corpora.opening import is_compressed

    name = path.stem if is_compressed(path) else path.name
    for end, kind in ends.items():
        if name.lower().endswith(end):
            return kind
    *most, last = ends
    raise InputError(f"{path}: expected a name that ends in {', '.join(most)} or {last}; or say --format")


def _one_of(formats: list[str]) -> str:
    kinds = list(dict.fromkeys(formats))
    if len(kinds) > 1:
        raise InputError(f"these files are {' and '.join(kinds)}; give them apart, or say --format")
    return kinds[0]


def names(text: str | None) -> list[str] | None:
    """The names in ``A,B``."""
    return None if text is None else text.split(",")


def check_places(*places: Path | None, suffixes: Sequence[str] = (), printed: bool = False) -> None:
    """Raise `InputError` where nothing can be written, or the first has none of the suffixes (by default: of `write`).

    To be told before a long run, not after it: also a folder that is not there or cannot be written to, and `RunError`
    where the disk has no room, or there is nothing to draw a picture with.
    """
    from headscope.lazy import matplotlib
    from headscope.measures.dataset import check_suffix
    from headscope.measures.files import check_place

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
    from headscope.measures.files import replacing

    if meta is not None:
        with replacing(meta) as place:
            place.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


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
        grey = [f"\x1b[90m{line}\x1b[0m" if one else line for line, one in zip(lines[1:], few, strict=True)]
        lines[1:] = grey
    return "\n".join(lines)


def _name(layer: int, head: int) -> str:
    from headscope.heads import Head

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
