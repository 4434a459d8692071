"""Pictures, sounds and other media within a text: the tokens of each as one, or each token on its own.

To a picture the attention is the sum over its tokens, from it the mean: as with words.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

import numpy as np

from headscope.core import words as _words
from headscope.core.arrays import AnyFloats, Bools, Ints
from headscope.core.media import KINDS, called
from headscope.core.tokens import Tokens


def within(tokens: Tokens) -> Bools:
    """The tokens that stand for a part of a picture, a sound or another medium, and those between them."""
    return _media(tokens) >= 0


def _media(tokens: Tokens) -> Ints:
    """The medium that each token is within: a token that ends a row of patches is within their picture."""
    numbers = tokens.medium.copy()
    image = tokens.classes.get("image", np.zeros(len(tokens), np.bool_))
    for place in np.flatnonzero(image & (numbers < 0)).tolist():
        numbers[place] = numbers[place - 1] if place else -1
    return numbers


def special(tokens: Tokens) -> Bools:
    """The special tokens, those aside that stand for a part of a medium."""
    return tokens.special & ~within(tokens)


def reading(tokens: Tokens) -> Bools | None:
    """The tokens of the text around media; None for an axis that is all text, or none."""
    text = ~within(tokens) & ~special(tokens)
    return text if text.any() and not text.all() and within(tokens).any() else None


def pictures(tokens: Tokens) -> list[tuple[int, int]]:
    """Where each picture, or other medium, within a text begins, and what follows it: tokens in a row are of one."""
    if reading(tokens) is None:
        return []
    medium = _media(tokens)
    edges = [0, *(np.flatnonzero(np.diff(medium)) + 1).tolist(), len(tokens)]
    return [(start, end) for start, end in pairwise(edges) if medium[start] >= 0]


def groups(tokens: Tokens, *, words: bool, unfolded: Collection[int] | None) -> Ints:
    """What each token is shown as part of, counted from 0: itself, its word or its picture.

    Args:
        tokens: the axis.
        words: whether pieces are put together into words, where the axis knows them.
        unfolded: the pictures whose tokens stand on their own, by their number; None: all.
    """
    alone = np.arange(len(tokens))
    number = _words.group(tokens) if words and tokens.word_ids is not None else alone
    starts = np.diff(number, prepend=-1) != 0
    for place, (start, end) in enumerate(pictures(tokens)):
        if unfolded is not None and place not in unfolded:
            starts[start:end] = alone[start:end] == start
            starts[end : end + 1] = True
    return np.cumsum(starts) - 1


def name(tokens: Tokens, place: int) -> str:
    """What a picture within a text is called: ``picture``, of several its name or ``picture 2``; other media alike."""
    numbers = [int(tokens.medium[start]) for start, _ in pictures(tokens)]
    kind = KINDS[type(tokens.media[numbers[place]])]
    names = [called(tokens.media[number], number) for number in numbers]
    if len(names) == 1:
        return kind
    return names[place] if len({*names}) == len(names) else f"{kind} {place + 1}"


def merged(layer: AnyFloats, query: Ints, key: Ints) -> AnyFloats:
    """Maps ``[head query key]`` from tokens to what they are shown as."""
    first = [np.unique(number, return_index=True)[1] for number in (query, key)]
    to = np.add.reduceat(layer, first[1], -1)
    return np.add.reduceat(to, first[0], -2) / np.bincount(query)[:, None]
