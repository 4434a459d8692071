"""Groups of options: a command names a group once, and takes all its options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A function whose parameters of a dataclass are given as the dataclass's own fields, for Typer.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Pair:
    ...     a: int = 1
    ...     b: int = 2
    >>> def show(pair: Pair) -> None:
    ...     print(pair)
    >>> command(show)(a=3, b=2)
    Pair(a=3, b=2)
    """
    hints = get_type_hints(function, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if inspect.isclass(hint) and is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))
            continue
        kinds = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                each.name, parameter.KEYWORD_ONLY, default=each.default, annotation=kinds[each.name]
            )
            for each in fields(groups[name])
        ]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        function(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del run.__wrapped__  # type: ignore[attr-defined]  # Typer would read the function's own signature
    return run
