"""Inputs that fit: lines packed into inputs, and texts that are too long cut into several.

The packing is that of Clark et al. 2019 (section 3: ``[CLS] a [SEP] b [SEP]``), but for whole lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, chain, groupby, islice
from typing import NamedTuple

import numpy as np

from headscope.core.letters import is_sequence, lettered
from headscope.core.tokens import Tokens
from headscope.corpora.encoder import Counts, Encoder, MediaReader
from headscope.corpora.example import Example
from headscope.corpora.long_sounds import parts
from headscope.errors import CorpusError, InputError

_WINDOW = 256  # examples whose pieces are counted in one call
_UNMARKED = 3  # pieces of letters that have a case, at most, in a text without a space

LeaveOut = Callable[[CorpusError], None]
"""Is told of an input that cannot be used, and raises where that is not to be."""


class _Read(NamedTuple):
    """A line, and how many pieces it has by itself."""

    example: Example
    pieces: int


class _Layout(NamedTuple):
    """How many special tokens the tokenizer puts around one text and around two, and whether to pack two."""

    single: int
    pair: int
    two: bool


def packed(
    model: Encoder,
    lines: Iterable[Example],
    pack: int,
    counts: Counts,
    leave_out: LeaveOut,
    *,
    longest: int | None = None,
) -> Iterator[Example]:
    """Lines as inputs of at most `pack` tokens: whole lines of one document, in order.

    A line of more tokens is cut; with `longest` one of up to so many is an input by itself.
    """
    layout = _layout(model)
    group: list[_Read] = []
    for read in chain(_cut_to(model, lines, (longest or pack) - layout.single, counts, leave_out), [None]):
        while group and (
            read is None
            or read.example.document != group[0].example.document
            or not _room(group, read.pieces, pack, layout)
        ):
            size, made = _taken(model, group, pack, layout)
            yield from _encoded(model, [made], leave_out)
            group = group[size:]
        if read is not None:
            group.append(read)


def fitted(
    model: Encoder,
    examples: Iterable[Example],
    limit: int | None,
    counts: Counts,
    leave_out: LeaveOut,
) -> Iterator[Example]:
    """Each example as an input, or as several where it has more than `limit` tokens."""
    for perceived, group in groupby(examples, _perceived):
        if perceived:
            for example in group:
                yield from _encoded(model, _heard_parts(model, example, counts, leave_out), leave_out)
        else:
            yield from _fitted(model, group, limit, counts, leave_out)


def _perceived(example: Example) -> bool:
    """Whether an example is a picture or a sound, or has one."""
    return example.image is not None or example.audio is not None


def _heard_parts(model: Encoder, example: Example, counts: Counts, leave_out: LeaveOut) -> Sequence[Example]:
    """A picture, or a sound in parts that the model hears at once; nothing for a sound that is not to be cut."""
    hears = model.hears if isinstance(model, MediaReader) else None
    if example.audio is None or hears is None:
        return [example]
    try:
        windows = parts(example, *hears)
    except CorpusError as error:
        leave_out(error)
        return []
    except InputError as error:
        leave_out(example.error(error))
        return []
    counts.cuts += len(windows) - 1
    return windows


def _fitted(
    model: Encoder,
    examples: Iterable[Example],
    limit: int | None,
    counts: Counts,
    leave_out: LeaveOut,
) -> Iterator[Example]:
    layout = _layout(model)
    stream = iter(examples)
    while window := list(islice(stream, _WINDOW)):
        for example, tokens in zip(window, _read(model, window), strict=True):
            if tokens is not None and (limit is None or len(tokens) <= limit):
                yield from _encoded(model, [example], leave_out, tokens)
                continue
            (pieces,) = _pieces(model, [example])
            if pieces == 0 and example.text is not None and example.pair is None:
                counts.empty += 1
                continue
            parts = [example]
            if limit is not None and pieces + _around(example, layout) > limit:
                try:
                    parts = _parts(model, example, pieces, limit, layout)
                except CorpusError as error:
                    leave_out(error)
                    continue
                counts.cuts += len(parts) - 1
            yield from _encoded(model, parts, leave_out)


def _read(model: Encoder, examples: Sequence[Example]) -> list[Tokens | None]:
    """The tokens of examples of texts or words, read together; None for others, and for what cannot be read."""
    texts = {
        place: (first,) if second is None else (first, second)
        for place, example in enumerate(examples)
        for first, second in [
            (example.text, example.pair) if example.words is None else (example.words, example.pair_words)
        ]
        if example.pieces is None and first is not None
    }
    encoded = dict(zip(texts, model.encode_all(list(texts.values())), strict=True))
    return [encoded.get(place) for place in range(len(examples))]


def measured(model: Encoder, examples: Iterable[Example]) -> Iterator[tuple[Example, int]]:
    """Examples, and how many tokens each has, special ones included."""
    layout = _layout(model)
    for example, pieces in _sized(model, examples):
        yield example, pieces + _around(example, layout)


def _sized(model: Encoder, examples: Iterable[Example]) -> Iterator[tuple[Example, int]]:
    """Examples, and how many pieces each has."""
    stream = iter(examples)
    while window := list(islice(stream, _WINDOW)):
        yield from zip(window, _pieces(model, window), strict=True)


def _layout(model: Encoder) -> _Layout:
    sample = model.sample()
    single, pair = (
        len(tokens) - sum(model.count(texts))
        for tokens, texts in (
            (model.encode(sample), [sample]),
            (model.encode(sample, sample), [sample, sample]),
        )
    )
    return _Layout(single, pair, two=pair > single and not model.causal)


def _cut_to(
    model: Encoder, lines: Iterable[Example], room: int, counts: Counts, leave_out: LeaveOut
) -> Iterator[_Read]:
    """Lines of at most `room` pieces, and how many they have."""
    for line, pieces in _sized(model, lines):
        if pieces == 0:
            counts.empty += 1
        elif pieces <= room:
            yield _Read(line, pieces)
        else:
            try:
                parts = _split(model, line, room)
            except CorpusError as error:
                leave_out(error)
                continue
            counts.cuts += len(parts) - 1
            for part, size in zip(parts, model.count(parts), strict=True):
                yield _Read(replace(line, text=part), size)


def _room(group: Sequence[_Read], pieces: int, pack: int, layout: _Layout) -> bool:
    """Whether one more line goes into a group."""
    special = layout.pair if layout.two else layout.single
    return sum(read.pieces for read in group) + pieces + special <= pack


def _taken(model: Encoder, group: Sequence[_Read], pack: int, layout: _Layout) -> tuple[int, Example]:
    """How many of the first lines of a group make one input, and it: one text or two.

    That is all of them, but where joining lines makes more pieces than they have apart.
    """
    first, *second = [" ".join(read.example.text or "" for read in half) for half in _halves(group, layout)]
    around = layout.pair if second else layout.single
    if len(group) > 1 and sum(model.count([first, *second])) + around > pack:
        return _taken(model, group[:-1], pack, layout)
    return len(group), group[0].example.but(text=first, pair=second[0] if second else None)


def _halves(group: Sequence[_Read], layout: _Layout) -> Sequence[Sequence[_Read]]:
    """Some lines as one text, or as two, parted where a line ends nearest to the middle."""
    if not layout.two or len(group) == 1:
        return [group]
    ends = list(accumulate(read.pieces for read in group))
    half = min(range(1, len(group)), key=lambda end: abs(2 * ends[end - 1] - ends[-1]))
    return [group[:half], group[half:]]


def _pieces(model: Encoder, examples: Sequence[Example]) -> list[int]:
    """How many pieces each example has, without the special tokens that the tokenizer will add."""
    texts: list[str] = []
    owners: list[int] = []
    counts = [_given(model, example) for example in examples]
    for index, example in enumerate(examples):
        for text in (example.text, example.pair, *map(_joined, (example.words, example.pair_words))):
            if text is not None:
                texts.append(text)
                owners.append(index)
    for index, size in zip(owners, model.count(texts), strict=True):
        counts[index] += size
    return counts


def _given(model: Encoder, example: Example) -> int:
    """How many tokens are taken as they are; 0 for a conversation that the template refuses."""
    if example.ids is not None:
        return sum(map(len, example.ids))
    if example.messages is not None:
        with suppress(InputError):
            return len(model.chat(example.messages))
    return len(example.pieces or ())


def _joined(words: Sequence[str] | None) -> str | None:
    return None if words is None else " ".join(words)


def _around(example: Example, layout: _Layout) -> int:
    """How many special tokens the tokenizer puts around an example."""
    if any(other is not None for other in (example.pieces, example.messages, example.ids)):
        return 0
    return layout.single if example.pair is None and example.pair_words is None else layout.pair


def _parts(model: Encoder, example: Example, pieces: int, limit: int, layout: _Layout) -> list[Example]:
    """An example that is too long, as several. Raises `CorpusError` for what is not to be cut."""
    size = pieces + _around(example, layout)
    if any(
        annotation is not None
        for annotation in (example.heads, example.mentions, example.scope, example.links)
    ):
        kind = "a sentence" if example.words is not None else "a text with links"
        raise example.error(f"expected at most {limit} tokens in {kind}, found {size}")
    if example.text is not None and example.pair is None:
        return [replace(example, text=part) for part in _split(model, example, limit - layout.single)]
    if example.words is not None and example.pair_words is None:
        room = limit - layout.single
        parts: list[Example] = []
        start = 0
        for words in _word_groups(model, example, example.words, room):
            here = slice(start, start + len(words))
            tags = None if example.tags is None else example.tags[here]
            spaces = None if example.spaces is None else example.spaces[here]
            parts.append(replace(example, words=words, tags=tags, spaces=spaces))
            start += len(words)
        return parts
    kind = "a pair of texts" if _around(example, layout) else "tokens taken as they are"
    if example.messages is not None:
        kind = "a conversation"
    raise example.error(f"expected at most {limit} tokens for {kind}, found {size}")


def _split(model: Encoder, example: Example, room: int) -> list[str]:
    try:
        return model.split(example.text or "", room)
    except InputError as error:
        raise example.error(error) from None


def _word_groups(model: Encoder, example: Example, words: Sequence[str], room: int) -> list[Sequence[str]]:
    """Runs of words of at most `room` pieces each."""
    groups: list[list[str]] = []
    total = 0
    for word, size in zip(words, model.count(words), strict=True):
        if not groups or total + size > room:
            groups.append([])
            total = 0
        groups[-1].append(word)
        total += size
    parts: list[Sequence[str]] = []
    for group, size in zip(groups, model.count([" ".join(group) for group in groups]), strict=True):
        if size <= room:
            parts.append(group)
        elif len(group) == 1:
            raise example.error(
                f"words: expected at most {room} pieces in a word, found {size} in {group[0][:20]!r}…"
            )
        else:  # joined by spaces they have more pieces than apart
            half = len(group) // 2
            parts += _word_groups(model, example, group[:half], room) + _word_groups(
                model, example, group[half:], room
            )
    return parts


def _encoded(
    model: Encoder, examples: Iterable[Example], leave_out: LeaveOut, tokens: Tokens | None = None
) -> Iterator[Example]:
    """Examples with their tokens, those of a single one given as `tokens`; those without any are left out."""
    for example in examples:
        try:
            made = spaced(_tagged(_tokens(model, example) if tokens is None else tokens, example), example)
            if example.text is not None and example.pair is None and is_sequence(example.text):
                made = lettered(made, example.text)
        except InputError as error:
            leave_out(example.error(error))
        else:
            yield example.but(tokens=made)


def _tokens(model: Encoder, example: Example) -> Tokens:
    if _perceived(example):
        if not isinstance(model, MediaReader):
            raise InputError("expected a text, found a picture or a sound, which this model does not read")
        if example.image is not None:
            return model.see(example.image, example.text)
        assert example.audio is not None
        return model.hear(example.audio)
    if example.pieces is not None:
        return _laid_out(model, example.pieces)
    if example.messages is not None:
        return model.chat(example.messages)
    if example.ids is not None:
        return model.from_ids(*example.ids)
    if example.words is not None:
        return model.from_words(example.words, example.pair_words)
    return model.encode(example.text or "", example.pair)


def _laid_out(model: Encoder, pieces: Sequence[str]) -> Tokens:
    """Tokens taken as they are. Raises `InputError` for words: for what the vocabulary or the layout does not have."""
    try:
        tokens = model.from_pieces(pieces)
    except InputError as error:
        raise InputError(f"{error}; name words 'words'") from None
    sample = model.sample()
    encoded = model.encode(sample)
    inside = np.flatnonzero(~encoded.mask("special"))
    begin, end = encoded.pieces[: inside[0]], encoded.pieces[inside[-1] + 1 :]
    if begin or end:
        if tokens.pieces[: len(begin)] != begin or tokens.pieces[len(tokens) - len(end) :] != end:
            sides = [f"{' '.join(side)} {where}" for side, where in ((begin, "first"), (end, "last")) if side]
            expected = f"{' and '.join(sides)}, as the tokenizer puts them"
            raise InputError(
                f"tokens: expected {expected}, found {pieces[0]!r} … {pieces[-1]!r}; name words 'words'"
            )
    elif not any(map(_marked, tokens.pieces)) and any(
        map(_marked, model.encode(f"{sample} {sample}").pieces)
    ):
        plain = [piece for piece in tokens.pieces if not piece.startswith("<0x")]  # others are bytes
        words = sum(piece.upper() != piece.lower() for piece in plain)
        if words > _UNMARKED or (words and model.encode("".join(plain)).pieces != tokens.pieces):
            raise InputError(
                f"tokens: expected marks of spaces on some, found none on {pieces[:4]}; name words 'words'"
            )
    return tokens


def _marked(piece: str) -> bool:
    """Whether a piece says that a word begins or ends with it."""
    return piece.startswith(("▁", "Ġ")) or piece.endswith("</w>")


def spaced(tokens: Tokens, example: Example) -> Tokens:
    """Tokens whose `texts` have white space between the words of text A only where the corpus does not deny it."""
    if example.words is None or example.spaces is None or tokens.texts is None or tokens.word_ids is None:
        return tokens
    texts, begun = list(tokens.texts), -1
    for place, word in enumerate(tokens.word_ids.tolist()):
        if tokens.sequence_ids is not None and tokens.sequence_ids[place] != 0:
            continue
        if word > max(begun, 0) and not example.spaces[word - 1]:
            texts[place] = texts[place].lstrip(" ")
        begun = word if texts[place].strip() else begun
    return replace(tokens, texts=texts)


def _tagged(tokens: Tokens, example: Example) -> Tokens:
    """Tokens with a class of each of the example's tags, in lower case: the pieces of the words of text A."""
    if example.tags is None or example.words is None or tokens.word_ids is None:
        return tokens
    words = tokens.word_ids.copy()
    if tokens.sequence_ids is not None:
        words[tokens.sequence_ids != 0] = -1
    numbers: dict[str, int] = {}
    for index, tag in enumerate(example.tags):
        name = tag.lower()
        if name in ("first", "special", *tokens.classes):
            raise InputError(
                f"tags[{index}]: expected another name than that of a class of tokens, found {tag!r}"
            )
        numbers.setdefault(name, len(numbers))
    of_words = np.array([*(numbers[tag.lower()] for tag in example.tags), -1])  # the last for tokens of none
    tags = of_words[words]
    return tokens.with_classes(**{name: tags == number for name, number in numbers.items() if name})
