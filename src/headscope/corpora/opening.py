"""Files as they are given: compressed ones, those of a folder, and standard input."""

from __future__ import annotations

import atexit
import gzip
import importlib
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from headscope.errors import CorpusError, InputError
from headscope.failures import reason
from headscope.lazy import missing

STDIN = "-"
"""The path that stands for standard input."""

COMPRESSED = (".gz", ".zst")
"""Suffixes of compressed files, behind that of what they hold."""

_CHUNK = 1 << 12  # bytes of a compressed file that are read at once: of Zstandard they hold 130 MB at most
_NAMED = 6  # suffixes of other files that are named


def suffix_of(path: str | Path) -> str:
    """The suffix of what a file holds, in lower case: ``.jsonl`` for ``data.jsonl.gz``."""
    path = Path(path)
    return Path(path.stem if is_compressed(path) else path.name).suffix.lower()


def is_compressed(path: str | Path) -> bool:
    """Whether a name tells that a file is compressed."""
    return Path(path).suffix.lower() in COMPRESSED


@contextmanager
def opened(path: str) -> Generator[tuple[BinaryIO, BinaryIO]]:
    """The content of a file, and the file itself, whose place tells how far it is read. Raises `CorpusError`."""
    with readable(path), open(path, "rb") as file:
        suffix = Path(path).suffix.lower()
        if suffix == ".gz":
            with gzip.GzipFile(fileobj=file) as content:
                yield cast(BinaryIO, content), file
        elif suffix == ".zst":
            with _zstd(file) as content:
                yield content, file
        else:
            yield file, file


def _zstd(file: BinaryIO) -> Any:
    """The content of a file that is compressed by Zstandard: by Python's own module, or the package."""
    try:
        return importlib.import_module("compression.zstd").ZstdFile(file)
    except ModuleNotFoundError:
        pass
    try:
        library: Any = importlib.import_module("zstandard")
    except ModuleNotFoundError as error:
        raise missing(error) from None
    return io.BufferedReader(_Frames(file, library.ZstdDecompressor()), 1 << 16)


class _Frames(io.RawIOBase):
    """The content of frames of Zstandard that follow one another. Raises `EOFError` where the last is not whole."""

    def __init__(self, file: BinaryIO, library: Any) -> None:
        self._file, self._library = file, library
        self._frame: Any = None
        self._left, self._ready = b"", memoryview(b"")

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Some bytes more; 0 at the end."""
        while not self._ready:
            chunk = self._left or self._file.read(_CHUNK)
            if not chunk:
                if self._frame is not None:
                    raise EOFError("Compressed file ended before the end of a frame")
                return 0
            self._frame = self._frame or self._library.decompressobj()
            self._ready, self._left = memoryview(self._frame.decompress(chunk)), b""
            if self._frame.eof:
                self._left, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


@contextmanager
def readable(path: str) -> Generator[None]:
    """Raise `CorpusError` where a file cannot be read, or not be decompressed."""
    try:
        yield
    except OSError as error:
        raise CorpusError(path, None, f"cannot be read: {error.strerror or reason(error)}") from None
    except (EOFError, zlib.error) as error:
        raise CorpusError(path, None, f"cannot be read: {reason(error)}") from None
    except Exception as error:
        if type(error).__name__ != "ZstdError":
            raise
        raise CorpusError(path, None, f"cannot be read: {reason(error)}") from None


def expanded(paths: Sequence[str | Path], suffixes: Collection[str]) -> tuple[list[str], str]:
    """The files that are meant: those of folders, of these kinds, and what comes in by standard input.

    Also what is to be said of files in the folders that are of other kinds. Without suffixes folders are left as they
    are.
    """
    found: list[str] = []
    others: Counter[str] = Counter()
    for path in paths:
        if str(path) == STDIN:
            found.append(str(standard_input()))
        elif suffixes and os.path.isdir(path):
            files, more = walked(Path(path), suffixes, compressed=True)
            if not files:
                said = counted(more) if more else "no files that are not hidden"
                raise CorpusError(
                    path, None, f"expected files that end in {', '.join(suffixes)}, found {said}"
                )
            found += map(str, files)
            others += more
        else:
            found.append(str(path))
    return found, f"did not read {counted(others)}" if others else ""


@cache
def standard_input() -> Path:
    """What comes in by standard input, kept in a file until the process ends: a corpus is read more than once."""
    if sys.stdin is None or sys.stdin.closed:  # pyright: ignore[reportUnnecessaryComparison]
        raise InputError("standard input: expected text, found that it is closed")
    folder = Path(tempfile.mkdtemp(prefix="headscope-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    place = folder / "stdin"
    with open(place, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        size = file.tell()
    if not size:
        raise CorpusError("standard input", None, "expected text, found nothing")
    print(f"standard input: {size:,} bytes, kept in {place} meanwhile", file=sys.stderr)
    return place


def counted(others: Counter[str]) -> str:
    """Files that are something else, such as ``12 other files (9 .mp4, 3 .txt)``."""
    listed = [f"{count:,} {suffix or 'without a suffix'}" for suffix, count in others.most_common(_NAMED)]
    if len(others) > _NAMED:
        listed.append("…")
    total = others.total()
    return f"{total:,} other file{'s' * (total > 1)} ({', '.join(listed)})"


def walked(
    folder: Path, suffixes: Collection[str], *, compressed: bool = False
) -> tuple[list[Path], Counter[str]]:
    """The files of some kinds (or `compressed` ones) in a folder and below, and how many of each other suffix.

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
            suffix = suffix_of(name) if compressed else Path(name).suffix.lower()
            if suffix in suffixes:
                found.append(Path(root, name))
            else:
                others[suffix] += 1
    return found, others
