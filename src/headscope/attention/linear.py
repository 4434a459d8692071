"""One forward pass in which only what is linear in the residual stream carries a gradient.

Norms keep the divisors that they have on this input, and what a head, an MLP or a bias adds to the stream is a leaf. So
a query and a key are sums over who wrote the stream, exactly, and a gradient tells each writer's term. Nothing here
knows a family by name: what is linear is told operation by operation as the model runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from headscope.attention.mixers import MIXER
from headscope.attention.neurons import matrix_of
from headscope.attention.operations import PERMUTE, RESHAPE, SAME, tensors
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import Enough, Hooks, afresh, entered, first, with_first
from headscope.attention.watch import storage
from headscope.core.types import AnyDict, AnyMapping
from headscope.models.weights import held
from headscope.models.within import modules_of

TOKEN, PLACED = "token", "token and position"
"""What enters the first layer: the token alone, or something that hangs on where it stands."""

KINDS = (TOKEN, PLACED, "head", "attention", MIXER, "mlp", "position", "bias", "pair")
"""Who writes: what enters the first layer, a head, attention as a whole where its heads cannot be told apart, what else
mixes tokens (by what it is: ``convolution``, ``state space``), whatever else a layer adds (its MLP), positions that
attention adds to queries or keys, and parameters that are added; what the positions of a query and a key add to their
score by themselves stands beside these as ``pair``."""

_SLICES = """
    getitem select narrow index_select gather take_along_dim chunk split unbind tensor_split repeat expand
    expand_as repeat_interleave tile roll flip sum mean neg negative cumsum view_as_complex view_as_real
    masked_fill pad broadcast_to diagonal set setitem copy dropout avg_pool1d avg_pool2d get
"""
_JOIN = frozenset({"cat", "concat", "concatenate", "hstack", "vstack", "stack"})
_LINEAR = (SAME | PERMUTE | RESHAPE | _JOIN | frozenset(_SLICES.split())) - {"detach", "data", "einsum"}
_ADD = frozenset({"add", "iadd", "radd", "sub", "isub", "rsub", "subtract"})
_SCALE = frozenset({"mul", "imul", "rmul", "multiply"})
_DIVIDE = frozenset({"div", "truediv", "itruediv", "divide", "true_divide"})
_PRODUCTS = frozenset({"matmul", "rmatmul", "bmm", "mm", "einsum", "tensordot"})
_MAPS = frozenset({"linear", "addmm", "conv1d", "conv2d", "conv3d"})


@dataclass(eq=False)
class Writer:
    """What was added to the stream, or to what is read of it.

    Attributes:
        kind: of `KINDS`, or what mixes tokens.
        part: of the model, as maps name it: ``self``, ``encoder``, ``decoder``, ``cross``.
        pile: of layers, whose stream it writes.
        layer: its index; -1 for none.
        leaf: what was added, ``[... stream]``.
    """

    kind: str
    part: str
    pile: str
    layer: int
    leaf: Tensor

    def terms(self, slope: Tensor) -> Tensor:
        """What it adds to numbers of these slopes ``[number, ...]``: ``[1 number]``."""
        return (slope * self.leaf.detach()).flatten(1).double().sum(1)[None]


@dataclass(eq=False)
class HeadWriter(Writer):
    """The heads of a layer.

    Attributes:
        outputs: what entered W_O, ``[query head dim]``.
        matrix: W_O ``[head dim stream]``.
        biased: whether W_O has a bias.
    """

    outputs: Tensor
    matrix: Tensor
    biased: bool

    def terms(self, slope: Tensor) -> Tensor:
        """What they add to numbers of these slopes: ``[head number]``, the last row W_O's bias."""
        total = super().terms(slope)
        slope = slope.reshape(len(slope), -1, slope.shape[-1])
        rows = slope.abs().amax((0, 2)).nonzero()[:, 0]  # a query's is of one row
        written = torch.einsum("thd,hde->hte", self.outputs[rows], self.matrix)  # of this writer alone
        heads = torch.einsum("nte,hte->hn", slope[:, rows], written).double()
        return torch.cat([heads, (total - heads.sum(0)) * self.biased])


@dataclass(eq=False)
class Site:
    """Where a layer attends: the pile of layers, the module, how many heads it has, how many share a key head, and the
    module that holds W_O."""

    part: str
    pile: str
    layer: int
    heads: int
    groups: int
    attention: nn.Module
    projection: nn.Module | None

    @property
    def matrix(self) -> Tensor:
        """W_O ``[head · dim, stream]``."""
        matrix = None if self.projection is None else matrix_of(self.projection)
        assert matrix is not None
        return matrix.detach()

    def change(self, hooks: Hooks, rows: int, change: Callable[[Tensor], Tensor]) -> None:
        """Let `change` see and change what enters W_O, ``[batch query head dim]``, in batches of so many rows."""

        def enter(z: Tensor) -> Tensor:
            return change(z.reshape(rows, -1, self.heads, z.shape[-1] // self.heads)).reshape(z.shape)

        assert self.projection is not None
        hooks.on_entry(self.projection, enter)


@dataclass(eq=False)
class LinearCall:
    """One attention call whose queries, keys and values carry gradients.

    Attributes:
        record: the call.
        part: of the model, as maps name it.
        attention, args, kwargs: the module that attended, and what it is given to run again.
    """

    record: AttentionRecord
    part: str
    attention: nn.Module
    args: tuple[Any, ...]
    kwargs: AnyMapping


@dataclass(eq=False)
class StreamLayer:
    """One layer as it ran; a further one stands for what comes behind the last.

    Attributes:
        pile, layer: of which it is, and its number; -1 behind the last.
        before: the stream that it was given.
        ran: its modules, each with what it was given and what it gave.
    """

    pile: str
    layer: int
    before: Tensor
    ran: list[tuple[nn.Module, Tensor, Tensor]] = field(default_factory=list[Any])


@dataclass(eq=False)
class Pass(TorchFunctionMode):
    """Follows one pass of this thread.

    Attributes:
        module: that runs.
        sites: where it attends, by the name of each module.
        until: the part and layer behind whose attention the pass ends; None: to its end.
        mixers: modules that mix tokens without attention, and what they are.
        placed: the piles whose first layer is given something that hangs on where a token stands.
        unembeds: the linear map from the stream to logits, which is followed, too.
        writers: all that was added so far, in order.
        calls: the attention calls so far.
        blocks: the layers so far, where the logits are followed.
        output: what the module gave.
        part, pile, layer: where it is.
        open: how many attention modules run, in whose maps the stream is followed.
        other: what else adds to the stream: the MLP, or the mixer that runs.
    """

    module: nn.Module
    sites: Mapping[str, Site]
    until: tuple[str, int] | None
    mixers: Mapping[nn.Module, str] = field(default_factory=dict[nn.Module, str])
    placed: Collection[str] = ()
    unembeds: nn.Module | None = None
    writers: list[Writer] = field(default_factory=list[Writer])
    calls: list[LinearCall] = field(default_factory=list[LinearCall])
    blocks: list[StreamLayer] = field(default_factory=list[StreamLayer])
    output: Any = None
    part: str = ""
    pile: str = ""
    layer: int = -1
    open: int = 0
    other: str = "mlp"

    def __post_init__(self) -> None:
        super().__init__()
        self._heads: dict[int, AttentionRecord] = {}
        self._given: dict[nn.Module, tuple[tuple[Any, ...], AnyDict]] = {}
        self._parameters = {storage(parameter) for parameter in self.module.parameters()} - {
            0
        }  # 0: elsewhere

    # --- operations

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: AnyDict | None = None
    ) -> Any:
        """Run one operation, with gradients where it is linear in what carries one."""
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "").strip("_")
        given = tensors((*args, *kwargs.values()))
        if not any(map(self._carries, given)) and (
            name not in _LINEAR or any(map(self._is_parameter, given))
        ):
            return func(*args, **kwargs)
        if name in _JOIN and args and any(map(self._carries, given)):
            with torch.enable_grad():
                return func([self._added(x) if x.any() else x for x in args[0]], *args[1:], **kwargs)
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
        return isinstance(x, nn.Parameter) or (isinstance(x, Tensor) and storage(x) in self._parameters)

    def _carries(self, x: Any) -> bool:
        # A view of a parameter needs a gradient even where none are kept.
        return isinstance(x, Tensor) and x.requires_grad and not self._is_parameter(x)

    def _fixed(self, x: Any) -> Any:
        return x.detach() if self._is_parameter(x) else x

    def _added(self, x: Any) -> Any:
        """What is added to the stream: a leaf where it is a number of its own."""
        if not isinstance(x, Tensor) or self._carries(x) or not x.is_floating_point():
            return x
        for leaf in (writer.leaf for writer in self.writers if writer.kind in (TOKEN, PLACED)):
            alike = (leaf.shape, leaf.dtype, leaf.device) == (x.shape, x.dtype, x.device)
            if alike and leaf.equal(x):  # what entered the first layer comes again
                return leaf
        kind = "position" if self.open else self.other
        return self._writes("bias" if self._is_parameter(x) else kind, x)

    def _mapped(self, func: Any, name: str, args: tuple[Any, ...], kwargs: AnyDict) -> Any:
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

    def _normed(self, name: str, args: tuple[Any, ...], kwargs: AnyDict) -> Tensor:
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

    def _writes(
        self, kind: str, x: Tensor, *heads: Any, part: str | None = None, of: type[Writer] = Writer
    ) -> Tensor:
        leaf = x.detach().requires_grad_()
        self.writers.append(of(kind, part or self.part, self.pile, self.layer, leaf, *heads))
        with torch.enable_grad():
            return leaf.clone()  # no leaf, so that the layer may change it in place

    # --- modules

    def watching(self) -> Hooks:
        """Within it the layers of the model are followed."""
        layers = layers_of(self.module, {site.pile for site in self.sites.values()})
        hooks = Hooks()
        for layer, pile, number in layers:
            hooks.on_entry(layer, partial(self._begins, pile, number))
        if self.unembeds is not None:
            within = {part for layer, _, _ in layers for part in layer.modules()}
            outside = {part for part in self.module.modules() if not any(part.children())} - within
            for part in outside.union(*(layer.children() for layer, _, _ in layers)):
                hooks.after(part, self._ran)
            hooks.before(self.unembeds, self._opens)
            hooks.after(self.unembeds, self._closes)
            hooks.on_exit(layers[-1][0], self._ends)
        for site in {id(site.attention): site for site in self.sites.values()}.values():
            hooks.before(site.attention, self._enters)
            if site.projection is not None:
                hooks.after(site.projection, self._projected)
            hooks.on_exit(site.attention, partial(self._leaves, site))
        for mixer, kind in self.mixers.items():
            hooks.before(mixer, partial(self._mixes, kind))
            hooks.after(mixer, self._mixed)
        return hooks

    def _begins(self, pile: str, layer: int, given: Any) -> Tensor | None:
        parts = (site.part for site in self.sites.values() if site.pile == pile)
        self.part = min(parts, key=lambda part: (part == "cross", part))
        self.pile, self.layer = pile, layer
        self.blocks.append(StreamLayer(pile, layer, given))
        if not isinstance(given, Tensor) or self._carries(given) or not given.is_floating_point():
            return None
        self.layer = -1
        leaf = self._writes(PLACED if pile in self.placed else TOKEN, given)
        self.layer = layer
        return leaf

    def _ran(self, module: nn.Module, args: tuple[Any, ...], kwargs: AnyDict, output: Any) -> None:
        if self.blocks and isinstance(given := entered(args, kwargs), Tensor):
            self.blocks[-1].ran.append((module, given, first(output)))

    def _ends(self, stream: Tensor) -> None:
        self.layer = -1
        self.blocks.append(StreamLayer("", -1, stream))

    def _opens(self, *_: object) -> None:
        self.open += 1

    def _closes(self, *_: object) -> None:
        self.open -= 1

    def _enters(self, module: nn.Module, args: tuple[Any, ...], kwargs: AnyDict) -> None:
        self.open += 1
        self._given[module] = afresh(args, kwargs)

    def attends(self, record: AttentionRecord) -> None:
        """Keep an attention call."""
        site = self.sites.get(record.module)
        if site is None:
            return
        self.layer = record.layer
        self._heads[id(site.projection)] = record
        self.calls.append(LinearCall(record, site.part, site.attention, *self._given[site.attention]))
        if self.until == (site.part, record.layer):
            raise Enough

    def _projected(self, module: nn.Module, args: tuple[Any, ...], _: Any, output: Any) -> Any:
        record = self._heads.get(id(module))
        if record is None or not isinstance(output, Tensor):
            return None
        site = self.sites[record.module]
        heads, entered = record.shape[1], args[0].detach()
        size = entered.shape[-1] // heads
        return self._writes(
            "head",
            output,
            entered.reshape(-1, heads, size),
            site.matrix.to(output.device).reshape(heads, size, -1),
            held(module, "bias") is not None,
            part=site.part,
            of=HeadWriter,
        )

    def _mixes(self, kind: str, *_: object) -> None:
        self.other = kind

    def _mixed(self, _: nn.Module, args: tuple[Any, ...], kwargs: AnyDict, output: Any) -> Any:
        """What a mixer makes of the stream that it reads, as a number of its own."""
        kind, self.other = self.other, "mlp"
        written = first(output)
        reads = any(map(self._carries, tensors((*args, *kwargs.values()))))
        if not reads or not isinstance(written, Tensor) or self._carries(written):
            return None
        return with_first(output, self._writes(kind, written))

    def _leaves(self, site: Site, written: Any) -> Tensor | None:
        self.open -= 1
        if site.projection in {*site.attention.modules()} or not isinstance(written, Tensor):
            return None
        return self._writes("attention", written) if site.projection is None else written.detach()


def block_of(name: str) -> tuple[str, int] | None:
    """The pile of layers that a module is in, and the number of its layer."""
    match = re.match(r"(?:(.*?)\.)?(\d+)(?:\.|$)", name)
    return None if match is None else (match[1] or "", int(match[2]))


def layers_of(module: nn.Module, piles: Collection[str]) -> list[tuple[nn.Module, str, int]]:
    """The layers of some piles, each with its pile and its number."""
    places = [(part, name, block_of(name)) for name, part in modules_of(module).items()]
    return [
        (part, *place)
        for part, name, place in places
        if place is not None and place[0] in piles and name == f"{place[0]}.{place[1]}".lstrip(".")
    ]


def _plain(func: Any, name: str) -> Any:
    """An operation in place as the one that gives a new tensor: what carries nothing cannot hold what does."""
    return getattr(torch.Tensor, f"__{name[1:]}__") if name in ("iadd", "isub", "imul", "itruediv") else func
