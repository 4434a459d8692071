"""Commands of functions that are written for the command line: their parameters are options, or groups of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from headscope.console.functions import check, described, plain, typed
from headscope.errors import InputError


def command(
    function: Callable[..., None], output: str = "", rules: Mapping[str, str] = {}
) -> Callable[..., None]:
    """A function whose parameters of a dataclass are given as the dataclass's own fields, for Typer.

    `output` is what ``-o`` takes, where it is not what its group says; `rules` are those of `expect_together`,
    beside the groups' own.

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
            parameters += parameters_of(groups[name], output)
        else:
            hint = _annotated(hints[name], parameter, plain(docs.get(name, "")))
            parameters.append(parameter.replace(annotation=hint, kind=parameter.KEYWORD_ONLY))

    called = {parameter.name: flag(parameter) for parameter in parameters}
    every: dict[str, str] = {**rules}
    for group in groups.values():
        every.update(getattr(group, "rules", {}))

    @functools.wraps(function)
    def run(**given: Any) -> None:
        typed = [one.name for one in parameters if given[one.name] not in (one.default, None, [])]
        expect_together(typed, every, called)
        for name, group in groups.items():
            given[name] = group(**{option.name: given.pop(option.name) for option in fields(group)})
        for name, value in given.items():
            check(name, value, hints[name])
        function(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del run.__wrapped__  # type: ignore[attr-defined]  # Typer would read the function's own signature
    return run


def expect_together(given: Collection[str], rules: Mapping[str, str], called: Mapping[str, str]) -> None:
    """Raise `InputError` where one of the options that were given lacks another, or excludes it.

    Args:
        given: their names.
        rules: what each needs and, behind a ``-``, excludes: ``{"line": "replay -image"}``.
        called: what each is typed as.
    """
    for name in given:
        for other in rules.get(name, "").split():
            no, there = other.startswith("-"), other.lstrip("-")
            if (there in given) == no:
                found = "both" if no else "none"
                raise InputError(
                    f"{called[name]}: expected {'no ' * no}{called[there]} with it, found {found}"
                )


def parameters_of(group: Any, output: str = "") -> Iterator[inspect.Parameter]:
    """The fields of a group of options, of which ``-o`` may take something else."""
    hints = get_type_hints(group, include_extras=True)
    for option in fields(group):
        hint = hints[option.name]
        if option.name == "output" and output:
            hint = Annotated[get_args(hint)[0], typer.Option("-o", "--output", help=output)]
        yield inspect.Parameter(
            option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=hint
        )


def written(group: Any) -> dict[str, str]:
    """What was typed of a group, by the names of its options; a flag has an empty text."""
    options: dict[str, str] = {}
    for parameter in parameters_of(type(group)):
        value = getattr(group, parameter.name)
        if (name := flag(parameter)).startswith("-") and value != parameter.default:
            options[name] = "" if value is True else str(value)
    return options


def flag(parameter: inspect.Parameter) -> str:
    """What is typed for a parameter: the first name of an option, or what stands for a place in the usage."""
    (option,) = parameter.annotation.__metadata__
    if isinstance(option, ArgumentInfo):
        return str(option.metavar)
    return (names_of(option) or [f"--{parameter.name.replace('_', '-')}"])[0].split("/")[0]


def names_of(option: OptionInfo) -> list[str]:
    """The names by which an option is typed, where its annotation says so; Typer takes the first for its default."""
    declared: list[Any] = [option.default, *(option.param_decls or ())]
    return [name for name in declared if isinstance(name, str) and name.startswith("-")]


def _annotated(hint: Any, parameter: inspect.Parameter, text: str) -> Any:
    """What Typer reads: an annotation of its own, which only lacks what is said of it, or one of the type."""
    for annotation in getattr(hint, "__metadata__", ()):
        if isinstance(annotation, ArgumentInfo | OptionInfo):
            filled = copy(annotation)
            filled.help = annotation.help or text
            return Annotated[get_args(hint)[0], filled]
    if parameter.kind is parameter.KEYWORD_ONLY:
        kind, option = made(hint, text, parameter.name)
    else:
        kind, option = typed(hint)[0], typer.Argument(help=text, metavar=parameter.name.upper())
    return Annotated[kind | None if parameter.default is None else kind, option]


def made(hint: Any, text: str, name: str, repeatable: bool = False, **more: Any) -> tuple[Any, OptionInfo]:
    """What Typer reads for an annotation, and an option of this name; a list is typed as ``A,B``, or is repeatable."""
    kind, bounds = typed(hint, repeatable=repeatable)
    flag = f"--{name.replace('_', '-')}" if len(name) > 1 else f"-{name}"
    several = " Repeatable." if get_origin(kind) is list else ""
    return kind, typer.Option(flag, help=text + several, **{**bounds, **more})
