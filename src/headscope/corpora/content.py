"""What an example is made of, as bytes to be hashed: two corpora of the same content are the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from headscope.core.tokens import FIELDS, PLACES, Tokens
from headscope.corpora.example import Example

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


_READ = ("text", "pair", "words", "pair_words", "pieces", "messages", "ids")
_ANNOTATED = ("label", "heads", "relations", "mentions", "cue", "scope", "times", "asked")


def spelled_out(example: Example) -> Iterator[bytes]:
    """What a model reads of an example, and what is annotated, wherever it stands: two of the same say the same."""
    tokens = example.tokens
    shown = None if tokens is None else (tokens.picture or tokens.sound)
    if tokens is not None and tokens.ids is not None:
        yield tokens.ids.tobytes()
        read = ("pair", "pair_words")  # of an encoder-decoder they are no tokens of it
    else:
        yield b"" if tokens is None else "\0".join(tokens.pieces).encode("utf-8", "surrogatepass")
        read = _READ
    links = None if example.links is None else [replace(link, place="") for link in example.links]
    named = [_plain(getattr(example, name)) for name in (*read, *_ANNOTATED)]
    yield repr((named, links)).encode("utf-8", "surrogatepass")
    for medium in (example.image, example.audio) if shown is None else (shown,):
        if medium is not None:
            yield from _perceived(getattr(medium, "samples", medium))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _tokens(tokens: Tokens) -> Iterator[bytes]:
    yield "\0".join(tokens.pieces).encode("utf-8", "surrogatepass")
    for array in (getattr(tokens, name) for name in FIELDS):
        yield b"none" if array is None else np.ascontiguousarray(array).tobytes()
    for array in (getattr(tokens, name) for name in PLACES):
        if array is not None:
            yield np.ascontiguousarray(array).tobytes()
    if tokens.picture is not None:
        yield np.ascontiguousarray(tokens.picture.pixels).tobytes()
    if tokens.sound is not None:
        yield np.ascontiguousarray(tokens.sound.samples).tobytes()
    for name, mask in tokens.classes.items():
        yield name.encode()
        yield np.packbits(mask).tobytes()


def _perceived(medium: Any) -> Iterator[bytes]:
    """A picture or a sound: the bytes of its file, or its numbers."""
    if isinstance(medium, str | os.PathLike):
        path = Path(cast("str | os.PathLike[str]", medium))
        yield path.read_bytes() if os.path.isfile(path) else b"none"
    elif isinstance(medium, tuple):
        for part in cast("tuple[Any, ...]", medium):
            yield from _perceived(part)
    elif isinstance(medium, bytes):
        yield medium
    else:
        array = np.ascontiguousarray(getattr(medium, "pixels", medium))
        yield f"{array.dtype} {array.shape}".encode()
        yield repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
