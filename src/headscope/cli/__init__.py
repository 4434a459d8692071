"""The command line: parse, call the public names, print.

Tables go to stdout, progress and remarks to stderr. Exit codes: 0 done, 1 a run failed, 2 bad usage or bad input, 130
stopped by Ctrl-C, 143 ended by SIGTERM.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit."""
    try:
        os.getcwd()
    except OSError as error:
        _say(f"the current folder cannot be read ({error.strerror}); change to another", "bad_input", 2)
        raise SystemExit(2) from None
    try:
        with _handled(signal.SIGINT, _stop):
            from headscope.cli.app import run  # takes a second, in which Ctrl-C may come

        with _handled(signal.SIGTERM, _terminate):
            code = run()
    except KeyboardInterrupt:
        _say("stopped", "stopped", 130)
        raise SystemExit(130) from None
    raise SystemExit(code)


def _say(message: str, kind: str, code: int) -> None:
    """Say what ends the command before it begins, as `headscope.console.answer` does later."""
    error = {"format": "headscope.error/1", "error": message, "kind": kind, "exit": code}
    with suppress(OSError):
        os.write(2, f"headscope: {message}\n".encode())
        os.write(1, f"{json.dumps(error)}\n".encode() * ("--json" in sys.argv))


@contextmanager
def _handled(number: int, handler: Callable[..., NoReturn]) -> Generator[None]:
    """Within it a signal is handled so; only the main thread can be told."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def _terminate(*_: object) -> NoReturn:
    """SIGTERM, as schedulers send it, is an exit: what is done is kept, and nothing half written is left."""
    raise SystemExit(143)


def _stop(*_: object) -> NoReturn:
    """End at once: nothing is to be undone yet, and some libraries swallow the exception while imported."""
    _say("stopped", "stopped", 130)
    os._exit(130)
