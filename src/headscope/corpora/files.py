"""Text files, line by line."""

from __future__ import annotations

import codecs
import os
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from headscope.errors import CorpusError, InputError

Paths = str | Path | Sequence[str | Path]

CHECKED = 1 << 31
"""Files of up to so many bytes are looked through for what is not UTF-8 before the first is read."""


class Line(NamedTuple):
    """A line of a file without its end; lines count from 1.

    `offset` is where it begins, counted in bytes over all files, where these are read in cuts.
    """

    path: str
    number: int
    text: str
    offset: int | None = None

    def document(self, before: int) -> int:
        """The number of the document that begins with the line: the next one, or, in cuts, where it begins."""
        return before + 1 if self.offset is None else self.offset

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

    Raises `CorpusError` for a file that is missing, a directory, unreadable or empty, and, when the first is read, for
    a line of any of them that is not UTF-8 (of more than `CHECKED` bytes when it is reached).
    """

    def __init__(self, paths: Paths) -> None:
        self.paths = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        if not self.paths:
            raise InputError("paths: expected at least one file, found none")
        self.total = sum(_size(path) for path in self.paths)
        self.read = 0
        self._checked = self.total > CHECKED

    @property
    def name(self) -> str:
        """The names of the files, without their folders."""
        return ", ".join(Path(path).name for path in self.paths)

    def __iter__(self) -> Iterator[Line]:
        self._begin()
        for path in self.paths:
            yield from self._lines(path)

    def abreast(self) -> Iterator[tuple[Line, ...]]:
        """The lines side by side: the first of each file, then the second of each, and so on.

        Raises `CorpusError` before the first where a file has more lines than the first file, or fewer.
        """
        self._begin()
        first, *others = self.paths
        expected = sum(1 for _ in self._lines(first))
        for path in others:
            if (found := sum(1 for _ in self._lines(path))) != expected:
                raise CorpusError(path, None, f"expected {expected:,} lines as in {first}, found {found:,}")
        self.read = 0
        yield from zip(*map(self._lines, self.paths), strict=True)

    def _begin(self) -> None:
        for path in () if self._checked else self.paths:
            self._check(path)
        self._checked = True
        self.read = 0

    def _check(self, path: str) -> None:
        """Raise where a file is not UTF-8. What can be read only once is passed over."""
        if not os.path.isfile(path):
            return
        decoder = codecs.getincrementaldecoder("utf-8")()
        with readable(path), open(path, "rb") as file:
            try:
                for part in iter(partial(file.read, 1 << 20), b""):
                    decoder.decode(part)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                for _ in self._lines(path):
                    pass  # it raises, with the line

    def _lines(self, path: str) -> Iterator[Line]:
        before = 0
        with readable(path), open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                text = decoded(line, path, number, before)
                before += len(line)
                self.read += len(line)
                yield Line(path, number, text)


def decoded(line: bytes, path: str, number: int, before: int) -> str:
    """A line of a file without its end; `before` are the bytes before it. Raises `CorpusError` for other than UTF-8."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        position = error.start
        raise CorpusError(
            path,
            number,
            f"expected UTF-8 text, found the byte 0x{line[position]:02x} "
            f"(byte {position + 1} of the line, {before + position + 1} of the file)",
        ) from None


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
        self.sizes = [path.stat().st_size if path.exists() else 0 for path in paths]
        self.total = sum(self.sizes)
        self.read = 0

    def __iter__(self) -> Iterator[str]:
        self.read = 0
        for path, size in zip(self.paths, self.sizes, strict=True):
            self.read += size
            yield path


def walked(folder: Path, suffixes: Collection[str]) -> tuple[list[Path], Counter[str]]:
    """The files of some kinds in a folder and below, and how many there are of each other suffix.

    In order of their names, those of a folder before its folders. What is hidden (its name begins with a dot) is passed
    over; links to folders are followed, and each folder is read once. Raises `CorpusError` for a folder that cannot be
    read.
    """

    def failed(error: OSError) -> None:
        raise CorpusError(error.filename, None, f"cannot be read: {error.strerror}")

    found: list[Path] = []
    others: Counter[str] = Counter()
    seen: set[str] = set()
    for root, folders, names in os.walk(folder, followlinks=True, onerror=failed):
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            suffix = Path(name).suffix.lower()
            if suffix in suffixes:
                found.append(Path(root, name))
            else:
                others[suffix] += 1
    return found, others


@contextmanager
def readable(path: str) -> Generator[None]:
    """Raise `CorpusError` for what the system says of a file."""
    try:
        yield
    except OSError as error:
        raise CorpusError(path, None, f"cannot be read: {error.strerror}") from None


def packaged(name: str) -> list[Line]:
    """The lines of a file that ships in the package."""
    content = (resources.files("headscope.corpora") / "data" / name).read_text("utf-8")
    return [Line(name, number, line) for number, line in enumerate(content.split("\n"), 1)]


def data_folder(name: str) -> Path:
    """A folder that ships in the package."""
    return Path(str(resources.files("headscope.corpora") / "data" / name))


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
