"""Files in cuts: stretches of about so many bytes, each of which can be found and read without the others.

Whoever works on a block of a corpus reads its bytes only. A cut begins with the first document that begins at or after
a multiple of `size` bytes, counted over all files; where none begins soon, with the first line there, in the midst of a
document. So where it begins depends on what stands around, and nobody has to read the files up to there.
"""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import NamedTuple, TypeVar

from headscope.corpora.example import Example
from headscope.corpora.files import Line, decoded, expect_short, read_line
from headscope.corpora.sources import readable
from headscope.errors import InputError

T = TypeVar("T")
Item = Example | Callable[[], Example]
"""An example, or what makes one and raises `CorpusError` where it is broken."""

GOES_ON = -1
"""The number of the document that began before, where nobody has looked when."""

_KEPT = 4  # values that are remembered
_BACK = 1 << 13  # bytes that are read at first of what stands before
_COUNTED = 1 << 20  # bytes whose lines are counted at a time


def _anywhere(_: Line, __: Iterator[Line]) -> bool:
    return True


@dataclass(frozen=True)
class Within:
    """How files are read from the midst of one on. All of it can be pickled.

    Attributes:
        read: gives the examples of some lines, in order; their documents are numbered by `Line.document`.
        context: of the lines before a border, nearest first, those that put `read` into the state in which it would be
            there, in the order of reading. They give whole examples, or none.
        border: whether an example may begin at a line, before which these stand, nearest first.
    """

    read: Callable[[Iterable[Line]], Iterator[Item]]
    context: Callable[[Iterator[Line]], Sequence[Line]]
    border: Callable[[Line, Iterator[Line]], bool] = _anywhere


def by_lines(read: Callable[[Iterable[Line]], Iterator[Item]]) -> Within:
    """Files of an example a line, where the document of one depends on the last before that can be read."""
    return Within(read, partial(_last, read))


def _last(read: Callable[[Iterable[Line]], Iterator[Item]], before: Iterator[Line]) -> Sequence[Line]:
    for line in before:
        for item in read([line]):
            with suppress(InputError):
                if callable(item):
                    item()
                return [line]
    return ()


class Cut(NamedTuple):
    """A stretch of files that are read one after another.

    Attributes:
        number: from 0.
        start, end: the bytes from here up to there; the same within a long line or document, where others begin.
    """

    number: int
    start: int
    end: int


@dataclass(frozen=True)
class Stretch:
    """A cut, with all that reading it takes. It can be pickled.

    Attributes:
        cut: the cut.
        pieces: of which files it is, from which of their bytes, and up to which.
        context: lines to be read before it.
        line: the number of its first line in its file, from 1.
        open: the documents that have lines in other cuts as well.
    """

    cut: Cut
    pieces: Sequence[tuple[str, int, int]] = ()
    context: Sequence[Line] = ()
    line: int = 1
    open: frozenset[int] = frozenset()


class Joined:
    """The bytes of some files, one after another.

    Attributes:
        paths: the files.
        sizes: of each, in bytes.
        bases: where each begins, and where the last one ends.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = list(paths)
        self.sizes: list[int] = []
        for path in paths:
            with readable(path):
                self.sizes.append(os.path.getsize(path))
        self.bases = [0, *accumulate(self.sizes)]

    @property
    def total(self) -> int:
        """How many bytes there are."""
        return self.bases[-1]

    def file(self, position: int) -> tuple[str, int, int]:
        """The file in which a byte is, where it begins, and where it ends."""
        index = bisect_right(self.bases, position) - 1
        return self.paths[index], self.bases[index], self.bases[index + 1]

    def pieces(self, start: int, end: int) -> list[tuple[str, int, int]]:
        """The files that have the bytes from `start` up to `end`, and from where up to where in each."""
        pieces: list[tuple[str, int, int]] = []
        while start < end:
            path, base, until = self.file(start)
            pieces.append((path, start - base, min(end, until) - base))
            start = until
        return pieces

    def begins(self, position: int) -> bool:
        """Whether a file begins here, or the last one ends."""
        return position in (self.total, self.file(min(position, self.total - 1))[1])

    def line(self, position: int) -> int:
        """Where the first line begins, here or after it; the end of the file where none does."""
        path, base, _ = self.file(position)
        if position == base:
            return position
        with readable(path), open(path, "rb") as file:
            file.seek(position - base - 1)
            read_line(file, path)
            return base + file.tell()

    def after(self, position: int) -> Iterator[Line]:
        """The lines of one file from this one on. Their numbers are not known, but for that of a first one."""
        path, base, _ = self.file(position)
        with readable(path), open(path, "rb") as file:
            file.seek(position - base)
            while line := read_line(file, path):
                yield Line(path, 0, _lenient(line, position == base), position)
                position += len(line)

    def before(self, position: int, until: int | None = None) -> Iterator[Line]:
        """The lines of one file before this one, nearest first, up to its first, or to `until`."""
        if self.begins(position):
            return
        path, base, _ = self.file(position)
        least = base if until is None else max(base, until)
        rest, step = b"", _BACK
        with readable(path), open(path, "rb") as file:
            while position > least:
                start = max(least, position - step)
                file.seek(start - base)
                content = file.read(position - start) + rest
                lines = _lines(content)
                rest = b"" if start == least else lines.pop(0)
                expect_short(rest, path)
                end = start + len(content)
                for line in reversed(lines):
                    end -= len(line)
                    yield Line(path, 0, _lenient(line, end == base), end)
                position, step = start, 2 * step


def _lines(content: bytes) -> list[bytes]:
    """The lines with their ends."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] or len(lines) == 1 else lines[:-1]


def _lenient(line: bytes, first: bool) -> str:
    return line.decode("utf-8-sig" if first else "utf-8", "replace").rstrip("\r\n")


class Cuts:
    """The cuts of some files, each found by itself; faster where they are asked for in order.

    Args:
        paths: the files.
        within: how they are read.
        size: bytes of a cut.
        reach: a document that begins up to `reach` - 1 times `size` behind a multiple of `size` begins a cut; None:
            however far.
    """

    def __init__(self, paths: Sequence[str], within: Within, size: int, reach: int | None = None) -> None:
        self._files, self._within = Joined(paths), within
        self._size, self._reach = size, reach
        self._starts: dict[int, int] = {0: 0}
        self._quiet = 0, 0  # no document begins from here up to there
        self._going: dict[int, int | None] = {}
        self._context: tuple[int, Sequence[Line]] = 0, ()
        self._line = 0, 1  # where a line begins, and its number

    def __len__(self) -> int:
        return max(1, -(-self._files.total // self._size))

    def __getitem__(self, number: int) -> Cut:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return Cut(number, self._start(number), self._start(number + 1))

    @property
    def sizes(self) -> list[int]:
        """The sizes of the files, in bytes."""
        return self._files.sizes

    def stretch(self, number: int) -> Stretch:
        """A cut, with all that reading it takes."""
        cut = self[number]
        if cut.start == cut.end:
            return Stretch(cut)
        going = self._document(cut.start)
        context: Sequence[Line] = ()
        if not self._files.begins(cut.start):
            context = self._within.context(self._before(cut.start))
        self._context = cut.start, context
        _, base, _ = self._files.file(cut.start)
        at, line = self._line if base <= self._line[0] <= cut.start else (base, 1)
        for path, begin, until in self._files.pieces(at, cut.start):
            for place in range(begin, until, _COUNTED):
                line += _content(path, place, min(until, place + _COUNTED)).count(b"\n")
        self._line = cut.start, line
        offset = cut.start if going is None else going
        return Stretch(
            cut,
            self._files.pieces(cut.start, cut.end),
            tuple(earlier._replace(offset=offset) for earlier in context),
            line,
            frozenset(document for document in (going, self._document(cut.end)) if document is not None),
        )

    def _start(self, number: int) -> int:
        """Where a cut begins."""
        at = number * self._size
        if at >= self._files.total:
            return self._files.total
        if number not in self._starts:
            _remember(self._starts, number, self._find(at))
        return self._starts[number]

    def _find(self, at: int) -> int:
        """The first document here or behind it, or, where that is far, the first line at which examples may begin."""
        _, base, end = self._files.file(at)
        first = self._border(at)
        if first in (base, end):
            return first
        far = end if self._reach is None else at + (self._reach - 1) * self._size
        quiet, until = self._quiet
        if not base <= quiet <= first <= until:
            quiet = until = first
        for document, line in self._documents(until, far) if until < end else ():
            if document != GOES_ON:
                return document
            until = line
        self._quiet = quiet, self._border(until)
        return end if self._reach is None or end < far else first

    def _border(self, position: int) -> int:
        """The first line here or behind it at which an example may begin; the end of the file where none does."""
        if position >= self._files.total or self._files.begins(position):
            return position
        end = self._files.file(position)[2]
        first = self._files.line(position)
        for line in self._files.after(first) if first < end else ():
            assert line.offset is not None
            if self._within.border(line, self._before(line.offset)):
                return line.offset
        return end

    def _before(self, position: int) -> Iterator[Line]:
        """The lines of the file before a line, nearest first; instead of those before the last stretch its context."""
        at, context = self._context
        if at <= position and self._files.file(at)[1] == self._files.file(position)[1]:
            yield from self._files.before(position, at)
            yield from reversed(context)
        else:
            yield from self._files.before(position)

    def _documents(self, position: int, until: int) -> Iterator[tuple[int, int]]:
        """The documents of the examples that begin from a border on, before `until`, in its file.

        With each the last line that was read for it: its own, or the blank one after it.
        """
        last = position
        context: Sequence[Line] = ()
        if not self._files.begins(position):
            context = [line._replace(offset=GOES_ON) for line in self._within.context(self._before(position))]

        def lines() -> Iterator[Line]:
            nonlocal last
            for line in self._files.after(position):
                assert line.offset is not None
                if line.offset >= until and self._within.border(line, self._before(line.offset)):
                    return
                last = line.offset
                yield line

        for item in items(self._within, context, lines()):
            try:
                yield (item() if callable(item) else item).document, last
            except InputError:  # whoever reads it says so
                continue

    def _document(self, position: int) -> int | None:
        """The document that goes on at a border; None where one begins there, or none follows in the file."""
        if position not in self._going:
            document = self._began(position) if self._goes_on(position) else None
            _remember(self._going, position, document)
        return self._going[position]

    def _goes_on(self, position: int) -> bool:
        """Whether the first example from a border on is of a document that began before."""
        return not self._files.begins(position) and self._of(position, position) == GOES_ON

    def _began(self, position: int) -> int:
        """Where the document begins that goes on here."""
        near, known = self._files.file(position)[1], GOES_ON
        for at, document in self._going.items():
            if near <= at < position and document is not None:
                near, known = at, document
        quiet, until = self._quiet
        if known != GOES_ON and quiet <= near and position <= until:
            return known
        step = self._size
        while True:
            start = max(near, position - step)
            first = self._border(start)
            document = self._of(position, first) if first < position else GOES_ON
            if document not in (GOES_ON, None):
                return document
            if start == near:
                return known
            step *= 2

    def _of(self, position: int, start: int) -> int | None:
        """The document of the first example from a border on, known by reading from `start` on."""
        for document, line in self._documents(start, self._files.total):
            if line >= position:
                return document
        return None


def _remember(known: dict[int, T], key: int, value: T) -> None:
    """Keep the last few values."""
    known[key] = value
    if len(known) > _KEPT:
        del known[next(iter(known))]


def items(within: Within, context: Iterable[Line], lines: Iterable[Line]) -> Iterator[Item]:
    """What is read of some lines, after others that put the reader into its state."""
    inside = False

    def given() -> Iterator[Line]:
        nonlocal inside
        yield from context
        inside = True
        yield from lines

    for item in within.read(given()):
        if inside:
            yield item
        elif callable(item):
            item()


def stretched(
    within: Within, stretch: Stretch, reached: Callable[[int], None] | None = None
) -> Iterator[Item]:
    """What is read of a stretch; `reached` is told up to which byte."""

    def tracked() -> Iterator[Line]:
        for line in lines_of(stretch):
            if reached is not None and line.offset is not None:
                reached(line.offset)
            yield line

    return items(within, stretch.context, tracked())


def lines_of(stretch: Stretch) -> Iterator[Line]:
    """The lines of a stretch. Raises `CorpusError` where one is not UTF-8."""
    position, first = stretch.cut.start, stretch.line
    for path, before, end in stretch.pieces:
        for number, line in enumerate(_lines(_content(path, before, end)), first):
            expect_short(line, path, number)
            yield Line(path, number, decoded(line, path, number, before), position)
            before += len(line)
            position += len(line)
        first = 1


def fingerprint(stretch: Stretch) -> str:
    """The sha256 of the bytes of a stretch, and of where they stand."""
    digest = hashlib.sha256(repr((stretch.cut, sorted(stretch.open))).encode())
    for piece in stretch.pieces:
        digest.update(_content(*piece))
    return digest.hexdigest()


def _content(path: str, start: int, end: int) -> bytes:
    """The bytes of a file from `start` up to `end`."""
    with readable(path), open(path, "rb") as file:
        file.seek(start)
        return file.read(end - start)
