"""Files of JSON that are no JSON lines: an array of texts or of objects, or one object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from headscope.corpora.sources import Line, suffix_of
from headscope.errors import CorpusError

_LOOKED = 1 << 20  # characters of a file of another name that have to be JSON
_SHOWN = 60  # characters of an element that is too long
_CUT = 16  # characters from its end, within which a text that goes on may look broken
_WHITE = re.compile(r"[ \t\r\n]*")


def is_array(path: str, parts: Iterable[Line], second: Iterable[Line], longest: int) -> bool:
    """Whether a file holds an array of JSON, or one object over several lines: no JSON lines, and no text.

    Args:
        path: a file; of one that is called ``.json`` it is taken for granted that it is JSON.
        parts, second: the file in parts, twice, of which the first are read.
        longest: how many characters an element has at most.
    """
    size = 0
    try:
        first, more = _first_line(parts, longest)
        if not first or (more and is_json(first)):
            return False
        if suffix_of(path) == ".json":
            return True
        for line in elements(path, second, longest):
            size += len(line.text)
            if size > _LOOKED:
                break
    except CorpusError:
        return False
    return True


def elements(path: str, parts: Iterable[Line], longest: int) -> Iterator[Line]:
    """The elements of an array as lines, each with the number of the line where it begins; or an object alone as one.

    An element that is a text is an object with a ``text``. No more than two elements are held. Raises `CorpusError`
    where it comes to JSON that is broken, or to an element of more than `longest` characters.
    """
    text = _ArrayText(path, parts, longest)
    listed = text.next() == "["
    if listed:
        text.skip()
        if text.next() == "]":
            raise CorpusError(path, None, "expected texts or objects, found an empty array")
    while True:
        yield text.element()
        if not listed or text.next() == "]":
            break
        if text.next() != ",":
            raise text.expected("Expecting ',' delimiter")
        text.skip()
        text.next()
    if listed:
        text.skip()
    if text.next():
        raise text.expected("Extra data")


def broken(error: ValueError | RecursionError) -> str:
    """What is wrong with JSON, in words."""
    if isinstance(error, json.JSONDecodeError):
        return f"broken JSON at column {error.colno} ({error.msg})"
    reason = "nested too deeply" if isinstance(error, RecursionError) else "a number of too many digits"
    return f"JSON that cannot be read ({reason})"


def is_json(text: str) -> bool:
    """Whether a text is one value of JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _first_line(parts: Iterable[Line], longest: int) -> tuple[str, bool]:
    """The first line that is not blank, as far as it is not too long, and whether others follow."""
    text = ""
    for part in parts:
        if text.strip() and text.endswith("\n"):
            if part.text.strip():
                return text, True
        elif len(text) > longest:
            break
        else:
            text = f"{text}{part.text}" if text.strip() else part.text
    return text.strip(), False


class _ArrayText:
    """A text that is read part by part, and held from a place on.

    Args:
        path: its file.
        parts: of lines, each with the number of its line.
        longest: characters of an element at most.
    """

    def __init__(self, path: str, parts: Iterable[Line], longest: int) -> None:
        self._path, self._longest = path, longest
        self._parts = iter(parts)
        self._decoder = json.JSONDecoder()
        self._held, self._at = "", 0
        # Of the line at the place; characters of its line before what is held.
        self._number, self._column = 1, 0

    def next(self) -> str:
        """The next character that is no white space; nothing at the end."""
        while True:
            match = _WHITE.match(self._held, self._at)
            self._move(match.end() if match else self._at)
            if self._at < len(self._held) or not self._more():
                return self._held[self._at : self._at + 1]

    def skip(self) -> None:
        """Pass over that character."""
        self._move(self._at + 1)

    def element(self) -> Line:
        """The value that begins here, as a line."""
        while True:
            try:
                _, end = self._decoder.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                ahead = error.pos - self._at
                cut = error.msg.startswith("Unterminated") or error.pos + _CUT > len(self._held)
                if not cut or not self._more():
                    raise self.expected(error.msg, ahead) from None
            except (ValueError, RecursionError) as error:
                raise self._line().error(f"expected texts or objects, found {broken(error)}") from None
            else:
                if end < len(self._held) or self._held[end - 1] in '"]}' or not self._more():
                    break
            if len(self._held) - self._at > self._longest:
                raise self._too_long()
        if end - self._at > self._longest:
            raise self._too_long()
        text = self._held[self._at : end]
        line = self._line(f'{{"text": {text}}}' if text[0] == '"' else text)
        self._move(end)
        return line

    def expected(self, message: str, ahead: int = 0) -> CorpusError:
        """The error of what is broken so many characters ahead."""
        place = self._at + ahead
        error = json.JSONDecodeError(message, self._held, place)
        error.colno += self._column if error.lineno == 1 else 0
        line = self._line()._replace(number=self._number + self._held.count("\n", self._at, place))
        return line.error(f"expected texts or objects, found {broken(error)}")

    def _line(self, text: str = "") -> Line:
        return Line(self._path, self._number, text)

    def _move(self, to: int) -> None:
        self._number += self._held.count("\n", self._at, to)
        self._at = to

    def _more(self) -> bool:
        """Read as much again as is held from the place on, and forget what is before it; whether there was more."""
        gone = self._held[: self._at]
        begins = gone.rfind("\n") + 1
        self._column = len(gone) - begins + (0 if begins else self._column)
        parts, size = [self._held[self._at :]], 0
        for part in self._parts:
            parts.append(part.text)
            size += len(part.text)
            if size >= len(parts[0]):
                break
        self._held, self._at = "".join(parts), 0
        return size > 0

    def _too_long(self) -> CorpusError:
        begins = self._held[self._at : self._at + _SHOWN]
        return self._line().error(
            f"expected texts or objects of at most {self._longest:,} characters, found a longer one, which begins "
            f"{begins!r}"
        )
