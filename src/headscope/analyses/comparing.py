"""What the commands of `headscope compare` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console.options import PICTURES, Theme, say

PAGES = (".html", *PICTURES)
SHOWN = 15
"""Rows of a table that is printed."""

Measures = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Which measures; by default the groups surface and patterns."),
]
Figure = Annotated[Path | None, typer.Option(metavar="FILE", help="Also a figure: .svg, .pdf or .png.")]
Colours = Annotated[Theme, typer.Option(help="Colours of the figure.")]
Batch = Annotated[int, typer.Option(help="Inputs in a batch, at most.")]


def say_absent(about: dict[str, Any]) -> None:
    """Say which measures have no row, and why."""
    for name, reason in about.get("absent", {}).items():
        say(f"{name}: no row; {reason}")


def ground(theme: Theme) -> Any:
    """The ground of a figure."""
    return "dark" if theme == Theme.dark else "light"


def drawn(canvas: Any, figures: Any, place: Path, title: str) -> None:
    """Write a figure."""
    from headscope.analyses.compare_figures import about
    from headscope.measures.files import replacing

    with replacing(place) as file:
        file.write_bytes(canvas.save(place.suffix[1:].lower(), about(figures, title)))
    say(f"{place}: a figure")
