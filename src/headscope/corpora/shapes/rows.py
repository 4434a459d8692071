"""Rows of a file of a known shape: read from its objects, its table or its lines, each checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from headscope.core.kinds import is_object
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora.files import Files
from headscope.corpora.jsonlines import KINDS, json_object, keys_of, string
from headscope.corpora.sources import Line
from headscope.corpora.tables import READERS
from headscope.errors import CorpusError

Kind = Literal["texts", "links", "prompts", "speech", "coreference", "groups", "patching"]
"""What a file can be read as."""

Skip = Callable[[str], None]
"""Notes one that is left out, and why."""

Made = Iterator[tuple[Line, AnyDict | CorpusError]]
"""Rows as JSON lines have them, each with its line, or what is wrong with it."""

Rows = Callable[[Iterable[Line], Skip], Made]
"""Makes rows of the lines of a file."""


class KeyedValues:
    """The values under the keys of an object, each of the kind that is expected.

    Args:
        row: the object.
        line: where it is.
        skip: notes what is left out of it.
        where: where the object stands in a larger one.
    """

    def __init__(self, row: AnyMapping, line: Line, skip: Skip, where: str = "") -> None:
        self.row, self.line, self.skip, self.where = row, line, skip, where
        self.fail = line.error

    def _of(self, key: str, kind: type) -> Any:
        value: Any = self.row.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            here = KINDS[type(value)] if key in self.row else keys_of(self.row)
            raise self.fail(f"{self.where}{key!r}: expected {KINDS[kind]}, found {here}")
        return value

    def text(self, key: str) -> str:
        """A string that says something."""
        return string(self._of(key, str), f"{self.where}{key!r}", self.fail)

    def named(self, key: str) -> str | None:
        """A string; None for anything else."""
        value: Any = self.row.get(key)
        return value if isinstance(value, str) else None

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
        return KeyedValues(self._of(key, dict), self.line, self.skip, f"{self.where}{key!r} ")

    def objects(self, key: str) -> list[KeyedValues]:
        """A list of objects."""
        made: list[KeyedValues] = []
        for at, one in enumerate(self.list(key)):
            where = f"{self.where}{key!r}[{at}]"
            if not is_object(one):
                raise self.fail(f"{where}: expected an object, found {KINDS[type(one)]}")
            made.append(KeyedValues(one, self.line, self.skip, f"{where} "))
        return made

    def stretch(self, text: str, phrase: str, start: int) -> list[int]:
        """Where a phrase stands in a text, as ``[start, end]``, which begins at a character."""
        if start < 0 or text[start : start + len(phrase)] != phrase:
            here = text[max(start, 0) : max(start, 0) + len(phrase)]
            raise self.fail(f"{self.where}expected {phrase!r} at character {start}, found {here!r}")
        return [start, start + len(phrase)]


def rows_from(make: Callable[[KeyedValues], Iterable[AnyDict]], suffix: str = ".jsonl") -> Rows:
    """Rows that `make` makes of each object, or row of a table, in some lines; what is None is not in them."""

    def rows(lines: Iterable[Line], skip: Skip) -> Made:
        for line, row in READERS[suffix](lines):
            if isinstance(row, CorpusError):
                yield line, row
                continue
            try:
                for made in make(KeyedValues(row, line, skip)):
                    yield line, {key: value for key, value in made.items() if value is not None}
            except CorpusError as error:
                yield line, error

    return rows


def neighbour(path: str, name: str, what: str) -> Files:
    """A file that another one needs, in its folder or the one above. Raises `CorpusError` where there is none.

    Args:
        path: that which needs it.
        name: of the file.
        what: it holds.
    """
    folder = Path(path).parent
    places = folder / name, folder / ".." / name
    place = next(filter(Path.is_file, places), None)
    if place is None:
        raise CorpusError(places[0], None, f"expected {what}, found nothing there")
    return Files(place, records=True)


def objects_in(path: str, name: str, what: str) -> Iterator[tuple[Line, AnyDict]]:
    """The objects of such a file, which have to be right."""
    return ((line, json_object(line)) for line in neighbour(path, name, what) if line.text.strip())
