"""Engines that run elsewhere: processes of this machine, each on a device, and workers of a dask cluster."""

from __future__ import annotations

import gc
import io
import math
import os
import re
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

import headscope
from headscope.core.failures import reason
from headscope.core.lazy import module
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, validated
from headscope.errors import InputError, RunError
from headscope.models import Model
from headscope.models.load import check_device
from headscope.runs.engines.dispatch import Remote, Slot, quiet
from headscope.runs.engines.worker import SentModel, forget, save
from headscope.runs.identity import circumstances

_CONTEXT: Any = None  # of loky: processes that are started, and do not run the main module again
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
        self._slots: dict[str, Slot] = {}

    def __repr__(self) -> str:
        return f"Processes({','.join(self.devices)!r}, threads={self.threads})"

    @property
    def workers(self) -> int:
        """How many processes."""
        return len(self.devices)

    def device(self, model: Model) -> torch.device:
        """The kind of the devices."""
        return torch.device(torch.device(self.devices[0]).type)

    def circumstances(self, model: Model) -> AnyMapping:
        """Of this machine, with the threads of a process."""
        return {**circumstances(torch.device(self.devices[0])), "threads": self.threads}

    def look(self, without: Collection[str]) -> Collection[Slot]:
        """Those of all devices; in place of one that is no more another is started."""
        for number, device in enumerate(self.devices, 1):
            name = f"process {number} ({device})"
            if name not in self._slots and name not in without:
                self._slots[name] = _start(name, device, self.threads)
        return [slot for slot in self._slots.values() if slot.name not in without]

    def drop(self, slot: Slot) -> str:
        """End it, even in the midst of a unit, if it has not ended, and say by what."""
        del self._slots[slot.name]
        slot.executor.shutdown(kill_workers=True)  # pyright: ignore[reportCallIssue]
        code = (slot.process and slot.process.exitcode) or 0
        if code >= 0:
            return f"exit code {code}"
        name = signal.Signals(-code).name
        return f"{name}{': killed, or out of memory' if name == 'SIGKILL' else ''}"

    def _begin(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="headscope-")

    def _leave(self) -> None:
        for slot in list(self._slots.values()):
            self.drop(slot)
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
    named_devices: list[str] = []
    for name in map(str.strip, named):
        match = re.fullmatch(r"([a-z]+)(?::(\d+|\*))?", name)
        if match is None:
            raise InputError(f"devices: expected such as cpu:4, cuda:0,cuda:1 or cuda:*, found {name!r}")
        kind, number = match[1], match[2]
        if kind == "cpu":
            count = (os.cpu_count() or 1) if number == "*" else int(number or 1)
            if not count:
                raise InputError("devices: expected at least one process, found cpu:0")
            named_devices += ["cpu"] * count
        elif number == "*":
            named_devices += [f"{kind}:{place}" for place in range(_count(kind))]
        else:
            check_device(name)
            named_devices.append(name)
    kinds = list(dict.fromkeys(torch.device(device).type for device in named_devices))
    if len(kinds) != 1:
        names = " and ".join(kinds) or "none"
        raise InputError(f"devices: expected devices of one kind, as others move last digits, found {names}")
    return named_devices


def _count(kind: str) -> int:
    check_device(kind)
    return int(getattr(torch, kind).device_count()) if hasattr(torch, kind) else 1


def _start(name: str, device: str, threads: int) -> Slot:
    limits = {**dict.fromkeys(_THREADS, str(threads)), "TOKENIZERS_PARALLELISM": "false"}
    client, tie = Pipe(duplex=False)
    with _same_modules():
        executor = module("loky").ProcessPoolExecutor(
            1, context=_CONTEXT, initializer=_settle, initargs=(client,), env=limits
        )
        executor.submit(_nothing)  # it starts now
    client.close()
    # Only the process has these ends then, so that its death is seen in the midst of a message, either way.
    executor._result_queue._writer.close()
    executor._call_queue._reader.close()
    process = next(iter(executor._processes.values()), None)  # none where it has ended already
    return Slot(name, executor, device, process, tie)


@contextmanager
def _same_modules() -> Generator[None]:
    """Within it a Python that starts finds modules where this one does, those of the current folder last."""
    before, root = sys.path, str(Path(headscope.__file__).parents[1])
    places = [place for place in before if place]
    sys.path = [root] * (root not in places) + places + [os.getcwd()] * ("" in before)
    wanted = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONSAFEPATH": "1"}
    outside = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        sys.path = before
        for name, value in outside.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _settle(client: Connection) -> None:
    """Leave Ctrl-C and stdout to the client, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    process_executor = module("loky.process_executor")
    process_executor._MAX_MEMORY_LEAK_SIZE = math.inf  # it would end for its growth, and load the model again
    gc.freeze()  # what is imported: where psutil is missing, loky collects garbage every second

    def follow() -> None:
        with suppress(EOFError, OSError):
            client.recv()
        os._exit(0)  # even in the midst of a block: nobody waits for it

    threading.Thread(target=follow, daemon=True).start()


def _nothing() -> None: ...


_LOOK = 0.5  # seconds after which the list of workers is asked for again


class Dask(Remote):
    """The workers of a Dask cluster, those that come and go as well.

    Each worker loads and checks the model once: by the name or folder that `headscope.load` was given, which has to be
    there, or else as it is in memory, sent by the scheduler. A block goes to a worker that has the model, which works
    on one at a time: start workers with one thread of Dask's each (``dask worker --nthreads 1``). The figures are those
    of `Here` with as many threads of torch, to the last digit, where machines are of one kind.

    Args:
        client: a `distributed.Client`, or the address of a scheduler, such as ``tcp://10.0.0.1:8786``.
        device: where models go on a worker: by default the kind of device that the model is on here.
        threads: of torch, in each worker.
        send: send the model as it is here, though its name is known: for a folder that workers do not see.

    >>> stats = hs.measure(model, corpus, engine=hs.engines.Dask("tcp://10.0.0.1:8786"))     # doctest: +SKIP
    """

    @validated
    def __init__(
        self, client: Any, *, device: str | None = None, threads: Count = 1, send: bool = False
    ) -> None:
        distributed = module("distributed")
        self._client_made: Any = None
        if isinstance(client, str):
            try:
                client = self._client_made = distributed.Client(client, set_as_default=False)
            except (OSError, ValueError) as error:
                lines = str(error).strip().splitlines() or [type(error).__name__]
                raise InputError(
                    f"dask: {client}: expected the address of a scheduler ({lines[0]})"
                ) from None
        if not isinstance(client, distributed.Client) or client.asynchronous:
            kind = type(client).__name__
            raise InputError(f"dask: expected a distributed.Client or an address, found {kind}")
        self.client, self.threads = client, threads
        self._device, self._always_send = device, send
        self._about: dict[str, AnyMapping] = {}
        self._slots: dict[str, Slot] | None = None  # by their addresses
        self._looked, self._call = 0.0, None

    def __repr__(self) -> str:
        return f"Dask({self.client.scheduler.address!r}, threads={self.threads})"

    @property
    def workers(self) -> int:
        """How many there are now, and at least one."""
        return max(1, len(self._there() if self._slots is None else self._slots))

    def device(self, model: Model) -> torch.device:
        """The kind of device."""
        return torch.device(torch.device(self._device or model.device.type).type)

    def circumstances(self, model: Model) -> AnyMapping:
        """Of the first worker that is there; waits for one."""
        where = self._device or model.device.type
        if where not in self._about:
            future = self.client.submit(_circumstances, where, self.threads, pure=False)
            self._about[where] = future.result()
        return self._about[where]

    def look(self, without: Collection[str]) -> Collection[Slot]:
        """Who is there; those of the cluster are asked for now and then."""
        slots = self._slots if self._slots is not None else {}
        if time.monotonic() - self._looked >= _LOOK:
            self._looked, there = time.monotonic(), self._there()
            for address in there - slots.keys():
                only = {"workers": [address], "allow_other_workers": False, "pure": False}
                slots[address] = Slot(f"worker {address}", self.client.get_executor(**only), self._device)
            for address in slots.keys() - there:
                del slots[address]
            if there:
                self._call = None
            elif self._call is None:  # a cluster that adapts sees that it is wanted
                self._call = self.client.submit(forget, pure=False)
        return [slot for slot in slots.values() if slot.name not in without]

    def drop(self, slot: Slot) -> None:
        """Take back what it was given."""
        if self._slots is not None:
            self._slots.pop(slot.name.removeprefix("worker "), None)
        with suppress(Exception):  # a cluster that is gone does nothing any more
            slot.executor.shutdown(wait=False)

    def _begin(self) -> None:
        self._slots, self._looked, self._by_key = {}, 0.0, {}

    def _leave(self) -> None:
        """Let workers forget their models."""
        self._slots, self._by_key, self._call = None, {}, None
        with suppress(Exception):
            self.client.run(forget)

    def _there(self) -> set[str]:
        """The addresses of all workers."""
        try:
            return set(self.client.nthreads())
        except (OSError, TimeoutError) as error:
            raise RunError(f"the cluster cannot be reached any more ({reason(error)})") from error

    def close(self) -> None:
        """Leave a cluster that was named by its address."""
        if self._client_made is not None:
            self._client_made.close()

    def _saved(self, model: Model, known: str, key: str) -> SentModel:
        file = io.BytesIO()
        save(model, file)
        with quiet():  # the scheduler makes it again where those that have it are gone
            future = self.client.submit(bytes, file.getvalue(), key=f"headscope-model-{uuid.uuid4().hex}")
        self._by_key = {**self._by_key, key: future}
        return SentModel(model.name, known, None, model.checked is not None, key)


def _circumstances(device: str, threads: int) -> AnyDict:
    torch.set_num_threads(threads)
    check_device(device)
    return circumstances(torch.device(device))
