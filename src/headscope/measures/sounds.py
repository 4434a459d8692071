"""How far heads look in a sound, between its frames.

A frame is a token with a time (`Tokens.times`). A model such as Whisper always hears a window of one length, and
silence fills what the sound leaves of it: frames that begin after the sound's end are no frames here, and what they get
is ``after_sound``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.tokens import Tokens
from headscope.measures.measure import Measure, by_name, mask, pair_measure

NEAR = 0.1
"""Up to so many seconds away is near."""

_FRAME = ("frame",)
_ZHANG = ("zhang2020",)
_ROUNDING = 1e-9


def _heard(tokens: Tokens) -> Bools:
    """The frames that begin within the sound."""
    frames = mask(tokens, "frame")
    if tokens.times is None or tokens.sound is None:
        return frames
    return frames & (np.nan_to_num(tokens.times[:, 0]) < tokens.sound.seconds - _ROUNDING)


def _seconds(tokens: Tokens, queries: Ints) -> Floats:
    """How far the middles of two frames are apart, ``[query key]``; of what is none, any number."""
    middle = np.zeros(len(tokens)) if tokens.times is None else np.nan_to_num(tokens.times).mean(-1)
    return np.abs(middle[queries, None] - middle)


def _both(tokens: Tokens, queries: Ints) -> Bools:
    heard = _heard(tokens)
    return heard[queries, None] & heard


@pair_measure(
    "diagonality",
    "Mean closeness of what a frame looks at: 1 less its mean distance, weighted by attention, as a share of the "
    "distance to the farthest frame of the sound.",
    title="diagonality",
    units="share",
    among=_both,
    needs=_FRAME,
    source="Zhang et al. 2021, diagonality of attention matrices",
    keys=_ZHANG,
)
def diagonality(tokens: Tokens, queries: Ints) -> np.ndarray:
    """1 − Σⱼ aᵢⱼ |i − j| / maxⱼ |i − j|: 1 where all attention is on the diagonal, the frame itself. The weights of a
    row on the frames of the sound are put to sum to 1.

    Example: the first of three frames gives 0.5 to itself, 0.3 to the second and 0.2 to the third: 1 − (0.3 · 1 + 0.2 ·
    2) / 2 = 0.65.
    """
    both, far = _both(tokens, queries), _seconds(tokens, queries)
    most = (far * both).max(-1, keepdims=True)
    return both * (1.0 - far / np.where(most > 0, most, 1.0))


@pair_measure(
    "distance_seconds",
    "Mean distance in time between a frame and the frames that it looks at, weighted by attention, over the frames "
    "that see another one.",
    title="attention distance",
    units="seconds",
    among=_both,
    needs=_FRAME,
    source="as Vig & Belinkov 2019, mean distance of attention",
    keys=("vig2019structure",),
)
def distance_seconds(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The weights of a row on the frames of the sound are put to sum to 1.

    Example: the first of three frames of 0.02 s gives 0.5 to itself, 0.3 to the second and 0.2 to the third: 0.3 · 0.02
    + 0.2 · 0.04 = 0.014.
    """
    return _seconds(tokens, queries) * _both(tokens, queries)


@pair_measure(
    "locality_seconds",
    f"Mean share of a frame's attention that goes to the frames up to {NEAR:g} s before and after it, itself included.",
    title=f"within {NEAR:g} s",
    needs=_FRAME,
    source="cf. Zhang et al. 2021: the range of context",
    keys=_ZHANG,
)
def locality_seconds(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Frames whose middles are at most so far away.

    Example: the first of three frames of 0.06 s gives 0.5 to itself, 0.3 to the second and 0.2 to the third, which is
    0.12 s away: 0.5 + 0.3 = 0.8.
    """
    return _both(tokens, queries) & (_seconds(tokens, queries) <= NEAR + _ROUNDING)


@pair_measure(
    "after_sound",
    "Mean share of a frame's attention that goes to the silence after the end of the sound, with which a window of one "
    "length is filled.",
    title="after the sound",
    needs=_FRAME,
    source="cf. Radford et al. 2023, §2.2: windows of 30 s",
    keys=("radford2022",),
)
def after_sound(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Frames that begin after the sound's end.

    Example: of three frames of 0.02 s the sound has two. The first gives 0.1 to the third, the second 0.3: (0.1 + 0.3)
    / 2 = 0.2.
    """
    heard = _heard(tokens)
    return heard[queries, None] & mask(tokens, "frame") & ~heard


SOUNDS: Mapping[str, Measure] = by_name(diagonality, distance_seconds, locality_seconds, after_sound)
"""The group ``sounds``."""
