"""Load what is heavy when it is first used."""

from __future__ import annotations

import importlib
from typing import Any

from headscope.errors import InputError, RunError


def module(name: str, *, needs: str = "") -> Any:
    """A library's module, untyped, such as ``scipy.stats``.

    `needs` says what to install where the library is optional: the `InputError` raised without it names that.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not needs or error.name != name.split(".")[0]:
            raise
        raise InputError(f"{error.name} is not installed: {needs}") from None


def matplotlib() -> Any:
    """The library, with the modules that pictures are drawn with. `RunError` where it is not installed."""
    try:
        import matplotlib
        import matplotlib.backends.backend_agg  # pyright: ignore[reportUnusedImport]
        import matplotlib.figure  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise RunError("static pictures need matplotlib: pip install 'headscope[figures]'") from None
    return matplotlib


def attribute(path: str) -> Any:
    """What a path such as ``headscope.analyses.syntax.run:syntax`` names."""
    where, _, name = path.partition(":")
    return getattr(importlib.import_module(where), name)
