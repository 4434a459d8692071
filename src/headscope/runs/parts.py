"""Parts: what shards of a run leave behind, and how parts become the whole.

A part is a netCDF file with the figures of its shard, and beside them in the group ``blocks`` the sums of each of its
spans (most often of one block), as checkpoints (docs/streams.md). Merging adds all spans of all parts in their order:
the very additions that one run makes. It reads one span at a time. Needs no torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import xarray as xr

from headscope.core.arrays import Arrays
from headscope.core.lazy import module
from headscope.core.saving import replacing
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.errors import InputError
from headscope.measures.files import netcdf
from headscope.runs.checkpoint import Folder, Outcome, S, difference, restored
from headscope.runs.reduce import Reduced
from headscope.runs.safefile import decode, encode, naming


def write_part(
    path: AnyPath,
    figures: xr.Dataset,
    folder: Folder[S],
    reduced: Reduced[S],
    about: AnyMapping,
) -> None:
    """Write what a shard found.

    Args:
        path: the file, ``.nc``.
        figures: of the shard alone.
        folder: where the shard's blocks are.
        reduced: what reading the corpus gave.
        about: what `merge_parts` gives back, as JSON.

    Raises `RunError` or `InputError` where it cannot be written.
    """
    identity = {name: value for name, value in folder.identity.items() if name != "shard"}
    header = {
        "identity": identity,
        "shard": str(folder.shard),
        "blocks": reduced.blocks,
        "span": folder.width,
        "fingerprint": reduced.fingerprint,
        "about": dict(about),
    }

    def blocks(file: Any) -> None:
        group = file.create_group("blocks")
        group["header"] = np.frombuffer(encode({}, header), np.uint8)
        for index, blob in folder.blobs():
            group[f"{index:08d}"] = np.frombuffer(blob, np.uint8)

    with replacing(path) as place:
        netcdf(figures, place, blocks)


def merge_parts(
    paths: Sequence[AnyPath], kind: str, load: Callable[[Arrays], S]
) -> tuple[Outcome[S], AnyMapping]:
    """Add up the spans of all parts of one run, in their order; the order of `paths` does not matter.

    Args:
        paths: the parts.
        kind: of the run: what its identity has under ``kind``.
        load: makes sums of what their `to_arrays` gave.

    Returns the outcome of all blocks, and what the run said of itself (that of the first part given).

    Raises `InputError`, naming the file, for one that is broken or no part, for parts of other runs or other
    inputs, for blocks that are in two parts, and for blocks that are in none.
    """
    if not paths:
        raise InputError("parts: expected at least one file, found none")
    with ExitStack() as stack:
        parts = [stack.enter_context(_opened(os.fspath(path))) for path in paths]
        first = parts[0]
        if (other := first.header["identity"].get("kind")) != kind:
            raise InputError(f"{first.path}: expected a part of a run of {kind}, found one of {other}")
        owner: dict[int, _ShardPart] = {}
        for part in parts:
            if differs := difference(first.header["identity"], part.header["identity"]):
                raise InputError(f"{part.path}: not of the same run as {first.path}: {differs}")
            for name in ("blocks", "span", "fingerprint"):
                if differs := difference(first.header[name], part.header[name]):
                    raise InputError(f"{part.path}: not of the same inputs as {first.path}: {name}{differs}")
            for index in part.spans:
                if index in owner:
                    raise InputError(
                        f"{part.path}: expected each {part.noun} in one part, found {part.noun} {index} (shard "
                        f"{part.header['shard']}) in {owner[index].path} as well"
                    )
                owner[index] = part
        total = -(-int(first.header["blocks"]) // int(first.header["span"]))
        missing = total - sum(index < total for index in owner)
        if missing:
            some = islice((index for index in range(total) if index not in owner), 10)
            shown = ", ".join(map(str, some)) + (", …" if missing > 10 else "")
            have = ", ".join(part.header["shard"] for part in parts)
            raise InputError(
                f"parts: expected all {total:,} {first.noun}s, {missing:,} are missing: {shown} ("
                f"the parts are of the shards {have})"
            )
        outcome: Outcome[S] = Outcome()
        for index in range(total):
            outcome = outcome.then(owner[index].span(index, load))
    return outcome, first.header["about"]


def kind_of(path: AnyPath) -> str:
    """Of which kind of run a part is, such as ``measure``. Raises `InputError` for a file that is broken or no part."""
    with _opened(os.fspath(path)) as part:
        return str(part.header["identity"].get("kind"))


@dataclass
class _ShardPart:
    path: str
    group: Any
    header: AnyDict

    @property
    def spans(self) -> list[int]:
        return [int(name) for name in self.group if name != "header"]

    @property
    def noun(self) -> str:
        return "block" if self.header["span"] == 1 else "span"

    def span(self, index: int, load: Callable[[Arrays], S]) -> Outcome[S]:
        where = f"{self.path}: {self.noun} {index}"
        arrays, described = decode(_bytes(self.path, self.group, f"{index:08d}"), where)
        with naming(where):
            blocks, width = int(self.header["blocks"]), int(self.header["span"])
            actual, expected = (
                (described["span"], described["blocks"]),
                (index, min(blocks, (index + 1) * width)),
            )
            if actual != expected:
                raise InputError(
                    f"{where}: expected it up to block {expected[1]}, found span {actual[0]} up to {actual[1]}"
                )
            return restored(arrays, described, load)


_HEADER = {"identity": dict, "shard": str, "blocks": int, "span": int, "fingerprint": str, "about": dict}


@contextmanager
def _opened(path: str) -> Generator[_ShardPart]:
    if not os.path.isfile(path):
        raise InputError(f"{path}: no such file")
    try:
        file: Any = module("h5py").File(path, "r")
    except (OSError, RuntimeError) as error:
        raise InputError(f"{path}: expected a part, found {_line(error)}") from None
    with file:
        if "blocks" not in file or "header" not in file["blocks"]:
            raise InputError(
                f"{path}: expected a part, made with --shard, found a file without sums of blocks"
            )
        header = decode(_bytes(path, file["blocks"], "header"), f"{path}: header")[1]
        part = _ShardPart(path, file["blocks"], header)
        with naming(f"{path}: header"):
            for name, kind in _HEADER.items():
                if not isinstance(header[name], kind):
                    raise TypeError(f"{name}: {header[name]!r}")
            if header["span"] < 1 or len(part.spans) > header["blocks"]:
                raise ValueError(f"{len(part.spans)} spans of {header['span']} of {header['blocks']} blocks")
        yield part


def _bytes(path: str, group: Any, name: str) -> bytes:
    try:
        if (stated := int(group[name].nbytes)) > (size := os.path.getsize(path)):
            raise InputError(
                f"{path}: expected sums of at most {size:,} bytes, as the file has, found {stated:,}"
            )
        return group[name][()].tobytes()
    except InputError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise InputError(f"{path}: expected the sums of blocks, found {_line(error)}") from None


def _line(error: Exception) -> str:
    return f"a broken file ({str(error).strip().splitlines()[0]})"
