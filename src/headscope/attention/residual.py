"""What each part of a model writes to the residual stream and adds to logits; other outputs of heads in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.linear import PLACED, TOKEN, HeadWriter, LinearCall
from headscope.attention.one import output_of
from headscope.attention.recording import Hooks
from headscope.attention.stream import Read, Reader
from headscope.core.arrays import Floats
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError, RefusedError
from headscope.models.model import Model, expect_exact
from headscope.models.pieces import id_of, shown_pieces
from headscope.models.weights import held, not_finite


@dataclass(frozen=True, eq=False)
class FrozenNorm:
    """A norm whose divisor stays what it is at one position: ``scale · (x − mean x, where it is centred) + bias``.

    `scale` is `gain`, its own weights, over that divisor: ``[dim]``.
    """

    scale: Tensor
    centred: bool
    bias: Tensor
    gain: Tensor

    def back(self, direction: Tensor) -> Tensor:
        """What has the same product with x as `direction` has with the norm of x, its bias aside."""
        back = direction * self.scale
        return back - back.mean(-1, keepdim=True) if self.centred else back


def frozen_norm(model: Model, module: nn.Module, entered: Tensor, left: Tensor, position: int) -> FrozenNorm:
    """A norm at one position, told by comparing what entered and left it, ``[query dim]``."""
    x, y = entered.to(model.device).double(), left.to(model.device).double()
    weight, shift = (
        value if (value := held(module, name)) is None else value.to(x.device) for name in ("weight", "bias")
    )
    bias = torch.zeros_like(x[0]) if shift is None else shift.detach().double()
    ones = torch.ones_like(x[0])
    gains = [ones] if weight is None else [weight.detach().double(), 1.0 + weight.detach().double()]
    for centred in (False, True):
        inner = x - x.mean(-1, keepdim=True) if centred else x
        for gain in gains:
            if gain.shape != ones.shape or bias.shape != ones.shape:
                continue
            plain, scaled = inner * gain, y - bias
            divisor = (plain * scaled).sum(-1, keepdim=True) / plain.square().sum(-1, keepdim=True).clamp(
                min=1e-300
            )
            error = (plain * divisor - scaled).abs().amax()
            if error <= 1e-5 * scaled.abs().amax().clamp(min=1e-30):
                return FrozenNorm(gain * divisor[position], centred, bias, gain)
    raise no_stream(model, f"a {type(module).__name__} that is no layer norm and no RMS norm")


def no_stream(model: Model, actual: str) -> RefusedError:
    """What is raised for a model whose layers do not add to one residual stream."""
    return RefusedError(
        f"{model.name}: expected layers that add to one residual stream, a final norm and an unembedding (a pre-norm "
        f"decoder), found {actual}"
    )


@dataclass(frozen=True, eq=False)
class LogitTerms:
    """The terms of one logit.

    Attributes:
        token: its id.
        softcap: c of ``c · tanh(logit / c)``, which the model takes of it; None for none.
        layers: the layers' indices.
        kinds: what else mixes tokens in each layer (``state space``); empty for nothing.
        heads: of each layer ``[head source]``, of no heads where it does not attend.
        terms: by name. Of each layer ``attention_bias``, that of W_O and of a norm after it, and ``mixer``, both NaN
            where there is none, and ``mlp``, what else it writes; ``embedding``, what enters the first layer; ``bias``
            of the final norm and of the unembedding; and the ``logit``, the model's own, before a final softcap.
    """

    token: int
    softcap: float | None
    layers: Sequence[int]
    kinds: Sequence[str]
    heads: Sequence[Floats]
    terms: AnyMapping


def written(model: Model, ready: Mapping[str, Tensor], position: int, token: int | None) -> LogitTerms:
    """The terms of a token's logit at one position of a batch of one; by default of the token with the largest.

    Raises `RefusedError` for a model whose logits are no sum over what its layers add to one residual stream.
    """
    read = followed(model, ready)
    scale, softcap = _after(
        model, read.logits[position].detach(), read.run.output.logits[0, position].detach()
    )
    scaled = read.logits[position] * scale
    if not scaled.isfinite().all():
        raise not_finite(model.name, model.module, "logits")
    number = int(scaled.argmax()) if token is None else token
    logit = scaled[number, None]
    layers = [block.layer for block in read.run.blocks[:-1]]
    none, zeros = np.full(len(layers), np.nan), np.zeros(len(layers))
    terms: AnyDict = {"attention_bias": none, "mlp": zeros, "mixer": none.copy()}
    terms |= {"embedding": np.zeros(()), "bias": np.zeros(()), "logit": float(logit.detach())}
    kinds: list[list[str]] = [[] for _ in layers]
    name = "bias"
    for writer, term in zip(read.writers, read.terms(logit), strict=True):
        if term is None:
            continue
        if writer.kind in (TOKEN, PLACED):
            name = "embedding"
        elif writer.layer < 0:
            name = "bias"
        elif writer.kind == "head":
            name = "attention_bias"
        elif writer.kind in read.run.mixers.values():
            name = "mixer"
            kinds[layers.index(writer.layer)].append(writer.kind)
        elif writer.kind != "bias":  # which is of a norm after one of these
            name = "mlp"
        at = layers.index(writer.layer) if terms[name].ndim else ()
        terms[name][at] = np.nan_to_num(terms[name][at]) + float(term[-1])
    heads = {layer: np.zeros((0, len(read.logits))) for layer in layers}
    for call, writer, (slope,) in attending(read, logit):
        weights = call.record.weights(slice(position, position + 1))[0, :, 0]
        numbers = (weights, call.record.values[0], writer.matrix, slope[position])  # of several devices
        weights, values, matrix, at = (number.detach().cpu().double() for number in numbers)
        heads[writer.layer] = (weights * torch.einsum("hkd,hde,e->hk", values, matrix, at)).numpy()
    return LogitTerms(number, softcap, layers, [" and ".join(one) for one in kinds], [*heads.values()], terms)


def effects(model: Model, ready: Mapping[str, Tensor], rows: slice, ids: Sequence[int]) -> list[Tensor]:
    """What each head adds to the logits of some tokens at some positions: of each layer ``[head row token]``.

    As the sum over sources of `Written.heads`, for a batch of one, but for a factor that a model may take of its
    logits. Raises `RefusedError` as `written` does.
    """
    read = followed(model, ready)
    numbers = read.logits[rows, list(ids)].sum(0)
    return [
        torch.einsum("thd,hde,nte->htn", writer.outputs[rows], writer.matrix, slopes[:, rows]).cpu()
        for _, writer, slopes in attending(read, numbers)
    ]


def followed(model: Model, ready: Mapping[str, Tensor]) -> Read:
    """One forward pass whose logits are followed. Raises `RefusedError` where they do not come from one stream."""
    read = Reader(model, ready).read(ready, unembeds=unembedding(model))
    if not read.logits.requires_grad:
        raise no_stream(model, "logits that no layer has a part in")
    return read


def at_the_end(read: Read) -> tuple[nn.Module, Tensor, Tensor]:
    """The final norm, and what it was given and gave ``[query stream]``. Raises `RefusedError` for another end."""
    *_, end = read.run.blocks
    module, given, gave = end.ran[0]
    _, unembedded, _ = end.ran[-1]
    if given is not end.before or unembedded.shape != gave.shape or not unembedded.equal(gave):
        raise no_stream(read.model, "something else than a norm between its last layer and its unembedding")
    return module, given[0].detach(), gave[0].detach()


def attending(read: Read, numbers: Tensor) -> list[tuple[LinearCall, HeadWriter, Tensor]]:
    """The attention calls, what the heads of each wrote, and slopes of numbers at that ``[number token stream]``."""
    writers = [writer for writer in read.writers if isinstance(writer, HeadWriter)]
    if len(writers) < len(read.calls) or not writers:
        raise no_stream(read.model, "attention whose heads' outputs enter no projection W_O as they are")
    slopes = read.slopes(numbers, [writer.leaf for writer in writers])
    return [
        (call, writer, slope.reshape(len(numbers), -1, slope.shape[-1]))
        for call, writer, slope in zip(read.calls, writers, slopes, strict=True)
        if slope is not None
    ]


def unembedding(model: Model) -> nn.Linear:
    """The linear map from the residual stream to logits. Raises `RefusedError` for what is no causal language model."""
    find: Any = getattr(model.module, "get_output_embeddings", None)
    head = None if find is None else find()
    if not model.causal or model.encoder_decoder or not isinstance(head, nn.Linear):
        raise RefusedError(
            f"{model.name}: expected a causal language model with an unembedding, found {type(model.module).__name__}"
        )
    expect_exact(model)
    return head


def rows_of(head: nn.Linear, model: Model) -> Tensor:
    """The rows of a model's unembedding ``[id stream]``, on its main device."""
    rows = held(head)
    assert rows is not None
    return rows.detach().to(model.device)


def token_id(model: Model, token: str | int) -> int:
    """The id of a token that a text, a piece of the vocabulary or an id names. Raises `InputError` for another."""
    rows = unembedding(model).out_features
    if isinstance(token, int):
        if not 0 <= token < rows:
            raise InputError(f"token: expected an id below {rows:,}, found {token}")
        return token
    if model.tokenizer is None:
        raise InputError(f"token: expected an id, as {model.name} has no tokenizer, found {token!r}")
    ids: list[int] = model.tokenizer.encode(token, add_special_tokens=False)
    if len(ids) == 1:
        return ids[0]
    number = id_of(model.tokenizer, token)
    if number is not None:
        return number
    pieces = " ".join(shown_pieces(model.tokenizer, ids)) or "none"
    raise InputError(f"token: expected a text of one token, found {token!r}, which is {len(ids)}: {pieces}")


def _after(model: Model, logits: Tensor, given: Tensor) -> tuple[float, float | None]:
    """What the model makes of the unembedding's logits: a factor, and a softcap after it."""
    before, after = logits.double(), given.to(logits.device).double()
    caps = (getattr(model.text_config, name, None) for name in ("final_logit_softcapping", "logits_soft_cap"))
    softcap = next((cap for cap in caps if cap), None)
    scale = 1.0 if softcap else float((before * after).sum() / before.square().sum().clamp(min=1e-300))
    made = softcap * torch.tanh(before / softcap) if softcap else before * scale
    if made.shape != after.shape or not torch.allclose(made, after, rtol=1e-5, atol=1e-5):
        raise no_stream(model, "something else than a factor or a softcap after its unembedding")
    return scale, softcap or None


class Put(NamedTuple):
    """What takes the place of a head's output in a row of a batch: the layer's place among those with heads, the head,
    and a number or ``[query dim]``."""

    row: int
    place: int
    head: int
    instead: Tensor | float


class Outputs:
    """Where the outputs of a model's heads enter W_O, found as the model runs and by comparing.

    Args:
        model: reads tokens and has logits.
        ready: an input to find it on.

    Attributes:
        reader: tells where the model attends.
        sites: each layer's, in order.
        layers: the model's index of each layer that has heads.
        heads: how many heads each of them has.

    Raises `RefusedError` where a layer has no W_O that its heads' outputs enter as they are, or shares it with another.
    """

    def __init__(self, model: Model, ready: Mapping[str, Tensor]) -> None:
        self.reader = Reader(model, ready)
        self.sites = sorted(self.reader.sites.values(), key=lambda site: site.layer)
        self.layers = [site.layer for site in self.sites]
        self.heads = [site.heads for site in self.sites]
        projections = {site.projection for site in self.sites if site.part == "self"} - {None}
        calls = self.reader.calls
        if not calls or len(projections) < calls or len(set(self.layers)) < calls:
            raise RefusedError(
                f"{model.name}: expected layers with an output projection W_O each, which their heads' outputs enter, "
                f"found {len(projections)} for {calls} calls of attention"
            )

    def run(
        self,
        ready: Mapping[str, Tensor],
        puts: Sequence[Put] = (),
        *,
        queries: slice = slice(None),
        held: Mapping[int, Tensor] | None = None,
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """The logits ``[batch query id]`` of one forward pass, and each layer's outputs ``[batch query head dim]``.

        Where gradients are taken, the outputs are leaves.

        Args:
            ready: what the model takes.
            puts: what takes the place of heads' outputs.
            queries: at these of their queries.
            held: of each layer what all other heads are held at, ``[batch query head dim]``; None to let them be.
        """
        given: dict[int, Tensor] = {}

        def change(place: int, z: Tensor) -> Tensor:
            if torch.is_grad_enabled() and not z.requires_grad:
                z = z.detach().requires_grad_()
            given[place] = z
            new = (z if held is None else held[place]) * 1.0
            for row, _, head, instead in (put for put in puts if put.place == place):
                new[row, queries, head] = instead
            return new

        with Hooks() as hooks:
            for place, site in enumerate(self.sites):
                site.change(hooks, len(next(iter(ready.values()))), partial(change, place))
            return output_of(self.reader.model, ready).logits, given
