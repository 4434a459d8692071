"""Files of JSON that are no JSON lines: an array of texts or of objects, or one object."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice

from headscope.corpora.line import Line
from headscope.corpora.sources import suffix_of
from headscope.errors import CorpusError

MOST = 1 << 27
"""How many bytes or characters such a file has at most: it is read whole."""

_WHITE = " \t\r\n"


def elements(path: str, lines: Iterable[Line]) -> Iterator[Line]:
    """The elements of an array as lines, each with the number of the line where it begins; others as they are.

    An element that is a text is an object with a ``text``. An object that is written over several lines is one line.
    JSON lines stay what they are, and so do lines of a file that is not called ``.json`` and holds no array. Raises
    `CorpusError` for JSON that is broken.
    """
    rest = (line for line in lines if line.text.strip())
    first = list(islice(rest, 2))
    if not first or (len(first) == 2 and is_json(first[0].text)):
        yield from chain(first, rest)
        return
    kept = [*first, *_at_most(path, rest)]
    line = kept[0]
    try:
        text, places = _places(path, kept)
    except CorpusError:
        if suffix_of(path) == ".json":
            raise
        yield from kept
        return
    kept.clear()  # of a large file one copy is enough
    for number, start, end in zip(places[::3], places[1::3], places[2::3], strict=True):
        element = text[start:end]
        yield line._replace(number=number, text=f'{{"text": {element}}}' if element[0] == '"' else element)


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


def _places(path: str, lines: Sequence[Line]) -> tuple[str, array[int]]:
    """The text of a file; and of each element the number of the line where it begins, and where it begins and ends."""
    text = "\n".join(line.text for line in lines)
    starts = array("q", accumulate((len(line.text) + 1 for line in lines), initial=0))

    def at(position: int) -> Line:
        return lines[min(bisect_right(starts, position), len(lines)) - 1]

    def fail(message: str, position: int) -> json.JSONDecodeError:
        return json.JSONDecodeError(message, text, position)

    decoder, places = json.JSONDecoder(), array("q")
    position = _after(text, 0)
    listed = text[position : position + 1] == "["
    try:
        if listed:
            position = _after(text, position + 1)
            if text[position : position + 1] == "]":
                raise CorpusError(path, None, "expected texts or objects, found an empty array")
        while True:
            _, end = decoder.raw_decode(text, position)
            places.extend((at(position).number, position, end))
            end = _after(text, end)
            if not listed or text[end : end + 1] == "]":
                break
            if text[end : end + 1] != ",":
                raise fail("Expecting ',' delimiter", end)
            position = _after(text, end + 1)
        if (more := _after(text, end + listed)) < len(text):
            raise fail("Extra data", more)
    except CorpusError:
        raise
    except json.JSONDecodeError as error:
        raise at(error.pos).error(f"expected texts or objects, found {broken(error)}") from None
    except (ValueError, RecursionError) as error:
        raise at(position).error(f"expected texts or objects, found {broken(error)}") from None
    return text, places


def _after(text: str, position: int) -> int:
    """Where what is no white space begins."""
    while position < len(text) and text[position] in _WHITE:
        position += 1
    return position
