"""Checkpoints: what a run or a shard has done so far, in files of a folder.

The sums of each span are kept apart, so that going on and merging make the additions of one run, in the same order. A
shard is a run that has some of the spans. The files are of one format (docs/streams.md) with a checksum over all of
their bytes. Needs no torch.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from headscope.core.arrays import Arrays
from headscope.core.failures import warn
from headscope.core.kinds import is_list, is_mapping
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.errors import InputError, RunError
from headscope.runs.read import ReadBlocks
from headscope.runs.safefile import BrokenFileError, apart, decode, naming, write


class Summable(Protocol):
    """What adds up, and turns into arrays of numbers and strings. Adding must not change either side."""

    def __add__(self, other: Self, /) -> Self: ...

    def to_arrays(self) -> Arrays:
        """All of it as arrays."""
        ...


S = TypeVar("S", bound=Summable)


class Failure(NamedTuple):
    """An input that was left out, such as ``news.txt:12``, and why."""

    input: str
    error: str


@dataclass(frozen=True)
class Outcome(Generic[S]):
    """What some blocks gave.

    Attributes:
        sums: of their inputs; None where there were none.
        failures: the inputs left out, in order.
        read: what reading them has told.
    """

    sums: S | None = None
    failures: tuple[Failure, ...] = ()
    read: ReadBlocks = field(default_factory=ReadBlocks)

    def then(self, after: Outcome[S]) -> Outcome[S]:
        """Return these blocks with those after them."""
        if self.sums is None or after.sums is None:
            sums = after.sums if self.sums is None else self.sums
        else:
            sums = self.sums + after.sums
        return Outcome(sums, self.failures + after.failures, self.read.then(after.read))


@dataclass
class SentBlock:
    """A block on its way to where it is worked on.

    Attributes:
        number: of the block.
        batches: of the block.
        digest: says in words what it holds.
    """

    number: int
    batches: Sequence[Any]
    digest: str = ""

    def __iter__(self) -> Iterator[Any]:
        """The batches."""
        yield from self.batches


class Shard(NamedTuple):
    """Every `of`-th span, beginning with span `number` − 1: ``2/8`` has the spans 1, 9, 17, …."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def __contains__(self, span: object) -> bool:
        return isinstance(span, int) and span % self.of == self.number - 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``2/8`` and the like. Raises `InputError` for anything else."""
        match = re.fullmatch(r"([1-9]\d{0,8})/([1-9]\d{0,8})", text)
        if not match or int(match[1]) > int(match[2]):
            raise InputError(f"shard must be I/N with 1 ≤ I ≤ N, such as 2/8; found {text!r}")
        return cls(int(match[1]), int(match[2]))


EVERY = 10.0
"""What is not whole yet is written after the first block that ends so many seconds after the last time."""

_YOUNG = 60.0  # seconds in which a folder that was made is locked
_NAME = re.compile(r"span-(\d{8,})\.safetensors")


class Folder(Generic[S]):
    """The checkpoints of one run or shard in one folder. Use it in a `with` statement.

    Args:
        path: the folder; made where there is none.
        identity: what the run is of (model, corpus, options, versions), as JSON: a checkpoint of another run is
            refused.
        load: makes sums of what their `to_arrays` gave.
        shard: of which the folder keeps the spans; None for a run.
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
        path: AnyPath,
        identity: AnyMapping,
        load: Callable[[Arrays], S],
        *,
        shard: Shard | None = None,
        span: int = 1,
        circumstances: AnyMapping | None = None,
        every: float = EVERY,
        stays: bool = True,
    ) -> None:
        self.path = Path(path)
        self.shard, self.width = shard, span
        self.identity = _plain({**identity, "shard": None if shard is None else str(shard)})
        self._circumstances = _plain(circumstances or {})
        self._load, self._every, self._stays = load, every, stays
        self._expected: dict[int, tuple[str, str]] = {}
        self._latest: tuple[Path, Outcome[S], AnyDict] | None = None
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
        if isinstance(error, RunError) and self._stays and self._files():
            raise RunError(f"{error}; what was done before is kept in {self.path}") from error

    def close(self) -> None:
        """Let others use the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def keep(self, blocks: int, span: Outcome[S], fingerprint: str) -> None:
        """Keep what was done of one span: at once when it ends, else when it is time.

        Args:
            blocks: up to which block of the corpus it is done.
            span: of the span of the last of them.
            fingerprint: of the span up to there.
        """
        index = (blocks - 1) // self.width
        described = {"blocks": blocks, "fingerprint": fingerprint, "span": index}
        self._latest = self._span(index), span, described
        if not blocks % self.width or time.monotonic() - self._written >= self._every:
            self.flush()

    def flush(self) -> None:
        """Write the latest."""
        if self._latest is not None:
            (file, span, described), self._latest = self._latest, None
            arrays: Arrays = {} if span.sums is None else span.sums.to_arrays()
            described |= {"failures": span.failures, "empty": span.sums is None, "read": span.read.to_json()}
            described |= {"identity": self.identity, "circumstances": self._circumstances}
            write(file, arrays, described)
            self._written = time.monotonic()

    def span(self, index: int) -> tuple[int, Outcome[S]] | None:
        """What a span gave, and up to which block; None where that is not there, or broken (a warning)."""
        file = self._span(index)
        if not file.exists():
            return None
        try:
            outcome, described = self._read(file)
        except BrokenFileError as error:
            name = f"block {index}" if self.width == 1 else f"span {index}"
            warn(f"{error}; {name} is done again")
            return None
        self._expected[described["blocks"]] = (file.name, described["fingerprint"])
        return described["blocks"], outcome

    def blobs(self) -> Iterator[tuple[int, bytes]]:
        """The spans, by number, each as the bytes of its file."""
        for index, file in self._files():
            yield index, file.read_bytes()

    def compare(self, blocks: int, fingerprint: str) -> None:
        """Raise `InputError` where the checkpoint saw other inputs in the first so many blocks."""
        name, expected = self._expected.pop(blocks, ("", fingerprint))
        if fingerprint != expected:
            first, last = (blocks - 1) // self.width * self.width, blocks - 1
            which = f"block {last}" if first == last else f"blocks {first} to {last}"
            raise InputError(
                f"{self.path / name}: a checkpoint of other inputs: {which} of the corpus had the fingerprint "
                f"{apart(expected, fingerprint)}"
            )

    def ends(self, blocks: int) -> None:
        """Raise `InputError` where the checkpoint has more blocks than the corpus."""
        begun = (index * self.width + 1 for index, _ in self._files())
        most = max([*self._expected, *begun], default=0)
        if most > blocks:
            raise InputError(
                f"{self.path}: a checkpoint of other inputs: expected a corpus of at least {most} blocks, "
                f"found {blocks}"
            )

    def _span(self, index: int) -> Path:
        return self.path / f"span-{index:08d}.safetensors"

    def _files(self) -> list[tuple[int, Path]]:
        matches = ((_NAME.fullmatch(file.name), file) for file in self.path.iterdir())
        return sorted((int(match[1]), file) for match, file in matches if match)

    def _refuse_others(self) -> None:
        """Refuse the folder of another run before anything is done."""
        for old in self.path.glob("total-*.safetensors"):
            raise InputError(
                f"{old}: expected a file a block, found a total of blocks, of another version of headscope: finish the "
                "run with that version, or remove what it kept and start again"
            )
        for _, file in reversed(self._files()):
            with suppress(BrokenFileError):
                self._read(file)
                break

    def _read(self, file: Path) -> tuple[Outcome[S], AnyDict]:
        try:
            data = file.read_bytes()
        except OSError as error:
            raise BrokenFileError(f"{file}: cannot be read ({error.strerror})") from None
        arrays, described = decode(data, str(file))
        with naming(str(file)):
            if differs := difference(self.identity, described["identity"]):
                raise InputError(f"{file}: a checkpoint of another run: {differs}")
            if differs := difference(self._circumstances, described["circumstances"]):
                warn(
                    f"{file}: begun under other circumstances, so the last digits may differ: {differs}",
                    3,
                )
                self._circumstances = described["circumstances"]  # said once, and kept for the next time
            return restored(arrays, described, self._load), described


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


def restored(arrays: Arrays, described: AnyMapping, load: Callable[[Arrays], S]) -> Outcome[S]:
    """What a decoded checkpoint holds."""
    failures = tuple(Failure(*failure) for failure in described["failures"])
    return Outcome(
        None if described["empty"] else load(arrays), failures, ReadBlocks.from_json(described["read"])
    )


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
    if is_mapping(value):
        for key, item in value.items():
            yield from _leaves(f"{name}.{key}" if name else key, item)
    else:
        yield name, value


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = ", ".join(map(str, value)) if is_list(value) else str(value)
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
