"""Names of before, taken for one release with a warning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take some keywords by their older names too: ``@renamed(of="objective")``.

    Raises `TypeError` where both names are given, as Python does for an argument given twice.

    >>> @renamed(of="objective")
    ... def number(objective=None):
    ...     return objective
    >>> number(objective="cosine")
    'cosine'
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            keywords: dict[str, Any] = kwargs
            for old, new in names.items():
                if old in keywords:
                    if new in keywords:
                        raise TypeError(f"{function.__name__}() got {new!r} twice: {old!r} is its older name")
                    message = f"{function.__name__}: {old}= is now {new}="
                    warnings.warn(message, DeprecationWarning, stacklevel=2)
                    keywords[new] = keywords.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def unused(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function still be given keywords that say nothing any more: ``@unused("replicates")``.

    >>> @unused("replicates")
    ... def number(seed=0):
    ...     return seed
    >>> number(seed=3)
    3
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            keywords: dict[str, Any] = kwargs
            for name in names:
                if keywords.pop(name, None) is not None:
                    message = f"{function.__name__}: {name}= is no longer used"
                    warnings.warn(message, DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        return call

    return decorate
