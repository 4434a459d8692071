"""Surface measures of one input's maps, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headscope.core import kernels
from headscope.core.arrays import AnyFloats, Bools
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.measures.choose import choose
from headscope.measures.dataset import dataset
from headscope.measures.measure import Measure, mask, selection
from headscope.measures.sums import Documents
from headscope.measures.surface import SMOOTHING, Preset, prepared

if TYPE_CHECKING:
    import xarray as xr


def surface(
    maps: AttentionMaps,
    measures: Sequence[str | Measure] | None = None,
    *,
    preset: Preset | None = None,
    over: str = "pieces",
) -> xr.Dataset:
    """Surface measures of one input over ``(layer, head)``, as `headscope.measure` gives them of a corpus.

    Args:
        maps: self-attention maps that are not cut.
        measures: names, or measures of your own; by default the group ``surface``.
        preset: ``clark2019`` for what the released code of Clark et al. 2019 computes.
        over: the unit of a token, ``words`` for ``maps.words()``.

    Standard errors are NaN: they need several documents. Raises `InputError` for cross-attention and parts.
    """
    if maps.kind == "cross" or maps.partial or len(maps.query) != len(maps.key):
        given = "a part" if maps.partial else f"{maps.kind}-attention"
        raise InputError(f"maps: expected whole self-attention maps, found {given}")
    chosen = choose(measures, preset)
    tokens = prepared(maps.query, preset)
    heads = max(len(layer) for layer in maps.layers)
    sums = np.full((len(chosen), len(maps), heads), np.nan)
    chance, divisors = np.zeros((2, *sums.shape))
    known: dict[int, tuple[AnyFloats, AnyFloats, AnyFloats]] = {}
    for place, layer in enumerate(maps.layers):
        sight = maps.sight(place)
        kind = 0 if maps.visible is None else id(maps.visible[place])
        if kind not in known:
            rows, of = selection(chosen, tokens, maps.causal if maps.visible is None else sight)
            rows, of = rows.reshape(len(chosen), -1, len(tokens)), of.reshape(len(chosen), -1)
            known[kind] = rows, of, _sums(chosen, _even(sight), tokens, rows, sight)
        there, weights = slice(len(layer)), layer.astype(np.float64)
        rows, divisors[:, place, there], chance[:, place, there] = known[kind]
        sums[:, place, there] = _sums(chosen, weights, tokens, rows, sight, SMOOTHING[preset])
    gathered = Documents([measure.name for measure in chosen], "token" if preset is None else "segment")
    gathered.add(0, tokens, maps.index, sums, chance, divisors)
    by = "token" if preset is None else "segment"
    meta = {"model": {"layers": len(maps), "heads": heads, "causal": maps.causal, **maps.meta}}
    return dataset(gathered.close(), chosen, by=by, causal=maps.causal, over=over, meta=meta)


def _sums(
    measures: Sequence[Measure],
    weights: AnyFloats,
    tokens: Tokens,
    rows: AnyFloats,
    sight: Bools,
    smoothing: float = 0.0,
) -> AnyFloats:
    """Sums over the rows that count (``[measure head|1 query]``), ``[measure head]``."""
    pairs = zip(measures, rows, strict=True)
    return np.array(
        [
            (row_statistic(measure, weights, tokens, smoothing, sight) * counted).sum(-1)
            for measure, counted in pairs
        ]
    )


def _even(sight: Bools) -> AnyFloats:
    """Uniform attention over the visible keys."""
    return sight / np.maximum(sight.sum(-1, keepdims=True), 1)


def row_statistic(
    measure: Measure,
    weights: np.ndarray,
    tokens: Tokens,
    smoothing: float = 0.0,
    sight: np.ndarray | None = None,
) -> AnyFloats:
    """The statistic of each row in the weights' own precision, ``[... query key] -> [... query]``.

    Args:
        measure: the definition; which rows count for it is another matter (`Measure.select`).
        weights: ``[... query key]``.
        tokens: the keys.
        smoothing: the share of each row that entropies spread evenly over what the row can see.
        sight: what each row can see, ``[query key]`` or ``[head query key]``, 1 or 0; None: all keys.
    """
    queries = np.arange(int(weights.shape[-2]))
    if measure.statistic == "pairs":
        figures = (weights * measure.worth(tokens, queries)).sum(-1)
        if measure.among is None:
            return figures
        given = (weights * measure.counted(tokens, queries)).sum(-1)
        return figures / np.where(given > 0, given, 1.0)
    if measure.statistic == "rows":
        size = weights.shape[-2:]
        seen = None if sight is None else np.broadcast_to(sight.astype(np.bool_), (*sight.shape[:-2], *size))
        visible = None if seen is None else seen.reshape(-1, *size)
        figures = measure.of_rows(weights.reshape(-1, *size), tokens, queries, visible)
        return figures.reshape(weights.shape[:-1])
    if measure.statistic == "offset":
        return kernels.offset(weights, measure.offset)
    if measure.statistic == "mass":
        return kernels.mass(weights, mask(tokens, measure.of)[:, None].astype(weights.dtype))[..., 0]
    if measure.statistic == "largest":
        return kernels.largest(weights)
    if smoothing and sight is not None:
        weights = (1.0 - smoothing) * weights + smoothing * sight / sight.sum(-1, keepdims=True)
    return kernels.entropy(weights)
