"""The command of an analysis: made from its record and the functions that it runs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from headscope.analyses import analyses
from headscope.analyses.record import Analysis, Command
from headscope.analyses.shown import Written
from headscope.console import options as console
from headscope.console import sources
from headscope.console.engines import EngineOptions
from headscope.console.functions import Parameter, check, documented, parameters, sentence, typed
from headscope.console.groups import parameters_of
from headscope.errors import InputError

GROUPS: Mapping[str, type] = {
    "texts": sources.TextOptions,
    "inputs": sources.InputOptions,
    "reading": sources.ReadingOptions,
    "model": console.ModelOptions,
    "models": console.LoadOptions,
    "checkpoints": console.CheckpointOptions,
    "table": console.TableOptions,
    "long": console.LongOptions,
    "engines": EngineOptions,
}
"""Options that commands share."""

SHARED: Mapping[str, Any] = {
    "strict": console.Strict,
    "resume": console.Resume,
    "preset": Annotated[
        Literal["clark2019"] | None, typer.Option(help="Follow the released code of a paper.")
    ],
}
"""Parameters that are the same option in all commands."""

_GIVEN = {"model", "corpus", "part", "engine", "progress"}
"""Parameters of functions that are no options: they are made of the groups."""

_UNTIMED = {"progress", "resume", "shard", "part", "skip_failures", "vectors"}
"""What an estimate runs without."""


class Made:
    """The command of one analysis.

    Attributes:
        analysis, command: its record.
        groups: of options that it shares with others.
        places: what is given by its place, by the parameter that takes it.
        options: the parameters that are options of this command alone.
    """

    def __init__(self, analysis: Analysis) -> None:
        assert analysis.command is not None
        self.analysis = analysis
        command = analysis.command
        self.command = replace(
            command,
            runs=command.runs or analysis.function,
            more=(*((analysis.function,) if command.runs else ()), *command.more),
            estimates=command.estimates or analysis.estimate,
        )
        self.groups = {name: GROUPS[name] for name in self.command.groups}
        taken = self._taken(self.command.reads or self.command.runs)
        ahead = [
            parameter
            for parameter in taken.values()
            if not parameter.keyword and parameter.name not in _GIVEN
        ]
        pairs = zip(self.command.positions, [*ahead, *ahead[-1:]], strict=False)
        self.places = {
            position.takes or parameter.name: (position, parameter) for position, parameter in pairs
        }
        self.options = {parameter.name: parameter for parameter in self._parameters()}

    def _taken(self, path: str) -> Mapping[str, Parameter]:
        return parameters(self.analysis.full(path))

    def _parameters(self) -> Iterator[Parameter]:
        """The parameters of all functions that neither a group nor a place has, the first of each name."""
        known = {option.name for group in self.groups.values() for option in fields(group)}
        known |= {*_GIVEN, *self.groups, *self.places}
        known |= {name for name, written in self.command.named.items() if not written}
        optional = {"figure": self.analysis.figure, "all_heads": self.analysis.every}
        if self.command.shows == Command.shows:
            known |= {name for name, path in optional.items() if not path}
        for path in self.command.functions:
            for name, parameter in self._taken(path).items():
                if name not in known and parameter.default is not inspect.Parameter.empty:
                    known.add(name)
                    yield parameter

    def function(self) -> Callable[..., None]:
        """The function that Typer makes a command of."""
        every = [
            _parameter(*argument) for argument in (*self._positions(), *self._shared(), *self._options())
        ]

        def run(**given: Any) -> None:
            self.run(given)

        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return run

    def _positions(self) -> Iterator[tuple[str, Any, Any]]:
        for name, (position, parameter) in self.places.items():
            files = self.command.reads and "reading" not in self.groups
            kind: Any = Path if files else typed(parameter.hint, repeatable=position.many)[0]
            kind = list[Path] if files and position.many else kind
            argument = typer.Argument(metavar=position.name, help=position.help)
            if position.required:
                yield name, Annotated[kind, argument], inspect.Parameter.empty
            else:
                yield name, Annotated[kind | None, argument], None

    def _shared(self) -> Iterator[tuple[str, Any, Any]]:
        for option in (option for group in self.groups.values() for option in parameters_of(group)):
            hint, text = option.annotation, self.command.output[0]
            if option.name == "output" and text:
                hint = Annotated[Path | None, typer.Option("-o", "--output", help=text)]
            yield option.name, hint, option.default

    def _options(self) -> Iterator[tuple[str, Any, Any]]:
        for name, parameter in self.options.items():
            shared = sources.FORMATS.get(parameter.hint) if name == "format" else SHARED.get(name)
            yield name, *(self._option(parameter) if shared is None else (shared, parameter.default))
        if self.command.reads and "reading" not in self.groups:
            yield "distinct", console.Distinct, False
        if self.command.estimates:
            yield "estimate", console.Estimate, False

    def _option(self, parameter: Parameter) -> tuple[Any, Any]:
        name, default = parameter.name, parameter.default
        written = self.command.named.get(name, name)
        kind, more = typed(parameter.hint, repeatable=name in self.command.named)
        if isinstance(default, tuple):  # what a list is by default the help says
            default, more["show_default"] = None, False
        if kind is str and isinstance(default, int):
            default = str(default)
        if metavar := self.command.metavars.get(name):
            more["metavar"] = metavar
        flag = f"--{written.replace('_', '-')}" if len(written) > 1 else f"-{written}"
        option = typer.Option(flag, help=self._help(name, kind, parameter.default), **more)
        return Annotated[kind | None if default is None else kind, option], default

    def _help(self, name: str, kind: Any, default: Any) -> str:
        """What the functions say of a parameter, the command's own first."""
        paths = sorted(self.command.functions, key=lambda path: not path.startswith("command:"))
        text = next(filter(None, (documented(self.analysis.full(path)).get(name) for path in paths)), "")
        text = text or self.options[name].doc
        if other := re.match(r"as in `headscope\.(\w+)`", text):
            function = analyses()[other[1]]
            text = parameters(function.full(function.function))[name].doc
        several = " Repeatable." if get_origin(kind) is list else ""
        numbers = f" By default {' and '.join(map(str, default))}." if kind == list[int] and default else ""
        return f"{sentence(text)}{several}{numbers}"

    def run(self, given: dict[str, Any]) -> None:
        """Do what was typed."""
        groups: dict[str, Any] = {
            name: group(**{option.name: given[option.name] for option in fields(group)})
            for name, group in self.groups.items()
        }
        table, long = groups["table"], groups.get("long")
        given |= {"analysis": self.analysis, "progress": True, **groups}
        given |= long.run(table.output) if long is not None else {}
        self._check(given, table, long is not None and long.shard is not None)
        if "engines" in groups:
            given["engine"] = groups["engines"].engine()
        inputs = self._inputs(given)
        for name, parameter in self.options.items():
            given[name] = self._value(parameter, given)
        if self._foreseen(given, inputs):
            return
        result = self._call(self.command.runs, given, *inputs)
        if long is None or not long.ends(result, table):
            table.out(self._call(self.command.shows, given, result))
            if given.get("open_"):
                console.open_page(table.output)

    def _check(self, given: Mapping[str, Any], table: console.TableOptions, shard: bool) -> None:
        """Refuse, before anything is read, what can be told to go wrong."""
        files = {
            name: _written(parameter.hint)
            for name, parameter in self.options.items()
            if given[name] is not None
        }
        for name, written in files.items():
            if written is not None and shard:
                raise InputError(f"--{name}: expected no shard, found one; {written.of_parts}")
        table.check(() if shard else self.command.output[1])
        for name, written in files.items():
            if written is not None:
                console.check_places(given[name], suffixes=written.suffixes)
        for name, option in self.options.items():
            check(name, self._value(option, given), option.hint)
        if self.command.checks:
            self._call(self.command.checks, given)

    def _inputs(self, given: Mapping[str, Any]) -> list[Any]:
        """What the function is given by its place: the model, and a corpus or what was typed."""
        for name in ("texts", "inputs"):
            if name in self.groups:
                return [*given[name].inputs(given["model"])]
        values: list[Any] = [given[name] for name in self.places]
        if self.command.reads and "reading" in self.groups:
            return [*self._call(self.command.reads, given, *values)]
        if self.command.reads:
            several = [[value] for value in values] if len(values) > 1 else values
            read = [self._call(self.command.reads, given, value) for value in several]
            values = read
        model = given["model"].load()
        values = [value(model) if callable(value) else value for value in values]
        return [model, *(sources.once(value, given.get("distinct", False)) for value in values)]

    def _value(self, parameter: Parameter, given: Mapping[str, Any]) -> Any:
        """What the function takes for what was typed."""
        value, metavar = given[parameter.name], typed(parameter.hint)[1].get("metavar", "")
        if not isinstance(value, str):
            return value
        if metavar == "A,B":
            return value.split(",")
        if metavar == "MODEL":
            return given["model"].how.trained.named(value)
        _, *words = metavar.split("|")
        if words and value not in words:
            if not value.isdecimal():
                expected = f"a whole number or {' or '.join(words)}"
                raise InputError(f"--{parameter.name}: expected {expected}, found {value!r}")
            return int(value)
        return value

    def _foreseen(self, given: Mapping[str, Any], inputs: Sequence[Any]) -> bool:
        """Say what the run will take, where that was asked for or it is long: whether it is to stop here."""
        if not self.command.estimates:
            return False
        timed = {name: value for name, value in given.items() if name not in _UNTIMED}
        size = sum(source.size_hint() or 0 for source in inputs if hasattr(source, "size_hint"))
        trees = self.command.reads.startswith("headscope.console.sources:")
        return console.foreseen(
            given["estimate"],
            size,
            lambda: str(self._call(self.command.estimates, timed, *inputs)),
            limit=given["limit"],
            long=console.LONG_TREES if trees else console.LONG,
        )

    def _call(self, path: str, given: Mapping[str, Any], *inputs: Any) -> Any:
        """A function of what was typed with those options that it takes; what is None is left to its default."""
        function = self.analysis.load(path)
        taken = inspect.signature(function).parameters
        names = {*[*taken][len(inputs) :]}
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
            names |= {*given} if path == self.command.checks else self._handed_on()
        return function(*inputs, **{name: given[name] for name in names if given.get(name) not in (None, [])})

    def _handed_on(self) -> set[str]:
        """What functions that take ``**`` hand on: options of the analysis, or of how checkpoints are loaded."""
        names = {
            option.name
            for name in ("checkpoints",)
            if name in self.groups
            for option in fields(self.groups[name])
        }
        for path in (self.analysis.function, *self.command.more):
            taken = inspect.signature(self.analysis.load(path)).parameters.values()
            names |= {parameter.name for parameter in taken if parameter.kind is parameter.KEYWORD_ONLY}
        return names


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _written(hint: Any) -> Written | None:
    """What an annotation says of a file that is written."""
    notes = [note for part in (hint, *get_args(hint)) for note in getattr(part, "__metadata__", ())]
    return next((note for note in notes if isinstance(note, Written)), None)
