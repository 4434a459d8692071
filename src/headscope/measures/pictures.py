"""How far heads look on a picture, and in which direction, between patches.

A patch is a token with an area (`Tokens.boxes`), wherever it stands: merged patches have larger ones. ``[CLS]``,
registers and words have none: what they get is ``cls``, ``to_register`` and the like.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.tokens import Tokens
from headscope.measures.measure import Measure, by_name, mask, pair_measure

_PATCH = ("patch",)
_VIT = ("dosovitskiy2020",)


def _areas(tokens: Tokens) -> tuple[Floats, Floats]:
    """The middle of each patch and its width and height, ``[token 2]`` each; 0 for what is none."""
    boxes = np.zeros((len(tokens), 4)) if tokens.boxes is None else np.nan_to_num(tokens.boxes)
    return (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]


def _both(tokens: Tokens, queries: Ints) -> Bools:
    """Pairs of patches, ``[query key]``."""
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


@pair_measure(
    "distance_pixels",
    "Mean distance between a patch and the patches that it looks at, from middle to middle and weighted by attention, "
    "over the patches that see another one.",
    title="attention distance",
    units="pixels",
    among=_both,
    needs=_PATCH,
    source="Dosovitskiy et al. 2021, §4.5, figure 7, and appendix D.7",
    keys=_VIT,
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


@pair_measure(
    "distance_share",
    "Mean distance between a patch and the patches that it looks at, as a share of the diagonal of what the model sees "
    "of the picture, over the patches that see another one.",
    title="relative distance",
    units="share",
    among=_both,
    needs=_PATCH,
    source="Dosovitskiy et al. 2021, §4.5, figure 7",
    keys=_VIT,
)
def distance_share(tokens: Tokens, queries: Ints) -> np.ndarray:
    """`distance_pixels` by the diagonal of all patches together, so that pictures of different sizes compare.

    Example: a distance of 8.75 pixels on three patches of 10 × 10 pixels in a row, with a diagonal of √(30² + 10²):
    8.75 / 31.62 = 0.28.
    """
    far, patches = _distance(tokens, queries), mask(tokens, "patch")
    if tokens.boxes is None or not patches.any():
        return far
    seen = tokens.boxes[patches]
    return far / np.linalg.norm(seen[:, 2:].max(0) - seen[:, :2].min(0))


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


@pair_measure(
    "same_row",
    "Mean share of a patch's attention that goes to the other patches of its row, over the patches that see one.",
    title="same row",
    needs=_PATCH,
    source="cf. Dosovitskiy et al. 2021, §4.5, figure 7: rows and columns in position embeddings",
    keys=_VIT,
)
def same_row(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Patches beside it, however far, itself left out.

    Example: in two rows of two patches, the first gives 0.3 to itself, 0.4 to the one beside it and 0.2 to the one
    below: 0.4.
    """
    _, down = _apart(tokens, queries)
    return _others(tokens, queries) & (down < 0.5)


@pair_measure(
    "same_column",
    "Mean share of a patch's attention that goes to the other patches of its column, over the patches that see one.",
    title="same column",
    needs=_PATCH,
    source="cf. Dosovitskiy et al. 2021, §4.5, figure 7: rows and columns in position embeddings",
    keys=_VIT,
)
def same_column(tokens: Tokens, queries: Ints) -> np.ndarray:
    """Patches above and below it, however far, itself left out.

    Example: in two rows of two patches, the first gives 0.3 to itself, 0.4 to the one beside it and 0.2 to the one
    below: 0.2.
    """
    across, _ = _apart(tokens, queries)
    return _others(tokens, queries) & (across < 0.5)


PICTURES: Mapping[str, Measure] = by_name(distance_pixels, distance_share, locality, same_row, same_column)
"""The group ``pictures``."""
