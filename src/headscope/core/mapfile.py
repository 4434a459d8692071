"""The file of attention maps: one safetensors file.

Format ``headscope.core.maps/1`` (docs/store.md): tensors ``layer.<index>`` ``[head query key]`` and ``sink.<index>``
``[head query]``; ``signed.<index>`` like ``layer.<index>``, implicit maps; ``visible.<n>`` ``[query key]`` or ``[head
query key]``, what layers see; ``query.<field>`` and ``key.<field>`` for the numeric fields of the axes (``ids``,
``type_ids``, ``offsets``, ``special_mask``, ``word_ids``, ``sequence_ids``, ``places``, ``class.<name>``) and
``query.medium.<n>`` for what their tokens stand for places in; the file's metadata has ``format`` and ``description``,
a JSON object with ``pieces`` of both axes, ``kind``, ``causal``, ``partial``, ``index``, ``meta``, ``media``, ``texts``
(of each axis, or null: what the text says where each token stands) and ``visible``: of each layer the n of what it
sees, or null where `causal` says it (files of before have none of the last three).
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import Any

import numpy as np

from headscope.core.failures import reason
from headscope.core.saving import check_place, replacing
from headscope.core.tokens import ARRAYS
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.errors import InputError

FORMAT = "headscope.core.maps/1"


def write(maps: Any, path: AnyPath) -> None:
    """Write `headscope.AttentionMaps` to a ``.safetensors`` file, exactly, in their own dtype."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, layers in (("layer", maps.layers), ("sink", maps.sink), ("signed", maps.signed)):
        for number, layer in zip(maps.index, layers or (), strict=False):
            arrays[f"{name}.{number}"] = np.ascontiguousarray(layer)
    shared = {id(seen): seen for seen in maps.visible or ()}
    for number, seen in enumerate(shared.values()):
        arrays[f"visible.{number}"] = np.ascontiguousarray(seen)
    numbers = {key: number for number, key in enumerate(shared)}
    axes, described = axes_of(maps.query, maps.key)
    arrays |= axes
    description = {
        **described,
        "kind": maps.kind,
        "causal": maps.causal,
        "partial": maps.partial,
        "index": list(maps.index),
        "meta": dict(maps.meta),
        "visible": None if maps.visible is None else [numbers[id(seen)] for seen in maps.visible],
    }
    save_arrays(path, arrays, FORMAT, description)


def axes_of(query: Any, key: Any) -> tuple[dict[str, np.ndarray[Any, Any]], AnyDict]:
    """The `headscope.Tokens` of two axes, as arrays of a file and what its description says of them."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    sides = {"query": query, "key": key}
    for side, tokens in sides.items():
        for name in ARRAYS:
            if (value := getattr(tokens, name)) is not None:
                arrays[f"{side}.{name}"] = np.ascontiguousarray(value)
        for name, mask in tokens.classes.items():
            arrays[f"{side}.class.{name}"] = np.ascontiguousarray(mask)
        for number, medium in enumerate(tokens.media):
            arrays[f"{side}.medium.{number}"] = np.ascontiguousarray(medium.array)
    return arrays, {
        **{side: list(tokens.pieces) for side, tokens in sides.items()},
        "texts": {side: tokens.texts for side, tokens in sides.items()},
        "media": {side: list(map(_described, tokens.media)) for side, tokens in sides.items()},
    }


def _described(medium: Any) -> AnyDict:
    """What a medium is beside its array: its class and its other fields."""
    fields = ("name", "frames", "rate", "channels")
    return {"kind": type(medium).__name__} | {
        name: getattr(medium, name) for name in fields if hasattr(medium, name)
    }


def save_arrays(
    path: AnyPath,
    arrays: AnyMapping,
    format: str,
    description: AnyMapping,
    library: str = "numpy",
) -> None:
    """Write arrays (of numpy, or of torch) and what they are as one safetensors file, whole or not at all."""
    import safetensors

    writer: Any = import_module(f"safetensors.{library}")
    about = {"format": format, "description": json.dumps(description)}
    check_place(path)
    try:
        with replacing(path) as place:
            writer.save_file(arrays, os.fspath(place), about)
    except (ValueError, safetensors.SafetensorError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be written ({reason(error)})") from None
