"""What several recordings share: who sees what was entered, and what is changed for as long as any of them runs."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Generic, TypeVar, cast

from torch import nn
from torch.utils.hooks import RemovableHandle

from headscope.core.types import AnyDict

T = TypeVar("T")


_MANAGERS = ("contextlib", "_pytest.fixtures")
"""Modules that run a generator up to its yield to make a context of it."""


@dataclass(eq=False)
class _Entry(Generic[T]):
    """What was entered, the thread that did, and the frame of its generator, by its id: of one that is no context."""

    thing: T
    generator: int | None
    thread: int = field(default_factory=threading.get_ident)
    open: bool = True

    @property
    def seen(self) -> bool:
        # A thread that was started with the context has no such frame, whether the generator stands or not.
        elsewhere = self.generator is None or self.thread != threading.get_ident()
        return self.open and (elsewhere or _runs(self.generator))


class Scope(Generic[T]):
    """What this thread or task entered and has not left.

    Others do not see it, save the tasks that it starts meanwhile; nor does the caller of a generator that entered it,
    while that stands at a yield. It can be left in any order, and from anywhere: a generator may be closed by another
    task than the one that began it.
    """

    def __init__(self, name: str) -> None:
        self._entries: ContextVar[tuple[_Entry[T], ...]] = ContextVar(name, default=())

    @contextmanager
    def entered(self, thing: T) -> Generator[None]:
        """Within it `thing` is among what this thread or task sees."""
        entry = _Entry(thing, _generator(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
        try:
            self._entries.set((*self._open(), entry))
            yield
        finally:
            entry.open = False
            self._entries.set(self._open())

    def now(self) -> list[T]:
        """What is entered, the outermost first."""
        return [entry.thing for entry in self._open() if entry.seen]

    def _open(self) -> tuple[_Entry[T], ...]:
        return tuple(entry for entry in self._entries.get() if entry.open)


def _generator(frame: FrameType | None) -> int | None:
    """The frame of the generator that enters a context, by its id; None where a function does."""
    while frame is not None:
        made = frame.f_code.co_flags & inspect.CO_GENERATOR
        caller = frame.f_back
        if made and not (caller is not None and _module(caller) in _MANAGERS):
            return id(frame)
        if not made and _module(frame) not in _MANAGERS:
            return None
        frame = caller
    return None


def _module(frame: FrameType) -> Any:
    return frame.f_globals.get("__name__")


def _runs(generator: int | None) -> bool:
    """Whether a generator's frame is among those at work in this thread: it does not stand at a yield."""
    frame: FrameType | None = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if id(frame) == generator:
            return True
        frame = frame.f_back
    return False


_ABSENT = object()


@dataclass(eq=False)
class _Borrowed:
    owner: Any
    original: Any
    users: set[object] = field(default_factory=set[object])


class Borrowed:
    """An attribute of objects that is set for as long as anyone borrows it.

    The first who borrows it from an object notes what was there, and the last who gives it back restores that,
    whatever their order, task or thread.

    Args:
        name: of the attribute.
        value: what to set, given the object.
    """

    def __init__(self, name: str, value: Callable[[Any], Any]) -> None:
        self._name = name
        self._value = value
        self._borrowed: dict[int, _Borrowed] = {}
        self._lock = (
            threading.RLock()
        )  # an abandoned generator may be closed by the garbage collector at any point

    @contextmanager
    def borrowed(self, owners: Sequence[Any]) -> Generator[None]:
        """Within it the attribute of each of `owners` is set."""
        user = object()
        try:
            with self._lock:
                for owner in owners:
                    self._take(owner, user)
            yield
        finally:
            try:
                self._give_back(owners, user)
            except BaseException:  # Ctrl-C at this very moment
                self._give_back(owners, user)
                raise

    def original(self, owner: Any, default: Any = None) -> Any:
        """What the attribute of an object was before it was borrowed; `default` where nobody borrows it."""
        borrowed = self._borrowed.get(id(owner))
        return default if borrowed is None or borrowed.original is _ABSENT else borrowed.original

    def _take(self, owner: Any, user: object) -> None:
        borrowed = self._borrowed.get(id(owner))
        if borrowed is None:
            borrowed = _Borrowed(owner, _attributes(owner).get(self._name, _ABSENT))
            self._borrowed[id(owner)] = borrowed
        first = not borrowed.users
        borrowed.users.add(user)
        if first:
            _attributes(owner)[self._name] = self._value(owner)

    def _give_back(self, owners: Sequence[Any], user: object) -> None:
        with self._lock:
            for owner in owners:
                borrowed = self._borrowed.get(id(owner))
                if borrowed is None:
                    continue
                borrowed.users.discard(user)
                if not borrowed.users:
                    if borrowed.original is _ABSENT:
                        _attributes(owner).pop(self._name, None)
                    else:
                        _attributes(owner)[self._name] = borrowed.original
                    del self._borrowed[id(owner)]


@contextmanager
def before_forward(module: nn.Module, hook: Callable[..., Any]) -> Generator[None]:
    """Within it `hook` is called before each forward pass of a module.

    Its number is known before it is in place, so that Ctrl-C inside torch's own `register_forward_pre_hook` cannot
    leave a hook that nobody can name. A handle's `remove` would do nothing where the garbage collector closes an
    abandoned generator.
    """
    hooks: dict[int, Any] = vars(module)["_forward_pre_hooks"]
    number = RemovableHandle(hooks).id
    try:
        hooks[number] = hook
        yield
    finally:
        try:
            hooks.pop(number, None)
        except BaseException:  # Ctrl-C at this very moment
            hooks.pop(number, None)
            raise


def _attributes(owner: Any) -> AnyDict:
    return cast("AnyDict", vars(owner))
