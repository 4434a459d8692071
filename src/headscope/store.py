"""Attention maps on disk: one safetensors file, readable without torch.

Format ``headscope.maps/1`` (docs/store.md): tensors ``layer.<index>`` ``[head query key]`` and ``sink.<index>``
``[head query]``; ``query.<field>`` and ``key.<field>`` for the numeric fields of the axes (``ids``, ``type_ids``,
``offsets``, ``special_mask``, ``word_ids``, ``sequence_ids``, ``class.<name>``); the file's metadata has ``format`` and
``description``, a JSON object with ``pieces`` of both axes, ``kind``, ``causal``, ``partial``, ``index`` and ``meta``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from headscope.errors import InputError
from headscope.maps import AttentionMaps
from headscope.tokens import Tokens

FORMAT = "headscope.maps/1"
_FIELDS = ("ids", "type_ids", "offsets", "special_mask", "word_ids", "sequence_ids")


def save(maps: AttentionMaps, path: str | os.PathLike[str]) -> None:
    """Write maps to a ``.safetensors`` file, exactly, in their own dtype."""
    import safetensors.numpy

    numpy: Any = safetensors.numpy
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for number, layer in zip(maps.index, maps.layers, strict=True):
        arrays[f"layer.{number}"] = np.ascontiguousarray(layer)
    for number, row in zip(maps.index, maps.sink or (), strict=False):
        arrays[f"sink.{number}"] = np.ascontiguousarray(row)
    for side, tokens in (("query", maps.query), ("key", maps.key)):
        for name in _FIELDS:
            if (value := getattr(tokens, name)) is not None:
                arrays[f"{side}.{name}"] = np.ascontiguousarray(value)
        for name, mask in tokens.classes.items():
            arrays[f"{side}.class.{name}"] = np.ascontiguousarray(mask)
    description = {
        "query": list(maps.query.pieces),
        "key": list(maps.key.pieces),
        "kind": maps.kind,
        "causal": maps.causal,
        "partial": maps.partial,
        "index": list(maps.index),
        "meta": dict(maps.meta),
    }
    numpy.save_file(arrays, os.fspath(path), {"format": FORMAT, "description": json.dumps(description)})


def load(path: str | os.PathLike[str]) -> AttentionMaps:
    """Read maps that `save` wrote. Raises `InputError` naming the file when it is not one."""
    import safetensors

    reader: Any = safetensors

    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    try:
        with reader.safe_open(os.fspath(path), framework="numpy") as file:
            header: dict[str, str] = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise InputError(f"{path}: expected format {FORMAT}, found {header.get('format', 'none')}")
            arrays: dict[str, Any] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except safetensors.SafetensorError as error:
        raise InputError(f"{path}: not a safetensors file ({error})") from None
    described: dict[str, Any] = json.loads(header["description"])
    axes: dict[str, Tokens] = {}
    for side in ("query", "key"):
        prefix = f"{side}.class."
        axes[side] = Tokens(
            described[side],
            **{name: arrays.get(f"{side}.{name}") for name in _FIELDS},
            classes={
                name.removeprefix(prefix): mask for name, mask in arrays.items() if name.startswith(prefix)
            },
        )
    index: list[int] = described["index"]
    return AttentionMaps(
        [arrays[f"layer.{number}"] for number in index],
        axes["query"],
        axes["key"],
        described["kind"],
        described["causal"],
        [arrays[f"sink.{number}"] for number in index] if f"sink.{index[0]}" in arrays else None,
        index,
        described["partial"],
        described["meta"],
    )
