"""Measures by name."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from headscope.core import kernels, lazy
from headscope.core.arrays import AnyFloats, Bools
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.core.validation import expect
from headscope.errors import InputError
from headscope.measures import positions, series
from headscope.measures.confidence import CONFIDENCE, SYNTHETIC
from headscope.measures.conversation import CONVERSATION
from headscope.measures.dataset import dataset
from headscope.measures.gradients import FIGURE_3
from headscope.measures.measure import Matrix, Measure, by_name, mask, selection
from headscope.measures.patterns import PATTERNS
from headscope.measures.perceived import ANSWERS, MEDIA, PICTURES, SOUNDS
from headscope.measures.sums import Documents
from headscope.measures.surface import MEASURES, SMOOTHING, Preset, of_code, offset, prepared, to_class

GROUPS: Mapping[str, Mapping[str, Measure]] = {
    "surface": MEASURES,
    "patterns": PATTERNS,
    "confidence": CONFIDENCE,
    "synthetic": SYNTHETIC,
    "conversation": CONVERSATION,
    "gradients": by_name(*FIGURE_3),
    "pictures": PICTURES,
    "media": MEDIA,
    "sounds": SOUNDS,
    "answers": ANSWERS,
    "series": series.SERIES,
}
"""Measures that are asked for together, by the name of the group."""

_DEFAULTS: Mapping[str, Sequence[str]] = {
    "text": ("surface",),
    "images": ("pictures", "cls", "to_register", "current", "entropy", "largest"),
    "sounds": ("sounds", "current", "entropy", "largest"),
}
_OF_BOTH = ("answers", "pictures", "first", "current", "entropy", "largest")


def default_measures(kind: str, *, with_text: bool = False) -> Sequence[str]:
    """The names of what is measured where nobody says what.

    Args:
        kind: what inputs are: ``text``, ``images`` or ``sounds``.
        with_text: whether the model reads a text with each picture.

    >>> default_measures("sounds")[0]
    'sounds'
    """
    if kind not in _DEFAULTS:
        raise InputError(f"kind: expected {', '.join(_DEFAULTS)}, found {kind!r}")
    return _OF_BOTH if kind == "images" and with_text else _DEFAULTS[kind]


def parse(name: str) -> list[Measure]:
    """The measures of a name.

    One of a group or a whole group; ``offset-2`` or ``offset+3`` for any integer, ``offset-8..-5`` for a range;
    ``tokens2..4`` or ``tokens5..`` for tokens of the input, counted from 1; ``lag24`` and ``season24`` for steps of a
    time series; ``to_<class>``, ``<class>_to_<class>`` and
    ``not_<class>_to_<class>`` for classes of tokens; any of these after ``gradient_`` or ``norm_`` for another matrix;
    ``module:name`` or ``file.py:name`` for a measure of your own (Python that is run).

    Raises `InputError` for any other name.
    """
    if name in GROUPS:
        return list(GROUPS[name].values())
    for group in GROUPS.values():
        if name in group:
            return [group[name]]
    if ":" in name:
        return [_imported(name)]
    if match := re.fullmatch(r"offset([+-]\d{1,9})", name):
        return [offset(int(match[1]), name)]
    if (measure := positions.named(name) or series.named(name)) is not None:
        return [measure]
    prefix, _, rest = name.partition("_")
    if prefix in get_args(Matrix) and rest:
        return [_of_matrix(measure, prefix) for measure in parse(rest)]
    if match := re.fullmatch(r"(?:(not_)?(\w.*?)_)?to_(\w.*)", name):
        return [to_class(match[3], match[2] or "", bool(match[1]))]
    known = list(dict.fromkeys([*GROUPS, *(name for group in GROUPS.values() for name in group)]))
    near = get_close_matches(name, known, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(
        f"measures: found {name!r}{meant or ','} expected {', '.join(known)}, offset-2 (any number), offset-8..-5, "
        "tokens2..4, lag24, season24, to_<class>, <class>_to_<class>, or file.py:name"
    )


def choose(names: Sequence[str | Measure] | None = None, preset: Preset | None = None) -> list[Measure]:
    """The measures of some names (by default those of texts), as the preset computes them.

    Raises `InputError` for a name that is no measure, for one that is given twice and for none.
    """
    if isinstance(names, str):
        raise InputError(f"measures: expected a list of names, found one string {names!r}")
    expect("preset", preset, Preset | None)
    measures: list[Measure] = []
    for measure in default_measures("text") if names is None else names:
        measures += [measure] if isinstance(measure, Measure) else parse(measure.strip())
    if not measures:
        raise InputError("measures: expected at least one, found none")
    seen: set[str] = set()
    for measure in measures:
        if measure.name in seen:
            raise InputError(f"measures: expected each once, found {measure.name!r} again")
        seen.add(measure.name)
    if preset is None:
        return measures
    return [of_code(measure) for measure in measures]


def _of_matrix(measure: Measure, matrix: str) -> Measure:
    if measure.matrix != "weights":
        raise InputError(
            f"measures: {measure.name} is of the {measure.matrix} already, found {matrix}_ before it"
        )
    if matrix == "gradient" and measure.statistic == "entropy":
        raise InputError(
            f"measures: gradient_{measure.name}: rows of gradients do not sum to 1, so they have no entropy"
        )
    of = {"gradient": "size of the loss' gradient", "norm": "norm of what keys contribute"}[matrix]
    return replace(
        measure,
        name=f"{matrix}_{measure.name}",
        title=f"{measure.title}, {of}",
        description=f"{measure.description} Of the {of} in place of the weights.",
        units="loss" if matrix == "gradient" and measure.units == "share" else measure.units,
        matrix=matrix,  # pyright: ignore[reportArgumentType]
    )


def _imported(name: str) -> Measure:
    """A measure from a module that can be imported, or from a file."""
    place, _, attribute = name.rpartition(":")
    try:
        if place.endswith(".py"):
            if not Path(place).is_file():
                raise InputError(f"measures: {place}: no such file")
            spec = importlib.util.spec_from_file_location(Path(place).stem, place)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = lazy.module(place)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"measures: {place}: cannot be run ({type(error).__name__}: {error})") from None
    measure: Any = getattr(module, attribute, None)
    if not isinstance(measure, Measure):
        kind = "nothing" if measure is None else type(measure).__name__
        raise InputError(
            f"measures: {name}: expected a measure made by pair_measure or row_measure, found {kind}"
        )
    return measure


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
        maps: self-attention maps that are not cut; their queries may be a stretch of the keys (`AttentionMaps.offset`).
        measures: names, or measures of your own; by default the group ``surface``.
        preset: ``clark2019`` for what the released code of Clark et al. 2019 computes.
        over: the unit of a token, ``words`` for ``maps.words()``.

    Standard errors are NaN: they need several documents. Raises `InputError` for cross-attention and parts.
    """
    start = maps.offset
    if maps.kind == "cross" or maps.partial or start is None:
        given = "a part" if maps.partial else f"{maps.kind}-attention"
        if start is None and maps.kind != "cross":
            given = f"{len(maps.query)} queries that are not known to be some of {len(maps.key)} keys side by side"
        raise InputError(f"maps: expected whole self-attention maps, found {given}")
    chosen = choose(measures, preset)
    tokens = prepared(maps.key, preset)
    missing = (0, 0), (start, len(maps.key) - len(maps.query) - start), (0, 0)
    heads = max(len(layer) for layer in maps.layers)
    sums = np.full((len(chosen), len(maps), heads), np.nan)
    chance, divisors = np.zeros((2, *sums.shape))
    known: dict[int, tuple[AnyFloats, AnyFloats, AnyFloats]] = {}
    for place, layer in enumerate(maps.layers):
        sight = np.pad(maps.sight(place), missing)
        kind = 0 if maps.visible is None else id(maps.visible[place])
        if kind not in known:
            plain = maps.visible is None and len(maps.query) == len(tokens)
            rows, of = selection(chosen, tokens, maps.causal if plain else sight)
            rows, of = rows.reshape(len(chosen), -1, len(tokens)), of.reshape(len(chosen), -1)
            known[kind] = rows, of, _sums(chosen, _even(sight), tokens, rows, sight)
        there, weights = slice(len(layer)), np.pad(layer.astype(np.float64), missing)
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
