"""The engine of stills: it ends before the process does, and is not waited for in a process without its threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.helpers.patience import PATIENCE

pytestmark = pytest.mark.slow

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


FORKED = """
import os
import numpy as np
import headscope as hs
view = hs.view(hs.wrap(np.ones((1, 1, 1, 1)), ["a"]))
view.picture("svg")
child = os.fork()
if not child:
    try:
        view.picture("svg")
    except hs.errors.RunError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_process_that_was_forked_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stdout.startswith("stills: this process was forked from one that has drawn some")
