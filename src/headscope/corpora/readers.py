"""Corpora from text files, JSON lines and lists of texts, and the one that ships in the package."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

from headscope.corpora.corpus import Corpus, Pack
from headscope.corpora.example import Example
from headscope.corpora.files import Line, Paths, packaged
from headscope.corpora.jsonlines import Documents, json_object, scalar, string, strings
from headscope.doors import validated
from headscope.errors import HeadscopeWarning, InputError

Ends = Literal["blank", "line", "file"]
"""Where documents of plain text end: at blank lines, with each line, or with each file."""

_FEW, _SOON = 20, 500  # documents of which, and after which, it is said what they look like
_HEADING = re.compile(r"=+ .+ =+")  # as in WikiText


@validated
def text(paths: Paths, *, pack: Pack | None = 128, documents: Ends = "blank", strict: bool = False) -> Corpus:
    """Plain text: one sentence or paragraph a line, a blank line between documents, UTF-8.

    Errors and tests are by document, so it matters what one is. A heading (``= Name =``, as in WikiText) is no document
    by itself: it is one with what follows. Warns (`HeadscopeWarning`) where most documents have one line.

    Args:
        paths: a file or several; a document never goes on in the next file.
        documents: where they end: at ``blank`` lines, with each ``line``, or with each ``file``.
        pack: whole lines of a document are packed into inputs of at most so many tokens, special ones included:
            ``[CLS] a [SEP] b [SEP]``, with the line border nearest to the middle between a and b (``[CLS] a
            [SEP]`` for one line), or whatever the tokenizer puts around two texts; plain windows for causal
            models and tokenizers that put nothing between two texts. Lines are joined by a space. A line that
            is longer is cut between two pieces (at white space where there is some) and the cut is counted.
            None: each line is an input.
        strict: refuse a line of which the model can read nothing; else it is left out and listed (`Corpus`).

    Raises `CorpusError` for files that are missing, directories, empty or not UTF-8.

    >>> next(iter(hs.corpora.text("wiki.txt", pack=None))).text[:30]
    'The old stone bridge at Harrow'
    """
    read = _Lines(documents)
    expected = "expected text, found blank lines only"
    return Corpus.of_files(paths, read, pack=pack, strict=strict, expected=expected)


@validated
def builtin(*, pack: Pack | None = 128) -> Corpus:
    """The corpus that ships in the package: 13 short English texts of different kinds, 130 sentences.

    >>> len(list(hs.corpora.builtin(pack=None)))
    130
    """
    return Corpus("built-in corpus", partial(_Lines(), packaged("builtin.txt")), pack=pack)


@validated
def texts(items: Sequence[str | tuple[str, str]], *, strict: bool = False) -> Corpus:
    """Texts, or pairs of texts, in memory: each an input and a document of its own.

    Pairs that are longer than the model takes are left out and listed (`Corpus`), or refused where it is `strict`.

    >>> corpus = hs.corpora.texts([("The cat sat.", "It slept."), "A dog barked."])
    >>> [(example.text, example.pair) for example in corpus]
    [('The cat sat.', 'It slept.'), ('A dog barked.', None)]
    """
    examples: list[Example] = []
    for index, item in enumerate(items):
        parts: tuple[Any, ...] = item if isinstance(item, tuple) else (item,)
        for part in parts:
            string(part, f"texts[{index}]", InputError)
        pair = parts[1] if len(parts) == 2 else None
        examples.append(Example(text=parts[0], pair=pair, document=index, source=f"texts[{index}]"))
    if not examples:
        raise InputError("texts: expected at least one text, found an empty list")
    return Corpus("texts", partial(iter, examples), strict=strict)


@validated
def jsonl(paths: Paths, *, strict: bool = False) -> Corpus:
    """JSON lines: one object a line, each an input.

    An object has `text` (and `pair`), or `words` (and `pair_words`), or `tokens` (taken as they are, special
    ones included), and may have a `label` (string or number) and a `document` (string or number): lines of
    one file that follow one another with the same `document` are one document; a line without one is a
    document of its own. Beside `words` there may be `tags`, one a word: each makes a class of tokens, the pieces
    of its words, named in lower case (``NOUN`` gives ``noun``, for measures such as ``noun_to_sep``). Other keys
    are left alone, blank lines skipped.

    Lines that are anything else are left out and listed (`Corpus`), or, where it is `strict`, refused with a
    `CorpusError` that names file and line.

    >>> [example.words or example.text for example in hs.corpora.jsonl("chats.jsonl")]
    ['Hello there, who are you?', ['He', 'did', 'not', 'see']]
    """
    expected = "expected JSON objects, found blank lines only"
    return Corpus.of_files(paths, _objects, strict=strict, expected=expected)


class _Lines:
    """Reads one example a line that is not blank; says once what its documents look like."""

    def __init__(self, ends: Ends = "blank") -> None:
        self._ends: Ends = ends
        self._told = ends != "blank"

    def __call__(self, lines: Iterable[Line]) -> Iterator[Example]:
        document, path, ended = -1, "", True
        sizes: list[int] = []
        for line in lines:
            content = line.text.strip(" \t\r")
            ended, path = ended or line.path != path, line.path
            if not content.strip():
                ended = ended or (self._ends == "blank" and sizes[-1] > 0)
                continue
            if ended:
                document += 1
                sizes.append(0)
                self._tell(path, sizes, last=False)
            ended = self._ends == "line"
            sizes[-1] += not _HEADING.fullmatch(content.strip())
            yield Example(text=content, document=document, source=line.source)
        self._tell(path, sizes, last=True)

    def _tell(self, path: str, sizes: Sequence[int], *, last: bool) -> None:
        """Warn where most of the first documents have one line; `sizes` counts lines that are no headings."""
        if self._told or (not last and len(sizes) <= _SOON):
            return
        self._told = True
        whole = sizes if last else sizes[:-1]
        single = sum(size <= 1 for size in whole)
        if len(whole) >= _FEW and single > len(whole) / 2:
            warnings.warn(
                f"{path}: {single:,} of {len(whole):,} documents have one line: a blank line ends a document, and "
                "errors are by document; if that is not what they are, say where they end with documents='line' or "
                "'file' (--documents)",
                HeadscopeWarning,
                stacklevel=2,
            )


def _objects(lines: Iterable[Line]) -> Iterator[Callable[[], Example]]:
    """One example a line of JSON."""
    documents = Documents()
    return (partial(_object, line, documents) for line in lines if line.text.strip())


def _object(line: Line, documents: Documents) -> Example:
    fields = _fields(line)
    name = fields.pop("document", None)
    document = documents.number(line, name)
    return Example(**fields, document=document, document_known=name is not None, source=line.source)


def _fields(line: Line) -> dict[str, Any]:
    """The fields of an example, checked."""
    row, fail = json_object(line), line.error
    main = [key for key in ("text", "words", "tokens") if key in row]
    if len(main) != 1:
        keys = " and ".join(map(repr, main)) or ", ".join(map(repr, row)) or "none"
        raise fail(f"expected one of the keys 'text', 'words' and 'tokens', found {keys}")
    for key, partner in (("pair", "text"), ("pair_words", "words"), ("tags", "words")):
        if key in row and main[0] != partner:
            raise fail(f"expected {key!r} only beside {partner!r}, found it beside {main[0]!r}")
    fields: dict[str, Any] = {}
    for key in ("text", "pair"):
        if key in row:
            fields[key] = string(row[key], f"{key!r}", fail)
    for key in ("words", "pair_words", "tokens", "tags"):
        if key in row:
            fields["pieces" if key == "tokens" else key] = strings(row[key], f"{key!r}", fail)
    if "tags" in fields and len(fields["tags"]) != len(fields["words"]):
        raise fail(f"'tags': expected {len(fields['words'])}, one a word, found {len(fields['tags'])}")
    for key in ("label", "document"):
        value = scalar(row, key, fail)
        if value is not None:
            fields[key] = value
    return fields
