"""Word alignments in Pharaoh's format, beside two files of sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from headscope.core.counts import plural
from headscope.core.failures import warn
from headscope.core.link import Link, Side, Span
from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Example
from headscope.corpora.files import Files, Line
from headscope.corpora.jsonlines import strings

_SOME = 20  # lines with links, of which one would name a first word
_PAIR = re.compile(r"([0-9]{1,9})([-?p])([0-9]{1,9})")


class _Pair(NamedTuple):
    """A word of A and a word of B, counted from 0, and whether they surely belong together."""

    a: int
    b: int
    sure: bool


@validated
def alignments(
    a: str | Path, b: str | Path, links: str | Path, *, base: Literal[0, 1] = 0, strict: bool = False
) -> Corpus:
    """Sentences of two languages, and which words are translations of each other: one pair of sentences an input.

    Each aligned word of B has a `headscope.Link` to its words of A, labelled ``b to a``, and each aligned word of A one
    to its words of B, labelled ``a to b``. Possible links are among `Link.possible`; a word that has no sure link has
    no targets.

    Args:
        a, b: a sentence a line, its words parted by spaces.
        links: a line for each, such as ``0-0 1-2 2?1``: ``i-j`` where word i of A and word j of B surely belong
            together, ``i?j`` or ``ipj`` where they possibly do. A blank line is a sentence without links.
        base: what the first word is called, 0 or 1.
        strict: refuse sentences that are broken (blank, an index that no word has) with a `CorpusError` that names file
            and line; else they are left out and listed (`Corpus`).

    Warns (`HeadscopeWarning`) where no word of the file is called 0, and says where its lines are too few to tell. Each
    sentence is a document of its own, which is not known to be one (`Example.document_known`). Raises `CorpusError`
    where the files have different numbers of lines.

    >>> example = next(iter(hs.corpora.alignments("de.txt", "en.txt", "de-en.align")))
    >>> [(example.pair_words[link.source.start], [example.words[span.start] for span in link.targets])
    ...  for link in example.links if link.label == "b to a"]
    [('the', ['das']), ('house', ['Haus']), ('is', ['ist']), ('small', ['klein'])]
    """
    files = Files([a, b, links])
    if base == 0:
        _expect_a_first_word(files.paths[2])
    return Corpus.of_files(
        files,
        lambda _: _examples(files, base),
        strict=strict,
        expected="expected sentences, found none",
        documents="each sentence",
    )


def _expect_a_first_word(path: str) -> None:
    """Warn where words are counted from 1, as far as can be told: none is called 0."""
    lines = 0
    for line in Files(path):
        pairs = _PAIR.findall(line.text)
        if any(int(a) == 0 or int(b) == 0 for a, _, b in pairs):
            return
        lines += bool(pairs)
    if lines:
        sure = "" if lines >= _SOME else ", which are too few to tell"
        message = f"no word is called 0 in {plural(lines, 'line')} with links{sure}: if the first is called 1"
        warn(f"{path}: {message}, say base=1 (--base 1)", 3)


def _examples(files: Files, base: int) -> Iterator[Callable[[], Example]]:
    return (partial(_read, *lines, base, number) for number, lines in enumerate(files.abreast()))


def _read(a: Line, b: Line, links: Line, base: int, number: int) -> Example:
    words, pair_words = _words(a), _words(b)
    pairs = [_pair(text, links, base, len(words), len(pair_words)) for text in links.text.split()]
    return Example(
        words=words,
        pair_words=pair_words,
        links=[*_links(pairs, "b", links), *_links(pairs, "a", links)],
        document=number,
        document_known=False,
        source=a.source,
    )


def _words(line: Line) -> list[str]:
    """Words between spaces; one that is all other white space is refused, not passed over: indices count it."""
    words = re.findall(r"[^ \t]+", line.text)
    if not words:
        raise line.error("expected words, found a blank line")
    return strings(words, "words", line.error)


def _pair(text: str, line: Line, base: int, size_a: int, size_b: int) -> _Pair:
    match = _PAIR.fullmatch(text)
    if match is None:
        raise line.error(f"expected links such as 0-0, 1?2 or 1p2, found {text[:60]!r}")
    a, b = int(match[1]) - base, int(match[3]) - base
    for side, index, size in (("A", a, size_a), ("B", b, size_b)):
        if not 0 <= index < size:
            raise line.error(
                f"{text!r}: expected a word of {side} from {base} to {size - 1 + base}, found {index + base}"
            )
    return _Pair(a, b, match[2] == "-")


def _links(pairs: Sequence[_Pair], source: Side, line: Line) -> Iterator[Link]:
    """A link from each aligned word of a text to its words in the other."""
    target: Side = "a" if source == "b" else "b"
    sure: dict[int, dict[int, bool]] = {}
    for pair in pairs:
        here, there = (pair.b, pair.a) if source == "b" else (pair.a, pair.b)
        words = sure.setdefault(here, {})
        words[there] = words.get(there, False) or pair.sure
    for here, words in sorted(sure.items()):
        yield Link(
            Span(here, here + 1, source),
            tuple(Span(word, word + 1, target) for word in sorted(words) if words[word]),
            f"{source} to {target}",
            possible=tuple(Span(word, word + 1, target) for word in sorted(words) if not words[word]),
            unit="words",
            place=line.source,
        )
