"""A small model and corpus for runs that are stopped, shared or fail, measures that misbehave, and a limit of their time."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
import xarray as xr
from torch import nn

from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.measures.measure import Measure, pair_measure
from headscope.models import Model
from tests.helpers.small_models import sizes

WANTED = ["previous", "sep", "entropy", "to_user"]


def bert(seed: int = 0) -> Model:
    torch.manual_seed(seed)
    config = transformers.BertConfig(vocab_size=60, **sizes(inner=48, length=64), pad_token_id=0)
    return Model(transformers.BertModel(config).eval(), name="small")


class Fails(nn.Module):
    """A model that fails on a token."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.config = inner, inner.config

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        if (input_ids == 59).any():
            raise RuntimeError("no such token\nand more")
        return self.inner(input_ids=input_ids, attention_mask=attention_mask)


class LoadsOnce(nn.Module):
    """A model that the first process that tries cannot load."""

    def __init__(self, inner: nn.Module, place: Path) -> None:
        super().__init__()
        self.inner, self.config, self.place = inner, inner.config, place
        self.home = os.getpid()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        return self.inner(input_ids=input_ids, attention_mask=attention_mask)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if os.getpid() != self.home and first(self.place):
            raise OSError("no room for the weights")


def first(place: Path) -> bool:
    """Whether nobody was here before."""
    try:
        os.close(os.open(place, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def corpus(count: int = 30, bad: Sequence[int] = (), each: int = 3) -> list[Example]:
    """Inputs of 3 to 13 tokens, so many in each document; at those that are bad `Fails` fails."""
    draw = np.random.default_rng(3)
    found: list[Example] = []
    for place in range(count):
        length = int(draw.integers(3, 14))
        ids = draw.integers(3, 58, length)
        if place in bad:
            ids[1] = 59
        classes = {"user": draw.random(length) < 0.5, "sep": np.arange(length) == length - 1}
        tokens = Tokens(["x"] * length, ids=ids, classes=classes)
        found.append(Example(tokens=tokens, document=place // each, source=f"corpus.txt:{place + 1}"))
    return found


def described(found: xr.Dataset) -> dict[str, Any]:
    """Without what tells one run from another that gave the same."""
    meta: dict[str, Any] = json.loads(found.attrs["meta"])
    return {name: told for name, told in meta.items() if name not in ("created", "seconds", "command")}


def same(a: xr.Dataset, b: xr.Dataset) -> None:
    """Bit by bit."""
    assert described(a) == described(b)
    plain = (xr.Dataset(each.data_vars, each.coords, {**each.attrs, "meta": ""}) for each in (a, b))
    xr.testing.assert_identical(*plain)


@pair_measure("even", "Mass on even places.")
def even(tokens: Tokens, queries: Any) -> Any:
    return np.broadcast_to(np.arange(len(tokens)) % 2 == 0, (len(queries), len(tokens)))


def slow(seconds: float, run: str = "") -> Measure:
    """A measure that takes its time, and once two checkpoints of a run are kept, until a file "go" is beside them."""

    @pair_measure("slow", "Mass on even places, at leisure.")
    def slow(tokens: Tokens, queries: Any) -> Any:
        time.sleep(seconds)
        while run and len(list(Path(run).glob("span-*"))) >= 2 and not Path(run, "..", "go").exists():
            time.sleep(0.02)
        return np.broadcast_to(np.arange(len(tokens)) % 2 == 0, (len(queries), len(tokens)))

    return slow


def deadly(length: int, place: Path | None = None) -> Measure:
    """A measure that ends its process at an input of this length: once, or each time where no place is given."""
    home = os.getpid()

    @pair_measure("deadly", "Mass on even places, if it lives.")
    def deadly(tokens: Tokens, queries: Any) -> Any:
        if os.getpid() != home and len(tokens) == length and (place is None or first(place)):
            os.kill(os.getpid(), signal.SIGKILL)
        return np.broadcast_to(np.arange(len(tokens)) % 2 == 0, (len(queries), len(tokens)))

    return deadly


@contextmanager
def stopped(owner: Any, at: int = 3) -> Generator[None]:
    """Ctrl-C at so many-th block of this owner's, which ends what is run meanwhile."""
    done, block = 0, owner.block

    def stop(*arguments: Any) -> Any:
        nonlocal done
        done += 1
        if done == at:
            raise KeyboardInterrupt
        return block(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, "block", stop)
        with pytest.raises(KeyboardInterrupt):
            yield


@contextmanager
def as_a_worker(inputs: int, seconds: int) -> Generator[None]:
    """Blocks of so many inputs, one thread as workers have, and a limit."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch, within(seconds):
        patch.setattr("headscope.runs.batches.BLOCK", inputs)
        yield
    torch.set_num_threads(before)


@contextmanager
def within(seconds: int) -> Generator[None]:
    """Fail where something hangs."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
