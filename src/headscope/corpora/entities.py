"""Coreference written as brackets: in CoNLL-U's MISC column (``Entity=``: CorefUD, GUM, OntoGUM), and in columns."""

from __future__ import annotations

import re
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from headscope.core.failures import Bounded
from headscope.corpora.example import Mention
from headscope.corpora.files import WordError
from headscope.errors import CorpusError, HeadscopeWarning

_BRACKET = re.compile(r"\(([^()]+)(\)?)|([^()]+)\)")
_PART = re.compile(r"\[[0-9]{1,9}/[0-9]{1,9}\]$")


Read = tuple[list[Mention], list[WordError]]
"""Mentions in the order in which they open, and what is wrong with the brackets of those that are left out."""


def mentions(entities: Sequence[tuple[int, int, str]], layout: str | None) -> Read:
    """The mentions of one sentence.

    Args:
        entities: what ``Entity=`` says of each word, and from which word up to which that is: nothing for empty nodes,
            so that a mention of empty nodes alone is of no word, and is passed over.
        layout: what ``# global.Entity`` says: names parted by ``-``, of which ``eid`` (or ``GRP``) is the cluster.

    A mention of several parts (``[1/2]``) is read as the words from its first part to its last. One that does not begin
    and end in the sentence is left out. Raises `WordError` for what is no bracket, and where it cannot be told what of
    it is the cluster.
    """
    field = _place(layout)
    brackets = Brackets("Entity: ")
    for start, end, value in entities:
        rest = value if value != "_" else ""
        for match in _BRACKET.finditer(rest):
            rest = rest.replace(match[0], "", 1)
            name = match[1] or match[3]
            if match[1] and field is None and "-" in name:
                wrong = (
                    f"eid or GRP in '# global.Entity = {layout}'"
                    if layout
                    else f"'# global.Entity' before ({name}"
                )
                raise WordError(start, f"Entity: expected {wrong}, as it says what of it is the cluster")
            entity = _entity(name, field)
            if match[1]:
                brackets.begin(entity, start)
            if match[3] or match[2]:
                brackets.end(entity, end - 1, value)
        if rest:
            raise WordError(start, f"Entity: expected brackets such as (e1 or e1), found {value!r}")
    spans, wrong = brackets.mentions()
    return _joined([mention for mention in spans if mention.start < mention.end], wrong), wrong


class Brackets:
    """Brackets around the mentions of one sentence, as they are read word by word.

    Attributes:
        wrong: what is wrong with those that have no partner; messages begin with `where`.
    """

    def __init__(self, where: str = "") -> None:
        self._where = where
        self._open: dict[str, list[int]] = {}
        self._mentions: list[Mention | None] = []
        self._starts: list[int] = []
        self.wrong: list[WordError] = []

    def begin(self, cluster: str, word: int) -> None:
        """A mention of a cluster begins at a word."""
        self._open.setdefault(cluster, []).append(len(self._starts))
        self._starts.append(word)
        self._mentions.append(None)

    def end(self, cluster: str, word: int, value: str) -> None:
        """The last mention of a cluster that began ends with a word, as `value` says."""
        if not self._open.get(cluster):
            message = f"{self._where}expected an open bracket of {cluster!r}, found its end in {value!r}"
            self.wrong.append(WordError(max(word, 0), message))
            return
        number = self._open[cluster].pop()
        self._mentions[number] = Mention(self._starts[number], word + 1, cluster)

    def mentions(self) -> Read:
        """The mentions in the order in which they begin, and what is wrong."""
        for cluster, numbers in self._open.items():
            for number in numbers:
                message = f"{self._where}expected the end of {cluster!r} in the same sentence, found none"
                self.wrong.append(WordError(self._starts[number], message))
        return [mention for mention in self._mentions if mention is not None], self.wrong


class Unmatched:
    """Says once of a corpus which brackets have no partner in their sentence."""

    def __init__(self) -> None:
        self._warned = False

    @contextmanager
    def collected(self) -> Generator[list[CorpusError]]:
        """Give a list for what is found in a pass, and warn of it at the end, which may come early."""
        errors = Bounded[CorpusError]()
        try:
            yield errors
        finally:
            if errors and not self._warned:
                self._warned = True
                warnings.warn(
                    f"left out the mentions of {errors.number:,} brackets that have no partner in their sentence, the "
                    f"first: {errors[0]}",
                    HeadscopeWarning,
                    stacklevel=2,
                )


def withheld(words: Sequence[str]) -> str | None:
    """What is wrong where the words of a sentence are placeholders: a corpus that is shared without its texts."""
    blank = all(word == "[WORD]" or not word.strip("_") for word in words)
    if not blank or (len(words) == 1 and words[0] not in ("_", "[WORD]")):  # a rule, as mails have it
        return None
    return (
        f"expected words, found {words[0]} alone: the texts were withheld, and have to be put in their places"
    )


def _place(layout: str | None) -> int | None:
    names = (layout or "").strip().split("-")
    return next((names.index(name) for name in ("eid", "GRP") if name in names), None)


def _entity(name: str, field: int | None) -> str:
    """The cluster of a bracket, with the part of a mention of several parts."""
    if field is None:
        return name
    parts = name.split("-")
    return parts[field] if field < len(parts) else parts[0]


def _joined(mentions: Sequence[Mention], wrong: list[WordError]) -> list[Mention]:
    """Mentions of several parts as one, from the first part to the last."""
    joined: list[Mention] = []
    pending: dict[str, int] = {}
    for mention in mentions:
        part = _PART.search(mention.cluster)
        if part is None:
            joined.append(mention)
            continue
        number, total = map(int, part[0][1:-1].split("/"))
        cluster = mention.cluster[: part.start()]
        if number == 1:
            pending[cluster] = len(joined)
            joined.append(Mention(mention.start, mention.end, cluster))
        elif cluster in pending:
            first = joined[pending[cluster]]
            joined[pending[cluster]] = Mention(first.start, mention.end, cluster)
            if number == total:
                del pending[cluster]
        else:
            message = f"Entity: expected the first part of {cluster!r} before part {number}"
            wrong.append(WordError(mention.start, message))
    return joined
