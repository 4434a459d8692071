"""The application: its commands, and how it ends."""

from __future__ import annotations

import inspect
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from functools import cache
from typing import Annotated, Any, NoReturn

import typer
import typer.core

from headscope import __version__
from headscope.analyses import analyses
from headscope.analyses.record import Analysis
from headscope.cli.bench import bench
from headscope.cli.card import card, diff, site
from headscope.cli.check import check
from headscope.cli.export import export
from headscope.cli.import_ import import_
from headscope.cli.lab import lab
from headscope.cli.look import look
from headscope.cli.mcp import mcp
from headscope.cli.merge import merge
from headscope.cli.report import report
from headscope.cli.serve import serve
from headscope.cli.skill import skill
from headscope.cli.view import view
from headscope.console.answer import Answer
from headscope.console.groups import command
from headscope.console.help import ALL, HelpCommand, wants_all
from headscope.console.options import say
from headscope.core.escapes import printable
from headscope.core.failures import out_of_memory
from headscope.core.lazy import NO_DOCSTRINGS, missing
from headscope.errors import HeadscopeError, InputError, RunError
from headscope.runs.options import COMMAND

GROUPS = {"compare": "What changed: groups of inputs, models, inputs, checkpoints."}
"""Commands of several words: the help of the first."""

SECTIONS: dict[str, tuple[str, str]] = {
    "Look": (
        "look check view serve mcp lab import export skill",
        'headscope view "The cat sat because it was tired." -o view.html',
    ),
    "Measure": ("bench merge", "headscope measure wiki.txt -m gpt2 -o heads.csv"),
    "Why": ("", "headscope patch pairs.jsonl -m gpt2"),
    "Compare": ("compare", "headscope compare models bert-base-uncased ./fine-tuned wiki.txt"),
    "Report": ("report card cards", "headscope report -m gpt2 -o report.html"),
}
"""What the help lists the commands under, after those of analyses that say so: others, and an example."""

STOPPED = 130
"""The exit code of what Ctrl-C ended."""

FIRST = "look view serve lab measure why compare report"
"""What the first screen of the help lists."""


RULES: dict[Callable[..., None], dict[str, str]] = {
    view: {
        "weights": "live",
        "line": "replay",
        "live": "-replay -implicit -quantity -reads -against -target",
        "replay": "-text_b -target",
        "audio": "-text -image -live -replay",
        "image": "-text_b -target -live -replay -video",
        "video": "-text_b -target -live -replay -audio",
        "heads": "-head",
    },
    report: {"label": "pairs", "text": "-images -audio"},
    lab: {"against": "model"},
}
"""Which options of these commands need, or exclude, others."""


class _Group(typer.core.TyperGroup):
    """Commands, and the whole of what is said of each."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = args[args[:1] == ["--json"] :]  # `run` reads it, wherever it stands
        return super().parse_args(ctx, [*wants_all(ctx, words[:1]), *words[1:]])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        self.write(formatter, "Commands", self.commands)

    def write(self, formatter: Any, title: str, names: Iterable[str]) -> None:
        """A section of the help."""
        with formatter.section(title):
            formatter.write_dl([(name, self.commands[name].short_help) for name in names])


class _Sections(_Group):
    """The commands that a newcomer needs, or with ``--help-all`` all of them in their sections."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        if not ctx.meta.get(ALL):
            self.write(formatter, "Begin with", FIRST.split())
            formatter.write(f"\nheadscope --help-all lists all {len(self.commands)} commands.\n")
            return
        for title, (others, example) in SECTIONS.items():
            names = [
                record.command
                for record in analyses().values()
                if record.command in self.commands and record.heading == title
            ]
            self.write(formatter, title, (*names, *others.split()))
            formatter.write_text(f"  $ {example}")


class _Analysis(HelpCommand):
    """The command of an analysis. Its options are told from its functions when they are asked for."""

    def __init__(self, analysis: Analysis, name: str) -> None:
        super().__init__(name, help=analysis.help, short_help=analysis.help, rich_markup_mode=None)
        self.analysis = analysis
        del self.params, self.callback

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write, below ``why``, which questions of why other commands answer."""
        if self.analysis.command == "why":
            with formatter.section("Commands that answer why"):
                formatter.write_dl(
                    [
                        (one.command, one.help.partition("?")[0] + "?")
                        for one in analyses().values()
                        if one.heading == "Why"
                    ]
                )

    def __getattr__(self, name: str) -> Any:
        if name not in ("params", "callback"):
            raise AttributeError(name)
        from headscope.console.commands import Made

        alone = typer.Typer(add_completion=False)
        alone.command()(Made(self.analysis).function())
        made = typer.main.get_command(alone)
        self.params, self.callback = made.params, made.callback
        return vars(self)[name]


app = typer.Typer(
    cls=_Sections,
    help="See and measure where a transformer looks.",
    epilog="Exit codes: 0 done, 1 a run failed, 2 bad usage or input, 130 and 143 stopped. headscope skill says how an "
    "agent uses it.",
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
    parent.command(name, cls=HelpCommand, help=summary, short_help=summary, **more)(
        command(function, rules=RULES.get(function, {}))
    )


for function in (look, check, view, serve, mcp, lab, export, merge, bench, report, card, skill):
    _add(app, function.__name__, function)
_add(app, "import", import_)
_cards = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
for function in (diff, site):
    _add(_cards, function.__name__, function)
app.add_typer(_cards, name="cards", help=(about := "Compare the cards of models."), short_help=about)


@cache
def commands() -> Any:
    """All commands, as they read their words: built once a process."""
    root: Any = typer.main.get_command(app)
    for name, text in GROUPS.items():
        root.add_command(
            _Group(name=name, help=text, short_help=text, no_args_is_help=True, rich_markup_mode=None)
        )
    for analysis in analyses().values():
        group, _, name = analysis.command.rpartition(" ")
        if name:
            (root.commands[group] if group else root).add_command(_Analysis(analysis, name))
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
    words = sys.argv[1:]
    answer = Answer() if "--json" in words[: [*words, "--"].index("--")] else None
    code, kind, message = 0, "", ""
    try:
        code = _call(answer)
        if code == STOPPED:  # typer makes it of Ctrl-C
            raise SystemExit(code)
    except BrokenPipeError:
        sys.stderr.close()
    except BaseException as error:
        code, kind, message = _failure(error)
        if kind != "usage":
            say(f"headscope: {message}")
    if answer is not None and kind:
        with suppress(OSError, RunError):
            answer.fail(message, kind, code)
    with suppress(OSError):
        sys.stdout.flush()
        given = None
    if given is not None:  # Python would try again at its end
        given.stdout = _Closed()
    return code


def _failure(error: BaseException) -> tuple[int, str, str]:
    """The exit code, the kind and the sentence of an error; one that is nobody's to say is raised again."""
    if isinstance(error, HeadscopeError):
        return error.exit, error.kind, _named(str(error))
    usage: Any = error
    if hasattr(usage, "format_message"):  # of typer, or of the click that an older one has
        usage.show()
        return usage.exit_code, "usage", usage.format_message()
    if isinstance(error, SystemExit | KeyboardInterrupt):
        return getattr(error, "code", STOPPED), "stopped", "stopped"
    panic = type(error).__name__ == "PanicException"  # of a library in Rust: no `Exception`
    if not (panic or isinstance(error, Exception)) or os.environ.get("HEADSCOPE_TRACEBACK"):
        raise error
    return 1, "unknown", _named(_why(error))


class _Closed(io.TextIOBase):
    """Stands for standard output that cannot be written to."""

    def write(self, text: str, /) -> NoReturn:
        raise RunError("standard output: cannot be written (it is closed)")


def _call(answer: Answer | None) -> int:
    """Run what was typed; its exit code."""
    if sys.flags.optimize > 1:
        raise InputError(NO_DOCSTRINGS)
    try:
        with nullcontext() if answer is None else answer.collecting():
            code = commands()(standalone_mode=False) or 0
        if answer is not None and not code:
            answer.end()
        sys.stdout.flush()
        return code
    except ModuleNotFoundError as error:
        raise missing(error) from None
    except SystemExit as ended:
        raise BrokenPipeError if ended.code == 1 else ended from None  # typer makes the one of the other
    except OSError as ended:
        try:
            if not ended.filename:
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
