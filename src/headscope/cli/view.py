"""`headscope view`: the explorer as a page or picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console.options import (
    Device,
    Dtype,
    Keep,
    ModelName,
    Quantity,
    Remote,
    Revision,
    Scale,
    Theme,
    Untrained,
    load,
)


def view(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text to show.")],
    text_b: Annotated[str | None, typer.Argument(metavar="TEXT_B", help="Text B of a pair.")] = None,
    model: ModelName = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The page or picture: .html, .svg, .png or .pdf.")
    ] = Path("view.html"),
    scale: Annotated[Scale, typer.Option("--view", help="Which view to begin with.")] = Scale.model,
    layer: Annotated[int | None, typer.Option(help="The layer to begin with, from 0.")] = None,
    head: Annotated[int | None, typer.Option(help="The head to begin with, from 0.")] = None,
    target: Annotated[str | None, typer.Option(help="What the decoder of an encoder-decoder reads.")] = None,
    theme: Annotated[Theme, typer.Option(help="Colours.")] = Theme.auto,
    quantity: Annotated[
        list[Quantity] | None,
        typer.Option(
            help="Also gradients, or norms ‖α·v·W_O‖; by default where they cost little. Repeatable."
        ),
    ] = None,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
) -> None:
    """Draw every head on a text: the explorer as a page, or one of its views as a picture."""
    from headscope.live.view import view as run

    state: dict[str, Any] = {"scale": scale.value, "theme": theme.value}
    if layer is not None:
        state["layer"] = layer
    if head is not None:
        state["heads"] = [head]
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    names = [name.value for name in quantity] if quantity else None
    run(loaded, text, pair=text_b, target=target, quantities=names, **state).save(output)
    print(output.resolve())
