"""Tables of labelled texts or pairs of texts: the Microsoft paraphrase corpus, GLUE's files, and your own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from headscope.core.types import AnyMapping
from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus, refuse
from headscope.corpora.datasets import TABLES, names_in, rows_of
from headscope.corpora.example import Example
from headscope.corpora.files import Files, Line
from headscope.corpora.formats import known_format, lines_as, read_as
from headscope.corpora.jsonlines import DISAGREED, LABELS, Fail, each_of, string
from headscope.corpora.sources import suffix_of
from headscope.corpora.tables import JSON, READERS, Row, header_of, text_columns
from headscope.errors import CorpusError, InputError

DOCUMENT = "document"
"""The column of documents, where there is one and no other is named."""


SCORE = "score"
"""The column of how near two texts are, where there are no labels."""

TRIPLETS = (
    ("query", "right", "wrong"),
    ("query", "positive", "negative"),
    ("anchor", "positive", "negative"),
)
"""Columns of a query, a text that is near, and one that is less near."""


class _Columns(NamedTuple):
    """Which columns are read, and which label a row has that has no column of it."""

    texts: tuple[str, ...]
    label: str
    document: str | None
    given: str = ""


@validated
def pairs(
    path: str | Path,
    *,
    label: str | None = None,
    text_a: str | None = None,
    text_b: str | None = None,
    document: str | None = None,
    strict: bool = False,
) -> Corpus:
    """A table of texts, or pairs of texts, with a label each: one input a row.

    Args:
        path: ``.tsv`` or ``.txt`` (columns parted by tabs, read without quoting, as the Microsoft paraphrase corpus and
            GLUE are), ``.csv`` (with quoting), ``.jsonl`` (one object a line) or ``.json`` (an array of objects), in
            UTF-8, the first row of a table naming its columns; or ``.parquet`` or ``.arrow``.
        label: the column of labels; by default one that is known. These are `headscope.corpora.jsonlines.LABELS`.
        text_a: the column of text A, or of the only text; by default one that is known. These are
            `headscope.corpora.jsonlines.TEXTS`.
        text_b: the column of text B; inputs are single texts where `text_a` is named alone.
        document: the column that says which rows are of one document; by default ``document`` where it is there,
            else each row is a document of its own.
        strict: refuse broken rows and empty texts or labels; else they are left out and listed (`Corpus`).

    A label is kept as it is written, as a string (true and false as ``true`` and ``false``), and several of a list as a
    tuple of strings; a row without one, or with SNLI's ``-`` (its annotators do not agree), is left out. Raises
    `InputError` for another suffix, and `CorpusError` with file and line for a missing column.

    Of triplets (`TRIPLETS`, unless columns are named) a row is two inputs, labelled ``right`` and ``wrong``.

    >>> example = next(iter(hs.corpora.pairs("pairs.tsv")))
    >>> example.text, example.pair, example.label
    ('The bank cut its rates on Tuesday .', 'On Tuesday the bank cut its rates .', '1')
    """
    suffix = suffix_of(path)
    known = known_format(path)
    if known is not None and read_as(known, "groups"):
        suffix = ".jsonl"
    if suffix not in (*READERS, *TABLES):
        known = ", ".join((*READERS, *TABLES))
        raise InputError(f"{path}: expected a name that ends in {known}, found {suffix or 'none'}")
    if text_b is not None and text_a is None:
        raise InputError("text_b: expected text_a beside it, found none")
    wanted: _Wanted = (label, text_a, text_b, document)
    documents = (
        "each row, or those that a column 'document' names alike"
        if document is None
        else each_of(document, "row")
    )
    files: Any = path
    if suffix in TABLES:
        files = Files(path, rows=True)
        kinds = _columns(names_in(str(path)), wanted, partial(CorpusError, path, None))
        needed = [
            name for columns in kinds for name in (*columns.texts, columns.label, columns.document) if name
        ]
        needed = [*dict.fromkeys(needed)]
        rows: Any = partial(rows_of, wanted=lambda _: needed)
    else:
        rows = READERS[suffix]
        files = Files(path, records=suffix in JSON)
    return Corpus.of_files(
        files,
        lambda lines: _examples(wanted, rows(lines_as(files, "groups") if suffix in JSON else lines)),
        strict=strict,
        expected="expected rows of texts, found none",
        documents=documents,
    )


_Wanted = tuple[str | None, str | None, str | None, str | None]


def _examples(wanted: _Wanted, rows: Iterable[Row]) -> Iterator[Callable[[], Example]]:
    kinds: Sequence[_Columns] = ()
    documents: dict[str, int] = {}
    for index, (line, row) in enumerate(rows):
        if isinstance(row, CorpusError):
            yield partial(refuse, row)
            continue
        kinds = kinds or _columns(list(row), wanted, header_of(line, row).error)
        for columns in kinds:
            yield partial(_example, line, row, columns, index, documents)


def _example(
    line: Line, row: AnyMapping, columns: _Columns, index: int, documents: dict[str, int]
) -> Example:
    texts = [string(row.get(name), f"{name!r}", line.error) for name in columns.texts]
    number = index
    if columns.document is not None:
        number = documents.setdefault(_cell(row, columns.document, line.error), len(documents))
    return Example(
        text=texts[0],
        pair=(*texts, None)[1],
        label=columns.given or _label(row, columns.label, line.error),
        document=number,
        source=line.source,
    )


def _columns(names: Sequence[str], wanted: _Wanted, fail: Fail) -> Sequence[_Columns]:
    """The columns to read of those that are there, of each input of a row."""
    label, text_a, text_b, document = wanted
    there = ", ".join(map(repr, names))
    for name in wanted:
        if name is not None and name not in names:
            raise fail(f"expected a column {name!r}, found {there}")
    if document is None and DOCUMENT in names:
        document = DOCUMENT
    three = next((some for some in TRIPLETS if set(some) <= set(names)), None)
    if three is not None and label is None and text_a is None:
        query, right, wrong = three
        return [
            _Columns((query, right), "", document, "right"),
            _Columns((query, wrong), "", document, "wrong"),
        ]
    texts = text_columns(names, text_a, text_b, fail, "text_a and text_b")
    if label is None:
        label = next((name for name in (*LABELS, SCORE) if name in names), None)
        if label is None:
            raise fail(f"expected a column {' or '.join(map(repr, LABELS))} (or label), found {there}")
    if label in texts or document in texts or len(set(texts)) < len(texts):
        raise fail(f"expected different columns, found {', '.join(map(repr, (*texts, label)))}")
    return [_Columns(texts, label, document)]


def _label(row: AnyMapping, name: str, fail: Fail) -> str | tuple[str, ...]:
    """The label of a row, or its labels where a list has several."""
    given: Any = row.get(name)
    if not isinstance(given, list) or not given:
        return _cell(row, name, fail)
    labels = [_cell({name: one}, name, fail) for one in cast("list[Any]", given)]
    return labels[0] if len(labels) == 1 else tuple(labels)


def _cell(row: AnyMapping, name: str, fail: Fail) -> str:
    value = row.get(name)
    if (name, value) == DISAGREED:
        raise fail(f"{name!r}: expected a label, found '-', where SNLI's annotators do not agree")
    if not isinstance(value, str | int | float) or not str(value).strip():
        kind = "none" if value is None else repr(value)
        raise fail(f"{name!r}: expected a string or a number, found {kind}")
    return str(value).strip() if not isinstance(value, bool) else str(value).lower()
