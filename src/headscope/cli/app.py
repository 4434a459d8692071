"""The application: its commands, and how it ends."""

from __future__ import annotations

import inspect
import io
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Annotated, Any, NoReturn

import typer
import typer.core

from headscope import __version__
from headscope.analyses import analyses
from headscope.analyses.record import Analysis
from headscope.cli.bench import bench
from headscope.cli.card import card, diff, site
from headscope.cli.check import check
from headscope.cli.import_ import import_
from headscope.cli.lab import lab
from headscope.cli.merge import merge
from headscope.cli.plan import plan
from headscope.cli.report import report
from headscope.cli.serve import serve
from headscope.cli.view import view
from headscope.console.groups import command
from headscope.console.help import HelpCommand
from headscope.console.options import say
from headscope.core.escapes import printable
from headscope.core.failures import out_of_memory
from headscope.core.lazy import NO_DOCSTRINGS, missing
from headscope.errors import HeadscopeError, InputError, ModelError, RunError
from headscope.runs.provenance import COMMAND

GROUPS = {"compare": "What changed: groups of inputs, models, inputs, checkpoints."}
"""Commands of several words: the help of the first."""

SECTIONS: dict[str, tuple[str, str]] = {
    "Look": (
        "check view serve lab import",
        'headscope view "The cat sat because it was tired." -o view.html',
    ),
    "Measure": ("bench plan merge", "headscope measure wiki.txt -m gpt2 -o heads.csv"),
    "Why": ("", "headscope patch pairs.jsonl -m gpt2"),
    "Compare": ("compare", "headscope compare models bert-base-uncased ./fine-tuned wiki.txt"),
    "Report": ("report card cards", "headscope report -m gpt2 -o report.html"),
}
"""What the help lists the commands under, after those of analyses that say so: others, and an example."""


class _Commands(dict[str, Any]):
    """Commands that are made when they are asked for: a help text of one need not read the functions of all."""

    def __init__(self, commands: Mapping[str, Any], later: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__({**commands, **dict.fromkeys(later)})
        self._later = dict(later)

    def __getitem__(self, name: str) -> Any:
        if name in self._later:
            self[name] = self._later.pop(name)()
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name, default) if name not in self._later else self[name]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]

    def values(self) -> Any:
        return [self[name] for name in self]


class _Group(typer.core.TyperGroup):
    """Commands and what the help says of each; `later` are made when they are asked for."""

    summaries: dict[str, str]

    def add_later(self, later: Mapping[str, tuple[str, Callable[[], Any]]]) -> None:
        """Commands by their names: what each does, and what makes it."""
        self.summaries = {name: entry.short_help or "" for name, entry in self.commands.items()}
        self.summaries |= {name: text for name, (text, _) in later.items()}
        self.commands = _Commands(self.commands, {name: make for name, (_, make) in later.items()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*self.summaries.items()])


class _Sections(_Group):
    """The commands in the sections of the help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, (others, example) in SECTIONS.items():
            names = [
                record.command
                for record in analyses().values()
                if record.command and record.heading == title and " " not in record.command
            ]
            with formatter.section(title):
                formatter.write_dl([(name, self.summaries[name]) for name in (*names, *others.split())])
                formatter.write_text(f"$ {example}")


app = typer.Typer(
    cls=_Sections,
    help="See and measure where a transformer looks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(asked: bool) -> None:
    if asked:
        print(f"headscope {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_say_version),
    ] = False,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw-csv",
            help="Write cells of .csv that begin with = + - @ as they are: a spreadsheet may run them.",
        ),
    ] = False,
) -> None:
    if raw:
        from headscope.measures.dataset import raw_csv

        context.with_resource(raw_csv())


def _add(parent: typer.Typer, name: str, function: Callable[..., None], **more: Any) -> None:
    """Add a command. The first paragraph of its docstring stands whole in the list of commands."""
    summary = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
    parent.command(name, cls=HelpCommand, help=summary, short_help=summary, **more)(command(function))


for function in (check, view, serve, lab, plan, merge, bench, report, card):
    _add(app, function.__name__, function)
_add(app, "import", import_)
_cards = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
for function in (diff, site):
    _add(_cards, function.__name__, function)
app.add_typer(_cards, name="cards", help=(about := "Compare the cards of models."), short_help=about)
_add(app, "page", view, hidden=True)


def _made(analysis: Analysis, name: str) -> Any:
    """The command of an analysis, from the functions that it runs."""
    from headscope.console.commands import Made

    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    text = analysis.help
    alone.command(name, cls=HelpCommand, help=text, short_help=text)(Made(analysis).function())
    return typer.main.get_command(alone)


@cache
def commands() -> Any:
    """All commands, as they read their words: built once a process, those of analyses when they are asked for."""
    later: dict[str, dict[str, tuple[str, Callable[[], Any]]]] = {}
    for analysis in analyses().values():
        if analysis.command:
            group, _, name = analysis.command.rpartition(" ")
            later.setdefault(group, {})[name] = analysis.help, partial(_made, analysis, name)
    root: Any = typer.main.get_command(app)
    for name, text in GROUPS.items():
        group = _Group(name=name, help=text, short_help=text, no_args_is_help=True, rich_markup_mode=None)
        group.add_later(later[name])
        root.add_command(group)
    root.add_later(later[""])
    return root


def run() -> int:
    """Run the command line, and return its exit code."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    warnings.showwarning = _warn
    typed = " ".join(["headscope", *sys.argv[1:]])
    COMMAND.set(typed.encode(errors="backslashreplace").decode())  # a file's name may be no Unicode
    given: Any = sys
    given.stdout = given.stdout or _Closed()  # None where it is closed: what is printed would be lost
    given.stderr = given.stderr or open(os.devnull, "w")  # noqa: SIM115 (None would be standard output)
    streams: list[Any] = [sys.stdout, sys.stderr]
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        _call()
    except (InputError, ModelError) as error:
        say(f"headscope: {_named(str(error))}")
        return 2
    except HeadscopeError as error:
        say(f"headscope: {_named(str(error))}")
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except BaseException as error:
        panic = type(error).__name__ == "PanicException"  # of a library in Rust: no `Exception`
        if not (panic or isinstance(error, Exception)) or os.environ.get("HEADSCOPE_TRACEBACK"):
            raise
        say(f"headscope: {_named(_why(error))}")
        return 1
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            given = None
        if given is not None:  # Python would try again at its end
            given.stdout = _Closed()
    return 0


class _Closed(io.TextIOBase):
    """Stands for standard output that cannot be written to."""

    def write(self, text: str, /) -> NoReturn:
        raise RunError("standard output: cannot be written (it is closed)")


def _call() -> None:
    if sys.flags.optimize > 1:
        raise InputError(NO_DOCSTRINGS)
    try:
        commands()()
    except ModuleNotFoundError as error:
        raise missing(error) from None
    except (SystemExit, OSError) as ended:
        try:
            if isinstance(ended, OSError) and not ended.filename:
                print()  # what it could not write it has no more: is it standard output that fails?
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise RunError(f"standard output: cannot be written ({error.strerror})") from None
        raise


def _why(error: BaseException) -> str:
    """One line for what nobody foresaw."""
    if (full := out_of_memory(error)) is not None:
        return full
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return (
        f"stopped by an error that it does not know ({type(error).__name__}: {text[:300]}); "
        "HEADSCOPE_TRACEBACK=1 shows where"
    )


def _named(message: str) -> str:
    """A message whose names of files are of one line: ends of lines in what was typed are escaped."""
    for word in sys.argv[1:]:
        for name in {word, os.path.basename(word)}:
            message = message.replace(name, printable(name, "")) if name else message
    return message


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"headscope: {_named(str(message))}")
