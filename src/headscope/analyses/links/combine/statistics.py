"""Heads together: what they say of links as a weighted sum, beside the best head and the mean of the best few.

A logistic regression with an L1 penalty tells from the weights that all heads give a pair whether it is a link (Rao et
al. 2021, "Transformer protein language models are unsupervised structure learners", section 3.2, for contacts of
proteins). It is fitted on one half of the documents and scored on the other, and the other way round; the heads that
stand beside it are chosen on the same halves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.links.questions import ALL
from headscope.core.arrays import Arrays, Bools, Floats, Ints
from headscope.core.heads import Head
from headscope.core.lazy import module
from headscope.core.types import AnyDict, AnyMapping
from headscope.measures.dataset import describe
from headscope.statistics import jackknife
from headscope.statistics.jackknife import ENDS, share_interval
from headscope.views.digits import signed

MEANS = (2, 3, 5, 10)
"""How many of the best heads the mean is taken of."""

BEST, REGRESSION, CHANCE = "best head", "regression", "chance"

SYSTEMS = (BEST, *(f"mean of {count}" for count in MEANS), REGRESSION)
"""What is scored: each is a weighted sum of heads. `CHANCE` stands beside them."""

SOURCES = ("accuracy", "average_precision")
"""Scores of a source: whether its likeliest candidate is a target, and the average precision of their ranking."""

CONTACTS = ("precision_at_l", "precision_at_l5")
"""Scores of an input of L units: which share of its L (and L / 5) likeliest pairs are links."""

AER = "aer"
"""The alignment error rate (Och & Ney 2003), of links between two texts: each word of one chooses its likeliest of the
candidates."""

NEGATIVES = 10
"""Candidates of a source that are no targets and that the regression is fitted on, at most."""

FOLDS, STRENGTHS = 3, tuple(10.0 ** -(step / 2) for step in range(7))
"""The strength of the penalty is chosen among these, as a share of the one that leaves no head, by cross-validation in
so many folds of the documents."""

FIGURES = ("value", "ci_low", "ci_high")

_LISTED = 5


class CandidatePairs(NamedTuple):
    """Sources of an input with their candidates.

    Attributes:
        labels: of each source.
        row: where its candidates' features are.
        allowed, target: whether a unit is a candidate, and right, ``[source unit]``.
        counts: whether it is scored as a source.
        features: what each head gives to each pair, ``[feature row unit]``.
        far: which pairs of units count, the first before the second; None where pairs are not symmetric.
        bare: sources that no link names, which are asked for `AER` alone.
        sure: of aligned texts which targets must be found, ``[source unit]``; else None.
    """

    labels: Sequence[str]
    row: Ints
    allowed: Bools
    target: Bools
    counts: Bools
    features: np.ndarray
    far: Bools | None = None
    bare: Bools | None = None
    sure: Bools | None = None

    def labelled(self) -> Iterator[tuple[Sequence[str], Ints]]:
        """The sources of each label, and of all; once, under both names, where there is one label."""
        labels = list(dict.fromkeys(self.labels))
        for label in labels if len(labels) > 1 else ():
            yield [label], np.array([place for place, name in enumerate(self.labels) if name == label])
        yield [ALL] if len(labels) > 1 else [*labels, ALL], np.arange(len(self.labels))

    def scores(self, weights: Floats, sources: Ints) -> tuple[Floats, Floats]:
        """Sums of the scores of some sources, ``[system score]``, and what they are over.

        `weights` are those of each system, ``[system feature]``.
        """
        flat = self.features.reshape(len(self.features), -1)
        sums = (weights.astype(flat.dtype) @ flat).reshape(len(weights), *self.features.shape[1:])
        valid = sources[self.counts[sources]]
        values = sums[:, self.row[valid]]
        allowed, target = self.allowed[valid], self.target[valid]
        scores = [likeliest(values, allowed, target).sum(-1), precision(values, allowed, target).sum(-1)]
        counts = [len(valid), len(valid)]
        if self.far is not None:
            contacts = self.contacts(sources)
            scores += list(top_pairs(sums, contacts, self.far).T)
            counts += [int(contacts.any())] * len(CONTACTS)
        else:
            scores.append(
                self._aligned(lambda right: likeliest(sums[:, self.row], self.allowed, right), sources)
            )
            counts.append(0 if self.sure is None else len(sources) + int(self.sure[sources].sum()))
        return np.stack(scores, -1), np.array(counts, np.float64)

    def _aligned(self, counts: Callable[[Bools], Floats], sources: Ints) -> Any:
        """|A ∩ P| + |A ∩ S| of the sources, by what is found of some targets, ``[... source]``; 0 of other links."""
        if self.sure is None:
            return 0 * counts(self.target)[..., sources].sum(-1)
        return sum(counts(right)[..., sources].sum(-1) for right in (self.target, self.sure))

    def chance(self, sources: Ints) -> Floats:
        """The same sums of a ranking by chance, ``[score]``."""
        valid = sources[self.counts[sources]]
        allowed, target = self.allowed[valid], self.target[valid]
        candidates, hits = allowed.sum(-1), (allowed & target).sum(-1)
        scores = [(hits / candidates.clip(1)).sum(), by_chance(candidates, hits, target.sum(-1)).sum()]
        if self.far is not None:
            scores += [self.contacts(sources)[self.far].mean()] * len(CONTACTS)
        else:
            every = self.allowed.sum(-1).clip(1)
            scores.append(self._aligned(lambda right: (self.allowed & right).sum(-1) / every, sources))
        return np.array(scores)

    def contacts(self, sources: Ints) -> Bools:
        """Which pairs of units are links, ``[unit unit]``."""
        links = np.zeros(self.features.shape[1:], np.bool_)
        np.logical_or.at(links, self.row[sources], self.target[sources])
        return links


def symmetrised(maps: Floats) -> Floats:
    """Maps and their transposes with average-product correction, ``[... unit unit]``.

    F is the sum of a map and its transpose; F_ij becomes F_ij − F_i F_j / F, with its sums over rows and over all
    (Dunn et al. 2008; Rao et al. 2021, section 3.2).

    >>> symmetrised(np.array([[0.0, 1.0], [1.0, 2.0]]))  # F = [[0, 2], [2, 4]], with sums 2, 6 and 8
    array([[-0.5,  0.5],
           [ 0.5, -0.5]])
    """
    both = maps + np.swapaxes(maps, -1, -2)
    rows = both.sum(-1, keepdims=True)
    total = rows.sum(-2, keepdims=True)
    return both - rows * np.swapaxes(rows, -1, -2) / np.where(total == 0, 1.0, total)


def likeliest(values: Floats, allowed: Bools, target: Bools) -> Floats:
    """Whether the candidate with the highest value is a target, ``[... source unit] -> [... source]``.

    Of equals each is taken to be chosen as often.
    """
    masked = np.where(allowed, values, -np.inf)
    highest = (masked == masked.max(-1, keepdims=True)) & allowed
    return (highest & target).sum(-1) / highest.sum(-1).clip(1)


def precision(values: Floats, allowed: Bools, target: Bools) -> Floats:
    """The average precision of each source's ranking, ``[system source unit] -> [system source]``.

    Of equals each has the mean of their ranks. A target that is no candidate is never found.
    """
    precisions = np.zeros(values.shape[:-1])
    for source in range(values.shape[1]):
        among = values[:, source, allowed[source]]
        hits = values[:, source, allowed[source] & target[source]]
        if hits.size:
            precisions[:, source] = (_ranks(hits, hits) / _ranks(among, hits)).sum(-1) / target[source].sum()
    return precisions


def _ranks(values: Floats, hits: Floats) -> Floats:
    """The rank of each of a system's hits among its values, from 1."""
    more, equal = (compare(values[:, None], hits[..., None]).sum(-1) for compare in (np.greater, np.equal))
    return 0.5 + more + equal / 2


def by_chance(candidates: Ints, hits: Ints, targets: Ints) -> Floats:
    """The average precision that a ranking by chance is expected to have.

    A hit is at rank k as often as at any other, and before it are (k − 1) (T − 1) / (C − 1) others of the T hits among
    C candidates.

    >>> round(float(by_chance(np.array([2]), np.array([1]), np.array([1]))[0]), 3)  # rank 1 or 2: (1 + 1/2) / 2
    0.75
    """
    harmonic = np.cumsum(1 / np.arange(1, int(candidates.max(initial=0)) + 2))
    series = harmonic[(candidates - 1).clip(0)]
    others = (hits - 1).clip(0) / (candidates - 1).clip(1)
    expected = (series + others * (candidates - series)) / candidates.clip(1)
    return np.where(hits > 0, hits / targets.clip(1) * expected, 0.0)


def top_pairs(values: Floats, contacts: Bools, far: Bools) -> Floats:
    """`CONTACTS` of an input among the pairs that are `far`, ``[system unit unit] -> [system score]``; 0 without
    contacts. Equals: see `likeliest`.
    """
    units = len(contacts)
    which, scores = contacts[far], values[..., far]
    precisions = np.zeros((len(values), len(CONTACTS)))
    if not which.any():
        return precisions
    for place, top in enumerate((units, units // 5)):
        count = min(max(1, top), len(which))
        least = np.partition(scores, -count, axis=-1)[:, -count, None]
        above, equal = scores > least, scores == least
        rest = (count - above.sum(-1)) * (equal & which).sum(-1) / equal.sum(-1)
        precisions[:, place] = ((above & which).sum(-1) + rest) / count
    return precisions


@dataclass
class PairSample:
    """Pairs that a regression is fitted on: those of at most so many sources, drawn uniformly.

    Attributes:
        most: sources kept, at most.
    """

    most: int
    _kept: list[tuple[float, int, str, Floats, Bools]] = field(default_factory=list[Any])
    _highest: float = math.inf

    def add(self, pairs: CandidatePairs, cluster: int, generator: np.random.Generator) -> None:
        """The sources of an input that the draw takes, with their targets and `NEGATIVES` other candidates."""
        sources = np.arange(len(pairs.labels)) if pairs.bare is None else np.flatnonzero(~pairs.bare)
        draws, order = (
            generator.random(len(sources)),
            generator.random((len(sources), pairs.allowed.shape[1])),
        )
        for place in np.flatnonzero(draws < self._highest).tolist():
            source = int(sources[place])
            allowed, target = pairs.allowed[source], pairs.target[source]
            hits, others = np.flatnonzero(allowed & target), np.flatnonzero(allowed & ~target)
            drawn = others[order[place, others].argsort()[:NEGATIVES]]
            units = np.concatenate([hits, drawn])
            features = pairs.features[:, pairs.row[source], units].T
            kept = (float(draws[place]), cluster, pairs.labels[source], features.copy(), target[units])
            self._kept.append(kept)
        if len(self._kept) > 2 * self.most:
            self._prune()

    def _prune(self) -> None:
        self._kept.sort(key=lambda pair: pair[0])
        if len(self._kept) > self.most:
            del self._kept[self.most :]
            self._highest = self._kept[-1][0]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays."""
        draws, clusters, labels, features, targets = zip(*self._kept, strict=True) if self._kept else [()] * 5
        return {
            "highest": np.array(self._highest),
            "draws": np.array(draws, np.float64),
            "clusters": np.array(clusters, np.int64),
            "labels": np.array(labels, np.str_),
            "sizes": np.array([len(target) for target in targets], np.int64),
            "features": np.concatenate(features) if features else np.zeros((0, 0)),
            "targets": np.concatenate(targets) if targets else np.zeros(0, bool),
        }

    def take(self, arrays: Arrays) -> None:
        """Go on from what `to_arrays` gave."""
        cuts = np.cumsum(arrays["sizes"])[:-1]
        columns = (arrays[name].tolist() for name in ("draws", "clusters", "labels"))
        parts = (np.split(arrays[name], cuts) for name in ("features", "targets"))
        self._kept = list(zip(*columns, *parts, strict=True)) if len(arrays["sizes"]) else []
        self._highest = float(arrays["highest"])

    def of(self, label: str) -> tuple[Floats, Bools, Ints]:
        """Features ``[pair feature]``, targets and clusters of the pairs of a label, or of all."""
        self._prune()
        pairs = [pair for pair in self._kept if label in (ALL, pair[2])]
        clusters = np.repeat([pair[1] for pair in pairs], [len(pair[4]) for pair in pairs])
        return (
            np.concatenate([pair[3] for pair in pairs]),
            np.concatenate([pair[4] for pair in pairs]),
            clusters,
        )


def fit(features: Floats, right: Bools, clusters: Ints, seed: int = 0) -> tuple[Floats, Floats]:
    """A logistic regression with an L1 penalty, of a strength chosen by cross-validation over clusters.

    Args:
        features: ``[pair feature]``; they are divided by their standard deviations, so that heads are alike.
        right: of each pair.
        clusters: of each pair; folds do not divide them.
        seed: of the folds.

    Returns:
        The coefficient of each feature for one standard deviation of it, and what multiplies the feature itself. All
        are 0 where no strength tells more of held-out pairs than how many are right.
    """
    sizes = features.std(0, dtype=np.float64)
    scale = np.where(sizes > 0, 1 / np.where(sizes > 0, sizes, 1.0), 0.0)
    scaled = (features - features.mean(0, dtype=np.float64)) * scale
    if right.all() or not right.any():
        return np.zeros(len(scale)), np.zeros(len(scale))
    highest = float(np.abs(scaled.T @ (right - right.mean())).max()) / len(right)
    strengths = [highest * share for share in STRENGTHS]
    names, numbers = np.unique(clusters, return_inverse=True)
    folds = np.random.default_rng(seed).permutation(np.arange(len(names)) % min(FOLDS, len(names)))[numbers]
    losses = np.zeros(len(strengths))
    for fold in range(int(folds.max()) + 1):
        inside = folds != fold
        if not right[inside].any() or right[inside].all():
            continue
        for place, weights in enumerate(lasso(scaled[inside], right[inside], strengths)):
            losses[place] += _loss(scaled[~inside], right[~inside], weights)[0] * (~inside).sum()
    best = int(losses.argmin())
    *_, weights = lasso(scaled, right, strengths[: best + 1])
    return weights[:-1], weights[:-1] * scale


def lasso(features: Floats, right: Bools, strengths: Sequence[float]) -> Iterator[Floats]:
    """Coefficients with the least mean log loss + strength × Σ|coefficient|, and the intercept after them.

    Strengths fall; each search begins where the one before ended. Coefficients are the differences of two numbers that
    are bounded by 0, so that they can be exactly 0.
    """
    count = features.shape[1]
    minimize = module("scipy.optimize").minimize
    share = np.clip(right.mean(), 1e-6, 1 - 1e-6)
    start = np.append(np.zeros(2 * count), np.log(share / (1 - share)))
    bounds = [(0, None)] * (2 * count) + [(None, None)]
    for strength in strengths:

        def cost(both: Floats, strength: float = strength) -> tuple[float, Floats]:
            parts = both[:-1].reshape(2, count)
            loss, slope = _loss(features, right, np.append(parts[0] - parts[1], both[-1]))
            inner = slope[:-1]
            return loss + strength * parts.sum(), np.concatenate(
                [inner + strength, strength - inner, slope[-1:]]
            )

        options = {"maxiter": 1_000, "ftol": 1e-10, "gtol": 1e-6}
        start = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        yield np.append(start[:count] - start[count:-1], start[-1])


def _loss(features: Floats, right: Bools, weights: Floats) -> tuple[float, Floats]:
    """The mean log loss, and its slopes."""
    odds = features @ weights[:-1] + weights[-1]
    error = (1 / (1 + np.exp(-odds.clip(-700, 700))) - right) / len(right)
    return float((np.logaddexp(0, odds) - right * odds).mean()), np.append(features.T @ error, error.sum())


def systems(scores: Floats) -> Floats:
    """The best head and the means of the best, by the score of each, ``[system feature]``."""
    order = np.argsort(-scores, kind="stable")
    weights = np.zeros((1 + len(MEANS), len(scores)))
    for place, count in enumerate((1, *MEANS)):
        weights[place, order[:count]] = 1 / min(count, len(scores))
    return weights


@dataclass
class LabelScores:
    """Scores of a label: sums by input.

    Attributes:
        clusters: of each input.
        sums: ``[system score]`` of each, `CHANCE` last.
        counts: what they are over, ``[score]`` of each.
    """

    clusters: list[int] = field(default_factory=list[int])
    sums: list[Floats] = field(default_factory=list[Floats])
    counts: list[Floats] = field(default_factory=list[Floats])

    def figures(self, *, rate: bool = False) -> dict[str, Floats]:
        """Means with their intervals over clusters, ``[system score]``, and what they are over, ``[score]``.

        Intervals are given what was chosen and fitted. `rate`: the last score is `AER`, 1 less what is found.
        """
        names, numbers = np.unique(self.clusters, return_inverse=True)
        sums = np.zeros((len(names), *self.sums[0].shape))
        counts = np.zeros((len(names), len(self.counts[0])))
        np.add.at(sums, numbers, np.stack(self.sums))
        np.add.at(counts, numbers, np.stack(self.counts))
        n = counts.sum(0)
        value = sums.sum(0) / np.where(n, n, np.nan)
        error = jackknife.error(sums, counts[:, None])
        low, high = share_interval(value, error, jackknife.effective(counts), n)
        low[-1] = high[-1] = np.nan  # chance is known
        if rate:
            value[:, -1] = 1 - value[:, -1]
            low[:, -1], high[:, -1] = 1 - high[:, -1], 1 - low[:, -1]
        return {"value": value, "ci_low": low, "ci_high": high, "n": n}


def dataset(
    rows: Mapping[str, tuple[Mapping[str, Floats], Floats]],
    directions: Sequence[str],
    layers: Sequence[int],
    heads: int,
    meta: AnyMapping,
) -> xr.Dataset:
    """The figures of all labels.

    Args:
        rows: of each label those of `Scored.figures`, and of both halves how much each head counts in each system,
            ``[half system feature]``; NaN where there are too few sources to fit anything.
        directions, layers, heads: what features are, in this order.
        meta: what made the figures.

    Returns:
        ``value``, ``ci_low`` and ``ci_high`` over ``(label, system, score)``, ``n`` over ``(label, score)``; ``weight``
        over ``(label, weighted, half, direction, layer, head)``: 1 of a best head, 1 / k in a mean of k, and the
        regression's coefficient for one standard deviation of what the head gives.
    """
    shape = (2, len(SYSTEMS), len(directions), len(layers), heads)
    scores = [*SOURCES, *(CONTACTS if meta["options"]["symmetrise"] else (AER,))]
    figures = [row for row, _ in rows.values()]
    if AER in scores and all(
        np.isnan(row["value"][:, -1]).all() for row in figures
    ):  # no links between two texts
        scores.pop()
        figures = [{name: values[..., :-1] for name, values in row.items()} for row in figures]
    weights = [weight.reshape(shape) for _, weight in rows.values()]
    axes = ("label", "system", "score")
    return xr.Dataset(
        {
            **{name: (axes, np.stack([row[name] for row in figures])) for name in FIGURES},
            "n": (("label", "score"), np.stack([row["n"] for row in figures]).astype(np.int64)),
            "weight": (
                ("label", "weighted", "half", "direction", "layer", "head"),
                np.stack(weights).swapaxes(1, 2),
            ),
        },
        coords={
            "label": list(rows),
            "system": [*SYSTEMS, CHANCE],
            "score": scores,
            "weighted": list(SYSTEMS),
            "half": [0, 1],
            "direction": list(directions),
            "layer": list(layers),
            "head": np.arange(heads),
        },
        attrs=describe(meta),
    )


def table(result: xr.Dataset) -> pd.DataFrame:
    """A row for each label and system: its scores with 95 % intervals, and the heads that count most in it.

    ``n`` are the sources that ``accuracy`` and ``average_precision`` are over, ``inputs`` those of the precision at L
    and L / 5. The `heads` of a regression have its coefficients, the mean of both halves'.
    """
    columns: AnyDict = {"n": result["n"][:, 0]}
    for name in map(str, result["score"].values):
        of = result.sel(score=name)
        columns |= {"inputs": of["n"]} if name == CONTACTS[0] else {}
        columns |= zip((name + end for end in ENDS), (of[key] for key in FIGURES), strict=True)
    figures = xr.Dataset({name: array.drop_vars("score") for name, array in columns.items()})
    rows: Any = figures.to_dataframe(["label", "system"]).reset_index()
    weight: Any = result["weight"]
    heads = [
        "" if system == CHANCE else counted(weight.sel(label=label, weighted=system))
        for label, system in zip(rows["label"], rows["system"], strict=True)
    ]
    return rows.assign(heads=heads)


def counted(weight: Any) -> str:
    """The heads that count most in a system of a label, such as ``L7H9 row +1.31, L3H2 column −0.20 and 4 more``."""
    means: Any = weight.mean("half").to_series()
    means = means[means.abs() > 0]
    means = means.iloc[np.argsort(-means.abs().to_numpy(), kind="stable")]
    listed: list[str] = []
    for (way, layer, head), mean in means.head(_LISTED).items():
        value = f" {signed(float(mean), 2)}" if weight["weighted"].item() == REGRESSION else ""
        listed.append(str(Head(layer, head)) + (f" {way}" if way != "both" else "") + value)
    more = len(means) - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more else "")
