"""`headscope serve`: type, look, and change what the heads do."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.console.options import ModelOptions, say
from headscope.errors import InputError
from headscope.lazy import module

if TYPE_CHECKING:
    from headscope.corpora.files import Line
    from headscope.views.wire import LiveInput


def serve(
    model: ModelOptions,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="A second model that reads the same (hub name, folder or demo; @REVISION)."
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Where to listen; by default any port that is free.")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open nothing.")
    ] = False,
    read_only_text: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Texts to offer: a line each (a tab before text B), or .jsonl with text, pair, target or messages.",
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="HEADSCOPE_TOKEN", help="What the address must hold; by default a new one each time."
        ),
    ] = None,
) -> None:
    """Type and look: a page on this machine that follows as you type, and shows what changes of attention do."""
    if token is not None and not re.fullmatch(r"[A-Za-z0-9_-]{8,}", token):
        raise InputError("--token: expected at least 8 letters, digits, - or _")
    examples = [] if read_only_text is None else _texts(read_only_text)
    for library in ("starlette", "uvicorn", "websockets"):
        module(library)
    from headscope.live.server import free_socket
    from headscope.live.server import serve as run

    listening = free_socket(port)
    loaded = model.load()
    models = [loaded] if against is None else [loaded, model.how.trained.named(against)]

    def opened(address: str) -> None:
        print(address, flush=True)
        say("Ctrl-C ends it")
        if not no_browser and not webbrowser.open(address):
            say("there is no browser here; open the address yourself")

    run(
        models,
        listening,
        token=token,
        opened=opened,
        examples=examples,
        loaded=f"hs.load({'' if model.model is None else repr(model.model)})",
    )


def _texts(path: Path) -> list[LiveInput]:
    from headscope.corpora.files import Files
    from headscope.corpora.kinds import holds
    from headscope.corpora.opening import suffix_of

    json = suffix_of(path) == ".jsonl" or holds(path) == "jsonl"
    found = [_input(line, json) for line in Files(path, records=json) if line.text.strip()]
    if not found:
        raise InputError(f"{path}: expected a text on each line, found none")
    return found


def _input(line: Line, json: bool) -> LiveInput:
    if not json:
        text, _, pair = line.text.partition("\t")
        return {"text": text, "pair": pair} if pair else {"text": text}
    from headscope.corpora.jsonlines import json_object
    from headscope.live.session import read_input

    found = json_object(line)
    try:
        return read_input(found)
    except InputError as error:
        raise line.error(str(error)) from None
