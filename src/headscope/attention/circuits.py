"""What heads write and where they would look, from weights alone: the OV and QK circuits of a pre-norm decoder.

Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits". The matrices are told from the model as it
runs and by gradients, not by the names of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.attention.linear import HeadWriter, LinearCall, StreamLayer
from headscope.attention.one import output_of, prepare
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import Hooks, entered
from headscope.attention.residual import (
    FrozenNorm,
    at_the_end,
    attending,
    followed,
    frozen_norm,
    no_stream,
    rows_of,
    unembedding,
)
from headscope.attention.stream import Read
from headscope.core.tokens import Tokens
from headscope.models.model import Model
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
    read = followed(model, ready)
    heads = attending(read, read.logits[-1, :1])
    blocks = {block.layer: block for block in read.run.blocks}
    reads = [_reading(model, call, blocks[writer.layer]) for call, writer, _ in heads]
    centred = reads[0].centred
    if any(norm.centred != centred for norm in reads):
        raise no_stream(model, "layer norms in some layers and RMS norms in others")
    norm = frozen_norm(model, *at_the_end(read), -1)
    table = _embedding(model, len(norm.bias), centred)
    rows = rows_of(head, model)
    direction = norm.back(rows[0].double())
    with torch.no_grad():
        rows = rows * norm.gain.to(rows)
        rows = rows - rows.mean(0)
        logits = rows - rows.mean(-1, keepdim=True) if norm.centred else rows
    tokens = table[torch.as_tensor(np.array(ids), device=table.device)]
    calls = [call for call, _, _ in heads]
    given = [tokens * norm.gain.to(tokens) + norm.bias.to(tokens) for norm in reads]
    single = _records(model, calls, [inputs[:, None] for inputs in given])
    along = _records(model, calls, [inputs.mean(0).expand(1, offsets, -1) for inputs in given])
    layers: list[Circuit] = []
    for place, (call, writer, slopes) in enumerate(heads):
        matrix = _values(read, call).to(table) * reads[place].gain.to(table)
        if centred:
            matrix = matrix - matrix.mean(-1, keepdim=True)
        write = _written(model, call, writer, blocks[writer.layer], direction, slopes[0, -1].to(direction))
        one = single[place]
        scores = torch.einsum("qhd,khd->hqk", one.q[:, :, 0], one.keys[:, :, 0]) * one.scaling
        layers.append(Circuit(writer.layer, matrix, write.to(table), scores, _by_offset(along[place])))
    return Circuits(table, logits, layers)


def _records(model: Model, calls: Sequence[LinearCall], given: Sequence[Tensor]) -> list[AttentionRecord]:
    """The attention calls where each is given something else than its layer holds ``[batch token stream]``."""
    records: list[AttentionRecord] = []
    ids = torch.zeros(given[0].shape[:2], dtype=torch.long, device=given[0].device)
    ready = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad(), Hooks() as hooks:
        for call, inputs in zip(calls, given, strict=True):
            hooks.on_entry(call.attention, lambda _, inputs=inputs: inputs)
        output_of(model, ready, records.append)
    return sorted(records, key=lambda record: record.layer)


def _values(read: Read, call: LinearCall) -> Tensor:
    """W_V of the heads of a layer ``[head value_dim stream]``."""
    record = call.record
    assert record.v is not None
    numbers = record.v[0, :, -1].flatten()
    slope = read.slopes(numbers, [entered(call.args, call.kwargs)])[0] if numbers.requires_grad else None
    if slope is None:
        raise no_stream(read.model, f"a {record.module} whose values are no linear map of its input")
    return slope[:, 0, -1].reshape(*record.v.shape[1::2], -1).repeat_interleave(record.groups, 0)


def _reading(model: Model, call: LinearCall, block: StreamLayer) -> FrozenNorm:
    """The norm through which attention reads the stream."""
    given = entered(call.args, call.kwargs).detach()
    for module, stream, left in block.ran:
        if left.shape != given.shape or not stream.equal(block.before.to(stream.device)):
            continue
        factor = 1.0
        if not left.equal(given):  # a constant may stand between
            factor = float(((left * given).sum() / left.square().sum()).detach())
        if torch.allclose(factor * left, given, rtol=1e-4, atol=1e-6):
            norm = frozen_norm(model, module, stream[0].detach(), left[0].detach(), -1)
            scale, bias, gain = (factor * x for x in (norm.scale, norm.bias, norm.gain))
            return FrozenNorm(scale, norm.centred, bias, gain)
    raise no_stream(model, f"no norm between the stream and {call.record.module}")


def _written(
    model: Model, call: LinearCall, writer: HeadWriter, block: StreamLayer, direction: Tensor, slope: Tensor
) -> Tensor:
    """W_O ``[head value_dim stream]`` through the weights of the norms after attention.

    Args:
        direction: of a logit, in the stream behind the last layer.
        slope: of that logit, at what the heads wrote.
    """
    given, norms = None, list[FrozenNorm]()
    for module, stream, left in block.ran:
        if stream is given:
            norms.append(frozen_norm(model, module, stream[0].detach(), left[0].detach(), -1))
            given = left
        elif call.attention in {*module.modules()}:
            given = left
    matrix = writer.matrix.to(direction)
    for norm in norms:
        if norm.centred:
            matrix = matrix - matrix.mean(-1, keepdim=True)
        matrix = matrix * norm.gain.to(matrix)
    for norm in reversed(norms):
        direction = norm.back(direction)
    factor = float(slope.double() @ direction / direction.square().sum())
    if not torch.allclose(factor * direction, slope.double(), rtol=1e-4, atol=1e-5):
        raise no_stream(model, f"a layer {block.layer} that does not itself add its attention to its input")
    return matrix * np.sign(factor)


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
    hidden = ~record.sight().expand(record.shape)[0, :, last]
    spread = scores.amax(-1) - scores.amin(-1)
    flat = spread <= 1e-4 * scores.abs().amax(-1).clamp(min=1e-30)
    return scores.masked_fill(hidden | flat[:, None], torch.nan).flip(-1)
