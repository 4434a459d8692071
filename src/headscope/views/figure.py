"""Static pictures of what an explorer shows: the grid, a head, a matrix or neurons, for a paper or slides."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import headscope
from headscope.errors import InputError
from headscope.views.canvas import POINTS, Canvas
from headscope.views.explorer import Input
from headscope.views.figure_grid import Grid
from headscope.views.figure_head import HeadLines
from headscope.views.figure_matrix import HeadMatrix
from headscope.views.figure_neurons import HeadNeurons
from headscope.views.page import plain_text
from headscope.views.palette import palette
from headscope.views.selection import DEFAULTS, Selection

COLUMN, TEXT = 3.3, 6.9
"""Widths in inches: one column of a paper of two, and the whole text."""

MARGIN = 6.0
GAP = 18.0
FOOT = 14.0

FORMATS = ("svg", "pdf", "png")

Drawing = Grid | HeadLines | HeadMatrix | HeadNeurons


def figure(
    inputs: Sequence[Input],
    state: Mapping[str, Any] | None = None,
    *,
    width: float | Literal["column", "text"] = "text",
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    title: str | None = None,
) -> Canvas:
    """A picture of what a state shows.

    Args:
        inputs: as in `headscope.views.explorer`; with the state's `side` "both" two stand side by side.
        state: the explorer's state; `theme` "auto" is light.
        width: in inches, or the width of a ``column`` (3.3 in) or the ``text`` (6.9 in) of a paper.
        include_layers, include_heads: the model's own indices of what to show.
        title: printed above; by default the picture's own names are enough.
    """
    state = {**DEFAULTS, **(state or {})}
    inches = {"column": COLUMN, "text": TEXT}.get(width, 0.0) if isinstance(width, str) else float(width)
    if not 1.0 <= inches <= 40.0:
        raise InputError(f"width: expected 'column', 'text' or inches from 1 to 40, found {width!r}")
    colours = palette("dark" if state["theme"] == "dark" else "light")
    both = state["side"] != "one" and len(inputs) > 1
    shown: Sequence[Input] = inputs[:2] if both else [inputs[int(state["input"])]]
    selections = [Selection(one, state, include_layers, include_heads) for one in shown]
    full = inches * POINTS - 2 * MARGIN
    each = (full - GAP * (len(shown) - 1)) / len(shown)
    measure = Canvas(10, 10, colours)
    drawings = [_drawing(selection)(selection, each, measure) for selection in selections]
    labelled = len(shown) > 1 and any(one.label for one in shown)
    top = MARGIN + (14.0 if title else 0.0) + (12.0 if labelled else 0.0)
    said = wrapped(caption(selections), full / 3.0)
    foot = FOOT + 8.0 * (len(said) - 1)
    height = top + max(drawing.height for drawing in drawings) + foot + MARGIN
    canvas = Canvas(inches * POINTS, height, colours)
    if title:
        canvas.text(MARGIN, MARGIN + 5, plain_text(title), 9.0, bold=True)
    for place, (one, drawing) in enumerate(zip(shown, drawings, strict=True)):
        left = MARGIN + place * (each + GAP)
        if labelled:
            canvas.text(left, top - 7, _short(one.label, each / 4.0), 7.0, colours.ink2)
        drawing.draw(canvas, left, top)
    for line, text in enumerate(said):
        canvas.text(MARGIN, height - MARGIN - foot + 11 + 8 * line, text, 6.0, colours.ink3)
    return canvas


def picture(
    kind: str,
    inputs: Sequence[Input],
    state: Mapping[str, Any] | None = None,
    *,
    dots: float = 300.0,
    **options: Any,
) -> bytes:
    """The same as a file of kind svg, pdf or png, with what made it among the file's own properties."""
    if kind not in FORMATS:
        raise InputError(f"picture: expected {', '.join(FORMATS)}, found {kind!r}")
    return figure(inputs, state, **options).save(kind, about(inputs, state or {}), dots)


def about(inputs: Sequence[Input], state: Mapping[str, Any]) -> dict[str, str]:
    """What made a picture: for the properties of its file."""
    maps = next(iter(inputs[0].parts.values()))
    made = {**{key: value for key, value in maps.meta.items() if key != "notes"}, "state": dict(state)}
    description = json.dumps(made, ensure_ascii=True, default=str)
    name = str(maps.meta.get("model", "attention"))
    return {
        "title": plain_text(f"Attention of {name}"),
        "description": description,
        "creator": f"headscope {headscope.__version__}",
    }


def wrapped(text: str, longest: float) -> list[str]:
    """A caption in lines of at most about `longest` characters, cut between its parts."""
    lines: list[str] = []
    for part in text.split(" · "):
        if lines and len(lines[-1]) + len(part) + 3 <= longest:
            lines[-1] += " · " + part
        else:
            lines.append(_short(part, longest))
    return lines


def caption(selections: Sequence[Selection]) -> str:
    """What the numbers are: units, raw or renormalised, which layer and heads, of which model."""
    one = selections[0]
    state = one.state
    unit = "words" if state["unit"] == "words" else "tokens" if one.query.ids is None else "pieces"
    what = {"weights": "raw weights", "norms": "‖α·v·W_O‖"}.get(state["quantity"], str(state["quantity"]))
    if state["renormalise"]:
        what = ("weights" if state["quantity"] == "weights" else what) + ", rows renormalised"
    elif state["quantity"] == "weights" and (state["filter"] != "all" or not state["special"]):
        what += " (what is hidden keeps its share)"
    sizes = " and ".join(
        dict.fromkeys(
            f"{len(each.query)}"
            if len(each.query) == len(each.key)
            else f"{len(each.query)} × {len(each.key)}"
            for each in selections
        )
    )
    words = [f"{sizes} {unit}", what]
    if state["filter"] != "all":
        words.append("{}→{}".format(*state["filter"].upper()))
    if state["scale"] != "model":
        words.append(
            ", ".join(each.name for each in one.chosen()) if len(one.chosen()) < 4 else f"layer {one.layer}"
        )
    if one.part != "self":
        words.append(one.part)
    if model := one.maps.meta.get("model"):
        words.append(str(model).rstrip("/").split("/")[-1])
    return plain_text(" · ".join(words))


def _drawing(selection: Selection) -> type[Drawing]:
    if selection.state["scale"] == "model":
        return Grid
    if selection.state["scale"] == "neuron":
        return HeadNeurons
    return HeadMatrix if selection.state["picture"] == "matrix" else HeadLines


def _short(text: str, longest: float) -> str:
    return text if len(text) <= longest else text[: max(1, int(longest) - 1)] + "…"
