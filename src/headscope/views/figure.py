"""Static pictures of what an explorer shows: the grid, a head, a matrix or neurons, for a paper or slides."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, cast

import headscope
from headscope.errors import InputError
from headscope.measures.dataset import unseen
from headscope.views import telling
from headscope.views.canvas import POINTS, Canvas
from headscope.views.columns import from_scores
from headscope.views.figure_grid import Grid
from headscope.views.figure_head import HeadLines
from headscope.views.figure_matrix import HeadMatrix
from headscope.views.figure_neurons import HeadNeurons
from headscope.views.figure_picture import HeadPicture, picture_of
from headscope.views.figure_sound import HeadSound, sounds
from headscope.views.figure_talk import TextPicture, talks
from headscope.views.inputs import Included, Input, in_words
from headscope.views.page import plain_text
from headscope.views.palette import palette
from headscope.views.selection import Selection
from headscope.views.state import DEFAULTS, listed

if TYPE_CHECKING:
    import xarray as xr

COLUMN, TEXT = 3.3, 6.9
"""Widths in inches: one column of a paper of two, and the whole text."""

MARGIN = 6.0
GAP = 18.0
ROOM = 170.0
"""Panels with less than this beside each other, in points, stand one above the other."""

FOOT = 14.0

FORMATS = ("svg", "pdf", "png")


class Gap:
    """The sentence in the place of a picture that cannot be drawn."""

    def __init__(self, sentence: str, width: float) -> None:
        self.lines = wrap(sentence, max(16, int(width / 3.6)))
        self.height = 10.0 * len(self.lines) + 8

    def draw(self, canvas: Canvas, left: float, top: float) -> None:
        """Print it, from a corner in points."""
        for line, text in enumerate(self.lines):
            canvas.text(left, top + 8 + 10 * line, text, 7.0, canvas.colours.ink2)


Drawing = Grid | HeadLines | HeadMatrix | HeadNeurons | HeadPicture | HeadSound | TextPicture


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
    include = (include_layers, include_heads)
    state |= _opened(inputs, state, include)
    inches = {"column": COLUMN, "text": TEXT}.get(width, 0.0) if isinstance(width, str) else float(width)
    if not 1.0 <= inches <= 40.0:
        raise InputError(f"width: expected 'column', 'text' or inches from 1 to 40, found {width!r}")
    side = state["side"] if len(inputs) == 2 else "one"
    if side == "difference" and state["scale"] == "neuron":
        state["scale"] = "head"  # a difference has no neurons
    panels = inputs if side == "both" else [inputs[0 if side != "one" else int(state["input"])]]
    gaps = [None if side == "one" else _gap(one, place, state) for place, one in enumerate(inputs)]
    if None not in gaps:
        gaps = [None for _ in inputs]  # no input has such a matrix: the selection says which they have
    for gap in filter(None, gaps if side == "difference" else ()):
        raise InputError(f"state: {gap.rstrip('.')}")
    moved = _first(inputs, state, include)[1] if state["measure"] == "difference" else None
    beside = [] if moved is None else [from_scores(*telling.DIFFERENCE, moved)]
    against = Selection(inputs[1], state, *include) if side == "difference" else None
    whole = inches * POINTS - 2 * MARGIN
    each = (whole - GAP * (len(panels) - 1)) / len(panels)
    stacked = len(panels) > 1 and each < ROOM
    each = whole if stacked else each
    ruler = Canvas(10, 10, palette("dark" if state["theme"] == "dark" else "light"))
    drawings: list[Drawing | Gap] = []
    for one, gap in zip(panels, gaps, strict=False):
        if gap:
            drawings.append(Gap(gap, each))
            continue
        of_input = measures if one is inputs[0] else None
        selection = Selection(one, state, *include, measures=of_input, against=against, columns=beside)
        drawings.append(_drawing(selection)(selection, each, ruler))
    names = [_short(_name(one), each / 4.0) for one in panels] if side == "both" else []
    if side == "difference":
        difference = " − ".join(_short(_name(one), each / 8.0) for one in inputs)
        names = [_short(difference, each / 4.0)]
    drawn = [drawing for drawing in drawings if not isinstance(drawing, Gap)]
    said = wrapped(caption([drawing.selection for drawing in drawn], drawn), whole / 3.0)
    named = 12.0 if names else 0.0
    top = MARGIN + (14.0 if title else 0.0)
    foot = FOOT + 8.0 * (len(said) - 1)
    tall = [named + drawing.height for drawing in drawings]
    height = top + (sum(tall) + GAP * (len(tall) - 1) if stacked else max(tall)) + foot + MARGIN
    canvas = Canvas(inches * POINTS, height, ruler.colours)
    if title:
        canvas.text(MARGIN, MARGIN + 5, plain_text(title), 9.0, bold=True)
    for place, drawing in enumerate(drawings):
        left = MARGIN + (0.0 if stacked else place * (each + GAP))
        if names:
            canvas.text(left, top + named - 7, names[place], 7.0, canvas.colours.ink2)
        drawing.draw(canvas, left, top + named)
        if stacked:
            top += tall[place] + GAP
    for line, text in enumerate(said):
        canvas.text(MARGIN, height - MARGIN - foot + 11 + 8 * line, text, 6.0, canvas.colours.ink3)
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
    meta = inputs[0].first.meta
    origin = {**{key: value for key, value in meta.items() if key != "notes"}, "state": dict(state)}
    return {
        "title": plain_text(f"Attention of {meta.get('model', 'attention')}"),
        "description": json.dumps(origin, ensure_ascii=True, default=str),
        "creator": f"headscope {headscope.__version__}",
    }


def _opened(inputs: Sequence[Input], state: Mapping[str, Any], include: Any) -> dict[str, Any]:
    """The layer and heads of a state that names none, as the page opens them (``settle`` of ``state.ts``)."""
    if state["scale"] == "model" or (state["layer"] >= 0 and state["heads"]):
        return {}
    first, moved = _first(inputs, state, include)
    opens = telling.opening(telling.telling(first) if moved is None else moved, first)
    layer = opens.layer if state["layer"] < 0 else int(state["layer"])
    if layer not in first.index:
        return {}
    kept = [head for head in state["heads"] if head in first.of(layer)]
    return {"layer": layer, "heads": kept or [opens.heads[first.index.index(layer)]]}


def _first(
    inputs: Sequence[Input], state: Mapping[str, Any], include: Any
) -> tuple[Included, list[telling.Floats] | None]:
    """What is shown of the state's input, and how much each head differs in the other of two inputs."""
    place = int(state["input"])
    part = inputs[place].part(state["part"])
    first = Included(inputs[place].parts[part], *include)
    other = inputs[1 - place].parts.get(part) if len(inputs) == 2 else None
    return first, None if other is None else telling.difference(first, Included(other, *include))


def _gap(one: Input, place: int, state: Mapping[str, Any]) -> str | None:
    """Why an input cannot be drawn: it lacks the state's matrix. As in the page (``lacking`` of ``scene.ts``)."""
    name = str(state["quantity"])
    if name == "weights" or name in one.quantities(one.part(state["part"])):
        return None
    why = f"it came as maps, and a {_called(name)} needs a model or to be given with them"
    return f"Input {place + 1} has no {_called(name)}: {why}."


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
    sizes = [(len(each.query), len(each.key)) for each in selections]
    counts = dict.fromkeys(str(rows) if rows == columns else f"{rows} × {columns}" for rows, columns in sizes)
    words = [f"{' and '.join(counts)} {unit}"]
    if model := one.maps.meta.get("model"):
        name = cast(Mapping[str, Any], model).get("name", "") if isinstance(model, Mapping) else model
        words.insert(0, str(name).rstrip("/").split("/")[-1])
    words += [
        text
        for text, holds in (
            (_heads(one), state["scale"] != "model"),
            (one.part, one.part != "self"),
            (_what(one), True),
            (
                "the first input minus the second, token by token; tokens of the first",
                one.against is not None,
            ),
            ("{}→{}".format(*state["filter"].upper()), state["filter"] != "all"),
            ("special tokens hidden", not state["special"]),
            ("sinks left out", not state["sinks"] and state["scale"] != "neuron"),
            ("to a word the sum over its pieces, from it their mean", state["unit"] == "words"),
            ("a picture as one: to it the sum over its tokens, from it their mean", any(one.folded)),
        )
        if holds
    ]
    told = dict.fromkeys(filter(None, (unseen(each.maps.meta) for each in selections)))
    return plain_text(" · ".join([*words, *(note for each in drawings[:1] for note in each.notes()), *told]))


def _what(one: Selection) -> str:
    state, name = one.state, str(one.state["quantity"])
    if name != "weights" and state["scale"] != "neuron":
        return f"{_called(name)}{f' of {one.of}' if one.of else ''} in place of the weights"
    if state["renormalise"]:
        return "weights, rows renormalised over what is shown"
    hides = state["filter"] != "all" or not (state["special"] and state["sinks"])
    return "raw weights" + (" (what is hidden keeps its share)" if hides else "")


def _called(quantity: str) -> str:
    return "‖α·v·W_O‖" if quantity == "norms" else quantity


def _heads(one: Selection) -> str:
    heads: list[int] = one.state["heads"]
    if one.state["scale"] == "neuron":
        return f"L{one.layer}H{heads[-1]}"
    shown = one.drawn_heads()
    if shown[0].head is None:
        return shown[0].name + (f" (heads {listed(sorted(heads))})" if len(heads) > 1 else "")
    if one.state["picture"] == "matrix":
        return shown[-1].name
    many = f"layer {one.layer}, heads {listed(sorted(heads))}"
    return ", ".join(head.name for head in shown) if len(shown) < 4 else many


def _name(one: Input) -> str:
    return one.label or in_words(one.first.query)


def _drawing(selection: Selection) -> type[Drawing]:
    if selection.state["scale"] == "model":
        return Grid
    if selection.state["scale"] == "neuron":
        return HeadNeurons
    if selection.state["picture"] == "image" and sounds(selection):
        return HeadSound
    if selection.state["picture"] == "image" and talks(selection):
        return TextPicture
    if selection.state["picture"] == "image" and picture_of(selection) is not None:
        return HeadPicture
    return HeadMatrix if selection.state["picture"] == "matrix" else HeadLines


def _short(text: str, longest: float) -> str:
    return text if len(text) <= longest else text[: max(1, int(longest) - 1)] + "…"
