"""How far back heads look in a time series, and whether at the same place of earlier periods.

A token stands for a stretch of steps (`headscope.Series`). It is so many steps before another where its own stretch,
moved on by these, begins less than half of the other's length away from it; so a lag may lie between two patches.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.grid import Stretches
from headscope.core.maps import AttentionMaps, wrap
from headscope.core.media import Series
from headscope.core.tokens import Tokens
from headscope.measures.measure import Measure, by_name, pair_measure

_STEP = ("step",)
_NAME = re.compile(r"(lag|season)([1-9]\d{0,8})")
_of_steps = partial(
    pair_measure, needs=_STEP, source="cf. Wu et al. 2021, §3.2: period-based dependencies", keys=("wu2021",)
)


def named(name: str) -> Measure | None:
    """The measure of a name such as ``lag24`` or ``season24``; None for any other."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    steps = int(match[2])
    if match[1] == "lag":
        what, pairs = f"tokens {steps} steps before it in the same channel", partial(_lag, steps=steps)
    else:
        what = f"other tokens of its channel that are a multiple of {steps} steps away"
        pairs = partial(_season, period=steps)
    description = (
        f"Mean share of a token's attention that goes to {what}, over the tokens that see such a one."
    )
    title = f"{steps} steps before" if match[1] == "lag" else f"period of {steps} steps"
    return _of_steps(name, description, title=title)(pairs)


def _apart(tokens: Tokens, queries: Ints) -> tuple[Floats, Floats]:
    """How many steps after each key a query begins, ``[query key]``, NaN where they are not of one channel; and how
    long the query is, ``[query 1]``.
    """
    places = np.full((len(tokens), 5), np.nan)
    steps = tokens.on(Series)
    if tokens.places is not None:
        places[steps] = tokens.places[steps]
    alike = (places[queries, None][..., [0, 2, 4]] == places[:, [0, 2, 4]]).all(-1)
    apart = places[queries, None, 1] - places[:, 1]
    return np.where(alike, apart, np.nan), (places[queries, 3] - places[queries, 1])[:, None]


def _lag(tokens: Tokens, queries: Ints, *, steps: int) -> Bools:
    apart, length = _apart(tokens, queries)
    return (apart - steps >= -length / 2) & (apart - steps < length / 2)


def _season(tokens: Tokens, queries: Ints, *, period: int) -> Bools:
    apart, length = _apart(tokens, queries)
    periods, rest = np.divmod(apart + length / 2, period)
    return (rest < length) & (periods != 0)


def period_of(series: Series) -> int | None:
    """After how many steps a series is most like itself: the highest peak of its autocorrelation, the mean over its
    channels; None where that has none above 0 up to half of its length.
    """
    values = series.values - series.values.mean(0)
    count = len(values)
    power = np.abs(np.fft.rfft(values, 2 * count, axis=0)) ** 2
    correlation = np.fft.irfft(power, axis=0)[: count // 2 + 2].mean(1)
    inner = correlation[1:-1]
    peaks = np.flatnonzero((inner > correlation[:-2]) & (inner >= correlation[2:]) & (inner > 0)) + 1
    return int(peaks[correlation[peaks].argmax()]) if len(peaks) else None


def _daily() -> AttentionMaps:
    """Two periods of three steps; what the fourth gives to the first is what is meant."""
    tenths = [
        [6, 1, 1, 2, 0, 0],
        [1, 6, 1, 0, 1, 1],
        [2, 1, 6, 0, 0, 1],
        [5, 0, 1, 3, 1, 0],
        [0, 4, 1, 1, 3, 1],
        [1, 0, 3, 1, 1, 4],
    ]
    series = Series(np.array([[1.0], [0.0], [0.0]] * 2))
    return wrap(np.array(tenths)[None, None] / 10, Stretches(series, [(step, step + 1) for step in range(6)]))


@_of_steps(
    "seasonality",
    "Mean share of a step's attention that goes to steps of its channel that are whole periods of the series away, "
    "over the steps that see such a one.",
    title="seasonality",
    example=_daily,
)
def seasonality(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The period is the lag of the highest peak of the series' autocorrelation, up to half of its length; a series
    without one has no such steps. ``season24`` is the same with a period that you know.

    Example: of two periods of three steps the fourth gives 0.5 to the first, and the first 0.2 to the fourth: with 0.4
    and 0.1, 0.3 and 0.1 of the other pairs (0.5 + 0.2 + 0.4 + 0.1 + 0.3 + 0.1) / 6 = 0.27.
    """
    pairs = np.zeros((len(queries), len(tokens)), np.bool_)
    for number, medium in enumerate(tokens.media):
        period = period_of(medium) if isinstance(medium, Series) else None
        if period is not None:
            pairs |= _season(tokens, queries, period=period) & (tokens.medium == number)
    return pairs


@pair_measure(
    "distance_steps",
    "Mean distance in steps between a token and the tokens of its channel that it looks at, weighted by attention, "
    "over the tokens that see another one.",
    title="attention distance",
    units="steps",
    among=lambda tokens, queries: np.isfinite(_apart(tokens, queries)[0]),
    needs=_STEP,
    source="as Vig & Belinkov 2019, mean distance of attention",
    keys=("vig2019structure",),
    example=_daily,
)
def distance_steps(tokens: Tokens, queries: Ints) -> np.ndarray:
    """The weights of a row on the tokens of its channel are put to sum to 1.

    Example: the first of six steps gives 0.6 to itself, 0.1 to the second and third, 0.2 to the fourth: 0.1 · 1 + 0.1 ·
    2 + 0.2 · 3 = 0.9.
    """
    return np.abs(np.nan_to_num(_apart(tokens, queries)[0]))


SERIES: Mapping[str, Measure] = by_name(seasonality, distance_steps)
"""The group ``series``."""
