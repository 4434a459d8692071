"""headscope: see and measure where a transformer looks.

>>> import headscope as hs
>>> model = hs.load()                                      # the demo model; or "gpt2", a folder, a module
>>> maps = hs.capture(model, "The cat sat on the mat.")    # every head's map, exact
>>> stats = hs.measure(model, hs.corpora.builtin())        # every head over a corpus, with errors
"""

from __future__ import annotations

from collections.abc import Callable
from os.path import exists
from typing import Any, cast

import lazy_loader  # pyright: ignore[reportMissingTypeStubs]

__version__ = "0.1.0"

if not exists(__file__):
    raise ImportError(f"headscope cannot be imported from an archive: unpack it ({__file__})")

_load, __dir__, __all__ = cast(
    "tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]",
    lazy_loader.attach_stub(__name__, __file__),
)


def __getattr__(name: str) -> Any:
    """A public name, loaded when it is first used."""
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        from headscope.core.lazy import missing

        raise missing(error) from None
