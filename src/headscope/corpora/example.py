"""One input of a corpus."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np

from headscope.core.audio import Audio
from headscope.core.failures import Bounded, warn
from headscope.core.kinds import is_path, is_tuple
from headscope.core.link import Link
from headscope.core.pictures import Video
from headscope.core.tokens import FIELDS, Tokens
from headscope.core.types import AnyMapping
from headscope.corpora.files import WordError
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
        image: a picture, alone or beside `text`: a path, a Pillow image, numbers or a `headscope.Picture`; a tuple of
            them; or a `headscope.core.pictures.Video`.
        audio: a sound, or what the words were spoken as: a WAV file, or samples and their rate.
        times: when each word begins and ends in it, in seconds.
        asked: of a prompt its answer, and where that comes from, as `headscope.corpora.prompts` reads them.
    """

    text: str | None = None
    pair: str | None = None
    words: Sequence[str] | None = None
    pair_words: Sequence[str] | None = None
    pieces: Sequence[str] | None = None
    messages: Sequence[AnyMapping] | None = None
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
    asked: AnyMapping | None = None

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


_APART = ("tokens", "image", "audio", "source")


def content(example: Example) -> Iterator[bytes]:
    """What is known of an example but for where it stands: its texts and what goes with them, its tokens, files."""
    known = {
        name: _plain(value)
        for name, value in vars(example).items()
        if value is not None and name not in _APART
    }
    yield repr(known).encode("utf-8", "surrogatepass")
    if example.tokens is not None:
        yield from _tokens(example.tokens)
    for medium in (example.image, example.audio):
        if medium is not None:
            yield from _perceived(medium)


def feed(digest: Any, parts: Iterable[bytes]) -> None:
    """Add parts to a checksum, with how long each is."""
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)


_READ = ("text", "pair", "words", "pair_words", "pieces", "messages", "ids")
_ANNOTATED = ("label", "heads", "relations", "mentions", "cue", "scope", "times", "asked")


def spelled_out(example: Example) -> Iterator[bytes]:
    """What a model reads of an example, and what is annotated, wherever it stands: two of the same say the same."""
    tokens = example.tokens
    shown = () if tokens is None else tokens.media
    if tokens is not None and tokens.ids is not None:
        yield tokens.ids.tobytes()
        read = ("pair", "pair_words")  # of an encoder-decoder they are no tokens of it
    else:
        yield b"" if tokens is None else "\0".join(tokens.pieces).encode("utf-8", "surrogatepass")
        read = _READ
    links = None if example.links is None else [replace(link, place="") for link in example.links]
    named = [_plain(getattr(example, name)) for name in (*read, *_ANNOTATED)]
    yield repr((named, links)).encode("utf-8", "surrogatepass")
    for medium in shown or (example.image, example.audio):
        if medium is not None:
            yield from _perceived(medium)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _tokens(tokens: Tokens) -> Iterator[bytes]:
    yield "\0".join(tokens.pieces).encode("utf-8", "surrogatepass")
    for array in (getattr(tokens, name) for name in FIELDS):
        yield b"none" if array is None else np.ascontiguousarray(array).tobytes()
    for array in (
        *([] if tokens.places is None else [tokens.places]),
        *(medium.array for medium in tokens.media),
    ):
        yield np.ascontiguousarray(array).tobytes()
    for name, mask in tokens.classes.items():
        yield name.encode()
        yield np.packbits(mask).tobytes()


def _perceived(medium: Any) -> Iterator[bytes]:
    """Pictures, a video or a sound: the bytes of its files, or its numbers."""
    if is_path(medium):
        path = Path(medium)
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            yield file.read_bytes() if os.path.isfile(file) else b"none"
    elif isinstance(medium, Video):
        yield b"video"
        yield from _perceived(medium.source)
    elif is_tuple(medium) or isinstance(medium, list):
        for part in cast("Sequence[Any]", medium):
            yield from _perceived(part)
    elif isinstance(medium, bytes):
        yield medium
    else:
        array = np.ascontiguousarray(getattr(medium, "array", medium))
        yield f"{array.dtype} {array.shape}".encode()
        yield repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()


_BRACKET = re.compile(r"\(([^()]+)(\)?)|([^()]+)\)")
_PART = re.compile(r"\[[0-9]{1,9}/[0-9]{1,9}\]$")


Read = tuple[list[Mention], list[WordError]]
"""Mentions in the order in which they open, and what is wrong with the brackets of those that are left out."""


def mentions(entities: Sequence[tuple[int, int, str]], layout: str | None) -> Read:
    """The mentions of one sentence.

    Args:
        entities: what ``Entity=`` says of each word, and from which word up to which that is: nothing for empty nodes,
            so that a mention of empty nodes alone is of no word, and is passed over.
        layout: what ``# global.Entity`` says: names parted by ``-``, of which ``eid`` (or ``GRP``) is the cluster.

    A mention of several parts (``[1/2]``) is read as the words from its first part to its last. One that does not begin
    and end in the sentence is left out. Raises `WordError` for what is no bracket, and where it cannot be told what of
    it is the cluster.
    """
    field = _place(layout)
    brackets = Brackets("Entity: ")
    for start, end, value in entities:
        rest = value if value != "_" else ""
        for match in _BRACKET.finditer(rest):
            rest = rest.replace(match[0], "", 1)
            name = match[1] or match[3]
            if match[1] and field is None and "-" in name:
                wrong = (
                    f"eid or GRP in '# global.Entity = {layout}'"
                    if layout
                    else f"'# global.Entity' before ({name}"
                )
                raise WordError(start, f"Entity: expected {wrong}, as it says what of it is the cluster")
            entity = _entity(name, field)
            if match[1]:
                brackets.begin(entity, start)
            if match[3] or match[2]:
                brackets.end(entity, end - 1, value)
        if rest:
            raise WordError(start, f"Entity: expected brackets such as (e1 or e1), found {value!r}")
    spans, wrong = brackets.mentions()
    return _joined([mention for mention in spans if mention.start < mention.end], wrong), wrong


class Brackets:
    """Brackets around the mentions of one sentence, as they are read word by word.

    Attributes:
        wrong: what is wrong with those that have no partner; messages begin with `where`.
    """

    def __init__(self, where: str = "") -> None:
        self._where = where
        self._open: dict[str, list[int]] = {}
        self._mentions: list[Mention | None] = []
        self._starts: list[int] = []
        self.wrong: list[WordError] = []

    def begin(self, cluster: str, word: int) -> None:
        """A mention of a cluster begins at a word."""
        self._open.setdefault(cluster, []).append(len(self._starts))
        self._starts.append(word)
        self._mentions.append(None)

    def end(self, cluster: str, word: int, value: str) -> None:
        """The last mention of a cluster that began ends with a word, as `value` says."""
        if not self._open.get(cluster):
            message = f"{self._where}expected an open bracket of {cluster!r}, found its end in {value!r}"
            self.wrong.append(WordError(max(word, 0), message))
            return
        number = self._open[cluster].pop()
        self._mentions[number] = Mention(self._starts[number], word + 1, cluster)

    def mentions(self) -> Read:
        """The mentions in the order in which they begin, and what is wrong."""
        for cluster, numbers in self._open.items():
            for number in numbers:
                message = f"{self._where}expected the end of {cluster!r} in the same sentence, found none"
                self.wrong.append(WordError(self._starts[number], message))
        return [mention for mention in self._mentions if mention is not None], self.wrong


class Unmatched:
    """Says once of a corpus which brackets have no partner in their sentence."""

    def __init__(self) -> None:
        self._warned = False

    @contextmanager
    def collected(self) -> Generator[list[CorpusError]]:
        """Give a list for what is found in a pass, and warn of it at the end, which may come early."""
        errors = Bounded[CorpusError]()
        try:
            yield errors
        finally:
            if errors and not self._warned:
                self._warned = True
                warn(
                    f"left out the mentions of {errors.number:,} brackets that have no partner in their sentence, the "
                    f"first: {errors[0]}"
                )


def withheld(words: Sequence[str]) -> str | None:
    """What is wrong where the words of a sentence are placeholders: a corpus that is shared without its texts."""
    blank = all(word == "[WORD]" or not word.strip("_") for word in words)
    if not blank or (len(words) == 1 and words[0] not in ("_", "[WORD]")):  # a rule, as mails have it
        return None
    return (
        f"expected words, found {words[0]} alone: the texts were withheld, and have to be put in their places"
    )


def _place(layout: str | None) -> int | None:
    names = (layout or "").strip().split("-")
    return next((names.index(name) for name in ("eid", "GRP") if name in names), None)


def _entity(name: str, field: int | None) -> str:
    """The cluster of a bracket, with the part of a mention of several parts."""
    if field is None:
        return name
    parts = name.split("-")
    return parts[field] if field < len(parts) else parts[0]


def _joined(mentions: Sequence[Mention], wrong: list[WordError]) -> list[Mention]:
    """Mentions of several parts as one, from the first part to the last."""
    joined: list[Mention] = []
    pending: dict[str, int] = {}
    for mention in mentions:
        part = _PART.search(mention.cluster)
        if part is None:
            joined.append(mention)
            continue
        number, total = map(int, part[0][1:-1].split("/"))
        cluster = mention.cluster[: part.start()]
        if number == 1:
            pending[cluster] = len(joined)
            joined.append(Mention(mention.start, mention.end, cluster))
        elif cluster in pending:
            first = joined[pending[cluster]]
            joined[pending[cluster]] = Mention(first.start, mention.end, cluster)
            if number == total:
                del pending[cluster]
        else:
            message = f"Entity: expected the first part of {cluster!r} before part {number}"
            wrong.append(WordError(mention.start, message))
    return joined
