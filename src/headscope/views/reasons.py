"""Why a head is named, and where that is seen.

Whatever names a head for a reason carries it (`because`), and opens the head on it: an example, the token whose row
shows it, the links that it is about, and the figure that was promised. Where the reason is a measure, `seen` finds the
place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headscope.core.arrays import Floats, Ints
from headscope.core.maps import AttentionMaps
from headscope.errors import InputError
from headscope.measures.choose import parse, row_statistic
from headscope.measures.measure import Measure, mask
from headscope.views.inputs import Input
from headscope.views.payload import Pin, Reason
from headscope.views.section import SideBySide

CORPUS = "over the corpus"


def because(
    says: str,
    figure: str,
    over: str = CORPUS,
    *,
    measure: str | None = None,
    example: int | None = None,
    pin: Pin | None = None,
    label: str | None = None,
    here: str | None = None,
) -> Reason:
    """A reason to name a head.

    Args:
        says: what the figure is of, such as ``finds the antecedent``.
        figure: the figure as it is promised; empty where there is none.
        over: what it is over.
        measure: the head is seen where the page shows this measure of it best.
        example: or on this example, by its place.
        pin: the side and the place of the token that shows it there.
        label: of the example's links those of this label alone are shown.
        here: the figure on the example alone.
    """
    reason = Reason(says=says, figure=figure)
    if over != CORPUS:
        reason["over"] = over
    if measure is not None:
        reason["measure"] = measure
    if example is not None:
        reason["example"] = example
    if pin is not None:
        reason["pin"] = pin
    if label is not None:
        reason["label"] = label
    if here is not None:
        reason["here"] = here
    return reason


def seen(
    examples: Sequence[Input | SideBySide],
    names: Sequence[str],
    value: Floats,
    layers: Sequence[int],
    heads: Sequence[int],
) -> tuple[npt.NDArray[np.int32], Floats]:
    """Where a figure of a head is seen, ``[measure layer head 2]``: the example and the query's place, -1 for none.

    And what the figure is on that example alone, ``[measure layer head]``, NaN where it is not known.

    The example whose own figure is nearest to that over the corpus, and in it the row that is: what is shown is what
    was said. Measures of gradients and norms have no rows in the maps: of these, where attention itself is largest.

    Args:
        examples: of the page; those of two models are passed over.
        names: of the measures.
        value: their figures ``[measure layer head]``.
        layers, heads: the model's own indices of the figures' axes.
    """
    where = np.full((*value.shape, 2), -1, np.int32)
    away, here = np.full(value.shape, np.inf), np.full(value.shape, np.nan)
    of = [definition(name) for name in names]
    for place, one in enumerate(examples):
        if isinstance(one, SideBySide):
            continue
        maps = one.first
        for layer, index in enumerate(maps.index):
            present = [head for head in range(len(maps.layers[layer])) if head in heads]
            row, columns = list(layers).index(index), [list(heads).index(head) for head in present]
            for at, measure in enumerate(of):
                shown = measure and nearest_rows(measure, maps, layer, present, value[at, row, columns])
                if shown is None:
                    continue
                nearer = shown.away < away[at, row, columns]
                chosen = np.array(columns)[nearer]
                away[at, row, chosen] = shown.away[nearer]
                where[at, row, chosen, 0] = place
                where[at, row, chosen, 1] = shown.query[nearer]
                here[at, row, chosen] = shown.mean[nearer]
    return where, here


def definition(name: str) -> Measure | None:
    """A measure by its name; None for one that is known by no name, or to no maps of one input alone."""
    try:
        (measure,) = parse(name)
    except (InputError, ValueError):
        return None
    return measure


class NearestRows(NamedTuple):
    """Of each head ``[head]``: its figure on an input (NaN: of another matrix than the weights), how far that is from a
    target, and the query whose row is nearest.
    """

    away: Floats
    query: Ints
    mean: Floats


def nearest_rows(
    measure: Measure, maps: AttentionMaps, layer: int, heads: Sequence[int], target: Floats
) -> NearestRows | None:
    """The rows of an input that show a figure; None where the measure says nothing of it.

    Args:
        measure: of weights; of one of another matrix, the same rows of the weights, the largest figure first.
        maps: of the input.
        layer: its place in the maps.
        heads: of that layer.
        target: the figure of each head, ``[head]``.

    Special tokens are taken where no other row counts.
    """
    if maps.kind == "cross" or len(maps.query) != len(maps.key):
        return None
    sight = maps.sight(layer)
    sight = sight[list(heads)] if len(sight) > 1 else sight
    weights = np.asarray(maps.layers[layer][list(heads)], np.float64)
    try:
        counted = np.broadcast_to(
            measure.select(maps.query, maps.causal if maps.visible is None else sight), weights.shape[:-1]
        )
        rows = np.asarray(row_statistic(measure, weights, maps.query, sight=sight), np.float64)
    except (InputError, ValueError):  # a measure that needs more than one input
        return None
    if not all(mask(maps.query, name).any() for name in measure.needs) or not counted.any():
        return None
    plain = counted & ~maps.query.special
    counted_sum = np.maximum(counted.sum(-1), 1)
    mean = np.where(counted.any(-1), (rows * counted).sum(-1) / counted_sum, np.nan)
    ours = measure.matrix == "weights"
    goal = target if ours else np.full(len(target), 1e9)
    eligible = np.where(plain.any(-1, keepdims=True), plain, counted)
    query = np.where(eligible, np.abs(rows - goal[:, None]), np.inf).argmin(-1)
    return NearestRows(np.nan_to_num(np.abs(mean - goal), nan=np.inf), query, mean if ours else np.nan * mean)
