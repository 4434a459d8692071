"""How long a test waits for what has to come: one time for all, far above what a busy machine needs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

PATIENCE = float(os.environ.get("HEADSCOPE_TEST_PATIENCE", "600"))
"""Seconds. Playwright takes milliseconds: ``1000 * PATIENCE``."""


def eventually(holds: Callable[[], object], what: str = "what was waited for", pause: float = 0.02) -> None:
    """Wait until a condition holds; the test fails where it does not come to hold."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"{what}: not in {PATIENCE:.0f} s"
        time.sleep(pause)
