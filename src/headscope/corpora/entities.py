"""Coreference written as brackets in CoNLL-U's MISC column (``Entity=``: CorefUD, GUM, OntoGUM)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from headscope.corpora.example import Mention
from headscope.corpora.files import WordError

_BRACKET = re.compile(r"\(([^()]+)(\)?)|([^()]+)\)")
_PART = re.compile(r"\[\d+/\d+\]$")


def mentions(misc: Sequence[Mapping[str, str]], layout: str | None) -> list[Mention]:
    """The mentions of one sentence, in the order in which they open.

    Args:
        misc: the MISC column of each word.
        layout: what ``# global.Entity`` says: names parted by ``-``, of which ``eid`` (or ``GRP``) is the cluster.

    A mention of several parts (``[1/2]``) is read as the words from its first part to its last.
    Raises `WordError` for brackets that do not match.
    """
    field = _place(layout)
    brackets = Brackets("Entity: ")
    for word, fields in enumerate(misc):
        value = fields.get("Entity", "")
        rest = value
        for match in _BRACKET.finditer(value):
            rest = rest.replace(match[0], "", 1)
            name = match[1] or match[3]
            entity = _entity(name, field if match[1] else None)
            if match[1]:
                brackets.begin(entity, word)
            if match[3] or match[2]:
                brackets.end(entity, word, value)
        if rest:
            raise WordError(word, f"Entity: expected brackets such as (e1 or e1), found {value!r}")
    return _joined(brackets.mentions())


class Brackets:
    """Brackets around the mentions of one sentence, as they are read word by word.

    Raises `WordError`, whose message begins with `where`, for brackets that do not match.
    """

    def __init__(self, where: str = "") -> None:
        self._where = where
        self._open: dict[str, list[int]] = {}
        self._mentions: list[Mention | None] = []
        self._starts: list[int] = []

    def begin(self, cluster: str, word: int) -> None:
        """A mention of a cluster begins at a word."""
        self._open.setdefault(cluster, []).append(len(self._starts))
        self._starts.append(word)
        self._mentions.append(None)

    def end(self, cluster: str, word: int, value: str) -> None:
        """The last mention of a cluster that began ends with a word, as `value` says."""
        if not self._open.get(cluster):
            raise WordError(
                word, f"{self._where}expected an open bracket of {cluster!r}, found its end in {value!r}"
            )
        number = self._open[cluster].pop()
        self._mentions[number] = Mention(self._starts[number], word + 1, cluster)

    def mentions(self) -> list[Mention]:
        """The mentions in the order in which they begin."""
        for cluster, numbers in self._open.items():
            if numbers:
                raise WordError(
                    self._starts[numbers[-1]],
                    f"{self._where}expected the end of {cluster!r} in the same sentence, found none",
                )
        return [mention for mention in self._mentions if mention is not None]


def _place(layout: str | None) -> int:
    names = (layout or "").strip().split("-")
    return next((names.index(name) for name in ("eid", "GRP") if name in names), 0)


def _entity(name: str, field: int | None) -> str:
    """The cluster of a bracket, with the part of a mention of several parts."""
    if field is None:
        return name
    parts = name.split("-")
    return parts[field] if field < len(parts) else parts[0]


def _joined(mentions: Sequence[Mention]) -> list[Mention]:
    """Mentions of several parts as one, from the first part to the last."""
    whole: list[Mention] = []
    pending: dict[str, int] = {}
    for mention in mentions:
        part = _PART.search(mention.cluster)
        if part is None:
            whole.append(mention)
            continue
        number, total = map(int, part[0][1:-1].split("/"))
        cluster = mention.cluster[: part.start()]
        if number == 1:
            pending[cluster] = len(whole)
            whole.append(Mention(mention.start, mention.end, cluster))
        elif cluster in pending:
            first = whole[pending[cluster]]
            whole[pending[cluster]] = Mention(first.start, mention.end, cluster)
            if number == total:
                del pending[cluster]
        else:
            raise WordError(
                mention.start, f"Entity: expected the first part of {cluster!r} before part {number}"
            )
    return whole
