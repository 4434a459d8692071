"""Tokens of a sequence of letters: which of its letters each stands for, and what each letter gets."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np

from headscope.core.arrays import Floats, Ints
from headscope.core.media import Letters
from headscope.core.tokens import Tokens, strip_markers
from headscope.core.validation import Count, validated
from headscope.errors import InputError, ShapeError

_SEQUENCE = re.compile(r"[ACGTUNacgtun]{8,}|[A-Z*]{20,}")


def is_sequence(text: str) -> bool:
    """Whether a text is one word of nucleotides or residues, as files of FASTA have them."""
    return _SEQUENCE.fullmatch(text.strip()) is not None


@validated
def lettered(tokens: Tokens, *texts: str) -> Tokens:
    """Tokens with the letters of a sequence that each stands for, such as nucleotides or residues (`Letters`).

    Args:
        tokens: as a model's tokenizer made them.
        texts: what they were made of, one a chain: a text, or a text and its pair. Spaces are no letters. Words that
            each go on one letter after the one before (``AAT ATC TCT``) are k-mers that overlap, of one sequence.

    Raises `InputError` for tokens of which it is not known where they stand in their text.

    >>> tokens = hs.Tokens(["AAT", "ATC"], offsets=[(0, 3), (4, 7)], sequence_ids=[0, 0])
    >>> axis = hs.lettered(tokens, "AAT ATC")
    >>> axis.media[0].text, axis.places[1].tolist()
    ('AATC', [0.0, 1.0, 0.0, 4.0, 1.0])
    """
    if tokens.sequence_ids is None:
        raise InputError(
            "tokens: expected what a tokenizer made of texts, found none that says of which text it is"
        )
    places = np.full((len(tokens), 5), np.nan)
    media: list[Letters] = []
    for number, text in enumerate(texts):
        letters, at = _spelt(text)
        media.append(Letters(letters))
        end = 0
        for token in np.flatnonzero((tokens.sequence_ids == number) & ~tokens.special).tolist():
            if tokens.offsets is not None:
                begin, end = tokens.offsets[token].tolist()
            else:  # as of tokenizers in Python
                piece = strip_markers(tokens.pieces[token])
                begin = text.find(piece, end)
                end = begin + len(piece)
                if begin < 0:
                    raise InputError(f"tokens[{token}]: expected a piece of the text, found {piece!r}")
            here = at[begin:end]
            if (here >= 0).any():
                places[token] = number, here[here >= 0].min(), 0, here.max() + 1, 1
    return replace(tokens, media=media, places=places)


def _spelt(text: str) -> tuple[str, Ints]:
    """The letters of a text without its spaces, k-mers put together; and which of them each character is, -1: none."""
    words = text.split()
    size = len(words[0]) if words else 0
    overlap = len(words) > 1 and size > 1
    overlap = overlap and all(one[1:] == other[:-1] for one, other in pairwise(words))
    at = np.full(len(text), -1)
    place = word = 0
    for number, letter in enumerate(text):
        if not letter.isspace():
            at[number] = place
            place += 1
        elif overlap and number and not text[number - 1].isspace():
            word += 1
            place = word
    letters = words[0] + "".join(word[-1] for word in words[1:]) if overlap else "".join(words)
    return letters, at


@validated
def by_letter(tokens: Tokens, weights: Floats, chain: Count | None = None) -> Floats:
    """What each letter of a sequence gets: the mean over the tokens that cover it; NaN where none does.

    So DNABERT does it with the attention to k-mers that overlap (Ji et al. 2021, DNABERT-viz).

    Args:
        tokens: the keys, with places in letters (`lettered`).
        weights: ``[… token]``.
        chain: which sequence, counted from 1, where there are several.

    Returns ``[… letter]``.

    >>> hs.by_letter(hs.Stretches(hs.Letters("AATC"), [(0, 3), (1, 4)]), np.array([0.2, 0.6])).round(2).tolist()
    [0.2, 0.4, 0.4, 0.6]
    """
    chains = [number for number, medium in enumerate(tokens.media) if isinstance(medium, Letters)]
    if not chains or (len(chains) > 1 if chain is None else chain > len(chains)):
        known = f"{len(chains)}; give chain" if len(chains) > 1 else str(len(chains))
        wanted = "one sequence" if chain is None else f"sequence {chain}"
        raise InputError(f"tokens: expected places in {wanted} of letters, found {known}")
    number = chains[(chain or 1) - 1]
    medium = tokens.media[number]
    if weights.shape[-1:] != (len(tokens),) or tokens.places is None or not isinstance(medium, Letters):
        raise ShapeError(f"weights, axis token: expected {len(tokens)}, found shape {weights.shape}")
    letter = np.arange(len(medium.text))
    inside = (tokens.medium == number)[:, None]
    covers = inside & (tokens.places[:, 1, None] <= letter) & (letter < tokens.places[:, 3, None])
    count = covers.sum(0)
    return np.where(count > 0, weights @ covers / np.maximum(count, 1), np.nan)
