"""The workers of a Dask cluster (https://distributed.dask.org)."""

from __future__ import annotations

import io
import pickle
import queue
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import torch

from headscope.core.failures import reason
from headscope.core.lazy import module
from headscope.core.validation import Count, validated
from headscope.errors import InputError, RunError
from headscope.models import Model
from headscope.models.load import check_device
from headscope.runs.engines.dispatch import Event, Remote, Workers, quiet
from headscope.runs.engines.transfer import SentModel, Setup, save
from headscope.runs.engines.worker import Worker
from headscope.runs.identity import circumstances

_NAME = "worker "
_LOOK = 0.5  # seconds after which the list of workers is asked for again
_FETCH = (1.0, 5.0, 60.0)  # seconds in which a result comes here, time by time, or its worker counts as gone


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
        self._own: Any = None
        if isinstance(client, str):
            try:
                client = self._own = distributed.Client(client, set_as_default=False)
            except (OSError, ValueError) as error:
                lines = str(error).strip().splitlines() or [type(error).__name__]
                raise InputError(
                    f"dask: {client}: expected the address of a scheduler ({lines[0]})"
                ) from None
        if not isinstance(client, distributed.Client) or client.asynchronous:
            kind = type(client).__name__
            raise InputError(f"dask: expected a distributed.Client or an address, found {kind}")
        self.client, self.threads = client, threads
        self._device, self._whole = device, send
        self._about: dict[str, Mapping[str, Any]] = {}

    def __repr__(self) -> str:
        return f"Dask({self.client.scheduler.address!r}, threads={self.threads})"

    @property
    def workers(self) -> int:
        """How many there are now, and at least one."""
        return max(1, self._workers.count if self._workers is not None else len(self.client.nthreads()))

    def device(self, model: Model) -> torch.device:
        """The kind of device."""
        return torch.device(torch.device(self._device or model.device.type).type)

    def circumstances(self, model: Model) -> Mapping[str, Any]:
        """Of the first worker that is there; waits for one."""
        where = self._device or model.device.type
        if where not in self._about:
            future = self.client.submit(_circumstances, where, self.threads, pure=False)
            self._about[where] = future.result()
        return self._about[where]

    def _reach(self) -> Workers:
        return _Cluster(self.client, self._device)

    def _leave(self) -> None:
        self._workers.close()

    def close(self) -> None:
        """Leave a cluster that was named by its address."""
        if self._own is not None:
            self._own.close()

    def _by_recipe(self, model: Model) -> bool:
        return not self._whole and super()._by_recipe(model)

    def _saved(self, model: Model, known: str, key: str) -> SentModel:
        file = io.BytesIO()
        save(model, file)
        self._workers.bring(key, file.getvalue())
        return SentModel(model.name, known, None, model.checked is not None, key)


@cache
def _station() -> Worker:
    """That of a worker's process."""
    return Worker()


def _circumstances(device: str, threads: int) -> dict[str, Any]:
    torch.set_num_threads(threads)
    check_device(device)
    return circumstances(torch.device(device))


def _prepare(data: bytes, device: str, keys: Sequence[str], *blobs: bytes) -> dict[str, Any]:
    return _station().prepare(data, device, dict(zip(keys, blobs, strict=True)))


def _work(data: bytes) -> bytes:
    return _station().run(data)


def _forget() -> None:
    _station.cache_clear()


class _Cluster:
    """Its workers. Tasks are bound to a worker each; one that ends is seen, and its tasks are given to others."""

    def __init__(self, client: Any, device: str | None) -> None:
        self._client, self._device = client, device
        self._names: dict[str, str] = {}  # of workers, by their addresses
        self._ready: set[str] = set()
        self._failed: set[str] = set()
        self._out: dict[tuple[str, int], Any] = {}  # futures by address and unit; -1 is the model
        self._blobs: dict[str, Any] = {}
        self._heard: queue.SimpleQueue[tuple[int, str, int, Any]] = queue.SimpleQueue()
        self._run, self._looked = 0, 0.0
        self._setup, self._where, self._keys = b"", "cpu", list[str]()
        self._call: Any = None

    @property
    def count(self) -> int:
        """Workers that are there and have not failed."""
        return len(self._names.keys() - self._failed)

    def bring(self, key: str, blob: bytes) -> None:
        """Give the scheduler a model for all workers: it makes it again where those that have it are gone."""
        with quiet():
            self._blobs[key] = self._client.submit(bytes, blob, key=f"headscope-model-{uuid.uuid4().hex}")

    def begin(self, setup: Setup) -> None:
        """Prepare the workers that are there."""
        self._run += 1
        self._setup, self._where = pickle.dumps(setup, 5), self._device or setup.device
        self._keys = [sent.key for sent in setup.models if sent.key in self._blobs]
        self._names.clear()
        self._ready.clear()
        self._failed.clear()
        self._looked = 0.0
        self._look()
        if not self._names:
            self._call = self._client.submit(
                _forget, pure=False
            )  # a cluster that adapts sees that it is wanted

    def give(self, worker: str, unit: int, data: bytes) -> None:
        """Submit a unit."""
        self._submit(worker.removeprefix(_NAME), unit, _work, data)

    def events(self, seconds: float) -> Sequence[Event]:
        """What tasks gave, and who came and went."""
        found = self._look()
        wait = seconds > 0 and not found
        with suppress(queue.Empty):
            while True:
                run, address, unit, future = self._heard.get(wait, seconds)
                wait = False
                if run == self._run and self._out.get((address, unit)) is future:
                    found += self._done(address, unit, future)
        return found

    def end(self) -> None:
        """Take back what is still out."""
        for future in self._out.values():
            future.cancel()
        self._out.clear()

    def close(self) -> None:
        """Let workers forget their models."""
        self.end()
        self._blobs.clear()
        with suppress(Exception):  # a cluster that is gone has forgotten them
            self._client.run(_forget)

    def _look(self) -> list[Event]:
        """Who came, and is made ready, and who is gone."""
        if time.monotonic() - self._looked < _LOOK:
            return []
        self._looked = time.monotonic()
        there = self._there()
        gone = [each for address in self._names.keys() - there for each in self._lose(address)]
        for address in there - self._names.keys():
            self._names[address] = f"{_NAME}{address}"
            self._call = None
            self._prepare(address)
        return gone

    def _lose(self, address: str, why: str = "left the cluster") -> list[Event]:
        name = self._names.pop(address)
        for key in [key for key in self._out if key[0] == address]:
            self._out.pop(key).cancel()
        self._failed.discard(address)
        if address not in self._ready:
            return []
        self._ready.discard(address)
        return [Event(name, "gone", why=why)]

    def _prepare(self, address: str) -> None:
        blobs = [self._blobs[key] for key in self._keys]
        self._submit(address, -1, _prepare, self._setup, self._where, self._keys, *blobs)

    def _there(self) -> set[str]:
        """The addresses of all workers."""
        try:
            return set(self._client.nthreads())
        except (OSError, TimeoutError) as error:
            raise RunError(f"the cluster cannot be reached any more ({reason(error)})") from error

    def _submit(self, address: str, unit: int, function: Any, *arguments: Any) -> None:
        name = "model" if unit < 0 else "block"
        with quiet():
            future = self._client.submit(
                function,
                *arguments,
                workers=[address],
                allow_other_workers=False,
                pure=False,
                key=f"headscope-{name}-{uuid.uuid4().hex}",
            )
        self._out[address, unit] = future
        run = self._run

        def done(future: Any) -> None:
            self._heard.put((run, address, unit, future))

        future.add_done_callback(done)

    def _done(self, address: str, unit: int, future: Any) -> list[Event]:
        """What became of a task; one that was lost with its worker is given up when that is seen to be gone."""
        del self._out[address, unit]
        if future.status == "cancelled":
            return []
        if future.status == "error":
            why = reason(future.exception())
            if unit >= 0:
                return self._lose(address, why)
            self._failed.add(address)
            return [Event(self._names[address], "failed", why=why)]
        try:
            value = self._fetched(address, future)
        except (OSError, TimeoutError) as error:
            return self._lose(address, reason(error))
        if unit >= 0:
            return [Event(self._names[address], "answer", unit, value)]
        self._ready.add(address)
        return [Event(self._names[address], "ready", about=value)]

    def _fetched(self, address: str, future: Any) -> Any:
        """The result of a task that has ended, from the worker that holds it."""
        *short, last = _FETCH
        for seconds in short:
            try:
                return future.result(timeout=seconds)
            except TimeoutError:
                if address not in self._there():  # its worker has ended, and nobody can make it again
                    raise
        return future.result(timeout=last)
