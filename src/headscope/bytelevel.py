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
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + place): byte for place, byte in enumerate(others)}


LETTERS = _letters()
"""The letters by which vocabularies write bytes."""

_LETTER = {byte: letter for letter, byte in LETTERS.items()}
_BYTES = re.compile("(?:<0x[0-9A-F]{2}>)+")
_LONE = re.compile("[\udc80-\udcff]")  # what Python reads a byte as that is part of no character
_DOTTED = unicodedata.normalize(
    "NFD", "Ġ"
)  # the letter G with a dot, as Maltese has it, which is no mark here


@lru_cache(maxsize=1 << 16)
def readable(piece: str) -> str:
    """The characters of a byte-level piece; one that has other letters than those of bytes is returned as it is.

    >>> readable("ĠmÃ¼de"), readable("âĢ")
    ('Ġmüde', '<0xE2><0x80>')
    """
    if piece.lstrip("Ġ").isascii():
        return piece
    try:
        text = bytes(LETTERS[letter] for letter in piece).decode("utf-8", "surrogateescape")
    except KeyError:
        return piece
    text = text.replace("Ġ", _DOTTED).replace(" ", "Ġ")
    return _LONE.sub(lambda found: f"<0x{ord(found[0]) - 0xDC00:02X}>", text)


def vocabulary_piece(piece: str) -> str:
    """The piece of the vocabulary that `readable` gives as `piece`."""
    text = piece.replace("Ġ", " ").replace(_DOTTED, "Ġ")
    text = _BYTES.sub(lambda found: _spelled(found[0]).decode("utf-8", "surrogateescape"), text)
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
    if "<0x" not in text:
        return text

    def whole(found: re.Match[str]) -> str:
        read = _spelled(found[0]).decode("utf-8", "surrogateescape")
        return _LONE.sub(lambda byte: f"<0x{ord(byte[0]) - 0xDC00:02X}>", read)

    return _BYTES.sub(whole, text)


def _spelled(pieces: str) -> bytes:
    return bytes.fromhex(re.sub("<0x|>", "", pieces))
