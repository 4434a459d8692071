"""Which tokens the axes of a part are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from headscope.attention.parts import from_ids, labels
from headscope.attention.record import IMPLICIT, AttentionRecord
from headscope.attention.windows import Placed
from headscope.core.arrays import Bools
from headscope.core.grid import Frames
from headscope.core.tokens import Tokens
from headscope.models.model import Model
from headscope.models.perceive import of_tower
from headscope.models.pictures import merged, prefixed
from headscope.models.within import virtual_tokens


def sides(
    model: Model,
    part: str,
    records: Sequence[AttentionRecord],
    row: int,
    ready: Mapping[str, Tensor],
    axes: Mapping[str, Tokens],
) -> list[tuple[Tokens, Bools | slice]]:
    """The query's and the key's tokens of one part and one row, and which positions of each are no padding."""
    first = records[0]
    if isinstance(first, Placed) and first.cells is not None:
        stage = merged(axes.get("patches"), *first.cells)
        return [(stage, slice(None))] * 2
    _, _, queries, keys = first.shape
    part = "self" if part == IMPLICIT else part
    named = (("decoder", queries), ("encoder", keys)) if part == "cross" else ((part, queries), (part, keys))
    looks = of_tower(first.module)
    return [_axis(model, side, looks, count, row, ready, axes) for side, count in named]


def _axis(
    model: Model,
    side: str,
    looks: bool,
    count: int,
    row: int,
    ready: Mapping[str, Tensor],
    axes: Mapping[str, Tokens],
) -> tuple[Tokens, Bools | slice]:
    """The tokens of one axis of one row, and which of its positions are no padding.

    Args:
        looks: it is of the part that looks at pictures, in a model that reads texts, too.
    """
    if side in axes and len(axes[side]) == count:
        return axes[side], slice(None)
    patches = axes.get(side if side.startswith("tile ") else "patches")
    if patches is not None:
        both = axes.get("self")  # of text and picture, whatever it is called
        if both is not None and len(both) == count and not looks:
            return both, slice(None)
        mask = ready.get("pixel_attention_mask")
        if mask is not None and mask.shape[1:] == (count,):  # SigLIP 2 pads patches
            keep = mask[row].cpu().numpy().astype(bool)
            return patches.take(keep), keep
        if (axis := prefixed(patches, model, count)) is not None:
            return axis, slice(None)
    if (known := _length(side, ready, axes)) and known + virtual_tokens(model.module) == count != known:
        tokens, kept = _axis(model, side, looks, known, row, ready, axes)
        keep = np.arange(count) < count - known
        keep[count - known :][kept] = True
        return after_virtual(tokens, count - known), keep
    prefix = "decoder_" if side == "decoder" and "decoder_input_ids" in ready else ""
    ids, mask = ready.get(f"{prefix}input_ids"), ready.get(f"{prefix}attention_mask")
    if ids is not None and ids.shape[1] == count:
        keep = np.ones(count, bool)
        if mask is not None and mask.ndim == 2 and mask.shape[1] == count:
            keep = mask[row].cpu().numpy().astype(bool)
        return from_ids(ids[row].cpu().numpy()[keep].astype(np.int64), model.tokenizer), keep
    if "sound" in axes and not prefix:
        stretch = axes["sound"]
        assert stretch.times is not None
        return Frames(count, float(stretch.times[0, 1]) / count, stretch.sound), slice(None)
    pixels = any("pixel" in name for name in ready)
    audio = any(name in ("input_values", "input_features") for name in ready)
    return labels(count, "patch " if pixels else "frame " if audio else "position "), slice(None)


def _length(side: str, ready: Mapping[str, Tensor], axes: Mapping[str, Tokens]) -> int:
    """How many tokens a side has of its own; 0 where it is not known."""
    ids = ready.get("decoder_input_ids" if side == "decoder" else "input_ids")
    return len(axes[side]) if side in axes else 0 if ids is None else ids.shape[1]


def after_virtual(tokens: Tokens, count: int) -> Tokens:
    """An axis on which so many virtual tokens stand first, which have no id (-1) and are in no text."""
    none = {"ids": -1, "special_mask": True, "word_ids": -1, "sequence_ids": -1, "texts": ""}

    def after(name: str, array: np.ndarray) -> np.ndarray:
        first = np.full((count, *array.shape[1:]), none.get(name, 0), array.dtype)
        return np.concatenate([first, array])

    longer = tokens.changed([*(f"virtual {number}" for number in range(count)), *tokens.pieces], after)
    return longer.with_classes(virtual=np.arange(len(longer)) < count)
