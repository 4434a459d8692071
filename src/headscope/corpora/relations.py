"""What the labels of dependency relations mean: the dependent and its head, in words."""

from __future__ import annotations

_WORDS = {
    "acl": "clause → noun",
    "acl:relcl": "relative clause → noun",
    "advcl": "adverbial clause → verb",
    "advmod": "adverb → what it modifies",
    "amod": "adjective → noun",
    "appos": "apposition → noun",
    "aux": "auxiliary → verb",
    "aux:pass": "passive auxiliary → verb",
    "case": "preposition → noun",
    "cc": "conjunction → second conjunct",
    "ccomp": "complement clause → verb",
    "clf": "classifier → numeral",
    "compound": "part of a compound → noun",
    "compound:prt": "particle → verb",
    "conj": "conjunct → first conjunct",
    "cop": "copula → predicate",
    "csubj": "subject clause → verb",
    "det": "determiner → noun",
    "discourse": "interjection → clause",
    "dislocated": "dislocated part → clause",
    "expl": "expletive → verb",
    "fixed": "part of a fixed phrase → its first word",
    "flat": "part of a name → its first word",
    "goeswith": "part of a split word → its first part",
    "iobj": "indirect object → verb",
    "list": "item → first item",
    "mark": "subordinator → clause",
    "nmod": "noun modifier → noun",
    "nmod:poss": "possessor → noun",
    "nsubj": "subject → verb",
    "nsubj:pass": "passive subject → verb",
    "nummod": "number → noun",
    "obj": "object → verb",
    "obl": "oblique → verb",
    "obl:agent": "agent → passive verb",
    "orphan": "remnant → promoted word",
    "parataxis": "side clause → clause",
    "punct": "punctuation → its head",
    "reparandum": "slip → its repair",
    "vocative": "vocative → clause",
    "xcomp": "open complement → verb",
}
"""Relations of Universal Dependencies; a subtype that is not named means what its relation does."""


def meaning(label: str) -> str | None:
    """What a label means; None for one that is not of Universal Dependencies.

    >>> meaning("obj"), meaning("obl:tmod"), meaning("X")
    ('object → verb', 'oblique → verb', None)
    """
    return _WORDS.get(label) or _WORDS.get(label.partition(":")[0])


def in_words(label: str) -> str:
    """A label with what it means, as a reader is told it.

    >>> in_words("obj"), in_words("X")
    ('obj (object → verb)', 'X')
    """
    words = meaning(label)
    return f"{label} ({words})" if words else label
