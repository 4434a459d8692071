"""One forward pass in which only what is linear in the residual stream carries a gradient.

Norms keep the divisors that they have on this input, and what a head, an MLP or a bias adds to the stream is a leaf. So
a query and a key are sums over who wrote the stream, exactly, and a gradient tells each writer's term. Nothing here
knows a family by name: what is linear is told operation by operation as the model runs.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from headscope.attention.neurons import matrix_of, projected
from headscope.attention.one import running
from headscope.attention.operations import PERMUTE, RESHAPE, SAME, tensors
from headscope.attention.parts import group
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import recording
from headscope.attention.watch import storage
from headscope.core.arrays import Floats
from headscope.errors import RefusedError
from headscope.models.model import Model, expect_exact, uncached

Kind = Literal["embedding", "head", "attention", "mlp", "position", "bias"]
"""Who writes: what enters the first layer, a head, attention as a whole where its heads cannot be told apart, whatever
else a layer adds (its MLP), positions that attention adds to queries or keys, and parameters that are added."""

CLOSE = 1e-4
"""How far the terms may be from their score, as a share of the largest of them (or of 1)."""

FEW = 8
"""Tokens on which a model's attention is found."""

AT_A_TIME = 1 << 24
"""Numbers of slopes that are held at a time."""

_SLICES = """
    getitem select narrow index_select gather take_along_dim chunk split unbind tensor_split cat concat stack repeat
    expand expand_as repeat_interleave tile roll flip sum mean neg negative cumsum view_as_complex view_as_real
    masked_fill pad broadcast_to hstack vstack diagonal set setitem copy dropout avg_pool1d avg_pool2d get
"""
_LINEAR = (SAME | PERMUTE | RESHAPE | frozenset(_SLICES.split())) - {"detach", "data", "einsum"}
_ADD = frozenset({"add", "iadd", "radd", "sub", "isub", "rsub", "subtract"})
_SCALE = frozenset({"mul", "imul", "rmul", "multiply"})
_DIVIDE = frozenset({"div", "truediv", "itruediv", "divide", "true_divide"})
_PRODUCTS = frozenset({"matmul", "rmatmul", "bmm", "mm", "einsum", "tensordot"})
_MAPS = frozenset({"linear", "addmm", "conv1d", "conv2d", "conv3d"})


@dataclass(eq=False)
class Writer:
    """What was added to the stream, or to what is read of it.

    Attributes:
        kind: of what.
        part: of the model, as maps name it: ``self``, ``encoder``, ``decoder``, ``cross``.
        pile: of layers, whose stream it writes.
        layer: its index; -1 for none.
        leaf: what was added, ``[... stream]``.
        outputs: of heads, what entered W_O, ``[query head dim]``; `matrix` is W_O ``[head dim stream]``.
    """

    kind: Kind
    part: str
    pile: str
    layer: int
    leaf: Tensor
    outputs: Tensor | None = None
    matrix: Tensor | None = None

    @property
    def heads(self) -> int:
        """How many heads they are; 0 for none."""
        return 0 if self.matrix is None else len(self.matrix)

    def terms(self, slope: Tensor) -> Tensor:
        """What it adds to numbers of these slopes ``[number, ...]``: ``[head number]``, the last row W_O's bias; else
        ``[1 number]``.
        """
        whole = (slope * self.leaf.detach()).flatten(1).double().sum(1)
        if self.outputs is None or self.matrix is None:
            return whole[None]
        slope = slope.reshape(len(slope), -1, slope.shape[-1])
        rows = slope.abs().amax((0, 2)).nonzero()[:, 0]  # a query's is of one row
        written = torch.einsum("thd,hde->hte", self.outputs[rows], self.matrix)  # of this writer alone
        heads = torch.einsum("nte,hte->hn", slope[:, rows], written).double()
        return torch.cat([heads, (whole - heads.sum(0))[None]])


class Who(NamedTuple):
    """A writer by its name: the parts of a `Writer` that are one, such as a head of its layer; -1 for none."""

    kind: Kind
    part: str = ""
    layer: int = -1
    head: int = -1


@dataclass(eq=False)
class Site:
    """Where a layer attends: the module, how many heads it has, and the module that holds W_O."""

    part: str
    layer: int
    heads: int
    attention: nn.Module
    projection: nn.Module | None


class Reader:
    """Reads who wrote what the heads of a model read.

    Args:
        model: with weights in float32 or float64.
        ready: an input to find its attention on.

    Raises `RefusedError` for weights of half precision, and for a model whose layers have no numbers.
    """

    def __init__(self, model: Model, ready: Mapping[str, Tensor]) -> None:
        expect_exact(model)
        self.model = model
        if ready.keys() <= {"input_ids", "attention_mask", "token_type_ids"}:  # a few tokens tell as much
            ready = {name: value[:, :FEW] for name, value in ready.items()}
        records, projections = projected(model, ready)
        whole: Any = model.module
        modules: dict[str, nn.Module] = dict(whole.named_modules())
        parts = {id(record): part for part, calls in group(records).items() for record in calls}
        self.sites: dict[str, Site] = {}
        for record in records:
            if _block(record.module) is None:
                raise RefusedError(
                    f"{model.name}: expected layers with numbers, found none around {record.module or 'its attention'}"
                )
            self.sites[record.module] = Site(
                parts[id(record)],
                record.layer,
                record.shape[1],
                modules[record.module],
                projections.module(record),
            )

    def read(self, ready: Mapping[str, Tensor], until: tuple[str, int] | None = None) -> Read:
        """One forward pass, as far as the attention of this part and layer."""
        run = _Run(self, until)
        with (
            torch.no_grad(),
            run.watching(),
            recording(self.model.module, run.attends, fused=True),
            running(self.model, ready),
            suppress(_Enough),
            run,
        ):
            self.model.module(**ready, **uncached(self.model.module))
        return Read(self.model, run.writers, run.calls, run)

    def without(
        self, ready: Mapping[str, Tensor], who: Who, until: tuple[str, int]
    ) -> AttentionRecord | None:
        """The attention call of a part and layer where a head gives, at each token, its mean over the input's tokens.

        None where the head's W_O is not known, or is that of other layers as well.
        """
        sites = [site for site in self.sites.values() if (site.part, site.layer) == (who.part, who.layer)]
        modules = [site.projection for site in self.sites.values()]
        if len(sites) != 1 or sites[0].projection is None or modules.count(sites[0].projection) > 1:
            return None
        heads, records, thread = sites[0].heads, list[AttentionRecord](), threading.get_ident()

        def enter(_: nn.Module, args: tuple[Any, ...]) -> Any:
            if threading.get_ident() != thread:
                return None
            given: Tensor = args[0].unflatten(-1, (heads, -1)).clone()
            given[..., who.head, :] = given[..., who.head, :].mean(-2, keepdim=True)
            return given.flatten(-2), *args[1:]

        def keep(record: AttentionRecord) -> None:
            if (self.sites[record.module].part, record.layer) == until:
                records.append(record)
                raise _Enough

        handle = sites[0].projection.register_forward_pre_hook(enter)
        try:
            with (
                torch.no_grad(),
                recording(self.model.module, keep, fused=True),
                running(self.model, ready),
                suppress(_Enough),
            ):
                self.model.module(**ready, **uncached(self.model.module))
        finally:
            handle.remove()
        return records[0]


class _Enough(BaseException):
    """Ends a pass."""


@dataclass(eq=False)
class Call:
    """One attention call whose queries, keys and values carry gradients.

    Attributes:
        record: the call.
        part: of the model, as maps name it.
        attention, args, kwargs: the module that attended, and what it was given.
    """

    record: AttentionRecord
    part: str
    attention: nn.Module
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def _same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same numbers in memory."""
    return (a.data_ptr(), a.shape, a.stride()) == (b.data_ptr(), b.shape, b.stride())


@dataclass(eq=False)
class Read:
    """What one pass gave.

    Attributes:
        model: that ran.
        writers: all that was added, in order.
        calls: the attention calls.
        run: the pass, in which calls can be made again.
    """

    model: Model
    writers: Sequence[Writer]
    calls: Sequence[Call]
    run: _Run

    def call(self, part: str, layer: int) -> Call | None:
        """The call of a layer; None where it has none."""
        found = [call for call in self.calls if (call.part, call.record.layer) == (part, layer)]
        return found[0] if found else None

    def unturned(self, call: Call) -> AttentionRecord | None:
        """A call again, with queries and keys as they are before positions turn them (RoPE); None where none do, or in
        a model that does so in a way of its own. What attention itself adds to them is a further writer of `writers`.
        """
        turns = call.kwargs.get("position_embeddings")
        still = _still(turns)
        if still is None:
            return None
        records: list[AttentionRecord] = []
        self.run.open = 1
        with torch.no_grad(), recording(self.model.module, records.append, fused=True), self.run:
            call.attention(*call.args, **{**call.kwargs, "position_embeddings": still})
        return records[0]

    def terms(self, numbers: Tensor) -> list[Tensor | None]:
        """Of each writer its terms of numbers ``[number]`` that are linear in the stream, as `Writer.terms` gives them.

        None for a writer that comes later. Raises `RefusedError` where they do not sum to the numbers.
        """
        leaves = [writer.leaf for writer in self.writers]
        if not numbers.requires_grad:
            raise _no_sum(self.model, "queries or keys that no writer of its stream has a part in")
        slopes = self._slopes(numbers, leaves)
        terms = [
            None if slope is None else writer.terms(slope)
            for writer, slope in zip(self.writers, slopes, strict=True)
        ]
        there = [term for term in terms if term is not None]
        self._expect_all(terms)
        total = torch.stack([term.sum(0) for term in there]).sum(0)
        largest = torch.stack([term.abs().amax(0) for term in there]).amax(0).clamp(min=1.0)
        if ((total - numbers.detach()).abs() > CLOSE * largest).any():
            raise _no_sum(self.model, "scores that are not")
        return terms

    def composed(self, numbers: Tensor) -> tuple[Floats, Floats]:
        """What each head of `heads` adds to numbers ``[number]``, ``[number head]``, 0 for those that come later; and
        how much it would, either way, were what it writes turned at random: the root of the mean square of that.
        """
        leaves = [writer.leaf for writer, _, _ in self.heads]
        size, width = leaves[0].numel(), leaves[0].shape[-1]
        terms = [np.zeros((len(numbers), writer.heads)) for writer, _, _ in self.heads]
        turned = [np.zeros_like(term) for term in terms]
        for few in range(0, len(numbers), max(1, AT_A_TIME // size)):
            some = slice(few, few + max(1, AT_A_TIME // size))
            slopes = self._slopes(numbers[some], leaves)
            last: tuple[Tensor, Tensor] | None = None
            for place, (slope, (_, written, squares)) in enumerate(zip(slopes, self.heads, strict=True)):
                if slope is None:
                    continue
                flat = slope.reshape(len(slope), -1, width)
                if last is None or not _same(last[0], flat):  # most models pass one slope on to all
                    last = flat, flat @ flat.transpose(-1, -2)
                square = (last[1].flatten(1) @ squares.flatten(1).T).clamp(min=0) / width
                terms[place][some] = (flat.flatten(1) @ written.flatten(1).T).double().cpu().numpy()
                turned[place][some] = square.double().sqrt().cpu().numpy()
        return np.concatenate(terms, 1), np.concatenate(turned, 1)

    @cached_property
    def heads(self) -> list[tuple[Writer, Tensor, Tensor]]:
        """The writers that are heads, what each head wrote ``[head token stream]``, and its products ``[head token
        token]``."""
        found: list[tuple[Writer, Tensor, Tensor]] = []
        for writer in self.writers:
            if writer.outputs is not None and writer.matrix is not None:
                written = torch.einsum("thd,hde->hte", writer.outputs, writer.matrix)
                found.append((writer, written, written @ written.transpose(-1, -2)))
        return found

    def _slopes(self, numbers: Tensor, leaves: Sequence[Tensor]) -> Sequence[Tensor | None]:
        """The slopes of numbers, ``[number ...]``; None for a leaf that comes later."""
        if len(numbers) == 1:
            found: Any = torch.autograd.grad(numbers.sum(), leaves, allow_unused=True, retain_graph=True)
            return [None if slope is None else slope[None] for slope in found]
        ways = torch.eye(len(numbers), dtype=numbers.dtype, device=numbers.device)
        return torch.autograd.grad(
            numbers, leaves, ways, is_grads_batched=True, allow_unused=True, retain_graph=True
        )

    def told(self, numbers: Tensor) -> dict[Who, Floats]:
        """Who has which part in numbers ``[number]``: the `terms` by name, all biases as one."""
        told: dict[Who, Floats] = {}
        for writer, term in zip(self.writers, self.terms(numbers), strict=True):
            if term is None:
                continue
            name = Who(writer.kind, writer.part, writer.layer)
            names = [Who(writer.kind, writer.part, writer.layer, head) for head in range(len(term) - 1)]
            names += [Who("bias") if writer.kind == "head" else name]
            for who, values in zip(names, term.cpu().numpy(), strict=True):
                who = Who(who.kind) if who.kind in ("bias", "position") else who
                told[who] = told[who] + values if who in told else values
        return told

    def _expect_all(self, terms: Sequence[Tensor | None]) -> None:
        """Refuse what reads a stream but not all that was written to it before: it was changed on the way."""
        stream = [
            (writer.pile, term is not None)
            for writer, term in zip(self.writers, terms, strict=True)
            if writer.kind in ("embedding", "head", "attention")
        ]
        for pile in {pile for pile, there in stream if there}:
            reached = [there for name, there in stream if name == pile]
            if not all(reached[: sum(reached)]):
                raise _no_sum(self.model, "layers that do not pass on all that was written before them")


def _still(turns: Any) -> Any:
    """Rotations by nothing in the place of these, of their size: a cosine and a sine, or a complex number."""
    if isinstance(turns, Tensor):
        return turns.abs().to(turns.dtype) if turns.is_complex() else None
    if not isinstance(turns, tuple) or len(cast("tuple[Any, ...]", turns)) != 2:
        return None
    cos, sin = cast("tuple[Tensor, Tensor]", turns)
    return torch.sqrt(cos.square() + sin.square()), torch.zeros_like(sin)


def _no_sum(model: Model, found: str) -> RefusedError:
    return RefusedError(
        f"{model.name}: expected scores that are sums over who wrote the residual stream, norms frozen; found {found}"
    )


def _block(name: str) -> tuple[str, int] | None:
    """The pile of layers that a module is in, and the number of its layer."""
    match = re.match(r"(?:(.*?)\.)?(\d+)(?:\.|$)", name)
    return None if match is None else (match[1] or "", int(match[2]))


@dataclass(eq=False)
class _Run(TorchFunctionMode):
    """Follows one pass of this thread."""

    reader: Reader
    until: tuple[str, int] | None
    writers: list[Writer] = field(default_factory=list[Writer])
    calls: list[Call] = field(default_factory=list[Call])
    part: str = ""
    pile: str = ""
    layer: int = -1
    open: int = 0
    """How many attention modules run, in whose maps the stream is followed."""

    def __post_init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()
        self._heads: dict[int, AttentionRecord] = {}
        self._given: dict[nn.Module, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self._parameters = {storage(parameter) for parameter in self.reader.model.module.parameters()}

    # --- operations

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one operation, with gradients where it is linear in what carries one."""
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "").strip("_")
        given = tensors((*args, *kwargs.values()))
        if not any(map(self._carries, given)) and (
            name not in _LINEAR or any(map(self._is_parameter, given))
        ):
            return func(*args, **kwargs)
        if name in _LINEAR:  # of what carries none, too: what does may be written into a part of it
            with torch.enable_grad():
                return func(*args, **kwargs)
        if name in _ADD and len(args) == 2:
            with torch.enable_grad():
                first, second = (self._added(x) for x in args)
                return _plain(func, name)(first, second, **kwargs)
        if name in _SCALE or (name in _DIVIDE and self._carries(args[0])):
            if sum(map(self._carries, tensors(args))) == 1:
                with torch.enable_grad():
                    return _plain(func, name)(*map(self._fixed, args), **kwargs)
        elif name in _PRODUCTS or name in _MAPS:
            return self._mapped(func, name, args, kwargs)
        elif name == "normalize":
            return self._normalized(**dict(zip(("x", "p", "dim", "eps"), args, strict=False)), **kwargs)
        elif name in ("layer_norm", "rms_norm"):
            return self._normed(name, args, kwargs)
        return func(*args, **kwargs)

    def _is_parameter(self, x: Any) -> bool:
        return isinstance(x, Tensor) and storage(x) in self._parameters

    def _carries(self, x: Any) -> bool:
        # A view of a parameter needs a gradient even where none are kept.
        return isinstance(x, Tensor) and x.requires_grad and not self._is_parameter(x)

    def _fixed(self, x: Any) -> Any:
        return x.detach() if self._is_parameter(x) else x

    def _added(self, x: Any) -> Any:
        """What is added to the stream: a leaf where it is a number of its own."""
        if not isinstance(x, Tensor) or self._carries(x) or not x.is_floating_point():
            return x
        kind: Kind = "mlp" if not self.open else "position"
        return self._writes("bias" if self._is_parameter(x) else kind, x)

    def _mapped(self, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A product: of attention's own with parameters, or of what carries with what does not."""
        operands = tensors((*args, *kwargs.values()))
        fixed = [x for x in operands if not self._carries(x)]
        of_parameters = any(self._is_parameter(x) for x in fixed)
        if len(operands) - len(fixed) != 1 or (of_parameters and not self.open):
            return func(*args, **kwargs)
        with torch.enable_grad():
            if name not in _MAPS:
                return func(*args, **kwargs)
            if name == "addmm":
                return func(self._added(args[0]), *map(self._fixed, args[1:]), **kwargs)
            bias = kwargs.get("bias", args[2] if len(args) > 2 else None)
            if bias is None:
                return func(*map(self._fixed, args), **kwargs)
            kwargs = {**kwargs, "bias": self._added(bias)}
            return func(*map(self._fixed, args[:2]), *args[3:], **kwargs)

    def _normed(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        """A norm with the divisor that it has here."""
        given = dict(zip(("input", "shape", "weight", "bias", "eps"), args, strict=False))
        if name == "rms_norm" and "bias" in given:
            given["eps"] = given.pop("bias")
        given |= {"shape" if key == "normalized_shape" else key: value for key, value in kwargs.items()}
        x: Tensor = given["input"]
        over = tuple(range(-len(given["shape"]), 0))
        eps = given.get("eps")
        with torch.enable_grad():
            inner = x - x.mean(over, keepdim=True) if name == "layer_norm" else x
            square = inner.detach().square().mean(over, keepdim=True)
            left = inner * torch.rsqrt(square + (torch.finfo(x.dtype).eps if eps is None else eps))
            if given.get("weight") is not None:
                left = left * self._fixed(given["weight"])
            if given.get("bias") is not None:
                left = left + self._writes("bias", given["bias"])
        return left

    @staticmethod
    def _normalized(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, **_: Any) -> Tensor:
        norm: Any = torch.linalg
        size: Tensor = norm.vector_norm(x.detach(), p, dim, keepdim=True).clamp_min(eps)
        with torch.enable_grad():
            return x / size

    def _writes(self, kind: Kind, x: Tensor, **more: Any) -> Tensor:
        leaf = x.detach().requires_grad_()
        self.writers.append(Writer(kind, self.part, self.pile, self.layer, leaf, **more))
        with torch.enable_grad():
            return leaf.clone()  # no leaf, so that the layer may change it in place

    # --- modules

    @contextmanager
    def watching(self) -> Generator[None]:
        """Within it the layers of the model are followed."""
        module: Any = self.reader.model.module
        piles = {cast("tuple[str, int]", _block(name))[0] for name in self.reader.sites}
        with ExitStack() as hooks:

            def before(part: nn.Module, hook: Any) -> None:
                handle = part.register_forward_pre_hook(self._mine(hook), with_kwargs=True)
                hooks.callback(handle.remove)

            def after(part: nn.Module, hook: Any) -> None:
                hooks.callback(part.register_forward_hook(self._mine(hook)).remove)

            modules: dict[str, nn.Module] = dict(module.named_modules())
            for name, part in modules.items():
                place = _block(name)
                if place is not None and place[0] in piles and name == f"{place[0]}.{place[1]}".lstrip("."):
                    before(part, self._begins(name, place[1]))
            for site in {id(site.attention): site for site in self.reader.sites.values()}.values():
                before(site.attention, self._enters)
                if site.projection is not None:
                    after(site.projection, self._projected)
                after(site.attention, self._leaves(site))
            yield

    def _mine(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: hook(*given) if threading.get_ident() == self._thread else None

    def _begins(self, name: str, layer: int) -> Callable[..., Any]:
        parts = {site.part for key, site in self.reader.sites.items() if _same_pile(key, name)}
        part = next((part for part in sorted(parts) if part != "cross"), "cross")

        def begin(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            self.part, self.pile, self.layer = part, cast("tuple[str, int]", _block(name))[0], layer
            given: Any = args[0] if args else kwargs.get("hidden_states")
            if not isinstance(given, Tensor) or self._carries(given) or not given.is_floating_point():
                return None
            self.layer = -1
            leaf = self._writes("embedding", given)
            self.layer = layer
            return ((leaf, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": leaf})

        return begin

    def _enters(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.open += 1
        self._given[module] = args, kwargs

    def attends(self, record: AttentionRecord) -> None:
        """Keep an attention call."""
        site = self.reader.sites.get(record.module)
        if site is None:
            return
        self.layer = record.layer
        self._heads[id(site.projection)] = record
        self.calls.append(Call(record, site.part, site.attention, *self._given[site.attention]))
        if self.until == (site.part, record.layer):
            raise _Enough

    def _projected(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        record = self._heads.get(id(module))
        if record is None or not isinstance(output, Tensor):
            return None
        heads, entered = record.shape[1], args[0].detach()
        matrix = matrix_of(module)
        assert matrix is not None
        size = entered.shape[-1] // heads
        part = self.reader.sites[record.module].part
        before, self.part = self.part, part
        left = self._writes(
            "head",
            output,
            outputs=entered.reshape(-1, heads, size),
            matrix=matrix.detach().to(output.device).reshape(heads, size, -1),
        )
        self.part = before
        return left

    def _leaves(self, site: Site) -> Callable[..., Any]:
        inside = any(part is site.projection for part in site.attention.modules())

        def leave(_: nn.Module, __: Any, output: Any) -> Any:
            self.open -= 1
            first: Any = cast("tuple[Any, ...]", output)[0] if isinstance(output, tuple) else output
            if inside or not isinstance(first, Tensor):
                return None
            first = first.detach()
            if site.projection is None:
                first = self._writes("attention", first)
            return (first, *cast("tuple[Any, ...]", output)[1:]) if isinstance(output, tuple) else first

        return leave


def _same_pile(first: str, second: str) -> bool:
    a, b = _block(first), _block(second)
    return a is not None and b is not None and a[0] == b[0]


def _plain(func: Any, name: str) -> Any:
    """An operation in place as the one that gives a new tensor: what carries nothing cannot hold what does."""
    return getattr(torch.Tensor, f"__{name[1:]}__") if name in ("iadd", "isub", "imul", "itruediv") else func
