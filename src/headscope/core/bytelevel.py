"""Pieces of byte-level vocabularies as characters.

GPT-2 and those after it write each byte of a text as a letter of its own (``mÃ¼de`` is müde). A piece here says the
characters instead, ``Ġ`` stands for a space as in the vocabulary, and bytes that are part of a character are written
as tokenizers with byte fallback write them: ``<0xE2>``.

Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2 and the released code.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache


def _letters() -> dict[str, int]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + place): byte for place, byte in enumerate(others)
    }


LETTERS = _letters()
"""The letters by which vocabularies write bytes."""

_LETTER = {byte: letter for letter, byte in LETTERS.items()}
BYTES = re.compile("(?:<0x[0-9A-F]{2}>)+")
"""Bytes as they are written in a piece."""

_LONE = re.compile("[\udc80-\udcff]")  # what Python reads a byte as that is part of no character
_DOTTED = unicodedata.normalize("NFD", "Ġ")  # the letter with a dot that Maltese has, which is no mark


@lru_cache(maxsize=1 << 16)
def readable(piece: str) -> str:
    """The characters of a byte-level piece; one that has other letters than those of bytes is returned as it is.

    >>> readable("ĠmÃ¼de"), readable("âĢ")
    ('Ġmüde', '<0xE2><0x80>')
    """
    if piece.lstrip("Ġ").isascii():
        return piece
    try:
        raw = bytes(LETTERS[letter] for letter in piece)
    except KeyError:
        return piece
    return _characters(raw).replace("Ġ", _DOTTED).replace(" ", "Ġ")


def vocabulary_piece(piece: str) -> str:
    """The piece of the vocabulary that `readable` gives as `piece`."""
    text = piece.replace("Ġ", " ").replace(_DOTTED, "Ġ")
    text = BYTES.sub(lambda match: spelled(match[0]).decode("utf-8", "surrogateescape"), text)
    return "".join(_LETTER[byte] for byte in text.encode("utf-8", "surrogateescape"))


def is_raw(pieces: Sequence[str]) -> bool:
    """Whether pieces are a text in the letters of bytes, with another letter than ASCII and those of spaces, or ``Ċ``.

    ``č``, the letter of a carriage return, is the Czech one where nothing else says what it is.
    """
    others = set("".join(pieces)) - {"Ġ"}
    if all(letter.isascii() for letter in others):
        return False
    try:
        text = bytes(LETTERS[letter] for piece in pieces for letter in piece).decode()
    except (KeyError, UnicodeDecodeError):
        return False
    return not text.isascii() or all(letter.isascii() or letter == "Ċ" for letter in others)


def merged(text: str) -> str:
    """A text in which bytes that make characters together are those characters: ``<0xC3><0xBC>`` is ü."""
    return BYTES.sub(lambda match: _characters(spelled(match[0])), text)


def _characters(raw: bytes) -> str:
    """The characters that bytes make; those that are part of none are written as bytes."""
    text = raw.decode("utf-8", "surrogateescape")
    return _LONE.sub(lambda byte: f"<0x{ord(byte[0]) - 0xDC00:02X}>", text)


def spelled(pieces: str) -> bytes:
    """The bytes that pieces such as ``<0xE2>`` stand for.

    >>> spelled("<0xE2><0x80>")
    b'\\xe2\\x80'
    """
    return bytes.fromhex(re.sub("<0x|>", "", pieces))
