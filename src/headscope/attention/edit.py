"""Run a model with some of its attention changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from headscope.attention.record import AttentionRecord, Hook, shaped
from headscope.attention.recording import edits, recording
from headscope.attention.whatif import WhatIf
from headscope.core.failures import CALLERS, expect_call
from headscope.core.heads import AnyHead, Head
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.models.model import Model


@validated
@contextmanager
def edit(model: Model, *changes: Hook | WhatIf | str) -> Generator[None]:
    """Within it the model runs with changed attention weights.

    Captures, gradients and `generate` within it see the changed weights. Other threads and tasks do not, save tasks
    that are started within it (`asyncio.to_thread` too); for them the model runs as it was found, and so it does for
    the caller of a generator that stands at a yield within it (but not of one that ``contextlib.contextmanager`` or
    ``pytest.fixture`` makes a context of, nor of an asynchronous one).

    Args:
        model: from `headscope.load`.
        changes: one or more; each sees what those before it left. A `WhatIf` or its text, such as ``"L4H2 off"`` or
            ``"all hide >0"``; or a function that gets each `AttentionRecord` and returns new weights
            ``[batch head query key]``, or None to leave them.

    Raises `InputError` for a change that is none, for weights that do not fit or are not finite, and at the end where a
    `WhatIf` met no such head or token.

    >>> with hs.edit(model, "L0H2 uniform", "all hide >0"):
    ...     weights = hs.capture(model, "The cat sat.")["L0H2"]
    >>> float(weights[1, 0]), float(weights[1, 1]) == float(weights[1, 2])
    (0.0, True)

    >>> def first_layer_looks_at_nothing(record):
    ...     return record.weights() * 0 if record.layer == 0 else None
    >>> with hs.edit(model, first_layer_looks_at_nothing):
    ...     float(hs.capture(model, "The cat sat.")["L0H2"].max())
    0.0
    """
    if not changes:
        raise InputError("changes: expected at least one, such as 'L4H2 off', found none")
    made = [WhatIf.parse(change) if isinstance(change, str) else change for change in changes]
    for change in made:
        expect_call("change", change, "an AttentionRecord")
    met: set[int] = set()

    def asked(change: Hook, record: AttentionRecord) -> Tensor | None:
        try:
            new: Any = change(record)
        except Exception as error:
            if not isinstance(change, WhatIf):
                vars(error)[CALLERS] = True
            raise
        if new is None:
            return None
        if not isinstance(new, Tensor) or not new.is_floating_point():
            given = new.dtype if isinstance(new, Tensor) else type(new).__name__
            raise InputError(
                f"change: expected a tensor of floats [batch head query key] or None, found {given}"
            )
        if not new.isfinite().all():
            raise InputError("change: expected finite weights, found NaN or infinity")
        return shaped(new, record)

    def changed(record: AttentionRecord) -> Tensor | None:
        left = None
        for place, change in enumerate(made):
            if (new := asked(change, record)) is not None:
                met.add(place)
                left, record = new, dataclasses.replace(record, given=new, followed=False)
        return left

    with edits.entered(changed), recording(model.module, changed):
        yield
    missed = [
        str(change) for place, change in enumerate(made) if isinstance(change, WhatIf) and place not in met
    ]
    if missed:
        raise InputError(
            f"{', '.join(missed)}: this model has no such head, its input no such token, or it did not run"
        )


@validated
@contextmanager
def ablate(model: Model, *heads: AnyHead, part: str | None = None) -> Generator[None]:
    """Within it some heads give nothing: their weights are 0. Who sees it: as in `edit`.

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
    named = [*map(Head.of, heads)]
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
