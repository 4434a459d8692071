"""The second way in: following the operations of any PyTorch module.

Every operation within the module's forward pass is seen. A product of two activations with query and key
dimensions begins an expression of attention scores (`ScoreExpression`), which each further operation extends; a
softmax over its keys makes weights of it; and where the weights meet the values, the hook is shown the record
and may put other weights in their place. The module computes with its own operations throughout.

Tensors are known by identity and held weakly: nothing lives longer than the module itself lets it.
"""

from __future__ import annotations

import threading
import types
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from headscope.attention import operations as ops
from headscope.attention.expression import Layout, ScoreExpression, normal, restored
from headscope.attention.operations import Operation, OperationCall
from headscope.attention.products import MATMUL, scores_of, values_of
from headscope.attention.record import Hook
from headscope.attention.scope import Borrowed, Scope
from headscope.attention.watch import Watch, heads_of, innermost, storage
from headscope.core.types import AnyDict
from headscope.errors import RefusedError

_MATMUL = frozenset({"matmul", "bmm", "mm", "baddbmm"})
_SOFTMAX = frozenset({"softmax", "special_softmax"})
_ENDS = frozenset({"linear", "conv1d", "conv2d", "conv3d", "embedding"})


@contextmanager
def traced(model: nn.Module, hook: Hook) -> Generator[None]:
    """Within it, every attention call of the model by this thread or task is shown to `hook`.

    A tensor ``[batch head query key]`` that the hook returns takes the place of the weights in all that
    follows. An attention call is a softmax over the keys of scores that descend from a product of two
    activations, whose result is used again in the module. Calls of PyTorch's fused kernel are shown too, with
    `given` None. Where several are nested, inner ones see what outer ones put. When the last one has ended, in
    whatever order, the model is exactly as it was found, also after an exception.

    Raises `RefusedError` from within the model when scores were cut so that their softmax is not over
    ``[query key]`` (attention in chunks), or when the hook's tensor has another shape than the weights.
    """
    watch = Watch(model, hook)
    with _forward.borrowed(list(watch.modules)), _watches.entered(watch):
        yield


class _Followed:
    """A module's forward, whose operations are followed where this thread or task watches the module.

    An object, so that a copy of the module gets a copy that runs the copy's own forward.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.__wrapped__ = module.forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        watches = [watch for watch in _watches.now() if self.module in watch.modules]
        if not watches:
            return self.__wrapped__(*args, **kwargs)
        with _trace(), _running_in(self.module, watches):
            return self.__wrapped__(*args, **kwargs)


@contextmanager
def _trace() -> Generator[None]:
    """Within it this thread's operations are seen."""
    if _running.trace is not None:
        yield
        return
    try:
        with _Trace() as _running.trace:
            yield
    finally:
        _running.trace = None


@contextmanager
def _running_in(module: nn.Module, watches: list[Watch]) -> Generator[None]:
    """Within it `module` is the innermost that runs, for `watches`."""
    trace = _running.trace
    assert trace is not None
    for watch in watches:
        if module is watch.model:
            watch.places.begin()
        elif not trace.stacks.get(watch):
            watch.places.begin_alone()
        trace.stacks.setdefault(watch, []).append(module)
    try:
        yield
    finally:
        for watch in watches:
            trace.stacks[watch].pop()


_Stacks = tuple[tuple[Watch, tuple[nn.Module, ...]], ...]


@dataclass(frozen=True, eq=False)
class _Product:
    """Scores on their way (None: cut beyond following), and the modules that ran at their product."""

    stacks: _Stacks
    scores: ScoreExpression | None


@dataclass(eq=False)
class _Slot:
    """The weights of one softmax.

    Attributes:
        stacks: the modules that ran at the product.
        scores: what softmax was taken of, and `logits` its numbers (empty where not needed).
        used: gives what was used as weights ``[batch head query key]``, once that was decided.
    """

    stacks: _Stacks
    scores: ScoreExpression
    logits: Tensor
    used: Callable[[], Tensor | None] | None = None


@dataclass(frozen=True, eq=False)
class _TracedWeights:
    """Weights on their way to the values; `sink`: their last column is not a key."""

    slot: _Slot
    layout: Layout
    sink: bool


class _Trace(TorchFunctionMode):
    """Sees every operation, and knows which tensors are scores or weights.

    Attributes:
        stacks: the modules that run for each watch, the outermost first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stacks: dict[Watch, list[nn.Module]] = {}
        self._nodes: dict[int, tuple[weakref.ref[Tensor], _Product | _TracedWeights]] = {}

    def __torch_function__(
        self, func: Operation, types: Any, args: tuple[Any, ...] = (), kwargs: AnyDict | None = None
    ) -> Any:
        """Run one operation, and follow it where it matters."""
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "").strip("_")
        if name in _MATMUL or name == "einsum":
            return self._product(OperationCall(func, name, args, kwargs))
        if name == "scaled_dot_product_attention":
            return self._fused(OperationCall(func, name, args, kwargs))
        if name == "multi_head_attention_forward":
            with self:
                return _opened(func)(*args, **kwargs)
        if not self._nodes:
            return func(*args, **kwargs)
        if name == "get":  # a property
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            name = name if name in ops.PROPERTIES else "get"
        if name in ops.INERT:
            return func(*args, **kwargs)
        return self._follow(OperationCall(func, name, args, kwargs))

    def _follow(self, call: OperationCall) -> Any:
        products: list[tuple[Tensor, _Product]] = []
        for x in call.tensors():
            node = self._node(x)
            if isinstance(node, _TracedWeights):
                return self._weights(call, x, node)
            if node is not None:
                products.append((x, node))
        if not products:
            return call.run()
        # what is followed before what is not (a shifted product of positions, say), then left before right
        x, node = min(
            products, key=lambda product: 0 if product[1].scores and product[1].scores.followed else 1
        )
        return self._softmax(call, x, node) if call.name in _SOFTMAX else self._scores(call, x, node)

    def _node(self, x: Tensor) -> _Product | _TracedWeights | None:
        entry = self._nodes.get(id(x))
        return entry[1] if entry is not None and entry[0]() is x else None

    def _put(self, tensor: Tensor, node: _Product | _TracedWeights) -> None:
        key, nodes = id(tensor), self._nodes
        nodes[key] = (weakref.ref(tensor, lambda _: nodes.pop(key, None)), node)

    def _stacks(self) -> _Stacks:
        return tuple((watch, tuple(self.stacks[watch])) for watch in _watches.now() if self.stacks.get(watch))

    def _product(self, call: OperationCall) -> Any:
        operands, args = call.tensors(), call.args
        equation = args[0] if args and isinstance(args[0], str) else None
        if len(operands) == 1:  # an einsum that permutes
            permutes = len(set((equation or "").partition("->")[2].strip())) == operands[0].ndim
            return self._follow(call if permutes else call._replace(name="sum"))
        base = operands.pop(0) if call.name == "baddbmm" and len(operands) == 3 else None
        if len(operands) != 2 or (call.name == "einsum") != (equation is not None):
            return self._follow(call._replace(name="sum"))
        left, right = operands
        for x, other in ((left, right), (right, left)):
            node = self._node(x)
            if isinstance(node, _TracedWeights):
                values = values_of(equation or MATMUL, operands, x, node.layout, other)
                return call.run(x, self._use(x, node, values))
        out = call.run()
        if not _floats(out) or self._stored(left) or self._stored(right):
            return out
        scores = scores_of(equation or MATMUL, left, right, out)
        if scores is not None and base is not None:
            scores, beta = scores.times(call.kwargs.get("alpha", 1.0)), call.kwargs.get("beta", 1.0)
            scores = scores.plus(base, beta) if beta != 0 else scores
        if scores is not None:
            self._put(out, _Product(self._stacks(), scores))
        return out

    def _stored(self, tensor: Tensor) -> bool:
        """Whether a tensor is (a view of) one of the model's parameters."""
        if isinstance(tensor, nn.Parameter):
            return True
        address = storage(tensor)
        return any(address in watch.parameters for watch in self.stacks)

    def _scores(self, call: OperationCall, x: Tensor, node: _Product) -> Any:
        shape, scores = tuple(x.shape), node.scores
        before = x.clone() if call.name in ops.CLAMP and call.func.__name__.endswith("_") else x
        out = call.run()
        if call.name == "setitem":
            if call.args[0] is x:
                after = scores and ops.assigned(scores, x, call.args[1], call.args[2])
                self._put(x, _Product(node.stacks, after))
        elif not isinstance(out, Tensor):
            for part in filter(_floats, ops.tensors((out,))):
                self._put(part, _Product(node.stacks, None))
        elif out.is_floating_point():
            after = scores and ops.followed(scores, call, x, before, shape, out)
            if after is None and scores is not None and tuple(out.shape) == shape:
                after = scores.lost()
            if after is not None or call.name not in _ENDS:
                self._put(out, _Product(node.stacks, after))
        return out

    def _softmax(self, call: OperationCall, x: Tensor, node: _Product) -> Any:
        out = call.run()
        dim = call.kwargs.get("dim", call.args[1] if len(call.args) > 1 else None)
        if not isinstance(dim, int) or dim % x.ndim != x.ndim - 1:
            return out
        scores = node.scores
        if scores is None:
            watch, stack = node.stacks[0]
            raise RefusedError(
                f"{watch.places.of(stack[-1]).module or 'model'} ({type(stack[-1]).__name__}): "
                f"a softmax over scores {tuple(x.shape)} that were cut out of a product of queries and keys "
                "(attention in chunks?), expected [batch head query key]"
            )
        if scores.layout.query == x.ndim - 1:
            scores = scores.swapped()
        if scores.layout.key == x.ndim - 1:
            scores = scores.in_order()
            slot = _Slot(node.stacks, scores, x.new_empty(0) if scores.certain else x)
            self._put(out, _TracedWeights(slot, scores.layout, scores.sinks is not None))
        return out

    def _weights(self, call: OperationCall, x: Tensor, node: _TracedWeights) -> Any:
        name, layout = call.name, node.layout
        after: _TracedWeights | None = None
        out: Any = None
        if name in ops.SAME:
            out, after = call.run(), node
        elif name in ops.PERMUTE:
            out, after = call.run(), replace(node, layout=layout.permuted(call.permutation(x)))
        elif call.reshapes:
            out = call.run()
            reshaped = layout.reshaped(x.shape, out.shape)
            after = reshaped and replace(node, layout=reshaped)
        elif name == "getitem" and node.sink and ops.cuts_last(call.args[1], x.ndim, x.shape[-1]):
            out, after = call.run(), replace(node, sink=False)
        elif name in ops.ARITHMETIC and node.slot.used is None:
            out = call.run()
            after = replace(node, slot=replace(node.slot)) if out.shape == x.shape else None
        if after is None:  # whatever else is done with weights is the use that they are put to
            return call.run(x, self._use(x, node, None))
        self._put(out, after)
        return out

    def _use(self, x: Tensor, node: _TracedWeights, values: Tensor | None) -> Tensor:
        """What to use for the weights `x` where they meet `values` ``[*lead, key, dim]`` (None: not seen)."""
        slot, layout = node.slot, node.layout
        now = dict(self._stacks())
        owners = [(watch, innermost(stack, now[watch])) for watch, stack in slot.stacks if watch in now]
        if not owners:
            return x
        if node.sink:
            raise RefusedError(
                f"{type(owners[0][1]).__name__}: a softmax has one more column than keys, "
                "which meets the values; expected it to be cut off first"
            )
        used = slot.used() if slot.used is not None else None
        heads = heads_of((layout, slot.scores.layout), owners[0][1], slot.scores.k)
        if used is None:
            used = normal(layout.canonical(x), layout.lead, heads)
            if slot.used is None:
                fields = slot.scores.fields(heads, slot.logits)
                if values is not None:
                    values = normal(values, layout.lead, heads).expand(len(used), -1, -1, -1)
                for watch, module in owners:
                    _, answer = watch.show(module, fields, values, used)
                    used = used if answer is None else answer
            slot.used = _holding(used, x)
        return layout.restore(restored(used, layout.lead, heads)).to(x.dtype)

    def _fused(self, call: OperationCall) -> Any:
        given = call.given("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        query, key, value, mask = given["query"], given["key"], given["value"], given.get("attn_mask")
        lead = tuple(query.shape[:-2])
        scale = given.get("scale")
        scores = ScoreExpression(
            query, key, Layout.plain(lead), query.shape[-1] ** -0.5 if scale is None else scale
        )
        if mask is not None:
            scores = scores.hide(~mask) if mask.dtype == torch.bool else scores.plus(mask)
        if given.get("is_causal"):
            square = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device)
            scores = scores.hide(square.triu(1))
        weights: Tensor | None = None
        out: Tensor | None = None
        for watch, stack in self._stacks():
            heads = heads_of((scores.layout,), stack[-1], key)
            values = normal(value, lead, heads).expand(heads.size(lead)[0], -1, -1, -1)
            record, answer = watch.show(stack[-1], scores.fields(heads, query), values, weights)
            if answer is not None:
                weights = answer
                out = restored(weights.to(value.dtype) @ record.values, lead, heads)
        return call.run() if out is None else out


def _floats(out: Any) -> bool:
    return isinstance(out, Tensor) and out.is_floating_point()


class _Running(threading.local):
    """What follows this thread's operations now."""

    trace: _Trace | None = None


_running = _Running()
_watches: Scope[Watch] = Scope("headscope_watches")
_forward = Borrowed("forward", _Followed)


def _holding(used: Tensor, weights: Tensor) -> Callable[[], Tensor | None]:
    """Gives `used` again; a view of the weights, which holds them, is held only as long as others do."""
    return weakref.ref(used) if storage(used) == storage(weights) else lambda: used


@cache
def _opened(func: Operation) -> Operation:
    """A function of torch.nn.functional that, under a mode, hands it its inner operations and not itself."""

    def has_torch_function(_: Any) -> bool:
        return False

    names = {**func.__globals__, "has_torch_function": has_torch_function}
    copy = types.FunctionType(func.__code__, names, func.__name__, func.__defaults__, func.__closure__)
    copy.__kwdefaults__ = func.__kwdefaults__
    return copy
