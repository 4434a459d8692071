"""What probes are trained on, on disk: an array a sentence, one after another in one file.

Sentences are read one by one from any place, so memory does not grow with the treebank. Maps are kept as whole
numbers from 0 to 255 of √w (``uint8``), hidden states as ``float16``. The file beside them says of what they are, how
many sentences are done, and the checksum over all of these, which is compared when a run goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from headscope.core.saving import replacing
from headscope.core.tokens import IntArray
from headscope.errors import InputError, RefusedError
from headscope.runs.safefile import apart

Precision = Literal["uint8", "float16", "float32"]

_FORMAT = "headscope.probes/2"
_SPARE = 1 << 28
"""Bytes of the disk that are left free."""


class Store:
    """The arrays of all sentences in one file of a folder. Use it in a `with` statement.

    Args:
        folder: where it is kept; made where there is none. The file of an earlier run is continued.
        name: of the file.
        sizes: how many numbers each sentence has.
        precision: how they are kept: ``uint8`` for numbers from 0 to 1.
        identity: what the numbers are of, as JSON.

    Raises `InputError` for a folder that holds the numbers of something else or damaged ones, and where the disk is
    too small.
    """

    def __init__(
        self, folder: Path, name: str, sizes: IntArray, precision: Precision, identity: Mapping[str, Any]
    ) -> None:
        self.precision: Precision = precision
        self._starts: IntArray = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._dtype = np.dtype(precision)
        self._about = folder / f"{name}.json"
        self._digest = hashlib.sha256()
        self._identity = {"format": _FORMAT, "precision": precision, **identity}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.done = self._resume()
            self._file = open(folder / f"{name}.bin", "r+b" if self.done else "w+b")  # noqa: SIM115
        except OSError as error:
            raise InputError(f"{folder}: cannot be used ({error.strerror})") from None
        self._file.truncate(int(self._starts[self.done]) * self._dtype.itemsize)
        needed = int(self._starts[-1] - self._starts[self.done]) * self._dtype.itemsize
        free = shutil.disk_usage(folder).free - _SPARE
        if needed > free:
            self._file.close()
            raise InputError(
                f"{folder}: expected {needed / 1e9:,.1f} GB to be free for {name}, found {max(0, free) / 1e9:,.1f}; "
                "use fewer sentences, or a folder on a larger disk"
            )

    def _resume(self) -> int:
        """How many sentences are there already."""
        if not self._about.is_file():
            return 0
        try:
            about: dict[str, Any] = json.loads(self._about.read_text(encoding="utf-8"))
            identity, done, checksum = about["identity"], int(about["done"]), str(about["sha256"])
            size = self._about.with_suffix(".bin").stat().st_size
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{self._about}: expected what a probe wrote, found something else") from None
        check_run(self._about, identity, self._identity)
        if not 0 <= done < len(self._starts) or size < int(self._starts[done]) * self._dtype.itemsize:
            raise InputError(f"{self._about}: expected {done:,} sentences beside it, found {size:,} bytes")
        self._check(int(self._starts[done]) * self._dtype.itemsize, checksum)
        return done

    def _check(self, size: int, stated: str) -> None:
        """Raise `InputError` where the numbers on disk, of `size` bytes, are not those that were written."""
        path = self._about.with_suffix(".bin")
        with open(path, "rb") as file:
            while block := file.read(min(size, 1 << 24)):
                self._digest.update(block)
                size -= len(block)
        found = self._digest.hexdigest()
        if found != stated:
            raise InputError(
                f"{path}: damaged; expected the checksum {apart(stated, found)}. Delete it and "
                f"{self._about.name} to have it made again"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._starts) - 1

    @property
    def nbytes(self) -> int:
        """Size of the whole file."""
        return int(self._starts[-1]) * self._dtype.itemsize

    def append(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """The next sentences, as `kept` made them. They are safe on disk afterwards."""
        for array in arrays:
            expected = int(self._starts[self.done + 1] - self._starts[self.done])
            if array.size != expected or array.dtype != self._dtype:
                raise ValueError(f"expected {expected} numbers of {self._dtype}, found {array.shape}")
            self._file.seek(int(self._starts[self.done]) * self._dtype.itemsize)
            data = np.ascontiguousarray(array).data
            self._file.write(data)
            self._digest.update(data)
            self.done += 1
        self._file.flush()
        os.fsync(self._file.fileno())
        with replacing(self._about) as path:
            about = {"identity": self._identity, "done": self.done, "sha256": self._digest.hexdigest()}
            path.write_text(json.dumps(about) + "\n", encoding="utf-8")

    def read(self, sentence: int, start: int = 0, count: int = -1) -> npt.NDArray[Any]:
        """The numbers of a sentence, or `count` of them from `start` on, flat and as they are kept."""
        whole = int(self._starts[sentence + 1] - self._starts[sentence])
        self._file.seek((int(self._starts[sentence]) + start) * self._dtype.itemsize)
        return np.fromfile(self._file, self._dtype, whole - start if count < 0 else count)


def check_run(path: Path, written: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Raise `InputError` where a file is not of the run that is expected."""
    expected = json.loads(json.dumps(expected))
    names = sorted({*written, *expected})
    differing = [name for name in names if written.get(name) != expected.get(name)]
    if differing:
        raise InputError(
            f"{path}: is of another run; expected the same {', '.join(differing)}. Give another folder"
        )


def kept(values: npt.NDArray[Any], precision: Precision, what: str) -> npt.NDArray[Any]:
    """Numbers as they are kept on disk."""
    if precision == "uint8":
        return np.rint(np.sqrt(values.clip(0.0, 1.0)) * 255.0).astype(np.uint8)
    with np.errstate(over="ignore"):
        numbers = values.astype(precision)
    if not np.isfinite(numbers).all():
        raise RefusedError(
            f"{what}: expected numbers that fit {precision}, found {float(np.abs(values).max()):.3g}"
        )
    return numbers


def restored(values: npt.NDArray[Any], device: torch.device) -> Tensor:
    """The numbers again, in float32 on a device."""
    numbers = torch.as_tensor(values, device=device)
    return (numbers.float() / 255.0).square_() if numbers.dtype == torch.uint8 else numbers.float()
