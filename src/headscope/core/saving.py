"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from headscope.core.types import AnyPath
from headscope.errors import InputError, RunError

T = TypeVar("T")

TABLES = (".parquet", ".csv", ".json", ".tex")
"""Suffixes of what is written as a table only."""

PICTURES = (".svg", ".pdf", ".png")
"""Suffixes of figures."""

PAGES = (".html", *PICTURES)
"""Suffixes of views."""


class Listener:
    """What follows a run: it is asked before each file is written that a caller asked for."""

    def writes(self, path: AnyPath) -> None:
        """A file, or a folder, is to be written."""

    @contextmanager
    def on(self) -> Generator[None]:
        """Within it this is who listens."""
        token = _LISTENER.set(self)
        try:
            yield
        finally:
            _LISTENER.reset(token)


_LISTENER: ContextVar[Listener] = ContextVar("headscope_listener", default=Listener())  # noqa: B039 (it holds nothing)


def listening(kind: type[T]) -> T | None:
    """Who listens, where it is of this kind."""
    listener = _LISTENER.get()
    return listener if isinstance(listener, kind) else None


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def replacing(path: AnyPath, *, asked: bool = True) -> Generator[Path]:
    """A file beside `path` to write to, that takes its place when all went well and all of it is safe on disk.

    What was at `path` stays good until then, whatever happens; what a process that was killed left beside it is
    removed. What is no plain file (a device, a pipe) is written in place. `asked` is false of what no caller asked for,
    such as a checkpoint.

    Raises `RunError` where the disk is full or broken, `InputError` where nothing can be written there.
    """
    if asked:
        _LISTENER.get().writes(path)
    real, temporary = _places(path)
    direct = temporary == real
    try:
        with nullcontext() if direct else _claimed(real, temporary):
            yield temporary
            if not direct:
                _synced(temporary)
                os.replace(temporary, real)
        if not direct and os.name != "nt":
            _synced(real.parent)
    except OSError as error:
        kind = RunError if error.errno in _FULL else InputError
        why = os.strerror(error.errno) if error.errno else str(error)
        raise kind(f"{os.fspath(path)}: cannot be written ({why})") from None
    finally:
        if not direct:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def made_folder(path: AnyPath) -> Path:
    """A folder for files that a caller asked for, which is made where it is missing."""
    _LISTENER.get().writes(path)
    Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


@contextmanager
def _claimed(real: Path, temporary: Path) -> Generator[None]:
    """Within it the temporary file is locked; others of the same file that nobody has locked are removed."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return

    def locked(place: Path, flags: int) -> int | None:
        handle = None
        with suppress(OSError):
            handle = os.open(place, os.O_RDWR | flags, 0o666)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        if handle is not None:
            os.close(handle)
        return None

    handles = [locked(temporary, os.O_CREAT)]
    try:
        ours = re.compile(rf"\.{re.escape(real.stem)}\.\d+{re.escape(real.suffix)}")
        for name in filter(ours.fullmatch, os.listdir(real.parent)):
            if name != temporary.name and (handle := locked(real.with_name(name), 0)) is not None:
                handles.append(handle)
                with suppress(OSError):
                    real.with_name(name).unlink()
        yield
    finally:
        for handle in filter(None, handles):
            os.close(handle)


def _places(path: AnyPath) -> tuple[Path, Path]:
    """Where a file goes, links followed, and what is written until it is whole."""
    real = Path(os.path.realpath(path))
    direct = os.path.exists(real) and not os.path.isfile(real)
    return real, real if direct else real.with_name(f".{real.stem}.{os.getpid()}{real.suffix}")


ROOM = 2_000_000
"""Bytes that a table or a figure takes at most, but for very large ones."""


def check_place(path: AnyPath, room: float = ROOM) -> None:
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


def _expect_room(path: AnyPath, folder: Path, room: float) -> None:
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
