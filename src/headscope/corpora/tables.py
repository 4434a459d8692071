"""Tables of texts: rows by the names of their columns."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Literal

from headscope.core.counts import plural
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus, refuse
from headscope.corpora.example import Example
from headscope.corpora.files import Line, Paths
from headscope.corpora.jsonlines import (
    DocumentNumbers,
    Fail,
    each_of,
    json_object,
    known_texts,
    string,
    undecided,
)
from headscope.corpora.sources import suffix_of
from headscope.errors import CorpusError, InputError

JSON = (".jsonl", ".json")
"""Suffixes of files of JSON."""


class Cells(AnyDict):
    """The cells of a row of a table by their columns, and the line that names these."""

    def __init__(self, names: Sequence[str], cells: Sequence[str], header: Line) -> None:
        super().__init__(zip(names, cells, strict=True))
        self.header = header


def header_of(line: Line, row: AnyMapping) -> Line:
    """The line that names the columns of a row: in a table its first, in JSON its own."""
    return row.header if isinstance(row, Cells) else line


Row = tuple[Line, AnyMapping | CorpusError]
"""The line of a row, and its cells by their columns, or what is wrong with it."""

Rows = Callable[[Iterable[Line]], Iterator[Row]]
"""Makes rows of the lines of files."""

_CellsOfRow = tuple[Line, list[str] | CorpusError]
_LINES = 100_000  # of a row, at most
_LONGEST = 1 << 24  # characters of a cell; a quote that does not end goes on up to there
_CELL = r'(?:"[^"]*+(?:""[^"]*+)*+"|[^",]*+)'
_CELLS = re.compile(f"{_CELL}(?:,{_CELL})*+")


@validated
def table(
    paths: Paths,
    *,
    text: str | None = None,
    pair: str | None = None,
    document: str | None = None,
    format: Literal["csv", "tsv"] | None = None,
    strict: bool = False,
) -> Corpus:
    """A table of texts, or pairs of texts: one input a row, the first row names the columns, UTF-8.

    Args:
        paths: a file or several: ``.csv`` (with quoting), or ``.tsv`` (columns parted by tabs, without quoting).
        text, pair: the columns of the texts; with `text` alone inputs are single texts. By default the first of
            `headscope.corpora.jsonlines.TEXTS` that is there.
        document: the column that says which rows are of one document; these follow one another. By default
            ``document`` where it is there, else each row is a document of its own.
        format: by default told from the suffix.
        strict: refuse broken rows and empty texts; else they are left out and listed (`Corpus`).

    Other columns are left alone. Raises `InputError` for another suffix and a document that has ended and goes on, and
    `CorpusError` with file and line for a missing column.

    >>> [(example.text[:12], example.document) for example in hs.corpora.table("news.csv", document="article")]
    [('Rates rose o', 0), ('Banks were n', 0), ('It rained in', 1)]
    """
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    kinds = {format or suffix_of(file).removeprefix(".") for file in files}
    if not kinds <= {"csv", "tsv"} or len(kinds) > 1:
        raise InputError(
            f"table: expected files that are all .csv or all .tsv, found {', '.join(map(str, files))}"
        )
    if pair is not None and text is None:
        raise InputError("pair: expected text beside it, found none")
    suffix = f".{kinds.pop()}" if kinds else ".csv"
    return Corpus.of_files(
        paths,
        partial(_examples, READERS[suffix], text, pair, document),
        expected="expected rows of texts, found none",
        documents=each_of(document, "row"),
        strict=strict,
        suffixes=(suffix,),
    )


def _examples(
    rows: Rows, text: str | None, pair: str | None, document: str | None, lines: Iterable[Line]
) -> Iterator[Callable[[], Example]]:
    numbers = DocumentNumbers(document)
    columns: tuple[str, ...] = ()
    path = ""
    for line, row in rows(lines):
        if isinstance(row, CorpusError):
            yield partial(refuse, row)
            continue
        if line.path != path:
            fail = header_of(line, row).error
            path, columns = line.path, text_columns(list(row), text, pair, fail, "text=, --text-field")
            if document is not None and document not in row:
                raise fail(f"expected a column {document!r}, found {', '.join(map(repr, row))}")
        yield partial(_example, line, row, columns, numbers)


def _example(
    line: Line,
    row: AnyMapping,
    columns: tuple[str, ...],
    numbers: DocumentNumbers,
) -> Example:
    texts = [string(row[column], f"{column!r}", line.error) for column in columns]
    return Example(
        text=texts[0],
        pair=(*texts, None)[1],
        undecided=undecided(row),
        **numbers.of_row(line, row),
    )


def text_columns(
    names: Sequence[str], text: str | None, pair: str | None, fail: Fail, ask: str
) -> tuple[str, ...]:
    """The columns of the texts, of those that are there; `ask` is how the user would name them."""
    there = ", ".join(map(repr, names))
    asked = tuple(name for name in (text, pair) if name is not None)
    for name in asked:
        if name not in names:
            raise fail(f"expected a column {name!r}, found {there}")
    known = known_texts(names)
    if not (asked or known):
        raise fail(f"expected columns of texts that are known (or {ask}), found {there}")
    return asked or known


def _by_file(
    cells: Callable[[Iterable[Line]], Iterator[_CellsOfRow]], lines: Iterable[Line]
) -> Iterator[Row]:
    """Each file names its columns."""
    for _, group in groupby(lines, lambda line: line.path):
        yield from _table(cells(group))


def _by_tabs(lines: Iterable[Line]) -> Iterator[_CellsOfRow]:
    return ((line, line.text.split("\t")) for line in lines if line.text.strip())


def _quoted(lines: Iterable[Line]) -> Iterator[_CellsOfRow]:
    """The cells of each row of a .csv file (or what is wrong with them), and the line where it begins.

    After a broken row it goes on with its second line: a quote that does not end takes in good rows. Where the quote
    that it ends at stands within a cell, it is one row of several lines, and all of them are passed over.
    """
    taken: list[Line] = []
    pending: deque[Line] = deque()
    source = iter(lines)

    def texts() -> Iterator[str]:
        while line := pending.popleft() if pending else next(source, None):
            if len(taken) == _LINES:
                pending.appendleft(line)
                return
            taken.append(line)
            yield f"{line.text}\n"

    reader = csv.reader(texts(), strict=True)
    while True:
        try:
            cells = _next(reader)
        except csv.Error as error:
            first, *others = taken
            complete = bool(others) and _within_a_cell(others[-1].text)
            actual = "one that is broken" + (f" up to line {others[-1].number}" if complete else "")
            yield first, first.error(f"expected a row of a .csv file, found {actual} ({error})")
            pending.extendleft(() if complete else reversed(others))
            reader = csv.reader(texts(), strict=True)
        else:
            if cells is None:
                return
            if cells:
                yield taken[0], cells
        taken.clear()


def _next(rows: Iterator[list[str]]) -> list[str] | None:
    """The next row, with long cells: how long they may be is one number for all that Python reads."""
    before = csv.field_size_limit(_LONGEST)
    try:
        return next(rows, None)
    finally:
        csv.field_size_limit(before)


def _within_a_cell(text: str) -> bool:
    """Whether a line, read as a row, has a quote that neither begins nor ends a cell."""
    good = _CELLS.match(text)
    end = good.end() if good else 0
    return text[end : end + 1] == '"' and text[end - 1 : end] not in ("", ",")


def _table(rows: Iterator[_CellsOfRow]) -> Iterator[Row]:
    """Rows by the names of their columns, which the first one says."""
    names: list[str] = []
    header: Line | None = None
    for line, cells in rows:
        if isinstance(cells, CorpusError):
            if not names:
                raise cells
            yield line, cells
        elif header is None:
            header, names = line, [cell.strip() for cell in cells]
            if twice := [name for index, name in enumerate(names) if name in names[:index]]:
                raise line.error(f"expected columns of different names, found {twice[0]!r} twice")
        elif len(cells) != len(names):
            yield line, line.error(f"expected {plural(len(names), 'column')}, found {len(cells)}")
        else:
            yield line, Cells(names, cells, header)


def _objects(lines: Iterable[Line]) -> Iterator[Row]:
    for line in lines:
        if line.text.strip():
            try:
                yield line, json_object(line)
            except CorpusError as error:
                yield line, error


READERS: Mapping[str, Rows] = {
    ".tsv": partial(_by_file, _by_tabs),
    ".txt": partial(_by_file, _by_tabs),
    ".csv": partial(_by_file, _quoted),
    **dict.fromkeys(JSON, _objects),
}
"""What reads rows, by the suffix of the file."""
