"""What BertViz's `html_action` asks for."""

from __future__ import annotations

from typing import Any, Literal, cast

from headscope.views.view import View, framed

HtmlAction = Literal["view", "return"]


def shown(view: View, action: HtmlAction) -> Any:
    """Display the view, or return an object whose ``data`` is its page (`IPython.display.HTML` where that is).

    BertViz's controls stand above it.
    """
    view.like_bertviz()
    try:
        import IPython.display

        notebook = cast(Any, IPython.display)
        base, display = notebook.HTML, notebook.display
    except ImportError:
        base, display = cast(Any, object), print
    if action == "view":
        display(view)
        return None

    class Page(base):
        """A page to be written to a file; a cell shows it in a frame."""

        def __init__(self, data: str) -> None:
            self.data = data
            self.metadata = None

        def _repr_html_(self) -> str:
            return framed(self.data)

    return Page(view.html())
