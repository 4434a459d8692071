"""Text files, line by line."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import resources
from pathlib import Path

from headscope.core.kinds import is_list_or_tuple, is_path
from headscope.corpora.arrays import elements, is_array
from headscope.corpora.sources import STDIN, Line, Lines, expanded, form_of, opened, readable, suffix_of
from headscope.errors import CorpusError, InputError

Paths = str | Path | Sequence[str | Path]

CHECKED = 1 << 31
"""Files of up to so many bytes are looked through for what is not UTF-8 before the first is read."""


LONGEST_LINE = 10_000_000
"""Bytes of a line at most, and characters of an element of an array: a tokenizer takes some hundred times as many of
memory for it.
"""

_PART = 1 << 16  # bytes that are read at once of a line that may be longer than a line


def paths_in(source: object) -> list[str] | None:
    """The paths that something is, or consists of; None for anything else."""
    items = [source] if is_path(source) else source if is_list_or_tuple(source) else ()
    return [os.fspath(item) for item in items] if items and all(map(is_path, items)) else None


class WordError(InputError):
    """What is wrong at a word of a sentence.

    Attributes:
        word: its place, counted from 0.
    """

    def __init__(self, word: int, message: str) -> None:
        super().__init__(f"word {word + 1}: {message}")
        self.word = word


class Files:
    """Some files of text, read one line at a time, as often as asked.

    They are in UTF-8, or in what a mark at their beginning says (UTF-16, UTF-32); compressed ones and standard input
    (``-``) as well.

    Args:
        paths: the files.
        suffixes: of the files that are read of a folder that is among them; none where there is to be none.
        records: whether the elements of an array of JSON are lines (`headscope.corpora.arrays`).
        rows: whether the files are no text.

    Attributes:
        paths: the files.
        name: their names, or those of the folders, without the folders that these are in.
        remarks: what is to be said of them: of other files in the folders, and of what a reading has left out.
        forms: how each has its text; none of `rows`.
        total: their size in bytes.
        read: how many bytes the reading under way has read.

    Raises `CorpusError` for a file that is missing, a directory, unreadable, empty or no text; and, when the first is
    read, for a line of any that is not UTF-8 (of one that is compressed, or where they have more than `CHECKED`
    bytes, when it is reached).
    """

    def __init__(
        self,
        paths: Paths,
        suffixes: Sequence[str] = (),
        *,
        records: bool = False,
        rows: bool = False,
    ) -> None:
        given = [paths] if isinstance(paths, str | Path) else list(paths)
        if not given:
            raise InputError("paths: expected at least one file, found none")
        self.paths, unread = expanded(given, suffixes)
        self.remarks = [unread] if unread else []
        self.name = ", ".join(map(_named, given))
        self.total = sum(_size(path) for path in self.paths)
        self.read = 0
        self.forms = {} if rows else {path: form_of(path) for path in self.paths}
        json = {path for path, form in self.forms.items() if form.begins == "[" or suffix_of(path) == ".json"}
        self._arrays = json if records else set[str]()
        self._checked = self.total > CHECKED

    def __iter__(self) -> Iterator[Line]:
        self.begin()
        for path in self.paths:
            yield from self.of(path)

    def of(self, path: str) -> Iterator[Line]:
        """The lines of one of the files, or the elements of its array."""
        if path in self._arrays and self.is_array(path):
            return elements(path, self.lines(path, _PART), LONGEST_LINE)
        return self.lines(path)

    def is_array(self, path: str) -> bool:
        """Whether one of the files holds an array of JSON or an object over several lines."""
        before = self.read
        try:
            return is_array(path, self.lines(path, _PART), self.lines(path, _PART), LONGEST_LINE)
        finally:
            self.read = before

    def abreast(self) -> Iterator[tuple[Line, ...]]:
        """The lines side by side: the first of each file, then the second of each, and so on.

        Raises `CorpusError` before the first where a file has more lines than the first file, or fewer.
        """
        self.begin()
        first, *others = self.paths
        expected = sum(1 for _ in self.lines(first))
        for path in others:
            if (count := sum(1 for _ in self.lines(path))) != expected:
                raise CorpusError(path, None, f"expected {expected:,} lines as in {first}, found {count:,}")
        self.read = 0
        yield from zip(*map(self.lines, self.paths), strict=True)

    def begin(self) -> None:
        """Begin a reading. Raises `CorpusError` for what is not UTF-8."""
        for path in () if self._checked else self.paths:
            if self.forms[path].plain:
                self._check(path)
        self._checked = True
        self.read = 0

    def _check(self, path: str) -> None:
        """Raise where a file is not UTF-8."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        with readable(path), open(path, "rb") as file:
            try:
                for part in iter(partial(file.read, 1 << 20), b""):
                    decoder.decode(part)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                for _ in self.lines(path):
                    pass  # it raises, with the line

    def lines(self, path: str, part: int | None = None) -> Iterator[Line]:
        """The lines of a file; or these with their ends, those of more than `part` bytes in parts."""
        before = place = begin = 0
        with opened(path, self.forms[path]) as (content, file):
            number = 1
            while line := read_part(content, part) if part else content.readline(LONGEST_LINE + 1):
                if not part and len(line) > LONGEST_LINE:
                    longest = f"expected lines of at most {LONGEST_LINE:,} bytes"
                    raise CorpusError(path, number, f"{longest}, found a longer one; part it into several")
                text = decoded(line, path, number, before, before - begin, end=not part)
                before += len(line)
                here = file.tell()
                self.read, place = self.read + here - place, here
                yield Line(path, number, text)
                if not part or line.endswith(b"\n"):
                    number, begin = number + 1, before


def read_part(content: Lines, size: int) -> bytes:
    """The next line with its end, or some `size` bytes of it, up to the end of a character."""
    part = content.readline(size)
    for _ in range(3):  # bytes that a character in UTF-8 may still lack
        try:
            part.decode()
        except UnicodeDecodeError as error:
            if error.end < len(part) or not (byte := content.readline(1)):
                break
            part += byte
    return part


def decoded(line: bytes, path: str, number: int, before: int, begun: int = 0, *, end: bool = True) -> str:
    """A line of a file, or the part of it that `begun` bytes precede, without its `end`.

    `before` are the bytes of the file before it. Raises `CorpusError` for other than UTF-8.
    """
    try:
        text = line.decode("utf-8" if before else "utf-8-sig")
    except UnicodeDecodeError as error:
        position = error.start
        raise CorpusError(
            path,
            number,
            f"expected UTF-8 text, found the byte 0x{line[position]:02x} "
            f"(byte {begun + position + 1} of the line, {before + position + 1} of the file)",
        ) from None
    return text.rstrip("\r\n") if end else text


class Listed:
    """Some files, each of which is an input, and how much of them has been read.

    Attributes:
        paths: the files, in order.
        sizes: of each, in bytes; 0 of one that is not there.
        total: their size.
        read: how many bytes the reading under way has read.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = [str(path) for path in paths]
        self.sizes = [path.stat().st_size if os.path.exists(path) else 0 for path in paths]
        self.total = sum(self.sizes)
        self.read = 0

    def __iter__(self) -> Iterator[str]:
        self.read = 0
        for path, size in zip(self.paths, self.sizes, strict=True):
            self.read += size
            yield path


def packaged(name: str) -> list[Line]:
    """The lines of a file that ships in the package."""
    content = (resources.files("headscope.corpora") / "data" / name).read_text("utf-8")
    return [Line(name, number, line) for number, line in enumerate(content.split("\n"), 1)]


def data_folder(name: str) -> Path:
    """A folder that ships in the package."""
    return Path(str(resources.files("headscope.corpora") / "data" / name))


def _named(path: str | Path) -> str:
    """The name of a file or a folder, without the folder it is in."""
    return "stdin" if str(path) == STDIN else Path(path).name or Path(path).resolve().name


def _size(path: str) -> int:
    if not os.path.exists(path):
        raise CorpusError(path, None, "expected a file, found nothing there")
    if os.path.isdir(path):
        raise CorpusError(path, None, "expected a file, found a directory")
    if not os.path.isfile(path):
        raise CorpusError(path, None, "expected a file, which can be read again, found a pipe or a device")
    size = os.path.getsize(path)
    if not size:
        raise CorpusError(path, None, "expected text, found an empty file")
    return size
