"""The residual stream of one input: what each part of a model writes to it, and what that adds to one logit.

Nothing here knows a family by name. What a layer adds to the stream, and that it passes on the rest as it is, is told
from gradients and by comparing as the model runs; a model that does otherwise is refused.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn

from headscope.attention.linear import block_of, layers_of
from headscope.attention.neurons import projected
from headscope.attention.norms import frozen_norm, no_stream
from headscope.attention.one import running
from headscope.attention.recording import Hooks, entered, entering, evaluating, first, with_first
from headscope.errors import InputError, RefusedError
from headscope.models.finite import not_finite
from headscope.models.model import Model, expect_exact, uncached
from headscope.models.pieces import id_of, shown_pieces
from headscope.models.weights import held

CLOSE = 1e-4
"""How far a sum may be from the model's own number, as a share of its largest term (or of 1)."""


ATTENTION = "attention"


@dataclass(frozen=True, eq=False)
class Written:
    """The terms of one logit, in float64.

    Attributes:
        logit: the model's own, before a final softcap.
        token: its id.
        heads: of each layer ``[head source]``, of no heads where it does not attend.
        biases: of each layer's attention: that of W_O, and of a norm after it; NaN where it does not attend.
        mixed: what else mixes tokens in each layer, by what it is (``state space``).
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
    mixed: Sequence[Mapping[str, float]]
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


@dataclass(eq=False)
class StreamTerm:
    """What attention, or what else mixes tokens, wrote to the stream, times a factor.

    `norms` are the layer's modules that ran on what it wrote, each with what it was given and what it gave.
    """

    kind: str
    written: Tensor
    norms: list[tuple[nn.Module, Tensor, Tensor]] = field(default_factory=list[Any])
    factor: float = 1.0


@dataclass(eq=False)
class Block:
    """One layer as it ran: the stream before and after it, what attention was given, and what was added.

    `read` are the layer's other modules that ran before attention, each with what it was given and what it gave.
    """

    layer: int
    before: Tensor
    read: list[tuple[nn.Module, Tensor, Tensor]] = field(default_factory=list[Any])
    given: Tensor | None = None
    added: list[StreamTerm] = field(default_factory=list[StreamTerm])
    after: Tensor | None = None

    @property
    def attention(self) -> StreamTerm | None:
        """What attention wrote; None for a layer that does not attend."""
        return next((one for one in self.added if one.kind == ATTENTION), None)


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
    mixed: list[dict[str, float]] = []
    rest: list[float] = []
    left = iter(calls)
    for block in blocks:
        assert block.after is not None
        before, after = (state[0, position].to(row) for state in (block.before, block.after))
        added = [one.written[0, position].to(row) * one.factor for one in block.added]
        rest.append(float(direction @ (after - before - sum(added, torch.zeros_like(row)))))
        mixed.append(
            {
                one.kind: float(direction @ wrote)
                for one, wrote in zip(block.added, added, strict=True)
                if one.kind != ATTENTION
            }
        )
        attention = block.attention
        if attention is None:
            heads.append(row.new_zeros(0, blocks[0].before.shape[1]))
            biases.append(float("nan"))
            continue
        call = next(left)
        inner, constant = direction * attention.factor, row.new_zeros(())
        for recorded in reversed(attention.norms):
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
        *(value for value in biases if value == value),
        *(value for layer in mixed for value in layer.values()),
        *rest,
        *(float(value) for layer in heads for value in layer.sum(-1)),
    ]
    logit = float(scaled[number])
    if abs(sum(terms) - logit) > CLOSE * max(1.0, *map(abs, terms)):
        raise RefusedError(
            f"{model.name}: expected contributions that add up to the logit {logit:.5g}, found {sum(terms):.5g}"
        )
    layers = [block.layer for block in blocks]
    return Written(
        logit,
        number,
        [layer.cpu() for layer in heads],
        biases,
        mixed,
        rest,
        embedding,
        float(bias),
        layers,
        softcap,
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
    for call, (_, attention) in zip(calls, attending(blocks), strict=True):
        count, _, size = call.values.shape
        mixed = call.weights.double() @ call.values.double()
        part = (mixed @ call.matrix.double().reshape(count, size, -1)) * attention.factor
        for recorded in attention.norms:
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


def attending(blocks: Sequence[Block]) -> list[tuple[Block, StreamTerm]]:
    """The layers that attend, each with what its attention wrote."""
    return [(block, block.attention) for block in blocks if block.attention is not None]


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
        self._layers = [
            (block, None, number)
            if at is None
            else (block, self._modules[layer_and_attention(model, calls[at].module)[1]], calls[at].layer)
            for block, at, number in layers_with(model, calls)
        ]
        self._mixers = {self._modules[name]: kind for name, kind in model.mixing.items()}
        self._head = head
        self._blocks: list[Block] = []
        self._final: tuple[nn.Module, Tensor, Tensor] | None = None
        self._given: Tensor | None = None
        self._logits: Tensor | None = None

    @contextmanager
    def watching(self) -> Generator[None]:
        """Within it the layers of the model are followed, and pass no gradient on but along the stream."""
        inner: set[nn.Module] = set()
        with Hooks() as hooks:
            for block, attention, number in self._layers:
                inner.update(block.modules())
                hooks.before(block, self._begins(number))
                for child in block.children():
                    met = self._met
                    if child is attention:
                        met = self._adds(ATTENTION)
                        hooks.before(child, self._attends)
                    hooks.after(child, met)
                for mixer in block.modules():
                    if mixer in self._mixers and mixer is not block:
                        hooks.after(mixer, self._adds(self._mixers[mixer]))
                hooks.after(block, self._ends(attention is not None))
            for module in self._modules.values():
                if module not in inner and not any(module.children()):
                    hooks.after(module, self._outside)
            yield

    def ended(self, model: Model) -> tuple[list[Block], tuple[nn.Module, Tensor, Tensor], Tensor]:
        """The layers, the final norm with what entered and left it ``[query dim]``, and the logits ``[query id]``."""
        if len(self._blocks) != len(self._layers) or self._final is None or self._logits is None:
            raise no_stream(model, "no norm between its last layer and its logits")
        module, entered, left = self._final
        if self._given is None or left.shape != self._given.shape or not torch.equal(left, self._given):
            raise no_stream(model, "something between its final norm and its logits")
        return self._blocks, (module, entered[0], left[0]), self._logits[0]

    def _begins(self, number: int) -> Any:
        def begin(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            given = entered(args, kwargs)
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
            self._blocks.append(Block(number, before))
            return entering(before * 1.0, args, kwargs)  # no leaf, so that the layer may change it in place

        return begin

    def _attends(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if isinstance(given := entered(args, kwargs), Tensor):
            self._blocks[-1].given = given.detach()

    def _adds(self, kind: str) -> Any:
        def add(_: nn.Module, __: Any, ___: Any, output: Any) -> Any:
            written = first(output).detach().requires_grad_()
            self._blocks[-1].added.append(StreamTerm(kind, written))
            return with_first(output, written)

        return add

    def _met(self, module: nn.Module, args: tuple[Any, ...], _: Any, output: Any) -> Any:
        block = self._blocks[-1]
        for one in block.added:
            if args and args[0] is one.written:  # a norm, or a dropout, after it
                left = first(output).detach().requires_grad_()
                one.norms.append((module, one.written.detach()[0], left.detach()[0]))
                one.written = left
                return with_first(output, left)
        if block.attention is None and isinstance(output, Tensor) and args:
            block.read.append((module, args[0].detach(), output.detach()))
        return _detached(output)

    def _ends(self, attends: bool) -> Any:
        def end(module: nn.Module, _: Any, __: Any, output: Any) -> Any:
            block, after = self._blocks[-1], first(output)
            name = type(module).__name__
            if not after.requires_grad or (attends and block.attention is None):
                raise no_stream(self._model, f"a {name} that passes on no residual stream")
            draw = torch.Generator().manual_seed(0)
            way = torch.randn(after.shape, generator=draw, dtype=torch.float64).to(after)
            leaves = [block.before, *(one.written for one in block.added)]
            stream, *slopes = torch.autograd.grad(
                after, leaves, way, allow_unused=True, materialize_grads=True
            )
            if not torch.equal(stream, way):
                kind = block.added[0].kind if block.added else "output"
                raise no_stream(self._model, f"a {name} that does not itself add its {kind} to its input")
            for one, slope in zip(block.added, slopes, strict=True):
                one.factor = float((slope * way).sum() / way.square().sum())
                read = one.kind != ATTENTION and not slope.any()  # by the layer itself
                if read or not torch.allclose(slope, one.factor * way, atol=1e-5):
                    raise no_stream(
                        self._model, f"a {name} that does not itself add its {one.kind} to its input"
                    )
                one.written = one.written.detach()
            block.before, after = block.before.detach(), after.detach()
            block.after = after
            return with_first(output, after)

        return end

    def _outside(self, module: nn.Module, args: tuple[Any, ...], _: Any, output: Any) -> None:
        if not args or not isinstance(output, Tensor):
            return
        if module is self._head:
            self._given, self._logits = args[0].detach(), output.detach()
        elif len(self._blocks) == len(self._layers) and args[0] is self._blocks[-1].after:
            self._final = module, args[0].detach(), output.detach()


def layers_with(model: Model, calls: Sequence[Call]) -> list[tuple[nn.Module, int | None, int]]:
    """The layers of a model, each with the place of its attention call (None: it does not attend) and its number."""
    places = {layer_and_attention(model, call.module)[0]: at for at, call in enumerate(calls)}
    piles = {place[0] for name in places if (place := block_of(name)) is not None}
    modules: Any = model.module
    names: dict[nn.Module, str] = {module: name for name, module in modules.named_modules()}
    return [(block, places.get(names[block]), number) for block, _, number in layers_of(model.module, piles)]


def layer_and_attention(model: Model, attention: str) -> tuple[str, str]:
    """The layer that an attention module is of, and the layer's child that holds it."""
    match = re.match(r"((?:.*\.)?\d+)\.[^.]+", attention)
    if match is None:
        raise no_stream(model, f"no layer with a number around {attention or 'its attention'}")
    return match[1], match[0]


def _detached(output: Any) -> Any:
    if isinstance(output, Tensor):
        return output.detach()
    if isinstance(output, (tuple, list)):
        return type(cast("Any", output))(map(_detached, cast("list[Any]", output)))
    return output


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
