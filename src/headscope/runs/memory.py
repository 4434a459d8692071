"""Freed memory, handed back to the system."""

from __future__ import annotations

import ctypes
import sys
import time
from typing import Any

from torch import nn

from headscope.models.weights import LARGE, size_of

EVERY = 0.5
"""Seconds between two times, at least."""

_trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
_last = 0.0


def hand_back(module: nn.Module) -> None:
    """Hand back what was freed beside the weights of a large model, as glibc keeps it in pieces that fit little.

    It takes some 10 ms; nothing is done for other models, and elsewhere than under Linux with glibc.
    """
    global _last
    if _trim is not None and time.monotonic() - _last > EVERY and size_of(module) > LARGE:
        _trim(0)
        _last = time.monotonic()
