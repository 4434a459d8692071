"""Run a model with some of its attention changed."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from headscope.attention.record import AttentionRecord, Hook
from headscope.attention.recording import edits, recording
from headscope.doors import validated
from headscope.errors import InputError
from headscope.failures import CALLERS, expect_call
from headscope.heads import AnyHead, Head
from headscope.models.model import Model, expect_model


@validated
@contextmanager
def edit(model: Model, change: Hook) -> Generator[None]:
    """Within it the model runs with the attention weights that `change` returns.

    `change` gets each `AttentionRecord` and returns new weights ``[batch head query key]``, or None to leave them.
    Captures, gradients and `generate` within it see the changed weights. Other threads and tasks do not, save tasks
    that are started within it (`asyncio.to_thread` too); for them the model runs as it was found.

    >>> def first_layer_looks_at_nothing(record):
    ...     return record.weights() * 0 if record.layer == 0 else None
    >>> with hs.edit(model, first_layer_looks_at_nothing):
    ...     float(hs.capture(model, "The cat sat.")["L0H2"].max())
    0.0
    """
    expect_model(model)
    expect_call("change", change, "an AttentionRecord")

    def checked(record: AttentionRecord) -> Tensor | None:
        try:
            new: Any = change(record)
        except Exception as error:
            vars(error)[CALLERS] = True
            raise
        if new is None:
            return None
        if not isinstance(new, Tensor) or not new.is_floating_point():
            found = new.dtype if isinstance(new, Tensor) else type(new).__name__
            raise InputError(
                f"change: expected a tensor of floats [batch head query key] or None, found {found}"
            )
        if not new.isfinite().all():
            raise InputError("change: expected finite weights, found NaN or infinity")
        return new

    with edits.entered(checked), recording(model.module, checked):
        yield


@validated
@contextmanager
def ablate(model: Model, *heads: AnyHead, part: str | None = None) -> Generator[None]:
    """Within it some heads give nothing: their weights are 0.

    Args:
        model: from `headscope.load`.
        heads: one or more heads, such as ``Head(4, 2)`` or ``"L4H2"``.
        part: ``self``, ``encoder`` or ``cross`` in a model that has several.

    Raises `InputError` for what is no head's name, and at the end when a head was not met.

    >>> with hs.ablate(model, "L0H2"):
    ...     float(hs.capture(model, "The cat sat.")["L0H2"].max())
    0.0
    """
    if not heads:
        raise InputError("heads: expected at least one, such as 'L4H2', found none")
    named = [Head.parse(head) if isinstance(head, str) else Head(*head) for head in heads]
    with replace(model, dict.fromkeys(named, 0.0), part=part):
        yield


@contextmanager
def replace(model: Model, maps: Mapping[Head, Any], *, part: str | None = None) -> Generator[None]:
    """Within it some heads use other maps: a number, or an array that fits ``[query key]``.

    What a query cannot see stays 0, whatever the map says; `edit` can put weights there.

    Raises `InputError` at the end when a head was not met, and at the call when a map does not fit.
    """
    met: set[Head] = set()

    def change(record: AttentionRecord) -> Tensor | None:
        here = [head for head in maps if head[0] == record.layer and (part is None or record.kind == part)]
        if not here:
            return None
        weights = record.weights().clone()
        seen = record.visible()
        for head in here:
            if not 0 <= head[1] < weights.shape[1]:
                raise InputError(
                    f"axis head: no head {head[1]} in layer {head[0]}; it has {weights.shape[1]}"
                )
            new = torch.as_tensor(maps[head], dtype=weights.dtype, device=weights.device)
            try:
                weights[:, head[1]] = new.expand_as(weights[:, head[1]])
            except RuntimeError:
                raise InputError(
                    f"{Head(*head)}: expected a map [query key] {tuple(weights.shape[2:])}, found {tuple(new.shape)}"
                ) from None
            met.add(head)
        return weights if seen is None else weights.masked_fill(~seen, 0.0)

    with edit(model, change):
        yield
    if missed := [str(Head(*head)) for head in maps if head not in met]:
        raise InputError(f"{', '.join(missed)}: this model has no such head, or it did not run")
