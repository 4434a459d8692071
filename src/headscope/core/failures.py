"""What went wrong in code that is not ours, in one line, and how a warning is given."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TypeVar

from headscope.errors import HeadscopeError, HeadscopeWarning, InputError

T = TypeVar("T")

KEPT = 100
"""How many of what may be very many, such as broken lines, are kept; the rest are counted."""

CALLERS = "of the caller's own function"
"""Marks an error that a caller's function raised on its own account, which is the caller's to see."""


class Bounded(list[T]):
    """The first `KEPT` of what may be very many.

    Attributes:
        more: how many there were beside these.

    >>> kept = Bounded[int]()
    >>> for number in range(1_000):
    ...     kept.append(number)
    >>> len(kept), kept.number
    (100, 1000)
    """

    more = 0

    @property
    def number(self) -> int:
        """How many there were."""
        return len(self) + self.more

    def append(self, item: T, /) -> None:
        """Keep one more, or count it."""
        if len(self) < KEPT:
            super().append(item)
        else:
            self.more += 1

    def extend(self, items: Iterable[T], /) -> None:
        """Keep more, or count them."""
        for item in items:
            self.append(item)

    def clear(self) -> None:
        """Forget all of them."""
        super().clear()
        self.more = 0


def expect_call(name: str, function: Callable[..., object], what: str) -> None:
    """Raise `InputError` for a function that cannot be called with one argument."""
    try:
        inspect.signature(function).bind(object())
    except TypeError:
        parameters = str(inspect.signature(function))
        raise InputError(
            f"{name}: expected a function of {what}, found one that takes {parameters}"
        ) from None
    except ValueError:  # built in, with no signature
        pass


def reason(error: BaseException) -> str:
    """Why something failed, in one line."""
    lines = str(error).strip().splitlines() or ["no message"]
    return lines[0] if isinstance(error, HeadscopeError) else f"{type(error).__name__}: {lines[0]}"


def out_of_memory(error: BaseException) -> str | None:
    """One line for an error that says that memory is full, of Python, numpy or torch; None for any other."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError) or "not enough memory" in text or "out of memory" in text:
        detail = text[:300] or "for what was asked"
        return f"not enough memory ({detail}); use smaller batches, fewer inputs or a smaller model"
    return None


@contextmanager
def asked_of(name: str, expected: str) -> Generator[None]:
    """Within it a caller's own function runs: where it fails, an `InputError` says so, with its error as the cause."""
    try:
        yield
    except (HeadscopeError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"{name}: expected {expected}, found one that fails ({reason(error)})") from error


def warn(message: str, stacklevel: int = 2) -> None:
    """Warn, as `HeadscopeWarning`, at the line so many calls up: 1 calls this, 2 the function that does."""
    warnings.warn(message, HeadscopeWarning, stacklevel=stacklevel + 1)
