"""The state of an explorer: its keys, what they take, and whether given inputs can show a given state."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, get_args, get_type_hints

from headscope.errors import InputError
from headscope.views.payload import AxisInfo, ExplorerState, InputInfo, MeasureColumn, PartInfo

_HINTS = get_type_hints(ExplorerState, include_extras=True)

STATE: Mapping[str, str] = {key: hint.__metadata__[0].takes for key, hint in _HINTS.items()}
"""The keys of a state, and what each takes."""

DEFAULTS: Mapping[str, Any] = {key: hint.__metadata__[0].default for key, hint in _HINTS.items()}
"""What a state says where it says nothing: part "" is the first of an input, layer −1 and heads [] are telling ones."""


def check_state(state: Mapping[str, Any] | None, inputs: Sequence[InputInfo]) -> ExplorerState:
    """A state that these inputs can show, as plain JSON values.

    Raises:
        InputError: an unknown key or a value that cannot be shown; the message names the allowed ones.
    """
    values: dict[str, Any] = {}
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
    _check_picture(checked, part)
    _check_sound(checked, shown)
    return checked


def _value(key: str, value: Any) -> Any:
    try:
        return _READERS.get(key, _READERS.get(_HINTS[key].__origin__, _text))(value, _HINTS[key].__origin__)
    except (TypeError, ValueError):
        raise _wrong(key, value, STATE[key]) from None


def _check(ok: bool) -> None:
    if not ok:
        raise ValueError


def _text(value: Any, allowed: Any) -> str:
    _check(isinstance(value, str) and value in (get_args(allowed) or [value]))
    return value


def _bool(value: Any, _: Any) -> bool:
    _check(isinstance(value, bool))
    return value


def _natural(value: Any, _: Any = None) -> int:
    _check(not isinstance(value, bool) and value == int(value) and value >= 0)
    return int(value)


def _layer(value: Any, _: Any) -> int:
    _check(not isinstance(value, bool) and value == int(value))
    return int(value)  # which layers there are is said where it is looked up


def _number(value: Any, _: Any = None) -> float:
    _check(not isinstance(value, bool) and math.isfinite(float(value)))
    return float(value)


def _share(value: Any, _: Any) -> float:
    _check(0.0 <= _number(value) <= 1.0)
    return float(value)


def _heads(value: Any, _: Any) -> list[int]:
    heads = [value] if isinstance(value, int) else list(dict.fromkeys(map(_natural, value)))
    _check(bool(heads) and not isinstance(value, bool))
    return [_natural(head) for head in heads]


def _numbers(value: Any, _: Any) -> list[int]:
    return sorted({_natural(number) for number in value})


def _pin(value: Any, _: Any) -> list[str | int]:
    side, place = value
    _check(side in ("from", "to"))
    return [side, _natural(place)]


def _between(value: Any, _: Any) -> list[int]:
    query, key = map(_natural, value)
    return [query, key]


def _zoom(value: Any, _: Any) -> list[int]:
    row, rows, column, columns = map(_natural, value)
    _check(bool(rows and columns))
    return [row, rows, column, columns]


def _time(value: Any, _: Any) -> float:
    _check(_number(value) >= 0)
    return float(value)


def _span(value: Any, _: Any) -> list[float]:
    begin, end = map(_number, value)
    _check(0 <= begin < end)
    return [begin, end]


def _optional(read: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda value, allowed: None if value is None else read(value, allowed)


_READERS: Mapping[Any, Callable[[Any, Any], Any]] = {
    "layer": _layer,
    bool: _bool,
    int: _natural,
    float: _number,
    "threshold": _optional(_share),
    "opacity": _share,
    "heads": _heads,
    "pin": _optional(_pin),
    "between": _optional(_between),
    "zoom": _optional(_zoom),
    "unfolded": _numbers,
    "time": _optional(_time),
    "span": _optional(_span),
}
"""By key or by type, what reads a value; texts are one of those that their type allows."""


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


def _check_picture(state: ExplorerState, part: PartInfo) -> None:
    """All heads of a layer together, and rollout, where the part has them."""
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
