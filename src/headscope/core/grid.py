"""Axes that are no text alone: patches of a picture, frames of a sound, stretches of a series, blocks of several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.core.media import Letters, Medium, Picture, Series, Sound
from headscope.core.tokens import ARRAYS, Tokens
from headscope.core.validation import Count, validated
from headscope.errors import InputError, ShapeError


@validated
def Grid(  # noqa: N802 (it makes an axis, as a class would)
    height: Count,
    width: Count,
    prefix: Sequence[str] = (),
    picture: Picture | None = None,
    *,
    area: Sequence[float] | None = None,
) -> Tokens:
    """The axis of a model that reads patches: some named tokens, then the patches row by row.

    Args:
        height, width: how many rows and columns of patches there are.
        prefix: tokens that stand before the patches, such as ``[CLS]`` and ``register 0``; they are special.
        picture: what is seen.
        area: the part of the picture that the grid covers (left, top, right, bottom in its pixels; a model may cut its
            edges off); by default all of it.

    >>> axis = hs.Grid(2, 3, prefix=["[CLS]"], picture=hs.Picture(np.zeros((40, 60, 3), np.uint8)))
    >>> axis.pieces[1:3], axis.boxes[1].tolist(), axis.boxes[-1].tolist()
    (('patch[0,0]', 'patch[0,1]'), [0.0, 0.0, 20.0, 20.0], [40.0, 20.0, 60.0, 40.0])
    """
    pieces = [f"patch[{row},{column}]" for row in range(height) for column in range(width)]
    named = len(prefix)
    places = None
    if picture is not None:
        across, down = picture.size
        left, top, right, bottom = (0.0, 0.0, across, down) if area is None else area
        if not (left < right and top < bottom):
            raise InputError(f"area: expected left, top, right, bottom in this order, found {area}")
        rows, columns = np.divmod(np.arange(height * width), width)
        step = np.array([(right - left) / width, (bottom - top) / height])
        first = np.stack([left + columns * step[0], top + rows * step[1]], -1)
        places = np.full((named + len(pieces), 5), np.nan)
        places[named:] = np.concatenate([np.zeros((len(first), 1)), first, first + step], -1)
    special = np.arange(named + len(pieces)) < named
    all_pieces = [*prefix, *pieces]
    classes = {
        "cls": np.array([piece == "[CLS]" for piece in all_pieces]),
        "register": np.array([piece.startswith("register") for piece in all_pieces]),
    }
    media = [] if picture is None else [picture]
    return Tokens(
        all_pieces, special_mask=special, classes=classes if named else {}, media=media, places=places
    )


@validated
def Stretches(  # noqa: N802
    medium: Medium, spans: Any, pieces: Sequence[str] | None = None
) -> Tokens:
    """The axis of tokens that stand for stretches of one medium, which may overlap: patches of a series, k-mers.

    Args:
        medium: a series, a sequence of letters, a sound or a picture.
        spans: ``[token 2]``, from and to in the medium's units (steps, letters, seconds); or ``[token 4]``, left, top,
            right and bottom.
        pieces: what each is called; by default its letters, or from where to where it goes.

    Raises `ShapeError` for spans of another shape.

    >>> axis = hs.Stretches(hs.Letters("AATC"), [(0, 3), (1, 4)])
    >>> axis.pieces, axis.places[1].tolist()
    (('AAT', 'ATC'), [0.0, 1.0, 0.0, 4.0, 1.0])
    """
    sides = np.array(spans, np.float64)
    if sides.ndim != 2 or sides.shape[1] not in (2, 4):
        raise ShapeError(f"spans: expected [token 2] or [token 4], found shape {sides.shape}")
    if sides.shape[1] == 2:
        tall = len(medium.channels) if isinstance(medium, Series) else 1
        down = medium.size[1] if isinstance(medium, Picture) else tall
        sides = np.stack([sides[:, 0], np.zeros(len(sides)), sides[:, 1], np.full(len(sides), down)], -1)
    if pieces is None:
        pieces = [
            medium.text[int(begin) : int(end)] if isinstance(medium, Letters) else f"{begin:g}–{end:g}"
            for begin, end in sides[:, ::2].tolist()
        ]
    return Tokens(pieces, media=[medium], places=np.pad(sides, ((0, 0), (1, 0))))


@validated
def Axis(blocks: Mapping[str, Tokens | Sequence[str] | Count]) -> Tokens:  # noqa: N802
    """One axis of blocks after one another: cameras, then a text, then actions.

    Args:
        blocks: by its name each block: an axis of its own (`Grid`, `Frames`, `Stretches`), words, or how many tokens it
            has. The name is a class of its tokens, so that measures can ask for it: ``actions_to_camera 2``.

    Raises `InputError` for no block, and for a block that has the name of another class.

    >>> eye = hs.Grid(1, 2, picture=hs.Picture(np.zeros((4, 8, 3), np.uint8), "wrist"))
    >>> axis = hs.Axis({"camera wrist": eye, "text": ["pick", "up"], "actions": 2})
    >>> axis.pieces[-2:], axis.mask("camera wrist").tolist()
    (('actions[0]', 'actions[1]'), [True, True, False, False, False, False])
    """
    parts = {
        name: block
        if isinstance(block, Tokens)
        else Tokens([f"{name}[{number}]" for number in range(block)] if isinstance(block, int) else block)
        for name, block in blocks.items()
    }
    if not parts:
        raise InputError("blocks: expected a block, found none")
    media = list({id(medium): medium for part in parts.values() for medium in part.media}.values())
    lengths = [len(part) for part in parts.values()]
    arrays = {name: [getattr(part, name) for part in parts.values()] for name in ARRAYS}
    arrays["places"] = [_renumbered(part, media) for part in parts.values()]
    words = np.cumsum([0] + [0 if ids is None else 1 + ids.max(initial=-1) for ids in arrays["word_ids"]])
    arrays["word_ids"] = [
        None if ids is None else np.where(ids < 0, ids, ids + first)
        for ids, first in zip(arrays["word_ids"], words[:-1], strict=True)
    ]
    known = {name for part in parts.values() for name in part.named}
    taken = known & parts.keys()
    if taken:
        raise InputError(f"blocks: expected names of no other class of tokens, found {taken.pop()!r}")
    classes = {name: [part.classes.get(name) for part in parts.values()] for name in known}
    owners = np.repeat([*parts], lengths)
    texts = [part.texts for part in parts.values()]
    return Tokens(
        [piece for part in parts.values() for piece in part.pieces],
        **{name: _joined(arrays[name], lengths, _NONE.get(name, 0)) for name in ARRAYS},
        classes={
            name: joined
            for name, masks in classes.items()
            if (joined := _joined(masks, lengths, 0)) is not None
        }
        | {name: owners == name for name in parts},
        texts=None
        if all(text is None for text in texts)
        else [text for part in parts.values() for text in part.texts or [""] * len(part)],
        media=media,
    )


_NONE = {"ids": -1, "word_ids": -1, "sequence_ids": -1, "places": np.nan}


def _renumbered(part: Tokens, media: Sequence[Medium]) -> npt.NDArray[Any] | None:
    """The places of a block, with the numbers that its media have among `media`."""
    if part.places is None:
        return None
    numbers = np.array([*map([id(medium) for medium in media].index, map(id, part.media)), np.nan])
    return np.concatenate([numbers[part.medium][:, None], part.places[:, 1:]], -1)


def _joined(
    arrays: Sequence[npt.NDArray[Any] | None], lengths: Sequence[int], none: float
) -> npt.NDArray[Any] | None:
    """Arrays of blocks after one another, with `none` where a block has none; None where no block has one."""
    first = next((array for array in arrays if array is not None), None)
    if first is None:
        return None
    return np.concatenate(
        [
            np.full((length, *first.shape[1:]), none, first.dtype) if array is None else array
            for array, length in zip(arrays, lengths, strict=True)
        ]
    )


Spoken = tuple[str, float, float]
"""A spoken word, and when it begins and ends, in seconds."""


@validated
def Frames(  # noqa: N802
    count: Count, seconds: float, sound: Sound | None = None, words: Sequence[Spoken] = ()
) -> Tokens:
    """The axis of a model that hears frames, each `seconds` long.

    Args:
        count: how many frames there are.
        seconds: how long one is.
        sound: what is heard.
        words: (word, begin, end) of each that is said, in seconds. A frame is of the word that is said at its middle.

    >>> axis = hs.Frames(3, 0.02, words=[("so", 0.0, 0.04)])
    >>> axis.pieces[1], axis.times.round(2).tolist(), axis.word_ids.tolist()
    ('0.02s', [[0.0, 0.02], [0.02, 0.04], [0.04, 0.06]], [0, 0, -1])
    """
    starts = np.arange(count) * seconds
    digits = max(0, int(np.ceil(-np.log10(seconds)))) if seconds < 1 else 1
    heard = Sound(np.zeros(0, np.float32), 1) if sound is None else sound
    pieces = [f"{start:.{digits}f}s" for start in starts]
    frames = Stretches(heard, np.stack([starts, starts + seconds], -1), pieces)
    return with_words(frames, words) if words else frames


def with_words(frames: Tokens, words: Sequence[Spoken]) -> Tokens:
    """An axis of frames with the words that are said.

    A frame is of the first word that is said at its middle; a word shorter than a frame has the frame of its own
    middle, where that is of no other. One whose times are NaN (`headscope.align` could not place it) has none.

    Raises `InputError` for a word that ends before it begins.
    """
    assert frames.times is not None
    middles = frames.times.mean(1)
    word_ids = np.full(len(frames), -1)
    texts = [""] * len(frames)
    short: list[int] = []
    for number, (_, begin, end) in enumerate(words):
        if math.isnan(begin) or math.isnan(end):
            continue
        if not 0 <= begin <= end < math.inf:
            raise InputError(
                f"words[{number}]: expected a begin from 0 and an end not before it, in seconds, found {begin:g} to "
                f"{end:g}"
            )
        inside = (middles >= begin) & (middles < end)
        word_ids[inside & (word_ids < 0)] = number
        short += [] if inside.any() else [number]
    for number in short:
        middle = sum(words[number][1:]) / 2
        inside = (frames.times[:, 0] <= middle) & (middle < frames.times[:, 1])
        word_ids[inside & (word_ids < 0)] = number
    for number, (word, _, _) in enumerate(words):
        if number in word_ids:
            texts[int((word_ids == number).argmax())] = f" {word.strip()}"
    return replace(frames, word_ids=word_ids, texts=texts)
