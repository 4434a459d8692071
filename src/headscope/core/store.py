"""Attention maps from disk, readable without torch; `headscope.core.mapfile` describes the format."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from headscope.core.failures import reason
from headscope.core.mapfile import ARRAYS, FORMAT
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Picture, Sound, Tokens
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.core.validation import validated
from headscope.errors import InputError


@validated
def open_maps(path: AnyPath) -> AttentionMaps:
    """Read the maps that `AttentionMaps.save` wrote, without torch.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> maps = headscope.wrap(np.eye(3)[None, None], ["a", "b", "c"])
    >>> with TemporaryDirectory() as folder:
    ...     maps.save(Path(folder) / "maps.safetensors")
    ...     headscope.open_maps(Path(folder) / "maps.safetensors")
    AttentionMaps(1 layer × 1 head, 3 × 3 tokens, self)

    Raises `InputError` naming the file when it is not one.
    """
    import safetensors

    reader: Any = safetensors

    if not os.path.isfile(path):
        raise InputError(f"{str(path)[:200]}: expected a file of maps, found no such file")
    try:
        with reader.safe_open(os.fspath(path), framework="numpy") as file:
            header: dict[str, str] = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise InputError(f"{path}: expected format {FORMAT}, found {header.get('format', 'none')}")
            arrays: AnyDict = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except safetensors.SafetensorError as error:
        raise InputError(f"{path}: expected a safetensors file, found something else ({error})") from None
    try:
        return _maps(header, arrays)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: expected what maps.save writes, found it broken ({reason(error)})"
        ) from None


def _maps(header: Mapping[str, str], arrays: AnyMapping) -> AttentionMaps:
    """The maps of a file's header and arrays."""
    described: AnyDict = json.loads(header["description"])
    query, key = (tokens_of(described, arrays, side) for side in ("query", "key"))
    index: list[int] = described["index"]
    shared: list[int] | None = described.get("visible")

    def layers(name: str) -> Any:
        return [arrays[f"{name}.{number}"] for number in index] if f"{name}.{index[0]}" in arrays else None

    return AttentionMaps(
        layers("layer") or (),
        query,
        key,
        described["kind"],
        described["causal"],
        layers("sink"),
        index,
        described["partial"],
        described["meta"],
        None if shared is None else [arrays[f"visible.{number}"] for number in shared],
        layers("signed"),
    )


def tokens_of(described: AnyMapping, arrays: AnyMapping, side: str) -> Tokens:
    """One axis, of what `headscope.core.mapfile.axes_of` gave."""
    prefix = f"{side}.class."
    picture, sound = arrays.get(f"{side}.picture"), arrays.get(f"{side}.sound")
    return Tokens(
        described[side],
        **{name: arrays.get(f"{side}.{name}") for name in ARRAYS},
        classes={name.removeprefix(prefix): mask for name, mask in arrays.items() if name.startswith(prefix)},
        texts=described.get("texts", {}).get(side),  # files of before have none
        picture=None if picture is None else Picture(picture, described["pictures"][side]),
        sound=None
        if sound is None
        else Sound(sound, described["sounds"][side][1], described["sounds"][side][0]),
    )
