"""Whether what is printed is shown in a notebook."""

from __future__ import annotations

import sys


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, where what goes to stderr is shown in a red box."""
    return type(sys.stderr).__module__.startswith("ipykernel")
