"""What a corpus needs of a model, and what a pass over it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from operator import add
from typing import Any, Protocol, runtime_checkable

from headscope.core.audio import Audio
from headscope.core.tokens import Tokens


@runtime_checkable
class Encoder(Protocol):
    """What a corpus needs of a model (`headscope.models.Model` is one)."""

    @property
    def max_length(self) -> int | None:
        """The longest input in tokens."""
        ...

    @property
    def causal(self) -> bool:
        """Whether a token sees only itself and what stands before it."""
        ...

    def sample(self) -> str:
        """A short text of which the tokenizer makes a piece or more, whatever it reads."""
        ...

    def encode(self, text: str, pair: str | None = None) -> Tokens:
        """Tokens of a text or a pair."""
        ...

    def from_words(self, words: Sequence[str], pair_words: Sequence[str] | None = None) -> Tokens:
        """Tokens of a text that is given as words."""
        ...

    def encode_all(self, inputs: Sequence[Sequence[str | Sequence[str]]]) -> list[Tokens | None]:
        """Tokens of inputs of one text or two, each a string or a list of words; None for one that is refused."""
        ...

    def from_pieces(self, pieces: Sequence[str]) -> Tokens:
        """Tokens taken as they are."""
        ...

    def chat(self, messages: Sequence[Mapping[str, str]]) -> Tokens:
        """Tokens of a conversation."""
        ...

    def from_ids(self, ids: Sequence[int], written: Sequence[int] = ()) -> Tokens:
        """Tokens of vocabulary ids taken as they are, those written after a prompt marked."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many pieces each text has, without special tokens."""
        ...

    def split(self, text: str, size: int) -> list[str]:
        """Parts of a text of at most `size` pieces each."""
        ...


@runtime_checkable
class MediaReader(Protocol):
    """What a corpus of pictures or sounds needs of a model."""

    @property
    def hears(self) -> tuple[int, float] | None:
        """How many samples in a second it hears, and how many seconds at once; None where it hears nothing."""
        ...

    def see(self, image: Any, text: str | None = None) -> Tokens:
        """Tokens of a picture, or of a text with a picture in it."""
        ...

    def hear(self, audio: Audio) -> Tokens:
        """Tokens of a sound."""
        ...


@dataclass
class Counts:
    """What one pass over a corpus has seen so far.

    Attributes:
        documents: documents with at least one input.
        examples: inputs.
        tokens: tokens of all inputs, special ones included.
        words: words of all inputs (where the tokenizer tells words).
        split_words: words of more than one piece.
        cuts: places where a text that was longer than fits was cut.
        empty: lines left out because the tokenizer finds no piece in them (control characters only).
        undecided: inputs on whose label their annotators do not agree.
        videos: inputs that are videos.
    """

    documents: int = 0
    examples: int = 0
    tokens: int = 0
    words: int = 0
    split_words: int = 0
    cuts: int = 0
    empty: int = 0
    undecided: int = 0
    videos: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(add, astuple(self), astuple(other)))
