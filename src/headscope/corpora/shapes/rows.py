"""Rows of a file of a known shape: read from its objects, its table or its lines, each checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from headscope.core.kinds import is_object
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora.jsonlines import KINDS, keys_of, string
from headscope.corpora.sources import Line
from headscope.corpora.tables import Row
from headscope.errors import CorpusError

Kind = Literal["texts", "links", "prompts", "speech", "coreference", "groups", "patching"]
"""What a file can be read as."""

Skip = Callable[[str], None]
"""Notes one that is left out, and why."""

Rows = Callable[[Iterable[Line], Skip], Iterator[tuple[Line, AnyDict | CorpusError]]]
"""Makes rows of the lines of a file, as JSON lines have them, or says what is wrong with one."""


class KeyedValues:
    """The values under the keys of an object, each of the kind that is expected.

    Args:
        row: the object.
        line: where it is.
        where: where the object stands in a larger one.
    """

    def __init__(self, row: AnyMapping, line: Line, where: str = "") -> None:
        self.row, self.line, self.fail, self.where = row, line, line.error, where

    def _of(self, key: str, kind: type) -> Any:
        value: Any = self.row.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            here = KINDS[type(value)] if key in self.row else keys_of(self.row)
            raise self.fail(f"{self.where}{key!r}: expected {KINDS[kind]}, found {here}")
        return value

    def text(self, key: str) -> str:
        """A string that says something."""
        return string(self._of(key, str), f"{self.where}{key!r}", self.fail)

    def number(self, key: str) -> int:
        """A whole number."""
        return self._of(key, int)

    def list(self, key: str) -> list[Any]:
        """A list."""
        return self._of(key, list)

    def texts(self, key: str) -> list[str]:
        """A list of strings that say something."""
        return [string(one, f"{self.where}{key!r}[{at}]", self.fail) for at, one in enumerate(self.list(key))]

    def object(self, key: str) -> KeyedValues:
        """An object."""
        return KeyedValues(self._of(key, dict), self.line, f"{self.where}{key!r} ")

    def objects(self, key: str) -> list[KeyedValues]:
        """A list of objects."""
        made: list[KeyedValues] = []
        for at, one in enumerate(self.list(key)):
            if not is_object(one):
                raise self.fail(f"{self.where}{key!r}[{at}]: expected an object, found {KINDS[type(one)]}")
            made.append(KeyedValues(one, self.line, f"{self.where}{key!r}[{at}] "))
        return made

    def stretch(self, text: str, phrase: str, start: int) -> list[int]:
        """Where a phrase stands in a text, as ``[start, end]``, which begins at a character."""
        if start < 0 or text[start : start + len(phrase)] != phrase:
            here = text[max(start, 0) : max(start, 0) + len(phrase)]
            raise self.fail(f"{self.where}expected {phrase!r} at character {start}, found {here!r}")
        return [start, start + len(phrase)]


Make = Callable[[KeyedValues, Skip], Iterable[AnyDict]]


def rows_from(read: Callable[[Iterable[Line]], Iterator[Row]], make: Make) -> Rows:
    """Rows that are made of the objects, or rows of a table, that `read` finds in some lines."""

    def rows(lines: Iterable[Line], skip: Skip) -> Iterator[tuple[Line, AnyDict | CorpusError]]:
        for line, row in read(lines):
            if isinstance(row, CorpusError):
                yield line, row
                continue
            try:
                for made in make(KeyedValues(row, line), skip):
                    yield line, made
            except CorpusError as error:
                yield line, error

    return rows
