"""The maps of an input as an example of a page: whole, or put together so far that the page stays small."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headscope.attention.check import READERS
from headscope.attention.neurons import capture_with_neurons
from headscope.attention.parts import Parts
from headscope.core.grid import with_words
from headscope.core.maps import AttentionMaps
from headscope.core.media import covering
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.views.explorer import Input
from headscope.views.images import PatchBlocks, blocked, put_together
from headscope.views.section import SideBySide

HELD = 16_000_000
"""Up to so many weights of an example of a picture are held in memory; of more, patches are put together first."""

FRAMES = 200
"""At most so many frames of a sound stand on a page: wider than a column of it they cannot be seen."""

SILENCE = 8
"""At most so many of these are of the silence after the sound."""


def look(model: Model, given: str | tuple[str, str] | Tokens | Example, room: int | None = None) -> Input:
    """The maps of one input, of the part of a model that is measured: of an encoder-decoder the encoder.

    Of a sound whose words are known there is also what the decoder looks at when it writes them.

    Args:
        model: from `headscope.load`.
        given: a text, a pair, tokens, or an example with a picture or a sound.
        room: as many weights a page has room for. Of a picture with more, patches that stand together are one query
            (`Input.side`); of a sound with more, frames that follow one another are one.
    """
    if isinstance(given, Example) and (given.image is not None or given.audio is not None):
        return _perceived(model, given, room)
    text = given.tokens if isinstance(given, Example) else given
    maps, neurons = capture_with_neurons(model, text, target="." if model.encoder_decoder else None)
    measured, read = _measured(model, maps, neurons)
    return Input({measured.kind: measured}, neurons=read)


def _measured(
    model: Model, maps: Any, neurons: Mapping[str, Neurons]
) -> tuple[AttentionMaps, dict[str, Neurons]]:
    """The maps of the part that is measured, and its neurons by the kind of these, as which a page shows it."""
    parts = maps if isinstance(maps, Parts) else {maps.kind: maps}
    name = next((name for name in READERS if name in parts), None)
    if name is None:
        raise InputError(f"{model.name}: the report shows models of one part; this one has {maps!r}")
    read = parts[name]
    return read, {read.kind: neurons[name]} if name in neurons else {}


def side_by_side(views: tuple[Input, Input], labels: Sequence[str], state: AnyMapping) -> SideBySide:
    """Two inputs beside each other, called A and B, with queries and keys of no head but those that are named."""
    first, second = (
        replace(view, opened=(), label=f"{letter} · {label}")
        for view, letter, label in zip(views, "AB", labels, strict=True)
    )
    return SideBySide(first, second, state)


def _perceived(model: Model, example: Example, room: int | None) -> Input:
    if example.image is not None:
        text = None if model.processor is None else example.text
        captured, neurons = capture_with_neurons(model, text, image=example.image)
        return _of_picture(*_measured(model, captured, neurons), example, room)
    transcript = _transcript(model, example)
    target = (transcript or ".") if model.encoder_decoder else None
    captured, neurons = capture_with_neurons(model, audio=example.audio, target=target)
    maps, read = _measured(model, captured, neurons)
    shown = [maps]
    if isinstance(captured, Parts) and transcript:
        shown.append(captured["cross"])
    frames = maps.key
    if example.words is not None and example.times is not None:
        heard = [(word, *times) for word, times in zip(example.words, example.times, strict=True)]
        frames = with_words(frames, heard)
    most = FRAMES if room is None else min(FRAMES, int(np.sqrt(room / len(maps.heads))))
    few = frames_together(frames, most)
    parts: dict[str, AttentionMaps] = {}
    for part in shown:
        same = part.kind != "cross"
        named = replace(part, key=frames, query=frames if same else part.query)
        parts[part.kind] = put_together(named, few if same else None, few)
    return Input(parts, neurons={} if few else read)


def _transcript(model: Model, example: Example) -> str | None:
    """What a model that writes what it hears is to write, where that is known and not longer than it takes."""
    transcript = " ".join(example.words or ()) or example.text
    most: Any = getattr(model.config, "max_target_positions", None)
    if not model.encoder_decoder or not transcript or (most and len(model.encode(transcript)) > most):
        return None
    return transcript


def _of_picture(
    maps: AttentionMaps, neurons: dict[str, Neurons], example: Example, room: int | None
) -> Input:
    tokens, heads = maps.query, len(maps.heads)
    if example.tokens is not None and len(example.tokens) == len(tokens):  # as it was marked
        maps = replace(maps, query=example.tokens, key=example.tokens)
        tokens = example.tokens
    if maps.causal or tokens.boxes is None:
        return Input({maps.kind: maps}, neurons=neurons)
    side = _side(tokens, lambda count: heads * count**2 <= HELD)
    if side > 1:
        few = blocked(tokens, side)
        maps, neurons = put_together(maps, few, few), {}
        tokens = few.tokens
    side = 1 if room is None else _side(tokens, lambda count: heads * count * len(tokens) <= room)
    return Input({maps.kind: maps}, neurons=neurons, side=side)


def _side(tokens: Tokens, fits: Callable[[int], bool]) -> int:
    """The smallest side of blocks of patches that make few enough of them."""
    side, count = 1, len(tokens)
    while not fits(count) and count > 1:
        side += 1
        count = len(blocked(tokens, side).tokens)
    return side


def frames_together(frames: Tokens, most: int) -> PatchBlocks | None:
    """Frames put together in stretches of about one length, at most so many; None where there are few enough.

    The silence with which a model fills up its window has at most `SILENCE` stretches of its own.

    >>> frames_together(hs.Frames(10, 0.1), 4).tokens.pieces
    ('0.0s', '0.3s', '0.5s', '0.8s')
    """
    count = len(frames)
    if count <= most:
        return None
    assert frames.times is not None
    end = np.inf if frames.sound is None else frames.sound.seconds - 1e-9
    heard = int((frames.times[:, 0] < end).sum())
    behind = min(count - heard, SILENCE, most - 1)
    of = np.concatenate(
        [
            np.arange(heard) * min(heard, most - behind) // max(heard, 1),
            min(heard, most - behind) + np.arange(count - heard) * behind // max(count - heard, 1),
        ]
    )
    first = np.flatnonzero(np.diff(of, prepend=-1))
    assert frames.places is not None
    few = replace(frames.take(first), places=covering(frames.places, of))
    return PatchBlocks(int(np.bincount(of).max()), of, few)
