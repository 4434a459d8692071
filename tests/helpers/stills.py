"""Stills as tests read them: their texts, their images, and what a state changes."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from headscope.views import highlights as telling
from headscope.views.explorer import Input, explorer_payload
from headscope.views.still import DOTS, drawn

SMALLEST = 7 * DOTS / 72
"""Pixels of the smallest letters that paper has: 7 pt."""

_SVG = "{http://www.w3.org/2000/svg}"


class Stills:
    """Stills of some inputs, each state drawn once."""

    def __init__(self, inputs: Sequence[Input], **options: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(telling, "SINK", 0.2)  # all special tokens of the small inputs
            self.payload, self.blobs = explorer_payload(inputs, **options)
        self._known: dict[str, str] = {}

    def svg(self, state: Mapping[str, Any], **options: Any) -> str:
        key = repr((state, options))
        if key not in self._known:
            self._known[key] = drawn({**self.payload, "state": dict(state)}, self.blobs, **options)
        return self._known[key]

    def picture(self, state: Mapping[str, Any]) -> str:
        """Without the lines below that say how it was made."""
        return re.sub(r'<text[^>]*font-size="10px"[^>]*>[^<]*</text>', "", self.svg(state))

    def texts(self, state: Mapping[str, Any], **options: Any) -> list[str]:
        root = ElementTree.fromstring(self.svg(state, **options))
        return ["".join(each.itertext()) for each in root.iter(f"{_SVG}text")]

    def said(self, state: Mapping[str, Any], **options: Any) -> str:
        return " ".join(self.texts(state, **options))

    def images(self, state: Mapping[str, Any]) -> list[np.ndarray[Any, Any]]:
        """The pixels of what is drawn as PNG, ``[row column 4]``."""
        found = re.findall(r'href="data:image/png;base64,([^"]+)"[^>]*pixelated', self.svg(state))
        return [np.asarray(Image.open(io.BytesIO(base64.b64decode(each))).convert("RGBA")) for each in found]

    def letters(self, state: Mapping[str, Any], **options: Any) -> float:
        """The smallest letters, in pixels."""
        return min(map(float, re.findall(r'font-size="([\d.]+)px"', self.svg(state, **options))))
