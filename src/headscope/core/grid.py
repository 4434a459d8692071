"""Axes that are no text: patches of a picture, frames of a sound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headscope.core.tokens import Picture, Sound, Tokens
from headscope.core.validation import Count, validated
from headscope.errors import InputError


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
    boxes = None
    if picture is not None:
        across, down = picture.size
        left, top, right, bottom = (0.0, 0.0, across, down) if area is None else area
        if not (left < right and top < bottom):
            raise InputError(f"area: expected left, top, right, bottom in this order, found {area}")
        rows, columns = np.divmod(np.arange(height * width), width)
        step = np.array([(right - left) / width, (bottom - top) / height])
        first = np.stack([left + columns * step[0], top + rows * step[1]], -1)
        boxes = np.full((named + len(pieces), 4), np.nan)
        boxes[named:] = np.concatenate([first, first + step], -1)
    special = np.arange(named + len(pieces)) < named
    all_pieces = [*prefix, *pieces]
    classes = {
        "cls": np.array([piece == "[CLS]" for piece in all_pieces]),
        "register": np.array([piece.startswith("register") for piece in all_pieces]),
    }
    return Tokens(
        all_pieces, special_mask=special, classes=classes if named else {}, picture=picture, boxes=boxes
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
    frames = Tokens(
        [f"{start:.{digits}f}s" for start in starts],
        sound=sound,
        times=np.stack([starts, starts + seconds], -1).astype(np.float64),
    )
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
        _, begin, end = words[number]
        middle = (begin + end) / 2
        inside = (frames.times[:, 0] <= middle) & (middle < frames.times[:, 1])
        word_ids[inside & (word_ids < 0)] = number
    for number, (word, _, _) in enumerate(words):
        inside = word_ids == number
        if inside.any():
            texts[int(inside.argmax())] = f" {word.strip()}"
    return replace(frames, word_ids=word_ids, texts=texts)
