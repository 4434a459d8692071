"""Dependency syntax in single heads: does the word that a head looks at most stand in a relation to the word it is in?

Source: Clark et al. 2019, section 4.2 and table 1. Of each word's row (``dep->head``) or column (``head->dep``) of a
head's map over words, without its own place and without special tokens, the largest weight is the prediction of the
word's head. What the paper left out is here: intervals over documents (sentences where no documents are known), and
accuracies of heads that were chosen on others than they are scored on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.links.questions import ALL
from headscope.analyses.links.statistics import CHOSEN, HEADS, accuracies, best_heads, by_label, heads_of
from headscope.analyses.links.sums import LinkSums, by_layer
from headscope.core import lazy
from headscope.core.arrays import Bools, Ints
from headscope.core.types import AnyMapping
from headscope.errors import InputError
from headscope.statistics.resample import Answers

DIRECTIONS = ("dep->head", "head->dep")
"""``dep->head``: by the row of the dependent; ``head->dep``: by its column."""

WITHOUT = "all but punct, root"
"""The name of the row over all words but punctuation and roots (as UAS is mostly given)."""

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


def by_offsets(count: int, offsets: Sequence[int], *, clip: bool = False) -> Ints:
    """The word at each offset, ``[offset word]``: −2 where there is none (before the first: −1, the root, if `clip`).

    The released code of Clark et al. clips: what is beyond the end is the last word, what is before the start the
    root, which makes far offsets to the left score on roots.
    """
    words = np.arange(count) + np.array(offsets, np.int64)[:, None]
    if clip:
        return np.clip(words, -1, count - 1)
    return np.where((words >= 0) & (words < count), words, -2)


def dataset(
    words: LinkSums,
    *,
    seed: int = 0,
    least: int = 100,
    meta: AnyMapping | None = None,
) -> xr.Dataset:
    """Accuracies of all heads over ``(relation, direction, layer, head)``, with intervals over clusters.

    As `headscope.analyses.links.statistics.accuracies` gives them, over ``relation`` (all words, all but punctuation
    and roots, and each relation by frequency) and ``offset`` (of the baselines). The paper names a best head from 100
    instances on.

    Raises `InputError` when there is no sentence.
    """
    if not words.count:
        raise InputError("treebank: expected at least one sentence, found none")
    described = {**(meta or {}), "sentences": words.count}
    subsets = _subsets(words.answers)
    return accuracies(
        words,
        subsets,
        axis="relation",
        rule="offset",
        seed=seed,
        least=least,
        meta=described,
    )


def _subsets(answers: Answers) -> dict[str, Bools]:
    """The words of each row of the table: all, all but punctuation and roots, each relation by frequency."""
    relations = by_label(answers)
    outside = [mask for name, mask in relations.items() if name.split(":")[0] in ("punct", "root")]
    every = np.ones(len(answers), np.bool_)
    return {ALL: every, WITHOUT: every & ~np.any([~every, *outside], 0)} | relations


def table(result: xr.Dataset) -> pd.DataFrame:
    """The best head of each relation, with `COLUMNS` and `CHOSEN`; no head where there are `few` instances.

    ``ci_low`` and ``ci_high`` are given the choice; ``split_low`` and ``split_high`` include it.
    """
    rows: Any = best_heads(result, every_head(result), "relation", "baseline_offset")
    return rows[[*COLUMNS, *CHOSEN]]


def every_head(result: xr.Dataset) -> pd.DataFrame:
    """Every head and direction of each relation, with `COLUMNS`."""
    rows: Any = heads_of(result, "relation", "offset", "baseline_offset", HEADS)
    return rows[list(COLUMNS)]


UAS, UUAS = "tree UAS", "tree UUAS"
"""Rows of the table: edges of the tree that are right with their direction, and without. Roots are given."""

CHAINS = (-1, 1)
"""Their baselines: each word's head is its neighbour."""


def spanning_tree(weights: np.ndarray, root: int) -> Ints:
    """The head of each word in the tree of most weight, −1 for the root, ``[word word] -> [word]``.

    Args:
        weights: what each word (row) gives to each possible head (column); its own place does not count.
        root: the word at the top, by the gold tree as in the paper.

    Raises `InputError` without the library for it (the extra ``trees``).
    """
    count = len(weights)
    scores = np.full((count + 1, count + 1), np.nan)
    scores[1:, 1:] = weights
    np.fill_diagonal(scores, np.nan)
    scores[root + 1, 1:] = np.nan
    scores[root + 1, 0] = 0.0
    return np.array(maker().chu_liu_edmonds(scores)[0][1:], np.int64) - 1


def maker() -> Any:
    """What makes the trees. Raises `InputError` where it is not installed."""
    return lazy.module("ufal.chu_liu_edmonds")


def right(predicted: Ints, heads: Ints) -> tuple[Bools, Bools]:
    """Whether each word's edge is right, with its direction and without, ``[word]`` each. The root has none: False."""
    words = np.arange(len(heads))
    inner = predicted >= 0
    directed = inner & (predicted == heads)
    turned = np.zeros(len(heads), np.bool_)
    turned[inner] = heads[predicted[inner]] == words[inner]
    return directed, directed | turned


def edges(weights: np.ndarray, heads: Ints) -> Bools:
    """Which words' edges are right in the trees of a layer, ``[head word word] -> [kind direction head word]``.

    Kinds are those of `UAS` and `UUAS`. `heads` are those of the gold tree.
    """
    root = int(np.flatnonzero(heads < 0)[0])
    trees = [[right(spanning_tree(matrix, root), heads) for matrix in (head, head.T)] for head in weights]
    return np.array(trees, np.bool_).transpose(2, 1, 0, 3)


def instances(sums: LinkSums, layers: Sequence[Bools], heads: Ints) -> tuple[list[str], Bools, Bools]:
    """The words of one sentence whose edges are right, as instances of two relations.

    Args:
        sums: of what model.
        layers: `edges` of each.
        heads: of the gold tree.

    Returns their labels, what is right of heads ``[way layer head instance]`` and of chains at the offsets of `CHAINS`.
    """
    chains = [right(chain, heads) for chain in by_offsets(len(heads), CHAINS)]
    kept = heads >= 0
    labels = np.repeat([UAS, UUAS], kept.sum()).tolist()
    edges_right = [by_layer([layer[kind][..., kept] for layer in layers], sums.heads, 1) for kind in range(2)]
    baselines = [[chain[kind][kept] for chain in chains] for kind in range(2)]
    return labels, np.concatenate(edges_right, -1), np.concatenate(baselines, -1)
