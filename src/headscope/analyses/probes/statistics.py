"""Scores of predicted trees with intervals over sentences, and the table of probes (Clark et al. 2019, table 3).

- UAS: the share of words whose head is right; without words of the relation ``punct`` (as is usual) and with them.
- UUAS: the share of the gold tree's edges that are predicted in either direction, without the root's and those of
  punctuation. From distances the tree is their minimum spanning tree over all words but punctuation (Hewitt and
  Manning 2019, section 4.2).
- Spearman: of each word's distances to all words with the gold ones (of a sentence's depths with the gold ones), the
  mean over a sentence, then over sentences of equal length, then over the lengths from 5 to 50 (the same section). A
  correlation that does not exist, where all numbers are equal, counts as 0.
- root: the share of sentences whose root is the word of least depth, punctuation left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.probes.trees import Trees, depths, distances
from headscope.lazy import module
from headscope.measures.resample import bootstrap, interval
from headscope.tokens import BoolArray, IntArray

Floats = npt.NDArray[np.float64]

SHORTEST, LONGEST = 5, 50
"""Lengths of the sentences whose correlations count."""


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges that UUAS is of, between two words that are no punctuation.

    Attributes:
        dependents: of each edge, among all words.
        heads: the same.
        sentences: of each edge.
    """

    dependents: IntArray
    heads: IntArray
    sentences: IntArray

    @classmethod
    def of(cls, trees: Trees) -> Edges:
        """Those of the gold trees."""
        sentence = np.repeat(np.arange(len(trees)), trees.lengths)
        dependents = np.flatnonzero((trees.heads >= 0) & ~trees.punct)
        heads = trees.heads[dependents] + trees.starts[sentence[dependents]]
        keep = ~trees.punct[heads]
        return cls(dependents[keep], heads[keep], sentence[dependents[keep]])

    def predicted(self, trees: Trees, heads: IntArray) -> BoolArray:
        """Which edges the predicted heads have, in either direction."""
        first = np.repeat(trees.starts[:-1], trees.lengths)
        absolute = np.where(heads >= 0, heads + first, -1)
        return (absolute[self.dependents] == self.heads) | (absolute[self.heads] == self.dependents)

    def spanned(self, trees: Trees, sentence: int, far: npt.NDArray[np.floating]) -> BoolArray:
        """Which edges of a sentence are in the minimum spanning tree of its distances ``[word word]``."""
        words = trees.words(sentence)
        nodes = np.flatnonzero(~trees.punct[words])
        tree = np.zeros(far.shape, np.bool_)
        if len(nodes) > 1:
            between = np.asarray(far, np.float64)[np.ix_(nodes, nodes)]
            graphs = module("scipy.sparse.csgraph")
            # scipy takes a distance of 0 for no edge
            spanning = graphs.minimum_spanning_tree(between + 1.0).tocoo()
            tree[nodes[spanning.row], nodes[spanning.col]] = True
        inside = self.sentences == sentence
        dependents, heads = self.dependents[inside] - words.start, self.heads[inside] - words.start
        return tree[dependents, heads] | tree[heads, dependents]


def by_distances(heads: IntArray, far: npt.NDArray[np.floating]) -> float:
    """Mean over words of the rank correlation of their distances ``[word word]`` with those of the tree."""
    return float(_spearman(far, distances(heads)).mean())


def by_depths(heads: IntArray, deep: npt.NDArray[np.floating]) -> float:
    """Rank correlation of depths ``[word]`` with those of the tree."""
    return float(_spearman(deep[None], depths(heads)[None])[0])


def _spearman(values: npt.NDArray[np.number], gold: npt.NDArray[np.number]) -> Floats:
    """Of each row; 0 where a row is constant."""
    rank = module("scipy.stats").rankdata
    first, second = (np.asarray(rank(each, axis=1)) for each in (values, gold))
    first, second = (each - each.mean(1, keepdims=True) for each in (first, second))
    below = np.sqrt((first**2).sum(1) * (second**2).sum(1))
    return np.divide((first * second).sum(1), below, out=np.zeros(len(first)), where=below > 0)


@dataclass(frozen=True)
class Mean:
    """A figure, and what it is in each replicate."""

    value: float
    drawn: Floats

    @property
    def low(self) -> float:
        """The lower end of its 95 % interval."""
        return float(interval(self.drawn)[0])

    @property
    def high(self) -> float:
        """The upper end of its 95 % interval."""
        return float(interval(self.drawn)[1])

    def minus(self, other: Mean) -> Mean:
        """The difference, replicate by replicate."""
        return Mean(self.value - other.value, self.drawn - other.drawn)


class Bootstrap:
    """Poisson draws of sentences: the same ones for every figure, so that differences are of pairs.

    Args:
        lengths: of the sentences, in words.
        seed, replicates: of the draws.
    """

    def __init__(self, lengths: IntArray, *, seed: int = 0, replicates: int = 1000) -> None:
        draw = np.random.default_rng([seed, 0xB0])
        self._drawn = bootstrap(draw, replicates, len(lengths)).astype(np.float32)
        self._lengths = (lengths[:, None] == np.arange(SHORTEST, LONGEST + 1)).astype(np.float32)

    def share(self, right: BoolArray, sentences: IntArray) -> Mean:
        """The share of instances that are right, each of a sentence."""
        count = self._drawn.shape[1]
        hits = np.bincount(sentences, right, minlength=count)
        sizes = np.bincount(sentences, minlength=count).astype(np.float64)
        value = float(right.mean()) if len(right) else np.nan
        with np.errstate(invalid="ignore", divide="ignore"):
            return Mean(value, (self._drawn @ hits) / (self._drawn @ sizes))

    def by_length(self, values: Floats) -> Mean:
        """The mean over the lengths of 5 to 50 of the mean over their sentences, ``[sentence]``."""
        drawn = np.concatenate([np.ones_like(self._drawn[:1]), self._drawn])
        sums = drawn @ (values[:, None] * self._lengths).astype(np.float32)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums.astype(np.float64) / (drawn @ self._lengths)
        there = np.isfinite(means)
        counts = there.sum(1)
        figures = np.where(there, means, 0.0).sum(1) / np.where(counts, counts, np.nan)
        return Mean(float(figures[0]), figures[1:])


COLUMNS = (
    "probe",
    "uas",
    "uuas",
    "spearman",
    "selectivity",
    "n",
    "seed",
    "uas_low",
    "uas_high",
    "uas_punct",
    "uuas_low",
    "uuas_high",
    "spearman_low",
    "spearman_high",
    "depth_spearman",
    "root_accuracy",
    "control",
    "selectivity_low",
    "selectivity_high",
    "edges",
    "sentences",
    "layer",
    "vectors",
    "epochs",
    "loss",
    "held_out",
    "parameters",
)
"""Columns of the table."""


@dataclass(frozen=True, eq=False)
class Heads:
    """Predicted heads of all words, their place in the sentence, and the right ones where they are not the trees'."""

    predicted: IntArray
    gold: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Structure:
    """What a structural probe's distances and depths give.

    Attributes:
        edges: which gold edges are in the spanning tree, in the order of `Edges`.
        spearman, depth_spearman: of each sentence.
        root: whether each sentence's root is found.
    """

    edges: BoolArray
    spearman: Floats
    depth_spearman: Floats
    root: BoolArray


@dataclass(frozen=True, eq=False)
class Row:
    """One probe.

    Attributes:
        name: of it.
        scored: what it predicts.
        control: what it predicts in the control task, trained on that.
        layer: of hidden states, 0 for the embeddings.
        vectors: where its vectors of words are from.
        training: figures of it, such as `Fitted.figures` gives.
        parameters: how many numbers were.
    """

    name: str
    scored: Heads | Structure
    control: Heads | None = None
    layer: int | None = None
    vectors: str = ""
    training: Mapping[str, float] = field(default_factory=dict[str, float])
    parameters: int = 0


def dataset(
    rows: Sequence[Row], trees: Trees, *, seed: int, replicates: int = 1000, meta: Mapping[str, Any]
) -> xr.Dataset:
    """Figures over ``probe``, as they are defined above, with 95 % intervals of a bootstrap.

    Args:
        rows: the probes.
        trees: of the treebank on which they are scored.
        seed, replicates: of the bootstrap.
        meta: what made the figures.

    Returns:
        The variables are `COLUMNS`; what a probe does not have is NaN, layer −1 or an empty text. ``uas`` and
        ``selectivity`` (that less the accuracy in the control task, ``control``) leave out words of the relation
        ``punct``, ``uas_punct`` does not; ``n`` words, ``edges`` and ``sentences`` were scored; ``epochs`` were
        trained, to the mean ``loss`` on what was trained on and on what was ``held_out``: nats a word, for
        structural probes edges.
    """
    draw, edges = Bootstrap(trees.lengths, seed=seed, replicates=replicates), Edges.of(trees)
    shared = {
        "seed": seed,
        "n": int((~trees.punct).sum()),
        "edges": len(edges.sentences),
        "sentences": len(trees),
    }
    lines: list[dict[str, Any]] = []
    for row in rows:
        scores = _of_heads if isinstance(row.scored, Heads) else _of_structure
        means = scores(row, trees, draw, edges)
        line = {**shared, "vectors": row.vectors, "parameters": row.parameters, "epochs": 0, **row.training}
        line["layer"] = -1 if row.layer is None else row.layer
        line |= {name: mean.value for name, mean in means.items()}
        for name in {"uas", "uuas", "spearman", "selectivity"} & means.keys():
            line |= {f"{name}_low": means[name].low, f"{name}_high": means[name].high}
        lines.append(line)
    variables = {
        name: (("probe",), np.array([line.get(name, np.nan) for line in lines])) for name in COLUMNS[1:]
    }
    attrs = {"meta": json.dumps({**meta, "seed": seed, "replicates": replicates}, ensure_ascii=False)}
    return xr.Dataset(variables, coords={"probe": [row.name for row in rows]}, attrs=attrs)


def _of_heads(row: Row, trees: Trees, draw: Bootstrap, edges: Edges) -> dict[str, Mean]:
    assert isinstance(row.scored, Heads)
    sentences = np.repeat(np.arange(len(trees)), trees.lengths)
    counted = ~trees.punct
    right = row.scored.predicted == trees.heads
    means = {
        "uas": draw.share(right[counted], sentences[counted]),
        "uas_punct": draw.share(right, sentences),
        "uuas": draw.share(edges.predicted(trees, row.scored.predicted), edges.sentences),
    }
    if row.control is not None:
        right = row.control.predicted == row.control.gold
        means["control"] = draw.share(right[counted], sentences[counted])
        means["selectivity"] = means["uas"].minus(means["control"])
    return means


def _of_structure(row: Row, _: Trees, draw: Bootstrap, edges: Edges) -> dict[str, Mean]:
    assert isinstance(row.scored, Structure)
    return {
        "uuas": draw.share(row.scored.edges, edges.sentences),
        "spearman": draw.by_length(row.scored.spearman),
        "depth_spearman": draw.by_length(row.scored.depth_spearman),
        "root_accuracy": draw.share(row.scored.root, np.arange(len(row.scored.root))),
    }


def table(result: xr.Dataset) -> pd.DataFrame:
    """A row a probe, with `COLUMNS`."""
    rows: Any = pd.DataFrame({name: result[name].values for name in COLUMNS})
    rows["layer"] = rows["layer"].astype("Int64").where(rows["layer"] >= 0)
    return rows
