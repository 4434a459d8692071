"""For mkdocs: the page of the command line, from what ``--help`` says."""

from __future__ import annotations

from typing import Any

import click
import typer

from headscope.cli import app

PAGE = "reference/cli.md"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the help of every command under `PAGE`."""
    if page.file.src_uri != PAGE:
        return markdown
    return "\n".join([markdown, *_helps(typer.main.get_command(app), "headscope", None)])


def _helps(command: click.Command, name: str, parent: click.Context | None) -> list[str]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=90, max_content_width=90)
    path = context.command_path
    lines = [] if parent is None else [f"## {path}", "", "```text", command.get_help(context), "```", ""]
    inner = getattr(command, "commands", {})
    return lines + [line for each in inner for line in _helps(inner[each], each, context)]
