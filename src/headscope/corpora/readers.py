"""Corpora from text files, JSON lines and lists of texts, and the one that ships in the package."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from headscope.core.counts import plural
from headscope.core.failures import warn
from headscope.core.kinds import is_list, is_tuple
from headscope.core.link import Link, Span
from headscope.core.types import AnyMapping
from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus, Pack
from headscope.corpora.example import Example
from headscope.corpora.files import Files, Line, Paths, packaged
from headscope.corpora.formats import lines_as
from headscope.corpora.held import expect_text
from headscope.corpora.jsonlines import (
    KINDS,
    DocumentNumbers,
    each_of,
    fields,
    json_object,
    string,
    strings,
)
from headscope.corpora.readable import HEADING
from headscope.corpora.shapes.rows import Kind
from headscope.errors import InputError

Ends = Literal["blank", "line", "file"]
"""Where documents of plain text end: at blank lines, with each line, or with each file."""

TEXTS, JSON_LINES = (".txt",), (".jsonl",)
"""Suffixes of the files that are read of a folder."""

_ENDS: dict[Ends, str] = {
    "blank": "lines up to a blank one or the end of the file",
    "line": "each line",
    "file": "each file",
}
_FEW, _SOON = 20, 500  # documents of which, and after which, it is said what they look like


@validated
def text(
    paths: Paths,
    *,
    pack: Pack | None = 128,
    documents: Ends = "blank",
    format: Literal["text"] | None = None,
    strict: bool = False,
) -> Corpus:
    """Plain text: one sentence or paragraph a line, a blank line between documents.

    Errors and tests are by document, so it matters what one is. A heading (``= Name =``, as in WikiText) is no document
    by itself: it is one with what follows. Warns (`HeadscopeWarning`) where most documents have one line.

    Args:
        paths: a file or several, or folders of ``.txt`` files, read in the order of their names; ``-`` is standard
            input. Text is UTF-8, or UTF-16 or UTF-32 where a mark at its beginning says so; what is compressed (gzip,
            bzip2, xz, Zstandard, a zip archive of one file) is known by how it begins and decompressed as it is read.
            A document never goes on in the next file.
        documents: where they end: at ``blank`` lines, with each ``line``, or with each ``file``.
        pack: whole lines of a document are packed into inputs of at most so many tokens, special ones included:
            ``[CLS] a [SEP] b [SEP]``, with the line border nearest to the middle between a and b (``[CLS] a
            [SEP]`` for one line), or whatever the tokenizer puts around two texts; plain windows for causal
            models and tokenizers that put nothing between two texts. Lines are joined by a space. A line that
            is longer is cut between two pieces (at white space where there is some) and the cut is counted.
            None: each line is an input.
        format: by default a file that is known to hold something else (JSON, a treebank, annotation, markup, subtitles,
            sequences with names) is refused; ``text`` reads its marks as well.
        strict: refuse a line of which the model can read nothing; else it is left out and listed (`Corpus`).

    Raises `CorpusError` for files that are missing, directories, empty, no text, or of another format.

    >>> next(iter(hs.corpora.text("wiki.txt", pack=None))).text[:30]
    'The old stone bridge at Harrow'
    """
    read = _LineReader(documents)
    expected = "expected text, found blank lines only"
    ends = _ENDS[documents]
    files = Files(paths, TEXTS)
    for path in files.paths if format is None else ():
        expect_text(path, files)
    return Corpus.of_files(
        files,
        read,
        pack=pack,
        strict=strict,
        expected=expected,
        documents=ends,
    )


@validated
def builtin(*, pack: Pack | None = 128) -> Corpus:
    """The corpus that ships in the package: 13 short English texts of different kinds, 130 sentences.

    >>> len(list(hs.corpora.builtin(pack=None)))
    130
    """
    read = partial(_LineReader(), packaged("builtin.txt"))
    return Corpus("built-in corpus", read, pack=pack, documents=_ENDS["blank"])


@validated
def texts(
    items: Sequence[str | tuple[str, str]],
    *,
    documents: Sequence[str | int] | None = None,
    strict: bool = False,
) -> Corpus:
    """Texts, or pairs of texts, in memory: each an input.

    Args:
        items: strings, or pairs of them; a column of a table or data set, such as ``ds["text"]``.
        documents: of each text the name of its document, such as ``ds["article"]``; texts of one document follow one
            another. By default each text is a document of its own.
        strict: refuse pairs that are longer than the model takes; else they are left out and listed (`Corpus`).

    >>> corpus = hs.corpora.texts([("The cat sat.", "It slept."), "A dog barked."])
    >>> [(example.text, example.pair) for example in corpus]
    [('The cat sat.', 'It slept.'), ('A dog barked.', None)]
    """
    numbers = numbers_of(documents, len(items))
    examples = [text_of(item, index, numbers[index]) for index, item in enumerate(items)]
    if not examples:
        raise InputError("texts: expected at least one text, found an empty list")
    ends = "each text" if documents is None else "texts of one name in documents="
    return Corpus("texts", partial(iter, examples), strict=strict, documents=ends)


def text_of(item: Any, index: int, document: int) -> Example:
    """The example of a text, or a pair of texts, of a list. Raises `InputError` where it is neither."""
    place = f"texts[{index}]"
    parts = item if is_tuple(item) else (item,)
    if len(parts) not in (1, 2):
        raise InputError(f"{place}: expected a string or a pair of strings, found a tuple of {len(parts)}")
    strings = [str(string(part, place, InputError)) for part in parts]  # numpy's are strings of another class
    return Example(text=strings[0], pair=(*strings, None)[1], document=document, source=place)


def numbers_of(documents: Sequence[str | int] | None, count: int) -> Sequence[int]:
    """The numbers of the documents that texts name, from 0; each is one where they name none.

    Raises `InputError` for one that goes on later.
    """
    if documents is None:
        return range(count)
    names = list(documents)
    if len(names) != count:
        raise InputError(
            f"documents: expected {plural(count, 'name')}, one a text, found {plural(len(names), 'name')}"
        )
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    listed = [numbers[name] for name in names]
    for index, (before, after) in enumerate(pairwise(listed), 1):
        if after < before:
            raise InputError(
                f"documents[{index}]: expected the texts of {names[index]!r} together, found it again"
            )
    return listed


@validated
def jsonl(
    paths: Paths, *, text: str | None = None, document: str | None = None, strict: bool = False
) -> Corpus:
    """JSON lines: one object a line, each an input; or an array of texts or objects, read as these lines would be.

    An object has `text` (and `pair`), or `words` (and `pair_words`), or `tokens` (pieces of the vocabulary, taken as
    they are, with the special ones that the tokenizer puts around a text), or `messages` (a conversation for the
    model's chat template: objects with `role` and `content`), or `prompt_token_ids` (and `token_ids`: what a server
    logged, as vLLM names it; taken as they are; of a response they are found in its `choices` or `outputs`), or keys of
    `headscope.corpora.jsonlines.TEXTS`, as GLUE and SNLI name them. Contents of messages may be null or lists of parts
    of text, as OpenAI defines them. It may have a `label` (a string, a number, true or false, or a list of these) and a
    `document` (string or number): lines of one file that follow one another with the same `document` are one document;
    a line without one is a document of its own. Beside `words` there may be `tags`, one a word: each makes a class of
    tokens, the pieces of its words, named in lower case (``NOUN`` gives ``noun``, for measures such as
    ``noun_to_sep``). Other keys are left alone, blank lines skipped.

    Args:
        paths: a file or several, or folders of ``.jsonl`` files; compressed ones and standard input as in `text`.
        text: another key of the text.
        document: another key of the document, which each line must have then.
        strict: refuse lines that are anything else with a `CorpusError` that names file and line; else they are left
            out and listed (`Corpus`).

    Raises `InputError` for a document that has ended and goes on.

    >>> [example.words or example.text for example in hs.corpora.jsonl("chats.jsonl")]
    ['Hello there, who are you?', ['He', 'did', 'not', 'see']]
    """
    return json_lines(paths, partial(of_text, text), document, strict=strict)


def json_lines(
    paths: Paths,
    read: Callable[[Line, DocumentNumbers], Example],
    document: str | None = None,
    *,
    strict: bool,
    kind: Kind = "texts",
) -> Corpus:
    """A corpus of JSON lines, of which `read` makes an example each; `document` is another key of the document.

    Files of other formats that hold this `kind` are read as such lines (`headscope.corpora.formats`).
    """
    return Corpus.of_files(
        files := Files(paths, JSON_LINES, records=True),
        lambda _: examples_of(read, document, lines_as(files, kind)),
        strict=strict,
        expected="expected JSON objects, found blank lines only",
        documents=each_of(document, "line"),
    )


_LINE = Example()


class _LineReader:
    """Reads one example a line that is not blank; says once what its documents look like."""

    def __init__(self, ends: Ends = "blank") -> None:
        self._ends: Ends = ends
        self._warned = ends != "blank"

    def __call__(self, lines: Iterable[Line]) -> Iterator[Example]:
        document, path, ended = -1, "", True
        sizes: list[int] = []
        try:
            for line in lines:
                content = line.text.strip(" \t\r")
                ended, path = ended or line.path != path, line.path
                if not content.strip():
                    ended = ended or (self._ends == "blank" and sizes[-1] > 0)
                    continue
                if ended:
                    document += 1
                    sizes.append(0)
                    self._warn(path, sizes, last=False)
                ended = self._ends == "line"
                sizes[-1] += not HEADING.fullmatch(content.strip())
                yield _LINE.but(text=content, document=document, source=line.source)
        except GeneratorExit:  # no more is wanted
            self._warn(path, sizes, last=True)
            raise
        self._warn(path, sizes, last=True)

    def _warn(self, path: str, sizes: Sequence[int], *, last: bool) -> None:
        """Warn where no or nearly every line ends a document; `sizes` counts lines that are no headings."""
        if self._warned or not (last or len(sizes) == _SOON + 1):
            return
        complete = sizes if last else sizes[:-1]
        single = sum(size <= 1 for size in complete)
        if len(complete) == 1 and complete[0] >= _FEW:
            remark = (
                f"no blank line among {complete[0]:,} lines: all are one document, and errors need several"
            )
        elif len(complete) >= _FEW and single > len(complete) / 2:
            remark = (
                f"{single:,} of {len(complete):,} documents have one line: a blank line ends a document, and "
                "errors are by document"
            )
        else:
            return
        self._warned = True
        warn(
            f"{path}: {remark}; if that is not what they are, say where they end with documents='line' or 'file' "
            "(--documents)"
        )


def examples_of(
    read: Callable[[Line, DocumentNumbers], Example], document: str | None, lines: Iterable[Line]
) -> Iterator[Callable[[], Example]]:
    """One example a line of JSON."""
    numbers = DocumentNumbers(document)
    return (partial(read, line, numbers) for line in lines if line.text.strip())


def of_text(text: str | None, line: Line, numbers: DocumentNumbers) -> Example:
    """The example of a line of `jsonl`; `text` is another key of its text."""
    row = json_object(line)
    return Example(**fields(row, text, line.error, calls=True), **numbers.of_row(line, row))


FRAME = 0.02
"""Seconds of a frame of Whisper's encoder."""

_ROUNDING = 1e-6  # of a frame: 0.06 s are three frames, whatever the digits


@validated
def spoken(paths: Paths, *, audio: str | Path | None = None, strict: bool = False) -> Corpus:
    """JSON lines of speech: ``{"audio": "a.wav", "words": ["so", "it", …], "times": [[0.0, 0.4], [0.4, 0.9], …]}``.

    `audio` is a WAV file, relative to the folder of the JSON lines; `times` are the seconds at which each word begins
    and ends. A line may have a `document` (the speaker, the recording) as in `headscope.corpora.jsonl`; one without is
    a document of its own. The links of an example go from each word, of the decoder's text, to the frames of 0.02 s in
    which it is heard. Lines that are anything else are left out and listed (`Corpus`), or, where it is `strict`,
    refused with a `CorpusError` that names file and line.

    Args:
        paths: a file or several, or folders of ``.jsonl`` files; or Praat's TextGrids, CTM or TIMIT's words, whose
            recording is called as they are (of CTM, as its lines say), with ``.wav``.
        audio: the folder of the sounds; by default that of the file.
        strict: refuse lines that are anything else.

    >>> first = next(iter(hs.corpora.spoken("speech.jsonl")))
    >>> first.words[1], first.times[1], first.links[1].targets
    ('it', (0.4, 0.9), (Span(start=20, end=45, text='a'),))
    """
    return json_lines(paths, partial(_read, audio), strict=strict, kind="speech")


def _read(folder: str | Path | None, line: Line, documents: DocumentNumbers) -> Example:
    return of_object(json_object(line), line, documents, folder)


def of_object(
    fields: AnyMapping, line: Line, documents: DocumentNumbers, folder: str | Path | None = None
) -> Example:
    """The example of an object with `audio`, in a folder. Raises `CorpusError` for what it lacks."""
    audio = Path(folder or Path(line.path).parent) / string(fields.get("audio"), "'audio'", line.error)
    if not os.path.isfile(audio):
        raise line.error(f"'audio': expected a WAV file, found nothing at {audio}")
    words = strings(fields.get("words"), "'words'", line.error)
    times = times_of(fields.get("times"), len(words), line)
    return Example(
        words=words,
        audio=audio,
        times=times,
        links=[heard_in(index, begin, end) for index, (begin, end) in enumerate(times)],
        **documents.of_row(line, fields),
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
    if not is_list(value):
        raise line.error(f"'times': expected a list of [begin, end] in seconds, found {KINDS[type(value)]}")
    if len(value) != words:
        raise line.error(f"'times': expected one for each of {words} words, found {len(value)}")
    times: list[tuple[float, float]] = []
    for index, interval in enumerate(value):
        pair = interval if is_list(interval) else []
        if len(pair) != 2 or not all(type(number) in (int, float) for number in pair):
            raise line.error(f"'times'[{index}]: expected [begin, end] in seconds, found {interval!r}")
        begin, end = map(float, pair)
        if not 0 <= begin < end < math.inf:
            raise line.error(
                f"'times'[{index}]: expected a begin from 0 and an end after it, found {interval!r}"
            )
        times.append((begin, end))
    return times
