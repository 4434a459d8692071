"""The residual stream of one input: what each part of a model writes to it, and what that adds to one logit.

Nothing here knows a family by name. What a layer adds to the stream, and that it passes on the rest as it is, is told
from gradients and by comparing as the model runs; a model that does otherwise is refused.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn

from headscope.attention.neurons import projected
from headscope.attention.one import running
from headscope.attention.recording import evaluating
from headscope.errors import InputError, RefusedError
from headscope.models.finite import not_finite
from headscope.models.model import Model, expect_exact, uncached
from headscope.models.pieces import id_of, shown_pieces
from headscope.models.weights import held

CLOSE = 1e-4
"""How far a sum may be from the model's own number, as a share of its largest term (or of 1)."""


@dataclass(frozen=True, eq=False)
class Written:
    """The terms of one logit, in float64.

    Attributes:
        logit: the model's own, before a final softcap.
        token: its id.
        heads: of each layer ``[head source]``.
        biases: of each layer's attention: that of W_O, and of a norm after it.
        rest: what else each layer writes: the MLP.
        embedding: what enters the first layer, positions among it.
        bias: of the final norm and of the unembedding.
        layers: the layers' indices.
        softcap: c of ``c · tanh(logit / c)``, which the model takes of it; None for none.
    """

    logit: float
    token: int
    heads: Sequence[Tensor]
    biases: Sequence[float]
    rest: Sequence[float]
    embedding: float
    bias: float
    layers: Sequence[int]
    softcap: float | None


@dataclass(frozen=True, eq=False)
class Call:
    """One attention call: the weights of some queries ``[head query key]``, the values ``[head key dim]``, W_O and its
    bias."""

    layer: int
    module: str
    weights: Tensor
    values: Tensor
    matrix: Tensor
    bias: Tensor | None


@dataclass(frozen=True, eq=False)
class FrozenNorm:
    """A norm whose divisor stays what it is at one position: ``scale · (x − mean x, where it is centred) + bias``.

    `scale` is `gain`, its own weights, over that divisor: ``[dim]``, or ``[query dim]`` for some positions.
    """

    scale: Tensor
    centred: bool
    bias: Tensor
    gain: Tensor

    def back(self, direction: Tensor) -> Tensor:
        """What has the same product with x as `direction` has with the norm of x, its bias aside."""
        return self._less_mean(direction * self.scale)

    def along(self, direction: Tensor) -> Tensor:
        """`back`, but for the divisor: the same way at every position."""
        return self._less_mean(direction * self.gain)

    def through(self, part: Tensor) -> Tensor:
        """What a part of x ``[... dim]`` is behind the norm."""
        return self._less_mean(part) * self.scale

    def _less_mean(self, x: Tensor) -> Tensor:
        return x - x.mean(-1, keepdim=True) if self.centred else x


@dataclass(eq=False)
class Block:
    """One layer as it ran: the stream before and after it, what attention was given, and what it wrote.

    `read` are the layer's other modules that ran before attention and `norms` those that ran on what it wrote, each
    with what it was given and what it gave.
    """

    before: Tensor
    read: list[tuple[nn.Module, Tensor, Tensor]] = field(default_factory=list[Any])
    given: Tensor | None = None
    written: Tensor | None = None
    norms: list[tuple[nn.Module, Tensor, Tensor]] = field(default_factory=list[Any])
    after: Tensor | None = None
    factor: float = 1.0


def written(model: Model, ready: Mapping[str, Tensor], position: int, token: int | None) -> Written:
    """The terms of a token's logit at one position of a batch of one; by default of the token with the largest.

    Raises `RefusedError` for a model whose layers do not add to one residual stream that ends in a norm and the
    unembedding, or whose terms do not add up to its logit.
    """
    head = unembedding(model)
    calls = attention_calls(model, ready, slice(position, position + 1))
    blocks, final, logits, given = followed(model, ready, calls, head)
    scale, softcap = _after(model, logits[position], given[position])
    scaled = logits[position].double() * scale
    if not scaled.isfinite().all():
        raise not_finite(model.name, model.module, "logits")
    number = int(scaled.argmax()) if token is None else token
    norm = frozen_norm(model, *final, position)
    row = rows_of(head, model)[number].double() * scale
    bias = row @ norm.bias
    shift = held(head, "bias")
    if shift is not None:
        bias = bias + shift.detach()[number].to(row) * scale
    direction = norm.back(row)
    heads: list[Tensor] = []
    biases: list[float] = []
    rest: list[float] = []
    for call, block in zip(calls, blocks, strict=True):
        assert block.after is not None
        assert block.written is not None
        before, after, wrote = (
            state[0, position].to(row) for state in (block.before, block.after, block.written)
        )
        rest.append(float(direction @ (after - before - wrote * block.factor)))
        inner, constant = direction * block.factor, torch.zeros((), dtype=torch.float64, device=row.device)
        for recorded in reversed(block.norms):
            frozen = frozen_norm(model, *recorded, position)
            constant = constant + inner @ frozen.bias
            inner = frozen.back(inner)
        if call.bias is not None:
            constant = constant + inner @ call.bias.double()
        count, _, size = call.values.shape
        sent = call.matrix.double().reshape(count, size, -1) @ inner
        heads.append(call.weights[:, 0].double() * torch.einsum("hkd,hd->hk", call.values.double(), sent))
        biases.append(float(constant))
    embedding = float(direction @ blocks[0].before[0, position].double())
    terms = [
        embedding,
        float(bias),
        *biases,
        *rest,
        *(float(value) for layer in heads for value in layer.sum(-1)),
    ]
    logit = float(scaled[number])
    if abs(sum(terms) - logit) > CLOSE * max(1.0, *map(abs, terms)):
        raise RefusedError(
            f"{model.name}: expected contributions that add up to the logit {logit:.5g}, found {sum(terms):.5g}"
        )
    layers = [call.layer for call in calls]
    return Written(
        logit, number, [layer.cpu() for layer in heads], biases, rest, embedding, float(bias), layers, softcap
    )


def effects(model: Model, ready: Mapping[str, Tensor], rows: slice, ids: Sequence[int]) -> list[Tensor]:
    """What each head adds to the logits of some tokens at some positions: of each layer ``[head row token]``.

    As the sum over sources of `Written.heads`, for a batch of one, but for a factor that a model may take of its
    logits. Raises `RefusedError` as `written` does.
    """
    head = unembedding(model)
    calls = attention_calls(model, ready, rows)
    blocks, final, _, _ = followed(model, ready, calls, head)
    last = frozen_norm(model, *final, rows)
    tokens = rows_of(head, model)[list(ids)].double()
    added: list[Tensor] = []
    for call, block in zip(calls, blocks, strict=True):
        count, _, size = call.values.shape
        mixed = call.weights.double() @ call.values.double()
        part = (mixed @ call.matrix.double().reshape(count, size, -1)) * block.factor
        for recorded in block.norms:
            part = frozen_norm(model, *recorded, rows).through(part)
        added.append((last.through(part) @ tokens.T).cpu())
    return added


def followed(
    model: Model, ready: Mapping[str, Tensor], calls: Sequence[Call], head: nn.Linear
) -> tuple[list[Block], tuple[nn.Module, Tensor, Tensor], Tensor, Tensor]:
    """One forward pass, as `Stream.ended` tells it, and the logits that the model gave ``[query id]``."""
    stream = Stream(model, calls, head)
    with evaluating(model.module), stream.watching(), running(model, ready), torch.enable_grad():
        output = model.module(**ready, **uncached(model.module))
    return *stream.ended(model), output.logits[0].detach()


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


def attention_calls(model: Model, ready: Mapping[str, Tensor], rows: slice) -> list[Call]:
    """The attention calls of one forward pass, by layer, with the weights of some queries."""
    records, projections = projected(model, ready)
    calls: list[Call] = []
    for record in sorted(records, key=lambda record: record.layer):
        projection = projections.of(record)
        if projection is None or record.kind != "self" or record.shape[2] != record.shape[3]:
            raise no_stream(model, f"no projection W_O that {record.module} gives its heads' values to")
        weights = record.weights(rows)[0].detach()
        matrix, bias = (tensor if tensor is None else tensor.detach() for tensor in projection)
        assert matrix is not None
        calls.append(Call(record.layer, record.module, weights, record.values[0], matrix, bias))
    if not calls:
        raise no_stream(model, "no attention")
    return calls


class Stream:
    """Follows the residual stream through the layers of one forward pass of this thread."""

    def __init__(self, model: Model, calls: Sequence[Call], head: nn.Module) -> None:
        self._model = model
        parts: Any = model.module
        self._modules: dict[str, nn.Module] = dict(parts.named_modules())
        self._names = [layer_and_attention(model, call.module) for call in calls]
        self._head = head
        self._thread = threading.get_ident()
        self._blocks: list[Block] = []
        self._final: tuple[nn.Module, Tensor, Tensor] | None = None
        self._given: Tensor | None = None
        self._logits: Tensor | None = None

    @contextmanager
    def watching(self) -> Generator[None]:
        """Within it the layers of the model are followed, and pass no gradient on but along the stream."""
        hooks: list[Any] = []
        inner: set[nn.Module] = set()
        try:
            for name, attention in self._names:
                block = self._modules[name]
                inner.update(block.modules())
                hooks.append(block.register_forward_pre_hook(self._begins, with_kwargs=True))
                for child in block.children():
                    met = self._met
                    if child is self._modules[attention]:
                        met = self._attended
                        hooks.append(child.register_forward_pre_hook(self._attends, with_kwargs=True))
                    hooks.append(child.register_forward_hook(met))
                hooks.append(block.register_forward_hook(self._ends))
            hooks += [
                module.register_forward_hook(self._outside)
                for module in self._modules.values()
                if module not in inner and not any(module.children())
            ]
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def ended(self, model: Model) -> tuple[list[Block], tuple[nn.Module, Tensor, Tensor], Tensor]:
        """The layers, the final norm with what entered and left it ``[query dim]``, and the logits ``[query id]``."""
        if len(self._blocks) != len(self._names) or self._final is None or self._logits is None:
            raise no_stream(model, "no norm between its last layer and its logits")
        module, entered, left = self._final
        if self._given is None or left.shape != self._given.shape or not torch.equal(left, self._given):
            raise no_stream(model, "something between its final norm and its logits")
        return self._blocks, (module, entered[0], left[0]), self._logits[0]

    def _mine(self) -> bool:
        return threading.get_ident() == self._thread

    def _begins(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self._mine():
            return None
        given: Any = args[0] if args else kwargs.get("hidden_states")
        last = self._blocks[-1].after if self._blocks else None
        if (
            not isinstance(given, Tensor)
            or given.ndim != 3
            or (last is not None and not torch.equal(given, last))
        ):
            raise no_stream(
                self._model, f"a {type(module).__name__} that does not get what the one before it gave"
            )
        before = given.detach().requires_grad_()
        self._blocks.append(Block(before))
        entering = before * 1.0  # no leaf, so that the layer may change it in place
        return ((entering, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": entering})

    def _attends(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given: Any = args[0] if args else kwargs.get("hidden_states")
        if self._mine() and isinstance(given, Tensor):
            self._blocks[-1].given = given.detach()

    def _attended(self, _: nn.Module, __: Any, output: Any) -> Any:
        if not self._mine():
            return None
        block = self._blocks[-1]
        block.written = _first(output).detach().requires_grad_()
        return _with_first(output, block.written)

    def _met(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        if not self._mine():
            return None
        block = self._blocks[-1]
        if (
            block.written is not None and args and args[0] is block.written
        ):  # a norm, or a dropout, after attention
            left = _first(output).detach().requires_grad_()
            block.norms.append((module, block.written.detach()[0], left.detach()[0]))
            block.written = left
            return _with_first(output, left)
        if block.written is None and isinstance(output, Tensor) and args:
            block.read.append((module, args[0].detach(), output.detach()))
        return _detached(output)

    def _ends(self, module: nn.Module, _: Any, output: Any) -> Any:
        if not self._mine():
            return None
        block, after = self._blocks[-1], _first(output)
        name = type(module).__name__
        if block.written is None or not after.requires_grad:
            raise no_stream(self._model, f"a {name} that passes on no residual stream")
        draw = torch.Generator().manual_seed(0)
        way = torch.randn(after.shape, generator=draw, dtype=torch.float64).to(after)
        stream, attention = torch.autograd.grad(
            after, [block.before, block.written], way, allow_unused=True, materialize_grads=True
        )
        block.factor = float((attention * way).sum() / way.square().sum())
        if not torch.equal(stream, way) or not torch.allclose(attention, block.factor * way, atol=1e-5):
            raise no_stream(self._model, f"a {name} that does not itself add its attention to its input")
        block.before, block.written, block.after = (
            block.before.detach(),
            block.written.detach(),
            after.detach(),
        )
        return _with_first(output, block.after)

    def _outside(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if not self._mine() or not args or not isinstance(output, Tensor):
            return
        if module is self._head:
            self._given, self._logits = args[0].detach(), output.detach()
        elif len(self._blocks) == len(self._names) and args[0] is self._blocks[-1].after:
            self._final = module, args[0].detach(), output.detach()


def layer_and_attention(model: Model, attention: str) -> tuple[str, str]:
    """The layer that an attention module is of, and the layer's child that holds it."""
    match = re.match(r"((?:.*\.)?\d+)\.[^.]+", attention)
    if match is None:
        raise no_stream(model, f"no layer with a number around {attention or 'its attention'}")
    return match[1], match[0]


def _first(output: Any) -> Tensor:
    return cast("tuple[Any, ...]", output)[0] if isinstance(output, tuple) else output


def _with_first(output: Any, first: Tensor) -> Any:
    return (first, *cast("tuple[Any, ...]", output)[1:]) if isinstance(output, tuple) else first


def _detached(output: Any) -> Any:
    if isinstance(output, Tensor):
        return output.detach()
    return tuple(map(_detached, cast("tuple[Any, ...]", output))) if isinstance(output, tuple) else output


def frozen_norm(
    model: Model, module: nn.Module, entered: Tensor, left: Tensor, position: int | slice
) -> FrozenNorm:
    """A norm at one position, or some, told by comparing what entered and left it, ``[query dim]``."""
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


def _after(model: Model, logits: Tensor, given: Tensor) -> tuple[float, float | None]:
    """What the model makes of the unembedding's logits: a factor, and a softcap after it."""
    before, after = logits.double(), given.to(logits.device).double()
    softcap = getattr(model.text_config, "final_logit_softcapping", None)
    scale = 1.0 if softcap else float((before * after).sum() / before.square().sum().clamp(min=1e-300))
    made = softcap * torch.tanh(before / softcap) if softcap else before * scale
    if made.shape != after.shape or not torch.allclose(made, after, rtol=1e-5, atol=1e-5):
        raise no_stream(model, "something else than a factor or a softcap after its unembedding")
    return scale, softcap or None


def no_stream(model: Model, actual: str) -> RefusedError:
    """What is raised for a model whose layers do not add to one residual stream."""
    return RefusedError(
        f"{model.name}: expected layers that add to one residual stream, a final norm and an unembedding (a pre-norm "
        f"decoder), found {actual}"
    )
