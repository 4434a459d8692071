"""Stills as tests read them: their texts, their images, what stands where, and what a state changes."""

from __future__ import annotations

import base64
import io
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

import headscope as hs
from headscope.core.arrays import Bytes
from headscope.core.maps import AttentionMaps
from headscope.views import highlights
from headscope.views.explorer import Input, explorer_payload
from headscope.views.still import DOTS, drawn
from headscope.views.view import View

SVG = "{http://www.w3.org/2000/svg}"
SMALLEST = 7 * DOTS / 72
"""Pixels of the smallest letters that paper has: 7 pt."""


@dataclass(frozen=True)
class Placed:
    """An element, and where its own corner stands in the still."""

    element: ElementTree.Element
    x: float
    y: float

    def at(self, name: str) -> float:
        """A place or a size."""
        return float(self.element.get(name, "0"))


def against_reversed(maps: AttentionMaps) -> View:
    """Maps beside those with their heads the other way round."""
    return hs.view(maps, against=replace(maps, layers=[layer[::-1] for layer in maps.layers]))


def alpha(element: ElementTree.Element) -> float:
    """How opaque an area is."""
    return float(element.get("opacity", element.get("fill-opacity", "1")))


class Still:
    """A still as its SVG says it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg
        self.root = ElementTree.fromstring(svg)

    def all(self, name: str) -> list[ElementTree.Element]:
        return list(self.root.iter(f"{SVG}{name}"))

    @cached_property
    def texts(self) -> list[str]:
        return ["".join(each.itertext()) for each in self.all("text")]

    @property
    def said(self) -> str:
        """All text in the order in which it is drawn; lines of a paragraph follow one another."""
        return re.sub(r"\s+", " ", " ".join(self.texts))

    @property
    def picture(self) -> str:
        """Without the lines below that say how it was made, and without what names have of all that is drawn."""
        drawn = re.sub(r'<text[^>]*font-size="10px"[^>]*>[^<]*</text>', "", self.svg)
        return re.sub(r'(id="|#)s\w+-', r"\1", drawn)

    @property
    def lines(self) -> str:
        """As SVG, an element a line, without photos and veils: what they are compressed to is a library's matter."""
        return re.sub(r'data:[^"]+', "", self.picture).replace("><", ">\n<")

    @cached_property
    def placed(self) -> list[Placed]:
        """What is drawn, but for what is turned, and for what is only defined."""
        found: list[Placed] = []

        def visit(element: ElementTree.Element, x: float, y: float) -> None:
            for child in element:
                name = child.tag.removeprefix(SVG)
                moved = re.match(r"translate\((\S+) (\S+)\)", child.get("transform", ""))
                if name == "g" and "rotate" not in child.get("transform", ""):
                    visit(child, x + float(moved[1] if moved else 0), y + float(moved[2] if moved else 0))
                elif name in ("rect", "image", "svg", "text", "path"):
                    found.append(Placed(child, x, y))

        visit(self.root, 0, 0)
        return found

    def of(self, name: str) -> list[Placed]:
        return [each for each in self.placed if each.element.tag == SVG + name]

    def text(self, said: str) -> Placed:
        """Where a text stands; the first of several."""
        return next(each for each in self.of("text") if "".join(each.element.itertext()) == said)

    @cached_property
    def pixels(self) -> list[Bytes]:
        """The images that are drawn pixel by pixel, in their order, ``[row column channel]``."""
        return [
            np.asarray(Image.open(io.BytesIO(base64.b64decode(source.split(",", 1)[1]))).convert("RGBA"))
            for each in self.placed
            if (source := each.element.get("href", "")).startswith("data:image/png")
        ]

    def outside(self) -> list[str]:
        """What stands out of the still."""
        wide, tall = (float(self.root.get(name, "0")) for name in ("width", "height"))
        return [
            ElementTree.tostring(each.element, encoding="unicode")[:200]
            for each in self.placed
            if each.element.tag in (f"{SVG}rect", f"{SVG}image", f"{SVG}svg")
            and not (
                each.x + each.at("x") >= -0.51
                and each.x + each.at("x") + each.at("width") <= wide + 0.51
                and each.y + each.at("y") >= -0.51
                and each.y + each.at("y") + each.at("height") <= tall + 0.51
            )
        ]

    def over_one_another(self) -> list[tuple[str, str]]:
        """Texts of one column whose lines are nearer to each other than their letters are tall."""
        columns: dict[tuple[str, float], list[tuple[float, float, str]]] = {}
        for each in self.of("text"):
            size = float(each.element.get("font-size", "0").removesuffix("px"))
            column = (each.element.get("text-anchor", "start"), round(each.x + each.at("x")))
            line = (each.y + each.at("y"), size, "".join(each.element.itertext()))
            columns.setdefault(column, []).append(line)
        return [
            (upper[2], lower[2])
            for lines in map(sorted, columns.values())
            for upper, lower in itertools.pairwise(lines)
            if lower[0] - upper[0] < 0.7 * min(upper[1], lower[1])
        ]

    def smallest(self) -> float:
        """The size of the smallest letters, in pixels."""
        return min(map(float, re.findall(r'font-size="([\d.]+)px"', self.svg)))


class Stills:
    """Stills of some inputs, each state drawn once. Keywords are keys of the state, beside those of `state`."""

    def __init__(
        self, inputs: Sequence[Input] | View, state: dict[str, Any] | None = None, **options: Any
    ) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(highlights, "SINK", 0.2)  # all special tokens of the small inputs
            if isinstance(inputs, View):
                self.payload, self.blobs = inputs.payload, inputs.blobs
            else:
                self.payload, self.blobs = explorer_payload(inputs, **options)
        self._state = state or {}
        self._known: dict[str, Still] = {}

    def __call__(
        self,
        state: dict[str, Any] | None = None,
        /,
        *,
        width: Any = "page",
        title: str | None = "",
        **more: Any,
    ) -> Still:
        asked = {**self._state, **(state or {}), **more}
        key = repr((sorted(asked.items()), width, title))
        if key not in self._known:
            payload: Any = {**self.payload, "state": asked}
            self._known[key] = Still(drawn(payload, self.blobs, width=width, title=title))
        return self._known[key]
