"""The command line: parse, call the public names, print.

Tables go to stdout, progress and remarks to stderr. Exit codes: 0 done, 1 a run failed, 2 bad usage or bad input, 130
stopped by Ctrl-C before a command began, 143 ended by SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
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
        with _stoppable():
            from headscope.cli.app import run  # takes a second, in which Ctrl-C may come

        with _terminable():
            code = run()
    except KeyboardInterrupt:
        print("headscope: stopped", file=sys.stderr)
        raise SystemExit(130) from None
    raise SystemExit(code)


@contextmanager
def _stoppable() -> Generator[None]:
    """End at once on Ctrl-C: nothing is to be undone yet, and some libraries swallow the exception while imported."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _terminable() -> Generator[None]:
    """Within it SIGTERM, as schedulers send it, is an exit: what is done is kept, and nothing half written is left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(*_: object) -> NoReturn:
    print("headscope: stopped", file=sys.stderr)
    raise SystemExit(143)


def _stop(*_: object) -> NoReturn:
    os.write(2, b"headscope: stopped\n")
    os._exit(130)
