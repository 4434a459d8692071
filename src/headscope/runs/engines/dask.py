"""The workers of a Dask cluster (https://distributed.dask.org)."""

from __future__ import annotations

import io
import time
import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import torch

from headscope.core.failures import reason
from headscope.core.lazy import module
from headscope.core.validation import Count, validated
from headscope.errors import InputError, RunError
from headscope.models import Model
from headscope.models.load import check_device
from headscope.runs.engines.dispatch import Remote, Slot, quiet
from headscope.runs.engines.transfer import SentModel, save
from headscope.runs.engines.worker import forget
from headscope.runs.identity import circumstances

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
        self._about: dict[str, Mapping[str, Any]] = {}
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

    def circumstances(self, model: Model) -> Mapping[str, Any]:
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


def _circumstances(device: str, threads: int) -> dict[str, Any]:
    torch.set_num_threads(threads)
    check_device(device)
    return circumstances(torch.device(device))
