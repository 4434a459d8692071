"""Processes on this machine."""

from __future__ import annotations

import json
import os
import pickle
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from headscope.core.validation import Count, validated
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.load import check_device
from headscope.runs.engines.child import receive, send
from headscope.runs.engines.dispatch import DEATHS, Event, Remote, Workers
from headscope.runs.engines.transfer import SentModel, Setup, save
from headscope.runs.identity import circumstances

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from headscope.runs.engines.child import main; main()"
)
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class Processes(Remote):
    """Processes on this machine, one for each device named, that share the blocks of a run.

    Each loads and checks the model once, on its own device: by the name or folder that `headscope.load` was given, or
    else as it is in memory, sent as a file. A process that ends (killed, out of memory) is replaced and its block done
    again. The figures are those of `Here` with as many threads, to the last digit.

    Args:
        devices: such as ``cpu:4`` (four processes), ``cuda:0,cuda:1``, ``cuda:*`` (all GPUs), or a list of these.
        threads: of torch, in each process. More than one may move last digits.

    >>> with hs.engines.Processes("cpu:2") as engine:                                    # doctest: +SKIP
    ...     stats = hs.measure(model, corpus, engine=engine)
    ...     distances = hs.distance(model, corpus, engine=engine)
    """

    @validated
    def __init__(self, devices: str | Sequence[str], *, threads: Count = 1) -> None:
        self.devices = parse(devices)
        self.threads = threads
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __repr__(self) -> str:
        return f"Processes({','.join(self.devices)!r}, threads={self.threads})"

    @property
    def workers(self) -> int:
        """How many processes."""
        return len(self.devices)

    def device(self, model: Model) -> torch.device:
        """The kind of the devices."""
        return torch.device(torch.device(self.devices[0]).type)

    def circumstances(self, model: Model) -> Mapping[str, Any]:
        """Of this machine, with the threads of a process."""
        return {**circumstances(torch.device(self.devices[0])), "threads": self.threads}

    def _reach(self) -> Workers:
        self._folder = tempfile.TemporaryDirectory(prefix="headscope-")
        return _Children(self.devices, self.threads)

    def _leave(self) -> None:
        self._workers.close()
        if self._folder is not None:
            self._folder.cleanup()

    def _saved(self, model: Model, known: str, key: str) -> SentModel:
        assert self._folder is not None
        place = Path(self._folder.name) / f"{len(self._sent)}.pt"
        with open(place, "wb") as file:
            save(model, file)
        return SentModel(model.name, known, None, model.checked is not None, key, str(place))


def parse(devices: str | Sequence[str]) -> list[str]:
    """A device for each process. Raises `InputError` for what is no device here, and for devices of several kinds."""
    named = devices.split(",") if isinstance(devices, str) else list(devices)
    found: list[str] = []
    for name in map(str.strip, named):
        match = re.fullmatch(r"([a-z]+)(?::(\d+|\*))?", name)
        if match is None:
            raise InputError(f"devices: expected such as cpu:4, cuda:0,cuda:1 or cuda:*, found {name!r}")
        kind, number = match[1], match[2]
        if kind == "cpu":
            count = (os.cpu_count() or 1) if number == "*" else int(number or 1)
            if not count:
                raise InputError("devices: expected at least one process, found cpu:0")
            found += ["cpu"] * count
        elif number == "*":
            found += [f"{kind}:{place}" for place in range(_count(kind))]
        else:
            check_device(name)
            found.append(name)
    kinds = list(dict.fromkeys(torch.device(each).type for each in found))
    if len(kinds) != 1:
        told = " and ".join(kinds) or "none"
        raise InputError(f"devices: expected devices of one kind, as others move last digits, found {told}")
    return found


def _count(kind: str) -> int:
    check_device(kind)
    return int(getattr(torch, kind).device_count()) if hasattr(torch, kind) else 1


@dataclass
class _Child:
    """A place for a process, and the one that is there.

    Attributes:
        name: what to call it.
        device: of its model.
        process: None where none was started, or where the place is given up.
        ready: whether it has loaded the model.
        ended: how many ended as they loaded it.
        out: units that it was given and has not answered.
        lost: whether the place is given up.
    """

    name: str
    device: str
    process: subprocess.Popen[bytes] | None = None
    ready: bool = False
    ended: int = 0
    out: int = 0
    lost: bool = False


class _Children:
    """The processes."""

    def __init__(self, devices: Sequence[str], threads: int) -> None:
        self._children = [_Child(f"process {place} ({name})", name) for place, name in enumerate(devices, 1)]
        self._heard: queue.SimpleQueue[tuple[_Child, Any, Any]] = queue.SimpleQueue()
        limits = dict.fromkeys(_THREADS, str(threads))
        self._environment = {**os.environ, **limits, "TOKENIZERS_PARALLELISM": "false"}
        self._setup, self._run = b"", 0

    @property
    def count(self) -> int:
        """Places that are not given up."""
        return sum(not child.lost for child in self._children)

    def begin(self, setup: Setup) -> None:
        """Start the processes that are not there, and tell all what to do."""
        self._setup, self._run = pickle.dumps(setup, 5), self._run + 1
        for child in self._children:
            child.ended, child.lost = 0, False
            if child.process is None:
                self._start(child)
            else:
                self._prepare(child)

    def give(self, worker: str, unit: int, data: bytes) -> None:
        """Send a unit."""
        child = next(child for child in self._children if child.name == worker)
        child.out += 1
        self._tell(child, (self._run, unit, data, None))

    def events(self, seconds: float) -> Sequence[Event]:
        """What the processes said, and which of them ended."""
        found: list[Event] = []
        wait = seconds > 0
        with suppress(queue.Empty):
            while True:
                child, process, message = self._heard.get(wait, seconds)
                if child.process is process:
                    found += self._ended(child) if message is None else self._said(child, *message)
                wait = False
        return found

    def end(self) -> None:
        """End those that are still at a unit; those that load a model may go on."""
        for child in self._children:
            if child.out:
                self._stop(child)

    def close(self) -> None:
        """End all."""
        for child in self._children:
            self._stop(child)

    def _start(self, child: _Child) -> None:
        command = [sys.executable, "-c", _START, json.dumps(sys.path)]
        pipe = subprocess.PIPE
        child.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=self._environment)
        threading.Thread(target=self._listen, args=(child, child.process), daemon=True).start()
        self._prepare(child)

    def _listen(self, child: _Child, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as answers:
            message: Any = True
            while message is not None:
                message = receive(answers)
                self._heard.put((child, process, message))

    def _prepare(self, child: _Child) -> None:
        child.ready, child.out = False, 0
        self._tell(child, (self._run, 0, self._setup, child.device))

    def _tell(self, child: _Child, message: object) -> None:
        assert child.process is not None
        assert child.process.stdin is not None
        with suppress(OSError):  # it has ended, which is heard
            send(child.process.stdin, message)

    def _said(self, child: _Child, kind: str, run: int, unit: int, content: Any) -> list[Event]:
        if run != self._run:
            return []
        if kind == "answer":
            child.out -= 1
            return [Event(child.name, "answer", unit, content)]
        if kind == "ready":
            child.ready = True
            return [Event(child.name, "ready", about=content)]
        child.lost = True
        self._stop(child)
        return [Event(child.name, "failed", why=content)]

    def _ended(self, child: _Child) -> list[Event]:
        """A process is no more: another takes its place, unless it ends as it loads the model."""
        assert child.process is not None
        why, was_ready = _why(child.process.wait()), child.ready
        self._stop(child)
        if not was_ready:
            child.ended += 1
            if child.ended >= DEATHS:
                child.lost = True
                told = f"ended {DEATHS} times as it loaded the model, the last time by {why}"
                return [Event(child.name, "failed", why=told)]
        self._start(child)
        return [Event(child.name, "gone", why=why)] if was_ready else []

    def _stop(self, child: _Child) -> None:
        process, child.process = child.process, None
        child.ready, child.out = False, 0
        if process is None:
            return
        process.kill()
        process.wait()
        with suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()


def _why(code: int) -> str:
    """What a process ended by."""
    if code < 0:
        name = signal.Signals(-code).name
        return f"{name}{': killed, or out of memory' if name == 'SIGKILL' else ''}"
    return f"exit code {code}"
