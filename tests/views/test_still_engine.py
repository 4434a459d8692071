"""The engine of stills ends before the process does."""

from __future__ import annotations

import subprocess
import sys

from tests.helpers.patience import PATIENCE

LAST = """
import atexit
atexit.register(lambda: print(still._context()._ctx is None))  # called last
from headscope.views import still
still._context()
"""


def test_the_engine_is_closed_while_its_threads_run() -> None:
    """Left to the end of the interpreter, its own thread waits for ever for one that is gone, now and then."""
    done = subprocess.run(
        [sys.executable, "-c", LAST], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout.split() == ["True"]
