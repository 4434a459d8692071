"""Datasets in netCDF."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.core.lazy import module

if TYPE_CHECKING:
    import xarray as xr


def netcdf(dataset: xr.Dataset, path: Path, more: Callable[[Any], None] | None = None) -> None:
    """Write a dataset as netCDF; `more` may add groups to the open `h5py.File`. Raises `OSError`.

    A file's name in a description may be no Unicode: JSON's own escape stands for what is not.
    """
    h5netcdf, h5py = module("h5netcdf"), module("h5py")
    from xarray.backends import H5NetCDFStore

    with open(path, "w+b", buffering=0) as raw:
        guarded = _Guarded(raw)
        with h5py.File(guarded, "w") as file:
            attributes = {
                name: value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value
                for name, value in dataset.attrs.items()
            }
            dataset.assign_attrs(attributes).dump_to_store(H5NetCDFStore(h5netcdf.File(file, "a")))  # pyright: ignore[reportUnknownMemberType]
            if more is not None:
                more(file)
        if guarded.error is not None:
            raise guarded.error


class _Guarded(io.RawIOBase):
    """A file that keeps its first error to itself: HDF5 may crash the process when a write fails under it."""

    def __init__(self, raw: io.FileIO) -> None:
        self.error: OSError | None = None
        self._raw = raw

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def readinto(self, buffer: Any, /) -> int:
        return self._raw.readinto(buffer)

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        done = 0
        try:
            while self.error is None and done < len(view):
                done += self._raw.write(view[done:])
        except OSError as error:
            self.error = error
        return len(view)

    def truncate(self, size: int | None = None, /) -> int:
        try:
            return self._raw.truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0
