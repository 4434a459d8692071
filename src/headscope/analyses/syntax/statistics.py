"""Dependency syntax in single heads: does the word that a head looks at most stand in a relation to the word it is in?

Source: Clark et al. 2019, section 4.2 and table 1. Of each word's row (``dep->head``) or column (``head->dep``) of a
head's map over words, without its own place and without special tokens, the largest weight is the prediction of the
word's head. What the paper left out is here: bootstrap intervals over sentences, and accuracies of heads that were
chosen on other sentences than they are scored on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.errors import InputError
from headscope.heads import Head
from headscope.measures.resample import Answers, Resampling
from headscope.measures.significance import false_discovery
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
    """Which predictions were right for each word of a treebank.

    Args:
        layers, heads: of the model; a head that a layer does not have is never right.
        offsets: of the baselines.
    """

    def __init__(self, layers: Sequence[int], heads: int, offsets: Sequence[int]) -> None:
        self.layers, self.heads, self.offsets = tuple(layers), heads, tuple(offsets)
        self.sentences = 0
        self.answers = Answers(2 * len(self.layers) * heads + len(self.offsets))

    def add(self, relations: Sequence[str], right: BoolArray, baselines: BoolArray) -> None:
        """One sentence.

        Args:
            relations: of each word.
            right: ``[direction layer head word]``.
            baselines: ``[offset word]``.
        """
        bits = np.concatenate([right.reshape(-1, len(relations)), baselines])
        self.answers.add(relations, bits, self.sentences)
        self.sentences += 1


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
        a best head is named: ``best`` (its place among direction × layer × head, −1 for none);
        ``split_accuracy``, ``split_low`` and ``split_high`` of choosing and scoring on different sentences
        (`headscope.measures.resample.Chosen`); ``p`` that this is no better than the best offset, chosen and
        scored alike, and ``q`` with the false discovery rate over the relations.

    Raises `InputError` when there is no sentence.
    """
    if not words.sentences:
        raise InputError("treebank: expected at least one sentence, found none")
    resampling = Resampling(words.answers, seed=seed, replicates=replicates)
    shape = (len(DIRECTIONS), len(words.layers), words.heads)
    heads = slice(0, int(np.prod(shape)))
    offsets = slice(heads.stop, words.answers.width)
    parts: dict[str, list[Any]] = {}
    subsets = _subsets(words.answers)
    for chosen in subsets.values():
        own = resampling.of(chosen)
        low, high = own.interval()
        row: dict[str, Any] = {
            "n": own.n,
            "accuracy": own.value[heads],
            "ci_low": low[heads],
            "ci_high": high[heads],
            "baseline": own.value[offsets],
            "best": -1,
            **dict.fromkeys(("split_accuracy", "split_low", "split_high", "p"), np.nan),
        }
        if own.n >= least and row["accuracy"].any():  # of roots no head is right
            best = own.chosen(heads)
            row |= {"best": best.place, "split_accuracy": best.split, "split_low": best.low}
            row["split_high"] = best.high
            row["p"] = best.above(own.chosen(offsets)) if words.offsets else np.nan
        for name, value in row.items():
            parts.setdefault(name, []).append(value)
    variables: dict[str, Any] = {
        name: (("relation", "direction", "layer", "head"), np.stack(parts[name]).reshape(-1, *shape))
        for name in ("accuracy", "ci_low", "ci_high")
    }
    variables["baseline"] = (("relation", "offset"), np.stack(parts["baseline"]))
    for name in ("n", "best", "split_accuracy", "split_low", "split_high", "p"):
        variables[name] = (("relation",), np.array(parts[name]))
    variables["q"] = (("relation",), false_discovery(np.array(parts["p"])))
    described = {**dict(meta or {}), "sentences": words.sentences, "seed": seed}
    described |= {"replicates": replicates, "least": least}
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


def _subsets(answers: Answers) -> dict[str, BoolArray]:
    """The words of each row of the table: all, all but punctuation and roots, each relation by frequency."""
    numbers = answers.numbers()
    outside = [number for name, number in answers.labels.items() if name.split(":")[0] in ("punct", "root")]
    sizes = np.bincount(numbers, minlength=len(answers.labels))
    names = sorted(answers.labels, key=lambda name: (-int(sizes[answers.labels[name]]), name))
    found = {ALL: np.ones(len(numbers), np.bool_), WITHOUT: ~np.isin(numbers, outside)}
    return found | {name: numbers == answers.labels[name] for name in names}


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
    if not np.isfinite(one["baseline"].values).any():  # of whole trees
        return {"baseline_offset": None, "baseline_accuracy": np.nan}
    best = int(np.nanargmax(one["baseline"].values))
    return {
        "baseline_offset": int(one["offset"][best]),
        "baseline_accuracy": float(one["baseline"].values[best]),
    }
