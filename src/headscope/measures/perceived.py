"""How far heads look on a picture and in a sound, and where a model of both texts and pictures looks as it writes.

Patches and frames are tokens with places. A model such as Whisper always hears a window of one length, and silence
fills what the sound leaves of it: frames (`Tokens.times`) that begin after the sound's end are no frames here, and what
they get is ``after_sound``. Of what was written the rows are those of the words that were generated, or, where nothing
was, of the words after the picture; the rest of their attention is on special tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.media import covering
from headscope.core.tokens import Tokens
from headscope.measures.measure import Measure, by_name, mask, pair_measure

_PATCH = ("patch",)
_VIT = ("dosovitskiy2020",)


def _areas(tokens: Tokens) -> tuple[Floats, Floats]:
    """The middle of each patch and its width and height, ``[token 2]`` each; 0 for what is none."""
    boxes = np.zeros((len(tokens), 4)) if tokens.boxes is None else np.nan_to_num(tokens.boxes)
    return (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]


def _both(tokens: Tokens, queries: Ints) -> Bools:
    """Pairs of patches of one picture, or one frame of a video, ``[query key]``."""
    return _patches(tokens, queries) & (tokens.medium[queries, None] == tokens.medium)


def _patches(tokens: Tokens, queries: Ints) -> Bools:
    """Pairs of patches, of whatever pictures."""
    patches = mask(tokens, "patch")
    return patches[queries, None] & patches


def _others(tokens: Tokens, queries: Ints) -> Bools:
    """Pairs of two patches."""
    return _both(tokens, queries) & (queries[:, None] != np.arange(len(tokens)))


def _apart(tokens: Tokens, queries: Ints) -> tuple[Floats, Floats]:
    """How far the middles of two tokens are apart, across and down, as shares of their mean width and height."""
    middle, size = _areas(tokens)
    apart = np.abs(middle[queries, None] - middle)
    mean = (size[queries, None] + size) / 2
    across, down = np.moveaxis(apart / np.where(mean > 0, mean, 1.0), -1, 0)
    return across, down


def _distance(tokens: Tokens, queries: Ints) -> Floats:
    """How far the middles of two patches are apart, ``[query key]``; 0 where one is none."""
    middle, _ = _areas(tokens)
    return np.linalg.norm(middle[queries, None] - middle, axis=-1) * _both(tokens, queries)


_of_vit = partial(pair_measure, needs=_PATCH, keys=_VIT)
_EMBEDDED = "cf. Dosovitskiy et al. 2021, §4.5, figure 7: rows and columns in position embeddings"


@_of_vit(
    "distance_pixels",
    "Mean distance between a patch and the patches that it looks at, from middle to middle and weighted by attention, "
    "over the patches that see another one.",
    title="attention distance",
    units="pixels",
    among=_both,
    source="Dosovitskiy et al. 2021, §4.5, figure 7, and appendix D.7",
)
def distance_pixels(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The weights of each patch's row on patches, itself among them, are put to sum to 1: what ``[CLS]`` and registers
    get has no distance. The paper does not say so; code that follows it (Keras' example of probing ViT) only leaves
    them out, so that heads that look at ``[CLS]`` seem to look near. Pixels are the picture's own; of pictures of the
    model's size (224 pixels wide in the paper) that is the same.

    Example: the second of three patches in a row, 10 pixels wide, gives 0.2 to the first, 0.1 to itself, 0.5 to the
    third and 0.2 to ``[CLS]``: (0.2 · 10 + 0.5 · 10) / 0.8 = 8.75.
    """
    return _distance(tokens, queries)


@_of_vit(
    "distance_share",
    "Mean distance between a patch and the patches that it looks at, as a share of the diagonal of what the model sees "
    "of the picture, over the patches that see another one.",
    title="relative distance",
    units="share",
    among=_both,
    source="Dosovitskiy et al. 2021, §4.5, figure 7",
)
def distance_share(tokens: Tokens, queries: Ints) -> np.ndarray:
    """`distance_pixels` by the diagonal of all patches together, so that pictures of different sizes compare.

    Example: a distance of 8.75 pixels on three patches of 10 × 10 pixels in a row, with a diagonal of √(30² + 10²):
    8.75 / 31.62 = 0.28.
    """
    far, patches = _distance(tokens, queries), mask(tokens, "patch")
    if tokens.places is None or not patches.any():
        return far
    seen = covering(tokens.places[patches], tokens.medium[patches])[:, 1:]
    return far / np.linalg.norm(seen[:, 2:] - seen[:, :2], axis=1)[tokens.medium[queries], None]


@pair_measure(
    "locality",
    "Mean share of a patch's attention that goes to itself and the up to eight patches around it.",
    title="locality",
    needs=_PATCH,
    source="Cordonnier et al. 2020",
    keys=("cordonnier2019",),
)
def locality(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The 3 × 3 patches that a convolution sees, the patch itself in their midst (`current` is that alone); fewer at
    the edges. Patches of different sizes are around each other where they touch.

    Example: in a row of four patches, the first gives 0.3 to itself, 0.2 to the second and 0.4 to the third: 0.3 + 0.2
    = 0.5.
    """
    across, down = _apart(tokens, queries)
    return _both(tokens, queries) & (across < 1.5) & (down < 1.5)


@_of_vit(
    "same_row",
    "Mean share of a patch's attention that goes to the other patches of its row, over the patches that see one.",
    title="same row",
    source=_EMBEDDED,
)
def same_row(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Patches beside it, however far, itself left out.

    Example: in two rows of two patches, the first gives 0.3 to itself, 0.4 to the one beside it and 0.2 to the one
    below: 0.4.
    """
    _, down = _apart(tokens, queries)
    return _others(tokens, queries) & (down < 0.5)


@_of_vit(
    "same_column",
    "Mean share of a patch's attention that goes to the other patches of its column, over the patches that see one.",
    title="same column",
    source=_EMBEDDED,
)
def same_column(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Patches above and below it, however far, itself left out.

    Example: in two rows of two patches, the first gives 0.3 to itself, 0.4 to the one beside it and 0.2 to the one
    below: 0.2.
    """
    across, _ = _apart(tokens, queries)
    return _others(tokens, queries) & (across < 0.5)


def _times(tokens: Tokens, queries: Ints) -> tuple[Floats, Bools]:
    """How far the middles of the frames of two tokens are apart, and which are both of a video, ``[query key]``."""
    frames = [getattr(medium, "frames", None) for medium in (*tokens.media, None)]
    times = np.array([np.nan if ends is None else sum(ends) / 2 for ends in frames])[tokens.medium]
    apart = np.abs(times[queries, None] - times)
    return np.nan_to_num(apart), np.isfinite(apart)


@pair_measure(
    "distance_frames",
    "Mean distance in time between a video's patch and what it looks at, weighted by attention.",
    title="distance in time",
    units="frames",
    among=lambda tokens, queries: _times(tokens, queries)[1],
    needs=_PATCH,
    source="as Vig & Belinkov 2019",
    keys=("vig2019structure",),
)
def distance_frames(tokens: Tokens, queries: Ints) -> np.ndarray:
    """From the middle of its frames to theirs, over the patches that see another frame; the weights of a row on patches
    are put to sum to 1. Frames that a model takes together are at one time.

    Example: a patch of frames 0–1 gives 0.3 to itself, 0.2 to one of frames 2–3 and 0.1 to one of frames 6–7: (0.2 · 2
    + 0.1 · 6) / 0.6 = 1.67.
    """
    return _times(tokens, queries)[0]


@pair_measure(
    "other_picture",
    "Mean share of a patch's attention that goes to other pictures or frames.",
    title="other pictures",
    needs=_PATCH,
)
def other_picture(tokens: Tokens, queries: Ints) -> np.ndarray:
    """All patches that do not lie on the patch's own picture; ``to_picture 2`` is the share of one of them.

    Example: a patch of picture 1 gives 0.4 to picture 1, 0.3 and 0.1 to two patches of picture 2, and 0.2 to words: 0.3
    + 0.1 = 0.4.
    """
    return _patches(tokens, queries) & ~_both(tokens, queries)


MEDIA: Mapping[str, Measure] = by_name(distance_frames, other_picture)
"""The group ``media``."""

PICTURES: Mapping[str, Measure] = by_name(distance_pixels, distance_share, locality, same_row, same_column)
"""The group ``pictures``."""


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


def _both_heard(tokens: Tokens, queries: Ints) -> Bools:
    heard = _heard(tokens)
    return heard[queries, None] & heard


@pair_measure(
    "diagonality",
    "Mean closeness of what a frame looks at: 1 less its mean distance, weighted by attention, as a share of the "
    "distance to the farthest frame of the sound.",
    title="diagonality",
    units="share",
    among=_both_heard,
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
    both, far = _both_heard(tokens, queries), _seconds(tokens, queries)
    most = (far * both).max(-1, keepdims=True)
    return both * (1.0 - far / np.where(most > 0, most, 1.0))


@pair_measure(
    "distance_seconds",
    "Mean distance in time between a frame and the frames that it looks at, weighted by attention, over the frames "
    "that see another one.",
    title="attention distance",
    units="seconds",
    among=_both_heard,
    needs=_FRAME,
    source="as Vig & Belinkov 2019, mean distance of attention",
    keys=("vig2019structure",),
)
def distance_seconds(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The weights of a row on the frames of the sound are put to sum to 1.

    Example: the first of three frames of 0.02 s gives 0.5 to itself, 0.3 to the second and 0.2 to the third: 0.3 · 0.02
    + 0.2 · 0.04 = 0.014.
    """
    return _seconds(tokens, queries) * _both_heard(tokens, queries)


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
    return _both_heard(tokens, queries) & (_seconds(tokens, queries) <= NEAR + _ROUNDING)


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


_answers = partial(pair_measure, source="Chen et al. 2024, §3: attention allocation", keys=("chen2024",))


def speaking(tokens: Tokens) -> Bools:
    """The words that were generated; where none was, those after the picture."""
    written = mask(tokens, "generated")
    if written.any():
        return written
    return mask(tokens, "question") & np.logical_or.accumulate(mask(tokens, "image"))


def _to(tokens: Tokens, queries: Ints, keys: Bools) -> Bools:
    return speaking(tokens)[queries, None] & keys


@_answers(
    "to_image",
    "Mean share of the attention of a generated word that goes to the picture; where nothing was generated, of a word "
    "after the picture.",
    title="to the picture",
    needs=("image",),
)
def to_image(tokens: Tokens, queries: Ints) -> np.ndarray:
    """All tokens of the class `image`.

    Example: two tokens stand for a picture, *What ?* was asked and *a cat* written. *a* gives 0.1 and 0.2 to the
    picture, *cat* 0.3 and 0.2: (0.3 + 0.5) / 2 = 0.4.
    """
    return _to(tokens, queries, mask(tokens, "image"))


@_answers(
    "to_question",
    "Mean share of the attention of a generated word that goes to the words of the prompt; where nothing was "
    "generated, of a word after the picture, itself included.",
    title="to the question",
    needs=("question",),
)
def to_question(tokens: Tokens, queries: Ints) -> np.ndarray:
    """All tokens of the class `question`: the text before and after a picture, without special tokens.

    Example: two tokens stand for a picture, *What ?* was asked and *a cat* written. *a* gives 0.2 and 0.1 to *What ?*,
    *cat* 0.1 to each: (0.3 + 0.2) / 2 = 0.25.
    """
    return _to(tokens, queries, mask(tokens, "question"))


@_answers(
    "to_written",
    "Mean share of the attention of a generated word that goes to what was generated so far, itself included.",
    title="to its own words",
    needs=("generated",),
)
def to_written(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The words generated so far; a word's own row is the one that goes on after it.

    Example: two tokens stand for a picture, *What ?* was asked and *a cat* written. *a* gives 0.4 to itself, *cat* 0.1
    to *a* and 0.2 to itself: (0.4 + 0.3) / 2 = 0.35.
    """
    return _to(tokens, queries, mask(tokens, "generated")) & (np.arange(len(tokens)) <= queries[:, None])


ANSWERS: Mapping[str, Measure] = by_name(to_image, to_question, to_written)
"""The group ``answers``."""
