"""Dependency syntax in single heads: does the word that a head looks at most stand in a relation to the word it is in?

Source: Clark et al. 2019, section 4.2 and table 1. Of each word's row (``dep->head``) or column (``head->dep``) of a
head's map over words, without its own place and without special tokens, the largest weight is the prediction of the
word's head. What the paper left out is here: bootstrap intervals over sentences, and accuracies of heads that were
chosen on other sentences than they are scored on.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.errors import InputError
from headscope.heads import Head
from headscope.measures.measure import Floats
from headscope.tokens import BoolArray, IntArray

DIRECTIONS = ("dep->head", "head->dep")
"""``dep->head``: the row of the dependent is asked; ``head->dep``: its column."""

ALL, WITHOUT = "all", "all but punct, root"
"""Names of the rows over all words, and over all but punctuation and roots (as UAS is mostly given)."""

COLUMNS = (
    "relation",
    "n",
    "layer",
    "head",
    "paper",
    "direction",
    "accuracy",
    "ci_low",
    "ci_high",
    "baseline_offset",
    "baseline_accuracy",
)
"""Columns of the tables; that of best heads has `CHOSEN` as well."""

CHOSEN = ("split_accuracy", "split_low", "split_high", "p", "q", "few")
_CLUSTERS = 50_000
_SPLITS = 100

Bytes = npt.NDArray[np.uint8]


def predictions(weights: npt.NDArray[Any]) -> tuple[IntArray, IntArray]:
    """The word that each word's row and column gives or gets most of, its own place left out.

    ``[head word word] -> [head word], [head word]``: ``dep->head`` and ``head->dep``. Of equal weights the first
    counts. A word alone in its sentence predicts itself.
    """
    weights = weights.copy()
    place: IntArray = np.arange(weights.shape[-1], dtype=np.int64)
    weights[..., place, place] = 0.0
    return weights.argmax(-1), weights.argmax(-2)


def by_offsets(count: int, offsets: Sequence[int], *, clip: bool = False) -> IntArray:
    """The word at each offset, ``[offset word]``: −1 where there is none (before the first: the root, if `clip`).

    The released code of Clark et al. clips: what is beyond the end is the last word, what is before the start the
    root, which makes far offsets to the left score on roots.
    """
    found = np.arange(count) + np.array(offsets, np.int64)[:, None]
    if clip:
        return np.clip(found, -1, count - 1)
    return np.where((found >= 0) & (found < count), found, -2)


class Words:
    """Which predictions were right for each word of a treebank: a bit each, in a temporary file.

    Args:
        layers, heads: of the model; a head that a layer does not have is never right.
        offsets: of the baselines.
    """

    def __init__(self, layers: Sequence[int], heads: int, offsets: Sequence[int]) -> None:
        self.layers, self.heads, self.offsets = tuple(layers), heads, tuple(offsets)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as this)
        self._relations: list[IntArray] = []
        self._sizes: list[int] = []
        self.names: dict[str, int] = {}

    @property
    def width(self) -> int:
        """Bits a word: heads in both directions, then the baselines."""
        return 2 * len(self.layers) * self.heads + len(self.offsets)

    def add(self, relations: Sequence[str], right: BoolArray, baselines: BoolArray) -> None:
        """One sentence.

        Args:
            relations: of each word.
            right: ``[direction layer head word]``.
            baselines: ``[offset word]``.
        """
        count = len(relations)
        bits = np.concatenate([right.reshape(-1, count), baselines.reshape(-1, count)])
        self._file.write(np.packbits(bits.T, axis=1).tobytes())
        self._relations.append(
            np.array([self.names.setdefault(name, len(self.names)) for name in relations], np.int64)
        )
        self._sizes.append(count)

    def __len__(self) -> int:
        return len(self._sizes)

    def relation(self) -> tuple[IntArray, IntArray]:
        """The number of each word's relation (in `names`), and of its sentence."""
        return np.concatenate(self._relations), np.repeat(np.arange(len(self)), self._sizes)

    def bits(self) -> Bytes:
        """All bits, packed, ``[word byte]``."""
        self._file.flush()
        return np.memmap(self._file, np.uint8, "r").reshape(-1, -(-self.width // 8))


def dataset(
    words: Words,
    *,
    seed: int = 0,
    replicates: int = 1000,
    least: int = 100,
    meta: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Accuracies of all heads over ``(relation, direction, layer, head)``, with bootstrap intervals over sentences.

    Args:
        words: what was predicted.
        seed: of the bootstrap and of the halves.
        replicates: of the bootstrap.
        least: instances that a relation needs for a best head to be named (100 in the paper).
        meta: what made the figures.

    Returns:
        ``accuracy``, ``ci_low``, ``ci_high`` of every head (95 % percentile intervals of a Poisson bootstrap over
        sentences), ``n`` of every relation, ``baseline`` over ``(relation, offset)``; and over ``relation``, where
        a best head is named: ``best`` (its place among direction × layer × head); ``split_accuracy``: the best
        head of one half of the sentences scored on the other, mean over 100 halvings, both ways; ``split_low``
        and ``split_high``: 95 % of the replicates' best heads, each scored on the sentences that its replicate
        left out (so the choosing is in the interval, and it is wider than one on all sentences); ``p`` that this
        is no better than the best offset, chosen and scored alike, and ``q`` with the false discovery rate over
        the relations.

    Raises `InputError` when there is no sentence.
    """
    if not len(words):
        raise InputError("treebank: expected at least one sentence, found none")
    relation, sentence = words.relation()
    clusters = sentence // -(-len(words) // _CLUSTERS)
    count = int(clusters[-1]) + 1
    draw = np.random.default_rng(seed)
    drawn = draw.poisson(1.0, (replicates, count)).astype(np.uint8)
    halves = draw.permuted(np.tile(np.arange(count) % 2 == 0, (_SPLITS, 1)), axis=1)
    shape = (len(DIRECTIONS), len(words.layers), words.heads)
    heads = int(np.prod(shape))
    outside = [words.names[name] for name in words.names if name.split(":")[0] in ("punct", "root")]
    subsets = {ALL: np.ones(len(relation), np.bool_), WITHOUT: ~np.isin(relation, outside)}
    sizes = np.bincount(relation, minlength=len(words.names))
    names = sorted(words.names, key=lambda name: (-int(sizes[words.names[name]]), name))
    subsets |= {name: relation == words.names[name] for name in names}
    parts: dict[str, list[Any]] = {}
    for chosen in subsets.values():
        found = _of_relation(words, chosen, clusters, drawn, halves, heads, least)
        for name, value in found.items():
            parts.setdefault(name, []).append(value)
    p = np.array(parts["p"])
    variables: dict[str, Any] = {
        name: (("relation", "direction", "layer", "head"), np.stack(parts[name]).reshape(-1, *shape))
        for name in ("accuracy", "ci_low", "ci_high")
    }
    variables["baseline"] = (("relation", "offset"), np.stack(parts["baseline"]))
    for name in ("n", "best", "split_accuracy", "split_low", "split_high", "p"):
        variables[name] = (("relation",), np.array(parts[name]))
    variables["q"] = (("relation",), false_discovery(p))
    described = {
        **dict(meta or {}),
        "sentences": len(words),
        "seed": seed,
        "replicates": replicates,
        "least": least,
    }
    return xr.Dataset(
        variables,
        coords={
            "relation": list(subsets),
            "direction": list(DIRECTIONS),
            "layer": list(words.layers),
            "head": np.arange(words.heads),
            "offset": list(words.offsets),
        },
        attrs={"meta": json.dumps(described, ensure_ascii=False)},
    )


def _of_relation(
    words: Words,
    chosen: BoolArray,
    clusters: IntArray,
    drawn: Bytes,
    halves: BoolArray,
    heads: int,
    least: int,
) -> dict[str, Any]:
    """The figures of one relation."""
    right, size, where = _by_cluster(words, np.flatnonzero(chosen), clusters)
    total, n = right.sum(0, dtype=np.float64), int(size.sum())
    accuracy = total / max(1, n)
    weights = drawn[:, where].astype(np.float32)
    inside, missing = _shares(weights, right, size), _shares((weights == 0).astype(np.float32), right, size)
    drawn_some = inside[np.isfinite(inside[:, 0])]  # not those that drew no sentence of the relation
    nothing = np.full((2, len(total)), np.nan)
    low, high = np.percentile(drawn_some, [2.5, 97.5], axis=0) if len(drawn_some) else nothing
    found: dict[str, Any] = {
        "n": n,
        "accuracy": accuracy[:heads] if n else np.full(heads, np.nan),
        "ci_low": low[:heads],
        "ci_high": high[:heads],
        "baseline": accuracy[heads:],
        "best": int(accuracy[:heads].argmax()),
        **dict.fromkeys(("split_accuracy", "split_low", "split_high", "p"), np.nan),
    }
    if n < least:
        return {**found, "best": -1}
    both = [
        _shares(half.astype(np.float32), right, size)[:, :heads]
        for half in (halves[:, where], ~halves[:, where])
    ]
    scores = [_picked(one, other) for one, other in (both, both[::-1])]
    if np.isnan(scores).all():  # all in one sentence: no halves
        return found
    found["split_accuracy"] = float(np.nanmean(scores))
    apart = _picked(inside[:, :heads], missing[:, :heads])
    if np.isfinite(apart).any():
        found["split_low"], found["split_high"] = np.nanpercentile(apart, [2.5, 97.5])
    if len(words.offsets):
        gain = apart - _picked(inside[:, heads:], missing[:, heads:])
        gain = gain[np.isfinite(gain)]
        found["p"] = (1 + int((gain <= 0).sum())) / (len(gain) + 1)
    return found


def _by_cluster(
    words: Words, rows: IntArray, clusters: IntArray
) -> tuple[npt.NDArray[np.float32], Floats, IntArray]:
    """How many of these words each prediction gets right ``[cluster prediction]``, their number, and the clusters."""
    where, starts = np.unique(clusters[rows], return_index=True)
    right = np.zeros((len(where), words.width), np.float32)
    bits = words.bits()
    ends = [*starts[1:], len(rows)]
    for first in range(0, len(where), 512):
        last = min(first + 512, len(where))
        part = rows[starts[first] : ends[last - 1]]
        unpacked = np.unpackbits(bits[part], axis=1, count=words.width)
        right[first:last] = np.add.reduceat(
            unpacked, starts[first:last] - starts[first], axis=0, dtype=np.float32
        )
    return right, np.diff([*starts, len(rows)]).astype(np.float64), where


def _shares(weights: npt.NDArray[np.float32], right: npt.NDArray[np.float32], size: Floats) -> Floats:
    """Accuracies under weights of the clusters, ``[replicate prediction]``; NaN where nothing is drawn."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return (weights @ right).astype(np.float64) / (weights @ size)[:, None]


def _picked(chosen_on: Floats, scored_on: Floats) -> Floats:
    """What the best of each row of one gets in the other; NaN where either has nothing."""
    there = np.isfinite(chosen_on).all(1)
    best = np.where(np.isfinite(chosen_on), chosen_on, -1.0).argmax(1)
    return np.where(there, scored_on[np.arange(len(best)), best], np.nan)


def false_discovery(p: Floats) -> Floats:
    """Benjamini and Hochberg's adjusted p values (1995); NaN stays NaN and does not count."""
    found = np.full(len(p), np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known])]
    ranks = np.arange(1, len(order) + 1)
    adjusted = np.minimum.accumulate((p[order] * len(order) / ranks)[::-1])[::-1]
    found[order] = np.minimum(adjusted, 1.0)
    return found


def table(found: xr.Dataset) -> pd.DataFrame:
    """The best head of each relation, with `COLUMNS` and `CHOSEN`; no head where there are `few` instances."""
    rows = [_best(found.sel(relation=name), str(name)) for name in found["relation"].values]
    made: Any = pd.DataFrame(rows, columns=[*COLUMNS, *CHOSEN])
    return made.astype({"layer": "Int64", "head": "Int64", "baseline_offset": "Int64"})


def _best(one: xr.Dataset, name: str) -> dict[str, Any]:
    best = int(one["best"])
    row: dict[str, Any] = {"relation": name, "n": int(one["n"]), "few": best < 0, **_baseline(one)}
    if best >= 0:
        shape = one["accuracy"].shape
        direction, layer, head = np.unravel_index(best, shape)
        row |= _head(one, int(direction), int(layer), int(head))
        row |= {key: float(one[key]) for key in CHOSEN[:-1]}
    return row


def every_head(found: xr.Dataset) -> pd.DataFrame:
    """Every head and direction of each relation, with `COLUMNS`."""
    rows: list[dict[str, Any]] = []
    for name in found["relation"].values:
        one = found.sel(relation=name)
        shared = {"relation": str(name), "n": int(one["n"]), **_baseline(one)}
        for place in np.ndindex(*one["accuracy"].shape):
            rows.append(shared | _head(one, *place))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _head(one: xr.Dataset, direction: int, layer: int, head: int) -> dict[str, Any]:
    name = Head(int(one["layer"][layer]), int(one["head"][head]))
    return {
        "layer": name.layer,
        "head": name.head,
        "paper": name.paper,
        "direction": DIRECTIONS[direction],
        **{key: float(one[key].values[direction, layer, head]) for key in ("accuracy", "ci_low", "ci_high")},
    }


def _baseline(one: xr.Dataset) -> dict[str, Any]:
    if not one["offset"].size:
        return {"baseline_offset": None, "baseline_accuracy": np.nan}
    best = int(one["baseline"].values.argmax())
    return {
        "baseline_offset": int(one["offset"][best]),
        "baseline_accuracy": float(one["baseline"].values[best]),
    }
