"""Type and look in a notebook."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from headscope.attention.load import load
from headscope.attention.recorded import Recorded
from headscope.attention.whatif import WhatIf
from headscope.core.maps import AttentionMaps
from headscope.core.saving import check_place, replacing
from headscope.core.validation import validated
from headscope.errors import InputError, MissingError
from headscope.live.reading import read_input
from headscope.live.session import Live
from headscope.live.standalone import Weights, carry, standalone_page
from headscope.live.view import Source, check_keywords, view
from headscope.models import Model
from headscope.views.page import cleaned
from headscope.views.view import View, display_to_keep, notebook_picture
from headscope.views.widget import SENT, program, send_program, widget_class
from headscope.views.wire import LiveInput


class Exploration:
    """An explorer with its model behind it, as a widget (with the extra ``notebook``).

    Attributes:
        live: what answers it.
    """

    def __init__(
        self, live: Live, given: LiveInput, changes: Sequence[str], state: Mapping[str, Any]
    ) -> None:
        self.live = live
        self._asked: dict[str, Any] = {"input": given, "changes": list(changes), "chosen": None}
        self._state = dict(state)
        self._widget: Any = None

    @property
    def asked(self) -> dict[str, Any]:
        """What is read and changed now: ``input``, ``changes``, and the candidate ``chosen``; it follows the widget."""
        return self._asked if self._widget is None else dict(self._widget.asked)

    @property
    def changes(self) -> list[str]:
        """The changes that are made now: ``with hs.edit(model, *exploration.changes)`` does the same."""
        return [str(change) for change in self.asked["changes"]]

    @property
    def state(self) -> dict[str, Any]:
        """What is shown now, as in `headscope.views.view.View.state`."""
        state = self._state if self._widget is None else self._widget.state
        return {key: value for key, value in state.items() if key != SENT}

    def widget(self) -> Any:
        """The widget (`anywidget.AnyWidget`). `MissingError` where the extra ``notebook`` is not installed."""
        if self._widget is None:
            kind = widget_class("LiveWidget", ("live", "asked", "state"))
            live: Any = cleaned(self.live.info)
            self._widget = kind(program=program(), live=live, asked=self._asked, state=self._state)
            self._widget.on_msg(self._answer)
        return self._widget

    def _answer(self, _: Any, content: Mapping[str, Any], __: Any) -> None:
        if content.get("kind") == "program":
            send_program(self._widget)
        elif content.get("kind") != "stop":  # a kernel hears it when it is done
            self._widget.send(*self.live.answer(content))

    def save(self, path: str | os.PathLike[str], *, weights: Weights = "int8") -> Path:
        """Write a page that carries its model: type, look and change, with no server and no network.

        Args:
            path: ends in ``.html``.
            weights: how the page holds the model's weights: ``int8``, ``float16`` or ``float32``. The page says what
                rounding does to the maps.

        Raises:
            InputError: another suffix, a place where nothing can be written, nothing to read, or a conversation.
            RefusedError: the model cannot be put into a page (headscope.live.standalone): the message has the reason.
            MissingError: the extra ``page`` is not installed.
        """
        path = Path(path)
        if path.suffix.lower() != ".html":
            raise InputError(f"{path}: expected a file that ends in .html, found {path.suffix or 'none'}")
        if len(self.live.models) == 2:
            raise InputError("explore: a page carries one model, found two")
        check_place(path)
        given = read_input(self.asked["input"])
        standalone = carry(self.live.models[0], given, changes=self.changes, weights=weights)
        shown = view(self.live.models[0], given.get("text"), pair=given.get("pair"), **self.state)
        text = standalone_page(shown, standalone)
        with replacing(path) as file:
            file.write_text(text, encoding="utf-8")
        return path

    def __repr__(self) -> str:
        names = ", ".join(model.name for model in self.live.models)
        changes = f", {', '.join(self.changes)}" if self.changes else ""
        return f"Exploration({names}{changes})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        data: dict[str, Any] = {"text/plain": repr(self)}
        still = self._still()
        if still is not None:
            with suppress(InputError):  # nothing that draws it, or a state of which there is no picture
                data["image/png"] = notebook_picture(still)
        with suppress(MissingError):  # no anywidget
            bundle: Any = self.widget()._repr_mimebundle_()  # data, or data and metadata
            kinds = cast(Mapping[str, Any], bundle[0] if isinstance(bundle, tuple) else bundle)
            data |= {kind: value for kind, value in kinds.items() if kind != "text/plain"}
        return data

    def _ipython_display_(self) -> None:
        display_to_keep(self._repr_mimebundle_())

    def _still(self) -> View | None:
        """The input as it is now, for a notebook without its kernel; None where nothing is read."""
        if self.live.view is None:
            return None
        return View(self.live.view.inputs, self._state, model=self.live.view.payload["model"])

    def show(self) -> None:
        """Read what is asked. Raises `InputError` where it cannot be."""
        answer, _ = self.live.answer({"kind": "show", "id": 0, **self.asked})
        if "error" in answer:
            raise InputError(answer["error"])

    def _display_(self) -> Any:
        """What marimo shows."""
        return self.widget()


@validated
def explore(
    model: Source = None,
    text: str | list[Any] | None = None,
    *,
    pair: str | None = None,
    target: str | None = None,
    against: Model | None = None,
    changes: Sequence[str | WhatIf] = (),
    **state: Any,
) -> Exploration:
    """Type and look: the explorer with its model behind it, in a notebook.

    It follows as one types, says what the model predicts, and shows what changes of attention do to both. In the shell
    the same is ``headscope serve``.

    Args:
        model: from `headscope.load`, or what it takes (None: the demo model).
        text: what to begin with, or a conversation (a list of ``{"role": …, "content": …}``); by default a text
            that shows something.
        pair: text B.
        target: the decoder's text, for an encoder-decoder.
        against: a second model that reads the same.
        changes: to begin with: `headscope.WhatIf` or their texts, such as ``"L4H2 off"``.
        **state: what to begin with, as in `headscope.view`.

    Raises:
        InputError: maps in place of a model, an input that cannot be read, a change or a keyword that is none.

    >>> exploration = hs.explore(model, "The cat sat.", changes=["L0H2 off"])
    >>> exploration.changes
    ['L0H2 off']
    """
    check_keywords(state)
    if isinstance(model, (AttentionMaps, Mapping, Recorded)):
        raise InputError("explore: expected a model, found maps; headscope.view shows them")
    ready = model if isinstance(model, Model) else load(model)
    asked: dict[str, Any] = {"messages" if isinstance(text, list) else "text": text, "target": target}
    asked |= {} if pair is None else {"pair": pair, "together": True}
    given = read_input({name: value for name, value in asked.items() if value is not None})
    made = [str(WhatIf.parse(change) if isinstance(change, str) else change) for change in changes]
    live = Live(ready, against)
    if not given and (examples := live.info["examples"]):
        first = examples[0]
        given = first["input"]
        if "layer" in first and "head" in first:
            state = {"layer": first["layer"], "heads": [first["head"]], **state}
    exploration = Exploration(live, given, made, state)
    if given:
        exploration.show()
    return exploration
