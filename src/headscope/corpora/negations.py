"""Sentences with the cue and the scope of a negation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Example
from headscope.corpora.files import Files, Line, Paths
from headscope.errors import CorpusError


def negations(paths: Paths, *, skip_broken: bool = False) -> Corpus:
    """JSON lines, one negation each: ``{"words": […], "cue": [2], "scope": [0, 1, 3]}``, places counted from 0.

    A sentence with several negations has a line for each. The cue may be in its scope or not: it is never scored.
    With `skip_broken` broken lines are left out, and the corpus lists them in `broken`.

    Raises `CorpusError` with file and line for anything else.
    """
    files = Files(paths)
    corpus = Corpus(files.name, lambda: _examples(files, corpus.broken if skip_broken else None), files=files)
    return corpus


def _examples(files: Files, broken: list[CorpusError] | None) -> Iterator[Example]:
    count = 0
    if broken is not None:
        broken.clear()
    for line in files:
        if not line.text.strip():
            continue
        try:
            example = _read(line, count)
        except CorpusError as error:
            if broken is None:
                raise
            broken.append(error)
            continue
        count += 1
        yield example
    if not count:
        found = "none that can be read" if broken else "blank lines only"
        raise CorpusError(files.paths[-1], None, f"expected JSON objects, found {found}")


def _read(line: Line, document: int) -> Example:
    def fail(message: str) -> CorpusError:
        return CorpusError(line.path, line.number, message)

    try:
        row: Any = json.loads(line.text)
    except ValueError as error:
        raise fail(f"expected a JSON object, found broken JSON ({error})") from None
    if not isinstance(row, dict):
        raise fail(f"expected a JSON object, found {type(row).__name__}")
    fields = cast(dict[str, Any], row)
    words = fields.get("words")
    if (
        not isinstance(words, list)
        or not words
        or not all(isinstance(word, str) for word in cast(list[Any], words))
    ):
        raise fail("'words': expected a list of strings, found another value or none")
    forms = cast(list[str], words)
    places: dict[str, list[int]] = {}
    for key in ("cue", "scope"):
        value = fields.get(key)
        if not isinstance(value, list) or (key == "cue" and not value):
            raise fail(
                f"{key!r}: expected a list of places, found {'an empty list' if value == [] else 'none'}"
            )
        for place in cast(list[Any], value):
            if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < len(forms):
                raise fail(f"{key!r}: expected places from 0 to {len(forms) - 1}, found {place!r}")
        places[key] = cast(list[int], value)
    return Example(
        words=forms, cue=places["cue"], scope=places["scope"], document=document, source=line.source
    )
