"""What a tokenizer's pieces say: which are special, which are punctuation, where words begin."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from headscope.tokens import BoolArray, IntArray, strip_markers

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Mark = Literal["##", "▁", "Ġ", "</w>", "@@"]
_MARKS: tuple[Mark, ...] = ("##", "▁", "Ġ", "</w>", "@@")


def is_gap(piece: str) -> bool:
    """Whether a piece stands for the space before the piece that follows it: ``▁``, ``▁▁``, ``Ġ``."""
    return piece != "" and (not piece.strip("▁") or not piece.strip("Ġ"))


class Special(NamedTuple):
    """Special tokens of a tokenizer: all ids but that of the unknown token, and those that name a class."""

    ids: frozenset[int]
    named: tuple[tuple[str, int], ...]


_special: WeakKeyDictionary[Any, tuple[object, Special]] = WeakKeyDictionary()
_unknown: WeakKeyDictionary[Any, tuple[object, tuple[int, ...]]] = WeakKeyDictionary()
_mark: WeakKeyDictionary[Any, Mark | None] = WeakKeyDictionary()


def special_tokens(tokenizer: PreTrainedTokenizerBase) -> Special:
    """The special tokens of a tokenizer (read again when tokens were added or renamed)."""
    state = (len(tokenizer), tuple(tokenizer.special_tokens_map.items()))
    known = _special.get(tokenizer)
    if known is not None and known[0] == state:
        return known[1]
    added = {int(number) for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    unknown: Any = tokenizer.unk_token_id
    ids = (added | {int(number) for number in tokenizer.all_special_ids}) - {unknown}
    named: dict[int, str] = {}
    for name in ("sep", "cls", "bos", "eos"):
        number: Any = getattr(tokenizer, f"{name}_token_id", None)
        if number is not None:
            named.setdefault(int(number), name)
    special = Special(frozenset(ids), tuple((name, number) for number, name in named.items()))
    _special[tokenizer] = (state, special)
    return special


def unknown_ids(tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """The ids of the pieces that stand for what a tokenizer does not know.

    None where it has no such piece, and where the one that it names marks a text's ends as well (GPT-2's
    ``<|endoftext|>``), as tokenizers do that know every byte.
    """
    state = (len(tokenizer), tokenizer.unk_token)
    known = _unknown.get(tokenizer)
    if known is None or known[0] != state:
        backend: Any = getattr(tokenizer, "backend_tokenizer", None)
        own: Any = getattr(getattr(backend, "model", None), "unk_token", None)  # it may have no other name
        first: Any = tokenizer.unk_token_id
        named: set[int | None] = {first, backend.token_to_id(own) if isinstance(own, str) else None}
        ends = {number for _, number in special_tokens(tokenizer).named}
        ids = sorted(number for number in named if number is not None and number not in ends)
        known = _unknown[tokenizer] = (state, tuple(ids))
    return known[1]


def of_pieces(unknown: int, pieces: int) -> str:
    """Such as ``12 of 300 pieces (4.0 %)``."""
    noun = "piece" if pieces == 1 else "pieces"
    return f"{unknown:,} of {pieces:,} {noun} ({100 * unknown / max(1, pieces):.1f} %)"


def classes(
    tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], punctuation: Sequence[bool]
) -> dict[str, BoolArray]:
    """The classes of tokens that the tokenizer knows, empty ones included."""
    array = np.asarray(ids, np.int64)
    return {
        **{name: array == number for name, number in special_tokens(tokenizer).named},
        "punctuation": np.array(punctuation, bool),
    }


@lru_cache(maxsize=1 << 16)
def punctuates(text: str) -> bool:
    """Whether all characters of some running text, spaces around it aside, are of Unicode's category P."""
    text = text.strip()
    return bool(text) and all(unicodedata.category(character)[0] == "P" for character in text)


def piece_punctuates(tokenizer: PreTrainedTokenizerBase, piece: str) -> bool:
    """Whether a piece whose text is not known is all punctuation, as far as the piece alone says."""
    if is_gap(piece):
        return False
    if mark(tokenizer) == "Ġ":
        return punctuates(tokenizer.convert_tokens_to_string([piece]))
    return punctuates(strip_markers(piece))


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
        return given[position] != given[position - 1] or punctuation[position] or punctuation[position - 1]

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
) -> IntArray | None:
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
        return new or punctuation[position] or punctuation[position - 1]

    return np.array(_numbered(hidden, sequence, begins), np.int64)


def mark(tokenizer: PreTrainedTokenizerBase) -> Mark | None:
    """The mark by which most of the vocabulary tells the pieces of a word, or None: read once a tokenizer."""
    if tokenizer not in _mark:
        counts: dict[Mark, int] = {}
        vocabulary = [piece for piece in tokenizer.get_vocab() if len(piece) > 1]
        for style in _MARKS:
            marked = str.startswith if style in ("##", "▁", "Ġ") else str.endswith
            counts[style] = sum(len(piece) > len(style) and marked(piece, style) for piece in vocabulary)
        best = max(counts, key=lambda style: counts[style])
        _mark[tokenizer] = best if counts[best] else None
    return _mark[tokenizer]
