"""A message and its buffers as one binary frame: the length of the JSON, the JSON, the buffers one after another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from headscope.errors import InputError

_HEAD = 4


def pack(content: Mapping[str, Any], buffers: Sequence[bytes] = ()) -> bytes:
    r"""A frame. The JSON has the key ``lengths``: of the buffers, in bytes.

    >>> pack({"kind": "arrays"}, [b"ab"])
    b'\x1f\x00\x00\x00{"kind":"arrays","lengths":[2]}ab'
    """
    text = json.dumps(
        {**content, "lengths": [len(buffer) for buffer in buffers]}, allow_nan=False, separators=(",", ":")
    ).encode()
    return b"".join([len(text).to_bytes(_HEAD, "little"), text, *buffers])


def unpack(frame: bytes) -> dict[str, Any]:
    """What a page asks: a frame without buffers. Raises `InputError` for anything else."""
    size = int.from_bytes(frame[:_HEAD], "little")
    if len(frame) < _HEAD or len(frame) != _HEAD + size:
        raise InputError(f"frame: expected the length of a message and the message, found {len(frame)} bytes")
    try:
        message: Any = json.loads(frame[_HEAD:], parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise InputError("frame: expected JSON") from None
    if not isinstance(message, dict):
        raise InputError(f"frame: expected an object, found {type(message).__name__}")
    return cast("dict[str, Any]", message)


def _refuse(_: str) -> None:
    raise ValueError  # NaN and infinity, which are no JSON
