"""One file of a checkpoint: a safetensors file with a checksum over all of its bytes, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import safetensors.numpy

from headscope.core.arrays import Arrays
from headscope.core.failures import reason
from headscope.core.saving import replacing
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError

FORMAT = "headscope.checkpoint/4"

_NO_DIGEST = b"0" * 64


class BrokenFileError(InputError):
    """A file that is no checkpoint, or not whole."""


class FormatError(InputError):
    """A file of another version of headscope."""


def encode(arrays: Arrays, described: AnyMapping) -> bytes:
    """Arrays and a description as the bytes of a safetensors file, with a checksum over all of them."""
    return b"".join(_parts(arrays, described))


def write(file: Path, arrays: Arrays, described: AnyMapping) -> None:
    """Write what `encode` gives, whole or not at all, and see it safe on disk.

    Raises `RunError` or `InputError` where that fails.
    """
    with replacing(file, asked=False) as temporary, open(temporary, "wb") as stream:
        stream.writelines(_parts(arrays, described))


def apart(expected: str, actual: str) -> str:
    """Two checksums that differ, as much of them as it takes to see it."""
    alike = next(
        (place for place, (a, b) in enumerate(zip(expected, actual, strict=False)) if a != b), len(actual)
    )
    size = max(12, alike + 1)
    return f"{expected[:size]}, found {actual[:size]}"


def _parts(arrays: Arrays, described: AnyMapping) -> tuple[memoryview, bytes, memoryview]:
    """What is before the checksum, this itself, and what is behind it."""
    strings = {name: array.tolist() for name, array in arrays.items() if array.dtype.kind == "U"}
    text = json.dumps({**described, "strings": strings})
    metadata = {"format": FORMAT, "sha256": _NO_DIGEST.decode(), "description": text}
    numbers = {name: np.asarray(array, order="C") for name, array in arrays.items() if name not in strings}
    data = memoryview(cast(Any, safetensors.numpy).save(numbers, metadata))
    place = _place(data)
    return data[:place], hashlib.sha256(data).hexdigest().encode(), data[place + 64 :]


def _place(data: bytes | memoryview) -> int:
    """Where the checksum is."""
    head = bytes(data[: 8 + int.from_bytes(data[:8], "little")])
    return head.find(b'"sha256":"') + 10


def decode(data: bytes, where: str) -> tuple[dict[str, np.ndarray], AnyDict]:
    """The arrays and the description. Raises `BrokenFileError` or `FormatError`, which begins with `where`."""
    if not data:
        raise BrokenFileError(f"{where}: expected a checkpoint ({FORMAT}), found an empty file")
    size = int.from_bytes(data[:8], "little")
    if size > 2**30 or len(data) < 8 or (len(data) < 8 + size and data[8:9] != b"{"):
        raise BrokenFileError(f"{where}: expected a checkpoint ({FORMAT}), found something else")
    if len(data) < 8 + size:
        raise BrokenFileError(f"{where}: expected at least {8 + size:,} bytes, found {len(data):,}")
    try:
        header = json.loads(data[8 : 8 + size])
        metadata = cast(dict[str, str], header.pop("__metadata__"))
        version, stated = metadata["format"], metadata["sha256"]
        length = 8 + size + max((entry["data_offsets"][1] for entry in header.values()), default=0)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise BrokenFileError(f"{where}: expected a checkpoint ({FORMAT}), found something else") from None
    if version != FORMAT:
        raise FormatError(
            f"{where}: expected the format {FORMAT}, found {version!r}, of another version of headscope: finish the "
            "run with that version, or remove what it kept and start again"
        )
    if len(data) != length:
        raise BrokenFileError(f"{where}: expected {length:,} bytes, found {len(data):,}")
    place = _place(data)
    actual = hashlib.sha256(data[:place] + _NO_DIGEST + data[place + 64 :]).hexdigest()
    if actual != stated:
        raise BrokenFileError(f"{where}: expected the checksum {apart(stated, actual)}")
    with naming(where):
        arrays = dict(safetensors.numpy.load(data))
        described: AnyDict = json.loads(metadata["description"])
        arrays.update({name: np.array(value, np.str_) for name, value in described.pop("strings").items()})
    return arrays, described


@contextmanager
def naming(where: str) -> Generator[None]:
    """What cannot be made of what a file holds is a `BrokenFileError`, which begins with `where`."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, safetensors.SafetensorError) as error:
        if isinstance(error, InputError):
            raise
        raise BrokenFileError(f"{where}: expected a checkpoint ({FORMAT}), found {reason(error)}") from None


def under(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with this, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
