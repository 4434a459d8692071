"""Files as they are given: compressed ones, those of a folder, and standard input.

How files begin: the marks of what is compressed, of codings of text, and of what is no text.
"""

from __future__ import annotations

import atexit
import bz2
import gzip
import importlib
import io
import lzma
import os
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, cast

from headscope.core.failures import reason
from headscope.core.lazy import missing
from headscope.core.types import AnyDict
from headscope.errors import CorpusError, InputError

Packing = Literal["gzip", "bz2", "xz", "zstd", "zip"]

HEAD = 1 << 14
"""How many bytes of a file are looked at."""

_PACKED: dict[bytes, Packing] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
    b"]\0\0": "xz",  # the format before it
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
_CODINGS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_OTHERS = {
    b"%PDF-": "a PDF",
    b"\x89PNG": "a picture of PNG",
    b"\xff\xd8\xff": "a picture of JPEG",
    b"GIF8": "a picture of GIF",
    b"RIFF": "a sound or a film",
    b"OggS": "a sound of Ogg",
    b"fLaC": "a sound of FLAC",
    b"ID3": "a sound of MP3",
    b"SQLite format 3\0": "a database of SQLite",
    b"\x89HDF\r\n": "a file of HDF5",
    b"CDF\x01": "a file of netCDF",
    b"CDF\x02": "a file of netCDF",
    b"\x93NUMPY": "an array of NumPy",
    b"PAR1": "a table of Parquet, which is read where its name ends in .parquet",
    b"ARROW1": "a table of Arrow, which is read where its name ends in .arrow",
    b"Obj\x01": "a table of Avro",
    b"GGUF": "a model of GGUF",
    b"\xd0\xcf\x11\xe0": "a document of Office",
    b"{\\rtf": "a document of RTF",
    b"Rar!": "an archive of RAR",
    b"\x1f\x9d": "a file of compress (.Z)",
    b"7z\xbc\xaf": "an archive of 7-Zip",
    b"\x7fELF": "a program",
    **{bytes([0x80, version]): "a pickle" for version in (2, 3, 4, 5)},
    b"version https://git-lfs.github.com/spec/": "a pointer of git-lfs in place of the file (git lfs pull)",
}
_MOST_NUL = 0.1  # of the first bytes of a text


def packing(head: bytes) -> Packing | None:
    """What a file is compressed by; None where it is not."""
    return next((kind for mark, kind in _PACKED.items() if head.startswith(mark)), None)


def coding(head: bytes) -> str | None:
    """The coding that a text's mark says; None for UTF-8."""
    return next((kind for mark, kind in _CODINGS.items() if head.startswith(mark)), None)


def table(head: bytes) -> Literal["parquet", "arrow"] | None:
    """Which kind of a file of rows begins so; None for none, and for a stream of Arrow, which has no mark."""
    return "parquet" if head.startswith(b"PAR1") else "arrow" if head.startswith(b"ARROW1") else None


def no_text(head: bytes) -> str | None:
    """What a file is that is no text, in words; None for a text."""
    known = next((kind for mark, kind in _OTHERS.items() if head.startswith(mark)), None)
    if known is not None:
        return known
    if head[257:262] == b"ustar":
        return "an archive of tar; unpack it"
    if head[8:10] == b'{"' and 0 in head[:8]:
        return "a file of safetensors"
    if packing(head) is not None:
        return "a compressed file inside of a compressed one"
    if coding(head) is None and head.count(0) > _MOST_NUL * len(head):
        share = head.count(0) / len(head)
        return f"NUL bytes ({share:.0%} of the first {len(head):,} bytes), as in UTF-16 without its mark"
    return None


STDIN = "-"
"""The path that stands for standard input."""

COMPRESSED = (".gz", ".bz2", ".xz", ".lzma", ".zst", ".zip")
"""Suffixes of compressed files, behind that of what they hold."""

_CHUNK = 1 << 12  # bytes of a compressed file that are read at once: of Zstandard they hold 130 MB at most
_DICTIONARY = 1 << 28  # bytes that decompressing xz may hold: xz -9 needs a quarter
_NAMED = 6  # suffixes of other files that are named
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)


class Line(NamedTuple):
    """A line of a file without its end; lines count from 1."""

    path: str
    number: int
    text: str

    @property
    def source(self) -> str:
        """Where the line is, such as ``news.txt:12``."""
        return f"{self.path}:{self.number}"

    def error(self, message: str) -> CorpusError:
        """An error that begins with the line's file and number."""
        return CorpusError(self.path, self.number, message)


class BrokenLine(Line):
    """A line of which something is wrong.

    Attributes:
        fault: what.
    """

    fault: CorpusError

    @classmethod
    def of(cls, line: Line, fault: CorpusError) -> BrokenLine:
        """A line, and what is wrong with it."""
        made = cls(*line)
        made.fault = fault
        return made


def suffix_of(path: str | Path) -> str:
    """The suffix of what a file holds, in lower case: ``.jsonl`` for ``data.jsonl.gz``."""
    path = Path(path)
    if not is_compressed(path):
        return path.suffix.lower()
    suffix = Path(path.stem).suffix.lower()
    if not suffix and path.suffix.lower() == ".zip" and os.path.isfile(path):
        with suppress(InputError), readable(str(path)), zipfile.ZipFile(path) as archive:
            suffix = Path(_member(archive, str(path)).filename).suffix.lower()
    return suffix


def is_compressed(path: str | Path) -> bool:
    """Whether a name tells that a file is compressed."""
    return Path(path).suffix.lower() in COMPRESSED


class Form(NamedTuple):
    """How a file has its text.

    Attributes:
        packed: whether it is compressed.
        coding: another coding than UTF-8, which a mark says.
        head: how the text begins, as far as the first `HEAD` bytes go.
        complete: whether that is all of it.
    """

    packed: bool
    coding: str | None
    head: str = ""
    complete: bool = False

    @property
    def plain(self) -> bool:
        """Whether its bytes are its text in UTF-8."""
        return not self.packed and self.coding is None

    @property
    def begins(self) -> str:
        """The first character that is no white space."""
        return self.head.lstrip()[:1]

    @property
    def lines(self) -> list[str]:
        """The first lines that are not blank; without the last where it may be cut, but of one or two long ones."""
        lines = [line for line in re.split(r"\r?\n|\r", self.head) if line.strip()]
        return lines if self.complete or len(lines) < 3 else lines[:-1]


def form_of(path: str) -> Form:
    """How a file has its text, told from how it begins. Raises `CorpusError` where it is no text."""
    with readable(path), open(path, "rb") as file:
        head = file.read(HEAD)
    packed = packing(head) is not None
    if packed:
        with readable(path), _unpacked(path) as (content, _):
            head = content.read(HEAD)
    if (other := no_text(head)) is not None:
        raise CorpusError(path, None, f"expected text, found {other}")
    kind = coding(head)
    return Form(packed, kind, head.decode(kind or "utf-8-sig", "ignore"), len(head) < HEAD)


class _Recoded:
    """The lines of a text in UTF-8."""

    def __init__(self, lines: io.TextIOWrapper) -> None:
        self._lines = lines

    def readline(self, limit: int) -> bytes:
        return self._lines.readline(limit).encode()


Lines = BinaryIO | _Recoded
"""What is read line by line."""


@contextmanager
def opened(path: str, form: Form) -> Generator[tuple[Lines, BinaryIO]]:
    """The lines of a file of this form in UTF-8, and the file itself, whose place tells how far it is read."""
    kind = form.coding
    with readable(path), _unpacked(path) as (content, file):
        if kind is None:
            yield content, file
            return
        try:
            yield _Recoded(io.TextIOWrapper(content, kind, newline="\n")), file
        except UnicodeDecodeError as error:
            actual = f"bytes that are none ({error.reason})"
            raise CorpusError(path, None, f"expected text of {kind.upper()}, found {actual}") from None


@contextmanager
def _unpacked(path: str) -> Generator[tuple[BinaryIO, BinaryIO]]:
    """The content of a file, and the file itself."""
    with open(path, "rb") as file:
        kind = packing(file.read(HEAD))
        file.seek(0)
        if kind is None:
            yield file, file
        elif kind == "zip":
            with zipfile.ZipFile(file) as archive, _content(archive, path) as content:
                yield cast("BinaryIO", content), file
        else:
            with _OPENERS[kind](file) as content:
                yield content, file


def _content(archive: zipfile.ZipFile, path: str) -> Any:
    """The content of the one file of an archive; of a log of Inspect its samples, a line each."""
    names = archive.namelist()
    samples = [name for name in names if re.fullmatch(r"samples/[^/]+\.json", name)]
    if samples and "header.json" in names:
        return _joined(_members(archive, samples))
    return archive.open(_member(archive, path))


def _members(archive: zipfile.ZipFile, names: Sequence[str]) -> Iterator[bytes]:
    """Some files of an archive in parts, each file as a line."""
    for name in names:
        with archive.open(name) as file:
            for part in iter(lambda: file.read(_CHUNK), b""):
                yield part.replace(b"\n", b" ")
        yield b"\n"


def _member(archive: zipfile.ZipFile, path: str) -> zipfile.ZipInfo:
    """The one file of an archive, but for hidden ones. Raises `CorpusError` for more, for none, and for a password."""
    files = [
        member
        for member in archive.infolist()
        if not member.is_dir()
        and not any(part.startswith((".", "__MACOSX")) for part in member.filename.split("/"))
    ]
    if len(files) != 1:
        kinds = Counter(Path(member.filename).suffix.lower() for member in files)
        content = f"{counted(kinds, '')}; unpack it, or give one file" if files else "no files"
        raise CorpusError(path, None, f"expected text, found an archive of {content}")
    if files[0].flag_bits & 1:
        raise CorpusError(path, None, "expected text, found an archive with a password")
    return files[0]


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
    return _frames(library.ZstdDecompressor().decompressobj, file)


def _frames(begin: Callable[[], Any], file: BinaryIO) -> io.BufferedReader:
    """The content of frames that follow one another, each of which `begin` decompresses."""
    return _joined(_decompressed(begin, file))


def _decompressed(begin: Callable[[], Any], file: BinaryIO) -> Iterator[bytes]:
    """The same in parts. Raises `EOFError` where the last is not whole."""
    frame: Any = None
    left = b""
    while chunk := left or file.read(_CHUNK):
        left = b""
        if frame is None and not (chunk := chunk.lstrip(b"\0")):  # which may pad frames of xz
            continue
        frame = frame or begin()
        yield frame.decompress(chunk)
        if frame.eof:
            left, frame = frame.unused_data, None
    if frame is not None:
        raise EOFError("Compressed file ended before the end of a frame")


def _joined(parts: Iterator[bytes]) -> io.BufferedReader:
    """What comes in parts, as a file."""
    return io.BufferedReader(_Parts(parts), 1 << 16)


class _Parts(io.RawIOBase):
    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._ready = parts, memoryview(b"")

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read some more bytes, and say how many: 0 at the end."""
        while not self._ready:
            if (part := next(self._parts, None)) is None:
                return 0
            self._ready = memoryview(part)
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


_OPENERS: AnyDict = {
    "gzip": partial(gzip.GzipFile, None, "rb", 9),
    "bz2": bz2.BZ2File,
    "xz": partial(_frames, partial(lzma.LZMADecompressor, memlimit=_DICTIONARY)),
    "zstd": _zstd,
}


@contextmanager
def readable(path: str) -> Generator[None]:
    """Raise `CorpusError` where a file cannot be read, or not be decompressed."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, _BROKEN) and type(error).__name__ != "ZstdError":
            raise
        why = getattr(error, "strerror", None) or reason(error)
        raise CorpusError(path, None, f"cannot be read: {why}") from None


def expanded(paths: Sequence[str | Path], suffixes: Collection[str]) -> tuple[list[str], str]:
    """The files that are meant: those of folders, of these kinds, and what comes in by standard input.

    Also what is to be said of files in the folders that are of other kinds. Without suffixes folders are left as they
    are.
    """
    names: list[str] = []
    others: Counter[str] = Counter()
    for path in paths:
        if str(path) == STDIN:
            names.append(str(standard_input()))
        elif suffixes and os.path.isdir(path):
            files, more = walked(Path(path), suffixes, compressed=True)
            names += map(str, files)
            others += more
        else:
            names.append(str(path))
    return names, f"did not read {counted(others)}" if others else ""


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


def counted(others: Counter[str], what: str = "other ") -> str:
    """Files that are something else, such as ``12 other files (9 .mp4, 3 .txt)``."""
    listed = [f"{count:,} {suffix or 'without a suffix'}" for suffix, count in others.most_common(_NAMED)]
    if len(others) > _NAMED:
        listed.append("…")
    total = others.total()
    return f"{total:,} {what}file{'s' * (total > 1)} ({', '.join(listed)})"


def walked(
    folder: Path, suffixes: Collection[str], what: str = "files", *, compressed: bool = False
) -> tuple[list[Path], Counter[str]]:
    """The files of some kinds (or `compressed` ones) in a folder and below, and how many of each other suffix.

    In order of their names, those of a folder before its folders. What is hidden (its name begins with a dot) is passed
    over; links to folders are followed, and each folder is read once. Raises `CorpusError` for a folder that cannot be
    read, and for one that has none; `what` they are called.
    """

    def failed(error: OSError) -> None:
        raise CorpusError(error.filename, None, f"cannot be read: {error.strerror}")

    matches: list[Path] = []
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
                matches.append(Path(root, name))
            else:
                others[suffix] += 1
    if not matches:
        actual = counted(others) if others else "no files that are not hidden"
        raise CorpusError(folder, None, f"expected {what} that end in {', '.join(suffixes)}, found {actual}")
    return matches, others


def begins_as_table(path: str) -> Literal["parquet", "arrow"] | None:
    """Which kind of a file of rows it is; None for none, and for a stream of Arrow."""
    if not os.path.isfile(path):
        return None
    with readable(path), open(path, "rb") as file:
        return table(file.read(HEAD))
