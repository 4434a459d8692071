"""Text files, line by line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from headscope.errors import CorpusError, InputError

Paths = str | Path | Sequence[str | Path]


class Line(NamedTuple):
    """A line of a file without its end; lines count from 1."""

    path: str
    number: int
    text: str

    @property
    def source(self) -> str:
        """Such as ``news.txt:12``."""
        return f"{self.path}:{self.number}"

    def error(self, message: str) -> CorpusError:
        """An error that begins with the line's file and number."""
        return CorpusError(self.path, self.number, message)


class WordError(InputError):
    """What is wrong at a word of a sentence.

    Attributes:
        word: its place, counted from 0.
    """

    def __init__(self, word: int, message: str) -> None:
        super().__init__(f"word {word + 1}: {message}")
        self.word = word


class Files:
    """Some UTF-8 files, read one line at a time, as often as asked.

    Attributes:
        paths: the files, as given.
        total: their size in bytes.
        read: how many bytes the reading under way has read.

    Raises `CorpusError` for a file that is missing, a directory, unreadable or empty, and, while
    reading, for a line that is not UTF-8.
    """

    def __init__(self, paths: Paths) -> None:
        self.paths = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        if not self.paths:
            raise InputError("paths: expected at least one file, found none")
        self.total = sum(_size(path) for path in self.paths)
        self.read = 0

    @property
    def name(self) -> str:
        """The names of the files, without their folders."""
        return ", ".join(Path(path).name for path in self.paths)

    def __iter__(self) -> Iterator[Line]:
        self.read = 0
        for path in self.paths:
            try:
                yield from self._lines(path)
            except OSError as error:
                raise CorpusError(path, None, f"cannot be read: {error.strerror}") from None

    def _lines(self, path: str) -> Iterator[Line]:
        before = 0
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    position = error.start
                    raise CorpusError(
                        path,
                        number,
                        f"expected UTF-8 text, found the byte 0x{line[position]:02x} "
                        f"(byte {position + 1} of the line, {before + position + 1} of the file)",
                    ) from None
                before += len(line)
                self.read += len(line)
                yield Line(path, number, text.rstrip("\r\n"))


def packaged(name: str) -> list[Line]:
    """The lines of a file that ships in the package."""
    content = (resources.files("headscope.corpora") / "data" / name).read_text("utf-8")
    return [Line(name, number, line) for number, line in enumerate(content.split("\n"), 1)]


def _size(path: str) -> int:
    if not os.path.exists(path):
        raise CorpusError(path, None, "expected a file, found nothing there")
    if os.path.isdir(path):
        raise CorpusError(path, None, "expected a file, found a directory")
    size = os.path.getsize(path)
    if os.path.isfile(path) and not size:
        raise CorpusError(path, None, "expected text, found an empty file")
    return size
