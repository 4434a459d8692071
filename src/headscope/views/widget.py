"""The explorer in a notebook: the page's component as a widget, its arrays as binary buffers.

What the widget and the kernel say to each other (see docs/protocol.md):

- trait ``program``: the widget that holds the script and the style of all views, and their version; a view that finds
  no such widget asks ``{"kind": "program"}``, and the answer has both in its buffers;
- traits ``payload`` (JSON), ``blobs`` (the arrays by name, gzip) and ``state``, which both sides change; in one from
  the widget ``sent`` is the page and a number, so that the page knows what it hears back late;
- the widget asks ``{"kind": "exact", "id", "input", "part", "layer", "head", "quantity", "side", "place"}``
  for the row (``side`` "from") or the column ("to") of a head's matrix; the answer has the same ``kind`` and
  ``id``, and the values as float32 in its first buffer, or an ``error``;
- it asks ``{"kind": "quantity", "id", "name"}`` for a matrix per pair that is offered but not there; the answer
  has the same ``kind`` and ``id``, and an ``error`` where it could not be computed;
- it asks ``{"kind": "reads", "id", "input", "part", "layer", "head", "query", "key"}`` why a line is there; the
  answer has the same ``kind`` and ``id``, and ``why`` or an ``error``;
- it asks ``{"kind": "arrays", "id", "name"}`` for an array that is not in ``blobs``, as those of neurons and other
  matrices, which a notebook would keep; the answer has it in its buffer;
- before a matrix, and whenever the view gets one, the kernel says ``{"kind": "added", "added", "arrays"}``: what was
  added to the payload, and the names of the arrays in the buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib import import_module
from typing import Any, cast

import numpy as np

from headscope.core.arrays import AnyFloats
from headscope.core.failures import out_of_memory, reason
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import HeadscopeError, InputError, MissingError
from headscope.views import highlights
from headscope.views.blobs import ArrayRef, Blobs
from headscope.views.page import bundle_file, cleaned
from headscope.views.payload import Added, ExplorerPayload
from headscope.views.sources import SimilarPayload, SourcesPayload

SENT = "sent"
"""The key of the widget's state that is not the explorer's."""

Asked = AnyMapping
"""A question of a page, with its kind and its number."""

Answer = tuple[AnyMapping, list[bytes]]
"""A message and its buffers."""


def make_widget(payload: ExplorerPayload, blobs: Blobs, answer: Callable[[Asked], Answer]) -> Any:
    """A new widget of a payload.

    Args:
        payload, blobs: what is shown; what is added later changes them in place.
        answer: answers a question.
    """
    later = asked_again(payload)
    widget = widget_class("ExplorerWidget", ("payload", "blobs", "state"))(
        program=program(),
        payload=dict(payload),
        blobs={name: raw for name, raw in blobs.buffers.items() if name not in later},
        state=dict(payload["state"]),
    )

    return _answering(widget, answer)


def make_still_widget(payload: SourcesPayload | SimilarPayload, blobs: Blobs) -> Any:
    """A new widget that asks the kernel nothing but the program."""
    kind = widget_class("SourcesWidget", ("payload", "blobs"))
    return _answering(kind(program=program(), payload=cleaned(payload), blobs=blobs.buffers))


def _answering(widget: Any, answer: Callable[[Asked], Answer] | None = None) -> Any:
    def hear(_: Any, asked: Asked, __: Any) -> None:
        if asked.get("kind") == "program":
            send_program(widget)
        elif answer is not None:
            widget.send(*answer(asked))

    widget.on_msg(hear)
    return widget


def answered(asked: Asked, way: Callable[[], Answer]) -> Answer:
    """The answer to a question: what its way gives, or the error that it ends in."""
    reply = {"kind": asked.get("kind"), "id": number_of(asked)}
    try:
        content, buffers = way()
        return {**reply, **content}, buffers
    except HeadscopeError as error:
        return {**reply, "error": str(error)}, []
    except (RuntimeError, MemoryError) as error:
        return {**reply, "error": out_of_memory(error) or reason(error)}, []


def exact(asked: Asked, matrix: Callable[..., AnyFloats]) -> Answer:
    """The exact values of a row or a column. Raises `InputError` for a place or a head that is not there."""
    weights = matrix(
        whole_number(asked, "layer"),
        whole_number(asked, "head"),
        quantity=str(asked.get("quantity", "weights"))[:40],
        part=asked.get("part"),
        place=whole_number({"input": 0, **asked}, "input"),
    )
    place, side = whole_number(asked, "place"), asked.get("side", "from")
    if side not in ("from", "to"):
        raise InputError(f"side: expected 'from' or 'to', found {str(side)[:40]!r}")
    if not 0 <= place < weights.shape[side == "to"]:
        raise InputError(
            f"place: expected a token from 0 to {weights.shape[side == 'to'] - 1}, found {place}"
        )
    values = weights[place] if side == "from" else weights[:, place]
    return {}, [np.ascontiguousarray(values, "<f4").tobytes()]


def asked_again(payload: ExplorerPayload) -> set[str]:
    """The arrays that a notebook does not keep: vectors and other matrices that the view does not begin with."""
    state, later = payload["state"], list[Any]()
    for part in (part for one in payload["inputs"] for part in one["parts"]):
        opened = state.get("layer", highlights.likely(part)) if state.get("scale") == "neuron" else None
        later += [
            info
            for number, info in zip(part["index"], part["neurons"] or [], strict=False)
            if number != opened
        ]
        later += [
            matrix["layers"] for matrix in part["quantities"] if matrix["name"] != state.get("quantity")
        ]
    return {one["data"] for one in _refs(later)}


def _refs(value: Any) -> Iterator[ArrayRef]:
    if isinstance(value, dict) and "dtype" in value:
        yield cast(ArrayRef, value)
    elif isinstance(value, dict):
        yield from _refs(list(cast("AnyDict", value).values()))
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _refs(item)


def whole_number(asked: AnyMapping, name: str) -> int:
    """The number that a question has under a name. Raises `InputError` for another value."""
    value = asked.get(name)
    if type(value) is not int:
        raise InputError(f"{name}: expected a whole number, found {str(value)[:40]!r}")
    return value


def number_of(asked: AnyMapping) -> int:
    """The number of a question, for its answer; 0 where it has none."""
    number = asked.get("id")
    return number if type(number) is int else 0


def send_added(widget: Any, added: Sequence[Added], blobs: Blobs, arrays: Sequence[str]) -> None:
    """Tell a widget what its payload has got, with the arrays of these names."""
    message = {"kind": "added", "added": list(added), "arrays": list(arrays)}
    widget.send(message, [blobs.buffers[name] for name in arrays])


@cache
def widget_class(name: str, names: tuple[str, ...]) -> Any:
    """A class of widgets that share the program, with dictionaries of these names."""
    anywidget, traitlets = _modules("anywidget", "traitlets")
    traits = {trait: traitlets.Dict().tag(sync=True) for trait in ("program", *names)}
    return type(
        name, (anywidget.AnyWidget,), {"_esm": bundle_file("loader.js"), **traits, "__module__": __name__}
    )


def program() -> dict[str, str]:
    """Which widget holds the program that draws all views of this kernel, and its version."""
    holder = _holder()
    return {
        "holder": holder.model_id,
        "version": sha256((holder.script + holder.style).encode()).hexdigest()[:12],
    }


def send_program(widget: Any) -> None:
    """Give the program to a view that has not found the widget that holds it."""
    widget.send({"kind": "program"}, [bundle_file(name).encode() for name in ("widget.js", "widget.css")])


@cache
def _holder() -> Any:
    ipywidgets, traitlets = _modules("ipywidgets", "traitlets")
    traits = {name: traitlets.Unicode().tag(sync=True) for name in ("script", "style")}
    kind = type("Program", (ipywidgets.Widget,), {**traits, "__module__": __name__})
    return kind(script=bundle_file("widget.js"), style=bundle_file("widget.css"))


def _modules(*names: str) -> list[Any]:
    try:
        return [import_module(name) for name in names]
    except ImportError:
        raise MissingError("a notebook widget needs anywidget: pip install 'headscope[notebook]'") from None
