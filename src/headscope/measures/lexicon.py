"""What the words of an input are to each other: the same, related, of one text."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from headscope.core import words
from headscope.core.arrays import Bools, Ints
from headscope.core.tokens import Tokens, is_punctuation, is_space

STEM = 4
"""So many first letters two related words have in common, at least."""

ENDING = 3
"""So many letters each of two related words may have after the letters they have in common."""


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The words of one input.

    Attributes:
        text: 0 for text A, 1 for text B, -1 for special tokens, ``[token]``.
        place: the word that each piece is of, counted along the input, ``[token]``.
        kind: which word it is, in any case; -1 for special tokens, punctuation and spaces, ``[token]``.
        spoken: whether the piece is of a word at all: one with a piece that is neither punctuation nor a space (``▁``),
            ``[token]``.
        related: the kinds that are the same as or related to each kind.
    """

    text: Ints
    place: Ints
    kind: Ints
    spoken: Bools
    related: tuple[Ints, ...]


_known: WeakKeyDictionary[Tokens, Lexicon] = WeakKeyDictionary()


def lexicon(tokens: Tokens) -> Lexicon:
    """The words of an input. Where it carries no word ids, each piece is a word."""
    known = _known.get(tokens)
    if known is None:
        known = _known[tokens] = _read(tokens)
    return known


def texts(tokens: Tokens) -> Ints:
    """The text of each token, -1 for special tokens: as the tokenizer says, else B begins after a separator."""
    if tokens.sequence_ids is not None:
        text = tokens.sequence_ids.copy()
    else:
        separators = tokens.classes.get("sep", np.zeros(len(tokens), np.bool_)).astype(np.int64)
        text = np.minimum(np.cumsum(separators) - separators, 1)
    if tokens.special_mask is not None:
        text[tokens.special_mask] = -1
    return text


def are_related(one: str, other: str) -> bool:
    """Whether two words share a stem: the same first letters, at least four, and at most three more in each.

    A rule for languages that inflect at the end of words. It takes *walk*, *walked* and *walking* for related, but
    *contain* and *contact* as well, and misses *cat* and *cats*, *go* and *went*.
    """
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    return common >= STEM and one[:STEM].isalpha() and max(len(one), len(other)) - common <= ENDING


def _read(tokens: Tokens) -> Lexicon:
    text = texts(tokens)
    if tokens.word_ids is None:
        place, names = np.arange(len(tokens)), list(tokens.pieces)
    else:
        place, names = words.group(tokens), list(words.words(tokens).pieces)
    number: dict[str, int] = {}
    kinds = np.array([number.setdefault(name.casefold(), len(number)) for name in names], np.int64)
    kind = kinds[place] if len(place) else np.zeros(0, np.int64)
    punctuation = _punctuation(tokens)
    letters = ~punctuation & (text >= 0) & ~np.array([is_space(piece) for piece in tokens.pieces], np.bool_)
    spoken = (np.bincount(place, letters) > 0)[place]
    kind = np.where(punctuation | ~spoken, -1, kind)
    return Lexicon(text, place, kind, spoken, _related(list(number)))


def _punctuation(tokens: Tokens) -> Bools:
    if "punctuation" in tokens.classes:
        return tokens.classes["punctuation"]
    return np.array([is_punctuation(piece) for piece in tokens.pieces], np.bool_)


def _related(names: list[str]) -> tuple[Ints, ...]:
    """The related kinds of each kind, itself among them; only words with the same first letters are compared."""
    buckets: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        buckets.setdefault(name[:STEM], []).append(number)
    return tuple(
        np.array(
            [other for other in buckets[name[:STEM]] if other == number or are_related(name, names[other])],
            np.int64,
        )
        for number, name in enumerate(names)
    )
