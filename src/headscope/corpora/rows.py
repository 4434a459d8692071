"""Rows in memory: tables of pandas, polars, Arrow and numpy, dicts of columns, and what can be read only once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeGuard, TypeVar, cast

import numpy as np

from headscope.core.kinds import is_list_or_tuple, is_mapping
from headscope.core.types import AnyDict
from headscope.corpora.files import Line
from headscope.errors import CorpusError, InputError

T = TypeVar("T")

_LISTED = 6  # keys that are named


class MemoryRow(Line):
    """A row that is in no file."""

    @property
    def source(self) -> str:
        """Where the row is, such as ``rows[3]``."""
        return f"{self.path}[{self.number}]"

    def error(self, message: str) -> CorpusError:
        """An error that begins with the row."""
        return CorpusError(self.source, None, message)


class Replayed(Generic[T]):
    """What an iterator gives, to be read again and again: it is read as far as it was asked for, and held."""

    def __init__(self, source: Iterator[T]) -> None:
        self._source = source
        self._held: list[T] = []

    def __iter__(self) -> Iterator[T]:
        place = 0
        while True:
            while place < len(self._held):
                yield self._held[place]
                place += 1
            try:
                self._held.append(next(self._source))
            except StopIteration:
                return


def expect_rows(rows: Any, name: str, expected: str) -> Any:
    """What gives rows, or other items, again and again. Raises `InputError` for anything else, and for none."""
    if is_mapping(rows):
        keys = ", ".join(map(repr, islice(rows, _LISTED))) or "none"
        raise InputError(f"{name}: expected {expected}, found a dict with the keys {keys}; name one split")
    if hasattr(rows, "__next__"):
        return Replayed[Any](rows)
    if not hasattr(rows, "__iter__") and not is_listed(rows):
        raise InputError(f"{name}: expected {expected}, found {type(rows).__name__}")
    if hasattr(rows, "__len__") and not len(rows):
        raise InputError(f"{name}: expected at least one, found none")
    return rows


def is_listed(items: object) -> TypeGuard[Sequence[Any]]:
    """Whether items can be counted and got one by one."""
    return hasattr(items, "__len__") and hasattr(items, "__getitem__")


class ColumnTable:
    """The rows of a table that is held by columns, as dicts.

    Args:
        names: of the columns.
        column: gives the values of one.
    """

    def __init__(self, names: Sequence[str], column: Callable[[str], Any]) -> None:
        self.column_names = list(names)
        self._column = column

    def select_columns(self, names: Sequence[str]) -> ColumnTable:
        """Some of the columns."""
        return ColumnTable(names, self._column)

    def __len__(self) -> int:
        return len(self._column(self.column_names[0])) if self.column_names else 0

    def __iter__(self) -> Iterator[AnyDict]:
        columns = [values_of(self._column(name)) for name in self.column_names]
        sizes = {name: len(values) for name, values in zip(self.column_names, columns, strict=True)}
        if len({*sizes.values()}) > 1:
            counts = ", ".join(f"{size:,} in {name!r}" for name, size in sizes.items())
            raise InputError(f"rows: expected columns of one length, found {counts}")
        return (dict(zip(self.column_names, row, strict=True)) for row in zip(*columns, strict=True))


def columns_of(table: Any) -> ColumnTable | None:
    """The rows of a table, or of a dict of columns; None for anything else.

    A table is known by what it offers, so that none of the libraries need be there: names of its columns, and a column
    under each.
    """
    if is_mapping(table):
        columns = list(table.values())
        held = all(map(_is_column, columns))
        splits = held and all(isinstance(next(iter(column), None), Mapping) for column in columns)
        return ColumnTable(list(table), table.__getitem__) if held and not splits else None
    names: Any = getattr(getattr(table, "dtype", None), "names", None)  # a structured array of numpy
    if hasattr(table, "to_pylist"):  # Arrow's
        names = getattr(table, "column_names", None)
    elif hasattr(table, "columns") and hasattr(table, "__getitem__"):  # of pandas and polars
        names = table.columns
    return None if names is None else ColumnTable([*names], table.__getitem__)


def values_of(column: Any) -> list[Any]:
    """The values of a column, or of another series, as Python's own; None where one is missing."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            column = getattr(column, name)()
            break
    return [plain(value) for value in column]


def plain(value: object) -> Any:
    """A value as JSON has it: without what numpy and pandas put in its place."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(cast("Any", value.tolist()))
    if isinstance(value, float) and value != value:
        return None
    if is_list_or_tuple(value):
        return [plain(item) for item in value]
    if is_mapping(value):
        return {key: plain(item) for key, item in value.items()}
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _is_column(value: object) -> bool:
    """Whether something is a column of a table, and no text, or table itself."""
    if hasattr(value, "column_names") or not hasattr(value, "__len__"):
        return False
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
