"""Recording a model's attention by whichever way in it has."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, cast

from torch import Tensor, nn
from transformers.cache_utils import Cache

from headscope.attention.convolutions import Middles
from headscope.attention.interface import supports, through_interface
from headscope.attention.record import Hook, Route
from headscope.attention.scope import Borrowed, Scope, before_forward
from headscope.attention.trace import traced
from headscope.core.types import AnyDict, AnyMapping
from headscope.models.rotary import remembered

edits: Scope[Hook] = Scope("headscope_edits")
"""Changes of weights: within one, rows of what is captured need not sum to 1."""

read: Scope[Mapping[str, Tensor]] = Scope("headscope_read")
"""What a module takes as it runs: its masks say which positions are padding."""

_training = Borrowed("training", lambda module: False)
_nested = Borrowed("use_nested_tensor", lambda module: False)
"""PyTorch's encoder packs what is not padding, and fills the rest of its output with zeros, as no other way does."""
_stance = Borrowed("_stance", lambda compiler: compiler.DynamoStance("force_eager"))
"""What torch.compiler.set_stance sets, which would have to be ended in the order in which it was begun."""


def route(model: nn.Module) -> Route:
    """Which way in a model has: transformers' attention interface, or the trace of its operations."""
    return "interface" if supports(model) else "trace"


@contextmanager
def recording(model: nn.Module, hook: Hook, *, fused: bool = False) -> Generator[None]:
    """Within it, every attention call of the model by this thread or task is shown to `hook`.

    Several may record a model at once, and end in any order: none sees the calls of another thread or task, save
    of tasks that it started itself. When the last one ends, the model is exactly as it was found.

    Args:
        model: any module; see `route`.
        hook: gets each `AttentionRecord`; a tensor ``[batch head query key]`` that it returns takes the place of
            the weights.
        fused: let a model on the interface run its fused kernel: its records have no `given` weights, and memory
            stays linear in length. A traced model runs as it is.
    """
    with evaluating(model), Hooks() as hooks:
        hook = Middles(model, hook).watch(hooks.before)
        way = (
            through_interface(model, hook, fused=fused)
            if route(model) == "interface"
            else traced(model, hook)
        )
        with way:
            yield


def afresh(args: tuple[Any, ...], kwargs: AnyMapping) -> tuple[tuple[Any, ...], AnyDict]:
    """What a module is given that runs once more: no keys, values and states of the run before."""
    without = {name: None if isinstance(arg, Cache) else arg for name, arg in kwargs.items()}
    return tuple(None if isinstance(arg, Cache) else arg for arg in args), without


class Enough(BaseException):
    """Ends a pass."""


class Hooks(ExitStack):
    """Hooks of modules that see what this thread runs alone, and are gone behind it."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def before(self, module: nn.Module, hook: Callable[..., Any]) -> None:
        """Show a hook what a module is given; what it returns, ``(args, kwargs)``, takes its place."""
        self.callback(module.register_forward_pre_hook(self._mine(hook), with_kwargs=True).remove)

    def after(self, module: nn.Module, hook: Callable[..., Any]) -> None:
        """Show a hook what a module is given and gives; what it returns takes the place of that."""
        self.callback(module.register_forward_hook(self._mine(hook), with_kwargs=True).remove)

    def on_entry(self, module: nn.Module, change: Callable[[Any], Any]) -> None:
        """Show what a module is given first, such as the stream; what is returned takes its place, None leaves it."""

        def enter(_: nn.Module, args: tuple[Any, ...], kwargs: AnyDict) -> Any:
            new = change(entered(args, kwargs))
            return None if new is None else entering(new, args, kwargs)

        self.before(module, enter)

    def on_exit(self, module: nn.Module, change: Callable[[Any], Any]) -> None:
        """Show what a module gives, without what it gives beside that; what is returned takes its place."""

        def leave(_: nn.Module, __: Any, ___: Any, output: Any) -> Any:
            new = change(first(output))
            return None if new is None else with_first(output, new)

        self.after(module, leave)

    def _mine(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: hook(*given) if threading.get_ident() == self._thread else None


def entered(args: tuple[Any, ...], kwargs: AnyMapping) -> Any:
    """The stream that a layer is given."""
    return args[0] if args else kwargs.get("hidden_states")


def entering(stream: Tensor, args: tuple[Any, ...], kwargs: AnyDict) -> tuple[Any, Any]:
    """What a layer is given, with another stream."""
    return ((stream, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": stream})


def first(output: Any) -> Any:
    """What a module gives, without what it gives beside that."""
    return cast("list[Any]", output)[0] if isinstance(output, (tuple, list)) else output


def with_first(output: Any, instead: Tensor) -> Any:
    """What a module gives, with this in the place of the first of it."""
    if not isinstance(output, (tuple, list)):
        return instead
    return type(cast("Any", output))((instead, *cast("list[Any]", output)[1:]))


@contextmanager
def evaluating(model: nn.Module) -> Generator[None]:
    """Within it a model is in evaluation mode (no dropout), and what torch.compile made runs as it was written.

    It reads each input as if it had read none before. Afterwards every module is as it was, and compiled code runs
    again.
    """
    compiler, modules = sys.modules.get("torch._dynamo.eval_frame"), list(model.modules())
    with (
        _training.borrowed(modules),
        _nested.borrowed([module for module in modules if isinstance(module, nn.TransformerEncoder)]),
        _stance.borrowed([] if compiler is None else [compiler]),
        ExitStack() as passes,
    ):
        for module, forget, remember in remembered(modules):
            passes.callback(remember)
            passes.enter_context(before_forward(module, forget))
        yield
