"""For mkdocs: the page of the command line, from what ``--help`` says, and the notebooks beside the pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File

from headscope.cli.app import commands

PAGE = "reference/cli.md"
NOTEBOOKS = Path(__file__).resolve().parents[1] / "examples"


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """The notebooks stand beside the pages, in ``examples/``."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        files.append(File.generated(config, f"examples/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links out of ``docs/`` to the notebooks here, and put the help of every command under `PAGE`."""
    markdown = re.sub(r"\]\(\.\./((?:\.\./)*examples/[\w-]+\.ipynb)\)", r"](\1)", markdown)
    if page.file.src_uri != PAGE:
        return markdown
    return "\n".join([markdown, *_helps(commands(), "headscope", None)])


def _helps(command: click.Command, name: str, parent: click.Context | None) -> list[str]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=90, max_content_width=90)
    path = context.command_path
    lines = [] if parent is None else [f"## {path}", "", "```text", command.get_help(context), "```", ""]
    inner = getattr(command, "commands", {})
    return lines + [line for each in inner for line in _helps(inner[each], each, context)]
