"""How commands read corpora: of texts, of annotated sentences, of links, of pictures and sounds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast, get_args

import typer

from headscope.console.options import Distinct, ModelOptions, Strict
from headscope.core.validation import Expected
from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.corpora import Corpus
    from headscope.models import Model

TextKind = Literal["text", "jsonl", "conllu", "csv", "tsv", "parquet", "arrow"]
AnnotationKind = Literal["conllu", "conll2012", "word-heads", "clusters"]
LinksKind = Literal["jsonl", "pharaoh", "conllu", "conll2012", "word-heads", "clusters"]

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

_FIELDS = ("jsonl", "csv", "tsv", "parquet", "arrow")  # formats of fields that have names
_FORMATS = {
    "text": "plain text",
    "conllu": "CoNLL-U",
    "conll2012": "CoNLL-2012",
    "builtin": "the built-in corpus",
    "pharaoh": "word alignments",
}


@dataclass(frozen=True)
class ReadingOptions:
    """How texts are read.

    Attributes:
        format: by default told from the suffix (before that of a compressed file): .jsonl, .conllu, .csv, .tsv,
            .parquet, .arrow; of another name from how the file begins.
        pack: fill inputs of text with whole lines up to this many pieces; 0: a line an input.
        documents (blank|line|file|folder|field:NAME): what a document is: of text, lines up to a blank one (as by
            default), each line or each file; of .jsonl, .csv, .tsv, .parquet and .arrow, what is of one name in this
            field; of pictures and sounds each file, or the files of a folder.
        text_field (NAME): of .jsonl, .csv, .tsv, .parquet and .arrow: which field is the text.
        limit: stop after this many inputs.
    """

    format: TextKind | None = None
    pack: int = 128
    documents: str | None = None
    text_field: str | None = None
    limit: int | None = None
    strict: Strict = False
    distinct: Distinct = False

    def of(self, paths: Sequence[Path] | None) -> Corpus:
        """The corpus in these files, or the built-in one.

        Raises `InputError` where documents or fields are named that the format does not have.
        """
        return once(self._of(paths), self.distinct)

    def _of(self, paths: Sequence[Path] | None) -> Corpus:
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
            format = "text" if self.format else None
            return corpora.text(files, pack=pack, documents=ends, format=format, strict=self.strict)
        if kind in _FIELDS:
            named: Any = {"text": self.text_field, "document": self._field(kind), "strict": self.strict}
            if kind in ("csv", "tsv"):
                return corpora.table(files, **named, format=kind)
            return corpora.jsonl(files, **named) if kind == "jsonl" else corpora.dataset(files, **named)
        self._among((), kind)
        if kind == "conll2012":
            return corpora.conll2012(files, strict=self.strict)
        return corpora.conllu(files, strict=self.strict) if files else corpora.builtin(pack=pack)

    @staticmethod
    def is_text(path: Path) -> bool:
        """Whether this is a file of texts, there or not."""
        return path.is_file() or path.suffix.lower() in (".txt", *SUFFIXES)

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


def once(corpus: Corpus, distinct: bool) -> Corpus:
    """A corpus, or the same with each of its documents once."""
    from headscope import corpora

    return corpora.distinct(corpus) if distinct else corpus


def _kinds(path: Path, format: TextKind | None) -> Sequence[str]:
    """What a file of texts holds, told from its name, or the files of a folder."""
    from headscope.corpora.held import kind_of
    from headscope.corpora.sources import STDIN, standard_input, suffix_of, walked

    if format is not None:
        return [format]
    if not os.path.isdir(path):
        return [kind_of(standard_input() if str(path) == STDIN else path)]
    suffixes = (".txt", *SUFFIXES)
    files, _ = walked(path, suffixes, compressed=True)
    return [SUFFIXES.get(suffix_of(file), "text") for file in files]


def _file(name: str) -> Path:
    """A file or folder of this name. An empty one, as of a shell's variable that is not set, is no folder."""
    if not name:
        raise typer.BadParameter("expected a file or folder, found an empty name")
    return Path(name)


def expect_texts(model: Model, corpus: Corpus) -> None:
    """Raise `InputError` where a corpus is of plain texts and the model takes none."""
    from headscope.models.perceive import expect_ids

    if corpus.pack is not None:
        expect_ids(model)


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

    def inputs(self, model: ModelOptions) -> tuple[Model, Corpus]:
        """The model and the corpus, which is read first."""
        corpus, loaded = self.of(self.corpus), model.load()
        expect_texts(loaded, corpus)
        return loaded, corpus


@dataclass(frozen=True)
class InputOptions(TextOptions):
    """A corpus of texts, or of pictures or sounds in place of them.

    Attributes:
        images (FOLDER): pictures in place of texts, for a model of vision: a folder, a picture or .jsonl.
        audio (FOLDER): sounds in place of texts, for a model of sound: a folder, a WAV file or .jsonl.
    """

    rules: ClassVar = {
        "images": "-corpus -audio -format -pack -text_field",
        "audio": "-corpus -format -pack -text_field",
    }

    images: list[Path] | None = None
    audio: list[Path] | None = None

    @property
    def given(self) -> tuple[str, Sequence[Path]]:
        """The option of pictures or sounds that was given, and its files; empty where there are none."""
        return (
            ("--images", self.images) if self.images else ("--audio", self.audio) if self.audio else ("", ())
        )

    def inputs(self, model: ModelOptions) -> tuple[Model, Corpus]:
        """The model, and the corpus that was given; without one the built-in one of what the model reads.

        Raises `InputError` for what is wrong with files and options before the model is loaded, and for a model that
        reads no such inputs.
        """
        corpus = self._corpus()
        loaded = model.load()
        from headscope.corpora.perceived import shipped
        from headscope.models.perceive import expect_reads, reads

        if corpus is None:
            corpus = self.of(()) if reads(loaded) == "text" else shipped(reads(loaded))
        if corpus.kind != "text":
            expect_reads(loaded, corpus.kind)
        expect_texts(loaded, corpus)
        return loaded, corpus

    def _corpus(self) -> Corpus | None:
        name, files = self.given
        if not name:
            return self.of(self.corpus) if self.corpus else None
        by = self.documents or "file"
        if by not in ("file", "folder"):
            raise InputError(f"--documents: expected file or folder with {name}, found {by!r}")
        from headscope import corpora

        read = corpora.images if name == "--images" else corpora.sounds
        return once(read([*files], documents=cast("Any", by), strict=self.strict), self.distinct)


def annotated(
    paths: list[Path] | None,
    format: AnnotationKind | None = None,
    *,
    clusters: bool = False,
    strict: bool = False,
) -> Corpus:
    """The sentences with annotations in these files, or the built-in ones.

    Args:
        paths: the files.
        format: by default told from the name: .conllu, …_conll (CoNLL-2012), .txt (word head-relation), of coreference
            .jsonl (clusters); of another name from how the file begins.
        clusters: JSON lines of these as well.
        strict: refuse what is broken.

    Raises `InputError` where a name does not tell the format.
    """
    from headscope import corpora

    if not paths:
        return corpora.builtin_trees()
    kind = _one_of([format or _format_of(path, _CLUSTERS if clusters else _TREES) for path in paths])
    read = {
        "conllu": corpora.conllu,
        "word-heads": corpora.word_heads,
        "conll2012": corpora.conll2012,
        "clusters": corpora.clusters,
    }
    return read[kind](paths, strict=strict)


def coreference(
    paths: list[Path] | None, format: AnnotationKind | None = None, *, strict: bool = False
) -> Corpus:
    """The documents with mentions in these files, or the built-in ones; see `annotated`.

    Args:
        paths: the files.
        format: by default told from the name: .conllu, …_conll (CoNLL-2012), .txt (word head-relation), of coreference
            .jsonl (clusters); of another name from how the file begins.
        strict: refuse what is broken.
    """
    return annotated(paths, format, clusters=True, strict=strict)


def pictures(images: list[Path] | None = None, *, text: str | None = None, strict: bool = False) -> Corpus:
    """The pictures of these files, or the built-in ones.

    Args:
        images: folders, pictures, or JSON lines of pictures.
        text: what a model of texts and pictures is asked of each that has no text.
        strict: refuse what is broken.
    """
    from headscope import corpora

    return corpora.images(images, text=text, strict=strict) if images else corpora.builtin_images()


def links(
    paths: list[Path] | None,
    format: LinksKind | None = None,
    *,
    source: str | None = None,
    documents: str | None = None,
    base: Annotated[int, Expected(least=0, most=1)] = 0,
    strict: bool = False,
) -> Corpus | Callable[[Model], Corpus]:
    """The inputs with links in these files; without any what gives the built-in ones of what a model reads.

    Args:
        paths: the files.
        format: by default told from the name: .jsonl, .conllu, …_conll (CoNLL-2012), .txt (word head-relation); three
            files A B LINKS with .align, .pharaoh, .talp, .gdfa last are pharaoh.
        source: of pictures: which tokens look at the regions, in place of words, such as cls (the default of the
            built-in pictures, where a model reads no text).
        documents: of .jsonl: what is of one name in this field is one document.
        base: of alignments: what they call the first word.
        strict: refuse what is broken.
    """
    from headscope import corpora

    field = None if documents is None else documents.removeprefix("field:")
    if field == "":
        raise InputError("--documents: expected field:NAME, found no name")
    given = linked(paths, format, document=field, base=1 if base else 0, strict=strict)

    def looking(corpus: Corpus, source: str | None = source) -> Corpus:
        return corpus if source is None else corpora.from_class(corpus, source)

    def shipped(model: Model) -> Corpus:
        if model.image_processor is None:
            return looking(given)
        return looking(corpora.builtin_images(), source or ("cls" if model.processor is None else None))

    return looking(given) if paths or format else shipped


def linked(
    paths: list[Path] | None,
    format: LinksKind | None,
    *,
    document: str | None = None,
    base: Literal[0, 1] = 0,
    strict: bool = False,
) -> Corpus:
    """The inputs with links in these files: JSON lines, word alignments, or what `annotated` reads.

    `document` is the field of JSON lines that names documents, and `base` what alignments call the first word. Raises
    `InputError` where a name does not tell the format, and for files of several or, of alignments, not three of them.
    """
    from headscope import corpora

    files = list(paths or ())
    aligned = [format == "pharaoh" or (not format and path.suffix.lower() in ALIGNED) for path in files]
    kinds = ["pharaoh"] if any(aligned) else [format or _format_of(path, _ENDS_LINKS) for path in files]
    kind = _one_of(kinds or [format or "conllu"])
    for option, off, of in (
        ("--base", base == 0, "pharaoh"),
        ("--documents", document is None, "jsonl"),
    ):
        if not off and kind != of:
            raise InputError(f"{option}: expected {_FORMATS.get(of, of)}, found {_FORMATS.get(kind, kind)}")
    if kind == "pharaoh":
        if len(files) != 3 or not aligned[2]:
            given = ", ".join(map(str, files)) or "none"
            raise InputError(f"expected three files, A, B and their alignments last, found {given}")
        return corpora.alignments(*files, base=base, strict=strict)
    if kind == "jsonl":
        return corpora.links(files, document=document, strict=strict)
    return annotated(files, cast("AnnotationKind", kind), strict=strict)


_TREES: Mapping[str, AnnotationKind] = {".conllu": "conllu", "_conll": "conll2012", ".txt": "word-heads"}
_CLUSTERS: Mapping[str, AnnotationKind] = {".jsonl": "clusters", ".json": "clusters", **_TREES}
_ENDS_LINKS: Mapping[str, LinksKind] = {".jsonl": "jsonl", ".json": "jsonl", **_TREES}


def _format_of(path: Path, ends: Mapping[str, str]) -> str:
    """The format that a name tells by its end, or else the file by how it begins."""
    from headscope.corpora.formats import described, known_format
    from headscope.corpora.held import holds
    from headscope.corpora.sources import form_of, is_compressed
    from headscope.errors import CorpusError

    name = path.stem if is_compressed(path) else path.name
    named = next((kind for end, kind in ends.items() if name.lower().endswith(end)), None)
    known = known_format(path)
    if known is not None:
        for kind, reader in (("links", "jsonl"), ("coreference", "clusters")):
            if kind in known.reads and reader in ends.values():
                return reader
        if known.reads or named in (None, "word-heads"):
            kinds = ", ".join(dict.fromkeys(ends.values()))
            what = described(known, form_of(str(path)))
            raise CorpusError(path, None, f"expected a file of one of {kinds}, found {what}")
    if named is not None:
        return named
    if os.path.isfile(path) and (held := holds(path)) in ends.values():
        return held
    *most, last = ends
    raise InputError(f"{path}: expected a name that ends in {', '.join(most)} or {last}; or say --format")


def _one_of(formats: list[str]) -> str:
    kinds = list(dict.fromkeys(formats))
    if len(kinds) > 1:
        raise InputError(f"these files are {' and '.join(kinds)}; give them apart, or say --format")
    return kinds[0]
