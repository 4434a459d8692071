"""Axes that are no text: patches of a picture, frames of a sound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headscope.doors import Count, validated
from headscope.errors import InputError
from headscope.senses import Picture, Sound
from headscope.tokens import Tokens


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
        prefix: tokens that stand before the patches, such as ``[CLS]`` and registers; they are special.
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
    classes = {"cls": np.array([piece == "[CLS]" for piece in (*prefix, *pieces)])} if named else {}
    return Tokens([*prefix, *pieces], special_mask=special, classes=classes, picture=picture, boxes=boxes)


@validated
def Frames(count: Count, seconds: float, sound: Sound | None = None) -> Tokens:  # noqa: N802
    """The axis of a model that hears frames, each `seconds` long.

    Args:
        count: how many frames there are.
        seconds: how long one is.
        sound: what is heard.

    >>> axis = hs.Frames(3, 0.02)
    >>> axis.pieces[1], axis.times.round(2).tolist()
    ('0.02s', [[0.0, 0.02], [0.02, 0.04], [0.04, 0.06]])
    """
    starts = np.arange(count) * seconds
    digits = max(0, int(np.ceil(-np.log10(seconds)))) if seconds < 1 else 1
    return Tokens(
        [f"{start:.{digits}f}s" for start in starts],
        sound=sound,
        times=np.stack([starts, starts + seconds], -1).astype(np.float64),
    )
