"""Many lines read at once, each tokenized once, and put together to inputs from their pieces.

`headscope.models.encode` reads a text with all that a picture needs of it. A corpus needs less of each input and has
many: here lines go through the tokenizer's fastest call, what a piece says by itself (is it punctuation, is it white
space) is read off a table of the vocabulary, and an input of several lines is made of their pieces. That is what
`encode` gives of the joined text, without offsets and texts, where a space that joins lines parts them for the
tokenizer, too (`Join`), and where no piece needs its text to be understood. Of anything else there is nothing here, and
`encode` reads it.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from headscope.core.arrays import Bools, Ints
from headscope.core.tokens import Tokens, strip_markers
from headscope.errors import InputError
from headscope.models.encode import encode
from headscope.models.pieces import (
    by_tokenizer,
    byte_level,
    clings,
    is_gap,
    is_han,
    mark,
    piece_punctuates,
    sample,
    shown_pieces,
    special_tokens,
    unknown_ids,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Join = Literal["apart", "spaced"]
"""How a tokenizer reads lines that a space joins: as it reads each alone (BERT, SentencePiece), or as it reads each
with the space before it (byte-level BPE)."""

_PROBES = (
    "a",
    "The",
    "'s",
    "’s",
    "7",
    "19",
    ".",
    "(",
    "“",
    "-",
    "日",
    "é",
    "𝒳",
    "😀",
    "<",
    "don't",
    "e.g.",
    "ΟΔΟΣ",
)
_LINES = ("The old bridge (1894) fell.", "nobody was hurt", "they said, later:", "a", "日本")
_YES, _UNSURE = 1, 2  # whether a piece is punctuation

_WORDS = 1 << 14
"""So many first words are kept with their pieces."""


class EncodedLine(NamedTuple):
    """A line that was read.

    Attributes:
        ids, words: of its pieces where it follows another line: vocabulary ids, and the index of each piece's word.
        first_ids, first_words: of the pieces of its first word where it begins a text.
        first: how many of `ids` are of its first word.
    """

    ids: Ints
    words: Ints
    first_ids: Ints
    first_words: Ints
    first: int

    @property
    def alone(self) -> int:
        """How many pieces it has where it begins a text."""
        return len(self.first_ids) + len(self.ids) - self.first

    @property
    def after(self) -> int:
        """How many it has where it follows another line."""
        return len(self.ids)

    def parts(self, begins: bool) -> tuple[Ints, Ints]:
        """Its ids and words where it begins a text, or follows another line."""
        if not begins or self.first_ids is self.ids:
            return self.ids, self.words
        rest = self.words[self.first :]
        shift = int(self.first_words[-1]) - int(self.words[self.first - 1])
        return np.concatenate([self.first_ids, self.ids[self.first :]]), np.concatenate(
            [self.first_words, rest + shift]
        )


class _Around(NamedTuple):
    """The special tokens around one text, or two: before, between and after, and as many −1; and the types of these
    tokens, and of each text, if the model has types.
    """

    ids: tuple[Ints, ...]
    nothing: tuple[Ints, ...]
    special_types: Ints | None
    text_types: tuple[int, ...]


class Bulk:
    """Reads many lines with a fast tokenizer.

    Attributes:
        join: how lines that a space joins are read; None where that is not known, so that lines are not put together.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._backend: Any = tokenizer.backend_tokenizer
        self._control, self._named = special_tokens(tokenizer)
        self._first: dict[str, tuple[Ints, Ints] | None] = {}
        self._plain: dict[str, bool] = {}
        size = self._backend.get_vocab_size(with_added_tokens=True)
        self._vocabulary = [self._backend.id_to_token(number) or "" for number in range(size)]
        named = shown_pieces(tokenizer, range(size), self._vocabulary)
        self._pieces = np.array(named, object)
        self._tables()
        self.join: Join | None = self._joined()

    def _tables(self) -> None:
        """What each piece of the vocabulary says by itself."""
        size = len(self._vocabulary)
        style = mark(self._tokenizer)
        kinds = {kind for kind, _ in _stages(self._backend.pre_tokenizer)}
        # Whether pieces say by themselves where words begin, as the tokenizer's own pre-tokenizer has it.
        self._marked = (style == "##" and kinds == {"BertPreTokenizer"}) or (
            style == "▁" and kinds <= {"Metaspace"}
        )
        self._begins = np.zeros(size, np.bool_)
        self._punctuation = np.zeros(size, np.int8)
        self._lengths = np.zeros(size, np.int64)
        self._gap, self._spaced = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        unsure = {*unknown_ids(self._tokenizer), *self._control, *self._backend.get_added_tokens_decoder()}
        for number, (raw, piece) in enumerate(zip(self._vocabulary, self._pieces, strict=True)):
            self._gap[number] = is_gap(piece)
            self._lengths[number] = len(_solid(raw, style))
            self._spaced[number] = piece.startswith(("Ġ", "▁"))
            self._begins[number] = (
                not piece.startswith("##") if style == "##" and self._marked else self._spaced[number]
            )
            if not piece or "<0x" in piece or self._text_alone_tells(piece, style):
                unsure.add(number)
            elif piece_punctuates(piece):
                self._punctuation[number] = _YES
        self._punctuation[[number for number in unsure if number < size]] = _UNSURE

    @staticmethod
    def _text_alone_tells(piece: str, style: str | None) -> bool:
        """Whether words at a piece's ends may not be those of the tokenizer (`headscope.models.pieces.divides`)."""
        text = strip_markers(piece)
        if text.isascii():
            return False
        if style == "##":
            return (clings(text[0]) and text == piece) or (len(piece) > 1 and any(map(is_han, text)))
        ends = (text[0], text[-1])
        return any(map(is_han, ends)) or any(map(clings, ends))

    def _joined(self) -> Join | None:
        """How lines are joined, tried on pairs of words of all kinds where the tokenizer's stages allow it."""
        stages = _stages(self._backend.pre_tokenizer)
        kinds = {kind for kind, _ in stages}
        splits = kinds & {"BertPreTokenizer", "Whitespace", "WhitespaceSplit", "ByteLevel"} or any(
            kind == "Metaspace" and options.get("split", True) for kind, options in stages
        )
        if not splits and any("▁" in piece.lstrip("▁") for piece in self._vocabulary):
            return None  # pieces that go on over a space
        if not splits and not any(piece.startswith("▁") for piece in self._vocabulary):
            return None
        both = [f"{one} {other}" for one, other in product(_PROBES, _PROBES)]
        alone, spaced, joined = (
            [encoding.ids for encoding in self._encode(texts)]
            for texts in (_PROBES, [f" {probe}" for probe in _PROBES], both)
        )
        pairs = list(product(range(len(_PROBES)), repeat=2))
        if all(joined[place] == alone[a] + alone[b] for place, (a, b) in enumerate(pairs)):
            return "apart"
        if byte_level(self._tokenizer) and all(
            joined[place] == alone[a] + spaced[b] for place, (a, b) in enumerate(pairs)
        ):
            return "spaced"
        return None

    def lines(self, texts: Sequence[str]) -> list[EncodedLine | None]:
        """The pieces of each line; None for one that only `encode` understands."""
        lines: list[EncodedLine | None] = [None] * len(texts)
        if self.join is None:
            return lines
        places = [place for place, text in enumerate(texts) if self._understood(text)]
        if not places:
            return lines
        spaced = self.join == "spaced"
        before = " " if spaced else ""
        read = self._read([before + texts[place] for place in places])
        firsts = self._firsts([texts[place].partition(" ")[0] for place in places]) if spaced else None
        for number, place in enumerate(places):
            pieces = read[number]
            if pieces is None:
                continue
            ids, words = pieces
            if firsts is None:
                lines[place] = EncodedLine(ids, words, ids, words, len(ids))
                continue
            beginning = firsts[number]
            if beginning is not None:
                later = np.flatnonzero(self._spaced[ids[1:]])
                first = int(later[0]) + 1 if len(later) else len(ids)
                lines[place] = EncodedLine(ids, words, *beginning, first)
        return lines

    def split(self, text: str, line: EncodedLine, size: int) -> list[tuple[str, EncodedLine]] | None:
        """Parts of a line of at most `size` pieces each, cut as `headscope.models.encode.split` cuts them.

        None where a cut would be within a word, or it is not known where the pieces stand in the text.
        """
        ids, words = line.parts(True)
        spaces = _spaces(text)
        starts = self._starts(text, spaces, ids)
        if starts is None:
            return None
        after = (starts == 0) | spaces[starts - 1]
        parts: list[tuple[int, int]] = []
        begin = 0
        while begin < len(ids):
            end = begin + size
            if end < len(ids):
                cuts = np.flatnonzero(after[begin + 1 : end + 1]) + begin + 1
                cuts = cuts[cuts > begin + size / 2]
                if not len(cuts):
                    return None
                end = int(cuts[-1])
            parts.append((begin, min(end, len(ids))))
            begin = end
        borders = [*(int(starts[begin]) for begin, _ in parts), len(text)]
        texts = [text[start:stop].strip(" ") for start, stop in pairwise(borders)]
        if self.join == "apart":
            cut = [(ids[begin:end], words[begin:end] - words[begin]) for begin, end in parts]
            return [
                (excerpt, EncodedLine(*pieces, *pieces, end - begin))
                for excerpt, pieces, (begin, end) in zip(texts, cut, parts, strict=True)
            ]
        read = self.lines(texts)
        if any(known is None or known.alone > size for known in read):
            return None
        return [(excerpt, known) for excerpt, known in zip(texts, read, strict=True) if known is not None]

    def _starts(self, text: str, spaces: Bools, ids: Ints) -> Ints | None:
        """The character at which each piece of a line begins, `spaces` aside; None where that is not known."""
        solid = ~spaces
        if byte_level(self._tokenizer) and not text.isascii():
            sizes = np.array([len(character.encode()) for character in text], np.int64)
            solid = np.repeat(solid, sizes)
            place_of = np.repeat(np.arange(len(text)), sizes)
        else:
            place_of = np.arange(len(text))
        lengths = self._lengths[ids]
        places = place_of[solid]
        if lengths.sum() != len(places) or not lengths.all():
            return None
        return places[np.cumsum(lengths) - lengths]

    def _firsts(self, words: Sequence[str]) -> list[tuple[Ints, Ints] | None]:
        """The pieces of words that begin a text."""
        new = list(dict.fromkeys(word for word in words if word not in self._first))
        if len(self._first) + len(new) > _WORDS:
            self._first.clear()
            new = list(dict.fromkeys(words))
        self._first.update(zip(new, self._read(new) if new else (), strict=True))
        return [self._first[word] for word in words]

    def _understood(self, text: str) -> bool:
        """Whether each character of a line is punctuation just where the pieces made of it are."""
        if not text or text[0].isspace() or text[-1].isspace():
            return False
        if text.isascii():
            return True
        plain = self._plain
        for character in set(text):
            known = plain.get(character)
            if known is None:
                known = plain[character] = self._keeps(character)
            if not known:
                return False
        return True

    def _keeps(self, character: str) -> bool:
        """Whether what the tokenizer makes of a character is punctuation where that is."""
        normalizer = self._backend.normalizer
        if "\ud800" <= character <= "\udfff" or (character.isspace() and character != " "):
            return False  # half a pair, which is no text; and space that joins as others do not
        written: str = character if normalizer is None else normalizer.normalize_str(character)
        punctuation = unicodedata.category(character)[0] == "P"
        return all(
            (unicodedata.category(sign)[0] == "P") == punctuation for sign in written if not sign.isspace()
        )

    def _read(self, texts: Sequence[str]) -> list[tuple[Ints, Ints] | None]:
        """Ids and words of each text; None for one with a piece that its text alone explains."""
        encodings = self._encode(texts)
        lists = [encoding.ids for encoding in encodings]
        sizes = np.fromiter(map(len, lists), np.int64, len(lists))
        ends = np.cumsum(sizes)
        flat = np.fromiter(chain.from_iterable(lists), np.int64, int(sizes.sum()))
        starts = ends - sizes
        punctuation = self._punctuation[flat]
        begins = self._begins[flat]
        if not self._marked:
            of_words = chain.from_iterable(encoding.word_ids for encoding in encodings)
            given = np.fromiter(of_words, np.int64, len(flat))
            begins[1:] |= given[1:] != given[:-1]
        begins[1:] |= (punctuation[1:] == _YES) | (punctuation[:-1] == _YES)
        begins[1:] &= ~self._gap[flat[:-1]]
        begins[starts[sizes > 0]] = True
        words = np.cumsum(begins)
        unsure = np.concatenate([[0], np.cumsum(punctuation == _UNSURE)])
        pieces: list[tuple[Ints, Ints] | None] = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if start == end or unsure[end] > unsure[start]:
                pieces.append(None)
            else:
                pieces.append((flat[start:end], words[start:end] - words[start]))
        return pieces

    def _encode(self, texts: Sequence[str]) -> list[Any]:
        backend = self._backend
        if backend.truncation is not None or backend.padding is not None:
            backend.no_truncation()
            backend.no_padding()
        read = backend.encode_batch_fast if self._marked else backend.encode_batch
        return read(list(texts), add_special_tokens=False)

    def inputs(self, asked: Sequence[Sequence[Sequence[EncodedLine]]]) -> list[Tokens]:
        """The tokens of inputs of one text or two, of lines that spaces join, as `encode` has them, without offsets and
        texts."""
        parts: list[tuple[Ints, Ints, int, int, int]] = []  # ids, words, side, type, words before
        special_types: list[Ints] = []
        borders = [0]
        for halves in asked:
            around = self._around[len(halves) - 1]
            parts.append((around.ids[0], around.nothing[0], -1, 0, 0))
            for side, lines in enumerate(halves):
                count = 0
                for place, line in enumerate(lines):
                    line_ids, of = line.parts(place == 0)
                    parts.append((line_ids, of, side, around.text_types[side], count))
                    count += int(of[-1]) + 1
                parts.append((around.ids[side + 1], around.nothing[side + 1], -1, 0, 0))
            if around.special_types is not None:
                special_types.append(around.special_types)
            borders.append(len(parts))
        ids_of, words, side_of, type_of, before = zip(*parts, strict=True)
        sizes = np.fromiter(map(len, ids_of), np.int64, len(parts))
        ids, sides = np.concatenate(ids_of), np.repeat(side_of, sizes)
        special = sides < 0
        arrays: dict[str, np.ndarray] = {
            "ids": ids,
            "special_mask": special,
            "word_ids": np.concatenate(words) + np.repeat(before, sizes),
            "sequence_ids": sides,
        }
        if special_types:
            arrays["type_ids"] = types = np.repeat(type_of, sizes)
            types[special] = np.concatenate(special_types)
        classes = {name: ids == number for name, number in self._named}
        classes["punctuation"] = (self._punctuation[ids] == _YES) & ~special
        pieces: list[str] = self._pieces[ids].tolist()
        ends = np.concatenate([[0], np.cumsum(sizes)])[borders].tolist()
        return [
            Tokens.known(
                tuple(pieces[start:end]),
                classes={name: mask[start:end] for name, mask in classes.items()},
                **{name: array[start:end] for name, array in arrays.items()},
            )
            for start, end in pairwise(ends)
        ]

    @cached_property
    def _around(self) -> tuple[_Around, _Around]:
        text = sample(self._tokenizer)
        return self._special(text), self._special(text, text)

    def _special(self, *texts: str) -> _Around:
        """What stands around these texts, read off what the tokenizer makes of them."""
        tokens = encode(self._tokenizer, *texts)
        assert tokens.ids is not None
        assert tokens.sequence_ids is not None
        places = [np.flatnonzero(tokens.sequence_ids == side) for side in range(len(texts))]
        borders = [
            0,
            *(border for span in places for border in (int(span[0]), int(span[-1]) + 1)),
            len(tokens),
        ]
        gaps = [slice(start, stop) for start, stop in zip(borders[::2], borders[1::2], strict=True)]
        ids, types = tokens.ids, tokens.type_ids
        return _Around(
            tuple(ids[gap] for gap in gaps),
            tuple(np.full(gap.stop - gap.start, -1) for gap in gaps),
            None if types is None else np.concatenate([types[gap] for gap in gaps]),
            tuple(0 if types is None else int(types[span[0]]) for span in places),
        )


def bulk(tokenizer: PreTrainedTokenizerBase | None) -> Bulk | None:
    """What reads many lines with a tokenizer; None for one without a fast version, or that calls it in its own way."""
    return _made(tokenizer) if tokenizer is not None and tokenizer.is_fast else None


@by_tokenizer
def _made(tokenizer: PreTrainedTokenizerBase) -> Bulk | None:
    with suppress(InputError, ValueError, IndexError):
        made = Bulk(tokenizer)
        if made.join is not None and _agrees(made, tokenizer):
            return made
    return None


def _agrees(made: Bulk, tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether two lines, and two texts of two lines, are what the tokenizer makes of them joined."""
    lines = [line for line in _LINES if made.lines([line])[0] is not None]
    read = [line for line in made.lines(lines) if line is not None]
    if not read:
        return False
    joined = " ".join(lines)
    for halves, texts in (((read,), (joined,)), ((read, read), (joined, joined))):
        tokens, expected = made.inputs([halves])[0], encode(tokenizer, *texts)
        for name in ("ids", "type_ids", "special_mask", "word_ids", "sequence_ids"):
            if not np.array_equal(_given(tokens, name), _given(expected, name)):
                return False
    return True


def _given(tokens: Tokens, name: str) -> np.ndarray:
    array = getattr(tokens, name)
    return np.zeros(0) if array is None else array


def _stages(component: Any) -> list[tuple[str, dict[str, Any]]]:
    """The stages of a pre-tokenizer, by name, with their options."""
    if component is None:
        return []
    state: dict[str, Any] = json.loads(component.__getstate__())
    stages: list[dict[str, Any]] = state.get("pretokenizers", [state])
    return [(str(stage["type"]), stage) for stage in stages]


def _spaces(text: str) -> Bools:
    """Which characters of an understood line are white space."""
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    return (codes == 32) | ((codes >= 9) & (codes <= 13)) | ((codes >= 28) & (codes <= 31))


def _solid(piece: str, style: str | None) -> str:
    """A piece without what marks words and spaces in it."""
    if style == "##":
        return piece[2:] if piece.startswith("##") and len(piece) > 2 else piece
    return piece.replace("Ġ" if style == "Ġ" else "▁", "")
