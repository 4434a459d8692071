"""What stands where in the SVG of a still."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import dataclass
from functools import cached_property
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Placed:
    """An element, and where its own corner stands in the still."""

    element: ElementTree.Element
    x: float
    y: float

    def at(self, name: str) -> float:
        """A place or a size."""
        return float(self.element.get(name, "0"))


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
        return " ".join(self.texts)

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

    def pixels(self) -> list[npt.NDArray[np.uint8]]:
        """The images that are drawn pixel by pixel, in their order, ``[row column channel]``."""
        from PIL import Image

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

    def smallest(self) -> float:
        """The size of the smallest text, in pixels."""
        return min(float(each.get("font-size", "0").removesuffix("px")) for each in self.all("text"))
