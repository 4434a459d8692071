"""Where blocks are worked on in another process: its models, and the work of the run that is under way."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Mapping
from typing import Any

import torch

from headscope.errors import ModelError
from headscope.models import Model
from headscope.runs.engines.transfer import Setup, Work, answer, unpacked
from headscope.runs.identity import circumstances, versions


class Worker:
    """The models that a process has loaded, each once, and what is to be done with them.

    Units are worked on one at a time, whichever thread asks.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: dict[tuple[str, str], Model] = {}
        self._work: Work | None = None
        self._threads = 1

    def prepare(self, data: bytes, device: str, blobs: Mapping[str, bytes] | None = None) -> dict[str, Any]:
        """Load what a `Setup` names that is not there yet, and say what may move last digits here.

        Args:
            data: the pickled setup.
            device: where models go.
            blobs: models by their keys, where they came by another way.

        Raises `ModelError` for a model that cannot be loaded, and for other versions of libraries.
        """
        setup: Setup = pickle.loads(data)
        here, there = versions(), setup.versions
        if sys.version_info[:2] == tuple(map(int, there["python"].split(".")[:2])):
            there = {**there, "python": here["python"]}
        if differs := [
            f"{name} {each}, found {here[name]}" for name, each in there.items() if here[name] != each
        ]:
            raise ModelError(f"expected {'; '.join(differs)}")
        with self._lock:
            self._threads = setup.threads
            self._settle()
            torch.set_float32_matmul_precision(setup.precision)
            keys = [(sent.key, device) for sent in setup.models]
            self._loaded = {key: model for key, model in self._loaded.items() if key in keys}
            for key, sent in zip(keys, setup.models, strict=True):
                if key not in self._loaded:
                    self._loaded[key] = sent.load(device, (blobs or {}).get(sent.key, b""))
            self._work = unpacked(setup.work, [self._loaded[key] for key in keys])
            return circumstances(torch.device(device))

    def run(self, data: bytes) -> bytes:
        """What a unit of blocks gives, as an `answer`."""
        with self._lock:
            self._settle()
            work = self._work
            if work is None:
                raise LookupError("nothing to do is known")

            def done() -> Any:
                return work(pickle.loads(data), _nothing)

            return answer(done)

    def _settle(self) -> None:
        if torch.get_num_threads() != self._threads:
            torch.set_num_threads(self._threads)


def _nothing(_: int) -> None: ...
