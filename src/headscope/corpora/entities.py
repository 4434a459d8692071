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
    open_: dict[str, list[tuple[int, int]]] = {}
    found: list[tuple[int, Mention]] = []
    count = 0
    for word, fields in enumerate(misc):
        value = fields.get("Entity", "")
        rest = value
        for match in _BRACKET.finditer(value):
            rest = rest.replace(match[0], "", 1)
            name = match[1] or match[3]
            entity = _entity(name, field if match[1] else None)
            if match[1]:
                open_.setdefault(entity, []).append((count, word))
                count += 1
            if match[3] or match[2]:
                if not open_.get(entity):
                    raise WordError(
                        word, f"Entity: expected an open bracket of {entity!r}, found its end in {value!r}"
                    )
                order, start = open_[entity].pop()
                found.append((order, Mention(start, word + 1, entity)))
        if rest:
            raise WordError(word, f"Entity: expected brackets such as (e1 or e1), found {value!r}")
    for entity, starts in open_.items():
        if starts:
            raise WordError(
                starts[-1][1], f"Entity: expected the end of {entity!r} in the same sentence, found none"
            )
    return _joined([mention for _, mention in sorted(found, key=lambda pair: pair[0])])


def _place(layout: str | None) -> int:
    names = (layout or "").strip().split("-")
    return next((names.index(name) for name in ("eid", "GRP") if name in names), 0)


def _entity(name: str, field: int | None) -> str:
    """The cluster of a bracket, with the part of a mention of several parts."""
    if field is None:
        return name
    parts = name.split("-")
    return parts[field] if field < len(parts) else parts[0]


def _joined(found: Sequence[Mention]) -> list[Mention]:
    """Mentions of several parts as one, from the first part to the last."""
    whole: list[Mention] = []
    pending: dict[str, int] = {}
    for mention in found:
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
