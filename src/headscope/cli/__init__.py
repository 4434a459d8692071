"""The command line: parse, call the public names, print.

Tables go to stdout, progress and remarks to stderr. Exit codes: 0 done, 1 a run failed, 2 bad usage or bad input.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, NoReturn

import typer

from headscope.analyses.compare_groups.command import compare
from headscope.analyses.coref.command import coref
from headscope.analyses.distance.command import distance
from headscope.analyses.measure.command import measure
from headscope.analyses.negation.command import negation
from headscope.analyses.probes.command import probe
from headscope.analyses.roles.command import roles
from headscope.analyses.syntax.command import syntax
from headscope.cli.check import check
from headscope.cli.merge import merge
from headscope.cli.report import report
from headscope.cli.view import view
from headscope.console.options import say
from headscope.errors import HeadscopeError, InputError, ModelError

app = typer.Typer(
    help="See and measure where a transformer looks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (check, view, measure, merge, distance, roles, syntax, coref, negation, probe, report):
    app.command()(command)
app.add_typer(compare, name="compare")


def main() -> NoReturn:
    """Run the command line and exit."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    warnings.showwarning = _warn
    streams: list[Any] = [sys.stdout, sys.stderr]
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except (InputError, ModelError) as error:
        say(f"headscope: {error}")
        raise SystemExit(2) from None
    except HeadscopeError as error:
        say(f"headscope: {error}")
        raise SystemExit(1) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None
    raise SystemExit(0)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"headscope: {message}")
