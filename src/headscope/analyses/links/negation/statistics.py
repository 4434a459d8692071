"""Negation scope in single heads: do the words in the scope of a negation look at its cue?

Source: Zhao & Bethard 2020, "How does BERT's attention change when you fine-tune?", section 3. Each word but the cue is
predicted to be in the scope where the word that it looks at most is the cue; the annotated scope scores that. What the
paper left out is here: intervals and tests over documents (sentences where no documents are known), baselines that
know only where the cue is, and the F1 of heads that were chosen on others than they are scored on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.links.statistics import papers
from headscope.analyses.links.sums import LinkSums
from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.counts import layers_by_heads
from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.statistics import jackknife
from headscope.statistics.jackknife import share_interval
from headscope.statistics.resample import Gain, divisions
from headscope.statistics.significance import false_discovery

SCORES = ("precision", "recall", "f1")
NEAR = range(1, 6)
RULES = (*(f"next_{words}" for words in NEAR), "after", "before", "all")
"""What knows the cue alone: the next 1 to 5 words after a word of the cue are in the scope; all words after its first
word, all before its last, all words."""

BASELINES = ("chance", *RULES)
"""These, and before them what each word looks at by chance (counts are expected ones)."""

SCOPE, OUTSIDE = "scope", "outside"
"""Labels of words in the scope, and of those outside of scope and cue."""

COLUMNS = ("layer", "head", "paper", "score", "value", "ci_low", "ci_high", "n")
_GAIN = ("difference", "difference_low", "difference_high", "p")
MORE = ("system", *_GAIN, "q", "times", "choices", "effective", "clusters")
"""Columns of `table` beside `COLUMNS`."""

_BLOCKS = 2_000
_ROWS = 1 << 14
_COUNTS = ("right", "wrong", "missed")


def rules(cue: Bools) -> Bools:
    """Which words each of `RULES` puts into the scope, ``[rule word]``; those of the cue do not count."""
    words = np.arange(len(cue))
    places = np.flatnonzero(cue)
    beyond = words - places[:, None]  # [word of the cue, word]
    near = [((beyond > 0) & (beyond <= reach)).any(0) for reach in NEAR]
    return np.stack([*near, words > places[0], words < places[-1], np.ones_like(cue)])


def counts(sums: LinkSums) -> Floats:
    """Words rightly put into the scope, wrongly so, and missed, of each cluster, ``[cluster predictor 3]``.

    A head puts a word there whose choice is in the cue. Predictors are the heads of `sums`, its rules, and chance.
    """
    answers = sums.answers
    looked = np.zeros((2, sums.clusters.count, answers.width))
    words = np.zeros((2, sums.clusters.count))
    labels = np.array([label == SCOPE for label in answers.labels], np.int64)[answers.numbers()]
    clusters, bits, chances = answers.documents(), answers.bits(), answers.chances()
    for first in range(0, len(answers), _ROWS):
        part = slice(first, first + _ROWS)
        hard = np.unpackbits(bits[part], axis=1, count=answers.width - answers.shares)
        np.add.at(looked, (labels[part], clusters[part]), np.concatenate([hard, chances[part]], 1))
    np.add.at(words, (labels, clusters), 1)
    outside, inside = looked
    return np.stack([inside, outside, words[1][:, None] - inside], -1)


def scores(sums: Floats) -> Floats:
    """Precision, recall and F1 of counts, ``[... 3] -> [... 3]``; 0 where nothing is predicted to be in a scope."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num(np.stack([s / n for s, n in _ratios(sums)], -1))


def _ratios(sums: Floats) -> list[tuple[Floats, Floats]]:
    """Above and below the line of precision, recall and F1."""
    right, wrong, missed = np.moveaxis(sums, -1, 0)
    return [(right, right + wrong), (right, right + missed), (right, right + (wrong + missed) / 2)]


def of_sums(sums: LinkSums, *, seed: int = 0, meta: Mapping[str, Any] | None = None) -> xr.Dataset:
    """The `dataset` of what was chosen. Raises `InputError` when there is no sentence."""
    by_cluster = counts(sums)
    heads = math.prod(sums.shape)
    baselines = np.concatenate([by_cluster[:, -1:], by_cluster[:, heads:-1]], 1)
    return dataset(
        [one[:heads].reshape(*sums.shape[1:], 3) for one in by_cluster],
        sums.layers,
        [baselines[place] for place in range(len(baselines))],
        kind=sums.clusters.kind,
        seed=seed,
        meta={**(meta or {}), "sentences": sums.count},
    )


def dataset(
    sums: Sequence[Floats],
    layers: Sequence[int],
    baselines: Sequence[Floats] | None = None,
    *,
    clusters: Sequence[int] | None = None,
    kind: str = "sentences",
    seed: int = 0,
    meta: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """``precision``, ``recall`` and ``f1`` over ``(layer, head)``, each with ``_low`` and ``_high``, and of baselines.

    Intervals (95 %) are of the jackknife over clusters. Heads have the ``difference`` of their F1 to that of the
    baseline whose F1 is largest, with ``_low``, ``_high``, the ``p`` that there is no gain, and ``q`` over heads.
    Of the head whose F1 is largest (``best``, its index) there is what choosing gives, the choice included:
    ``split_f1`` of the head that is best on three quarters of the clusters, scored on the rest, as
    `headscope.statistics.resample` divides them, ``times`` that the best head was the choice, of ``choices``, and
    ``split_difference`` to the baseline whose F1 is largest, with ``split_p``. Each ``p`` is the largest of those
    beside each baseline. ``counts`` are those of each block of clusters (neighbours, at most 2,000), for `difference`.

    Args:
        sums: counts of each sentence or cluster, ``[layer head 3]``: words rightly put into the scope, wrongly so, and
            missed.
        layers: the model's index of each layer.
        baselines: the same of `BASELINES`, ``[baseline 3]``; None: there are none.
        clusters: of each sentence, in order; None: each is one.
        kind: what the clusters are (`headscope.statistics.resample.Clusters`).
        seed: of the divisions.
        meta: what made the figures.

    Raises `InputError` when there is no sentence.
    """
    if not sums:
        raise InputError("corpus: expected at least one sentence with a cue and a scope, found none")
    numbers = np.unique(clusters, return_inverse=True)[1] if clusters is not None else np.arange(len(sums))
    starts = np.unique(numbers, return_index=True)[1]
    by_cluster = np.add.reduceat(np.stack(sums), starts, axis=0)  # [cluster layer head 3]
    rules = np.zeros((len(sums), 0, 3)) if baselines is None else np.stack(baselines)
    rules = np.add.reduceat(rules, starts, axis=0)  # [cluster baseline 3]
    variables: dict[str, Any] = {}
    for axes, of, end in ((("layer", "head"), by_cluster, ""), (("rule",), rules, "_baseline")):
        for name, (value, low, high) in zip(SCORES, _scored(of), strict=True):
            variables |= {
                f"{name}{end}": (axes, value),
                f"{name}{end}_low": (axes, low),
                f"{name}{end}_high": (axes, high),
            }
    heads = by_cluster.reshape(len(by_cluster), -1, 3)
    variables |= {
        name: (("layer", "head"), v.reshape(by_cluster.shape[1:3]))
        for name, v in _over_baselines(heads, rules).items()
    }
    variables |= {name: ((), value) for name, value in _chosen(heads, rules, seed).items()}
    blocks = np.arange(0, len(by_cluster), -(-len(by_cluster) // _BLOCKS))
    variables["counts"] = (("block", "layer", "head", "count"), np.add.reduceat(by_cluster, blocks, axis=0))
    described = {"sentences": len(sums), **dict(meta or {}), "seed": seed}
    described |= {"clusters": kind, "clusters_count": len(by_cluster)}
    return xr.Dataset(
        variables,
        coords={
            "layer": list(layers),
            "head": np.arange(by_cluster.shape[2]),
            "rule": list(BASELINES if baselines is not None else ()),
            "count": list(_COUNTS),
        },
        attrs={"meta": json.dumps(described, ensure_ascii=False)},
    )


def _scored(by_cluster: Floats) -> list[tuple[Floats, Floats, Floats]]:
    """Precision, recall and F1 with the ends of their intervals, ``[cluster ... 3]``."""
    values = np.moveaxis(scores(by_cluster.sum(0)), -1, 0)
    ends = [
        share_interval(value, jackknife.error(s, n), jackknife.effective(n), n.sum(0))
        for value, (s, n) in zip(values, _ratios(by_cluster), strict=True)
    ]
    return [(value, low, high) for value, (low, high) in zip(values, ends, strict=True)]


def _paired(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Gain:
    """How much larger one ratio of sums over clusters is than another, of pairs of clusters; 0 / 0 is 0."""
    (s, n), (t, m) = first, second
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.nan_to_num(s.sum(0) / n.sum(0)) - np.nan_to_num(t.sum(0) / m.sum(0))
        without = np.nan_to_num((s.sum(0) - s) / (n.sum(0) - n)) - np.nan_to_num(
            (t.sum(0) - t) / (m.sum(0) - m)
        )
    both = n + m
    return Gain(value, jackknife.spread(without, both > 0), jackknife.effective(both))


def _gain(first: Floats, second: Floats) -> Gain:
    """How much larger the F1 of some is than that of others, ``[cluster ... 3]`` each, pairs of the same clusters."""
    s, n, t, m = np.broadcast_arrays(*_ratios(first)[2], *_ratios(second)[2])
    return _paired((s, n), (t, m))


def _over_baselines(heads: Floats, rules: Floats) -> dict[str, Floats]:
    """Each head's F1 beside that of the best baseline; p is beside each baseline the largest. NaN without baselines."""
    if not rules.shape[1]:
        return {name: np.full(int(heads.shape[1]), np.nan) for name in (*_GAIN, "q")}
    best = int(scores(rules.sum(0))[:, 2].argmax())
    gains = [_gain(heads, rules[:, [rule]]) for rule in range(rules.shape[1])]
    p = np.max([gain.above() for gain in gains], axis=0)
    figures = np.asarray(gains[best].value), *gains[best].interval(), p, false_discovery(p)
    return dict(zip((*_GAIN, "q"), figures, strict=True))


def _chosen(heads: Floats, rules: Floats, seed: int) -> dict[str, float]:
    """The best head, and the F1 of heads that are chosen on some clusters and scored on others, beside baselines."""
    best = int(scores(heads.sum(0))[:, 2].argmax())
    names = ("split_f1", "split_f1_low", "split_f1_high", *(f"split_{name}" for name in _GAIN))
    figures = {"best": best, "times": 0, "choices": 0, **dict.fromkeys(names, np.nan)}
    if len(heads) < 2:
        return figures
    parts = divisions(len(heads), seed)
    picked, choices = _held_out(heads, parts)
    s, n = _ratios(picked)[2]  # [cluster division]
    documents = float(jackknife.effective(n.mean(1)))
    f1 = scores(picked.sum(0))[:, 2]
    value = float(f1.mean())
    low, high = share_interval(value, _error(jackknife.error(s, n), f1), documents, n.sum(0).mean())
    figures |= {"times": int((choices == best).sum()), "choices": choices.size}
    figures |= zip(names[:3], (value, float(low), float(high)), strict=True)
    if rules.shape[1]:
        means: list[Gain] = []
        for rule in range(rules.shape[1]):
            gain = _gain(picked, rules[:, [rule]])
            more = np.asarray(gain.value)
            error = _error(np.asarray(gain.se), more)
            means.append(Gain(float(more.mean()), error, documents))
        mean = means[int(scores(rules.sum(0))[:, 2].argmax())]
        p = max(float(gain.above()) for gain in means)
        figures |= zip(names[3:], map(float, (mean.value, *mean.interval(), p)), strict=True)
    return figures


def _held_out(by_cluster: Floats, parts: Ints) -> tuple[Floats, Ints]:
    """Counts of each cluster by what has the largest F1 outside of its part, ``[cluster division 3]``; the choices."""
    places: Ints = np.arange(int(parts.max()) + 1)
    outside: Floats = (parts[:, None] != places[:, None]).astype(np.float64)  # [division part cluster]
    sums: Floats = np.einsum(
        "dpc,chk->dphk", outside, by_cluster, optimize=True
    )  # [division part predictor 3]
    choices = scores(sums)[..., 2].argmax(-1)
    picked = np.take_along_axis(choices, parts, 1)  # [division cluster]
    return by_cluster[np.arange(len(by_cluster))[:, None], picked.T], choices


def _error(errors: Floats, values: Floats) -> float:
    """The error of a mean over divisions: that of one of them, with what they differ by, as in
    `headscope.statistics.resample.Chosen`."""
    return float(np.sqrt((errors**2).mean() + values.var()))


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head and score, then one a baseline and score, with `COLUMNS` and `MORE`; n is the number of sentences.

    The last row is the F1 of heads that were chosen on some clusters and scored on others: its interval includes the
    choice, those of heads do not.
    """
    about = description(result)
    n = about["sentences"]
    ends = {"value": "", "ci_low": "_low", "ci_high": "_high"}
    heads: Any = _rows(
        result, lambda score: {column: result[score + end].values for column, end in ends.items()}, n
    )
    heads["system"] = "head"
    f1 = heads["score"] == "f1"
    for name in (*_GAIN, "q"):
        heads.loc[f1, name] = result[name].values.ravel()
    rules: list[dict[str, Any]] = []
    for score in SCORES:
        values = {column: result[f"{score}_baseline{end}"].values for column, end in ends.items()}
        for place, rule in enumerate(result["rule"].values):
            figures = {column: float(array[place]) for column, array in values.items()}
            rules.append({"system": str(rule), "score": score, "n": n, **figures})
    chosen: dict[str, Any] = {
        "system": "best head, chosen on others",
        "score": "f1",
        "n": n,
        **{column: float(result[f"split_f1{end}"]) for column, end in ends.items()},
        **{name: float(result[f"split_{name}"]) for name in _GAIN},
        "times": int(result["times"]),
        "choices": int(result["choices"]),
    }
    rows: Any = pd.concat([heads, pd.DataFrame([*rules, chosen])], ignore_index=True)
    rows = rows.reindex(columns=[*COLUMNS, *MORE]).assign(
        effective=_effective(result), clusters=about["clusters"]
    )
    return rows.astype(dict.fromkeys(("layer", "head", "times", "choices"), "Int64"))


def _effective(result: xr.Dataset) -> float:
    """Effective clusters (blocks of them, where there are many) by the words that are in a scope."""
    first = result["counts"].values[:, 0, 0]
    return float(jackknife.effective(_ratios(first)[1][1]))


def difference(before: xr.Dataset, after: xr.Dataset) -> pd.DataFrame:
    """What fine-tuning changed: ``layer, head, paper, score, before, after, difference, ci_low, ci_high, n``.

    The intervals are of the difference, paired by cluster. Raises `InputError` for datasets of other sentences,
    clusters or shapes.
    """
    first, second = (description(result) for result in (before, after))
    for name in ("sentences", "clusters", "clusters_count"):
        if first[name] != second[name]:
            raise InputError(
                f"negation: expected the same {name} in both, found {first[name]} and {second[name]}"
            )
    if before["f1"].shape != after["f1"].shape:
        shapes = [
            layers_by_heads([result.sizes["head"]] * result.sizes["layer"]) for result in (before, after)
        ]
        raise InputError(f"negation: expected models of the same shape, found {' and '.join(shapes)}")
    sums = [result["counts"].values for result in (before, after)]

    def changed(score: str) -> dict[str, npt.NDArray[Any]]:
        first, second = (_ratios(blocks)[SCORES.index(score)] for blocks in sums)
        low, high = _paired(second, first).interval()
        was, is_now = before[score].values, after[score].values
        return {"before": was, "after": is_now, "difference": is_now - was, "ci_low": low, "ci_high": high}

    return _rows(before, changed, first["sentences"])


def _rows(result: xr.Dataset, columns: Callable[[str], dict[str, npt.NDArray[Any]]], n: int) -> pd.DataFrame:
    """A row a score and head. `columns` gives those of a score, ``[layer head]``."""
    grid = np.meshgrid(result["layer"].values, result["head"].values, indexing="ij")
    layers, heads = (axis.ravel() for axis in grid)
    of_head = {"layer": layers, "head": heads, "paper": papers(layers, heads)}
    frames = [
        pd.DataFrame(
            {
                **of_head,
                "score": score,
                **{name: values.ravel() for name, values in columns(score).items()},
                "n": n,
            }
        )
        for score in SCORES
    ]
    return pd.concat(frames, ignore_index=True)
