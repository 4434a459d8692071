"""What probes are trained on, on disk: an array a sentence, in files of several sentences that follow one another.

Sentences are read one by one from any place, so memory does not grow with the treebank. Maps are kept as whole
numbers from 0 to 255 of √w (``uint8``), hidden states as ``float16``. The files are those of checkpoints
(`headscope.runs.safefile`): each says of what it is, and is compared with its checksum when a run goes on.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors import safe_open
from torch import Tensor

from headscope.core.arrays import Ints
from headscope.core.types import AnyMapping
from headscope.errors import InputError, RefusedError
from headscope.runs.checkpoint import difference
from headscope.runs.safefile import decode, naming, write

Precision = Literal["uint8", "float16", "float32"]

_SPARE = 1 << 28
"""Bytes of the disk that are left free."""


class Store:
    """The arrays of all sentences in files of a folder.

    Args:
        folder: where they are kept; made where there is none. The files of an earlier run are continued.
        name: with which theirs begin.
        sizes: how many numbers each sentence has.
        precision: how they are kept: ``uint8`` for numbers from 0 to 1.
        identity: what the numbers are of, as JSON.

    Raises `InputError` for a folder that holds the numbers of something else or damaged ones, and where the disk is
    too small.
    """

    def __init__(
        self, folder: Path, name: str, sizes: Ints, precision: Precision, identity: AnyMapping
    ) -> None:
        self.precision: Precision = precision
        self._sizes = np.asarray(sizes, np.int64)
        self._dtype = np.dtype(precision)
        self._folder, self._name = folder, name
        self._identity = {"precision": precision, **identity}
        self._files: list[Any] = []  # that of each sentence
        try:
            folder.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(folder).free - _SPARE
        except OSError as error:
            raise InputError(f"{folder}: cannot be used ({error.strerror})") from None
        self._resume()
        needed = int(self._sizes[self.done :].sum()) * self._dtype.itemsize
        if needed > free:
            raise InputError(
                f"{folder}: expected {needed / 1e9:,.1f} GB to be free for {name}, found {max(0, free) / 1e9:,.1f}; "
                "use fewer sentences, or a folder on a larger disk"
            )

    def _resume(self) -> None:
        """Take what is there already."""
        old = self._folder / f"{self._name}.json"
        if old.is_file():
            raise InputError(f"{old}: was kept by another version of headscope. Give another folder")
        while self.done < len(self) and self._file.is_file():
            arrays, about = decode(self._file.read_bytes(), str(self._file))
            with naming(str(self._file)):
                check_run(self._file, about["identity"], self._identity)
                stored = {int(name): array.size for name, array in arrays.items()}
            sizes: list[int] = self._sizes[self.done :][: len(stored)].tolist()
            if not stored or stored != dict(enumerate(sizes, self.done)):
                raise InputError(f"{self._file}: expected sentences from {self.done:,} on, found others")
            self._take(len(arrays))

    @property
    def _file(self) -> Path:
        """The file of the next sentences."""
        return self._folder / f"{self._name}-{self.done:08d}.safetensors"

    def _take(self, count: int) -> None:
        """Note how many sentences are in it."""
        self._files += [safe_open(self._file, "numpy")] * count

    def __len__(self) -> int:
        return len(self._sizes)

    def close(self) -> None:
        """Let the files go."""
        self._files.clear()

    @property
    def done(self) -> int:
        """How many sentences there are so far."""
        return len(self._files)

    @property
    def nbytes(self) -> int:
        """Size of all numbers."""
        return int(self._sizes.sum()) * self._dtype.itemsize

    def append(self, arrays: Sequence[np.ndarray]) -> None:
        """The next sentences, as `kept` made them. They are safe on disk afterwards."""
        named = {str(number): array.ravel() for number, array in enumerate(arrays, self.done)}
        for number, array in named.items():
            if array.size != self._sizes[int(number)] or array.dtype != self._dtype:
                raise ValueError(
                    f"expected {self._sizes[int(number)]} numbers of {self._dtype}, found {array.shape}"
                )
        write(self._file, named, {"identity": self._identity})
        self._take(len(named))

    def read(self, sentence: int, start: int = 0, count: int | None = None) -> np.ndarray:
        """The numbers of a sentence, or `count` of them from `start` on, flat and as they are kept."""
        numbers = self._files[sentence].get_slice(str(sentence))
        return numbers[start : None if count is None else start + count]


def check_run(path: Path, written: AnyMapping, expected: AnyMapping) -> None:
    """Raise `InputError` where a file is not of the run that is expected."""
    if differs := difference(json.loads(json.dumps(expected)), written):
        raise InputError(f"{path}: is of another run: {differs}. Give another folder")


def kept(values: np.ndarray, precision: Precision, what: str) -> np.ndarray:
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


def restored(values: np.ndarray, device: torch.device) -> Tensor:
    """The numbers again, in float32 on a device."""
    numbers = torch.as_tensor(values, device=device)
    return (numbers.float() / 255.0).square_() if numbers.dtype == torch.uint8 else numbers.float()
