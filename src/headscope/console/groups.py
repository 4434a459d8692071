"""Commands of functions that are written for the command line: their parameters are options, or groups of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from headscope.console.functions import check, described, plain, typed


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A function whose parameters of a dataclass are given as the dataclass's own fields, for Typer.

    The docstring says what each of the others is. What has no annotation of Typer's is given by its place or, behind
    the ``*``, as an option of its name.

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
    docs = described(inspect.getdoc(function) or "")
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters += parameters_of(groups[name])
        else:
            hint = _annotated(hints[name], parameter, plain(docs.get(name, "")))
            parameters.append(parameter.replace(annotation=hint, kind=parameter.KEYWORD_ONLY))

    @functools.wraps(function)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        for name, value in given.items():
            check(name, value, hints[name])
        function(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del run.__wrapped__  # type: ignore[attr-defined]  # Typer would read the function's own signature
    return run


def parameters_of(group: Any) -> Iterator[inspect.Parameter]:
    """The fields of a group of options."""
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        yield inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name]
        )


def written(group: Any) -> dict[str, str]:
    """What was typed of a group, by the names of its options; a flag has an empty text."""
    options: dict[str, str] = {}
    for each in parameters_of(type(group)):
        value, (option,) = getattr(group, each.name), each.annotation.__metadata__
        if isinstance(option, OptionInfo) and value != each.default:
            names = names_of(option) or [f"--{each.name.replace('_', '-')}"]
            options[names[0].split("/")[0]] = "" if value is True else str(value)
    return options


def names_of(option: OptionInfo) -> list[str]:
    """By what an option is typed, where its annotation says so; Typer takes the first for its default."""
    said: list[Any] = [option.default, *(option.param_decls or ())]
    return [name for name in said if isinstance(name, str) and name.startswith("-")]


def _annotated(hint: Any, parameter: inspect.Parameter, said: str) -> Any:
    """What Typer reads: an annotation of its own, which only lacks what is said of it, or one of the type."""
    for own in getattr(hint, "__metadata__", ()):
        if isinstance(own, ArgumentInfo | OptionInfo):
            filled = copy(own)
            filled.help = own.help or said
            return Annotated[get_args(hint)[0], filled]
    kind, more = typed(hint)
    name = parameter.name
    if parameter.kind is parameter.KEYWORD_ONLY:
        made: Any = typer.Option(f"--{name.replace('_', '-')}", help=said, **more)
    else:
        made = typer.Argument(help=said, metavar=name.upper())
    return Annotated[kind | None if parameter.default is None else kind, made]
