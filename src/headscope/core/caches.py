"""What other tools hold of attention, as one array a layer.

Read in their source: TransformerLens 4.3 (`ActivationCache`), nnsight 0.8 (saved values; older proxies have theirs in
``.value``), transformers 5 (``outputs.attentions``, of a run and of ``generate``), vit-pytorch 1.26 (`Recorder`), timm
1.0 (`AttentionExtract`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from headscope.core.arrays import AnyFloats
from headscope.core.kinds import is_list_or_tuple, is_mapping
from headscope.core.types import AnyMapping
from headscope.errors import InputError, ShapeError


class Held(NamedTuple):
    """Layers ``[head query key]``, the model's own index of each where names say it, and if they were made by steps."""

    layers: list[AnyFloats]
    numbers: Sequence[int] = ()
    by_steps: bool = False


def held(weights: Any, batch: int | None) -> Held:
    """The layers of one input, of what `headscope.wrap` takes."""
    weights = getattr(weights, "cache_dict", weights)
    if (attentions := getattr(weights, "attentions", None)) is not None:
        weights = attentions
    index: Sequence[int] = ()
    if is_mapping(weights):
        weights, index = _by_name(weights)
    if is_list_or_tuple(weights):
        if not weights:
            raise ShapeError(
                "axis layer: expected at least one layer, found (); pass outputs.attentions of a model called with "
                'output_attentions=True and attn_implementation="eager"'
            )
        if is_list_or_tuple(weights[0]) and weights[0] and getattr(weights[0][0], "ndim", 0) == 4:
            layers = [
                _joined(number, steps, batch) for number, steps in enumerate(zip(*weights, strict=True))
            ]
            return Held(layers, by_steps=True)
        numbers = index or range(len(weights))
        return Held([_layer(*pair, batch) for pair in zip(numbers, weights, strict=True)], index)
    array = _array(weights, "weights")
    if array.ndim == 5 and 1 in array.shape[:2]:  # [1 layer …] of vit-pytorch's Recorder, or [layer 1 …]
        array = array[0] if array.shape[0] == 1 else array[:, 0]
    if array.ndim != 4:
        raise ShapeError(f"expected 4 axes [layer head query key], found {array.ndim}: {array.shape}")
    return Held(list(array))


def pieces(cache: Any, batch: int | None) -> list[str]:
    """The word pieces of an input, by the ids in a TransformerLens cache and the tokenizer of the model it names."""
    tokenizer = getattr(getattr(cache, "model", None), "tokenizer", None)
    ids = getattr(cache, "cache_dict", {}).get("embed.hook_in")
    if tokenizer is None or ids is None:
        raise InputError(
            f"tokens: expected one string a token, found none; {type(cache).__name__} does not hold them"
        )
    return tokenizer.convert_ids_to_tokens(ids.reshape(-1, ids.shape[-1])[batch or 0].tolist())


def _by_name(named: AnyMapping) -> tuple[list[Any], list[int]]:
    """What stands under names such as ``blocks.3.attn.hook_pattern``, in order of their layers, and the layers."""
    names: dict[int, str] = {}
    for name in [name for name in named if str(name).endswith("hook_pattern")] or named:
        match = re.search(r"(?<![^._])\d+(?![^._])", str(name))
        if match is None:
            raise InputError(
                f"weights: expected names with a layer's number, such as 'blocks.0.attn.hook_pattern', found {name!r}; "
                "of transformers pass outputs.attentions"
            )
        if (number := int(match[0])) in names:
            raise InputError(
                f"weights: expected one name a layer, found {names[number]!r} and {name!r}; pass those of one kind"
            )
        names[number] = name
    return [named[names[number]] for number in sorted(names)], sorted(names)


def _joined(number: int, steps: Sequence[Any], batch: int | None) -> AnyFloats:
    """One layer of all steps of ``generate``: the rows of each below those before."""
    parts = [_layer(number, step, batch) for step in steps]
    keys = [part.shape[-1] for part in parts]
    rows: list[int] = np.cumsum([part.shape[1] for part in parts]).tolist()
    if keys != rows and len(set(keys)) > 1:
        raise ShapeError(
            f"layer {number}: expected steps that see {rows} keys, found {keys}; did a window leave some out?"
        )
    return np.concatenate(
        [np.pad(part, ((0, 0), (0, 0), (0, keys[-1] - part.shape[-1]))) for part in parts], 1
    )


def _layer(number: int, value: Any, batch: int | None) -> AnyFloats:
    array = _array(value, f"layer {number}")
    if array.ndim == 4:
        if batch is None and array.shape[0] != 1:
            raise ShapeError(
                f"layer {number}, axis batch: expected 1, found {array.shape[0]}; say which input by batch="
            )
        if (batch or 0) >= array.shape[0]:
            raise ShapeError(
                f"layer {number}, axis batch: expected more than {batch}, found {array.shape[0]}"
            )
        array = array[batch or 0]
    if array.ndim != 3:
        raise ShapeError(
            f"layer {number}: expected axes [head query key] or [1 head query key], found {array.shape}"
        )
    return array


def _array(value: Any, name: str) -> AnyFloats:
    value = getattr(value, "value", value)  # nnsight's proxies before 0.5
    if value is None:
        raise ShapeError(
            f'{name}: expected an array, found None; load the model with attn_implementation="eager"'
        )
    if hasattr(value, "detach"):  # a torch tensor; bfloat16 has no numpy twin
        value = value.detach().cpu()
        value = (
            value.numpy() if str(value.dtype) in ("torch.float32", "torch.float64") else value.float().numpy()
        )
    array = np.array(value)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    if not np.issubdtype(array.dtype, np.floating):
        raise ShapeError(f"{name}: expected an array of floats, found {array.dtype}")
    return array
