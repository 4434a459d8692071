"""The help of a command: its own options, and in a line each kind those that many commands share."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import typer.core

SHARED = {
    "How the model is loaded": "device dtype revision adapter untrained keep trust_remote_code allow_unknown",
    "How files are read": "format pack documents text_field strict distinct line",
    "What is written": "as_json meta theme width title open_",
    "How it runs": "batch_size seed resume shard skip_failures devices dask estimate",
}
"""Options, by the names of their parameters, that ``--help`` names and ``--help-all`` describes."""

SHORT = 84
"""Characters of what ``--help`` says of an option, at most; ``--help-all`` says it all."""

ALL = "headscope.help"


def wants_all(ctx: Any, args: list[str]) -> list[str]:
    """Take ``--help-all`` for ``--help``, and remember it."""
    ctx.meta[ALL] = "--help-all" in args
    return ["--help" if word == "--help-all" else word for word in args]


class HelpCommand(typer.core.TyperCommand):
    """A command whose help names the options of `SHARED`, and describes them with ``--help-all``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words, of which ``--help-all`` is one."""
        return super().parse_args(ctx, wants_all(ctx, args))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options, and the names of the shared ones."""
        kinds = {name: kind for kind, names in SHARED.items() for name in names.split()}
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        shared: dict[str, list[str]] = {}
        for parameter in self.get_params(ctx):
            kind = kinds.get(parameter.name or "", "")
            if kind and not ctx.meta.get(ALL):
                shared.setdefault(kind, []).append(parameter.opts[0])
            elif record := parameter.get_help_record(ctx):
                if not ctx.meta.get(ALL):
                    record = record[0], shortened(record[1])
                sections["Arguments" if parameter.param_type_name == "argument" else "Options"].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if shared:
            with formatter.section("Of many commands; --help-all describes them"):
                for kind, names in shared.items():
                    text = f"  {kind}: {' '.join(names)}"
                    formatter.write(
                        fill(text, formatter.width, subsequent_indent="    ", break_on_hyphens=False) + "\n"
                    )


def shortened(text: str) -> str:
    """A text of at most `SHORT` characters: the parts of a sentence that have room, without defaults and bounds.

    >>> shortened("Of so many heads, those with the largest estimates for the first span, what the answer loses.")
    'Of so many heads, those with the largest estimates for the first span …'
    """
    text = text.partition("  [")[0]
    if len(text) <= SHORT:
        return text
    end = max(text.rfind(mark, 0, SHORT) for mark in (", ", "; ", ": ", ". ", " ("))
    return f"{text[: end if end > SHORT // 3 else text.rfind(' ', 0, SHORT)]} …"
