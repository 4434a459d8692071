"""The file of attention maps: one safetensors file.

Format ``headscope.core.maps/1`` (docs/store.md): tensors ``layer.<index>`` ``[head query key]`` and ``sink.<index>``
``[head query]``; ``visible.<n>`` ``[query key]`` or ``[head query key]``, what layers see; ``query.<field>`` and
``key.<field>`` for the numeric fields of the axes (``ids``, ``type_ids``,
``offsets``, ``special_mask``, ``word_ids``, ``sequence_ids``, ``class.<name>``); the file's metadata has ``format`` and
``description``, a JSON object with ``pieces`` of both axes, ``kind``, ``causal``, ``partial``, ``index``, ``meta``,
``texts`` (of each axis, or null: what the text says where each token stands) and
``visible``: of each layer the n of what it sees, or null where `causal` says it (files of before have none).
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from headscope.core.failures import reason
from headscope.core.saving import check_place, replacing
from headscope.errors import InputError

FORMAT = "headscope.core.maps/1"
FIELDS = ("ids", "type_ids", "offsets", "special_mask", "word_ids", "sequence_ids", "boxes", "times")


def write(maps: Any, path: str | os.PathLike[str]) -> None:
    """Write `headscope.AttentionMaps` to a ``.safetensors`` file, exactly, in their own dtype."""
    import safetensors.numpy

    numpy: Any = safetensors.numpy
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for number, layer in zip(maps.index, maps.layers, strict=True):
        arrays[f"layer.{number}"] = np.ascontiguousarray(layer)
    for number, row in zip(maps.index, maps.sink or (), strict=False):
        arrays[f"sink.{number}"] = np.ascontiguousarray(row)
    shared = {id(seen): seen for seen in maps.visible or ()}
    for number, seen in enumerate(shared.values()):
        arrays[f"visible.{number}"] = np.ascontiguousarray(seen)
    numbers = {key: number for number, key in enumerate(shared)}
    for side, tokens in (("query", maps.query), ("key", maps.key)):
        for name in FIELDS:
            if (value := getattr(tokens, name)) is not None:
                arrays[f"{side}.{name}"] = np.ascontiguousarray(value)
        for name, mask in tokens.classes.items():
            arrays[f"{side}.class.{name}"] = np.ascontiguousarray(mask)
        if tokens.picture is not None:
            arrays[f"{side}.picture"] = np.ascontiguousarray(tokens.picture.pixels)
        if tokens.sound is not None:
            arrays[f"{side}.sound"] = np.ascontiguousarray(tokens.sound.samples)
    description = {
        "query": list(maps.query.pieces),
        "key": list(maps.key.pieces),
        "kind": maps.kind,
        "causal": maps.causal,
        "partial": maps.partial,
        "index": list(maps.index),
        "meta": dict(maps.meta),
        "texts": {"query": maps.query.texts, "key": maps.key.texts},
        "pictures": {
            side: tokens.picture.name
            for side, tokens in (("query", maps.query), ("key", maps.key))
            if tokens.picture is not None
        },
        "sounds": {
            side: [tokens.sound.name, tokens.sound.rate]
            for side, tokens in (("query", maps.query), ("key", maps.key))
            if tokens.sound is not None
        },
        "visible": None if maps.visible is None else [numbers[id(seen)] for seen in maps.visible],
    }
    about = {"format": FORMAT, "description": json.dumps(description)}
    check_place(path)
    try:
        with replacing(path) as place:
            numpy.save_file(arrays, os.fspath(place), about)
    except (ValueError, safetensors.SafetensorError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be written ({reason(error)})") from None
