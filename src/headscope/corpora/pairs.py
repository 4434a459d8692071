"""Tables of labelled texts or pairs of texts: the Microsoft paraphrase corpus, GLUE's files, and your own."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Example
from headscope.corpora.files import Files, Line
from headscope.errors import CorpusError, InputError

TEXTS: tuple[tuple[str, ...], ...] = (
    ("#1 String", "#2 String"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("text", "pair"),
    ("text_a", "text_b"),
    ("sentence",),
    ("text",),
)
"""Columns of texts that are known: the Microsoft paraphrase corpus', GLUE's, and those of JSON lines."""

LABELS = ("Quality", "is_duplicate", "gold_label", "label")
"""Columns of labels that are known."""

DOCUMENT = "document"
"""The column of documents, where there is one and no other is named."""


class _Columns(NamedTuple):
    """Which columns are read."""

    texts: tuple[str, ...]
    label: str
    document: str | None


def pairs(
    path: str | Path,
    *,
    label: str | None = None,
    text_a: str | None = None,
    text_b: str | None = None,
    document: str | None = None,
) -> Corpus:
    """A table of texts, or pairs of texts, with a label each: one input a row.

    Args:
        path: ``.tsv`` or ``.txt`` (columns parted by tabs, read without quoting, as the Microsoft paraphrase corpus and
            GLUE are), ``.csv`` (with quoting), or ``.jsonl`` (one object a line); UTF-8. The first row of a table
            names its columns.
        label: the column of labels; by default one of `LABELS` that is there.
        text_a, text_b: the columns of the texts; with `text_a` alone inputs are single texts. By default the first of
            `TEXTS` that is there.
        document: the column that says which rows are of one document; by default ``document`` where it is there,
            else each row is a document of its own.

    A label is kept as it is written, as a string. Raises `InputError` for another suffix, and `CorpusError` with
    file and line for a column that is not there, a row that is broken and a text or label that is empty.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _READERS:
        raise InputError(
            f"{path}: expected a name that ends in {', '.join(_READERS)}, found {suffix or 'none'}"
        )
    if text_b is not None and text_a is None:
        raise InputError("text_b: expected text_a beside it, found none")
    files = Files(path)
    asked = (label, text_a, text_b, document)
    return Corpus(files.name, partial(_examples, files, _READERS[suffix], asked), files=files)


_Row = tuple[int, Mapping[str, Any]]
_Asked = tuple[str | None, str | None, str | None, str | None]


def _examples(files: Files, rows: Callable[[Files], Iterator[_Row]], asked: _Asked) -> Iterator[Example]:
    columns: _Columns | None = None
    documents: dict[str, int] = {}
    path, number = files.paths[0], 0
    for place, (number, row) in enumerate(rows(files)):
        fail = partial(CorpusError, path, number)
        if columns is None:
            columns = _columns(list(row), asked, fail)
        texts = [_text(row, name, fail) for name in columns.texts]
        own = str(place) if columns.document is None else _cell(row, columns.document, fail)
        yield Example(
            text=texts[0],
            pair=texts[1] if len(texts) == 2 else None,
            label=_cell(row, columns.label, fail),
            document=documents.setdefault(own, len(documents)),
            source=f"{path}:{number}",
        )
    if columns is None:
        raise CorpusError(path, number or None, "expected rows of texts, found none")


def _columns(names: Sequence[str], asked: _Asked, fail: Callable[[str], CorpusError]) -> _Columns:
    """The columns to read of those that are there."""
    label, text_a, text_b, document = asked
    there = ", ".join(map(repr, names))
    for name in asked:
        if name is not None and name not in names:
            raise fail(f"expected a column {name!r}, found {there}")
    if text_a is not None:
        texts = (text_a,) if text_b is None else (text_a, text_b)
    else:
        known = [each for each in TEXTS if set(each) <= set(names)]
        if not known:
            raise fail(f"expected columns of texts that are known (or text_a and text_b), found {there}")
        texts = known[0]
    if label is None:
        label = next((name for name in LABELS if name in names), None)
        if label is None:
            raise fail(f"expected a column {' or '.join(map(repr, LABELS))} (or label), found {there}")
    if document is None and DOCUMENT in names:
        document = DOCUMENT
    if label in texts or document in texts or len(set(texts)) < len(texts):
        raise fail(f"expected different columns, found {', '.join(map(repr, (*texts, label)))}")
    return _Columns(texts, label, document)


def _text(row: Mapping[str, Any], name: str, fail: Callable[[str], CorpusError]) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise fail(f"{name!r}: expected a string, found {'none' if value is None else type(value).__name__}")
    if not value.strip():
        raise fail(f"{name!r}: expected some text, found {value!r}")
    return value


def _cell(row: Mapping[str, Any], name: str, fail: Callable[[str], CorpusError]) -> str:
    value = row.get(name)
    if not isinstance(value, str | int | float) or str(value).strip() == "":
        raise fail(
            f"{name!r}: expected a string or a number, found {'none' if value is None else repr(value)}"
        )
    return str(value).strip() if not isinstance(value, bool) else str(value).lower()


def _by_tabs(files: Files) -> Iterator[_Row]:
    names: list[str] | None = None
    for line in files:
        if not line.text.strip():
            continue
        cells = line.text.split("\t")
        if names is None:
            names = _header(cells, line)
            continue
        yield line.number, _row(names, cells, line.path, line.number)


def _by_commas(files: Files) -> Iterator[_Row]:
    names: list[str] | None = None
    path = files.paths[0]
    reader = csv.reader((f"{line.text}\n" for line in files), strict=True)
    start = 1
    try:
        for cells in reader:
            if cells and names is None:
                names = _header(cells, Line(path, start, ""))
            elif cells:
                assert names is not None
                yield start, _row(names, cells, path, start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise CorpusError(
            path, start, f"expected a row of a .csv file, found one that is broken ({error})"
        ) from None


def _objects(files: Files) -> Iterator[_Row]:
    for line in files:
        if not line.text.strip():
            continue
        try:
            found: Any = json.loads(line.text)
        except (ValueError, RecursionError) as error:
            raise CorpusError(
                line.path, line.number, f"expected a JSON object, found broken JSON ({error})"
            ) from None
        if not isinstance(found, dict):
            raise CorpusError(line.path, line.number, f"expected a JSON object, found {type(found).__name__}")
        yield line.number, cast(dict[str, Any], found)


def _header(cells: Sequence[str], line: Line) -> list[str]:
    names = [cell.strip() for cell in cells]
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise CorpusError(
            line.path, line.number, f"expected columns of different names, found {twice[0]!r} twice"
        )
    return names


def _row(names: Sequence[str], cells: Sequence[str], path: str, number: int) -> dict[str, str]:
    if len(cells) != len(names):
        raise CorpusError(path, number, f"expected {len(names)} columns, found {len(cells)}")
    return dict(zip(names, cells, strict=True))


_READERS: Mapping[str, Callable[[Files], Iterator[_Row]]] = {
    ".tsv": _by_tabs,
    ".txt": _by_tabs,
    ".csv": _by_commas,
    ".jsonl": _objects,
}
