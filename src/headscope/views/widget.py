"""The explorer in a notebook: the page's component as a widget, its arrays as binary buffers.

What the widget and the kernel say to each other (see docs/protocol.md):

- traits ``payload`` (JSON), ``blobs`` (the arrays by name, gzip) and ``state``, which both sides change;
- the widget asks ``{"kind": "exact", "id", "input", "part", "layer", "head", "quantity", "side", "place"}``
  for the row (``side`` "from") or the column ("to") of a head's matrix; the answer has the same ``kind`` and
  ``id``, and the values as float32 in its first buffer, or an ``error``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from headscope.errors import HeadscopeError, RunError
from headscope.views.page import bundle_file
from headscope.views.payload import Blobs, ExplorerPayload

Matrix = Callable[..., Any]


def make_widget(payload: ExplorerPayload, blobs: Blobs, matrix: Matrix) -> Any:
    """A new widget of a payload; `matrix` gives the exact ``[query key]`` matrix of a head."""
    widget = _widget_class()(
        payload=dict(payload),
        blobs=dict(blobs.buffers),
        state=dict(payload["state"]),
    )

    def answer(_: Any, content: Mapping[str, Any], __: Any) -> None:
        if content.get("kind") == "exact":
            reply, values = exact(content, matrix)
            widget.send(reply, values)

    widget.on_msg(answer)
    return widget


def exact(asked: Mapping[str, Any], matrix: Matrix) -> tuple[dict[str, Any], list[bytes]]:
    """The answer to a question for exact values: a message and its buffers."""
    reply: dict[str, Any] = {"kind": "exact", "id": asked.get("id")}
    try:
        found = matrix(
            int(asked["layer"]),
            int(asked["head"]),
            quantity=str(asked.get("quantity", "weights")),
            part=asked.get("part"),
            place=int(asked.get("input", 0)),
        )
        place = int(asked["place"])
        values = found[place] if asked.get("side", "from") == "from" else found[:, place]
    except (HeadscopeError, LookupError, TypeError, ValueError) as error:
        return {**reply, "error": f"{type(error).__name__}: {error}"}, []
    return reply, [np.ascontiguousarray(values, "<f4").tobytes()]


@cache
def _widget_class() -> Any:
    try:
        anywidget: Any = importlib.import_module("anywidget")
        traitlets: Any = importlib.import_module("traitlets")
    except ImportError:
        raise RunError("a notebook widget needs anywidget: pip install 'headscope[notebook]'") from None
    fields = {
        "_esm": bundle_file("widget.js"),
        "_css": bundle_file("widget.css"),
        "payload": traitlets.Dict().tag(sync=True),
        "blobs": traitlets.Dict().tag(sync=True),
        "state": traitlets.Dict().tag(sync=True),
        "__module__": __name__,
    }
    return type("ExplorerWidget", (anywidget.AnyWidget,), fields)
