"""One input of a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from headscope.core.audio import Audio
from headscope.core.link import Link
from headscope.core.tokens import Tokens
from headscope.errors import CorpusError, InputError


class Mention(NamedTuple):
    """A mention of a coreference cluster: the words from `start` up to, not with, `end`."""

    start: int
    end: int
    cluster: str


@dataclass(frozen=True, kw_only=True)
class Example:
    """One input of a corpus: a text (and its pair), or words, or pieces taken as they are, or a conversation, or ids.

    Attributes:
        text: text A.
        pair: text B.
        words: text A as words.
        pair_words: text B as words.
        pieces: tokens taken as they are, special ones included.
        messages: a conversation, ``{"role": …, "content": …}`` each, for the model's chat template.
        ids: vocabulary ids taken as they are: of a prompt, and of what was written after it.
        tokens: the input as the model reads it; None until the corpus is encoded.
        document: number of the document in the corpus, from 0; the examples of a document follow one another.
        document_known: whether the corpus says so; False where a file, or a sentence, is taken for a document.
        source: where the example begins, such as ``news.txt:12``.
        label: what the corpus says of the example; a tuple where it says several things.
        undecided: True where its annotators do not agree on a label.
        name: what the corpus calls the example (CoNLL-U's ``sent_id``).
        spaces: whether white space follows each word; None where the corpus does not say.
        tags: a tag a word; in treebanks the universal part of speech.
        heads: the index of each word's head among the words; -1 for the root.
        relations: the relation of each word to its head.
        features: the morphological features of each word.
        mentions: in the order in which they begin; None where the corpus has no coreference.
        cue: places of the words of a negation's cue.
        scope: places of the words in its scope.
        links: what belongs to what in the input; None where the corpus does not say.
        image: a picture, alone or beside `text`: a path, a Pillow image, numbers or a `headscope.Picture`.
        audio: a sound, or what the words were spoken as: a WAV file, or samples and their rate.
        times: when each word begins and ends in it, in seconds.
        asked: of a prompt its answer, and where that comes from, as `headscope.corpora.prompts` reads them.
    """

    text: str | None = None
    pair: str | None = None
    words: Sequence[str] | None = None
    pair_words: Sequence[str] | None = None
    pieces: Sequence[str] | None = None
    messages: Sequence[Mapping[str, Any]] | None = None
    ids: tuple[Sequence[int], Sequence[int]] | None = None
    tokens: Tokens | None = field(default=None, repr=False)
    document: int = 0
    document_known: bool = True
    source: str = ""
    label: str | int | float | tuple[str | int | float, ...] | None = None
    undecided: bool | None = None
    name: str = ""
    spaces: Sequence[bool] | None = None
    tags: Sequence[str] | None = None
    heads: Sequence[int] | None = None
    relations: Sequence[str] | None = None
    features: Sequence[Mapping[str, str]] | None = None
    mentions: Sequence[Mention] | None = None
    cue: Sequence[int] | None = None
    scope: Sequence[int] | None = None
    links: Sequence[Link] | None = None
    image: Any = field(default=None, repr=False)
    audio: Audio | None = field(default=None, repr=False)
    times: Sequence[tuple[float, float]] | None = None
    asked: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.tokens is not None and not isinstance(self.tokens, Tokens):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"tokens: expected Tokens or None, found {type(self.tokens).__name__}")

    def but(self, **changes: Any) -> Self:
        """A copy with other attributes, which are not checked: a fast `dataclasses.replace` for millions of them."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **changes)
        return made

    @property
    def place(self) -> str:
        """What messages call it by: where it begins, of one that was made in Python that it is among the examples."""
        return self.source or "examples"

    @property
    def labels(self) -> tuple[str, ...]:
        """Its labels, as strings."""
        if self.label is None:
            return ()
        return tuple(map(str, self.label)) if isinstance(self.label, tuple) else (str(self.label),)

    def error(self, message: InputError | str) -> CorpusError:
        """An error that begins with the example's file, line and name."""
        path, _, line = self.source.rpartition(":")
        full = f"sentence {self.name}: {message}" if self.name else str(message)
        return (
            CorpusError(path, int(line), full)
            if path and line.isdecimal()
            else CorpusError(self.place, None, full)
        )
