"""Static pictures of what an explorer shows: the grid, a head, a matrix or neurons, for a paper or slides."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any, Literal, cast

import xarray as xr

import headscope
from headscope.errors import InputError
from headscope.views.canvas import POINTS, Canvas, label
from headscope.views.figure_grid import Grid
from headscope.views.figure_head import HeadLines
from headscope.views.figure_matrix import HeadMatrix
from headscope.views.figure_neurons import HeadNeurons
from headscope.views.inputs import Input
from headscope.views.page import plain_text
from headscope.views.palette import palette
from headscope.views.selection import Selection
from headscope.views.state import DEFAULTS

COLUMN, TEXT = 3.3, 6.9
"""Widths in inches: one column of a paper of two, and the whole text."""

MARGIN = 6.0
GAP = 18.0
FOOT = 14.0

FORMATS = ("svg", "pdf", "png")

NORMS = "‖α·v·W_O‖"


class Gap:
    """The sentence in the place of a picture that cannot be drawn."""

    def __init__(self, sentence: str, width: float) -> None:
        self.lines = wrap(sentence, max(16, int(width / 3.6)))
        self.height = 10.0 * len(self.lines) + 8

    def draw(self, canvas: Canvas, left: float, top: float) -> None:
        """Print it, from a corner in points."""
        for line, text in enumerate(self.lines):
            canvas.text(left, top + 8 + 10 * line, text, 7.0, canvas.colours.ink2)


Drawing = Grid | HeadLines | HeadMatrix | HeadNeurons


def figure(
    inputs: Sequence[Input],
    state: Mapping[str, Any] | None = None,
    *,
    width: float | Literal["column", "text"] = "text",
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    measures: xr.Dataset | None = None,
    title: str | None = None,
) -> Canvas:
    """A picture of what a state shows.

    Args:
        inputs: as in `headscope.views.explorer`; of two, the state's `side` "both" draws one beside the other, and
            "difference" the first minus the second.
        state: the explorer's state; `theme` "auto" is light.
        width: in inches, or the width of a ``column`` (3.3 in) or the ``text`` (6.9 in) of a paper.
        include_layers, include_heads: the model's own indices of what to show.
        measures: figures of every head over a corpus, for a `measure` of the state that is of one.
        title: printed above; by default the picture's own names are enough.

    Raises:
        InputError: a state that these inputs cannot show, such as the difference of inputs of other lengths.
    """
    state = {**DEFAULTS, **(state or {})}
    inches = {"column": COLUMN, "text": TEXT}.get(width, 0.0) if isinstance(width, str) else float(width)
    if not 1.0 <= inches <= 40.0:
        raise InputError(f"width: expected 'column', 'text' or inches from 1 to 40, found {width!r}")
    colours = palette("dark" if state["theme"] == "dark" else "light")
    side = state["side"] if len(inputs) == 2 else "one"
    if side == "difference" and state["scale"] == "neuron":
        state["scale"] = "head"  # a difference has no neurons
    shown: Sequence[Input] = (
        inputs if side == "both" else [inputs[0 if side != "one" else int(state["input"])]]
    )
    gaps = [None if side == "one" else _gap(one, place, state) for place, one in enumerate(inputs)]
    if None not in gaps:
        gaps = [None for _ in inputs]  # no input has such a matrix: the selection says which they have
    for gap in filter(None, gaps if side == "difference" else ()):
        raise InputError(f"state: {gap.rstrip('.')}")
    include = (include_layers, include_heads)
    selections = [
        Selection(
            one,
            state,
            *include,
            measures=measures if one is inputs[0] else None,
            against=Selection(inputs[1], state, *include) if side == "difference" else None,
        )
        for one, gap in zip(shown, gaps, strict=False)
        if gap is None
    ]
    full = inches * POINTS - 2 * MARGIN
    each = (full - GAP * (len(shown) - 1)) / len(shown)
    measure = Canvas(10, 10, colours)
    drawings = [_drawing(selection)(selection, each, measure) for selection in selections]
    drawn = iter(drawings)
    panels = [Gap(gap, each) if gap else next(drawn) for gap in gaps[: len(shown)]]
    names = [_name(one) for one in shown] if side == "both" else []
    if side == "difference":
        names = [" − ".join(_short(_name(one), each / 8.0) for one in inputs)]
    top = MARGIN + (14.0 if title else 0.0) + (12.0 if names else 0.0)
    said = wrapped(caption(selections, drawings), full / 3.0)
    foot = FOOT + 8.0 * (len(said) - 1)
    height = top + max(panel.height for panel in panels) + foot + MARGIN
    canvas = Canvas(inches * POINTS, height, colours)
    if title:
        canvas.text(MARGIN, MARGIN + 5, plain_text(title), 9.0, bold=True)
    for place, panel in enumerate(panels):
        left = MARGIN + place * (each + GAP)
        if names:
            canvas.text(left, top - 7, _short(names[place], each / 4.0), 7.0, colours.ink2)
        panel.draw(canvas, left, top)
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


def _gap(one: Input, place: int, state: Mapping[str, Any]) -> str | None:
    """Why an input cannot be drawn: it lacks the state's matrix. As in the page (``lacking`` of ``scene.ts``)."""
    name = state["quantity"]
    if name == "weights" or name in one.quantities(one.part(state["part"])):
        return None
    called = NORMS if name == "norms" else str(name)
    why = f"it came as maps, and a {called} needs a model or to be given with them"
    return f"Input {place + 1} has no {called}: {why}."


def wrapped(text: str, longest: float) -> list[str]:
    """A caption in lines of at most about `longest` characters, cut between its parts where they fit on a line."""
    lines: list[str] = []
    for part in text.split(" · "):
        if lines and len(lines[-1]) + len(part) + 3 <= longest:
            lines[-1] += " · " + part
        else:
            lines += wrap(part, max(8, int(longest)))
    return lines


def caption(selections: Sequence[Selection], drawings: Sequence[Drawing] = ()) -> str:
    """What the numbers are: the model, units, layer and heads, quantity, filter, and what was done to them."""
    one = selections[0]
    state = one.state
    unit = "words" if state["unit"] == "words" else "tokens" if one.query.ids is None else "pieces"
    sizes = " and ".join(
        dict.fromkeys(
            f"{len(each.query)}"
            if len(each.query) == len(each.key)
            else f"{len(each.query)} × {len(each.key)}"
            for each in selections
        )
    )
    words = [f"{sizes} {unit}"]
    if model := one.maps.meta.get("model"):
        found = cast(Mapping[str, Any], model).get("name", "") if isinstance(model, Mapping) else model
        words.insert(0, str(found).rstrip("/").split("/")[-1])
    if state["scale"] != "model":
        words.append(_heads(one))
    if one.part != "self":
        words.append(one.part)
    words.append(_what(one))
    if one.against is not None:
        words.append("the first input minus the second, token by token; tokens of the first")
    if state["filter"] != "all":
        words.append("{}→{}".format(*state["filter"].upper()))
    if not state["special"]:
        words.append("special tokens hidden")
    if state["unit"] == "words":
        words.append("to a word the sum over its pieces, from it their mean")
    for each in drawings[:1]:
        words += each.notes()
    return plain_text(" · ".join(words))


def _what(one: Selection) -> str:
    state, name = one.state, one.state["quantity"]
    if state["scale"] == "neuron":
        name = "weights"
    if name != "weights":
        called = NORMS if name == "norms" else str(name)
        return f"{called}{f' of {one.of}' if one.of else ''} in place of the weights"
    if state["renormalise"]:
        return "weights, rows renormalised over what is shown"
    hides = state["filter"] != "all" or not state["special"]
    return "raw weights" + (" (what is hidden keeps its share)" if hides else "")


def _heads(one: Selection) -> str:
    heads: list[int] = one.state["heads"]
    if one.state["scale"] == "neuron":
        return f"L{one.layer}H{heads[-1]}"
    chosen = one.chosen()
    if chosen[0].head is None:
        return chosen[0].name + (f" (heads {_listed(heads)})" if len(heads) > 1 else "")
    if one.state["picture"] == "matrix":
        return chosen[-1].name
    many = f"layer {one.layer}, heads {_listed(heads)}"
    return ", ".join(head.name for head in chosen) if len(chosen) < 4 else many


def _listed(numbers: Sequence[int]) -> str:
    """``0, 3, 5``, and ``0 to 11`` where none is missing."""
    ordered = sorted(numbers)
    whole = ordered == list(range(ordered[0], ordered[-1] + 1))
    return f"{ordered[0]} to {ordered[-1]}" if whole and len(ordered) > 2 else ", ".join(map(str, ordered))


def _name(one: Input) -> str:
    """What an input is called: its label, or its words."""
    if one.label:
        return one.label
    tokens = next(iter(one.parts.values())).query
    special = tokens.special_mask
    words = [
        label(piece) if piece.startswith("##") else " " + label(piece)
        for place, piece in enumerate(tokens.pieces)
        if special is None or not special[place]
    ]
    return "".join(words).replace("##", "").strip()


def _drawing(selection: Selection) -> type[Drawing]:
    if selection.state["scale"] == "model":
        return Grid
    if selection.state["scale"] == "neuron":
        return HeadNeurons
    return HeadMatrix if selection.state["picture"] == "matrix" else HeadLines


def _short(text: str, longest: float) -> str:
    return text if len(text) <= longest else text[: max(1, int(longest) - 1)] + "…"
