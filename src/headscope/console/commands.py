"""The command of an analysis: made from its record and the functions that it runs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from headscope.analyses import analyses
from headscope.analyses.record import Analysis
from headscope.analyses.shown import WrittenSuffixes
from headscope.console import options as console
from headscope.console import sources
from headscope.console.functions import (
    Parameter,
    check,
    defined,
    documented,
    optional,
    parameters,
    sentence,
    several,
    typed,
)
from headscope.console.groups import command, made
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError

_SHOWN = "headscope.analyses.shown:of_result"
_FIGURE = "headscope.analyses.shown:save_figure"

GROUPS: Mapping[str, type] = {
    "texts": sources.TextOptions,
    "inputs": sources.InputOptions,
    "reading": sources.ReadingOptions,
    "model": console.ModelOptions,
    "models": console.LoadOptions,
    "checkpoints": console.CheckpointOptions,
    "table": console.TableOptions,
    "kept": console.KeptOptions,
    "long": console.LongOptions,
    "engines": console.EngineOptions,
}
"""Options that commands share."""

SHARED: AnyMapping = {
    "strict": console.Strict,
    "resume": console.Resume,
}
"""Parameters that are the same option in all commands."""

_GIVEN = {"model", "corpus", "part", "engine", "progress"}
"""Parameters of functions that are no options: they are made of the groups."""

_UNTIMED = {"progress", "resume", "shard", "part", "skip_failures", "vectors"}
"""What an estimate runs without."""


class Made:
    """The command of one analysis: the functions of its record, or those in ``command.py`` that stand for them.

    Attributes:
        analysis: its record.
        reads, runs, estimates, checks: what it calls; empty: it does without.
        writes: what writes the files beside ``-o``, by their options.
        functions: all whose parameters are options, in the order of the help.
        groups: of options that it shares with others.
        places: what is given by its place, by the parameter that takes it.
        options: the parameters that are options of this command alone.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        here = defined(f"{analysis.package}.command")
        self.reads, self.runs, self.estimates, self.checks = (
            f"command:{name}" if name in here else other
            for name, other in (
                ("read", analysis.reads),
                ("run", analysis.function),
                ("estimate", analysis.estimate),
                ("checks", ""),
            )
        )
        files = {"figure": analysis.figure and _FIGURE, **analysis.files}
        self.writes = {name: path for name, path in files.items() if path}
        planned = self.estimates if self.estimates.startswith("command:") else ""
        paths = (
            *(self.reads, self.runs, analysis.function, *analysis.more, _SHOWN),
            *(*self.writes.values(), self.checks, planned),
        )
        self.functions = [*filter(None, dict.fromkeys(paths))]
        self.groups = {name: GROUPS[name] for name in analysis.groups}
        self.files = bool(self.reads) and "reading" not in self.groups
        several = len(analysis.positions) > 1
        ahead = [
            parameter
            for parameter in self._taken(self.runs if several or not self.reads else self.reads).values()
            if not parameter.keyword and parameter.name not in _GIVEN
        ]
        self.places = dict(zip(analysis.positions, ahead, strict=False))
        self.options = {parameter.name: parameter for parameter in self._parameters()}

    def _taken(self, path: str) -> Mapping[str, Parameter]:
        return parameters(self.analysis.full(path))

    def _parameters(self) -> Iterator[Parameter]:
        """The parameters of all functions that neither a group nor a place has, the first of each name."""
        known = {option.name for group in self.groups.values() for option in fields(group)}
        known |= {*_GIVEN, *self.groups, *(parameter.name for parameter in self.places.values())}
        known |= {name for name, written in self.analysis.named.items() if not written}
        known |= set() if self.analysis.every else {"all_heads"}
        for path in self.functions:
            for name, parameter in self._taken(path).items():
                if name not in known and parameter.default is not inspect.Parameter.empty:
                    known.add(name)
                    yield parameter
        for name, path in self.writes.items():
            _, place, *_ = self._taken(path).values()
            yield place._replace(name=name, default=None)

    def function(self) -> Callable[..., None]:
        """The function that Typer makes a command of."""

        def run(**given: Any) -> None:
            self.run(given)

        arguments: list[Any] = [*self._positions(), *self.groups.items(), *self._options()]
        every = [_parameter(*argument) for argument in arguments]
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        rules = dict.fromkeys(self.writes, "-shard") | {**self.analysis.rules}
        return command(run, self.analysis.output[0], rules)

    def _positions(self) -> Iterator[tuple[str, Any, Any]]:
        for name, taken in self.places.items():
            kind: Any = Path if self.files else typed(taken.hint, repeatable=True)[0]
            kind = list[Path] if self.files and several(taken.hint) else kind
            argument = typer.Argument(metavar=name, help=self.analysis.positions[name])
            if optional(taken.hint):
                yield taken.name, Annotated[kind | None, argument], None
            else:
                yield taken.name, Annotated[kind, argument], inspect.Parameter.empty

    def _options(self) -> Iterator[tuple[str, Any, Any]]:
        for name, parameter in self.options.items():
            yield name, *((SHARED[name], parameter.default) if name in SHARED else self._option(parameter))
        if self.files:
            yield "distinct", console.Distinct, False
        if self.estimates:
            yield "estimate", console.Estimate, False

    def _option(self, parameter: Parameter) -> tuple[Any, Any]:
        name = parameter.name
        default: Any = parameter.default
        written = self.analysis.named.get(name, name)
        repeatable, metavar = name in self.analysis.named, self.analysis.metavars.get(name)
        kind, option = made(parameter.hint, self._help(name), written, repeatable=repeatable, metavar=metavar)
        if isinstance(default, tuple):
            default = [*default]
        elif kind is str and isinstance(default, int):
            default = str(default)
        return Annotated[kind | None if default is None else kind, option], default

    def _help(self, name: str) -> str:
        """What the functions say of a parameter, the command's own first."""
        paths = sorted(self.functions, key=lambda path: not path.startswith("command:"))
        text = next(filter(None, (documented(self.analysis.full(path)).get(name) for path in paths)), "")
        text = text or self.options[name].doc
        if other := re.match(r"as in `headscope\.(\w+)`", text):
            function = analyses()[other[1]]
            text = parameters(function.full(function.function))[name].doc
        return sentence(text)

    def run(self, given: AnyDict) -> None:
        """Do what was typed."""
        table: console.TableOptions = given["table"]
        long: console.KeptOptions | None = given.get("long", given.get("kept"))
        groups: AnyDict = {name: given[name] for name in self.groups}
        for group in groups.values():
            given.update(group.__dict__)
        given.update(groups, analysis=self.analysis, progress=True)
        if long is not None:
            given["part"] = long.part(table.output)
        self._check(given, table)
        if "engines" in groups:
            given["engine"] = groups["engines"].engine()
        inputs = self._inputs(given)
        for name, option in self.options.items():
            if given[name] and typed(option.hint)[1].get("metavar") == "MODEL":
                given[name] = given["model"].trained.named(given[name])
        if self._foreseen(given, inputs):
            return
        result = self._call(self.runs, given, *inputs)
        if long is None or not long.ends(result, table):
            self.tell(result, given)
            if given.get("open_") and table.output is not None:
                console.open_page(table.output)

    def tell(self, result: Any, given: AnyMapping) -> None:
        """Write a result, or print it, and write the other files that were asked for."""
        given["table"].out(self._call(_SHOWN, given, result), self.analysis.command)
        for name, path in self.writes.items():
            if given.get(name):
                value = self._call(path, given, result, given[name])
                console.say(f"{given[name]}: {value}")

    def _check(self, given: AnyDict, table: console.TableOptions) -> None:
        """Refuse, before anything is read, what can be told to go wrong."""
        table.check(() if given.get("shard") else self.analysis.output[1])
        for name, option in self.options.items():
            value = given[name] = _value(option, given[name])
            check(name, value, option.hint)
            if value is not None and (suffixes := _suffixes(option.hint)):
                console.check_places(value, suffixes=suffixes)
        if self.checks:
            self._call(self.checks, given)

    def _inputs(self, given: AnyMapping) -> list[Any]:
        """What the function is given by its place: the model, and a corpus or what was typed."""
        for name in ("texts", "inputs"):
            if name in self.groups:
                return [*given[name].inputs(given["model"])]
        values: list[Any] = [given[taken.name] for taken in self.places.values()]
        if self.reads and not self.files:
            return [*self._call(self.reads, given, *values)]
        if self.files:
            apart = [[value] for value in values] if len(values) > 1 else values
            values = [self._call(self.reads, given, value) for value in apart]
        model = given["model"].load()
        values = [value(model) if callable(value) else value for value in values]
        return [model, *(sources.once(value, given.get("distinct", False)) for value in values)]

    def _foreseen(self, given: AnyMapping, inputs: Sequence[Any]) -> bool:
        """Say what the run will take, where that was asked for or it is long: whether it is to stop here."""
        if not self.estimates:
            return False
        timed = {name: value for name, value in given.items() if name not in _UNTIMED}
        size = sum(source.size_hint() or 0 for source in inputs if hasattr(source, "size_hint"))
        return console.foreseen(
            given["estimate"],
            size,
            lambda: self._call(self.estimates, timed, *inputs),
            limit=given["limit"],
        )

    def _call(self, path: str, given: AnyMapping, *inputs: Any) -> Any:
        """A function of what was typed with those options that it takes; what is None is left to its default."""
        function = self.analysis.load(path)
        taken = inspect.signature(function).parameters
        names = {*taken}
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
            named = (self.checks, _SHOWN, *self.writes.values())
            names |= {*given} if path in named else self._handed_on()
        names -= {*[*taken][: len(inputs)]}
        return function(*inputs, **{name: given[name] for name in names if given.get(name) not in (None, [])})

    def _handed_on(self) -> set[str]:
        """What functions that take ``**`` hand on: options of the analysis, or of how checkpoints are loaded."""
        loading = fields(console.CheckpointOptions) if "checkpoints" in self.groups else ()
        return {option.name for option in loading} | {
            name
            for path in (self.analysis.function, *self.analysis.more)
            if path != self.analysis.figure
            for name, parameter in self._taken(path).items()
            if parameter.keyword
        }


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _value(parameter: Parameter, value: Any) -> Any:
    """What a function takes for what was typed; models are loaded later."""
    metavar = typed(parameter.hint)[1].get("metavar", "")
    if not isinstance(value, str):
        return value
    if metavar == "A,B":
        return value.split(",")
    _, *words = metavar.split("|")
    if words and value not in words:
        if not value.isdecimal():
            expected = f"a whole number or {' or '.join(words)}"
            raise InputError(f"--{parameter.name}: expected {expected}, found {value!r}")
        return int(value)
    return value


def _suffixes(hint: Any) -> Sequence[str]:
    """What an annotation says of a file that is written; none of any other."""
    notes = [note for part in (hint, *get_args(hint)) for note in getattr(part, "__metadata__", ())]
    return next((note for note in notes if isinstance(note, WrittenSuffixes)), ())
