"""The CoNLL-2012 shared task's files (OntoNotes): phrase structure and coreference in columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from headscope.corpora import collins
from headscope.corpora.corpus import Corpus
from headscope.corpora.entities import Brackets, Read, Unmatched, withheld
from headscope.corpora.example import Example
from headscope.corpora.files import Line, Paths, WordError
from headscope.deprecated import unused
from headscope.doors import validated
from headscope.errors import CorpusError

_LEAST = 12
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


@unused("skip_broken")
@validated
def conll2012(paths: Paths, *, strict: bool = False) -> Corpus:
    """CoNLL-2012 files (``*_conll``): one sentence an example, with heads, tags, features and mentions.

    Heads follow Collins' rules on the parse column (`headscope.corpora.collins`); relations are ``dep`` and ``root``.
    Tags are universal ones of the Penn tags (PRP and WP pronouns, NNP proper, NN nominal); number, person and gender
    are those of the tag or the pronoun. Each part of a document is a document.

    Broken sentences are left out and listed (`Corpus`), or, where it is `strict`, refused with a `CorpusError` that
    names file, line and sentence (``DOCUMENT/PART/NUMBER``, counted from 0): too few columns, brackets of the parse or
    of the coreference that do not match, and words that are numbered otherwise than from 0.

    >>> [(sentence.words, sentence.heads) for sentence in hs.corpora.conll2012("tale.v4_gold_conll")]
    [(['He', 'slept', '.'], [1, -1, 1])]
    """
    expected, part = "expected sentences, found none", "each part of a document"
    read = partial(_sentences, Unmatched(), strict)
    return Corpus.of_files(paths, read, strict=strict, expected=expected, documents=part)


def _sentences(told: Unmatched, strict: bool, lines: Iterable[Line]) -> Iterator[Callable[[], Example]]:
    with told.said() as unmatched:
        for block in _blocks(lines):
            yield partial(_sentence, *block, None if strict else unmatched)


def _blocks(lines: Iterable[Line]) -> Iterator[tuple[list[Line], int, int]]:
    """The lines of each sentence, the number of its document (−1 before any begins), and its number in it."""
    document, number, block = -1, 0, list[Line]()
    for line in lines:
        if line.text.strip() and not line.text.startswith("#"):
            block.append(line)
            continue
        if block:
            yield block, document, number
            block, number = [], number + 1
        if line.text.startswith("#begin"):
            document, number = document + 1, 0
    if block:
        yield block, document, number


def _sentence(
    block: Sequence[Line], document: int, position: int, unmatched: list[CorpusError] | None
) -> Example:
    rows: list[list[str]] = []
    name = "/".join([*block[0].text.split()[:2], str(position)])

    def fail(word: int, message: str) -> CorpusError:
        return CorpusError(block[word].path, block[word].number, f"sentence {name}: {message}")

    for number, line in enumerate(block):
        columns = line.text.split()
        if len(columns) < _LEAST:
            raise fail(number, f"expected at least {_LEAST} columns, found {len(columns)}")
        if columns[2] != str(number):
            raise fail(number, f"expected the word number {number}, found {columns[2]!r}")
        rows.append(columns)
    words = [row[3] for row in rows]
    if (why := withheld(words)) is not None:
        raise fail(0, why)
    penn = [row[4] for row in rows]
    try:
        heads = collins.heads(collins.read([row[5] for row in rows], penn), len(rows))
        mentions, wrong = _mentions([row[-1] for row in rows])
        if wrong and unmatched is None:
            raise wrong[0]
    except WordError as error:
        raise fail(error.word, str(error)) from None
    if unmatched is not None:
        unmatched += [fail(error.word, str(error)) for error in wrong]
    return Example(
        words=words,
        heads=heads,
        relations=["root" if head < 0 else "dep" for head in heads],
        tags=[_TAGS.get(tag, "X") for tag in penn],
        features=[_features(word, tag) for word, tag in zip(words, penn, strict=True)],
        mentions=mentions,
        document=max(document, 0),
        document_known=document >= 0,
        source=block[0].source,
        name=name,
    )


def _features(word: str, tag: str) -> Mapping[str, str]:
    if _TAGS.get(tag) == "PRON":
        features = next(
            (features for forms, features in _PRONOUNS.items() if word.lower() in forms.split()), ""
        )
        return dict(field.split("=") for field in features.split())
    return {"Number": _NUMBER[tag]} if tag in _NUMBER else {}


def _mentions(column: Sequence[str]) -> Read:
    """Mentions from ``(1``, ``1)`` and ``(1)``, parted by ``|``."""
    brackets = Brackets()
    for word, value in enumerate(column):
        for part in value.split("|") if value not in ("-", "_") else ():
            match = re.fullmatch(r"(\()?(\w+)(\))?", part)
            if match is None or not (match[1] or match[3]):
                raise WordError(word, f"expected coreference such as (1|2), found {value!r}")
            if match[1]:
                brackets.begin(match[2], word)
            if match[3]:
                brackets.end(match[2], word, value)
    return brackets.mentions()
