"""Checkpoints: what a run or a shard has done so far, in files of a folder.

A run keeps the total of the first n blocks; a shard keeps the sums of each of its spans, so that merging makes the same
additions in the same order. Both are files of one format (docs/streams.md) with a checksum over all of their bytes.
Needs no torch.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, cast

from headscope.errors import HeadscopeWarning, InputError, RunError
from headscope.runs.outcome import Failure, Outcome, S, Shard, Total
from headscope.runs.read import Read
from headscope.runs.safefile import Arrays, BrokenFileError, apart, decode, naming, write

EVERY = 10.0
"""What is not whole yet is written after the first block that ends so many seconds after the last time."""

_YOUNG = 60.0  # seconds in which a folder that was made is locked
_NAME = re.compile(r"(total|span)-(\d{8,})\.safetensors")
_OPEN = (
    "span/"  # before the names of the arrays of a span that is not whole, beside those of the spans before it
)


class Folder(Generic[S]):
    """The checkpoints of one run or shard in one folder. Use it in a `with` statement.

    Args:
        path: the folder; made where there is none.
        identity: what the run is of (model, corpus, options, versions), as JSON: a checkpoint of another run is
            refused.
        load: makes sums of what their `to_arrays` gave.
        shard: of which the folder keeps each span; None for a run, of which it keeps the total so far.
        span: how many blocks a span has.
        circumstances: what may move the last digits without making it another run (machine, threads); a change
            is said in a warning.
        every: how often what is not whole yet is written, in seconds.
        stays: whether the folder is there when the run has ended, and what ends it says so.

    Raises `InputError` for a folder that cannot be used, whose run is another one, or at which another process is
    at work.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        identity: Mapping[str, Any],
        load: Callable[[Arrays], S],
        *,
        shard: Shard | None = None,
        span: int = 1,
        circumstances: Mapping[str, Any] | None = None,
        every: float = EVERY,
        stays: bool = True,
    ) -> None:
        self.path = Path(path)
        self.shard, self.width = shard, span
        self.identity = _plain({**identity, "shard": None if shard is None else str(shard)})
        self._circumstances = _plain(circumstances or {})
        self._load, self._every, self._stays = load, every, stays
        self._expected: dict[int, tuple[str, str]] = {}
        self._latest: tuple[Path, Total[S], dict[str, Any]] | None = None
        self._first = ""
        self._safe: Path | None = None
        self._written = time.monotonic()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.path)
        except OSError as error:
            raise InputError(f"{path}: cannot be used for checkpoints ({error.strerror})") from None
        try:
            self._refuse_others()
        except BaseException:
            self.close()
            raise
        for file in self.path.glob(".*.safetensors"):  # left by a run that was killed
            with suppress(OSError):
                file.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, RunError) and self._stays and self._begun():
            raise RunError(f"{error}; what was done before is kept in {self.path}") from error

    def _begun(self) -> bool:
        return any(_NAME.fullmatch(file.name) for file in self.path.iterdir())

    def close(self) -> None:
        """Let others use the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def resume(self) -> tuple[int, Total[S]]:
        """How many blocks are done, and their total.

        A checkpoint that is broken is said in a warning and the one before it taken. Raises `InputError` where
        none is whole, and where one is of another run.
        """
        problems: list[str] = []
        for number, file in sorted(self._files("total"), reverse=True):
            try:
                total, described = self._read(file)
            except BrokenFileError as error:
                problems.append(str(error))
                continue
            if problems:
                warnings.warn(f"{problems[0]}; going on from {file.name}", HeadscopeWarning, stacklevel=2)
            self._first, self._safe = described["first"], file
            self._expected = {1: (file.name, self._first), number: (file.name, described["fingerprint"])}
            return number, total
        if problems:
            raise InputError(
                f"{problems[0]}; there is no earlier checkpoint: remove {self.path} to start again"
            )
        return 0, Total()

    def keep(
        self, blocks: int, span: Outcome[S], total: Total[S], fingerprints: tuple[str, str], *, ends: bool
    ) -> None:
        """Keep what was done of one span, or in all: a shard's span at once when it ends, else when it is time.

        Args:
            blocks: up to which block of the corpus it is done.
            span: of the span of the last of them.
            total: of all of them.
            fingerprints: of the corpus (of a shard: of the span) up to the first block that was done now, and up to
                there.
            ends: whether the span is whole.
        """
        first, fingerprint = fingerprints
        described: dict[str, Any] = {"blocks": blocks, "fingerprint": fingerprint}
        if self.shard is not None:
            index = (blocks - 1) // self.width
            self._latest = self._span(index), Total(span), {**described, "span": index}
        else:
            self._first = self._first or first
            file = self.path / f"total-{blocks:08d}.safetensors"
            self._latest = file, total, {**described, "first": self._first}
        if (ends and self.shard is not None) or time.monotonic() - self._written >= self._every:
            self.flush()

    def flush(self) -> None:
        """Write the latest; of a run, keep the checkpoint before it as well."""
        if self._latest is None:
            return
        (file, total, described), self._latest = self._latest, None
        self._write(file, total, described)
        if self.shard is None:
            for _, other in self._files("total"):
                if other not in (file, self._safe):
                    with suppress(OSError):
                        other.unlink()
            self._safe = file
        self._written = time.monotonic()

    def span(self, index: int) -> tuple[int, Outcome[S]] | None:
        """What a span of a shard gave, and up to which block; None where that is not there, or broken (a warning)."""
        file = self._span(index)
        if not file.exists():
            return None
        try:
            total, described = self._read(file)
        except BrokenFileError as error:
            name = f"block {index}" if self.width == 1 else f"span {index}"
            warnings.warn(f"{error}; {name} is done again", HeadscopeWarning, stacklevel=2)
            return None
        self._expected[described["blocks"]] = (file.name, described["fingerprint"])
        return described["blocks"], total.outcome

    def blobs(self) -> Iterator[tuple[int, bytes]]:
        """The spans of a shard, by number, each as the bytes of its file."""
        for index, file in sorted(self._files("span")):
            yield index, file.read_bytes()

    def compare(self, blocks: int, fingerprint: str) -> None:
        """Raise `InputError` where the checkpoint saw other inputs in the first so many blocks."""
        name, expected = self._expected.pop(blocks, ("", fingerprint))
        if fingerprint != expected:
            which = "block 0" if blocks == 1 else f"blocks 0 to {blocks - 1}"
            raise InputError(
                f"{self.path / name}: a checkpoint of other inputs: {which} of the corpus had the fingerprint "
                f"{apart(expected, fingerprint)}"
            )

    def ends(self, blocks: int) -> None:
        """Raise `InputError` where the checkpoint has more blocks than the corpus."""
        begun = (index * self.width + 1 for index, _ in self._files("span"))
        most = max([*self._expected, *begun], default=0)
        if most > blocks:
            raise InputError(
                f"{self.path}: a checkpoint of other inputs: expected a corpus of at least {most} blocks, "
                f"found {blocks}"
            )

    def _span(self, index: int) -> Path:
        return self.path / f"span-{index:08d}.safetensors"

    def _files(self, kind: str) -> list[tuple[int, Path]]:
        matches = ((_NAME.fullmatch(file.name), file) for file in self.path.iterdir())
        return [(int(match[2]), file) for match, file in matches if match and match[1] == kind]

    def _refuse_others(self) -> None:
        """Refuse the folder of another run before anything is done."""
        for kind in ("total", "span"):
            for _, file in sorted(self._files(kind), reverse=True):
                with suppress(BrokenFileError):
                    self._read(file)
                    break

    def _read(self, file: Path) -> tuple[Total[S], dict[str, Any]]:
        try:
            data = file.read_bytes()
        except OSError as error:
            raise BrokenFileError(f"{file}: cannot be read ({error.strerror})") from None
        arrays, described = decode(data, str(file))
        with naming(str(file)):
            if differs := difference(self.identity, described["identity"]):
                raise InputError(f"{file}: a checkpoint of another run: {differs}")
            if differs := difference(self._circumstances, described["circumstances"]):
                warnings.warn(
                    f"{file}: begun under other circumstances, so the last digits may differ: {differs}",
                    HeadscopeWarning,
                    stacklevel=3,
                )
                self._circumstances = described["circumstances"]  # said once, and kept for the next time
            return restored(arrays, described, self._load), described

    def _write(self, file: Path, total: Total[S], described: Mapping[str, Any]) -> None:
        arrays, about = _stored(total.spans)
        more, of_span = _stored(total.open)
        about |= {"identity": self.identity, "circumstances": self._circumstances, "span_open": of_span}
        unfinished = {f"{_OPEN}{name}": array for name, array in more.items()}
        write(file, {**arrays, **unfinished}, {**about, **described})


def remove_abandoned(folders: Iterable[Path]) -> None:
    """Remove folders of checkpoints that a killed process left: of those that nobody uses, and not only just began."""
    for folder in folders:
        with suppress(OSError, InputError):
            if (
                time.time() - (folder / "lock").stat().st_mtime > _YOUNG
                and (lock := _locked(folder)) is not None
            ):
                os.close(lock)
                shutil.rmtree(folder)


def _stored(outcome: Outcome[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of an outcome, and what else is to be said of it."""
    arrays = {} if outcome.sums is None else dict(outcome.sums.to_arrays())
    read = outcome.read.to_json()
    return arrays, {"failures": outcome.failures, "empty": outcome.sums is None, "read": read}


def restored(arrays: Arrays, described: Mapping[str, Any], load: Callable[[Arrays], S]) -> Total[S]:
    """What a decoded checkpoint holds."""

    def one(about: Mapping[str, Any], arrays: Arrays) -> Outcome[S]:
        failures = tuple(Failure(*failure) for failure in about["failures"])
        sums = None if about["empty"] else load(arrays)
        return Outcome(sums, failures, Read.from_json(about["read"]))

    unfinished = {name.removeprefix(_OPEN): array for name, array in arrays.items() if name.startswith(_OPEN)}
    rest = {name: array for name, array in arrays.items() if not name.startswith(_OPEN)}
    return Total(one(described, rest), one(described["span_open"], unfinished))


def difference(expected: Any, actual: Any) -> str:
    """What differs between two descriptions, by place; empty where nothing does."""
    a, b = dict(_leaves("", expected)), dict(_leaves("", actual))
    lines = [
        f"{name}: expected {_shown(a.get(name))}, found {_shown(b.get(name))}"
        for name in dict.fromkeys([*a, *b])
        if a.get(name) != b.get(name)
    ]
    return "; ".join(lines[:4]) + (f"; and {len(lines) - 4} more" if len(lines) > 4 else "")


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in cast(Mapping[str, Any], value).items():
            yield from _leaves(f"{name}.{key}" if name else key, item)
    else:
        yield name, value


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = ", ".join(map(str, cast(list[Any], value))) if isinstance(value, list) else str(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _plain(value: Any) -> Any:
    """A value as it comes back from JSON."""
    return json.loads(json.dumps(value))


def _locked(folder: Path) -> int | None:
    """Keep other processes out of a folder until this one ends, where the system can."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InputError(f"{folder}: another run is using this folder: give each run its own") from None
    except OSError:  # a file system without locks
        pass
    return handle
