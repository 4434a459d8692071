"""Runs that can be killed at any moment and go on: sums of numbered blocks, added in order, kept on disk.

What is reduced is anything that adds up (``a + b``) and turns into arrays and back (`Summable`), block after block
from the left: ``((b0 + b1) + b2) + …``. A run keeps the total of the first n blocks; a shard keeps the sums of each
of its blocks, so that merging makes the same additions in the same order. Both are files of one format
(docs/streams.md) with a checksum over all of their bytes. Needs no torch.
"""

from __future__ import annotations

import json
import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from headscope.errors import HeadscopeWarning, InputError
from headscope.stream.outcome import Failure, Outcome, S, Shard
from headscope.stream.safefile import Arrays, BrokenFileError, decode, encode, write

EVERY = 10.0
"""The total is written after the first block that ends so many seconds after the last time."""

_NAME = re.compile(r"(total|block)-(\d{8,})\.safetensors")


class Numbered(Protocol):
    """A block: numbered from 0, read once (`headscope.corpora.Block` is one)."""

    @property
    def number(self) -> int:
        """From 0, in the order of the corpus."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


B = TypeVar("B", bound=Numbered)


@dataclass(frozen=True)
class Reduced(Generic[S]):
    """A corpus that was read to its end.

    Attributes:
        outcome: of the blocks of the run, or of the shard.
        blocks: how many blocks the corpus has.
        fingerprint: of all its inputs.
    """

    outcome: Outcome[S]
    blocks: int
    fingerprint: str


def reduce(
    blocks: Iterable[B],
    work: Callable[[B], Outcome[S]],
    *,
    folder: Folder[S] | None = None,
    fingerprint: Callable[[], str] = str,
    passed: Callable[[], None] | None = None,
) -> Reduced[S]:
    """Add up what blocks give, in their order; go on where `folder` left off, and keep there what is done.

    Args:
        blocks: all blocks of the corpus, whatever is done already: those are read, not worked on.
        work: what one block gives. It reads the block to its end. Whatever it raises ends the run, after all
            blocks before have been kept.
        folder: where checkpoints are. That of a shard works on the shard's blocks only.
        fingerprint: of all that was read so far; the same whenever the corpus is read again.
        passed: told after each block that is read only.

    Raises:
        InputError: the checkpoint is of other inputs.
        RunError: a checkpoint cannot be written.
    """
    start, count = 0, 0
    outcome: Outcome[S] = Outcome()
    shard = None if folder is None else folder.shard
    if folder is not None and shard is None:
        start, outcome = folder.resume()
    try:
        for block in blocks:
            count = block.number + 1
            kept = folder.block(block.number) if folder is not None and shard is not None else None
            mine = shard is None or block.number in shard
            if kept is None and mine and block.number >= start:
                own = work(block)
                outcome = outcome.then(own)
                if folder is not None:
                    folder.keep(block.number, own, outcome, fingerprint())
                continue
            for _ in block:
                pass
            if folder is not None:
                folder.compare(count, fingerprint())
            if kept is not None:
                outcome = outcome.then(kept)
            if passed is not None:
                passed()
    finally:
        if folder is not None:
            folder.flush()
    if folder is not None:
        folder.ends(count)
    return Reduced(outcome, count, fingerprint())


class Folder(Generic[S]):
    """The checkpoints of one run or shard in one folder. Use it in a `with` statement.

    Args:
        path: the folder; made where there is none.
        identity: what the run is of (model, corpus, options, versions), as JSON: a checkpoint of another run is
            refused.
        load: makes sums of what their `to_arrays` gave.
        shard: of which the folder keeps each block; None for a run, of which it keeps the total so far.
        circumstances: what may move the last digits without making it another run (machine, threads); a change
            is said in a warning.
        every: how often the total so far is written, in seconds.

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
        circumstances: Mapping[str, Any] | None = None,
        every: float = EVERY,
    ) -> None:
        self.path = Path(path)
        self.shard = shard
        self.identity = _plain({**identity, "shard": None if shard is None else str(shard)})
        self._circumstances = _plain(circumstances or {})
        self._load, self._every = load, every
        self._expected: dict[int, tuple[str, str]] = {}
        self._latest: tuple[int, Outcome[S], str] | None = None
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

    def close(self) -> None:
        """Let others use the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def resume(self) -> tuple[int, Outcome[S]]:
        """How many blocks are done, and their outcome.

        A checkpoint that is broken is said in a warning and the one before it taken. Raises `InputError` where
        none is whole, and where one is of another run.
        """
        problems: list[str] = []
        for number, file in sorted(self._files("total"), reverse=True):
            try:
                outcome, described = self._read(file)
            except BrokenFileError as error:
                problems.append(str(error))
                continue
            if problems:
                warnings.warn(f"{problems[0]}; going on from {file.name}", HeadscopeWarning, stacklevel=2)
            self._first, self._safe = described["first"], file
            self._expected = {1: (file.name, self._first), number: (file.name, described["fingerprint"])}
            return number, outcome
        if problems:
            raise InputError(
                f"{problems[0]}; there is no earlier checkpoint: remove {self.path} to start again"
            )
        return 0, Outcome()

    def keep(self, number: int, own: Outcome[S], total: Outcome[S], fingerprint: str) -> None:
        """Keep the outcome of a block, and of all blocks up to it: at once in a shard, else when it is time."""
        if self.shard is not None:
            self._write(self._block(number), own, {"block": number, "fingerprint": fingerprint})
            return
        self._first = self._first or fingerprint
        self._latest = (number + 1, total, fingerprint)
        if time.monotonic() - self._written >= self._every:
            self.flush()

    def flush(self) -> None:
        """Write the latest total, and keep the checkpoint before it as well."""
        if self._latest is None:
            return
        (blocks, outcome, fingerprint), self._latest = self._latest, None
        file = self.path / f"total-{blocks:08d}.safetensors"
        self._write(file, outcome, {"blocks": blocks, "first": self._first, "fingerprint": fingerprint})
        for _, other in self._files("total"):
            if other not in (file, self._safe):
                with suppress(OSError):
                    other.unlink()
        self._safe, self._written = file, time.monotonic()

    def block(self, number: int) -> Outcome[S] | None:
        """What a block of a shard gave; None where that is not there, or broken, which a warning says."""
        file = self._block(number)
        if not file.exists():
            return None
        try:
            outcome, described = self._read(file)
        except BrokenFileError as error:
            warnings.warn(f"{error}; block {number} is done again", HeadscopeWarning, stacklevel=2)
            return None
        self._expected[number + 1] = (file.name, described["fingerprint"])
        return outcome

    def blobs(self) -> Iterator[tuple[int, bytes]]:
        """The blocks of a shard, by number, each as the bytes of its file."""
        for number, file in sorted(self._files("block")):
            yield number, file.read_bytes()

    def compare(self, blocks: int, fingerprint: str) -> None:
        """Raise `InputError` where the checkpoint saw other inputs in the first so many blocks."""
        name, expected = self._expected.pop(blocks, ("", fingerprint))
        if fingerprint != expected:
            which = "block 0" if blocks == 1 else f"blocks 0 to {blocks - 1}"
            raise InputError(
                f"{self.path / name}: a checkpoint of other inputs: {which} of the corpus had the fingerprint "
                f"{expected[:12]}, found {fingerprint[:12]}"
            )

    def ends(self, blocks: int) -> None:
        """Raise `InputError` where the checkpoint has more blocks than the corpus."""
        most = max([*self._expected, *(number + 1 for number, _ in self._files("block"))], default=0)
        if most > blocks:
            raise InputError(
                f"{self.path}: a checkpoint of other inputs: expected a corpus of at least {most} blocks, "
                f"found {blocks}"
            )

    def _block(self, number: int) -> Path:
        return self.path / f"block-{number:08d}.safetensors"

    def _files(self, kind: str) -> list[tuple[int, Path]]:
        matches = ((_NAME.fullmatch(file.name), file) for file in self.path.iterdir())
        return [(int(match[2]), file) for match, file in matches if match and match[1] == kind]

    def _refuse_others(self) -> None:
        """Refuse the folder of another run before anything is done."""
        for kind in ("total", "block"):
            for _, file in sorted(self._files(kind), reverse=True):
                with suppress(BrokenFileError):
                    self._read(file)
                    break

    def _read(self, file: Path) -> tuple[Outcome[S], dict[str, Any]]:
        try:
            data = file.read_bytes()
        except OSError as error:
            raise BrokenFileError(f"{file}: cannot be read ({error.strerror})") from None
        arrays, described = decode(data, str(file))
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

    def _write(self, file: Path, outcome: Outcome[S], described: Mapping[str, Any]) -> None:
        arrays: Arrays = {} if outcome.sums is None else outcome.sums.to_arrays()
        more = {
            "identity": self.identity,
            "circumstances": self._circumstances,
            "failures": outcome.failures,
            "empty": outcome.sums is None,
        }
        write(file, encode(arrays, {**described, **more}))


def restored(arrays: Arrays, described: Mapping[str, Any], load: Callable[[Arrays], S]) -> Outcome[S]:
    """What a decoded checkpoint holds."""
    failures = tuple(Failure(*each) for each in described["failures"])
    return Outcome(None if described["empty"] else load(arrays), failures)


def difference(expected: Any, found: Any) -> str:
    """What differs between two descriptions, by place; empty where nothing does."""
    a, b = dict(_leaves("", expected)), dict(_leaves("", found))
    lines = [
        f"{name}: expected {_shown(a.get(name))}, found {_shown(b.get(name))}"
        for name in dict.fromkeys([*a, *b])
        if a.get(name) != b.get(name)
    ]
    return "; ".join(lines[:4]) + (f"; and {len(lines) - 4} more" if len(lines) > 4 else "")


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, each in cast(Mapping[str, Any], value).items():
            yield from _leaves(f"{name}.{key}" if name else key, each)
    else:
        yield name, value


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = ", ".join(map(str, cast(list[Any], value))) if isinstance(value, list) else str(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _plain(value: Any) -> Any:
    """As it comes back from JSON."""
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
