"""Heads of the words of a phrase-structure tree, by the rules of Collins (1999), appendix A."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from headscope.corpora.files import WordError

Side = Literal["left", "right"]

RULES: dict[str, tuple[Side, str]] = {
    "ADJP": ("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": ("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": ("right", "CC RB IN"),
    "FRAG": ("right", ""),
    "INTJ": ("left", ""),
    "LST": ("right", "LS :"),
    "NAC": ("left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": ("right", "IN TO VBG VBN RP FW"),
    "PRN": ("left", ""),
    "PRT": ("right", "RP"),
    "QP": ("left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": ("right", "VP NP ADVP ADJP PP"),
    "S": ("left", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": ("left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": ("left", "SQ S SINV SBARQ FRAG"),
    "SINV": ("left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": ("left", "VBZ VBD VBP VB MD VP SQ"),
    "UCP": ("right", ""),
    "VP": ("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": ("left", "CC WRB JJ ADJP"),
    "WHADVP": ("right", "CC WRB"),
    "WHNP": ("left", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": ("right", "IN TO FW"),
}
"""From which side the children of a phrase are searched, and for which labels, the first found in this order."""

_NOUN_PHRASES = ("NP", "NX", "NML")
_OF_NOUN_PHRASES: tuple[tuple[Side, str], ...] = (
    ("right", "NN NNP NNPS NNS NX NML POS JJR"),
    ("left", "NP"),
    ("right", "$ ADJP PRN"),
    ("right", "CD"),
    ("right", "JJ JJS RB QP"),
)
"""The same for noun phrases: the first child that has any label of a row, row by row."""

_MARKS = (".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP")


@dataclass
class Phrase:
    """A phrase, or a word where it has no children; `head` is the index of its head word."""

    label: str
    children: list[Phrase] = field(default_factory=list["Phrase"])
    head: int = -1


def read(bits: Sequence[str], tags: Sequence[str]) -> Phrase:
    """The tree of a sentence from CoNLL's parse bits, one a word, with ``*`` where the word stands.

    Raises `WordError` for brackets that do not match.
    """
    root = Phrase("TOP")
    open_ = [root]
    for word, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        if not re.fullmatch(r"(\([^()*\s]+)*\*\)*", bit):
            raise WordError(word, f"expected a parse bit such as (NP*) or *, found {bit!r}")
        for label in re.findall(r"\(([^()*]+)", bit):
            phrase = Phrase(re.split(r"[-=|]", label)[0])
            open_[-1].children.append(phrase)
            open_.append(phrase)
        open_[-1].children.append(Phrase(tag, head=word))
        for _ in range(bit.count(")")):
            if len(open_) == 1:
                raise WordError(word, f"expected an open phrase before ')', found none in {bit!r}")
            open_.pop()
    if len(open_) > 1:
        raise WordError(len(bits) - 1, f"expected the end of the phrase {open_[-1].label!r}, found none")
    return root


def heads(root: Phrase, count: int) -> list[int]:
    """The head of each word, −1 for the root: that of the smallest phrase around it whose head it is not."""
    governors = [-1] * count
    _fill(root, governors)
    return governors


def _fill(phrase: Phrase, governors: list[int]) -> None:
    for child in phrase.children:
        _fill(child, governors)
    if phrase.children:
        phrase.head = head_child(phrase).head
        for child in phrase.children:
            if child.head != phrase.head:
                governors[child.head] = phrase.head


def head_child(phrase: Phrase) -> Phrase:
    """The child that has the head of a phrase. Punctuation is passed over where there is anything else."""
    children = [child for child in phrase.children if child.label not in _MARKS] or phrase.children
    last = len(children) - 1
    if phrase.label not in _NOUN_PHRASES:
        side, labels = RULES.get(phrase.label, ("left", ""))
        index = _first(children, [(side, label) for label in labels.split()])
        index = index if index is not None else last if side == "right" else 0
    elif children[last].label == "POS":
        index = last
    else:
        index = _first(children, _OF_NOUN_PHRASES)
        index = last if index is None else index
    if index >= 2 and children[index - 1].label in ("CC", "CONJP"):  # of "a and b" the head is in a
        return children[index - 2]
    return children[index]


def _first(children: Sequence[Phrase], searches: Sequence[tuple[Side, str]]) -> int | None:
    """The first child, from one side, with one of some labels; the searches follow one another."""
    for side, labels in searches:
        allowed, places = labels.split(), range(len(children))
        for index in places if side == "left" else reversed(places):
            if children[index].label in allowed:
                return index
    return None
