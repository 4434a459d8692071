"""The state of an explorer: its keys, what they take, and whether given inputs can show a given state."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast, get_type_hints

import numpy as np

from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Expected, Number, expect
from headscope.errors import InputError
from headscope.views.payload import AxisInfo, ExplorerState, InputInfo, MeasureColumn, PartInfo

_HINTS = get_type_hints(ExplorerState, include_extras=True)

STATE: Mapping[str, str] = {key: hint.__metadata__[0].takes for key, hint in _HINTS.items()}
"""The keys of a state, and what each takes."""

DEFAULTS: AnyMapping = {key: hint.__metadata__[0].default for key, hint in _HINTS.items()}
"""What a state says where it says nothing: part "" is the first of an input, layer −1 and heads [] are telling ones."""


def check_state(state: AnyMapping | None, inputs: Sequence[InputInfo]) -> ExplorerState:
    """A state that these inputs can show, as plain JSON values.

    Raises:
        InputError: an unknown key or a value that cannot be shown; the message names the allowed ones.
    """
    values: AnyDict = {}
    for key, value in (state or {}).items():
        if key not in STATE:
            near = difflib.get_close_matches(key, STATE, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"state: no key {key!r}{hint} (keys: {', '.join(STATE)})")
        values[key] = _value(key, value)
    checked = cast(ExplorerState, values)
    if not 0 <= checked.get("input", 0) < len(inputs):
        raise _wrong("input", checked.get("input"), f"0 to {len(inputs) - 1}")
    shown = inputs[checked.get("input", 0)]
    part = _part(checked, shown)
    _check_heads(checked, part)
    _check_names(checked, part, inputs)
    _check_picture(checked, part, shown)
    _check_sound(checked, shown)
    return checked


_LARGEST = sys.float_info.max
_Finite = Annotated[float, Expected(least=-_LARGEST, most=_LARGEST)]
_Seconds = Annotated[float, Expected(least=0, most=_LARGEST)]

_FITS: Mapping[Any, Any] = {
    "layer": int,  # which layers there are is said where it is looked up
    int: Number,
    float: _Finite,
    "threshold": Annotated[float | None, Expected(least=0, most=1)],
    "opacity": Annotated[float, Expected(least=0, most=1)],
    "heads": tuple[Number, ...],
    "pin": tuple[Literal["from", "to"], Number] | None,
    "between": tuple[Number, Number] | None,
    "zoom": tuple[Number, Count, Number, Count] | None,
    "medium": Annotated[int | None, Expected(least=0, most=sys.maxsize)],
    "unfolded": tuple[Number, ...],
    "time": Annotated[float | None, Expected(least=0, most=_LARGEST)],
    "span": tuple[_Seconds, _Seconds] | None,
}
"""By key or by type, what a value is, where the key's type says less; a list stands for a tuple."""


def _value(key: str, value: Any) -> Any:
    """A value as JSON has it."""
    kind = _HINTS[key].__origin__
    given: Any = (value,) if key == "heads" and isinstance(value, int | np.integer) else value
    several = np.iterable(given) and not isinstance(given, str)
    read: Any = tuple(map(_number, given)) if several else _number(given)
    try:
        expect(key, read, _FITS.get(key, _FITS.get(kind, kind)))
        if (key == "heads" and not read) or (key == "span" and read and read[0] >= read[1]):
            raise InputError(key)
    except InputError:
        raise _wrong(key, value, STATE[key]) from None
    once: list[Any] = [*dict.fromkeys(read)] if several else []
    if key in ("heads", "unfolded"):
        return once if key == "heads" else sorted(once)
    return cast("Any", [*read] if several else read)


def _number(value: Any) -> Any:
    """A number of numpy's as Python's own."""
    return cast("Any", value).item() if isinstance(value, np.generic) else value


def _part(state: ExplorerState, shown: InputInfo) -> PartInfo:
    parts = {part["name"]: part for part in shown["parts"]}
    if "part" not in state:
        return shown["parts"][0]
    if state["part"] not in parts:
        raise _wrong("part", state["part"], " or ".join(map(repr, parts)))
    return parts[state["part"]]


def _check_heads(state: ExplorerState, part: PartInfo) -> None:
    layer = state.get("layer", part["index"][0])
    if layer not in part["index"]:
        raise _wrong("layer", layer, listed(part["index"]))
    heads = part["heads"][part["index"].index(layer)]
    for head in state.get("heads", []):
        if head not in heads:
            raise _wrong("heads", head, f"{listed(heads)} in layer {layer}")


def _check_names(state: ExplorerState, part: PartInfo, inputs: Sequence[InputInfo]) -> None:
    measures: list[MeasureColumn] = part["measures"]
    names = ["none", *(measure["name"] for measure in measures)]
    if state.get("measure", "none") not in names:
        raise _wrong("measure", state.get("measure"), ", ".join(map(repr, names)))
    quantities = ["weights", *(quantity["name"] for quantity in part["quantities"])]
    if state.get("quantity", "weights") not in quantities:
        raise _wrong("quantity", state.get("quantity"), ", ".join(map(repr, quantities)))
    filter_ = state.get("filter", "all")
    for axis, side in zip((part["query"], part["key"]), filter_ if filter_ != "all" else "", strict=False):
        if "ab".index(side) not in (axis["sequences"] or []):
            raise InputError(f"state: filter {filter_!r} needs two texts; capture a pair (pair=B)")
    if state.get("unit") == "words" and part["query"]["words"] is None:
        raise InputError("state: unit 'words' needs word ids, which these tokens do not carry")
    if state.get("scale") == "neuron" and part["neurons"] is None:
        raise InputError("state: scale 'neuron' needs q and k, which were not captured (neurons=True)")
    if state.get("scale", "model") != "model" and not part["layers"]:
        raise InputError(
            f"state: scale {state.get('scale')!r} needs whole maps; this payload has thumbnails only"
        )
    if state.get("side", "one") != "one" and len(inputs) < 2:
        raise InputError(f"state: side {state.get('side')!r} needs two inputs (against=...)")
    if state.get("side") == "difference":
        _check_difference(state, inputs)
    pin, between = state.get("pin"), state.get("between")
    most = [len(part[axis]["pieces"]) - 1 for axis in ("query", "key")]
    if pin is not None and int(pin[1]) > most[pin[0] == "to"]:
        raise _wrong("pin", tuple(pin), f"a place from 0 to {most[pin[0] == 'to']}")
    if between is not None and any(place > last for place, last in zip(between, most, strict=True)):
        raise _wrong("between", tuple(between), f"a query up to {most[0]} and a key up to {most[1]}")


def _check_picture(state: ExplorerState, part: PartInfo, shown: InputInfo) -> None:
    """All heads of a layer together, rollout and one of several media, where there are such."""
    media = len(shown["picture"].get("media", ())) if "picture" in shown else 0
    medium = state.get("medium")
    if medium is not None and medium >= media:
        raise _wrong(
            "medium", medium, f"0 to {media - 1}" if media else "None, as this input has one medium at most"
        )
    if state.get("strip") == "mean" and "means" not in part:
        raise InputError("state: strip 'mean' needs a picture, which this input is not")
    pictures = max(len(part[axis].get("images", ())) for axis in ("query", "key"))
    if state.get("unfolded", [])[-1:] >= [pictures]:
        allowed = f"0 to {pictures - 1}" if pictures else "pictures within a text, which this input has not"
        raise _wrong("unfolded", state.get("unfolded"), allowed)
    if state.get("rollout") and "rollout" not in part:
        why = part.get("unrolled", "it is drawn on a picture, which this input is not")
        raise InputError(f"state: there is no rollout: {why}")


def _check_sound(state: ExplorerState, shown: InputInfo) -> None:
    """A time and a stretch of the sound, where it has them."""
    sound = shown.get("sound")
    time, span = state.get("time"), state.get("span")
    if sound is None:
        if time is not None or span is not None or state.get("follow"):
            key = "time" if time is not None else "span" if span is not None else "follow"
            raise InputError(f"state: {key} needs a sound, which this input is not")
        return
    if time is not None and time > sound["seconds"]:
        raise _wrong("time", time, f"0 to {sound['seconds']:g} s")
    if span is not None and span[0] >= sound["seconds"]:
        raise _wrong("span", tuple(span), f"a stretch of the {sound['seconds']:g} s that the model hears")


def _check_difference(state: ExplorerState, inputs: Sequence[InputInfo]) -> None:
    """Two inputs can be subtracted where they show as many tokens: as pieces or words, filtered or whole."""
    if len(inputs) != 2:
        raise InputError(f"state: side 'difference' needs two inputs; found {len(inputs)}")
    sizes = [
        tuple(_count(part[axis], state, at) for at, axis in enumerate(("query", "key")))
        for part in (_part(state, one) for one in inputs)
    ]
    if sizes[0] != sizes[1]:
        raise InputError(
            "state: side 'difference' needs inputs that show as many tokens; found {} × {} and {} × {} "
            "(side='both' shows them side by side)".format(*sizes[0], *sizes[1])
        )


def _count(axis: AxisInfo, state: ExplorerState, at: int) -> int:
    """How many tokens of an axis are shown; `at`: 0 for queries, 1 for keys."""
    filter_, words = state.get("filter", "all"), axis["words"]
    wanted = None if filter_ == "all" else "ab".index(filter_[at])
    kept = [
        place
        for place, special in enumerate(axis["special"])
        if (state.get("special", True) or not special)
        and not (at and not state.get("sinks", True) and place in axis.get("sinks", ()))
        and (wanted is None or (axis["sequences"] or [])[place] == wanted)
    ]
    group = (
        words["group"] if state.get("unit") == "words" and words is not None else range(len(axis["special"]))
    )
    folds = {
        place: -1 - number
        for number, image in enumerate(axis.get("images", ()))
        if number not in state.get("unfolded", ())
        for place in range(image["start"], image["end"])
    }
    return len({folds.get(place, group[place]) for place in kept})


def _wrong(key: str, value: Any, allowed: str) -> InputError:
    return InputError(f"state: {key} takes {allowed}; found {value!r}")


def listed(numbers: Sequence[int]) -> str:
    """Ordered numbers as text: ``0, 3, 5``, and ``0 to 11`` where none is missing."""
    unbroken = list(numbers) == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]} to {numbers[-1]}" if unbroken and len(numbers) > 2 else ", ".join(map(str, numbers))
