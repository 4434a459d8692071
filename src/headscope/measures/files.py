"""Files that are written whole or not at all, and datasets in netCDF."""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import InputError, RunError
from headscope.lazy import module

if TYPE_CHECKING:
    import xarray as xr

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """A file beside `path` to write to, that takes its place when all went well and all of it is safe on disk.

    What was at `path` stays good until then, whatever happens. What is no plain file (a device, a pipe) is
    written in place.

    Raises `RunError` where the disk is full or broken, `InputError` where nothing can be written there.
    """
    real, temporary = _places(path)
    direct = temporary == real
    try:
        yield temporary
        if not direct:
            _synced(temporary)
            os.replace(temporary, real)
            if os.name != "nt":
                _synced(real.parent)
    except OSError as error:
        kind = RunError if error.errno in _FULL else InputError
        why = os.strerror(error.errno) if error.errno else str(error)
        raise kind(f"{os.fspath(path)}: cannot be written ({why})") from None
    finally:
        if not direct:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _places(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Where a file goes, links followed, and what is written until it is whole."""
    real = Path(os.path.realpath(path))
    direct = os.path.exists(real) and not os.path.isfile(real)
    return real, real if direct else real.with_name(f".{real.stem}.{os.getpid()}{real.suffix}")


ROOM = 2_000_000
"""Bytes that a table or a figure takes at most, but for very large ones."""


def check_place(path: str | os.PathLike[str], room: float = ROOM) -> None:
    """Raise where nothing can be written: to be told before a long run, not after it.

    Raises `InputError` for a folder that is not there or cannot be written to, and for a name that cannot be;
    `RunError` where the disk has less than `room` bytes left, as far as that can be told.
    """

    def refuse(why: object) -> InputError:
        return InputError(f"{os.fspath(path)}: cannot be written ({why})")

    if not os.path.isdir(Path(path).parent):
        raise refuse("no such folder")
    if os.path.isdir(path):
        raise refuse("a folder")
    try:
        real, temporary = _places(path)
        for place in (real, temporary):
            with suppress(FileNotFoundError):
                os.stat(place)
    except (OSError, ValueError) as error:
        raise refuse(getattr(error, "strerror", None) or error) from None
    if not os.access(real if temporary == real else real.parent, os.W_OK):
        raise refuse(os.strerror(errno.EACCES))
    if temporary != real:
        with suppress(OSError):
            _expect_room(path, real.parent, room)


def _expect_room(path: str | os.PathLike[str], folder: Path, room: float) -> None:
    disk = shutil.disk_usage(folder)
    if disk.total and disk.free < room:
        raise RunError(
            f"{os.fspath(path)}: expected {room / 1e6:.0f} MB of room on the disk, found {disk.free / 1e6:.1f} MB"
        )


def _synced(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def netcdf(found: xr.Dataset, path: Path, more: Callable[[Any], None] | None = None) -> None:
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
                for name, value in found.attrs.items()
            }
            found.assign_attrs(attributes).dump_to_store(H5NetCDFStore(h5netcdf.File(file, "a")))  # pyright: ignore[reportUnknownMemberType]
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
