"""Files of JSON that are no JSON lines: an array of texts or of objects, or one object."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, islice
from typing import Any

from headscope.corpora.line import Line
from headscope.corpora.opening import suffix_of
from headscope.errors import CorpusError

MOST = 1 << 28
"""How many characters such a file has at most: it is read whole."""

_WHITE = " \t\r\n"


def elements(path: str, lines: Iterable[Line]) -> Iterator[Line]:
    """The elements of an array as lines, each with the number of the line where it begins; others as they are.

    An element that is a text is an object with a ``text``. An object that is written over several lines is one line.
    JSON lines stay what they are, and so do lines of a file that is not called ``.json`` and holds no array. Raises
    `CorpusError` for JSON that is broken.
    """
    rest = (line for line in lines if line.text.strip())
    first = list(islice(rest, 2))
    if not first or (len(first) == 2 and _complete(first[0].text)):
        yield from chain(first, rest)
        return
    kept = [*first, *_at_most(path, rest)]
    try:
        yield from list(_elements(path, kept))
    except CorpusError:
        if suffix_of(path) == ".json":
            raise
        yield from kept


def broken(error: ValueError | RecursionError) -> str:
    """What is wrong with JSON, in words."""
    if isinstance(error, json.JSONDecodeError):
        return f"broken JSON at column {error.colno} ({error.msg})"
    reason = "nested too deeply" if isinstance(error, RecursionError) else "a number of too many digits"
    return f"JSON that cannot be read ({reason})"


def _complete(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _at_most(path: str, lines: Iterable[Line]) -> Iterator[Line]:
    size = 0
    for line in lines:
        size += len(line.text)
        if size > MOST:
            raise CorpusError(
                path,
                None,
                f"expected an array of at most {MOST:,} characters, found more; JSON lines may be longer",
            )
        yield line


def _elements(path: str, lines: list[Line]) -> Iterator[Line]:
    text = "\n".join(line.text for line in lines)
    starts = [0, *accumulate(len(line.text) + 1 for line in lines)]

    def at(position: int) -> Line:
        return lines[min(bisect_right(starts, position), len(lines)) - 1]

    def fail(message: str, position: int) -> json.JSONDecodeError:
        return json.JSONDecodeError(message, text, position)

    decoder = json.JSONDecoder()
    position = 0
    try:
        position = _after(text, 0)
        if text[position : position + 1] != "[":
            _, end = decoder.raw_decode(text, position)
            if (more := _after(text, end)) < len(text):
                raise fail("Extra data", more)
            yield at(position)._replace(text=text[position:end])
            return
        position = _after(text, position + 1)
        if text[position : position + 1] == "]":
            raise CorpusError(path, None, "expected texts or objects, found an empty array")
        while True:
            value: Any
            value, end = decoder.raw_decode(text, position)
            own = json.dumps({"text": value}) if isinstance(value, str) else text[position:end]
            yield at(position)._replace(text=own)
            end = _after(text, end)
            if text[end : end + 1] == "]":
                break
            if text[end : end + 1] != ",":
                raise fail("Expecting ',' delimiter", end)
            position = _after(text, end + 1)
        if (more := _after(text, end + 1)) < len(text):
            raise fail("Extra data", more)
    except CorpusError:
        raise
    except json.JSONDecodeError as error:
        raise at(error.pos).error(f"expected texts or objects, found {broken(error)}") from None
    except (ValueError, RecursionError) as error:
        raise at(position).error(f"expected texts or objects, found {broken(error)}") from None


def _after(text: str, position: int) -> int:
    """Where what is no white space begins."""
    while position < len(text) and text[position] in _WHITE:
        position += 1
    return position
