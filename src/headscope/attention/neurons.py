"""Queries, keys and values behind the maps of one input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.module_inputs import say_packed
from headscope.attention.one import (
    Captured,
    GivenInput,
    Text,
    assembled,
    expect_one_row,
    output_of,
    prepare,
    running,
)
from headscope.attention.parts import Parts, group, numpy_of, sides
from headscope.attention.record import AttentionRecord, shown_by
from headscope.attention.recording import Hooks, recording
from headscope.attention.vision import eyes
from headscope.attention.windows import Placed, placed
from headscope.core.arrays import AnyFloats, Bools
from headscope.core.failures import warn
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping
from headscope.core.validation import validated
from headscope.errors import InputError, RefusedError
from headscope.models.model import Model, expect_attention
from headscope.models.weights import held, not_finite

WINDOWED = 1024
"""Of how many positions queries and keys are kept where a layer attends in windows and adds a bias to each pair."""


@validated
def norms(
    model: Model,
    text: Text | None = None,
    *,
    pair: str | None = None,
    target: str | None = None,
    inputs: AnyMapping | None = None,
) -> dict[str, list[AnyFloats]]:
    """``‖α · v · W_O‖``: how much of each key's value every head gives to each query.

    Source: Kobayashi et al. 2020, "Attention is Not Only a Weight", section 3. A key with a large weight and a small
    value contributes little.

    Args:
        model, text, pair, target, inputs: as in `headscope.capture`; one row.

    Returns:
        For each part (``self``, or ``encoder``, ``decoder``, ``cross``) one array ``[head query key]`` a layer, in the
        units of the model's hidden states.

    Raises:
        InputError: the input does not go with the model, or no projection W_O is found when it runs.

    >>> found = norms(headscope.load(), "The cat sat.")
    >>> len(found["self"]), found["self"][0].shape
    (6, (12, 6, 6))
    """
    _, given = capture_with_neurons(model, text, pair=pair, target=target, inputs=inputs, values=True)
    parts = {part: list(vectors.norms) for part, vectors in given.items() if vectors.norms is not None}
    if not parts:
        raise InputError(f"{model.name}: its output projection cannot be told, so there are no norms")
    if not all(np.isfinite(norm).all() for norms in parts.values() for norm in norms):
        raise not_finite(model.name, model.module, "norms")
    return parts


def capture_with_neurons(
    model: Model, text: Text | None = None, *, values: bool = False, **given: Unpack[GivenInput]
) -> tuple[Captured, dict[str, Neurons]]:
    """The maps of one input, and by part (``self``, or ``encoder``, ``decoder``, ``cross``) what softmax was taken of.

    Args:
        model, text, given: as in `headscope.capture`; one row.
        values: also the value vectors, and the norms ``‖α · v · W_O‖`` of what each key contributes to each
            query (Kobayashi et al. 2020, section 3). W_O is the projection that the heads' output enters; it
            is found by comparing, so the norms are None for a model where something stands between the two.

    Raises:
        InputError: the input does not go with the model, or has several rows.
    """
    if text is None and given.get("image") is not None:
        model = eyes(model)
    axes, ready = prepare(model, text, **given)
    expect_one_row(ready, "neurons are", axes)
    seen = watch(model, axes, ready, values=values)
    return seen.captured, seen.neurons


class NeuronPass(NamedTuple):
    """What one forward pass of one input shows."""

    captured: Captured
    neurons: dict[str, Neurons]
    output: Any
    """What the module returned."""


def watch(
    model: Model,
    axes: Mapping[str, Tokens],
    ready: Mapping[str, Tensor],
    *,
    values: bool = False,
    on_call: Callable[[], None] = lambda: None,
) -> NeuronPass:
    """The maps, the neurons and the output of one forward pass.

    Args:
        model: from `headscope.load`.
        axes, ready: one input, as `headscope.attention.one.prepare` gives it.
        values: as in `capture_with_neurons`.
        on_call: called at every attention call; what it raises ends the pass.
    """
    expect_attention(model)
    projections = Projections(model.module)
    records = projections.records

    def keep(record: AttentionRecord) -> None:
        on_call()
        (projections.expect if values else records.append)(record)

    watching = projections.watching() if values else nullcontext()
    with torch.no_grad(), watching, recording(model.module, keep), running(model, ready):
        output = model.module(**ready)
    say_packed(model, ready, records)
    joined = placed(model.module, records, ready, 1, axes)
    captured = assembled(model, joined, 0, ready, axes)
    parts: dict[str, Neurons] = {}
    for name, calls in group(joined).items():
        if isinstance(captured, Parts) and name not in captured:
            continue
        if isinstance(calls[0], Placed) and calls[0].shape[2] > WINDOWED:
            warn(
                f"{name}: queries and keys of {calls[0].shape[2]:,} positions in windows are left out, at most "
                f"{WINDOWED:,} are kept"
            )
            continue
        (_, keep_query), (_, keep_key) = sides(model, name, calls, 0, ready, axes)
        parts[name] = _neurons(calls, keep_query, keep_key, projections if values else None)
    return NeuronPass(captured, parts, output)


def _neurons(
    records: Sequence[AttentionRecord],
    query: Bools | slice,
    key: Bools | slice,
    projections: Projections | None,
) -> Neurons:
    values = norms = None
    if projections is not None and all(record.v is not None for record in records):
        values = [numpy_of(record.v[0])[:, key] for record in records if record.v is not None]
        sizes = [projections.norms(record) for record in records]
        norms = [numpy_of(size[0])[:, query][:, :, key] for size in sizes if size is not None]
    return Neurons(
        q=[numpy_of(record.q[0])[:, query] for record in records],
        k=[numpy_of(record.k[0])[:, key] for record in records],
        scaling=[record.scaling for record in records],
        bias=[_bias(record, query, key) for record in records],
        softcap=[record.softcap for record in records],
        sinks=[None if record.sinks is None else numpy_of(record.sinks.reshape(-1)) for record in records],
        v=values,
        norms=norms if norms is not None and len(norms) == len(records) else None,
    )


def _bias(record: AttentionRecord, query: Bools | slice, key: Bools | slice) -> AnyFloats | None:
    """What is added to the scores of the keys that are seen: a bias, and what a mask holds besides hiding."""
    terms = [added(call) for call in record.called]
    if all(term is None for term in terms):
        return None
    bias = record.joined(
        [
            call.q.new_zeros(call.shape) if term is None else term.expand(call.shape)
            for term, call in zip(terms, record.called, strict=True)
        ]
    )
    return numpy_of(bias[0])[:, query][:, :, key]


def added(record: AttentionRecord) -> Tensor | None:
    """What one call adds to its scores; None for nothing."""
    total = record.bias
    if total is not None and total.dtype.itemsize < 4:
        total = total.float()
    mask = record.mask
    if mask is not None and mask.dtype != torch.bool:
        shift = mask.float().masked_fill(~shown_by(mask), 0.0)
        if shift.any():
            if record.softcap is not None:
                raise RefusedError(
                    f"{record.module}: a mask that shifts scores after a softcap cannot be shown"
                )
            total = shift if total is None else total + shift
    return None if total is None or not total.any() else total


class Projections:
    """The output projection of each attention call: the first linear map given what the heads gave.

    Attributes:
        records: the calls so far, in their order.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.records: list[AttentionRecord] = []
        self._now: tuple[AttentionRecord, Tensor] | None = None  # a call whose projection is to come
        self._modules: dict[int, nn.Module] = {}

    def watching(self) -> Hooks:
        """Within it every linear map of the model is looked at when it runs."""
        hooks = Hooks()
        for module in filter(_is_linear, self._model.modules()):
            hooks.before(module, self._met)
        return hooks

    def expect(self, record: AttentionRecord) -> None:
        """Say that an attention call has happened."""
        self.records.append(record)
        self._now = None
        if record.v is not None:
            context = record.weights().to(record.v.dtype) @ record.values
            self._now = record, context.transpose(1, 2).flatten(2)

    def norms(self, record: AttentionRecord) -> Tensor | None:
        """``‖α · v · W_O‖``, ``[batch head query key]``; None where W_O was not found."""
        if isinstance(record, Placed):
            sizes = [size for call in record.called if (size := self.norms(call)) is not None]
            return record.joined(sizes) if len(sizes) == len(record.called) else None
        module = self.module(record)
        matrix = None if module is None else matrix_of(module)
        if matrix is None:
            return None
        values = record.values.float()
        _, heads, _, size = values.shape
        matrix = matrix.to(values).reshape(heads, size, -1)
        sent = torch.einsum("bhkd,hdo->bhko", values, matrix)
        return record.weights().float() * sent.square().sum(-1).sqrt()[:, :, None, :]

    def module(self, record: AttentionRecord) -> nn.Module | None:
        """The module that holds W_O; None where it was not found."""
        return self._modules.get(id(record.called[0]))

    def forget(self) -> None:
        """Let go of the calls so far."""
        self._now = None
        self.records.clear()
        self._modules.clear()

    def _met(self, module: nn.Module, args: tuple[Any, ...], _: Any) -> None:
        if self._now is None or not args or not isinstance(args[0], Tensor):
            return
        record, context = self._now
        given = args[0].to(context.device)
        if given.shape[-1] == context.shape[-1] and given.numel() == context.numel():
            error = (given.reshape(context.shape).float() - context.float()).abs().max()
            tolerance = 1e-4 if context.dtype.itemsize >= 4 else 5e-2
            if error <= tolerance * max(1.0, context.float().abs().max().item()):
                matrix = matrix_of(module)
                if matrix is not None and matrix.shape[0] == context.shape[-1]:
                    self._modules[id(record)], self._now = module, None


def projected(model: Model, ready: Mapping[str, Tensor]) -> Projections:
    """The attention calls of one forward pass without gradients, and the projection W_O of each."""
    projections = Projections(model.module)
    with torch.no_grad(), projections.watching():
        output_of(model, ready, projections.expect)
    return projections


def _is_linear(module: nn.Module) -> bool:
    """Whether a module is a linear map: a Linear, or GPT-2's Conv1D."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def matrix_of(module: nn.Module) -> Tensor | None:
    """The weight ``[in out]`` of a linear map; None for another module."""
    weight = held(module) if _is_linear(module) else None
    if weight is None or weight.ndim != 2:
        return None
    return weight.T if isinstance(module, nn.Linear) else weight
