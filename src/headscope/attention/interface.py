"""The first way in: transformers' own attention interface.

A model that takes its attention function from the interface is switched to ours, together with the mask function that
belongs to it (without one, transformers drops the causal and padding masks). Ours calls the model file's own
``eager_attention_forward``, so softcaps, sinks and biases stay the model's.

Registration is global in the process; the names are ours alone, and what is recorded hangs on a context variable, so
other models and threads see nothing of it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel, masking_utils
from transformers.integrations import sdpa_attention

from headscope.attention.places import Places
from headscope.attention.record import AttentionRecord, Hook, shaped
from headscope.errors import RefusedError

_functions: Any = AttentionInterface
_masks: Any = AttentionMaskInterface
_masking: Any = masking_utils
_sdpa: Any = sdpa_attention

WHOLE, FUSED = "headscope", "headscope_fused"


@dataclass(frozen=True, eq=False)
class _Recording:
    places: Places
    modules: frozenset[nn.Module]
    hook: Hook
    fused: bool


_active: ContextVar[tuple[_Recording, ...]] = ContextVar("headscope_recordings", default=())
_lock = threading.Lock()
_users = 0


def supports(model: nn.Module) -> bool:
    """Whether all of a model's attention goes through transformers' attention interface."""
    parts = [part for part in model.modules() if isinstance(part, PreTrainedModel)]
    return bool(parts) and all(part._can_set_attn_implementation() for part in parts)  # pyright: ignore[reportPrivateUsage]


@contextmanager
def through_interface(model: nn.Module, hook: Hook, *, fused: bool = False) -> Generator[None]:
    """Within it, every attention call of the model is shown to `hook`.

    Args:
        model: a model that `supports` accepts.
        hook: gets each `AttentionRecord`; a tensor that it returns takes the place of the weights.
        fused: let the model run its fused kernel; records then have no `given` weights.

    The model is left exactly as it was found, also after an exception.
    """
    outer = _active.get()
    modules = frozenset(model.modules())
    fused = fused and not any(not other.fused and other.modules & modules for other in outer)
    places = Places(model)
    configs = _configs(model)

    def begin(*_: Any) -> None:
        places.begin()

    handle = model.register_forward_pre_hook(begin)
    token = _active.set((*outer, _Recording(places, modules, hook, fused)))
    try:
        with _registered():
            for part in _roots(model):
                part.set_attn_implementation(FUSED if fused else WHOLE)  # pyright: ignore[reportUnknownMemberType]
            yield
    finally:
        _active.reset(token)
        handle.remove()
        for config, implementation in configs:
            config._attn_implementation_internal = implementation


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """The attention function that forms the weights."""
    out, weights = _own_eager(type(module))(module, query, key, value, attention_mask, **options)
    for recording in _active.get():
        if module in recording.modules:
            record = _record(recording, module, query, key, value, attention_mask, options)
            record.given = weights
            answer = recording.hook(record)
            if answer is not None:
                weights = shaped(answer, record)
                out = _context(record, weights)
    return out, weights


def _fused_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """The attention function that never forms the map."""
    hooks: list[tuple[Hook, AttentionRecord]] = []
    causal = options.get("is_causal")  # the rule of transformers' own function for scaled dot products
    causal = bool(getattr(module, "is_causal", True) if causal is None else causal)
    for recording in _active.get():
        if module in recording.modules:
            record = _record(recording, module, query, key, value, attention_mask, options)
            record.is_causal = causal and attention_mask is None and query.shape[2] > 1
            hooks.append((recording.hook, record))
    if options.get("softcap") is None and options.get("s_aux") is None:
        out, _ = _sdpa.sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    else:  # no fused kernel has these: by blocks of queries
        record = hooks[0][1]
        parts = [weights.to(value.dtype) @ record.values for _, weights in record.blocks()]
        out = torch.cat(parts, 2).transpose(1, 2).contiguous()
    for hook, record in hooks:
        answer = hook(record)
        if answer is not None:
            out = _context(record, shaped(answer, record))
    return out, None


def _record(
    recording: _Recording,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    options: dict[str, Any],
) -> AttentionRecord:
    scaling = options.get("scaling")
    return AttentionRecord(
        **recording.places.of(module)._asdict(),
        q=query,
        k=key,
        v=value,
        scaling=float(scaling) if scaling is not None else query.shape[-1] ** -0.5,
        mask=mask,
        bias=options.get("position_bias"),
        softcap=options.get("softcap") or None,
        sinks=options.get("s_aux"),
    )


def _context(record: AttentionRecord, weights: Tensor) -> Tensor:
    return (weights.to(record.values.dtype) @ record.values).transpose(1, 2).contiguous()


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


def _roots(model: nn.Module) -> list[PreTrainedModel]:
    """The outermost transformers models: setting one sets all within it."""
    if isinstance(model, PreTrainedModel):
        return [model]
    return [root for child in model.children() for root in _roots(child)]


def _configs(model: nn.Module) -> list[tuple[Any, str | None]]:
    """Every configuration in a model, with the attention it names now."""
    configs: dict[int, Any] = {}
    waiting = [part.config for part in model.modules() if isinstance(part, PreTrainedModel)]
    while waiting:
        config = waiting.pop()
        if config is not None and id(config) not in configs:
            configs[id(config)] = config
            waiting += [getattr(config, name, None) for name in getattr(config, "sub_configs", {})]
    return [(config, config._attn_implementation_internal) for config in configs.values()]


@contextmanager
def _registered() -> Generator[None]:
    global _users
    with _lock:
        if _users == 0:
            _functions.register(WHOLE, _attention)
            _masks.register(WHOLE, _masking.eager_mask)
            _functions.register(FUSED, _fused_attention)
            _masks.register(FUSED, _masking.sdpa_mask)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                for name in (WHOLE, FUSED):
                    _functions._global_mapping.pop(name, None)
                    _masks._global_mapping.pop(name, None)
