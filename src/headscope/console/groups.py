"""Commands of functions that are written for the command line: their parameters are options, or groups of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from headscope.console.functions import check, described, metavars, plain, typed
from headscope.console.options import AnswerOptions, CheckpointOptions, TriedOptions, tell
from headscope.errors import InputError


def command(
    function: Callable[..., None], output: str = "", rules: Mapping[str, str] = {}
) -> Callable[..., None]:
    """A function whose parameters of a dataclass are given as the dataclass's own fields, for Typer.

    `output` is what ``-o`` takes, where it is not what its group says; `rules` are those of `expect_together`,
    before the groups' own.

    Every command has ``--json`` (`headscope.console.answer`), and one that loads a model and makes no estimate of its
    own ``--estimate``, by a trial.

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
    doc = inspect.getdoc(function) or ""
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters += parameters_of(groups[name], output)
        else:
            parameters.append(_option(parameter, hints[name], doc))

    runs = any(issubclass(group, CheckpointOptions) for group in groups.values())
    tried = runs and not {"estimate", "port"} & {*hints}
    shared = parameters_of(TriedOptions if tried else AnswerOptions)

    called = {parameter.name: flag(parameter) for parameter in parameters}
    every: dict[str, str] = {}
    for group in groups.values():
        every.update(getattr(group, "rules", {}))
    every.update(rules)

    @functools.wraps(function)
    def run(**given: Any) -> None:
        estimate = [given.pop(one.name, False) for one in shared][1:] == [True]
        typed = [one.name for one in parameters if given[one.name] not in (one.default, None, [])]
        expect_together(typed, every, called)
        if estimate:
            given.update((name, None) for name in ("resume", "shard") if name in given)
        for name, group in groups.items():
            given[name] = group(**{option.name: given.pop(option.name) for option in fields(group)})
        for name, value in given.items():
            check(name, value, hints[name])
        if estimate:
            from headscope.runs.estimate import tried as estimated

            tell(estimated(lambda: function(**given)))
        else:
            function(**given)

    taken = [*parameters, *shared]
    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
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
                state = "both" if no else "none"
                raise InputError(
                    f"{called[name]}: expected {'no ' * no}{called[there]} with it, found {state}"
                )


@functools.cache
def parameters_of(group: Any, output: str = "") -> Sequence[inspect.Parameter]:
    """The fields of a group of options, of which ``-o`` may take something else."""
    hints = get_type_hints(group, include_extras=True)
    doc = "\n".join(inspect.cleandoc(kind.__doc__ or "") for kind in group.__mro__)
    kind = inspect.Parameter.KEYWORD_ONLY
    made = [
        _option(inspect.Parameter(one.name, kind, default=one.default), hints[one.name], doc)
        for one in fields(group)
    ]
    for one in made if output else ():
        if one.name == "output":
            one.annotation.__metadata__[0].help = output
    return made


def written(group: Any) -> dict[str, str]:
    """What was typed of a group, by the names of its options; a flag has an empty text."""
    options: dict[str, str] = {}
    kind = group.__class__
    for parameter in parameters_of(kind):
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


def _option(parameter: inspect.Parameter, hint: Any, doc: str) -> inspect.Parameter:
    """What Typer reads: an annotation of its own, which only lacks what is said of it, or one of the type."""
    name, text = parameter.name, plain(described(doc).get(parameter.name, ""))
    typers = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, ArgumentInfo | OptionInfo)]
    if typers:
        kind, option = get_args(hint)[0], copy(typers[0])
        option.help = option.help or text
    elif parameter.kind is parameter.KEYWORD_ONLY:
        kind, option = made(hint, text, name, repeatable=True, metavar=metavars(doc).get(name))
    else:
        kind, _ = typed(hint, repeatable=True)
        option = typer.Argument(help=text, metavar=metavars(doc).get(name, name.upper()))
    kind = kind | None if parameter.default is None else kind
    return parameter.replace(annotation=Annotated[kind, option], kind=parameter.KEYWORD_ONLY)


def made(
    hint: Any, text: str, name: str, *, repeatable: bool = False, metavar: str | None = None
) -> tuple[Any, OptionInfo]:
    """What Typer reads for an annotation, and an option of this name; a list is typed as ``A,B``, or is repeatable."""
    kind, more = typed(hint, repeatable=repeatable)
    more |= {"metavar": metavar} if metavar else {}
    flags = [f"--{name.replace('_', '-')}" if len(name) > 1 else f"-{name}"]
    flags = ["-o", *flags] if name == "output" else flags
    several = " Repeatable." if get_origin(kind) is list else ""
    return kind, typer.Option(*flags, help=text + several, **more)
