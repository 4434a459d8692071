"""Attention maps from disk, readable without torch; `headscope.core.mapfile` describes the format."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from headscope.core.failures import reason
from headscope.core.grid import Stretches
from headscope.core.mapfile import FORMAT
from headscope.core.maps import AttentionMaps
from headscope.core.media import Letters, Medium, Picture, Series, Sound
from headscope.core.tokens import FIELDS, Tokens
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
    media, places = _media(described, arrays, side)
    return Tokens(
        described[side],
        **{name: arrays.get(f"{side}.{name}") for name in FIELDS},
        classes={name.removeprefix(prefix): mask for name, mask in arrays.items() if name.startswith(prefix)},
        texts=described.get("texts", {}).get(side),  # files of before have none
        media=media,
        places=places,
    )


def _media(described: AnyMapping, arrays: AnyMapping, side: str) -> tuple[list[Medium], Any]:
    """The media of an axis and its places. Files of before have one picture with boxes, or one sound with times."""
    if "media" in described:
        made = [
            _medium({**about}, arrays.get(f"{side}.medium.{number}"))
            for number, about in enumerate(described["media"][side])
        ]
        return made, arrays.get(f"{side}.places")
    picture, boxes, times = (arrays.get(f"{side}.{name}") for name in ("picture", "boxes", "times"))
    if picture is not None and boxes is not None:
        medium = Picture(picture, described["pictures"][side])
        places = np.where(np.isnan(boxes[:, :1]), np.nan, np.pad(boxes, ((0, 0), (1, 0))))
        return [medium], places
    if times is None:
        return [], None
    name, rate = described["sounds"].get(side, ("", 1))
    sound = Sound(arrays.get(f"{side}.sound", np.zeros(0, np.float32)), rate, name)
    return [sound], Stretches(sound, times, [""] * len(times)).places


def _medium(about: AnyDict, values: Any) -> Medium:
    kind = about.pop("kind")
    if kind == "Letters":
        return Letters(values.tobytes().decode(), **about)
    if kind == "Picture":
        frames = about["frames"]
        first, *after = values if values.ndim == 4 else [values]
        return Picture(first, about["name"], None if frames is None else tuple(frames), tuple(after))
    return {"Sound": Sound, "Series": Series}[kind](values, **about)
