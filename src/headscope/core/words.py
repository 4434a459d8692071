"""From word pieces to words: attention to a word is the sum over its pieces, attention from it the mean.

Source: Clark et al. 2019, section 4.1. The released code takes the row of a word's first piece instead of the
mean; `rows="first"` does the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.bytelevel import merged
from headscope.core.media import covering
from headscope.core.tokens import Tokens, is_space, strip_markers
from headscope.errors import InputError

Rows = Literal["mean", "first"]


def group(tokens: Tokens) -> Ints:
    """The word that each piece belongs to, counted from 0 along the axis; special tokens are words of their own.

    Raises `InputError` where the tokens carry no word ids.
    """
    if tokens.word_ids is None:
        raise InputError("words: these tokens have no word_ids; give them, or use a fast tokenizer")
    sequence = tokens.sequence_ids if tokens.sequence_ids is not None else np.zeros(len(tokens), np.int64)
    word = tokens.word_ids
    starts = np.ones(len(tokens), bool)
    starts[1:] = (word[1:] != word[:-1]) | (sequence[1:] != sequence[:-1]) | (word[1:] < 0)
    return np.cumsum(starts) - 1


def matrix(tokens: Tokens, rows: Rows = "mean") -> tuple[Floats, Floats]:
    """The two matrices that turn pieces into words: ``from_pieces @ weights @ to_words``.

    Returns ``from_pieces [word piece]`` (mean, or the first piece) and ``to_words [piece word]`` (sum).
    """
    word = group(tokens)
    to_words = np.zeros((len(tokens), int(word[-1]) + 1 if len(word) else 0))
    to_words[np.arange(len(tokens)), word] = 1.0
    if rows == "mean":
        return to_words.T / to_words.sum(0)[:, None], to_words
    first = np.zeros_like(to_words.T)
    first[np.arange(to_words.shape[1]), to_words.argmax(0)] = 1.0
    return first, to_words


def words(tokens: Tokens) -> Tokens:
    """The axis of words: pieces joined, ids dropped, classes kept where every piece of a word has them, those aside
    that stand for the space before it. A word of frames has their stretch of time, a patch is a word of its own.
    """
    word = group(tokens)
    pieces: list[list[str]] = [[] for _ in range(int(word[-1]) + 1 if len(word) else 0)]
    for piece, number in zip(tokens.pieces, word, strict=True):
        pieces[int(number)].append(piece)
    first = np.unique(word, return_index=True)[1]
    last = np.append(first[1:], len(tokens)) - 1
    offsets = tokens.offsets
    mute = silent(tokens, word)
    return replace(
        tokens.take(first),
        pieces=[joined(word_pieces) for word_pieces in pieces],
        ids=None,
        type_ids=None,
        offsets=None if offsets is None else np.stack([offsets[first, 0], offsets[last, 1]], -1),
        classes={name: np.logical_and.reduceat(mask | mute, first) for name, mask in tokens.classes.items()}
        if len(first)
        else {},
        texts=None
        if tokens.texts is None
        else [
            "".join(tokens.texts[start : end + 1])
            for start, end in zip(first.tolist(), last.tolist(), strict=True)
        ],
        places=None if tokens.places is None else covering(tokens.places, word),
    )


def joined(pieces: Sequence[str]) -> str:
    """A word from its pieces: ``▁ D on`` is ``Don``, ``play ##ing`` is ``playing``, ``<0xC3> <0xBC>`` is ``ü``."""
    spoken = [piece for piece in pieces if not is_space(piece)]
    return merged("".join(map(strip_markers, spoken or pieces)))


def silent(tokens: Tokens, word: Ints) -> Bools:
    """Pieces that stand for the space before a word, of which other pieces say what it is, ``[token]``.

    Args:
        tokens: the axis.
        word: the word that each piece belongs to (`group`).
    """
    spaces = np.array([is_space(piece) for piece in tokens.pieces], np.bool_)
    return spaces & (np.bincount(word, ~spaces) > 0)[word]
