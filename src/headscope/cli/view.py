"""`headscope view`: the explorer as a page or picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.console.options import PAGES, ModelOptions, ThemeName, check_places


def view(
    model: ModelOptions,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text to show.")],
    text_b: Annotated[str | None, typer.Argument(metavar="TEXT_B", help="Text B of a pair.")] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The page or picture: .html, .svg, .png or .pdf.")
    ] = Path("view.html"),
    scale: Annotated[
        Literal["model", "head", "neuron"], typer.Option("--view", help="Which view to begin with.")
    ] = "model",
    layer: Annotated[int | None, typer.Option(help="The layer to begin with, from 0.")] = None,
    head: Annotated[int | None, typer.Option(help="The head to begin with, from 0.")] = None,
    target: Annotated[str | None, typer.Option(help="What the decoder of an encoder-decoder reads.")] = None,
    theme: Annotated[ThemeName, typer.Option(help="Colours.")] = "auto",
    quantity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="gradient|norm",
            help="Also gradients, or norms ‖α·v·W_O‖; by default where they cost little. Repeatable.",
        ),
    ] = None,
) -> None:
    """Draw every head on a text: the explorer as a page, or one of its views as a picture."""
    from headscope.live.view import view as run

    check_places(output, suffixes=PAGES)
    state: dict[str, Any] = {"scale": scale, "theme": theme}
    if layer is not None:
        state["layer"] = layer
    if head is not None:
        state["heads"] = [head]
    run(model.load(), text, pair=text_b, target=target, quantities=quantity or None, **state).save(output)
    print(output.resolve())
