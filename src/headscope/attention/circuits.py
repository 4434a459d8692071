"""What heads write and where they would look, from weights alone: the OV and QK circuits of a pre-norm decoder.

Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits". The matrices are told from the model as it
runs and by gradients, not by the names of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.norms import FrozenNorm, frozen_norm, no_stream
from headscope.attention.one import prepare, running
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import Hooks, entering, recording
from headscope.attention.residual import (
    Block,
    Call,
    StreamTerm,
    attending,
    attention_calls,
    followed,
    layer_and_attention,
    rows_of,
    unembedding,
)
from headscope.core.tokens import Tokens
from headscope.models.model import Model, uncached
from headscope.models.weights import held

PROBED = 4
"""Tokens of the input on which the structure of the model is told."""

BLOCK = 8192
"""Rows of the vocabulary at a time."""


@dataclass(frozen=True, eq=False)
class Circuit:
    """The heads of one layer, on the sampled tokens.

    Attributes:
        layer: its index.
        read: W_V behind the layer's norm ``[head value_dim stream]``: the values of a stream of unit size.
        write: W_O before the norm after attention, where there is one, ``[head value_dim stream]``.
        scores: of each query for each key ``[head query key]``, both at the same position, before a softcap.
        offsets: the scores of the mean query for the mean key so many tokens back ``[head offset]``; NaN where a
            window hides the key, and in a layer where they do not depend on the offset.
    """

    layer: int
    read: Tensor
    write: Tensor
    scores: Tensor
    offsets: Tensor


@dataclass(frozen=True, eq=False)
class Circuits:
    """The circuits of a model.

    Attributes:
        embedding: the tokens ``[token stream]``, each of unit size (and centred, where the norms centre).
        unembedding: of what is in the stream to logits, through the final norm's weights ``[token stream]``, less its
            mean over tokens, which softmax does not see.
        layers: of each layer.
    """

    embedding: Tensor
    unembedding: Tensor
    layers: Sequence[Circuit]

    def product(self) -> Tensor:
        """``Σ embedding ⊗ unembedding`` over the tokens that both have, ``[stream stream]``, in float64."""
        rows = min(len(self.embedding), len(self.unembedding))
        blocks = [slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK)]
        parts = [(self.embedding[block].T @ self.unembedding[block]).double() for block in blocks]
        return torch.stack(parts).sum(0)


def circuits(model: Model, ids: Sequence[int], offsets: int) -> Circuits:
    """The circuits of all heads.

    Args:
        model: a causal language model of one residual stream.
        ids: the tokens whose scores are taken.
        offsets: how many offsets, from 0.

    Raises `RefusedError` for a model without one residual stream, whose attention does not read it through a norm, or
    whose values are no linear map of what they read.
    """
    head = unembedding(model)
    some = np.resize(np.asarray(ids), PROBED)
    ready = prepare(model, Tokens([str(number) for number in some], ids=some))[1]
    calls = attention_calls(model, ready, slice(PROBED - 1, PROBED))
    blocks, final, _, _ = followed(model, ready, calls, head)
    blocks, written = zip(*attending(blocks), strict=True)
    reads = [_reading(model, call, block) for call, block in zip(calls, blocks, strict=True)]
    centred = reads[0].centred
    if any(read.centred != centred for read in reads):
        raise no_stream(model, "layer norms in some layers and RMS norms in others")
    table = _embedding(model, len(final[1][0]), centred)
    with torch.no_grad():
        norm = frozen_norm(model, *final, -1)
        rows = rows_of(head, model)
        rows = rows * norm.gain.to(rows)
        rows = rows - rows.mean(0)
        logits = rows - rows.mean(-1, keepdim=True) if norm.centred else rows
    tokens = table[torch.as_tensor(np.array(ids), device=table.device)]
    runs = _Runs(model, calls)
    linear = runs.values([block.given for block in blocks])
    given = [tokens * read.gain.to(tokens) + read.bias.to(tokens) for read in reads]
    single = runs.of([inputs[:, None] for inputs in given])
    means = [inputs.mean(0).expand(1, offsets, -1) for inputs in given]
    along = runs.of(means)
    layers: list[Circuit] = []
    for place, call in enumerate(calls):
        matrix = linear[place] * reads[place].gain.to(table)
        if centred:
            matrix = matrix - matrix.mean(-1, keepdim=True)
        count, _, size = call.values.shape
        write = _written(model, call, written[place])
        one, many = single[place], along[place]
        scores = torch.einsum("qhd,khd->hqk", one.q[:, :, 0], one.keys[:, :, 0]) * one.scaling
        layers.append(
            Circuit(call.layer, matrix, write.reshape(count, size, -1).to(table), scores, _by_offset(many))
        )
    return Circuits(table, logits, layers)


class _Runs:
    """Runs of a model whose attention modules are given something else than what the layers hold."""

    def __init__(self, model: Model, calls: Sequence[Call]) -> None:
        self._model = model
        self._calls = calls
        module: Any = model.module
        parts: dict[str, nn.Module] = dict(module.named_modules())
        self._modules = [parts[layer_and_attention(model, call.module)[1]] for call in calls]

    @contextmanager
    def _giving(self, given: Sequence[Tensor]) -> Generator[None]:
        def replacing(instead: Tensor) -> Callable[..., Any]:
            def replace(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
                return entering(instead * 1.0, args, kwargs)

            return replace

        with Hooks() as hooks:
            for module, inputs in zip(self._modules, given, strict=True):
                hooks.before(module, replacing(inputs))
            yield

    def _records(self, given: Sequence[Tensor]) -> list[AttentionRecord]:
        module, records = self._model.module, list[AttentionRecord]()
        ids = torch.zeros(given[0].shape[:2], dtype=torch.long, device=given[0].device)
        ready = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        with self._giving(given), recording(module, records.append, fused=True), running(self._model, ready):
            module(**ready, **uncached(module))
        return sorted(records, key=lambda record: record.layer)

    def of(self, given: Sequence[Tensor]) -> list[AttentionRecord]:
        """The attention calls with other inputs ``[batch token stream]``, by layer."""
        with torch.no_grad():
            return self._records(given)

    def values(self, given: Sequence[Tensor | None]) -> list[Tensor]:
        """W_V of the heads of each layer, ``[head value_dim stream]``: the gradients of the values."""
        leaves = [
            tensor.to(self._model.device).clone().requires_grad_() for tensor in given if tensor is not None
        ]
        with torch.enable_grad():
            records = self._records(leaves)
        matrices: list[Tensor] = []
        for record, leaf in zip(records, leaves, strict=True):
            heads, size = record.q.shape[1], record.values.shape[-1]
            assert record.v is not None
            values = record.v[0].transpose(0, 1).flatten(1)  # [token, key_head · value_dim]
            if not values.requires_grad:
                raise no_stream(self._model, f"a {record.module} whose values do not come from its input")
            ways = torch.eye(values.shape[1], dtype=values.dtype, device=values.device)
            (every,) = torch.autograd.grad(
                values[-1], leaf, ways, is_grads_batched=True, allow_unused=True, materialize_grads=True
            )
            matrix = every[:, 0, -1]
            values, inputs = values.detach(), leaf.detach()[0]
            rest = values - inputs @ matrix.T
            if every[:, 0, :-1].any() or not torch.allclose(
                rest, rest[-1:].expand_as(rest), rtol=0, atol=1e-4 * max(1.0, float(values.abs().max()))
            ):
                raise no_stream(self._model, f"a {record.module} whose values are no linear map of its input")
            matrix = matrix.reshape(-1, size, matrix.shape[-1])
            matrices.append(matrix.repeat_interleave(heads // len(matrix), 0))
        return matrices


def _reading(model: Model, call: Call, block: Block) -> FrozenNorm:
    """The norm through which attention reads the stream."""
    given = block.given
    for module, entered, left in block.read:
        if given is None or left.shape != given.shape or not entered.equal(block.before.to(entered.device)):
            continue
        factor = 1.0
        if not left.equal(given):  # a constant may stand between
            factor = float((left * given).sum() / left.square().sum())
        if torch.allclose(factor * left, given, rtol=1e-4, atol=1e-6):
            norm = frozen_norm(model, module, entered[0], left[0], -1)
            scale, bias, gain = (factor * x for x in (norm.scale, norm.bias, norm.gain))
            return FrozenNorm(scale, norm.centred, bias, gain)
    raise no_stream(model, f"no norm between the stream and {call.module}")


def _written(model: Model, call: Call, attention: StreamTerm) -> Tensor:
    """W_O ``[head · value_dim, stream]`` through the weights of the norms after attention."""
    matrix = call.matrix.double()
    for recorded in attention.norms:
        norm = frozen_norm(model, *recorded, -1)
        if norm.centred:
            matrix = matrix - matrix.mean(-1, keepdim=True)
        matrix = matrix * norm.gain
    return matrix * np.sign(attention.factor)


def _embedding(model: Model, size: int, centred: bool) -> Tensor:
    """The rows of the embedding, each of unit size; rows of zeros stay so."""
    find: Any = model.module.get_input_embeddings
    table = held(find())
    if table is None:
        raise no_stream(model, "no table of embeddings")
    table = table.detach().to(model.device)
    if table.shape[-1] != size:
        raise no_stream(model, f"an embedding of {table.shape[-1]} numbers and a stream of {size}")
    if centred:
        table = table - table.mean(-1, keepdim=True)
    root = table.square().mean(-1, keepdim=True).sqrt()
    return table / torch.where(root > 0, root, 1.0)


def _by_offset(record: AttentionRecord) -> Tensor:
    """The last query's scores for keys of the same token, nearest first, ``[head offset]``."""
    last = record.shape[2] - 1
    scores = torch.einsum("hd,hkd->hk", record.q[0, :, last], record.keys[0]) * record.scaling
    if record.bias is not None:
        scores = scores + record.bias.expand(record.shape)[0, :, last]
    seen = record.visible()
    hidden = torch.zeros_like(scores, dtype=torch.bool)
    if seen is not None:
        hidden = ~seen.expand(record.shape)[0, :, last]
    spread = scores.amax(-1) - scores.amin(-1)
    flat = spread <= 1e-4 * scores.abs().amax(-1).clamp(min=1e-30)
    return scores.masked_fill(hidden | flat[:, None], torch.nan).flip(-1)
