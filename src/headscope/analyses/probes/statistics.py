"""Scores of predicted trees with intervals over documents, and the table of probes (Clark et al. 2019, table 3).

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
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.probes.trees import Trees, depths, distances
from headscope.core.arrays import AnyFloats, Bools, Floats, Ints
from headscope.core.lazy import module
from headscope.core.types import AnyDict, AnyMapping
from headscope.statistics import jackknife
from headscope.statistics.jackknife import share_interval
from headscope.statistics.resample import Gain

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

    dependents: Ints
    heads: Ints
    sentences: Ints

    @classmethod
    def of(cls, trees: Trees) -> Edges:
        """Take the edges of the gold trees."""
        sentence = np.repeat(np.arange(len(trees)), trees.lengths)
        dependents = np.flatnonzero((trees.heads >= 0) & ~trees.punct)
        heads = trees.heads[dependents] + trees.starts[sentence[dependents]]
        keep = ~trees.punct[heads]
        return cls(dependents[keep], heads[keep], sentence[dependents[keep]])

    def predicted(self, trees: Trees, heads: Ints) -> Bools:
        """Which edges the predicted heads have, in either direction."""
        first = np.repeat(trees.starts[:-1], trees.lengths)
        absolute = np.where(heads >= 0, heads + first, -1)
        return (absolute[self.dependents] == self.heads) | (absolute[self.heads] == self.dependents)

    def spanned(self, trees: Trees, sentence: int, far: AnyFloats) -> Bools:
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


def by_distances(heads: Ints, far: AnyFloats) -> float:
    """Mean over words of the rank correlation of their distances ``[word word]`` with those of the tree."""
    return float(_spearman(far, distances(heads)).mean())


def by_depths(heads: Ints, deep: AnyFloats) -> float:
    """Rank correlation of depths ``[word]`` with those of the tree."""
    return float(_spearman(deep[None], depths(heads)[None])[0])


def _spearman(values: npt.NDArray[np.number], gold: npt.NDArray[np.number]) -> Floats:
    """Correlate the ranks within each row; 0 where a row is constant."""
    rank = module("scipy.stats").rankdata
    first, second = (np.asarray(rank(rows, axis=1)) for rows in (values, gold))
    first, second = (ranks - ranks.mean(1, keepdims=True) for ranks in (first, second))
    below = np.sqrt((first**2).sum(1) * (second**2).sum(1))
    return np.divide((first * second).sum(1), below, out=np.zeros(len(first)), where=below > 0)


@dataclass(frozen=True, eq=False)
class Mean:
    """A figure, and what it is without each cluster.

    Attributes:
        value: the figure.
        without: what it is without each cluster, ``[cluster]``.
        there: which clusters count, ``[cluster]``.
        documents: how many of them count in effect.
        n: instances.
        share: whether it is between 0 and 1, or a difference or correlation, between −1 and 1.
    """

    value: float
    without: Floats
    there: Bools
    documents: float
    n: float
    share: bool = True

    @property
    def gain(self) -> Gain:
        """The figure with its error."""
        return Gain(self.value, float(jackknife.spread(self.without, self.there)), self.documents)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of its 95 % interval; NaN with too few effective clusters."""
        if self.share:
            low, high = share_interval(self.value, self.gain.se, self.documents, self.n)
        else:
            low, high = self.gain.interval()
        return float(low), float(high)

    def minus(self, other: Mean) -> Mean:
        """The difference to a figure of the same clusters, pair by pair."""
        without = self.without - other.without
        return replace(self, value=self.value - other.value, without=without, share=False)


class ByCluster:
    """Figures over clusters of sentences: the same ones for every figure, so that differences are of pairs.

    Args:
        lengths: of the sentences, in words.
        clusters: of the sentences; None: each is one.
    """

    def __init__(self, lengths: Ints, clusters: Ints | None = None) -> None:
        self._clusters = (
            np.arange(len(lengths)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
        )
        self._lengths = np.asarray(lengths, np.int64)

    def share(self, right: Bools, sentences: Ints) -> Mean:
        """The share of instances that are right, each of a sentence."""
        count = int(self._clusters.max()) + 1
        where = self._clusters[sentences]
        hits = np.bincount(where, right, minlength=count).astype(np.float64)
        sizes = np.bincount(where, minlength=count).astype(np.float64)
        value = float(right.mean()) if len(right) else np.nan
        documents = float(jackknife.effective(sizes))
        return Mean(value, jackknife.left_out(hits, sizes), sizes > 0, documents, len(right))

    def by_length(self, values: Floats) -> Mean:
        """The mean over the lengths of 5 to 50 of the mean over their sentences, ``[sentence]``."""
        kept = (self._lengths >= SHORTEST) & (self._lengths <= LONGEST)
        count = int(self._clusters.max()) + 1
        sums, sizes = np.zeros((2, count, LONGEST - SHORTEST + 1))
        places = self._clusters[kept], self._lengths[kept] - SHORTEST
        np.add.at(sums, places, values[kept])
        np.add.at(sizes, places, 1.0)
        weights = sizes.sum(1)
        value = _mean_of_means(sums.sum(0), sizes.sum(0))
        without = _mean_of_means(sums.sum(0) - sums, sizes.sum(0) - sizes)
        documents = float(jackknife.effective(weights))
        return Mean(float(value), without, weights > 0, documents, float(weights.sum()), share=False)


def _mean_of_means(sums: Floats, sizes: Floats) -> Floats:
    """The mean over lengths of the mean over sentences, ``[... length] -> [...]``, over the lengths that there are."""
    there = sizes > 0
    means = np.divide(sums, sizes, out=np.zeros_like(sums), where=there)
    counts = there.sum(-1)
    return means.sum(-1) / np.where(counts, counts, np.nan)


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
    "effective",
    "clusters",
)
"""Columns of the table."""


@dataclass(frozen=True, eq=False)
class Heads:
    """Predicted heads of all words, their place in the sentence, and the right ones where they are not the trees'."""

    predicted: Ints
    gold: Ints | None = None


@dataclass(frozen=True, eq=False)
class Structure:
    """What a structural probe's distances and depths give.

    Attributes:
        edges: which gold edges are in the spanning tree, in the order of `Edges`.
        spearman, depth_spearman: of each sentence.
        root: whether each sentence's root is found.
    """

    edges: Bools
    spearman: Floats
    depth_spearman: Floats
    root: Bools


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


COMPARED = ("uas", "uuas")
"""Scores whose differences between probes are given."""


def dataset(rows: Sequence[Row], trees: Trees, *, seed: int, meta: AnyMapping) -> xr.Dataset:
    """Figures over ``probe``, as they are defined above, with 95 % intervals over documents (else sentences).

    Args:
        rows: the probes.
        trees: of the treebank on which they are scored.
        seed: of the probes.
        meta: what made the figures.

    Returns:
        The variables are `COLUMNS`; what a probe does not have is NaN, layer −1 or an empty text. ``uas`` and
        ``selectivity`` (that less the accuracy in the control task, ``control``) leave out words of the relation
        ``punct``, ``uas_punct`` does not; ``n`` words, ``edges`` and ``sentences`` were scored; ``epochs`` were
        trained, to the mean ``loss`` on what was trained on and on what was ``held_out``: nats a word, for
        structural probes edges. ``effective`` ``clusters`` were scored. Over ``(probe, other)`` there are
        ``uas_difference`` and ``uuas_difference``, with ``_low``, ``_high`` and a two-sided ``_p``: of the same
        sentences, paired by cluster. Intervals and tests are NaN with too few effective clusters.
    """
    draw, edges = ByCluster(trees.lengths, trees.clusters), Edges.of(trees)
    shared = {
        "seed": seed,
        "n": int((~trees.punct).sum()),
        "edges": len(edges.sentences),
        "sentences": len(trees),
        "clusters": trees.kind,
    }
    figures: list[dict[str, Mean]] = []
    lines: list[AnyDict] = []
    for row in rows:
        scores = _of_heads if isinstance(row.scored, Heads) else _of_structure
        means = scores(row, trees, draw, edges)
        figures.append(means)
        line = {**shared, "vectors": row.vectors, "parameters": row.parameters, "epochs": 0, **row.training}
        line["layer"] = -1 if row.layer is None else row.layer
        line |= {name: mean.value for name, mean in means.items()}
        for name in {"uas", "uuas", "spearman", "selectivity"} & means.keys():
            line |= zip((f"{name}_low", f"{name}_high"), means[name].ends, strict=True)
        line["effective"] = means["uuas"].documents
        lines.append(line)
    variables: AnyDict = {
        name: (("probe",), np.array([line.get(name, np.nan) for line in lines])) for name in COLUMNS[1:]
    }
    for score in COMPARED:
        variables |= _differences(score, [means.get(score) for means in figures])
    count = len(trees) if trees.clusters is None else len(np.unique(trees.clusters))
    described = {**meta, "seed": seed, "clusters": trees.kind, "clusters_count": count}
    names = [row.name for row in rows]
    attrs = {"meta": json.dumps(described, ensure_ascii=False)}
    return xr.Dataset(variables, coords={"probe": names, "other": names}, attrs=attrs)


_ENDS = (*jackknife.ENDS, "_p")


def _differences(score: str, means: Sequence[Mean | None]) -> AnyDict:
    """What each probe has more than each other, over ``(probe, other)``."""
    figures = np.full((len(_ENDS), len(means), len(means)), np.nan)
    for one, first in enumerate(means):
        for two, second in enumerate(means):
            if one != two and first is not None and second is not None:
                more = first.minus(second)
                figures[:, one, two] = more.value, *more.ends, float(more.gain.differs())
    axes = ("probe", "other")
    return {f"{score}_difference{end}": (axes, values) for end, values in zip(_ENDS, figures, strict=True)}


def _of_heads(row: Row, trees: Trees, draw: ByCluster, edges: Edges) -> dict[str, Mean]:
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


def _of_structure(row: Row, _: Trees, draw: ByCluster, edges: Edges) -> dict[str, Mean]:
    assert isinstance(row.scored, Structure)
    return {
        "uuas": draw.share(row.scored.edges, edges.sentences),
        "spearman": draw.by_length(row.scored.spearman),
        "depth_spearman": draw.by_length(row.scored.depth_spearman),
        "root_accuracy": draw.share(row.scored.root, np.arange(len(row.scored.root))),
    }


def table(result: xr.Dataset) -> pd.DataFrame:
    """Give each probe a row, with `COLUMNS`."""
    rows: Any = pd.DataFrame({name: result[name].values for name in COLUMNS})
    rows["layer"] = rows["layer"].astype("Int64").where(rows["layer"] >= 0)
    return rows


def differences(result: xr.Dataset) -> pd.DataFrame:
    """A row a pair of probes and score: ``probe, other, score, difference, low, high, p``; `probe` is the later one."""
    later = np.tri(result.sizes["probe"], k=-1, dtype=np.bool_).ravel()
    columns = ["probe", "other", "score", "difference", "low", "high", "p"]
    frames: list[Any] = []
    for score in (name for name in COMPARED if f"{name}_difference" in result):
        names = {f"{score}_difference{end}": end.strip("_") or "difference" for end in _ENDS}
        figures: Any = result[[*names]].rename(names).to_dataframe(["probe", "other"]).reset_index()
        frames.append(figures[later].assign(score=score).dropna(subset="difference"))
    rows: Any = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)
    return rows[columns]
