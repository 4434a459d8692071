"""Where blocks are worked on in another process: its models, each loaded once, and the work of the run under way."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from headscope.errors import ModelError
from headscope.models import Model
from headscope.runs.engines.transfer import Setup, Work, answer, unpacked
from headscope.runs.identity import circumstances, installed

_one = threading.Lock()  # units are worked on one at a time, whichever thread asks


@dataclass
class _WorkerState:
    models: dict[tuple[str, str], Model]  # by key and device
    under_way: tuple[Work, Setup] | None = None


@cache
def _state() -> _WorkerState:
    """That of this process."""
    return _WorkerState({})


def prepare(data: bytes, device: str | None, keys: Sequence[str], *saved: bytes) -> dict[str, Any]:
    """Load what a run needs that is not there yet, and say what may move last digits here.

    Args:
        data: the pickled `Setup`.
        device: where models go; None for that of the setup.
        keys: of the models that came by another way.
        saved: these models.

    Raises `ModelError` for a model that cannot be loaded, and for other versions of libraries.
    """
    setup: Setup = pickle.loads(data)
    here, there = installed(), setup.versions
    if sys.version_info[:2] == tuple(map(int, there["python"].split(".")[:2])):
        there = {**there, "python": here["python"]}
    if differs := [
        f"{name} {wanted}, found {here[name]}" for name, wanted in there.items() if here[name] != wanted
    ]:
        raise ModelError(f"expected {'; '.join(differs)}")
    with _one:
        _settle(setup)
        torch.set_float32_matmul_precision(setup.precision)
        where, blobs = device or setup.device, dict(zip(keys, saved, strict=True))
        wanted = {(sent.key, where): sent for sent in setup.models}
        state = _state()
        state.models = {key: model for key, model in state.models.items() if key in wanted}
        for key, sent in wanted.items():
            if key not in state.models:
                state.models[key] = sent.load(where, blobs.get(sent.key, b""))
        models = [state.models[sent.key, where] for sent in setup.models]
        state.under_way = unpacked(setup.work, models), setup
        return circumstances(torch.device(where))


def work(data: bytes) -> bytes:
    """What a unit of blocks gives, as an `answer`."""
    with _one:
        if (under_way := _state().under_way) is None:
            raise LookupError("nothing to do is known")
        task, setup = under_way
        _settle(setup)
        return answer(lambda: task(pickle.loads(data), _nothing))


def forget() -> None:
    """Let go of the models."""
    _state.cache_clear()


def _settle(setup: Setup) -> None:
    if torch.get_num_threads() != setup.threads:
        torch.set_num_threads(setup.threads)


def _nothing(_: int) -> None: ...
