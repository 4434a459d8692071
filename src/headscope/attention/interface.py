"""The first way in: transformers' own attention interface.

A model that takes its attention function from the interface is switched to ours, together with the mask function that
belongs to it (without one, transformers drops the causal and padding masks). Ours calls the model file's own
``eager_attention_forward``, so softcaps, sinks and biases stay the model's.

A model is switched for as long as anyone records it. What is recorded hangs on the thread and the task: for all others
a switched model runs the attention that it was found with. The name stays registered, so that a call that is
under way when the last recording ends still finds its functions.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.configuration_utils import PreTrainedConfig
from transformers.integrations import sdpa_attention

from headscope.attention.record import AttentionRecord, Hook, answered
from headscope.attention.scope import Borrowed, Scope, before_forward
from headscope.attention.watch import Places
from headscope.core.types import AnyDict
from headscope.errors import RefusedError
from headscope.models.weights import main_device

_functions: Any = AttentionInterface
_masks: Any = AttentionMaskInterface
_sdpa: Any = sdpa_attention

NAME = "headscope"


@dataclass(frozen=True, eq=False)
class _Recording:
    places: Places
    modules: frozenset[nn.Module]
    configs: Sequence[Any]
    hook: Hook
    fused: bool
    home: torch.device
    """On which the hook gets all calls, wherever the layers of a model are."""


class _Name(str):
    """What a switched model's attention is called: ours, and equal to the name of what will run.

    Some models ask for ``eager`` or ``sdpa`` by name, and hide keys themselves then (DeepSeek-V3.2's top keys); of
    another name they expect that it does. To GPT-2 with `reorder_and_upcast_attn`, which leaves the interface when it
    is eager, it is not. Nor is it to who asks whether it is another one: files of a hub's models do so to take the
    interface.
    """

    config: Any = None

    def __eq__(self, other: object) -> bool:
        if str.__eq__(self, other) is True:
            return True
        return not getattr(self.config, "reorder_and_upcast_attn", False) and other == _running(self.config)

    __ne__ = str.__ne__
    __hash__ = str.__hash__


def _named(config: Any) -> _Name:
    name = _Name(NAME)
    name.config = config
    return name


_recordings: Scope[_Recording] = Scope("headscope_recordings")
_implementation = Borrowed("_attn_implementation_internal", _named)


def supports(model: nn.Module) -> bool:
    """Whether all of a model's attention goes through transformers' attention interface."""
    parts = [part for part in model.modules() if isinstance(part, PreTrainedModel)]
    return bool(parts) and all(part._can_set_attn_implementation() for part in parts)  # pyright: ignore[reportPrivateUsage]


@contextmanager
def through_interface(model: nn.Module, hook: Hook, *, fused: bool = False) -> Generator[None]:
    """Within it, every attention call of the model by this thread or task is shown to `hook`.

    Args:
        model: a model that `supports` accepts.
        hook: gets each `AttentionRecord`; a tensor that it returns takes the place of the weights.
        fused: let the model run its fused kernel; records then have no `given` weights.

    When the last recording has ended, in whatever order, the model is exactly as it was found, also after an exception.
    """
    places, configs = Places(model), _configs(model)
    recording = _Recording(places, frozenset(model.modules()), configs, hook, fused, main_device(model))

    def begin(module: nn.Module, *_: Any) -> None:
        if recording in _recordings.now():
            (places.begin if module is model else places.begin_alone)()

    with ExitStack() as hooks:
        for part in dict.fromkeys((model, *_run_alone(model))):
            hooks.enter_context(before_forward(part, begin))
        hooks.enter_context(_implementation.borrowed(configs))
        hooks.enter_context(_recordings.entered(recording))
        yield


def _run_alone(model: nn.Module) -> Generator[nn.Module]:
    """The parts of a model that are run without the rest where no more is wanted: its backbone, its encoder."""
    base: Any = getattr(model, "base_model", None)
    for part in (base, getattr(base, "encoder", None)):
        if isinstance(part, nn.Module):
            yield part


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """The attention function of a switched model."""
    recordings = [recording for recording in _recordings.now() if module in recording.modules]
    if not recordings:
        attention = _functions().get_interface(
            _original(getattr(module, "config", None)), _own_eager(type(module))
        )
        return attention(module, query, key, value, attention_mask, **options)
    fused = all(recording.fused for recording in recordings)
    repeated, weights = _last.weights(module, query, key)
    if weights is not None:
        return _product(weights, value), weights
    if repeated and fused:
        return _sdpa.sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    out: Any = None
    given = module, query, key, value, attention_mask, options
    records = [_record(recording, *given, fused=fused) for recording in recordings]
    if not fused:
        out, weights = _own_eager(type(module))(module, query, key, value, attention_mask, **options)
        if options.get("s_aux") is not None:
            out, weights = _with_sinks(records[0], out, weights)
    for recording, record in zip(recordings, records, strict=True):
        record.given = weights
        seen, answer = answered(recording.hook, record, recording.home)
        if answer is not None:
            weights = answer
            out = _product(weights, value)
        elif weights is None and seen.output is not None:
            out = seen.output.to(query).transpose(1, 2).contiguous()
    if out is None and options.get("softcap") is None and options.get("s_aux") is None:
        out, _ = _sdpa.sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    elif out is None:  # no fused kernel has these: by blocks of queries
        parts = [part.to(value.dtype) @ records[0].values for _, part in records[0].blocks()]
        out = torch.cat(parts, 2).transpose(1, 2).contiguous()
    _last.note(module, query, key, weights)
    return out, weights


class _Last(threading.local):
    """The last call, as long as its queries and keys live: of each thread its own."""

    call: Sequence[weakref.ref[Any]] = ()
    used: weakref.ref[Tensor] | None = None

    def note(self, module: nn.Module, query: Tensor, key: Tensor, weights: Tensor | None) -> None:
        """Note a call and the weights that it returned."""
        self.call = [weakref.ref(thing) for thing in (module, query, key)]
        self.used = None if weights is None else weakref.ref(weights)

    def weights(self, module: nn.Module, query: Tensor, key: Tensor) -> tuple[bool, Tensor | None]:
        """Whether a call has the last one's queries and keys (DiffLlama: for other values), and its weights."""
        now = (module, query, key)
        repeated = bool(self.call) and all(then() is one for then, one in zip(self.call, now, strict=True))
        return repeated, self.used() if repeated and self.used is not None else None


_last = _Last()


def _mask(*sizes: Any, config: Any = None, **options: Any) -> Any:
    """The mask function of a switched model: that of the attention which `_attention` will run."""
    mask = _masks().get(_running(config))  # a custom attention without a mask function gets no mask
    return None if mask is None else mask(*sizes, config=config, **options)


def _running(config: Any) -> str:
    """The attention that `_attention` will run for a configuration."""
    recordings = [
        recording
        for recording in _recordings.now()
        if any(config is switched for switched in recording.configs)
    ]
    if not recordings:
        return _original(config)
    return "sdpa" if all(recording.fused for recording in recordings) else "eager"


_functions.register(NAME, _attention)
_masks.register(NAME, _mask)


def _original(config: Any) -> str:
    """The attention that a switched model was found with. A copy of a switched model has eager attention."""
    name = _implementation.original(config)
    return "eager" if name is None or isinstance(name, _Name) else name


def _record(
    recording: _Recording,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    options: AnyDict,
    *,
    fused: bool,
) -> AttentionRecord:
    scaling, place = options.get("scaling"), recording.places.of(module, query)
    causal = options.get("is_causal")  # the rule of transformers' own function for scaled dot products
    causal = bool(getattr(module, "is_causal", True) if causal is None else causal)
    return AttentionRecord(
        **place._asdict(),
        q=query,
        k=key,
        v=value,
        scaling=float(scaling) if scaling is not None else query.shape[-1] ** -0.5,
        mask=mask,
        is_causal=fused and causal and mask is None and query.shape[2] > 1,
        bias=options.get("position_bias"),
        softcap=options.get("softcap") or None,
        sinks=options.get("s_aux"),
        key_offset=recording.places.offset(place, query.shape[2], key.shape[2]),
    )


def _product(weights: Tensor, value: Tensor) -> Tensor:
    """What values give by weights, ``[batch query head dim]``."""
    groups = weights.shape[1] // value.shape[1]
    values = value if groups == 1 else value.repeat_interleave(groups, 1)
    return (weights.to(values.dtype) @ values).transpose(1, 2).contiguous()


def _with_sinks(record: AttentionRecord, out: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """An output and the weights that make it of the values.

    Some files (Granite's) scale the output by what sinks leave, and give weights as if there were none.
    """
    scaled = weights * record.recompute().sum(-1, keepdim=True).to(weights.dtype)
    made = [_product(of, record.values) for of in (weights, scaled)]
    as_given, as_scaled = ((context - out).abs().max() for context in made)
    return (made[1], scaled) if as_scaled < as_given else (out, weights)


@cache
def _own_eager(kind: type[nn.Module]) -> Callable[..., tuple[Tensor, Tensor]]:
    """The eager attention of the file that a module's class, or the nearest of its parents, comes from."""
    files: list[Any] = [sys.modules.get(parent.__module__) for parent in kind.__mro__]
    for file in files:
        eager: Any = getattr(file, "eager_attention_forward", None)
        if callable(eager):
            return eager  # pyright: ignore[reportReturnType]
    for file in files:  # some files have one each for text and vision
        names: list[str] = [name for name in dir(file) if name.endswith("eager_attention_forward")]
        if names:
            return getattr(file, names[0])
    raise RefusedError(
        f"{kind.__name__}: its file has no eager_attention_forward, so its attention cannot be followed"
    )


def _configs(model: nn.Module) -> list[Any]:
    """Every configuration in a model: that of a pair's encoder is another object in its layers than in the pair."""
    configs: dict[int, Any] = {}
    waiting = [
        part.config for part in model.modules() if isinstance(getattr(part, "config", None), PreTrainedConfig)
    ]
    while waiting:
        config = waiting.pop()
        if config is not None and id(config) not in configs:
            configs[id(config)] = config
            waiting += [getattr(config, name, None) for name in getattr(config, "sub_configs", {})]
    return list(configs.values())
