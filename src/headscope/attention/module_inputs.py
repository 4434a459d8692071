"""What a module takes, as a caller gives it in place of a text, and what a reader must know of packed inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from headscope.attention.parts import numpy_of, seen_by
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import edits
from headscope.core.arrays import Bools
from headscope.core.failures import warn
from headscope.core.maps import ROW_TOLERANCE
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError, RefusedError
from headscope.models.model import Model, expect_ids, uncached
from headscope.models.perceiver import moved
from headscope.models.pictures import OF_ALL, OF_PICTURES, image_id
from headscope.models.within import advice

_MASKS = ("attention_mask", "decoder_attention_mask", "encoder_attention_mask")
"""Of tokens; others are of pictures."""

_ARRAYS = ("ids", "mask", "values", "features", "embeds", "labels")
"""How the names of arguments end that are arrays."""


def taken(model: Model, inputs: AnyMapping) -> AnyDict:
    """Arrays as tensors with a batch axis, and after them the scalars of the forward pass, such as ``use_cache``.

    Of ids that have none, and what goes with them, a batch of one is made.

    A mask of booleans over pairs, ``[batch head query key]``, becomes one that is added to the scores.
    """
    ready: AnyDict = {}
    scalars: AnyDict = {}
    rows: dict[str, int] = {}
    # Patches may be a list of all pictures', and a text may have several pictures, or none.
    listed = "grid_thw" in inputs or ("input_ids" in inputs and image_id(model) is not None)
    for name, value in inputs.items():
        if isinstance(value, (bool, int, float, str)):
            _expect_scalar(model, name, value)
            scalars[name] = value
            continue
        if isinstance(value, Mapping):
            way = f"; give {way}" if (way := advice(model.module)) else ""
            raise InputError(f"inputs[{name!r}]: expected an array of numbers, found a dict{way}")
        tensor = value if isinstance(value, Tensor) else _tensor(name, value)
        if tensor.ndim == 1 and (
            name in _MASKS or np.shape(inputs.get("input_ids", 0)) == tuple(tensor.shape)
        ):
            tensor = tensor[None]  # a tokenizer's lists for one text
        if tensor.ndim == 0:
            raise InputError(f"inputs[{name!r}]: expected an array with a batch axis, found a number")
        if name.endswith("ids") and tensor.dtype in (torch.int8, torch.int16, torch.uint8):
            tensor = tensor.long()
        ids = inputs.get(name.replace("attention_mask", "input_ids"))  # of documents, they have three axes
        if name in _MASKS and (ids is None or np.shape(ids) != tuple(tensor.shape)):
            tensor = _mask(name, tensor)
        ready[name] = tensor
        if name not in (OF_PICTURES if listed else OF_ALL):
            rows[name] = tensor.shape[0]
    if not rows:
        raise InputError("inputs: expected what the module takes, such as input_ids, found an empty dict")
    pairs = [name for name in rows if name.endswith("mask") and name not in _MASKS and _square(ready[name])]
    if len(set(rows.values())) != 1 and len(pairs) < len(rows):
        ready |= {name: ready.pop(name) for name in pairs}
        rows = {name: count for name, count in rows.items() if name not in pairs}
    if len(set(rows.values())) != 1:
        raise InputError(
            f"inputs, axis batch: rows differ ({', '.join(f'{name} {count}' for name, count in rows.items())})"
        )
    ready = moved(model, ready)
    expect_ids(model, ready)
    return ready | scalars


def _square(mask: Tensor) -> bool:
    return mask.ndim == 2 and mask.shape[0] == mask.shape[1]


def _expect_scalar(model: Model, name: str, value: object) -> None:
    """Raise `InputError` for a scalar that the forward pass does not know, or has an array for."""
    if name.endswith(_ARRAYS):
        raise InputError(f"inputs[{name!r}]: expected an array with a batch axis, found a number")
    if name not in signature(model.module.forward).parameters:
        raise InputError(
            f"inputs[{name!r}]: expected an argument of the forward pass of {type(model.module).__name__}, "
            f"found {value!r} for none"
        )


def _mask(name: str, mask: Tensor) -> Tensor:
    """A mask as models add it to scores. Raises `InputError` for one of which models make different things."""
    if mask.ndim == 3:
        raise InputError(
            f"{name}: expected [batch token] or [batch head query key], found the shape {tuple(mask.shape)}"
        )
    if mask.ndim < 4 or mask.is_floating_point():
        return mask
    if mask.dtype != torch.bool:
        raise InputError(
            f"{name}: expected booleans (True: seen), or what is added to scores, for [batch head query key]; "
            f"found {str(mask.dtype).removeprefix('torch.')}"
        )
    return torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, torch.finfo(torch.float32).min)


def _tensor(name: str, value: Any) -> Tensor:
    """An array of numbers. Raises `InputError` for lists of several lengths and for what is no number."""
    try:
        array = np.asarray(value)
    except ValueError:
        way = "; a tokenizer pads them with padding=True" if name.endswith("ids") or name in _MASKS else ""
        raise InputError(f"inputs[{name!r}]: expected rows of one length, found several{way}") from None
    if array.dtype.kind not in "biuf":
        kind = type(value).__name__ if array.dtype == object else array.dtype
        raise InputError(f"inputs[{name!r}]: expected an array of numbers, found {kind}")
    return torch.as_tensor(array)


def say_padding(model: Model, ready: AnyMapping) -> None:
    """Warn of padding that no mask hides."""
    ids, mask = ready.get("input_ids"), ready.get("attention_mask")
    if not isinstance(ids, Tensor) or ids.ndim != 2 or (mask is not None and mask.shape != ids.shape):
        return
    rows = ids.cpu().numpy()
    there = np.stack([model.padding(row) for row in rows])
    if mask is not None:
        there &= mask.cpu().numpy() != 0
    if there.any():
        number = int(rows[there][0])
        piece = number if model.tokenizer is None else model.tokenizer.convert_ids_to_tokens(number)
        warn(
            f"input_ids: {there.sum()} of {there.size} tokens are padding ({piece!r}) that is attended to; give the "
            "attention_mask that the tokenizer makes, or leave them out",
            3,
        )


def say_moved(model: Model, ready: AnyMapping) -> None:
    """Warn of a padded batch of a model whose attention is moved by padding, though a mask hides it."""
    mask = ready.get("attention_mask")
    if not isinstance(mask, Tensor) or mask.ndim != 2 or not 0 < model.same_length < mask.shape[1]:
        return
    if not mask.all():
        warn(
            f"attention_mask: padding moves the attention of {model.name}, so the maps of the shorter inputs are not "
            "those that they have alone; give inputs of one length, or one at a time",
            3,
        )


def say_packed(model: Model, ready: AnyMapping, records: Sequence[AttentionRecord]) -> None:
    """Warn where positions begin anew, as at the documents of a packed row, and tokens see those before that.

    Args:
        model: what ran.
        ready: what it ran on.
        records: its attention calls.
    """
    positions: Any = ready.get("position_ids")
    mask: Any = ready.get("attention_mask")
    if not isinstance(positions, Tensor) or positions.ndim != 2:
        return
    count = positions.shape[1]
    anew = positions[:, 1:] <= positions[:, :-1]
    if mask is not None and mask.shape == positions.shape:
        real = mask.bool()
        anew = anew & real[:, 1:] & real[:, :-1]
    calls = [record for record in records if record.shape[2:] == (count, count)]
    borders: list[list[int]] = cast("Any", anew).nonzero().tolist()
    for row, place in borders:
        start = place + 1
        if not any(seen_by(call, row)[:, start:, :start].any() for call in calls):
            continue
        most = "use_cache=False without attention_mask does in most models, "
        tried = ready.get("use_cache") is False and mask is None
        way = most if uncached(model.module) and model.causal and not tried else ""
        warn(
            f"position_ids: begin anew at token {start}, but this call does not keep documents apart: tokens from "
            f"there on see others before; {way}an attention_mask [batch 1 query key] says what is seen",
            3,
        )
        return


def expect_hidden(
    model: Model,
    calls: Sequence[AttentionRecord],
    row: int,
    query: Bools | slice,
    key: Bools | slice,
) -> None:
    """Raise `RefusedError` where the queries of a row look at padding that a mask was given for."""
    if isinstance(key, slice) or key.all() or edits.now():
        return
    for call in calls:
        most = float(numpy_of(call.weights()[row])[:, query][:, :, ~key].sum(-1).max(initial=0.0))
        if most > ROW_TOLERANCE:
            raise RefusedError(
                f"{model.name}: expected padding that the attention_mask hides, found {most:.2f} of a token's "
                f"attention on it (input {row}, layer {call.layer}), as this model does not heed the mask; give "
                "inputs of one length, or one at a time"
            )
