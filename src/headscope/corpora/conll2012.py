"""Coreference in columns: the CoNLL-2012 shared task's files (OntoNotes, LitBank), and GUM's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import unescape
from itertools import chain
from typing import NamedTuple

from headscope.core.validation import validated
from headscope.corpora import collins
from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Brackets, Example, Read, Unmatched, withheld
from headscope.corpora.files import Line, Paths, WordError
from headscope.corpora.held import BEGIN
from headscope.corpora.treebank import MOST_WORDS, expect_end
from headscope.errors import CorpusError

_LEAST = 12
_BARE = 3  # columns of files without tags and parses
_NOTHING = ("", "-", "_", "*")
_MARKS = (".", "!", "?", "…", "...")
_CLOSING = (*_MARKS, '"', "'", "''", "”", "’", ")", "]", "&quot;")
_NUMBER_OF = re.compile("[0-9]{1,9}")
_BRACKET = re.compile(r"(\()?([^()|\s]+)(\))?")
_TAGS: Mapping[str, str] = {
    **dict.fromkeys(("PRP", "PRP$", "WP", "WP$", "EX"), "PRON"),
    **dict.fromkeys(("NNP", "NNPS"), "PROPN"),
    **dict.fromkeys(("NN", "NNS"), "NOUN"),
    **dict.fromkeys((".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"), "PUNCT"),
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), "VERB"),
    **dict.fromkeys(("JJ", "JJR", "JJS"), "ADJ"),
    **dict.fromkeys(("RB", "RBR", "RBS", "WRB"), "ADV"),
    **dict.fromkeys(("DT", "PDT", "WDT"), "DET"),
    **dict.fromkeys(("IN", "RP"), "ADP"),
    "CC": "CCONJ",
    "CD": "NUM",
    "MD": "AUX",
    "TO": "PART",
    "POS": "PART",
    "UH": "INTJ",
}
_PRONOUNS: Mapping[str, str] = {
    "i me my mine myself": "Number=Sing Person=1",
    "we us our ours ourselves": "Number=Plur Person=1",
    "you your yours yourself yourselves": "Person=2",
    "he him his himself": "Number=Sing Person=3 Gender=Masc",
    "she her hers herself": "Number=Sing Person=3 Gender=Fem",
    "it its itself": "Number=Sing Person=3 Gender=Neut",
    "they them their theirs themselves": "Number=Plur Person=3",
}
_NUMBER: Mapping[str, str] = {"NN": "Sing", "NNP": "Sing", "NNS": "Plur", "NNPS": "Plur"}


@validated
def conll2012(paths: Paths, *, strict: bool = False) -> Corpus:
    """Coreference in columns, as CoNLL-2012 has it (``*_conll``): one sentence an example, each part of a document one.

    Of OntoNotes with heads, tags, features and mentions: heads follow Collins' rules on the parse column
    (`headscope.corpora.collins`); relations are ``dep`` and ``root``. Tags are universal ones of the Penn tags (PRP and
    WP pronouns, NNP proper, NN nominal); number, person and gender are those of the tag or the pronoun. Where the
    columns of parses or of tags are empty (LitBank), there are no heads, or no tags.

    Files of three columns (number, word, brackets: GUM's and OntoGUM's ``.conll``) have neither, and no sentences:
    these are taken to end with a full stop, a question or an exclamation mark outside of mentions.

    Broken sentences are left out and listed (`Corpus`), or, where it is `strict`, refused with a `CorpusError` that
    names file, line and sentence (``DOCUMENT/PART/NUMBER``, counted from 0): too few columns, brackets of the parse
    that do not match, words that are numbered otherwise than from 0, and words that were withheld (``[WORD]``). A
    mention that does not begin and end in one sentence is left out, which is said, or its sentence refused.

    >>> [(sentence.words, sentence.heads) for sentence in hs.corpora.conll2012("tale.v4_gold_conll")]
    [(['He', 'slept', '.'], [1, -1, 1])]
    """
    expected, part = "expected sentences, found none", "each part of a document"
    read = partial(_sentences, Unmatched(), strict)
    return Corpus.of_files(paths, read, strict=strict, expected=expected, documents=part)


def pronoun(word: str) -> Mapping[str, str] | None:
    """The features of an English pronoun; None for another word."""
    known = next((features for forms, features in _PRONOUNS.items() if word.lower() in forms.split()), None)
    return None if known is None else dict(feature.split("=") for feature in known.split())


class _Block(NamedTuple):
    """The lines of a sentence.

    Attributes:
        lines: one a word.
        document: the number of its document, −1 before any begins.
        place: its number in it.
        title: what the document is called.
    """

    lines: Sequence[Line]
    document: int
    place: int
    title: str


def _sentences(notice: Unmatched, strict: bool, lines: Iterable[Line]) -> Iterator[Callable[[], Example]]:
    with notice.collected() as unmatched:
        for block in _blocks(lines):
            yield partial(_sentence, block, None if strict else unmatched)


def _blocks(lines: Iterable[Line]) -> Iterator[_Block]:
    document, place, title, block = -1, 0, "", list[Line]()
    for line in chain(lines, [Line("", 0, "")]):
        if line.text.strip() and not line.text.startswith("#") and (not block or line.path == block[0].path):
            expect_end(block)
            block.append(line)
            continue
        for part in _parts(block):
            yield _Block(part, document, place, title)
            place += 1
        block = [line] if line.text.strip() and not line.text.startswith("#") else []
        if begins := BEGIN.match(line.text):
            document, place, title = document + 1, 0, begins[1].strip(" ()")


def _columns(line: Line) -> list[str]:
    """The columns of a line: parted by tabs where there are some."""
    return [column.strip() for column in line.text.split("\t")] if "\t" in line.text else line.text.split()


def _parts(block: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """The sentences of lines that no blank one parts: of three columns they end with a mark, outside of mentions."""
    start = depth = 0
    ended = False
    for place, line in enumerate(block):
        columns = _columns(line)
        if len(columns) != _BARE:
            continue
        if ended and columns[1] not in _CLOSING:
            yield block[start:place]
            start, ended = place, False
        depth = max(0, depth + columns[2].count("(") - columns[2].count(")"))
        ended = not depth and (ended or columns[1] in _MARKS)
    if block:
        yield block[start:]


def _sentence(block: _Block, unmatched: list[CorpusError] | None) -> Example:
    lines = block.lines
    rows = [_columns(line) for line in lines]
    bare = len(rows[0]) == _BARE
    name = "/".join([*([block.title] if bare else rows[0][:2]), str(block.place)])

    def fail(word: int, message: str) -> CorpusError:
        return CorpusError(lines[word].path, lines[word].number, f"sentence {name}: {message}")

    if len(rows) > MOST_WORDS:
        raise fail(0, f"expected at most {MOST_WORDS:,} lines in a sentence, found {len(rows):,}")
    first, expected = (
        (rows[0][0] if bare else "0"),
        f"{_BARE} columns" if bare else f"at least {_LEAST} columns",
    )
    for number, columns in enumerate(rows):
        if len(columns) != _BARE if bare else len(columns) < _LEAST:
            raise fail(number, f"expected {expected}, found {len(columns)}")
        word_number = columns[0 if bare else 2]
        if not _NUMBER_OF.fullmatch(first) or word_number != str(int(first) + number):
            wanted = int(first) + number if _NUMBER_OF.fullmatch(first) else "of a word"
            raise fail(number, f"expected the word number {wanted}, found {word_number!r}")
        if not columns[1 if bare else 3]:
            raise fail(number, "expected a word, found none")
    words = [unescape(columns[1]) if bare else columns[3] for columns in rows]
    if (why := withheld(words)) is not None:
        raise fail(0, why)
    penn = [] if bare else [columns[4] for columns in rows]
    bits = [] if bare else [columns[5] for columns in rows]
    try:
        tagged, parsed = _given(penn), _given(bits)
        heads = collins.heads(collins.read(bits, penn), len(rows)) if parsed else None
        mentions, wrong = _mentions([columns[-1] for columns in rows])
        if wrong and unmatched is None:
            raise wrong[0]
    except WordError as error:
        raise fail(error.word, str(error)) from None
    if unmatched is not None:
        unmatched.extend(fail(error.word, str(error)) for error in wrong)
    return Example(
        words=words,
        heads=heads,
        relations=None if heads is None else ["root" if head < 0 else "dep" for head in heads],
        tags=[_TAGS.get(tag, "X") for tag in penn] if tagged else None,
        features=[_features(word, tag) for word, tag in zip(words, penn, strict=True)] if tagged else None,
        mentions=mentions,
        document=max(block.document, 0),
        document_known=block.document >= 0,
        source=lines[0].source,
        name=name,
    )


def _given(column: Sequence[str]) -> bool:
    """Whether a column says something of a word or another."""
    return any(value not in _NOTHING for value in column)


def _features(word: str, tag: str) -> Mapping[str, str]:
    if _TAGS.get(tag) == "PRON":
        return pronoun(word) or {}
    return {"Number": _NUMBER[tag]} if tag in _NUMBER else {}


def _mentions(column: Sequence[str]) -> Read:
    """Mentions from ``(1``, ``1)`` and ``(1)``, parted by ``|`` or by nothing."""
    brackets = Brackets()
    for word, value in enumerate(column):
        for part in value.split("|") if value not in _NOTHING else ():
            matches = list(_BRACKET.finditer(part))
            matched = "".join(match[0] for match in matches)
            if not matches or matched != part or not all(match[1] or match[3] for match in matches):
                raise WordError(word, f"expected coreference such as (1|2), found {value!r}")
            for match in matches:
                if match[1]:
                    brackets.begin(match[2], word)
                if match[3]:
                    brackets.end(match[2], word, value)
    return brackets.mentions()
