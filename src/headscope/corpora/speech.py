"""Speech with its words and their times."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from headscope.core.link import Link, Span
from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Example
from headscope.corpora.files import Line, Paths
from headscope.corpora.jsonlines import KINDS, DocumentNumbers, json_object, scalar, string, strings
from headscope.corpora.readers import json_lines

FRAME = 0.02
"""Seconds of a frame of Whisper's encoder."""

_ROUNDING = 1e-6  # of a frame: 0.06 s are three frames, whatever the digits


@validated
def spoken(paths: Paths, *, strict: bool = False) -> Corpus:
    """JSON lines of speech: ``{"audio": "a.wav", "words": ["so", "it", …], "times": [[0.0, 0.4], [0.4, 0.9], …]}``.

    `audio` is a WAV file, relative to the folder of the JSON lines; `times` are the seconds at which each word begins
    and ends. A line may have a `document` (the speaker, the recording) as in `headscope.corpora.jsonl`; one without is
    a document of its own. The links of an example go from each word, of the decoder's text, to the frames of 0.02 s in
    which it is heard. Lines that are anything else are left out and listed (`Corpus`), or, where it is `strict`,
    refused with a `CorpusError` that names file and line.

    >>> first = next(iter(hs.corpora.spoken("speech.jsonl")))
    >>> first.words[1], first.times[1], first.links[1].targets
    ('it', (0.4, 0.9), (Span(start=20, end=45, text='a'),))
    """
    return json_lines(paths, _read, strict=strict)


def _read(line: Line, _: str | None, documents: DocumentNumbers) -> Example:
    return of_object(json_object(line), line, documents)


def of_object(fields: Mapping[str, Any], line: Line, documents: DocumentNumbers) -> Example:
    """The example of an object with `audio`. Raises `CorpusError` for what it lacks."""
    audio = Path(line.path).parent / string(fields.get("audio"), "'audio'", line.error)
    if not os.path.isfile(audio):
        raise line.error(f"'audio': expected a WAV file, found nothing at {audio}")
    words = strings(fields.get("words"), "'words'", line.error)
    times = times_of(fields.get("times"), len(words), line)
    name = scalar(fields, "document", line.error)
    return Example(
        words=words,
        audio=audio,
        times=times,
        links=[heard_in(index, begin, end) for index, (begin, end) in enumerate(times)],
        **documents.of(line, name),
    )


def heard_in(word: int, begin: float, end: float) -> Link:
    """The link of a word of the decoder's text with the encoder's frames in which it is heard, at least in part."""
    first = math.floor(begin / FRAME + _ROUNDING)
    after = max(first + 1, math.ceil(end / FRAME - _ROUNDING))
    return Link(
        Span(word, word + 1, "b"),
        (Span(first, after, "a"),),
        "word",
        place=f"word {word + 1}",
        target_unit="cells",
    )


def times_of(value: Any, words: int, line: Line) -> list[tuple[float, float]]:
    """A beginning and an end of each word, in seconds."""
    if not isinstance(value, list):
        raise line.error(f"'times': expected a list of [begin, end] in seconds, found {KINDS[type(value)]}")
    given = cast("list[Any]", value)
    if len(given) != words:
        raise line.error(f"'times': expected one for each of {words} words, found {len(given)}")
    times: list[tuple[float, float]] = []
    for index, interval in enumerate(given):
        pair = cast("list[Any]", interval) if isinstance(interval, list) else []
        if len(pair) != 2 or not all(type(number) in (int, float) for number in pair):
            raise line.error(f"'times'[{index}]: expected [begin, end] in seconds, found {interval!r}")
        begin, end = map(float, pair)
        if not 0 <= begin < end < math.inf:
            raise line.error(
                f"'times'[{index}]: expected a begin from 0 and an end after it, found {interval!r}"
            )
        times.append((begin, end))
    return times
