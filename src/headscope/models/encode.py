"""From text, words or pieces to `Tokens`, and from `Tokens` to padded arrays.

Nothing is ever cut here: a text of any length gives all its tokens (`headscope.models.Model` refuses what its
model does not take; `split` gives parts that fit, for corpora).

**Words.** `word_ids` say which pieces make a word. A word begins where the tokenizer's own pre-tokenizer begins
one, after white space, and on either side of a piece that is all punctuation; it never begins between two
pieces of one character, or after a piece that stands for spaces alone (``▁``), which is of the word that
follows. So "don't stop," is ``don ' t stop ,`` for BERT and for SentencePiece tokenizers alike, although the
latter know no words within a text (Llama) or leave the comma with its word (T5). The tokenizer still decides
what is a piece: byte-level BPE may make ``'t`` one. A combining mark or a joiner begins no word, nor does the
letter after one, whatever the tokenizer says: नमस्ते and an accent of its own (NFD) are of one word. Of scripts
without spaces, a word begins on either side of a Chinese character where a piece does, for all tokenizers as for
BERT; kana, Thai, Lao, Khmer and Burmese are one word between white space, punctuation and Chinese characters, unless
the tokenizer's own pre-tokenizer parts them. Where offsets are not known
(pieces taken as they are, tokenizers without a fast version), the marks of the pieces (``##``, ``▁``, ``Ġ``,
``</w>``, ``@@``) and punctuation tell words.

**Classes.** `sep`, `cls`, `bos`, `eos` hold the tokenizer's special tokens of these names, in this order: a
token that has a name gets no second one (RoBERTa's ``</s>`` is `sep`, GPT-2's ``<|endoftext|>`` is `bos`). A
class is there, if empty, whenever the tokenizer has its token. `punctuation` holds the pieces that stand for
characters of Unicode category P only, so byte-level pieces such as ``Ġ“`` count; special tokens never do.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.core.arrays import Ints
from headscope.core.bytelevel import is_raw
from headscope.core.failures import reason
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError
from headscope.models.chat import Rendered
from headscope.models.pieces import (
    added,
    byte_level,
    classes,
    id_of,
    is_gap,
    mark,
    marked_words,
    piece_punctuates,
    punctuates,
    shown_pieces,
    special_tokens,
    word_ids,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Text = str | Sequence[str]
"""A text, or its words."""


def encode(
    tokenizer: PreTrainedTokenizerBase, text: str, pair: str | None = None, *, special: bool = True
) -> Tokens:
    """Tokens of a text or of a pair of texts, as the tokenizer makes them.

    `special=False` leaves out the tokens that the tokenizer adds. Tokens are special when the tokenizer added
    them, or when they are control tokens that the text itself spells (``[SEP]``). Tokenizers without a fast
    version give no offsets. The tokenizer's settings for truncation and padding are not used.

    Raises `InputError` for an empty text, one without any token, and one that is no Unicode text.
    """
    texts = _texts((text,) if pair is None else (text, pair))
    if tokenizer.is_fast:
        tokens = _fast(tokenizer, list(texts.values()), special=special)
    else:
        parts = [_ids(tokenizer, value) for value in texts.values()]
        tokens = _place(tokenizer, parts, _call(tokenizer, *texts.values(), special=special))
    _expect_pieces(tokens, texts)
    return tokens


def from_words(
    tokenizer: PreTrainedTokenizerBase, words: Sequence[str], pair_words: Sequence[str] | None = None
) -> Tokens:
    """Tokens of a text that is given as words; `word_ids` index the words given.

    The words are read as one text, joined by single spaces (to which `offsets` refer), so that tokenizers
    that mark spaces see the words as in running text. A word of characters that the tokenizer drops (control
    characters) has no piece. Raises `InputError` for no words and for an empty one, and where a space between two
    words becomes a piece of its own (tokenizers of characters, of molecules): such a text is another one.
    """
    texts, lists = _joined((words,) if pair_words is None else (words, pair_words))
    if tokenizer.is_fast:
        tokens = _fast(tokenizer, list(texts.values()), lists)
    else:
        ids_of_words = [[_ids(tokenizer, word) for word in given] for given in lists]
        batch = _call(tokenizer, *lists, words=True)
        tokens = _place(tokenizer, [[one for ids in part for one in ids] for part in ids_of_words], batch)
        numbers = np.full(len(tokens), -1)
        for number, part in enumerate(ids_of_words):
            here = [word for word, ids in enumerate(part) for _ in ids]
            numbers[_known(tokens.sequence_ids) == number] = here
        tokens = replace(tokens, word_ids=numbers)
    _expect_pieces(tokens, texts)
    return tokens


def encode_all(tokenizer: PreTrainedTokenizerBase, inputs: Sequence[Sequence[Text]]) -> list[Tokens | None]:
    """What `encode` (of strings) or `from_words` (of lists of words) gives for each input; None where it raises.

    An input is one text or two. A fast tokenizer reads all inputs in one call.
    """
    encoded: list[Tokens | None] = [None] * len(inputs)
    if not tokenizer.is_fast:
        return encoded
    ready: dict[int, list[tuple[int, dict[str, str], list[list[str]] | None]]] = {1: [], 2: []}
    for place, given in enumerate(inputs):
        with suppress(InputError):
            texts, lists = (_texts(given), None) if isinstance(given[0], str) else _joined(given)
            ready[len(given)].append((place, texts, lists))
    for group in filter(None, ready.values()):
        with suppress(InputError):  # of one that cannot be read, which asked alone says so
            batch = _call(tokenizer, *map(list, zip(*(texts.values() for _, texts, _ in group), strict=True)))
            for row, (place, texts, lists) in enumerate(group):
                with suppress(InputError):
                    tokens = _tokens(tokenizer, list(texts.values()), lists, batch, row)
                    _expect_pieces(tokens, texts)
                    encoded[place] = tokens
    return encoded


def from_pieces(tokenizer: PreTrainedTokenizerBase, pieces: Sequence[str]) -> Tokens:
    """Tokens taken as they are, special ones included; nothing is added.

    Pieces are written as `Tokens.pieces` has them, or as the vocabulary does (``Ã¼``, where all pieces together are a
    text so). For tokenizers that have a separator, what stands after the first one is text B (token type 1).
    Raises `InputError` for no pieces and for a piece that the vocabulary does not have.
    """
    if not len(pieces):
        raise InputError("pieces: expected a list of strings, one a token, found an empty list")
    literal = added(tokenizer)
    raw = byte_level(tokenizer) and is_raw([piece for piece in pieces if piece not in literal])
    ids: list[int] = []
    for position, piece in enumerate(pieces):
        number = id_of(tokenizer, piece, raw=raw)
        if number is None:
            raise InputError(
                f"pieces[{position}]: expected a piece of the tokenizer's vocabulary, found {piece!r}"
            )
        ids.append(number)
    return of_ids(tokenizer, ids)


def of_ids(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> Tokens:
    """Tokens of ids that the vocabulary has, with the types of a pair where a separator stands among them."""
    sequence = np.zeros(len(ids), np.int64)
    if tokenizer.sep_token_id in ids:
        sequence[ids.index(int(tokenizer.sep_token_id)) + 1 :] = 1
    types = sequence.copy() if "token_type_ids" in tokenizer.model_input_names else None
    sequence[[number in special_tokens(tokenizer).ids for number in ids]] = -1
    return _assemble(tokenizer, ids, sequence, types)


def from_ids(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], written: Sequence[int] = ()) -> Tokens:
    """Tokens of ids taken as they are; the class `generated` holds those of `written`, where there are any.

    Raises `InputError` for no ids and for one that the vocabulary does not have.
    """
    every = [*ids, *written]
    if not every:
        raise InputError("ids: expected at least one, found none")
    for position, number in enumerate(every):
        if not 0 <= number < len(tokenizer):
            raise InputError(
                f"ids[{position}]: expected an id below the {len(tokenizer):,} of the vocabulary, found {number}"
            )
    special = special_tokens(tokenizer).ids
    sequence = np.array([-1 if number in special else 0 for number in every], np.int64)
    tokens = _assemble(tokenizer, every, sequence, None)
    return tokens.with_classes(generated=np.arange(len(every)) >= len(ids)) if written else tokens


def chat(
    tokenizer: PreTrainedTokenizerBase,
    messages: Sequence[AnyMapping],
    *,
    add_generation_prompt: bool = False,
    **given: Any,
) -> Tokens:
    """Tokens of a conversation, by the tokenizer's chat template.

    The classes `system`, `user` and `assistant` (and `tool`, where one answers) hold the tokens of what each of
    them said, and `template` all that the template wrote around it: role names, calls of tools, line ends and special
    tokens. So a message's class never holds an attention sink of the template's. A token that begins (white space
    aside) in a message is of that
    message. What else the template takes is `given` to it.

    Raises `InputError` where there is no chat template, where it refuses the messages, leaves one out or
    changes one or a call of a tool, and for other roles.
    """
    if not tokenizer.is_fast:
        raise InputError(
            f"messages: {type(tokenizer).__name__} gives no offsets, so messages cannot be told apart"
        )
    rendered = Rendered(tokenizer, messages, add_generation_prompt=add_generation_prompt, **given)
    text, spans = rendered.text, rendered.spans
    tokens = encode(tokenizer, text, special=False)
    places = _known(tokens.offsets).tolist()
    first = [
        start if text[start:end].isspace() else end - len(text[start:end].lstrip()) for start, end in places
    ]
    roles = {
        role: np.array(
            [any(span.role == role and span.start <= place < span.end for span in spans) for place in first]
        )
        for role in (
            "system",
            "user",
            "assistant",
            *(("tool",) if any(s.role == "tool" for s in spans) else ()),
        )
    }
    return tokens.with_classes(**roles, template=~np.logical_or.reduce(list(roles.values())))


def count(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[int]:
    """How many pieces each text has, without the special tokens that the tokenizer adds."""
    for number, text in enumerate(texts):
        _check_unicode(f"texts[{number}]", text)
    return [len(ids) for ids in _call(tokenizer, list(texts), special=False)["input_ids"]] if texts else []


def split(tokenizer: PreTrainedTokenizerBase, text: str, size: int) -> list[str]:
    """Parts of a text of at most `size` pieces each, special tokens not counted; spaces at the cuts go.

    A cut is made at the last white space in the second half of the room, or else at the last border between
    pieces (between characters, for tokenizers without a fast version).

    Raises `InputError` where one character has more than `size` pieces.
    """
    _check_text("text", text)
    if count(tokenizer, [text])[0] <= size:
        return [text]
    borders = _borders(tokenizer, text, size)
    parts: list[str] = []
    start = 0
    while start < len(text):
        for end in _ends(text, borders, start, size):
            part = text[start:end].strip(" ")
            if count(tokenizer, [part])[0] <= size:
                break
        else:
            raise InputError(f"text: character {start} ({text[start]!r}) alone has more than {size} pieces")
        if part:
            parts.append(part)
        start = end
    return parts


def collate(batch: Sequence[Tokens], pad_id: int) -> dict[str, Ints]:
    """`input_ids`, `attention_mask` and, where all inputs have it, `token_type_ids`: ``[batch token]``.

    They are padded on the right.
    """
    if not batch:
        raise InputError("batch: expected at least one input, found none")
    shape = len(batch), max(map(len, batch))
    arrays = {"input_ids": np.full(shape, pad_id, np.int64), "attention_mask": np.zeros(shape, np.int64)}
    if all(tokens.type_ids is not None for tokens in batch):
        arrays["token_type_ids"] = np.zeros(shape, np.int64)
    for row, tokens in enumerate(batch):
        if tokens.ids is None:
            raise InputError(f"batch[{row}]: expected tokens with ids, found pieces only")
        given: AnyDict = {
            "input_ids": tokens.ids,
            "attention_mask": 1,
            "token_type_ids": tokens.type_ids,
        }
        for name, array in arrays.items():
            array[row, : len(tokens)] = given[name]
    return arrays


def _call(tokenizer: PreTrainedTokenizerBase, *inputs: Any, special: bool = True, words: bool = False) -> Any:
    try:
        return tokenizer(
            *inputs,
            add_special_tokens=special,
            is_split_into_words=words,
            truncation=False,
            padding=False,
            return_attention_mask=False,
            verbose=False,
        )
    except Exception as error:  # what tokenizers raises has no type of its own
        if tokenizer.unk_token_id is not None and type(error) is not Exception:
            raise
        first = inputs[0]
        excerpt = repr(first[0] if len(first) == 1 else first)
        excerpt = excerpt if len(excerpt) <= 60 else excerpt[:60] + "…"
        raise InputError(
            f"text: expected what the tokenizer has pieces for, as it has none for the unknown, found {excerpt} "
            f"({reason(error)})"
        ) from None


def _fast(
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    lists: Sequence[list[str]] | None = None,
    *,
    special: bool = True,
) -> Tokens:
    batch = _call(tokenizer, *([text] for text in texts), special=special)
    return _tokens(tokenizer, texts, lists, batch, 0)


def _tokens(
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    lists: Sequence[list[str]] | None,
    batch: Any,
    row: int,
) -> Tokens:
    """One input of those that a fast tokenizer has read; `lists` are the words that its texts were given as."""
    encoding = batch.encodings[row]
    ids: list[int] = encoding.ids
    # An Encoding may hold the text of an unknown piece.
    pieces = shown_pieces(tokenizer, ids, None if tokenizer.unk_token_id in ids else encoding.tokens)
    offsets: list[tuple[int, int]] = encoding.offsets
    sequence = [-1 if number is None else number for number in encoding.sequence_ids]
    control = special_tokens(tokenizer).ids
    hidden = [
        number in control or bool(added)
        for number, added in zip(ids, encoding.special_tokens_mask, strict=True)
    ]
    punctuation = [
        not hidden_ and not is_gap(piece) and punctuates(texts[number][start:end])
        for piece, hidden_, number, (start, end) in zip(pieces, hidden, sequence, offsets, strict=True)
    ]
    if lists is None:
        words = word_ids(texts, pieces, offsets, encoding.word_ids, hidden, punctuation, sequence)
    else:
        _check_joined(tokenizer, pieces, offsets, sequence, texts)
        words = _given_words(offsets, hidden, sequence, lists)
    types = np.array(batch["token_type_ids"][row], np.int64) if "token_type_ids" in batch else None
    return Tokens(
        pieces=pieces,
        ids=np.array(ids, np.int64),
        type_ids=types,
        offsets=np.array(offsets, np.int64).reshape(-1, 2),
        special_mask=np.array(hidden, bool),
        word_ids=np.array(words, np.int64),
        sequence_ids=np.array(sequence, np.int64),
        classes=classes(tokenizer, ids, punctuation),
        texts=_written(texts, offsets, sequence),
    )


def _written(texts: Sequence[str], offsets: Sequence[tuple[int, int]], sequence: Sequence[int]) -> list[str]:
    """The characters that each piece brings, with those before it of which there is no piece; the last has the rest."""
    written: list[str] = []
    ends, last = [0] * len(texts), [-1] * len(texts)
    for place, (number, (_, end)) in enumerate(zip(sequence, offsets, strict=True)):
        written.append("")
        if number >= 0:
            written[-1] = texts[number][ends[number] : end]
            ends[number], last[number] = max(ends[number], end), place
    for text, end, place in zip(texts, ends, last, strict=True):
        if place >= 0:
            written[place] += text[end:]
    return written


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    return list(_call(tokenizer, text, special=False)["input_ids"])


def _place(tokenizer: PreTrainedTokenizerBase, parts: Sequence[list[int]], batch: Any) -> Tokens:
    """Tokens of a tokenizer without a fast version: the texts' pieces are found among the special tokens."""
    ids: list[int] = list(batch["input_ids"])
    sequence = np.full(len(ids), -1)
    start = 0
    for number, part in enumerate(parts):
        while ids[start : start + len(part)] != part:
            start += 1
            if start > len(ids):
                raise InputError(
                    f"text: {type(tokenizer).__name__} changes the pieces when it adds special tokens"
                )
        sequence[start : start + len(part)] = number
        start += len(part)
    types = np.array(batch["token_type_ids"], np.int64) if "token_type_ids" in batch else None
    return _assemble(tokenizer, ids, sequence, types)


def _assemble(
    tokenizer: PreTrainedTokenizerBase, ids: list[int], sequence: Ints, types: Ints | None
) -> Tokens:
    """Tokens without offsets. `sequence` is -1 for tokens that are of no text."""
    pieces = shown_pieces(tokenizer, ids)
    control = special_tokens(tokenizer).ids
    hidden = [number in control or text < 0 for number, text in zip(ids, sequence.tolist(), strict=True)]
    punctuation = [
        not hidden_ and piece_punctuates(piece) for piece, hidden_ in zip(pieces, hidden, strict=True)
    ]
    return Tokens(
        pieces=pieces,
        ids=np.array(ids, np.int64),
        type_ids=types,
        special_mask=np.array(hidden, bool),
        word_ids=marked_words(tokenizer, pieces, hidden, punctuation, sequence.tolist()),
        sequence_ids=sequence,
        classes=classes(tokenizer, ids, punctuation),
    )


def _given_words(
    offsets: Sequence[tuple[int, int]],
    special: Sequence[bool],
    sequence: Sequence[int],
    lists: Sequence[list[str]],
) -> list[int]:
    """Which of the words, joined by single spaces, each piece is of, by its offsets."""
    joined = [" ".join(words) for words in lists]
    starts = [[0, *accumulate(len(word) + 1 for word in words[:-1])] for words in lists]
    numbers: list[int] = []
    for (first, _), special_, number in zip(offsets, special, sequence, strict=True):
        if special_ or number < 0:
            numbers.append(-1)
            continue
        text = joined[number]
        while first < len(text) - 1 and text[first].isspace():
            first += 1
        numbers.append(bisect_right(starts[number], first) - 1)
    return numbers


def _borders(tokenizer: PreTrainedTokenizerBase, text: str, size: int) -> tuple[list[int], list[int]]:
    """Characters where the text may be cut, and how many pieces stand before each."""
    places, before = [0], [0]
    if tokenizer.is_fast:
        offsets = _call(tokenizer, text, special=False).encodings[0].offsets
        for number in range(1, len(offsets)):
            if offsets[number][0] >= offsets[number - 1][1] and offsets[number][0] > places[-1]:
                places.append(offsets[number][0])
                before.append(number)
        return [*places, len(text)], [*before, len(offsets)]
    total = 0
    for word in re.finditer(r"\S+", text):
        pieces = len(_ids(tokenizer, word[0]))
        inside = range(len(word[0])) if pieces > size else (0,)
        places.extend(word.start() + character for character in inside)
        before.extend(total + min(character, pieces) for character in inside)
        total += pieces
    return [*places, len(text)], [*before, total]


def _ends(text: str, borders: tuple[list[int], list[int]], start: int, size: int) -> Iterator[int]:
    """Where a part that begins at `start` may end, best first: the end, white space, the last border, …"""
    places, before = borders
    first = bisect_right(places, start)
    room = before[first - 1] + size
    last = max(bisect_right(before, room), first + 1)
    if last == len(places):
        yield len(text)
    for number in range(min(last, len(places) - 1) - 1, first - 1, -1):
        cut = places[number]
        if before[number] > room - size / 2 and (text[cut - 1].isspace() or text[cut].isspace()):
            yield cut
            break
    yield from reversed(places[first:last])


def _known(array: Ints | None) -> Ints:
    assert array is not None
    return array


def _check_unicode(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name}: expected Unicode text, found half a surrogate pair at character {error.start}"
        ) from None


def _texts(given: Sequence[Text]) -> dict[str, str]:
    """Text A, and B, by name. Raises `InputError` for one that cannot be read."""
    texts: AnyDict = dict(zip(("text", "pair"), given, strict=False))
    for name, value in texts.items():
        _check_text(name, value)
    return texts


def _joined(given: Sequence[Text]) -> tuple[dict[str, str], list[list[str]]]:
    """Text A, and B, by name, and their words. Raises `InputError` for those that cannot be read."""
    names = "words", "pair_words"
    lists = [_check_words(name, words) for name, words in zip(names, given, strict=False)]
    return dict(zip(names, map(" ".join, lists), strict=False)), lists


def _check_text(name: str, text: str) -> None:
    if not text:
        raise InputError(f"{name}: expected at least one token, found an empty text")
    _check_unicode(name, text)


def _check_words(name: str, words: Sequence[str]) -> list[str]:
    if not len(words):
        raise InputError(f"{name}: expected a list of words, found an empty list")
    for number, word in enumerate(words):
        if not word.strip():
            raise InputError(f"{name}[{number}]: expected a word, found {word!r}")
        _check_unicode(f"{name}[{number}]", word)
    return list(words)


def _check_joined(
    tokenizer: PreTrainedTokenizerBase,
    pieces: Sequence[str],
    offsets: Sequence[tuple[int, int]],
    sequence: Sequence[int],
    texts: Sequence[str],
) -> None:
    """No space that joins words is a piece, but where the vocabulary marks spaces (``▁``, ``Ġ``) and so reads words."""
    if mark(tokenizer) in ("▁", "Ġ"):
        return
    for piece, number, (start, end) in zip(pieces, sequence, offsets, strict=True):
        text = texts[number]  # of special tokens any: their offsets are empty
        if text[start:end].isspace():
            around = text[max(0, start - 10) : end + 10]
            raise InputError(
                "words: expected a tokenizer that reads words joined by spaces, found one that makes a space a piece "
                f"of its own ({piece!r} in {around!r}); give text or tokens, as the model was trained on"
            )


def _expect_pieces(tokens: Tokens, texts: Mapping[str, str]) -> None:
    """Raise `InputError` for a text without a token."""
    for number, (name, text) in enumerate(texts.items()):
        if not (_known(tokens.sequence_ids) == number).any():
            excerpt = text if len(text) <= 40 else text[:40] + "…"
            raise InputError(f"{name}: expected at least one token, found none in {excerpt!r}")
