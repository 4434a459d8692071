"""Coreference in JSON lines: documents of sentences, and clusters of spans (PreCo, and what models are trained on)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

from headscope.core.kinds import is_list
from headscope.core.types import AnyDict
from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus, Item, refuse
from headscope.corpora.example import Example, Mention, Unmatched, withheld
from headscope.corpora.files import Files, Line, Paths
from headscope.corpora.formats import lines_as
from headscope.corpora.jsonlines import KINDS, DocumentNumbers, json_object, strings
from headscope.corpora.readers import JSON_LINES
from headscope.errors import CorpusError

_NAMES = ("id", "doc_key")


class _MentionSpan(NamedTuple):
    """A mention: the words from `start` up to, not with, `end` of a sentence."""

    sentence: int
    start: int
    end: int


@validated
def clusters(paths: Paths, *, strict: bool = False) -> Corpus:
    """JSON lines (or an array) of documents with coreference: one sentence an example, without parses and tags.

    A document has ``sentences``, lists of words, and ``mention_clusters``, lists of ``[sentence, start, end]`` with an
    end that is not of the mention (PreCo); or ``clusters``, lists of ``[start, end]`` that count the words of the whole
    document, with an end that is (what coreference models are trained on). It may be named by ``id`` or ``doc_key``.
    A sentence of white space alone, with which PreCo parts paragraphs, is passed over. A mention that runs over
    sentences is left out, which is said.

    Args:
        paths: a file or several, or folders of ``.jsonl`` files.
        strict: refuse lines that are anything else with a `CorpusError` that names file and line; else they are left
            out and listed (`Corpus`).

    >>> [(sentence.words, sentence.mentions) for sentence in hs.corpora.clusters("clusters.jsonl")][0]
    (['Ann', 'met', 'a', 'dog', '.'], [Mention(start=0, end=1, cluster='0'), Mention(start=2, end=4, cluster='1')])
    """
    notice, files = Unmatched(), Files(paths, JSON_LINES, records=True)
    return Corpus.of_files(
        files,
        lambda _: sentences_of(notice, strict, lines_as(files, "coreference")),
        strict=strict,
        expected="expected JSON objects, found blank lines only",
        documents="each line",
    )


def sentences_of(notice: Unmatched, strict: bool, lines: Iterable[Line]) -> Iterator[Item]:
    """The sentences of the documents in some lines, or what raises the error of a line."""
    numbers = DocumentNumbers()
    with notice.collected() as unmatched:
        for line in lines:
            if not line.text.strip():
                continue
            try:
                yield from _document(line, numbers.of(line, None)["document"], None if strict else unmatched)
            except CorpusError as error:
                yield partial(refuse, error)


def _document(line: Line, document: int, unmatched: list[CorpusError] | None) -> list[Example]:
    row = json_object(line)
    given: list[Any] = _list(row.get("sentences"), "'sentences'", line)
    blank = [_is_blank(words) for words in given]
    sentences = [
        [] if blank[place] else strings(words, f"'sentences'[{place}]", line.error)
        for place, words in enumerate(given)
    ]
    if all(blank):
        raise line.error("'sentences': expected sentences, found none with a word")
    if (why := withheld([word for words in sentences for word in words])) is not None:
        raise line.error(why)
    mentions: list[list[Mention]] = [[] for _ in sentences]
    for (sentence, start, end), cluster in _spans(row, list(map(len, given)), line, unmatched):
        mentions[sentence].append(Mention(start, end, str(cluster)))
    name = next((str(row[key]) for key in _NAMES if isinstance(row.get(key), str | int)), "")
    return [
        Example(
            words=words,
            mentions=sorted(spans, key=lambda mention: (mention.start, -mention.end)),
            document=document,
            source=line.source,
            name=f"{name}/{place}" if name else str(place),
        )
        for place, (words, spans) in enumerate(zip(sentences, mentions, strict=True))
        if words
    ]


def _list(value: Any, name: str, line: Line) -> list[Any]:
    if not is_list(value):
        raise line.error(f"{name}: expected a list, found {KINDS[type(value)]}")
    return value


def _is_blank(words: Any) -> bool:
    """Whether a sentence is white space, with which paragraphs are parted."""
    return is_list(words) and all(isinstance(word, str) and not word.strip() for word in words)


def _spans(
    row: AnyDict, sizes: list[int], line: Line, unmatched: list[CorpusError] | None
) -> Iterator[tuple[_MentionSpan, int]]:
    """The mentions in a document's sentences, and the numbers of their clusters."""
    keys = [key for key in ("mention_clusters", "clusters") if key in row]
    if len(keys) != 1:
        given = " and ".join(map(repr, keys)) or ", ".join(map(repr, row)) or "none"
        raise line.error(f"expected a key 'mention_clusters' or 'clusters', found {given}")
    (key,) = keys
    by_sentence = key == "mention_clusters"
    expected = "[sentence, start, end]" if by_sentence else "[start, end]"
    starts = [0, *accumulate(sizes)]
    for number, cluster in enumerate(_list(row[key], repr(key), line)):
        for place, span in enumerate(_list(cluster, f"{key!r}[{number}]", line)):
            where = f"{key!r}[{number}][{place}]"
            numbers = _list(span, where, line)
            if any(type(value) is not int for value in numbers) or len(numbers) != (3 if by_sentence else 2):
                raise line.error(f"{where}: expected {expected}, found {str(numbers)[:60]}")
            if by_sentence:
                mention = _MentionSpan(*numbers)
                there = (
                    0 <= mention.sentence < len(sizes)
                    and 0 <= mention.start < mention.end <= sizes[mention.sentence]
                )
            else:
                first, last = numbers
                there = 0 <= first <= last < starts[-1]
                sentence = bisect_right(starts, first) - 1 if there else 0
                mention = _MentionSpan(sentence, first - starts[sentence], last + 1 - starts[sentence])
            if not there:
                raise line.error(f"{where}: expected a span of words of the document, found {numbers}")
            if mention.end > sizes[mention.sentence]:
                message = f"expected a mention in one sentence, found {numbers[0]} to {numbers[1]}"
                wrong = line.error(f"{where}: {message}")
                if unmatched is None:
                    raise wrong
                unmatched.append(wrong)
            else:
                yield mention, number
