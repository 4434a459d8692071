"""What BertViz's `html_action` asks for."""

from __future__ import annotations

import importlib
from typing import Any, Literal

from headscope.errors import InputError
from headscope.views.view import View, framed

HtmlAction = Literal["view", "return"]


def check_action(action: str) -> None:
    """Raise `InputError` for an action that there is not."""
    if action not in ("view", "return"):
        raise InputError(f"html_action: expected 'view' or 'return', found {action!r}")


def shown(view: View, action: HtmlAction) -> Any:
    """Display the view, or return an object whose ``data`` is its page (`IPython.display.HTML` where that is)."""
    if action == "return":
        return _returned(view.html())
    try:
        display: Any = importlib.import_module("IPython.display").display
    except ImportError:
        print(view)
    else:
        display(view)
    return None


def _returned(page: str) -> Any:
    try:
        base: Any = importlib.import_module("IPython.display").HTML
    except ImportError:
        base = object
    # a cell shows the page in a frame; `data` is the page, to be written to a file
    kind: Any = type("Page", (base,), {"__init__": _keep, "_repr_html_": lambda self: framed(self.data)})  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType, reportUnknownMemberType]
    return kind(page)


def _keep(self: Any, page: str) -> None:
    self.data = page
    self.metadata = None
