"""What is a page, a widget and a picture, and asks nothing of Python once it is drawn."""

from __future__ import annotations

import json
from typing import Any

from headscope.views.blobs import Blobs
from headscope.views.sources import SimilarPayload, SourcesPayload
from headscope.views.still import Kind, Width, picture
from headscope.views.view import Showable
from headscope.views.widget import make_still_widget


class StillView(Showable):
    """A view whose payload says all.

    Args:
        payload: what the page is given.
        blobs: the arrays beside it.
        named: what of the payload a picture's properties name.
    """

    def __init__(
        self,
        payload: SourcesPayload | SimilarPayload,
        blobs: Blobs,
        named: tuple[str, ...] = ("model", "state"),
    ) -> None:
        self.blobs, self._payload, self._named = blobs, payload, named
        self._widget: Any = None

    @property
    def payload(self) -> SourcesPayload | SimilarPayload:
        """What the page is given."""
        return self._payload

    def picture(self, kind: Kind, *, width: Width = "page", dots: float = 300.0, title: bool = True) -> bytes:
        """What is shown as a picture; arguments as for `save`."""
        shown = self._payload
        about = {
            "title": shown["title"],
            "description": json.dumps({name: shown[name] for name in self._named}),
        }
        heading = shown["title"] if title else None
        return picture(kind, shown, self.blobs, width=width, dots=dots, title=heading, about=about)

    def widget(self) -> Any:
        """The widget (`anywidget.AnyWidget`). `MissingError` where the extra ``notebook`` is not installed."""
        if self._widget is None:
            self._widget = make_still_widget(self._payload, self.blobs)
        return self._widget
