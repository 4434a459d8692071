"""Words in time, from the cross attention of a model of speech.

Sources: the code that goes with Whisper (Radford et al. 2023, "Robust speech recognition via large-scale weak
supervision"), and its form in transformers. Of chosen heads the weights over the frames that hold sound are
standardised over tokens, smoothed by a running median over frames, and averaged over heads; dynamic time warping (Sakoe
& Chiba 1978) finds the way through tokens and frames on which they are largest. A token's row is the one that predicts
it; a word begins where the way enters its first token, and ends where it leaves its last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import Arrays, Floats, Ints, quiet
from headscope.core.lazy import module
from headscope.core.types import AnyDict
from headscope.measures.dataset import describe, description
from headscope.measures.tidy import of_heads
from headscope.statistics import jackknife
from headscope.statistics.jackknife import share_interval

WIDTH = 7
"""Frames of the running median, where the model's configuration does not say it."""

_ROUNDING = 1e-6  # of a frame


def smoothed(weights: np.ndarray, width: int = WIDTH) -> Floats:
    """Weights standardised over tokens, then a running median over frames, ``[head token frame]`` alike.

    A frame to which all tokens give the same tells nothing: it is 0. At the ends the median sees frames mirrored. As in
    the code that goes with Whisper, so few frames that the median has none to mirror stay as they are.
    """
    weights = weights.astype(np.float64)
    deviation = weights - weights.mean(-2, keepdims=True)
    spread = weights.std(-2, keepdims=True)
    scores: Floats = np.divide(deviation, spread, out=np.zeros_like(weights), where=spread > 0)
    if width == 1 or scores.shape[-1] <= width // 2:
        return scores
    sizes = (*(1 for _ in scores.shape[:-1]), width)
    return module("scipy.ndimage").median_filter(scores, size=sizes, mode="mirror")


def entered(scores: Floats) -> Ints:
    """The frame at which the best way enters each token, ``[... token frame] -> [... token]``, from 0.

    The way begins at the first token and frame, ends at the last, and each step goes on by a frame, a token or both; of
    all such ways its sum of scores is the largest. Of equal ways it takes the one whose last steps are by a frame.
    """
    several = scores.shape[:-2]
    tokens, frames = int(scores.shape[-2]), int(scores.shape[-1])
    cost = -scores.reshape(-1, tokens, frames)
    total = np.full((len(cost), tokens + 1, frames + 1), np.inf)
    total[:, 0, 0] = 0.0
    step = np.zeros(total.shape, np.int8)
    for diagonal in range(2, tokens + frames + 1):
        token = np.arange(max(1, diagonal - frames), min(tokens, diagonal - 1) + 1)
        frame = diagonal - token
        before = np.stack(
            [
                total[:, token, frame - 1],
                total[:, token - 1, frame - 1],
                total[:, token - 1, frame],
            ]
        )
        step[:, token, frame] = before.argmin(0)
        total[:, token, frame] = cost[:, token - 1, frame - 1] + before.min(0)
    rows = np.arange(len(cost))
    row, column = np.full(len(cost), tokens), np.full(len(cost), frames)
    entries = np.zeros((len(cost), tokens), np.int64)
    while (row > 1).any():
        entries[rows, row - 1] = column - 1
        back = np.where(row > 1, step[rows, row, column], -1)
        row = row - (back >= 1)
        column = column - ((back == 0) | (back == 1))
    entries[:, 0] = 0
    return entries.reshape(*several, tokens)


def word_rows(word_ids: Ints, words: int) -> Ints:
    """The first row of each word and the one after its last, ``[word 2]``; -1 for a word that has none."""
    rows = np.full((words, 2), -1)
    for word in range(words):
        places = np.flatnonzero(word_ids == word)
        if len(places):
            rows[word] = places[0], places[-1] + 1
    return rows


def frames_of(times: Sequence[tuple[float, float]], seconds: float) -> Ints:
    """The first frame of each word and the one after its last, ``[word 2]``: those that it has in part included."""
    begin, end = np.array(times, np.float64).T / seconds
    first = np.floor(begin + _ROUNDING).astype(np.int64)
    return np.stack([first, np.maximum(first + 1, np.ceil(end - _ROUNDING).astype(np.int64))], 1)


def by_word(weights: np.ndarray, rows: Ints) -> Floats:
    """The mean row of each word, ``[head token frame] -> [head word frame]``. Each has at least one."""
    return np.stack([weights[:, first:after].mean(1, dtype=np.float64) for first, after in rows], 1)


SUMS = ("right", "ordered", "errors", "words", "chance", "order")
"""What is known of each recording: how many words each head looks at most where they are heard, ``[layer head]``; of
how many the frame that a head looks at most is none before that of the word before, likewise; the sum over its words of
how far the times of each head alone are off, in seconds, likewise; how many it has; the sum over its words of the share
of all frames that are right; and over its words but the first of the probability that random frames are in order."""


def dataset(
    rows: Sequence[Arrays],
    *,
    clusters: Sequence[int],
    kind: str,
    meta: AnyDict,
) -> xr.Dataset:
    """``aligned`` and ``monotonic``, each with ``_se``, ``_low`` and ``_high`` (95 %), and ``error`` in seconds, over
    ``(layer, head)``; ``chance`` and ``monotonic_chance``; and of what ``aligned`` is made, the words that are right,
    ``right`` over ``(cluster, layer, head)``, of all, ``words`` over ``cluster``.

    Args:
        rows: of each recording `SUMS`, and the model's index of each layer, ``layers``.
        clusters: the cluster of each recording, in order.
        kind: what clusters are.
        meta: what made the figures.
    """
    numbers, starts = np.unique(np.array(clusters), return_index=True)
    hits, order, off, n, chance, even = (
        np.add.reduceat(np.stack([row[name] for row in rows], dtype=np.float64), starts, axis=0)
        for name in SUMS
    )
    recordings = np.add.reduceat(np.ones(len(clusters)), starts)
    grid: dict[str, Floats] = {}
    for name, good, of in (("aligned", hits, n), ("monotonic", order, n - recordings)):
        with quiet():
            value = good.sum(0) / of.sum()
        se = grid[f"{name}_se"] = jackknife.error(good, of[:, None, None])
        interval = share_interval(value, se, jackknife.effective(of), of.sum())
        grid |= jackknife.ends(name, value, interval)
    total = float(n.sum())
    grid["error"] = off.sum(0) / total
    about = {
        "clusters": kind,
        "clusters_count": len(numbers),
        "effective": float(jackknife.effective(n)),
        "words": int(total),
    }
    with quiet():
        in_order = even.sum() / (n - recordings).sum()
    return xr.Dataset(
        {name: (("layer", "head"), values) for name, values in grid.items()}
        | {"chance": ((), float(chance.sum()) / total), "monotonic_chance": ((), float(in_order))}
        | {"right": (("cluster", "layer", "head"), hits), "words": ("cluster", n)},
        {"layer": rows[-1]["layers"], "head": np.arange(hits.shape[2])},
        describe(meta | about),
    )


def table(result: xr.Dataset) -> pd.DataFrame:
    """A row a head, best first: ``layer, head, paper, accuracy, ci_low, ci_high, chance, error, n, chosen, monotonic``.

    ``accuracy`` is the share of words of which the frame that is attended most is one in which they are heard,
    ``chance`` what a random frame would score, ``error`` the mean difference in seconds between the beginnings and ends
    that this head alone gives and those annotated, ``n`` the number of words, ``chosen`` whether the head is in the set
    that was chosen, and ``monotonic`` the share of words whose frame is none before that of the word before.
    """
    about = description(result)
    rows: Any = of_heads(result)
    chosen = [[layer, head] in about["heads"] for layer, head in rows[["layer", "head"]].values.tolist()]
    rows = rows.assign(
        accuracy=result["aligned"].values.ravel(),
        ci_low=result["aligned_low"].values.ravel(),
        ci_high=result["aligned_high"].values.ravel(),
        chance=float(result["chance"]),
        error=result["error"].values.ravel(),
        n=about["words"],
        chosen=chosen,
        monotonic=result["monotonic"].values.ravel(),
    )
    order = np.lexsort((rows["error"], -rows["accuracy"]))
    return rows.iloc[order].reset_index(drop=True)
