"""One forward pass over a batch, and the self-attention calls in it."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Container, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from headscope.attention.record import AttentionRecord, Hook
from headscope.attention.recording import recording
from headscope.core.tokens import Tokens
from headscope.errors import RefusedError
from headscope.models import Model
from headscope.models.model import expect_text_alone, uncached
from headscope.models.perceive import of_tower
from headscope.models.weights import LARGE, size_of

EVERY = 0.5
"""Seconds between two times, at least."""

_trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
_last = 0.0


def hand_back(module: nn.Module) -> None:
    """Hand back what was freed beside the weights of a large model, as glibc keeps it in pieces that fit little.

    It takes some 10 ms; nothing is done for other models, and elsewhere than under Linux with glibc.
    """
    global _last
    if _trim is not None and time.monotonic() - _last > EVERY and size_of(module) > LARGE:
        _trim(0)
        _last = time.monotonic()


def forward(model: Model, inputs: Sequence[Tokens], *, token_types: bool = True, **options: Any) -> Any:
    """Run a batch through the model's backbone, without a cache of keys and values."""
    expect_text_alone(model)
    hand_back(model.module)
    ready = {**model.inputs(inputs, token_types=token_types), **uncached(model.backbone), **options}
    return model.backbone(**ready)


def foreign(record: AttentionRecord, inputs: Sequence[Tokens]) -> bool:
    """Whether a call looks along other axes than the inputs': at an encoder, or at the picture that a text holds."""
    holds = inputs[0].ids is not None and inputs[0].boxes is not None
    return record.kind == "cross" or (holds and of_tower(record.module))


def expect_square(
    record: AttentionRecord, inputs: int, tokens: int, layers: Container[int | None] = ()
) -> None:
    """Raise `RefusedError` for attention over other axes than the tokens of a batch, and for a layer seen before."""
    items, _, queries, keys = record.shape
    if (items, queries, keys) != (inputs, tokens, tokens):
        if items == 1 < inputs:
            raise RefusedError(
                f"{record.module or 'the model'}: expected a call of attention for each of {inputs} inputs, found "
                f"several inputs in one call ({keys} positions); batch_size=1 (--batch-size 1) reads them one by one"
            )
        raise RefusedError(
            f"{record.module}: expected attention of {inputs} inputs over {tokens} tokens, found {items} from "
            f"{queries} to {keys}; layers that look at other axes cannot be measured"
        )
    if record.layer in layers:
        raise RefusedError(
            f"{record.module}: expected one self-attention a layer, found layer {record.layer} again"
        )


def self_attention(
    model: Model, inputs: Sequence[Tokens], *, token_types: bool = True, fused: bool = True
) -> list[AttentionRecord]:
    """The self-attention of one forward pass, by layer, without values.

    Raises `RefusedError` for a model without self-attention over the tokens.
    """
    records: dict[int, AttentionRecord] = {}
    longest = max(map(len, inputs))

    def keep(record: AttentionRecord) -> None:
        if not foreign(record, inputs):
            expect_square(record, len(inputs), longest, records)
            records[record.layer] = replace(record, v=None)

    with torch.no_grad(), recording(model.backbone, keep, fused=fused):
        forward(model, inputs, token_types=token_types)
    if not records:
        raise RefusedError("no self-attention was seen in the forward pass")
    return [records[layer] for layer in sorted(records)]


class RunPasses:
    """The forward passes of one run, of which only the attention is wanted.

    The first runs to its end and tells how many calls of attention a pass has; each later one ends with the last of
    them, as what a model computes after it changes no map.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._calls: int | None = None
        self._to_the_end = any(
            hasattr(part, "_hf_hook") for part in module.modules()
        )  # accelerate moves weights back

    @contextmanager
    def recording(self, hook: Hook, *, fused: bool = False) -> Generator[None]:
        """One pass, which is to be run within it without gradients; see `headscope.attention.recording.recording`."""
        seen = 0

        def call(record: AttentionRecord) -> Any:
            nonlocal seen
            seen += 1
            answer = hook(record)
            if seen == self._calls:
                raise _EnoughError
            return answer

        try:
            with torch.no_grad(), recording(self.module, call, fused=fused):
                yield
        except _EnoughError:
            return
        if not self._to_the_end:
            self._calls = seen


class _EnoughError(Exception):
    """All attention of a pass was seen."""
