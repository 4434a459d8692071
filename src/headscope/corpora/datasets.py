"""Rows of data sets: Hugging Face's ``datasets``, files of Parquet and Arrow, tables, lists of dicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from headscope.core.conversations import ANSWERS
from headscope.core.failures import reason
from headscope.core.kinds import is_list, is_mapping
from headscope.core.lazy import module
from headscope.core.types import AnyDict
from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus, Pack
from headscope.corpora.example import Example
from headscope.corpora.files import Files, Line, paths_in
from headscope.corpora.jsonlines import (
    KINDS,
    LABELS,
    MAIN,
    TEXTS,
    DocumentNumbers,
    each_of,
    fields,
    known_texts,
)
from headscope.corpora.rows import MemoryRow, columns_of, expect_rows, plain
from headscope.corpora.sources import begins_as_table, suffix_of
from headscope.errors import CorpusError, InputError

TABLES = (".parquet", ".arrow")
"""Suffixes of files of rows."""

_FIELDS = tuple(
    dict.fromkeys(
        (
            *MAIN,
            *ANSWERS,
            "pair",
            "pair_words",
            "tags",
            "token_ids",
            *(name for names in TEXTS for name in names),
            *LABELS,
        )
    )
)
# Bytes of a column that are read, and how much smaller than that it is packed at most.
_LARGE, _RATIO = 1 << 27, 200
_ROWS = 64  # rows that are held at a time: a small file may say one long text of all


Rows = Iterator[tuple[Line, Any]]
"""Rows, each with the line where it is."""


@validated
def dataset(
    rows: Any,
    *,
    text: str | None = None,
    document: str | None = None,
    pack: Pack | None = None,
    strict: bool = False,
) -> Corpus:
    """Rows with a text each: a data set of Hugging Face's ``datasets``, streamed or not, or Parquet and Arrow files.

    A row has what a line of `headscope.corpora.jsonl` has: `text` (and `pair`), or `words`, `tokens`, `messages` or
    `prompt_token_ids`, or columns of `headscope.corpora.jsonlines.TEXTS`; it may have a `label` and a `document`: rows
    that follow one another with the same are one, a row without one is a document of its own. Other columns are not
    read. Values that are null count as not there, and so do labels of -1 in a column of classes.

    Args:
        rows: a data set, a table (of pandas, polars or Arrow, or a structured array), a list of dicts, a dict of
            columns, or what else gives dicts; or a ``.parquet`` or ``.arrow`` file, several of them, or folders of
            them, of which some rows are held at a time. What an iterator gives is held.
        text: another column of the text.
        document: another column of the document, which each row must have then.
        pack: fill inputs with the whole texts of one document up to so many tokens, as `headscope.corpora.text` does.
        strict: refuse rows that are anything else with a `CorpusError` that names file and row; else they are left out
            and listed (`Corpus`).

    Raises `InputError` for what is no rows, and where no such column is there; for files without pyarrow, of the extra
    ``files``.

    >>> corpus = hs.corpora.dataset([{"body": "The cat sat."}, {"body": "It slept."}], text="body")
    >>> [(example.text, example.source) for example in corpus]
    [('The cat sat.', 'rows[0]'), ('It slept.', 'rows[1]')]
    """
    read = partial(_examples, text, document)
    more: AnyDict = {"pack": pack, "strict": strict, "documents": each_of(document, "row")}
    paths = paths_in(rows)
    if paths is not None:
        files = Files(paths, TABLES, rows=True)
        for path in files.paths:
            if _kind(path) is None:
                raise InputError(
                    f"{path}: expected a name that ends in {' or '.join(TABLES)}; for others hs.corpora.jsonl, table"
                )
            _expect_columns(names_in(path), text, document, path)
        return Corpus.of_files(
            files,
            lambda _: read(rows_of(files, lambda names: _wanted(names, text, document))),
            expected="expected rows, found none",
            **more,
        )
    given = _checked(rows, text, document)
    classes = _classes(getattr(rows, "features", None))
    return Corpus(
        "rows",
        lambda: read(
            (MemoryRow("rows", index, ""), _labelled(plain(row), classes)) for index, row in enumerate(given)
        ),
        **more,
    )


def _checked(rows: Any, text: str | None, document: str | None) -> Iterable[Any]:
    """Rows in memory, or of a data set, of the columns that are read."""
    expected = "a data set, a table, a list of dicts, a dict of columns, or .parquet or .arrow files"
    given = expect_rows(columns_of(rows) or rows, "rows", expected)
    names: Any = getattr(given, "column_names", None)
    if is_list(names):
        _expect_columns(names, text, document, "rows")
        if hasattr(given, "select_columns"):
            given = given.select_columns(_wanted(names, text, document))
    return given


def _wanted(names: Sequence[str], text: str | None, document: str | None) -> list[str]:
    """The columns that are read, of those that are there."""
    known = (
        {*_FIELDS, "document", text, document}
        if text is None
        else {text, "pair", "label", "document", document}
    )
    return [name for name in names if name in known]


def _expect_columns(names: Sequence[str], text: str | None, document: str | None, where: str) -> None:
    there = ", ".join(map(repr, names)) or "none"
    for name in (text, document):
        if name is not None and name not in names:
            raise InputError(f"{where}: expected a column {name!r}, found {there}")
    if text is None and not {*MAIN, *ANSWERS} & {*names} and not known_texts(names):
        raise InputError(
            f"{where}: expected a column 'text' (or headscope.corpora.dataset(…, text=NAME), --text-field NAME), "
            f"found {there}"
        )


def _examples(text: str | None, document: str | None, rows: Rows) -> Iterator[Callable[[], Example]]:
    numbers = DocumentNumbers(document)
    return (partial(_example, line, row, text, numbers) for line, row in rows)


def _example(line: Line, row: Any, text: str | None, numbers: DocumentNumbers) -> Example:
    if not is_mapping(row):
        raise line.error(f"expected a dict, found {KINDS[type(row)]}")
    known = {name: value for name, value in row.items() if value is not None}
    read = {key: known[key] for key in _FIELDS if key in known} if text is None else {}
    return Example(**fields(read or known, text, line.error), **numbers.of_row(line, known))


def rows_of(files: Files, wanted: Callable[[list[str]], list[str]]) -> Rows:
    """The rows of files, numbered from 1 in each, of the columns that are `wanted` of those that are there."""
    files.read = before = 0
    for path in files.paths:
        number = 0
        schema = _schema(path)
        classes = _classes(_features(schema.metadata or {}))
        columns = wanted(list(schema.names))
        for batch, share in _batches(path, columns):
            for index in range(batch.num_rows):
                number += 1
                with _understood(path):
                    row = {name: column[index].as_py() for name, column in zip(columns, batch, strict=True)}
                yield Line(path, number, ""), _labelled(row, classes)
            files.read = before + int(share * Path(path).stat().st_size)
        before = files.read = before + Path(path).stat().st_size


def _kind(path: str) -> str | None:
    """Parquet or Arrow, as a file begins or is called; None for neither."""
    return begins_as_table(path) or (suffix_of(path)[1:] if suffix_of(path) in TABLES else None)


def _features(metadata: Mapping[bytes, bytes]) -> Any:
    """What ``datasets`` writes of the columns into a file; None where it wrote nothing."""
    try:
        return json.loads(metadata.get(b"huggingface", b""))["info"]["features"]
    except (ValueError, LookupError, TypeError):
        return None


def _classes(features: Any) -> frozenset[str]:
    """The columns of classes, by the features of a data set."""
    kinds = features.items() if is_mapping(features) else ()
    return frozenset(name for name, kind in kinds if _feature(kind) == "ClassLabel")


def _feature(feature: Any) -> Any:
    return feature.get("_type") if is_mapping(feature) else type(feature).__name__


def _labelled(row: Any, classes: frozenset[str]) -> Any:
    """A row without its classes of -1, which are none."""
    if not classes or not is_mapping(row):
        return row
    return {name: value for name, value in row.items() if value != -1 or name not in classes}


def names_in(path: str) -> list[str]:
    """The columns of a file."""
    return list(_schema(path).names)


def _schema(path: str) -> Any:
    with _understood(path):
        if _kind(path) == "parquet":
            schema = module("pyarrow.parquet").read_schema(path)
        else:
            with _arrow(path) as reader:
                schema = reader.schema
        assert schema.names is not None  # decoded here, where it may fail
        return schema


def _batches(path: str, columns: Sequence[str]) -> Iterator[tuple[Any, float]]:
    """Record batches of some columns, of few rows each, and what share of the file is read with each."""
    with _understood(path):
        if _kind(path) == "parquet":
            file = module("pyarrow.parquet").ParquetFile(path)
            _expect_sizes(path, file.metadata, columns)
            total, done = max(1, file.metadata.num_rows), 0
            for batch in file.iter_batches(batch_size=_ROWS, columns=list(columns)):
                done += batch.num_rows
                batch.validate(full=True)
                yield batch, done / total
            return
        with _arrow(path, columns) as reader:
            for batch, share in _record_batches(reader):
                batch.validate(full=True)  # of broken bytes the library would read elsewhere in memory
                for start in range(0, batch.num_rows, _ROWS):
                    yield batch.slice(start, _ROWS), share


def _expect_sizes(path: str, metadata: Any, columns: Sequence[str]) -> None:
    """Raise `CorpusError` for a column of Parquet that is very much larger than what it is packed in."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for part in map(group.column, range(group.num_columns)):
            size, packed = part.total_uncompressed_size, part.total_compressed_size
            if part.path_in_schema.split(".")[0] in columns and size > _LARGE and size > _RATIO * packed:
                column = f"the column {part.path_in_schema!r} of {size:,} bytes in {packed:,}"
                raise CorpusError(path, None, f"expected texts, found {column}, which would fill the memory")


def _record_batches(reader: Any) -> Iterator[tuple[Any, float]]:
    count = getattr(reader, "num_record_batches", None)
    if count is None:  # a stream, which does not say how many there are
        for batch in reader:
            yield batch, 0.0
    else:
        for index in range(count):
            yield reader.get_batch(index), (index + 1) / count


@contextmanager
def _arrow(path: str, columns: Sequence[str] | None = None) -> Generator[Any]:
    """What reads an Arrow file, or some of its columns, of either of its two formats.

    It is read, not mapped into memory: what a broken one says is beyond its end would end the process.
    """
    library, formats = module("pyarrow"), module("pyarrow.ipc")
    with library.OSFile(path) as source:
        places = None if columns is None else list(map(names_in(path).index, columns))
        options = formats.IpcReadOptions(included_fields=places)
        try:
            reader = formats.open_file(source, options=options)
        except library.ArrowInvalid:
            source.seek(0)
            reader = formats.open_stream(source, options=options)
        with reader:
            yield reader


@contextmanager
def _understood(path: str) -> Generator[None]:
    library = module("pyarrow")
    try:
        yield
    except (
        library.ArrowException,
        OSError,
        ValueError,
    ) as error:  # of Python's own kinds where bytes are broken
        if isinstance(error, InputError):
            raise
        kind = str(_kind(path)).capitalize()
        raise CorpusError(path, None, f"expected a file of {kind}, found {reason(error)}") from None
