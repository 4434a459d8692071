"""Implicit maps: of a layer that does not attend, the matrix of tokens by which it mixes values, y = M v.

Linear attention, delta rules, state spaces and gated convolutions are linear in their values, given the keys, gates and
decays of the input. So M needs no derivation of its own for each of them: a mixer's own function is run on values that
are 1 at one token and 0 elsewhere, as many tokens at a time as a head's values have dimensions, and answers with
columns of M. A layer takes tokens / dimensions runs of that function, one a token where each channel mixes alone. Each
M is multiplied with the values of the input and compared with what the mixer made of them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from headscope.attention.record import IMPLICIT, AttentionRecord, Hook
from headscope.attention.recording import Hooks, afresh, evaluating, first
from headscope.attention.watch import Places
from headscope.core.types import AnyDict
from headscope.errors import RefusedError

NO_MIXER = (
    "implicit: expected a layer whose mixer has an implicit map that is known (docs/models.md), found none"
)

LONGEST = 1024
"""Most tokens of an input."""

LARGEST = 1 << 30
"""Most bytes of the implicit maps of one layer."""

_HEADS, _HEADS_FIRST, _TOKENS, _CHANNELS = "bthd", "bhtd", "btc", "bct"
"""How values lie; each channel is a head whose values have one dimension."""

_FUNCTIONS = {
    "torch_chunk_gated_delta_rule": ("value", _HEADS),
    "chunk_kimi_delta_attention": ("value", _HEADS),
    "mamba2_chunk_scan": ("hidden_states", _HEADS),
    "mamba_selective_scan": ("hidden_states", _CHANNELS),
    "rwkv_linear_attention": ("value", _TOKENS),
}
"""Functions of transformers' files that mix tokens: which argument is the values, and how these and the output lie."""

_OWN = {
    "RecurrentGemmaRglru": ("_rnn_scan", "hidden_states", _TOKENS),
    "xLSTMLayer": ("mlstm_backend", "value", _HEADS_FIRST),
}
"""By the name of the class, what of a module itself mixes tokens, and the same of it."""


@dataclass(frozen=True)
class _Inline:
    """A mixer that is written out in its forward: its values are the last part of `cut`, its output that of `join`."""

    cut: Callable[..., Any]
    values: str
    join: Callable[..., Any]
    output: str


_WRITTEN_OUT = {
    r"LightningAttention$": _Inline(torch.split, _HEADS, torch.cat, _HEADS_FIRST),
    r"Lfm\d+(Moe)?ShortConv$": _Inline(torch.Tensor.chunk, _CHANNELS, torch.Tensor.contiguous, _TOKENS),
}
"""By the name of the class."""


@dataclass(frozen=True)
class _MixerCall:
    """One run of what mixes: its values, its output, and the same with other values; ``[batch head token dim]``."""

    v: Tensor
    y: Tensor
    with_values: Callable[[Tensor], Tensor]


def mixers(model: nn.Module) -> list[nn.Module]:
    """The modules of a model whose implicit maps can be had."""
    return [
        module
        for module in model.modules()
        if _inline(module) is not None or type(module).__name__ in _OWN or _function(module)
    ]


@contextmanager
def through_mixers(model: nn.Module, hook: Hook) -> Generator[None]:
    """Within it `hook` is shown a record of each mixer that this thread runs, without a cache."""
    places = Places(model)

    def ran(module: nn.Module, args: tuple[Any, ...], kwargs: AnyDict, output: object) -> None:
        with torch.no_grad():
            hook(_record(places, module, _calls(module, *afresh(args, kwargs))))

    with evaluating(model), Hooks() as hooks:
        hooks.before(model, lambda *_: places.begin())
        for module in mixers(model):
            hooks.after(module, ran)
        yield


def _record(places: Places, module: nn.Module, calls: Sequence[_MixerCall]) -> AttentionRecord:
    place = places.of(module)
    if not calls:
        raise RefusedError(f"{place.module}: its mixer did not run as it is known to")
    (inputs, _, tokens, _), heads = calls[0].v.shape, sum(call.v.shape[1] for call in calls)
    size = 4 * inputs * heads * tokens**2
    if tokens > LONGEST or size > LARGEST:
        raise RefusedError(
            f"{place.module}: implicit maps are made of at most {LONGEST:,} tokens and {LARGEST / 1e9:.1f} GB a "
            f"layer, found {tokens:,} tokens and {size / 1e9:.1f} GB ({inputs} inputs at once, {heads:,} heads)"
        )
    v, y = (torch.cat([getattr(call, name) for call in calls], 1).float() for name in ("v", "y"))
    matrix = torch.cat([_matrix(call) for call in calls], 1)
    if not (off := error(matrix, v, y)) <= (allowed := 1e-5 + 4 * torch.finfo(calls[0].y.dtype).eps):
        raise RefusedError(
            f"{place.module}: its output is off the product of its implicit map with its values by {off:.0e}, "
            f"expected at most {allowed:.0e}: it is not linear in them"
        )
    size = matrix.abs().sum(-1, keepdim=True)
    empty = v.new_empty(*v.shape[:3], 0)
    return AttentionRecord(
        **place._asdict(), q=empty, k=empty, v=v, scaling=1.0, is_causal=not matrix.triu(1).any(), followed=False,
        given=matrix.abs() / torch.where(size > 0, size, 1.0), output=y,
        area=IMPLICIT, signed=matrix,
    )  # fmt: skip


def _matrix(call: _MixerCall) -> Tensor:
    tokens, wide = call.v.shape[2:]
    columns: list[Tensor] = []
    for start in range(0, tokens, wide):
        some = min(wide, tokens - start)
        impulses = torch.zeros_like(call.v)
        impulses[:, :, range(start, start + some), range(some)] = 1
        columns.append(call.with_values(impulses)[..., :some].float())
    matrix = torch.cat(columns, -1)
    # A kernel may leave rounding where a query does not see.
    ahead = matrix.triu(1).abs().amax() <= 1e-6 * matrix.abs().amax()
    return matrix.tril() if ahead else matrix


def error(matrix: Tensor, v: Tensor, y: Tensor) -> float:
    """How far y is from M v, relative to the largest that rounding is of: Σ \\|M\\| \\|v\\|."""
    scale = (matrix.abs() @ v.abs()).amax().clamp_min(torch.finfo(v.dtype).tiny)
    return ((matrix @ v - y).abs().amax() / scale).item()


def _calls(module: nn.Module, args: tuple[Any, ...], kwargs: AnyDict) -> list[_MixerCall]:
    """What mixes in a module, as it runs once more."""
    if (inline := _inline(module)) is not None:
        seen = _SeenValues(inline)
        with seen:
            module.forward(*args, **kwargs)
        if seen.values.ndim != len(inline.values) or seen.output.ndim != len(inline.output):
            return []

        def with_values(v: Tensor) -> Tensor:
            with (other := _SeenValues(inline, _given(v, inline.values))):
                module.forward(*args, **kwargs)
            return _lying(other.output, inline.output)

        return [
            _MixerCall(_lying(seen.values, inline.values), _lying(seen.output, inline.output), with_values)
        ]
    forward, method = _forward(module), _OWN.get(type(module).__name__)
    name, argument, lies = method or (_function(module), *_FUNCTIONS[_function(module)])
    mixes: Any = getattr(module, name) if method else forward.__globals__[name]
    function: Callable[..., Any] = getattr(mixes, "forward", mixes)
    calls: list[_MixerCall] = []

    def watched(*given: Any, **named: Any) -> Any:
        bound = inspect.signature(function).bind(*given, **named)

        def with_values(v: Tensor) -> Tensor:
            bound.arguments[argument] = _given(v, lies)
            return _lying(first(function(*bound.args, **bound.kwargs)), lies)

        output = function(*given, **named)
        calls.append(
            _MixerCall(_lying(bound.arguments[argument], lies), _lying(first(output), lies), with_values)
        )
        return output

    if method:
        forward(_Instead(module, name, watched), *args, **kwargs)
        return calls
    # The forward with another function by that name: nothing of the model or its file is changed.
    globals_ = {**forward.__globals__, name: watched}
    rerun = FunctionType(forward.__code__, globals_, None, forward.__defaults__, forward.__closure__)
    rerun.__kwdefaults__ = forward.__kwdefaults__
    rerun(module, *args, **kwargs)
    return calls


class _SeenValues(TorchFunctionMode):
    """Sees the values and the output of a mixer that is written out, and puts other values in their place."""

    def __init__(self, inline: _Inline, instead: Tensor | None = None) -> None:
        super().__init__()
        self._inline, self._instead = inline, instead
        self.values, self.output = torch.empty(0), torch.empty(0)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation."""
        output = func(*args, **(kwargs or {}))
        if func == self._inline.cut:
            *others, self.values = output
            return (*others, self.values if self._instead is None else self._instead)
        if func == self._inline.join:
            self.output = output
        return output


class _Instead:
    """A module as its forward sees it with another function by a name, and no states of the run before."""

    recurrent_states = None

    def __init__(self, module: nn.Module, name: str, function: Callable[..., Any]) -> None:
        self._module = module
        setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        """What the module has by another name."""
        return getattr(self._module, name)


def _inline(module: nn.Module) -> _Inline | None:
    name = type(module).__name__
    return next((inline for pattern, inline in _WRITTEN_OUT.items() if re.search(pattern, name)), None)


def _function(module: nn.Module) -> str:
    """The function by which a module mixes tokens; empty where there is none that is known."""
    forward = _forward(module)
    names = forward.__code__.co_names if isinstance(forward, FunctionType) else ()
    return next((name for name in _FUNCTIONS if name in names and name in forward.__globals__), "")


def _forward(module: nn.Module) -> Any:
    return inspect.unwrap(type(module).forward)


def _lying(x: Tensor, lies: str) -> Tensor:
    """A tensor as ``[batch head token dim]``."""
    if lies == _HEADS:
        return x.transpose(1, 2)
    return x if lies == _HEADS_FIRST else (x if lies == _CHANNELS else x.transpose(1, 2))[..., None]


def _given(x: Tensor, lies: str) -> Tensor:
    """``[batch head token dim]`` as a mixer takes it."""
    if lies == _HEADS:
        return x.transpose(1, 2).contiguous()
    if lies == _HEADS_FIRST:
        return x
    return x[..., 0] if lies == _CHANNELS else x[..., 0].transpose(1, 2).contiguous()
