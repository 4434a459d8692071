"""Pictures and sounds of folders, lists, JSON lines and data sets, as examples."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from headscope.core.failures import reason
from headscope.core.kinds import is_list, is_mapping, is_path
from headscope.core.pictures import Video, pictures_of, several
from headscope.core.tokens import Kind
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Example
from headscope.corpora.files import Line, Listed, paths_in
from headscope.corpora.jsonlines import (
    DocumentNumbers,
    each_of,
    json_object,
    label_of,
    scalar,
    string,
    strings,
)
from headscope.corpora.linking import read_links
from headscope.corpora.readers import times_of
from headscope.corpora.rows import expect_rows, is_listed
from headscope.corpora.sources import counted, suffix_of, walked
from headscope.errors import CorpusError, InputError

By = Literal["file", "folder"]
"""What is a document: each picture or sound, or those of a folder."""


@dataclass(frozen=True)
class Modality:
    """What differs between pictures and sounds.

    Attributes:
        kind: of the corpus.
        noun: what one is called.
        field: of the example that holds it.
        suffixes: of its files.
        is_one: whether something is one of them itself, not several.
        need: raises `InputError` where the library that reads a file, or its bytes, is not installed.
        read: what an example holds of one of some name, once it has been looked at: `InputError` for what is none.
    """

    kind: Kind
    noun: str
    field: Literal["image", "audio"]
    suffixes: Sequence[str]
    is_one: Callable[[object], bool]
    need: Callable[[Any], object]
    read: Callable[[Any, str], Any]


@dataclass(frozen=True)
class Columns:
    """Where a row has what an example is made of.

    Attributes:
        media: the picture or the sound.
        text: its text.
        ask: a text for those that have none.
        by: what is a document where the row does not say.
    """

    media: str
    text: str
    ask: str | None
    by: By


Row = tuple[Line, Callable[[], AnyMapping]]
"""A place and what gives the row that is there."""


class MediaPlace(Line):
    """An input that is no line of a file: a file of its own, or an item of a list. Its `text` says which."""

    @property
    def source(self) -> str:
        """Where the input is, such as ``photos/cat.jpg`` or ``images[3]``."""
        return self.text

    def error(self, message: str) -> CorpusError:
        """An error that begins with the place."""
        return CorpusError(self.text, None, message)


def corpus_of(source: Any, modality: Modality, columns: Columns, limit: int | None, strict: bool) -> Corpus:
    """The corpus of some pictures or sounds.

    Args:
        source: a folder, a file, a file of JSON lines, or a list of these; a picture or a sound; or what can be read
            again and again and gives pictures, sounds, or rows that have one each.
        modality: which of the two.
        columns: where rows have it.
        limit: at most so many are read.
        strict: refuse what is broken, instead of leaving it out.
    """
    if columns.ask is not None:
        string(columns.ask, "text", InputError)
    if modality.is_one(source):
        source = [source]
    paths = paths_in(source)
    if paths is None:
        return _of_items(source, modality, columns, limit, strict)
    if all(suffix_of(path) in (".jsonl", ".json") for path in paths):
        return Corpus.of_files(
            paths,
            lambda lines: islice(_examples(_of_lines(lines), modality, columns), limit),
            expected="expected JSON objects, found blank lines only",
            documents=each_of(None, "line"),
            strict=strict,
            kind=modality.kind,
            records=True,
        )
    return _of_paths([*map(Path, paths)], modality, columns, limit, strict)


def packaged(corpus: Corpus, name: str) -> Corpus:
    """A corpus that ships in the package, under a name; its examples are where their files are called."""

    def read() -> Iterator[Example]:
        for example in corpus.examples():
            file: Any = example.audio if example.image is None else example.image
            yield replace(example, source=file.name)

    return Corpus(name, read, documents="each file", kind=corpus.kind)


def _of_paths(
    paths: Sequence[Path], modality: Modality, columns: Columns, limit: int | None, strict: bool
) -> Corpus:
    """Files, and what is in folders and below them."""
    labels: dict[Path, str] = {}
    files: list[Path] = []
    others: Counter[str] = Counter()
    for path in paths:
        if not os.path.exists(path):
            raise CorpusError(path, None, f"expected a folder or a {modality.noun}, found nothing there")
        if not path.is_dir():
            files.append(path)
            continue
        matches, more = walked(path, modality.suffixes, f"{modality.noun}s")
        others += more
        files += matches
        root = path.parent if len(paths) > 1 else path
        labels |= {
            file: folder for file in matches if (folder := file.parent.relative_to(root).as_posix()) != "."
        }
    listed = Listed(files[:limit])
    for file in {Path(path).suffix.lower(): Path(path) for path in listed.paths}.values():
        modality.need(file)

    def rows() -> Iterator[Row]:
        for number, path in enumerate(listed, 1):
            row = {columns.media: path, "label": labels.get(Path(path))}
            yield MediaPlace(name, number, path), partial(AnyDict, row)

    name = (
        ", ".join(path.resolve().name for path in paths)
        if len(paths) < 4
        else f"{len(files):,} {modality.noun}s"
    )
    remarks = [f"did not read {counted(others)}, which are no {modality.noun}s"] if others else []
    return Corpus(
        name,
        lambda: _examples(rows(), modality, columns),
        files=listed,
        strict=strict,
        documents=f"each {modality.noun}" if columns.by == "file" else f"the {modality.noun}s of each folder",
        kind=modality.kind,
        remarks=remarks,
    )


def _of_items(source: Any, modality: Modality, columns: Columns, limit: int | None, strict: bool) -> Corpus:
    """What is in memory, or comes from a data set."""
    several = (
        f"a folder, a file, a list of {modality.noun}s or paths, or rows with a column {columns.media!r}"
    )
    items = expect_rows(source, modality.kind, several)
    names: Any = getattr(items, "column_names", None)
    if is_list(names) and not {columns.media, *_several(modality)} & {*names}:
        there = ", ".join(map(repr, names))
        raise InputError(
            f"{modality.kind}: expected a column {columns.media!r}, found {there}; column= names it"
        )

    def rows() -> Iterator[Row]:
        for index, item in enumerate(islice(_getters(items), limit)):
            place = MediaPlace(modality.kind, index + 1, f"{modality.kind}[{index}]")
            yield place, partial(_row, item, modality, columns, place)

    return Corpus(
        modality.kind,
        lambda: _examples(rows(), modality, columns),
        strict=strict,
        documents=each_of(None, "row"),
        kind=modality.kind,
    )


def _getters(items: Iterable[Any]) -> Iterator[Callable[[], Any]]:
    """What gives each item. Those of a list are got one by one, so that one that cannot be got is only one."""
    if is_listed(items):
        return (partial(items.__getitem__, index) for index in range(len(items)))
    return (partial(_same, item) for item in items)


def _same(item: Any) -> Any:
    return item


def _row(item: Callable[[], Any], modality: Modality, columns: Columns, place: Line) -> AnyMapping:
    """The row that an item is; a picture or a sound by itself makes a row with nothing else."""
    try:
        value: Any = item()
    except (ArithmeticError, LookupError, OSError, RuntimeError, SyntaxError, ValueError) as error:
        raise place.error(f"cannot be read ({reason(error)})") from None
    if is_mapping(value) and (columns.media in value or not modality.is_one(value)):
        return value
    return {columns.media: value}


def _of_lines(lines: Iterable[Line]) -> Iterator[Row]:
    return ((line, partial(json_object, line)) for line in lines if line.text.strip())


def _examples(rows: Iterable[Row], modality: Modality, columns: Columns) -> Iterator[Callable[[], Example]]:
    documents = DocumentNumbers(None if columns.by == "file" else "folder")
    return (partial(_example, line, row, modality, columns, documents) for line, row in rows)


def _example(
    line: Line,
    make: Callable[[], AnyMapping],
    modality: Modality,
    columns: Columns,
    documents: DocumentNumbers,
) -> Example:
    row = make()
    column = next((name for name in (columns.media, *_several(modality)) if row.get(name) is not None), None)
    if column is None and columns.media not in row:
        raise line.error(f"expected a key {columns.media!r}, found {', '.join(map(repr, row)) or 'none'}")
    fields: AnyDict = {}
    if row.get(columns.text) is not None:
        fields["text"] = string(row[columns.text], repr(columns.text), line.error)
    if row.get("words") is not None:
        fields["words"] = strings(row["words"], "'words'", line.error)
        if "text" in fields:
            raise line.error(f"expected {columns.text!r} or 'words', found both")
    if modality.field == "audio" and row.get("times") is not None:
        fields["times"] = times_of(row["times"], len(fields.get("words", ())), line)
    if not fields and columns.ask is not None:
        fields["text"] = columns.ask
    given = row[column or columns.media]
    if column == "images" and not several(given):
        raise line.error(f"'images': expected a list of pictures, found {type(given).__name__}")
    several_of = (
        list(given) if modality.field == "image" and column != "video" and several(given) else [given]
    )
    read = [_media(one, line) for one in several_of]
    path = read[0][1]
    name = scalar(row, "document", line.error)
    if columns.by == "folder" and name is None:
        if path is None:
            raise line.error(f"expected a path of the {modality.noun} for documents='folder', found none")
        name = str(path.parent)
    media: list[Any] = []
    for number, (value, place) in enumerate(read):
        if isinstance(value, Path | bytes):
            modality.need(value)
        try:
            if column == "video":
                media.append(Video(value))
                pictures_of(media[0])
            else:
                media.append(modality.read(value, "" if place is None else place.name))
        except InputError as error:
            message = str(error).removeprefix(f"{line.source}: ").removeprefix(f"{modality.field}: ")
            raise line.error(f"'images'[{number}]: {message}" if len(read) > 1 else message) from None
    fields[modality.field] = tuple(media) if len(media) > 1 else media[0]
    fields["label"] = label_of(row, "label", line.error)
    fields |= documents.of(line, name)
    fields["document_known"] = True
    example = Example(**fields)
    if modality.field == "audio" or row.get("links") is None:
        return example
    return read_links(row, replace(example, image=None), example.image, line)


def _several(modality: Modality) -> tuple[str, ...]:
    """Where else a row may have what is looked at: several pictures, or a video."""
    return ("images", "video") if modality.field == "image" else ()


def _media(value: Any, line: Line) -> tuple[Any, Path | None]:
    """What a row has of a picture or a sound, as it is read, and the path that it names.

    Paths count from the folder of the file that names them. Of what data sets make of one (``{"bytes", "path"}``,
    ``{"array", "sampling_rate"}``, a decoder) there are the bytes or the samples.
    """
    path: AnyPath | None = None
    if is_mapping(value):
        path = value.get("path")
        if value.get("array") is not None:
            value = np.asarray(value["array"]), value.get("sampling_rate")
        else:
            value = path if value.get("bytes") is None else value["bytes"]
    elif hasattr(value, "get_all_samples"):  # torchcodec's decoder
        decoded: Any = value.get_all_samples()
        value = np.asarray(decoded.data).mean(0), decoded.sample_rate
    if is_path(value):
        value = Path(value) if isinstance(line, MediaPlace) else Path(line.path).parent / value
        return value, value
    return value, None if path is None else Path(path)
