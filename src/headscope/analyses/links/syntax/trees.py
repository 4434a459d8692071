"""Whole dependency trees from single heads: maximum spanning trees of attention maps (Htut et al. 2019, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headscope.analyses.links.sums import LinkSums
from headscope.analyses.links.syntax.statistics import by_offsets
from headscope.core import lazy
from headscope.core.arrays import Bools, Ints

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
    edges_right = [sums.padded([layer[kind][..., kept] for layer in layers]) for kind in range(2)]
    baselines = [[chain[kind][kept] for chain in chains] for kind in range(2)]
    return labels, np.concatenate(edges_right, -1), np.concatenate(baselines, -1)
