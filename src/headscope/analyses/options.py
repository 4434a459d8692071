"""The options of runs (`headscope.runs.options.RunOptions`) as keyword arguments of the functions that take them.

A function says which it takes in the type of ``**options``::

    @with_options(batch_size=16)
    def models(a: Model, b: Model, corpus: Corpus, **options: Unpack[Reading]) -> Models:
        through = RunOptions(**options)
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from types import SimpleNamespace
from typing import Any, ParamSpec, TypedDict, TypeVar, cast, get_args, get_type_hints

from headscope.core.types import AnyPath
from headscope.core.validation import Count, validated
from headscope.runs.options import RunOptions

P = ParamSpec("P")
R = TypeVar("R")


class ShownOptions(TypedDict, total=False):
    """Options of any run."""

    progress: bool


class Stepping(ShownOptions, total=False):
    """Options of what is resumed and split."""

    resume: AnyPath | None
    shard: str | None
    part: AnyPath | None
    engine: Any


class Through(ShownOptions, total=False):
    """Options of what goes through a corpus here."""

    batch_size: Count
    limit: Count | None


class CorpusOptions(Through, total=False):
    """Options of what goes through a corpus wherever it is worked on."""

    engine: Any


class Resumed(CorpusOptions, total=False):
    """Options of what can be resumed as well."""

    resume: AnyPath | None


class BatchOptions(Stepping, Through, total=False):
    """Options of what is resumed and split, in batches."""


class BlockOptions(BatchOptions, total=False):
    """Options of what adds up block by block: all `RunOptions`."""

    skip_failures: bool


def with_options(**defaults: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take its ``**options`` as keyword arguments, checked as `validated` does.

    Each has the default of `RunOptions`, or that of `defaults`, which the function is then given; `inspect.signature`
    lists them, and those that the docstring does not describe are described at the end of its ``Args``.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        *first, rest = signature.parameters.values()
        typed = SimpleNamespace(__annotations__={rest.name: rest.annotation})
        (kind,) = get_args(get_type_hints(typed, function.__globals__)[rest.name])
        hints = get_type_hints(kind, include_extras=True)
        known = [option for option in fields(RunOptions) if option.name in hints]
        filled = {option.name: option.default for option in known} | defaults

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if unknown := next((name for name in kwargs if name not in listed.parameters), None):
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument {unknown!r}")
            return cast(Any, function)(*args, **{**filled, **kwargs})

        named = [
            inspect.Parameter(
                option.name, rest.KEYWORD_ONLY, default=filled[option.name], annotation=option.type
            )
            for option in known
        ]
        listed = signature.replace(parameters=[*first, *named])
        annotations = {**function.__annotations__, **hints}
        del annotations[rest.name]
        vars(call).update(__signature__=listed)
        call.__annotations__, call.__doc__ = annotations, _described(function.__doc__, hints)
        return validated(call)

    return decorate


_ENTRY = re.compile(r"^ {8}(\w[\w, ]*):.*\n(?:^ {9,}.*\n)*", re.MULTILINE)


def _described(text: str | None, names: Iterable[str]) -> str | None:
    """A docstring, with the options that it does not describe at the end of its ``Args``."""
    entries = re.search(r"^ {4}Args:\n(?:^(?: {8}.*)?\n)*?(?=^\s*$)", text or "", re.MULTILINE)
    if text is None or entries is None:
        return text
    there = {name for entry in _ENTRY.finditer(entries[0]) for name in entry[1].split(", ")}
    about = {entry[1]: entry[0] for entry in _ENTRY.finditer(RunOptions.__doc__ or "")}
    more = "".join(about[name] for name in about if name in names and name not in there)
    return text[: entries.end()] + more + text[entries.end() :]
