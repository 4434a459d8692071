"""Whole dependency trees from single heads: maximum spanning trees of attention maps (Htut et al. 2019, section 3)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.analyses.syntax.statistics import Words
from headscope.errors import InputError
from headscope.tokens import BoolArray, IntArray

UAS, UUAS = "tree UAS", "tree UUAS"
"""Rows of the table: edges of the tree that are right with their direction, and without. Roots are given."""


def spanning_tree(weights: npt.NDArray[Any], root: int) -> IntArray:
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
    return np.array(_library()(scores)[0][1:], np.int64) - 1


def right(predicted: IntArray, heads: IntArray) -> tuple[BoolArray, BoolArray]:
    """Whether each word's edge is right, with its direction and without, ``[word]`` each. The root has none: False."""
    words = np.arange(len(heads))
    inner = predicted >= 0
    directed = inner & (predicted == heads)
    turned = np.zeros(len(heads), np.bool_)
    turned[inner] = heads[predicted[inner]] == words[inner]
    return directed, directed | turned


def add(words: Words, maps: Sequence[npt.NDArray[Any]], heads: IntArray) -> None:
    """Count the trees of one sentence, as two relations of `words`; a baseline is the chain at an offset of ±1.

    Args:
        words: the counts.
        maps: of each layer, ``[head word word]``.
        heads: of the gold tree.
    """
    count, root = len(heads), int(np.flatnonzero(heads < 0)[0])
    found = np.zeros((2, 2, len(maps), words.heads, count), np.bool_)  # [kind direction layer head word]
    for layer, own in enumerate(maps):
        for head, weights in enumerate(own):
            for direction, each in enumerate((weights, weights.T)):
                found[:, direction, layer, head] = right(spanning_tree(each, root), heads)
    chains = [right(_chain(count, offset), heads) for offset in words.offsets]
    kept = heads >= 0
    baselines = np.array(chains, np.bool_).reshape(len(chains), 2, count)[..., kept]
    labels = [UAS] * int(kept.sum()) + [UUAS] * int(kept.sum())
    words.add(
        labels, np.concatenate(list(found[..., kept]), -1), np.concatenate(list(baselines.swapaxes(0, 1)), -1)
    )


def _chain(count: int, offset: int) -> IntArray:
    found = np.arange(count) + offset
    return np.where((found >= 0) & (found < count), found, -1)


def _library() -> Callable[[npt.NDArray[Any]], tuple[list[int], float]]:
    try:
        library: Any = importlib.import_module("ufal.chu_liu_edmonds")
    except ImportError:
        raise InputError(
            "trees: expected the library ufal.chu-liu-edmonds, found none; pip install 'headscope[trees]'"
        ) from None
    return library.chu_liu_edmonds
