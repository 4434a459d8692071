"""`headscope serve`: type, look, and change what the heads do."""

from __future__ import annotations

import os
import re
import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.console.answer import Answer
from headscope.console.options import ModelOptions, say
from headscope.core.escapes import beginning
from headscope.core.lazy import module
from headscope.core.saving import listening
from headscope.core.validation import Expected
from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.corpora.files import Line
    from headscope.views.wire import LiveExample, LiveInput


def serve(
    model: ModelOptions,
    *,
    against: str | None = None,
    port: Annotated[int, Expected(least=1, most=65535)] | None = None,
    no_browser: bool = False,
    read_only_text: Path | None = None,
    token: Annotated[str | None, typer.Option(envvar="HEADSCOPE_TOKEN")] = None,
    token_file: Path | None = None,
) -> None:
    """Type and look: a page on this machine that follows as you type, and shows what changes of attention do.

    Args:
        model: which one.
        against (MODEL): a second model that reads the same (hub name, folder or demo; @REVISION).
        port: where to listen; by default any port that is free.
        no_browser: print the address, and open nothing.
        read_only_text: texts to offer: a line each (a tab before text B), or .jsonl with text, pair, target or
            messages.
        token: what the address must hold; by default a new one each time. Other users of this machine see what stands
            here, but not the environment variable, nor --token-file.
        token_file: where what the address must hold is read from.
    """
    if token_file is not None:
        if token is not None:
            raise InputError("--token-file: expected no --token (or HEADSCOPE_TOKEN) beside it, found one")
        token = _content(token_file, "a token").strip()
    if token is not None and not re.fullmatch(r"[A-Za-z0-9_-]{8,}", token):
        where = "--token" if token_file is None else token_file
        raise InputError(f"{where}: expected at least 8 letters, digits, - or _")
    examples = [] if read_only_text is None else _texts(read_only_text)
    for library in ("starlette", "uvicorn", "websockets"):
        module(library)
    from headscope.live.server import free_socket
    from headscope.live.server import serve as run

    socket = free_socket(port)
    loaded = model.load()
    models = [loaded] if against is None else [loaded, model.trained.named(against)]

    def opened(address: str) -> None:
        if (answer := listening(Answer)) is None:
            print(address, flush=True)
        else:
            answer.give("serve", address=address)
            answer.end()
        say("Ctrl-C ends it")
        if not no_browser:
            Thread(target=_open, args=(address, Path(folder)), daemon=True).start()

    with TemporaryDirectory(prefix="headscope-", ignore_cleanup_errors=True) as folder:
        run(
            models,
            socket,
            token=token,
            opened=opened,
            examples=examples,
            loaded=f"hs.load({'' if model.model is None else repr(model.model)})",
        )


def _open(address: str, folder: Path) -> None:
    """Have a browser open an address by way of a file that only its owner can read: all see what a browser is called
    with. One of the console comes back when it is left.
    """
    place = folder / "open.html"
    with open(place, "x", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(
            f'<!doctype html><meta http-equiv="refresh" content="0;url={address}"><a href="{address}">open</a>'
        )
    if not webbrowser.open(place.as_uri()):
        say("there is no browser here; open the address yourself")


def _content(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = "no UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise InputError(f"{path}: expected a file of {what} ({why})") from None


def _texts(path: Path) -> list[LiveExample]:
    from headscope.corpora.files import Files
    from headscope.corpora.held import holds
    from headscope.corpora.sources import suffix_of

    json = suffix_of(path) == ".jsonl" or holds(path) == "jsonl"
    inputs = [_input(line, json) for line in Files(path, records=json) if line.text.strip()]
    if not inputs:
        raise InputError(f"{path}: expected a text on each line, found none")
    return [{"name": _named(given), "input": given} for given in inputs]


def _named(given: LiveInput) -> str:
    messages = given.get("messages")
    return beginning(messages[-1]["content"] if messages else given.get("text", ""), 60)


def _input(line: Line, json: bool) -> LiveInput:
    if not json:
        text, _, pair = line.text.partition("\t")
        return {"text": text, "pair": pair} if pair else {"text": text}
    from headscope.corpora.jsonlines import json_object
    from headscope.live.reading import read_input

    fields = json_object(line)
    try:
        return read_input(fields)
    except InputError as error:
        raise line.error(str(error)) from None
