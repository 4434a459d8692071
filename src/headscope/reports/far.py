"""How far heads look on pictures and in sounds, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from headscope.core.arrays import Floats
from headscope.core.heads import Head
from headscope.views.digits import percent
from headscope.views.payload import Part
from headscope.views.reasons import because
from headscope.views.sentences import head_name, sentence, text


class _DistanceUnit(NamedTuple):
    """The unit of a distance, and how many digits it has after the point."""

    name: str
    digits: int

    def __call__(self, value: float) -> str:
        return f"{value:.{self.digits}f} {self.name}"


_FAR = {"distance_pixels": _DistanceUnit("px", 0), "distance_seconds": _DistanceUnit("s", 2)}
_GIVEN = {
    "cls": "[CLS]",
    "to_register": "registers",
    "to_image": "the picture",
    "after_sound": "the silence after the sound",
}
_MOVED = 0.1
"""A mean that is by so much larger or smaller, as a share, has grown or fallen."""


def far(
    values: Mapping[str, Floats], chance: Mapping[str, Floats], layers: Sequence[int], heads: Sequence[int]
) -> Iterator[tuple[str | None, list[Part], str]]:
    """What distances say from layer to layer, and what all heads together give to tokens that are no patch or frame.

    Args:
        values: of each measure ``[layer head]``.
        chance: of uniform attention ``[layer]``.
        layers, heads: the model's indices.

    Yields the measure that a sentence has the picture of (None: a head has it), its parts, and its headline (empty:
    none).
    """
    there = [name for name, figures in values.items() if len(layers) > 1 and bool(np.isfinite(figures).any())]
    for name, unit in _FAR.items():
        if name in there:
            words = _distance(name, unit, values[name], chance[name], layers, heads)
            yield name, words, f"Attention distance {_verb(values[name]).strip(',')} from first to last layer"
            yield None, _first(name, unit, values[name], layers, heads), ""
    if not any(name in values for name in _FAR):  # of texts other sentences say it
        return
    for name, whom in _GIVEN.items():
        if name in there:
            first, last = _ends(values[name])
            even = float(chance[name][0])
            against = f"; even attention would give {percent(even)}" if np.isfinite(even) else ""
            opening = f"Heads give {whom} {percent(first)} of their attention on average in layer {layers[0]}"
            yield (
                name,
                [text(f"{opening}, and {percent(last)} in layer {layers[-1]}{against}.")],
                f"Heads give {whom} {percent(first)}, in the last layer {percent(last)}",
            )


def _ends(values: Floats) -> tuple[float, float]:
    """The means over the heads of the first and of the last layer."""
    means: Any = np.nanmean(values, axis=1)
    return float(means[0]), float(means[-1])


def _verb(values: Floats) -> str:
    first, last = _ends(values)
    moved = (last - first) / max(first, 1e-12)
    return "grows" if moved > _MOVED else "falls" if moved < -_MOVED else "stays about the same,"


def _distance(
    name: str,
    unit: _DistanceUnit,
    values: Floats,
    chance: Floats,
    layers: Sequence[int],
    heads: Sequence[int],
) -> list[Part]:
    """From the first layer to the last, and the heads that look farthest and closest."""
    first, last = _ends(values)
    verb = _verb(values)
    even = float(np.nanmean(chance)) if np.isfinite(chance).any() else float("nan")
    against = f" (even attention: {unit(even)})" if np.isfinite(even) else ""
    ends = [(int(np.nanargmax(values)), "farthest"), (int(np.nanargmin(values)), "closest")]
    named: list[str | Part] = []
    for place, which in ends:
        layer, head = divmod(place, values.shape[1])
        value = float(values[layer, head])
        name_of = Head(layers[layer], heads[head])
        named += [
            f"{' and' if named else ''} {which} ",
            head_name(name_of, because("attention distance", unit(value), measure=name)),
            f" ({unit(value)})",
        ]
    return sentence(
        f"Mean attention distance {verb} from {unit(first)} in layer {layers[0]} to {unit(last)} in layer "
        f"{layers[-1]}{against};",
        *named,
        ".",
    )


def _first(
    name: str, unit: _DistanceUnit, values: Floats, layers: Sequence[int], heads: Sequence[int]
) -> list[Part]:
    """How far heads of the first layer look: some far, some near (Dosovitskiy et al. 2021, figure 7)."""
    row = values[0]
    near, most = int(np.nanargmin(row)), int(np.nanargmax(row))
    parts = [
        head_name(
            Head(layers[0], heads[place]),
            because("attention distance", unit(float(row[place])), measure=name),
        )
        for place in (near, most)
    ]
    return sentence(
        f"In layer {layers[0]} ",
        parts[0],
        f" looks closest ({unit(float(row[near]))}), ",
        parts[1],
        f" farthest ({unit(float(row[most]))}).",
    )
