"""`headscope mcp`: eight tools for agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.console.options import LoadOptions
from headscope.core.lazy import module
from headscope.core.validation import Count
from headscope.errors import InputError


def mcp(
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--model", metavar="MODEL", help="Which may be asked; else the demo model. Repeatable."
        ),
    ] = None,
    folder: Path = Path("headscope-out"),
    seconds: Count = 60,
    device: str | None = None,
    dtype: str | None = None,
) -> None:
    """Tools for agents over stdio (the Model Context Protocol), with short answers that say what is not shown.

    Args:
        model: hub names, folders, .gguf files or demo-lm; one is loaded at a time.
        folder (DIR): where tables and pages go, and the only place where files are read.
        seconds: the most that an answer may take; what would take longer is answered by an estimate.
        device: ``cpu``, cuda, mps, …, or auto: over all there are.
        dtype: ``float32`` (default), bfloat16, float16 or float64.
    """
    module("mcp")
    from headscope.cli.mcp_tools import Tools

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: expected a folder to write to ({error.strerror})") from None
    Tools(model or ["demo"], folder.resolve(), seconds, LoadOptions(device, dtype)).server().run("stdio")
