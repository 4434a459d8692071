"""The labelled axis of an attention map."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.bytelevel import is_raw, readable
from headscope.core.media import Letters, Medium, Picture, Series, Sound
from headscope.core.types import AnyDict
from headscope.core.validation import expect, validated
from headscope.errors import InputError, ShapeError

Kind = Literal["text", "images", "sounds"]
"""What a corpus is of."""

WHAT: Mapping[Kind, str] = {"text": "texts", "images": "pictures", "sounds": "sounds"}
"""What its inputs are called."""

FIELDS: Mapping[str, type[np.generic]] = {
    "ids": np.int64,
    "type_ids": np.int64,
    "offsets": np.int64,
    "special_mask": np.bool_,
    "word_ids": np.int64,
    "sequence_ids": np.int64,
}
"""The arrays of `Tokens` and their types, in order."""

ARRAYS = (*FIELDS, "places")
"""The names of all arrays of `Tokens` that have an entry a token."""

_UNKNOWN: Mapping[str, Any] = {**dict.fromkeys([*ARRAYS, "texts"]), "media": ()}
_MEDIA: Mapping[str, type[Any]] = {"patch": Picture, "frame": Sound, "step": Series, "letter": Letters}
_SPACES = ("▁", "Ġ")
_SUFFIXES = ("</w>", "@@")
_SPACE_BYTES = ("<0x09>", "<0x0A>", "<0x0D>", "<0x20>")


@lru_cache(maxsize=1 << 16)
def strip_markers(piece: str) -> str:
    """The characters of a word piece without the marks of its tokenizer (``##``, ``▁``, ``Ġ``, ``</w>``).

    Marks of spaces may stand several times: ``▁▁is`` is ``is``.
    """
    if piece.startswith("##") and len(piece) > 2:
        piece = piece[2:]
    for mark in _SPACES:
        piece = piece.lstrip(mark) or piece[-1:]
    for mark in _SUFFIXES:
        if piece.endswith(mark) and len(piece) > len(mark):
            piece = piece[: -len(mark)]
    return piece


@lru_cache(maxsize=1 << 16)
def is_space(piece: str) -> bool:
    """Whether a piece stands for white space alone: ``▁``, ``▁▁``, ``Ġ``, a line's end or ``<0x0A>``: no words."""
    return piece in _SPACE_BYTES or (
        bool(piece) and all(letter in "▁Ġ" or letter.isspace() for letter in piece)
    )


def is_punctuation(piece: str) -> bool:
    """Whether all characters of a piece are of Unicode's category P.

    >>> is_punctuation("##."), is_punctuation("$"), is_punctuation("--")
    (True, False, True)
    """
    text = strip_markers(piece).strip()
    return bool(text) and all(unicodedata.category(character)[0] == "P" for character in text)


@dataclass(frozen=True, eq=False)
class Tokens:
    """One axis of one input: its word pieces (or ids, patches, frames), and what is known of each.

    The names are those of ``tokenizers.Encoding``. All sequences have one entry a token.

    Attributes:
        pieces: what the tokenizer prints for each token; of byte-level vocabularies the characters, ``Ġ`` for a space
            and ``<0xE2>`` for a byte that is part of a character (`headscope.core.bytelevel`).
        ids: vocabulary ids; -1 for a virtual token (a tuned prompt), which has none.
        type_ids: token type ids (0 for A, 1 for B), where the model has them.
        offsets: (start, end) characters of each piece in the text of its sequence.
        special_mask: true for tokens that the tokenizer added ([CLS], [SEP], <s>, …).
        word_ids: index of each piece's word in its sequence; -1 for none.
        sequence_ids: 0 for text A, 1 for text B; -1 for none.
        classes: named classes of tokens (``sep``, ``cls``, ``punctuation``, ``system``, …), a mask each.
        texts: what the text says where each token stands, with the spaces before it; joined they are the text.
            "" for what is in no text, and for all but one of the pieces of a character.
        media: the pictures, sounds, series and sequences of letters that tokens stand for places in.
        places: ``[token 5]``: the number of the medium, and left, top, right and bottom in its units (`Picture`,
            `Sound`, `Series`, `Letters`); NaN for tokens that stand for none. Places may overlap.
    """

    pieces: Sequence[str]
    ids: Ints | None = None
    type_ids: Ints | None = None
    offsets: Ints | None = None
    special_mask: Bools | None = None
    word_ids: Ints | None = None
    sequence_ids: Ints | None = None
    classes: Mapping[str, Bools] = field(default_factory=dict[str, Bools])
    texts: Sequence[str] | None = None
    media: Sequence[Medium] = ()
    places: Floats | None = None

    def __post_init__(self) -> None:
        expect("pieces", self.pieces, Sequence[Any])
        expect("classes", self.classes, Mapping[str, Any])
        pieces = _strings("pieces", self.pieces)
        object.__setattr__(self, "pieces", pieces)
        if self.texts is not None:
            expect("texts", self.texts, Sequence[Any])
            texts = _strings("texts", self.texts)
            if len(texts) != len(pieces):
                raise ShapeError(f"texts: expected {len(pieces)} entries, one a token, found {len(texts)}")
            object.__setattr__(self, "texts", texts)
        for name, dtype in FIELDS.items():
            object.__setattr__(self, name, _axis(name, getattr(self, name), len(pieces), dtype))
        expect("media", self.media, Sequence[Medium])
        object.__setattr__(self, "media", tuple(self.media))
        object.__setattr__(self, "places", _places(self.places, len(pieces), self.media))
        classes = {
            name: _axis(f"classes[{name!r}]", mask, len(pieces), np.bool_)
            for name, mask in self.classes.items()
        }
        object.__setattr__(self, "classes", classes)

    @classmethod
    def of(cls, tokens: Tokens | Sequence[str]) -> Tokens:
        """`tokens` as it is, or plain strings, with the special pieces and the punctuation among them marked.

        Strings of a byte-level vocabulary (``mÃ¼de``) are read as the characters that they stand for.
        """
        if isinstance(tokens, Tokens):
            return tokens
        if isinstance(tokens, str):
            raise InputError("tokens: expected a list of strings, one a token, found one string")
        pieces = list(tokens)
        if all(isinstance(piece, str) for piece in pieces) and is_raw(  # pyright: ignore[reportUnnecessaryIsInstance]
            [piece for piece in pieces if piece not in _SPECIAL]
        ):
            pieces = [piece if piece in _SPECIAL else readable(piece) for piece in pieces]
        named = {
            "sep": np.array([piece in _SEPARATORS for piece in pieces], bool),
            "cls": np.array([piece in ("[CLS]", "<cls>") for piece in pieces], bool),
            "punctuation": np.array([is_punctuation(str(piece)) for piece in pieces], bool),
        }
        special = np.array([piece in _SPECIAL for piece in pieces], bool)
        named["punctuation"] &= ~special
        return cls(
            pieces, special_mask=special, classes={name: mask for name, mask in named.items() if mask.any()}
        )

    @classmethod
    def known(cls, pieces: tuple[str, ...], classes: Mapping[str, Bools], **arrays: np.ndarray) -> Tokens:
        """Make tokens of arrays that are known to have these types and this length: nothing is checked."""
        made = object.__new__(cls)
        made.__dict__.update(_UNKNOWN, pieces=pieces, classes=classes, **arrays)
        return made

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def named(self) -> tuple[str, ...]:
        """The classes that `mask` knows: ``first``; ``special`` where the tokenizer tells; ``patch``, ``frame``,
        ``step`` and ``letter``, tokens with a place in a picture, a sound, a series and a sequence of letters, where
        there is one; and `classes`."""
        special = () if self.special_mask is None else ("special",)
        media = (
            name for name, kind in _MEDIA.items() if any(isinstance(medium, kind) for medium in self.media)
        )
        return ("first", *special, *media, *self.classes)

    @cached_property
    def medium(self) -> Ints:
        """The number of the medium that each token stands for a place in, ``[token]``; -1 for none."""
        if self.places is None:
            return np.full(len(self), -1)
        return np.nan_to_num(self.places[:, 0], nan=-1.0).astype(np.int64)

    def on(self, kind: type[Medium]) -> Bools:
        """Which tokens stand for a place in a medium of a kind, ``[token]``."""
        return np.isin(self.medium, [at for at, medium in enumerate(self.media) if isinstance(medium, kind)])

    @cached_property
    def picture(self) -> Picture | None:
        """The first picture."""
        return next((medium for medium in self.media if isinstance(medium, Picture)), None)

    @cached_property
    def sound(self) -> Sound | None:
        """The first sound whose samples are known."""
        sounds = (medium for medium in self.media if isinstance(medium, Sound))
        return next((sound for sound in sounds if len(sound.samples)), None)

    @cached_property
    def boxes(self) -> Floats | None:
        """The area of its picture that each token stands for, ``[token 4]``: left, top, right, bottom in its
        pixels; NaN for none. None for an axis without pictures."""
        return self._places(Picture, slice(1, 5))

    @cached_property
    def times(self) -> Floats | None:
        """The stretch of its sound that each token stands for, ``[token 2]``: from and to, in seconds; NaN for none.
        None for an axis without sounds."""
        return self._places(Sound, slice(1, 5, 2))

    def _places(self, kind: type[Medium], sides: slice) -> Floats | None:
        if self.places is None or not any(isinstance(medium, kind) for medium in self.media):
            return None
        return np.where(self.on(kind)[:, None], self.places[:, sides], np.nan)

    @property
    def special(self) -> Bools:
        """Which tokens are special; none where the tokenizer does not tell."""
        return np.zeros(len(self), np.bool_) if self.special_mask is None else self.special_mask

    @validated
    def mask(self, name: str) -> Bools:
        """The tokens of a class (`named`), as a mask. Raises `InputError` for one that this axis does not have."""
        if name == "first":
            return np.arange(len(self)) == 0
        if name == "special" and self.special_mask is not None:
            return self.special_mask
        if name in self.classes:
            return self.classes[name]
        if name in self.named:
            return self.on(_MEDIA[name])
        raise InputError(f"no class of tokens {name!r}; this input has {', '.join(self.named)}")

    def take(self, keep: Bools | Ints | slice) -> Tokens:
        """The chosen tokens, in order."""
        index = np.arange(len(self))[keep]
        return self.changed([self.pieces[int(position)] for position in index], lambda _, array: array[index])

    def changed(self, pieces: Sequence[str], change: Callable[[str, np.ndarray], np.ndarray]) -> Tokens:
        """Tokens of other pieces, with what `change` makes of each array, given its name (or that of its class).

        `texts` come to `change` as an array of strings.
        """
        arrays = {name: getattr(self, name) for name in ARRAYS}
        texts = None if self.texts is None else change("texts", np.array(self.texts, object)).tolist()
        return replace(
            self,
            pieces=pieces,
            **{name: None if array is None else change(name, array) for name, array in arrays.items()},
            classes={name: change(name, mask) for name, mask in self.classes.items()},
            texts=texts,
        )

    def longer(self, pieces: Sequence[str], number: int, *, last: bool = False) -> Tokens:
        """Tokens with special ones of one id, which are in no text, before them; or behind the `last`."""
        known: AnyDict = {"ids": number, "special_mask": True, "texts": "", "places": np.nan}
        known |= dict.fromkeys(("word_ids", "sequence_ids"), -1)

        def change(name: str, array: np.ndarray) -> np.ndarray:
            more = np.full((len(pieces), *array.shape[1:]), known.get(name, 0), array.dtype)
            return np.concatenate([array, more] if last else [more, array])

        return self.changed([*self.pieces, *pieces] if last else [*pieces, *self.pieces], change)

    def with_classes(self, **classes: Bools) -> Tokens:
        """The same axis with more (or other) classes of tokens."""
        more = {
            name: _axis(f"classes[{name!r}]", mask, len(self), np.bool_) for name, mask in classes.items()
        }
        same = copy(self)  # all else is checked already
        object.__setattr__(same, "classes", {**self.classes, **more})
        return same


_SEPARATORS = ("[SEP]", "</s>", "<sep>")
_SPECIAL = (
    *_SEPARATORS,
    "[CLS]",
    "<cls>",
    "[PAD]",
    "<pad>",
    "[MASK]",
    "<mask>",
    "<s>",
    "<bos>",
    "<eos>",
    "<|endoftext|>",
)


def _strings(name: str, values: Sequence[Any]) -> tuple[str, ...]:
    strings = tuple(values)
    for position, value in enumerate(strings):
        if not isinstance(value, str):
            raise InputError(f"{name}[{position}]: expected a string, found {type(value).__name__}")
    return strings


def _places(value: Any, length: int, media: Sequence[Medium]) -> Floats | None:
    if value is None:
        return None
    array = np.array(value, np.float64)  # a copy: the caller may go on to write to theirs
    if array.shape != (length, 5):
        raise ShapeError(
            f"places: expected a medium, left, top, right and bottom for each of {length} tokens, found shape "
            f"{array.shape}"
        )
    for token in np.flatnonzero(~np.isnan(array).all(1)).tolist():
        number, left, top, right, bottom = array[token].tolist()
        if number not in range(len(media)):
            raise ShapeError(
                f"places[{token}]: expected the number of one of {len(media)} media, found {number:g}"
            )
        if not (left <= right and top <= bottom):
            raise ShapeError(
                f"places[{token}]: expected left, top, right, bottom in this order, found {left:g}, {top:g}, "
                f"{right:g}, {bottom:g}"
            )
    array.setflags(write=False)
    return array


def _axis(name: str, value: Any, length: int, dtype: type[np.generic]) -> np.ndarray | None:
    if value is None:
        return None
    array: np.ndarray
    try:
        array = np.array(value)  # a copy: the caller may go on to write to theirs
    except ValueError:
        raise ShapeError(
            f"{name}: expected {length} entries, one a token, found lists of several lengths"
        ) from None
    if array.dtype == dtype and array.shape == (length,):
        array.setflags(write=False)
        return array
    truths = array.dtype == np.bool_ or (array.dtype.kind in "iu" and not (array.astype(np.int64) & ~1).any())
    if array.size and not (truths if dtype is np.bool_ else array.dtype.kind in "biu"):
        words = "True or False" if dtype is np.bool_ else "whole numbers"
        raise ShapeError(f"{name}: expected {words}, one a token, found {array.dtype}")
    array = array.astype(dtype, copy=False)
    if array.shape != (length,) and not (name == "offsets" and array.shape == (length, 2)):
        raise ShapeError(f"{name}: expected {length} entries, one a token, found shape {array.shape}")
    array.setflags(write=False)
    return array
