"""Sentences with the cue and the scope of a negation."""

from __future__ import annotations

from typing import Any, cast

from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Example
from headscope.corpora.files import Line, Paths
from headscope.corpora.jsonlines import DocumentNumbers, json_object, scalar, strings
from headscope.corpora.readers import json_lines


@validated
def negations(paths: Paths, *, strict: bool = False) -> Corpus:
    """JSON lines, one negation each: ``{"words": […], "cue": [2], "scope": [0, 1, 3]}``, places counted from 0.

    A sentence with several negations has a line for each. The cue may be in its scope or not: it is never scored. A
    line may have a `document` (string or number) as in `headscope.corpora.jsonl`; one without is a document of its own.
    Lines that are anything else are left out and listed (`Corpus`), or, where it is `strict`, refused with a
    `CorpusError` that names file and line.

    >>> negation = next(iter(hs.corpora.negations("scopes.jsonl")))
    >>> negation.words, negation.cue, negation.scope
    (['He', 'did', 'not', 'see'], [2], [0, 1, 3])
    """
    return json_lines(paths, negation_of, strict=strict)


def negation_of(line: Line, _: str | None, documents: DocumentNumbers) -> Example:
    """The example of a line with a negation. Raises `CorpusError` where it is none."""
    fields = json_object(line)
    words = strings(fields.get("words"), "'words'", line.error)
    places: dict[str, list[int]] = {}
    for key in ("cue", "scope"):
        value = fields.get(key)
        if not isinstance(value, list) or (key == "cue" and not value):
            kind = "an empty list" if value == [] else "none"
            raise line.error(f"{key!r}: expected a list of places, found {kind}")
        for index in cast("list[Any]", value):
            if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(words):
                raise line.error(f"{key!r}: expected places from 0 to {len(words) - 1}, found {index!r}")
        places[key] = value
    name = scalar(fields, "document", line.error)
    return Example(
        words=words,
        cue=places["cue"],
        scope=places["scope"],
        **documents.of(line, name),
    )
