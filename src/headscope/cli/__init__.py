"""The command line: parse, call the public names, print.

Tables go to stdout, progress and remarks to stderr. Exit codes: 0 done, 1 a run failed, 2 bad usage or bad input, 130
stopped by Ctrl-C before a command began, 143 ended by SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit."""
    try:
        os.getcwd()
    except OSError as error:
        print(
            f"headscope: the current folder cannot be read ({error.strerror}); change to another",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    try:
        with _handled(signal.SIGINT, _stop):
            from headscope.cli.app import run  # takes a second, in which Ctrl-C may come

        with _handled(signal.SIGTERM, _terminate):
            code = run()
    except KeyboardInterrupt:
        print("headscope: stopped", file=sys.stderr)
        raise SystemExit(130) from None
    raise SystemExit(code)


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
    print("headscope: stopped", file=sys.stderr)
    raise SystemExit(143)


def _stop(*_: object) -> NoReturn:
    """End at once: nothing is to be undone yet, and some libraries swallow the exception while imported."""
    os.write(2, b"headscope: stopped\n")
    os._exit(130)
