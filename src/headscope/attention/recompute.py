"""Gradients of a large model: what a layer needs for the way back is made again, one layer at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.utils import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from headscope.attention.record import AttentionRecord, Hook
from headscope.attention.scope import Borrowed, Scope

_torch: Any = checkpoint


@dataclass(eq=False)
class _LayerCall:
    """One call of a layer: what the hook answered when it ran first, to be given again."""

    answers: list[Tensor | None] = field(default_factory=list[Tensor | None])
    runs: int = 0
    place: int = 0


_call: ContextVar[_LayerCall | None] = ContextVar("headscope_layer_call", default=None)
_users: Scope[nn.Module] = Scope("headscope_layers_again")


@contextmanager
def layers_again(model: nn.Module, hook: Hook) -> Generator[Hook]:
    """Within it each layer keeps what it was given and no more, and runs again on the way back, to the same digits.

    Gives the hook to record with: it calls `hook` on the first run of a layer, and repeats its answers on the second.
    The backward pass must run within it. A model whose layers are not known to transformers, or lie on several devices
    or on disk, runs as it is.
    """
    hooks = [hook]

    def once(record: AttentionRecord) -> Tensor | None:
        call = _call.get()
        if call is None:
            return hooks[0](record)
        if call.runs == 1:
            call.answers.append(hooks[0](record))
        call.place += 1
        return call.answers[call.place - 1]

    spread = any(hasattr(part, "_hf_hook") for part in model.modules())
    with _forward.borrowed([] if spread else list(_layers(model))), _users.entered(model):
        try:
            yield once
        finally:
            hooks.clear()  # the graph holds the context of the pass: what the hook kept of the graph would never go


def _layers(part: nn.Module) -> Iterator[nn.Module]:
    """The outermost layers."""
    for child in part.children():
        if isinstance(child, GradientCheckpointingLayer):
            yield child
        else:
            yield from _layers(child)


def _remade(layer: nn.Module) -> Callable[..., Any]:
    """The forward function of a layer, as a checkpoint for whoever entered `layers_again`."""
    forward = layer.forward

    def run(*given: Any, **named: Any) -> Any:
        if not _users.now():
            return forward(*given, **named)
        call = _LayerCall()

        def work(*given: Any, **named: Any) -> Any:
            call.runs, call.place = call.runs + 1, 0
            return forward(*given, **named)

        context = copy_context()  # on a GPU the way back is another thread's
        context.run(_call.set, call)
        return _torch.checkpoint(partial(context.run, work), *given, use_reentrant=False, **named)

    return run


_forward = Borrowed("forward", _remade)
