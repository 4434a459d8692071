"""What a tokenizer's pieces say: which are special, which are punctuation, where words begin."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, wraps
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from headscope.core.arrays import Bools, Ints
from headscope.core.bytelevel import readable, vocabulary_piece
from headscope.core.tokens import strip_markers
from headscope.errors import InputError, ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

T = TypeVar("T")
Mark = Literal["##", "▁", "Ġ", "</w>", "@@"]
_MARKS: tuple[Mark, ...] = ("##", "▁", "Ġ", "</w>", "@@")


def is_gap(piece: str) -> bool:
    """Whether a piece stands for the space before the piece that follows it: ``▁``, ``▁▁``, ``Ġ``."""
    return piece != "" and (not piece.strip("▁") or not piece.strip("Ġ"))


class Special(NamedTuple):
    """Special tokens of a tokenizer: all ids but that of the unknown token, and those that name a class."""

    ids: frozenset[int]
    named: tuple[tuple[str, int], ...]


def by_tokenizer(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Remember what a function says of a tokenizer, until tokens are added or renamed."""
    known: WeakKeyDictionary[Any, tuple[object, T]] = WeakKeyDictionary()

    @wraps(function)
    def remembered(tokenizer: Any) -> T:
        state = len(tokenizer), str(tokenizer.special_tokens_map)
        if tokenizer not in known or known[tokenizer][0] != state:
            known[tokenizer] = state, function(tokenizer)
        return known[tokenizer][1]

    return remembered


@by_tokenizer
def special_tokens(tokenizer: PreTrainedTokenizerBase) -> Special:
    """The special tokens of a tokenizer."""
    added = {int(number) for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    unknown: Any = tokenizer.unk_token_id
    ids = (added | {int(number) for number in tokenizer.all_special_ids}) - {unknown}
    named: dict[int, str] = {}
    for name in ("sep", "cls", "bos", "eos"):
        number: Any = getattr(tokenizer, f"{name}_token_id", None)
        if number is not None:
            named.setdefault(int(number), name)
    return Special(frozenset(ids), tuple((name, number) for number, name in named.items()))


def expect_added(tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise `ModelError` for a tokenizer with an added token of which its normaliser leaves nothing.

    Such a token is found between any two letters: texts fall apart, or are read until memory is full.
    """
    normalizer: Any = getattr(getattr(tokenizer, "backend_tokenizer", None), "normalizer", None)
    if normalizer is None:
        return
    for number, token in cast("Any", tokenizer).added_tokens_decoder.items():
        if token.normalized and not normalizer.normalize_str(token.content):
            raise ModelError(
                f"tokenizer: expected added tokens that can be found in a text, found {token.content!r} (id {number}), "
                "which its normaliser makes nothing of: take it out, or say that it is not normalized"
            )


@by_tokenizer
def byte_level(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the pieces of a vocabulary are written in the letters of bytes (`headscope.core.bytelevel`)."""
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    stages = [stage for stage in (backend and backend.pre_tokenizer, backend and backend.decoder) if stage]
    return any(b"ByteLevel" in stage.__getstate__() for stage in stages) or (
        backend is None and (hasattr(tokenizer, "byte_decoder") or mark(tokenizer) == "Ġ")
    )


@by_tokenizer
def sample(tokenizer: PreTrainedTokenizerBase) -> str:
    """A short text of which a tokenizer makes a piece or more: ``A``, or else what one of its own pieces reads.

    Raises `InputError` where no piece is such a text.
    """
    special = special_tokens(tokenizer).ids
    decoded = (
        str(cast("Any", tokenizer).decode([number]))
        for number in range(len(tokenizer))
        if number not in special
    )
    for text in chain(("A", "a"), decoded):
        with suppress(Exception):  # what tokenizers raise has no type of its own
            ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
            if text.strip() and ids and tokenizer.unk_token_id not in ids:
                return text
    raise InputError(f"{type(tokenizer).__name__}: expected a piece that reads as a text, found none")


def shown_pieces(
    tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], pieces: Sequence[str] | None = None
) -> list[str]:
    """What the vocabulary calls each id, in characters; `pieces` are its own names where these are at hand."""
    if pieces is None:
        pieces = tokenizer.convert_ids_to_tokens(list(ids))
    if not byte_level(tokenizer):
        return list(pieces)
    literal = added(tokenizer)
    return [
        piece if literal.get(piece) == number else readable(piece)
        for number, piece in zip(ids, pieces, strict=True)
    ]


@by_tokenizer
def added(tokenizer: PreTrainedTokenizerBase) -> Mapping[str, int]:
    """The ids of the tokens that were added to a vocabulary, which are written as they are read."""
    return {str(token): int(number) for number, token in tokenizer.added_tokens_decoder.items()}


def shown_piece(tokenizer: PreTrainedTokenizerBase | None, number: int) -> str:
    """What the vocabulary calls an id, in characters; the number where no vocabulary has it."""
    named: Any = None if tokenizer is None else tokenizer.convert_ids_to_tokens(number)
    return (
        str(number) if tokenizer is None or named is None else shown_pieces(tokenizer, [number], [named])[0]
    )


def id_of(tokenizer: PreTrainedTokenizerBase, piece: str, *, raw: bool = False) -> int | None:
    """The id of a piece as `shown_pieces` names it, or (first where `raw`) as the vocabulary does; None for neither."""
    names = [piece, vocabulary_piece(piece)] if byte_level(tokenizer) else [piece]
    for name in names if raw or piece in added(tokenizer) else reversed(names):
        number: Any = tokenizer.convert_tokens_to_ids(name)
        if number is not None and (number != tokenizer.unk_token_id or name == tokenizer.unk_token):
            return int(number)
    return None


@by_tokenizer
def unknown_ids(tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """The ids of the pieces that stand for what a tokenizer does not know.

    None where it has no such piece, and where the one that it names marks a text's ends as well (GPT-2's
    ``<|endoftext|>``), as tokenizers do that know every byte.
    """
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    piece: Any = getattr(getattr(backend, "model", None), "unk_token", None)  # it may have no other name
    first: Any = tokenizer.unk_token_id
    named: set[int | None] = {first, backend.token_to_id(piece) if isinstance(piece, str) else None}
    ends = {number for _, number in special_tokens(tokenizer).named}
    return tuple(sorted(number for number in named if number is not None and number not in ends))


def of_pieces(unknown: int, pieces: int) -> str:
    """A count of pieces and its share, such as ``12 of 300 pieces (4.0 %)``."""
    noun = "piece" if pieces == 1 else "pieces"
    return f"{unknown:,} of {pieces:,} {noun} ({100 * unknown / max(1, pieces):.1f} %)"


def classes(
    tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], punctuation: Sequence[bool]
) -> dict[str, Bools]:
    """The classes of tokens that the tokenizer knows, empty ones included."""
    array = np.asarray(ids, np.int64)
    return {
        **{name: array == number for name, number in special_tokens(tokenizer).named},
        "punctuation": np.array(punctuation, bool),
    }


def clings(character: str) -> bool:
    """Whether a character is part of what stands before it: a combining mark or a joiner."""
    return character in "\u200c\u200d" or unicodedata.category(character)[0] == "M"


def is_han(character: str) -> bool:
    """Whether a character is a Chinese one, each of which is a word where a piece begins or ends with it.

    Source: Devlin et al. 2019, the released code (`_is_chinese_char`), with the blocks that Unicode has added since.
    """
    return character >= "\u3400" and any(first <= character <= last for first, last in _HAN)


_HAN = (("\u4e00", "\u9fff"), ("\u3400", "\u4dbf"), ("\uf900", "\ufaff"), ("\U00020000", "\U0003ffff"))


def divides(before: str, after: str, *, apart: bool, punctuation: bool) -> bool:
    """Whether a word begins between two characters of two pieces that no white space parts.

    Args:
        before: the last character of the first piece.
        after: the first character of the second.
        apart: the tokenizer's own words part them.
        punctuation: one of the pieces is all punctuation.
    """
    if clings(after):
        return False
    if punctuation or is_han(before) or is_han(after):
        return True
    # A sign of an emoji's form joins no letters.
    bound = clings(before) and not "\ufe00" <= before <= "\ufe0f"
    return apart and not (bound and after.isalpha())


@lru_cache(maxsize=1 << 16)
def punctuates(text: str) -> bool:
    """Whether all characters of some running text, spaces around it aside, are of Unicode's category P."""
    text = text.strip()
    return bool(text) and all(unicodedata.category(character)[0] == "P" for character in text)


def piece_punctuates(piece: str) -> bool:
    """Whether a piece whose text is not known is all punctuation, as far as the piece alone says."""
    return not is_gap(piece) and punctuates(strip_markers(piece))


def word_ids(
    texts: Sequence[str],
    pieces: Sequence[str],
    offsets: Sequence[tuple[int, int]],
    given: Sequence[int | None],
    hidden: Sequence[bool],
    punctuation: Sequence[bool],
    sequence: Sequence[int],
) -> list[int]:
    """The word of each piece in its text (-1 for special tokens), by the rule of `headscope.models.encode`.

    Args:
        texts: text A and text B.
        pieces: what the tokenizer prints.
        offsets: (start, end) characters in the piece's text.
        given: the words of the tokenizer's pre-tokenizer.
        hidden: special tokens.
        punctuation: pieces that are all punctuation.
        sequence: which text a piece is of.
    """

    def begins(position: int) -> bool:
        (start, end), last, text = offsets[position], offsets[position - 1][1], texts[sequence[position]]
        if start < last:  # one character in several pieces
            return False
        if is_gap(pieces[position - 1]):
            return False
        if (start > last and _has_space(text[last:start])) or (start < end and text[start].isspace()):
            return True
        apart = given[position] != given[position - 1]
        marks = punctuation[position] or punctuation[position - 1]
        if not (last > 0 and start < end):
            return apart or marks
        return divides(text[last - 1], text[start], apart=apart, punctuation=marks)

    return _numbered(hidden, sequence, begins)


def _has_space(text: str) -> bool:
    return any(character.isspace() for character in text)


def _numbered(hidden: Sequence[bool], sequence: Sequence[int], begins: Callable[[int], bool]) -> list[int]:
    """Words counted from 0 in each text; `begins` says whether a piece that follows another one begins a word."""
    words: list[int] = []
    word, current, follows = -1, -1, False
    for position, text in enumerate(sequence):
        if hidden[position]:
            words.append(-1)
            follows = False
            continue
        if text != current:
            word, current, follows = -1, text, False
        word += not follows or begins(position)
        words.append(word)
        follows = True
    return words


def marked_words(
    tokenizer: PreTrainedTokenizerBase,
    pieces: Sequence[str],
    hidden: Sequence[bool],
    punctuation: Sequence[bool],
    sequence: Sequence[int],
) -> Ints | None:
    """`word_ids` of pieces alone, by the marks of the vocabulary; None where it marks no words."""
    style = mark(tokenizer)
    if style is None:
        return None

    def begins(position: int) -> bool:
        piece, before = pieces[position], pieces[position - 1]
        if style in ("▁", "Ġ") and is_gap(before):
            return False
        if style == "##":
            new = not piece.startswith("##")
        elif style in ("▁", "Ġ"):
            new = piece.startswith(style)
        else:
            new = before.endswith("</w>") if style == "</w>" else not before.endswith("@@")
        marks = punctuation[position] or punctuation[position - 1]
        ends = strip_markers(before)[-1:], strip_markers(piece)[:1]
        return new or (divides(*ends, apart=False, punctuation=marks) if all(ends) else marks)

    return np.array(_numbered(hidden, sequence, begins), np.int64)


@by_tokenizer
def mark(tokenizer: PreTrainedTokenizerBase) -> Mark | None:
    """The mark by which most of the vocabulary tells the pieces of a word, or None."""
    counts: dict[Mark, int] = {}
    vocabulary = [piece for piece in tokenizer.get_vocab() if len(piece) > 1]
    for style in _MARKS:
        marked = str.startswith if style in ("##", "▁", "Ġ") else str.endswith
        counts[style] = sum(len(piece) > len(style) and marked(piece, style) for piece in vocabulary)
    best = max(counts, key=lambda style: counts[style])
    return best if counts[best] else None
