"""The axes of models of time series whose configuration says for which steps a token stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from headscope.core.arrays import Floats
from headscope.core.grid import Stretches
from headscope.core.media import Series
from headscope.core.tokens import Tokens


def steps(config: Any, inputs: Mapping[str, Tensor], row: int, part: str, count: int) -> Tokens | None:
    """The axis of a part of a model of a time series; None where it is not known which steps its tokens are.

    That are patches of ``past_values`` up to its last step (PatchTST, TimesFM), or its last steps for an encoder, and
    those of ``future_values`` for a decoder.

    Args:
        config: of the model.
        inputs: what its module takes.
        row: which of the inputs.
        part: of the maps: of a ``channel 2``, of all channels at ``patch 3``, or another.
        count: how many tokens the axis has.
    """
    values, future = _values(inputs, "past_values", row), _values(inputs, "future_values", row)
    if values is None:
        return None
    total, channels = values.shape
    length, before = getattr(config, "patch_length", None), bool(getattr(config, "use_cls_token", False))
    what, _, number = part.partition(" ")
    if isinstance(length, int):
        stride = int(getattr(config, "patch_stride", length))
        every = (total - length) // stride + 1
        patches = every if what == "patch" else count - before
        starts = total - length - stride * np.arange(patches)[::-1]
        if patches != every:
            return None
    elif part == "decoder" and future is not None and len(future) == count:
        starts, values = total + np.arange(count), np.concatenate([values, future])
    elif part != "decoder" and count == getattr(config, "context_length", None):
        starts = total - count + np.arange(count)
    else:
        return None
    rows = [(0, channels)]
    if what == "channel":
        rows = [(int(number) - 1, int(number))]
    elif what == "patch":
        starts, rows = starts[int(number) - 1 :][:1], [(channel, channel + 1) for channel in range(channels)]
    series = Series(values)
    names = series.channels if what == "patch" else None
    spans = [(start, top, start + (length or 1), bottom) for start in starts.tolist() for top, bottom in rows]
    axis = Stretches(series, spans, names)
    if before and what != "patch":
        return replace(axis, special_mask=np.zeros(len(axis), np.bool_)).longer(["[CLS]"], -1)
    return axis


def _values(inputs: Mapping[str, Tensor], name: str, row: int) -> Floats | None:
    """A series ``[step channel]``; what is missing in it is 0."""
    given = inputs.get(name)
    if given is None or given.ndim not in (2, 3):
        return None
    one = given[row].detach().double().cpu().numpy()
    return np.nan_to_num(one.reshape(len(one), -1))
