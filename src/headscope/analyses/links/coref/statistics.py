"""Coreference in single heads: does a mention's head word look at the head word of an antecedent?

Source: Clark et al. 2019, section 4.3 and table 2; their code for it was never released. A mention is evaluated where
its window has an earlier mention of its cluster. Among the candidates, the one whose head word gets most attention
from the mention's is the prediction; it is right where it is the head word of an earlier mention of the cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.links.coref.headword import mention_head
from headscope.analyses.links.statistics import masks, stacked
from headscope.analyses.links.sums import LinkSums
from headscope.core.heads import Head
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora import Example
from headscope.corpora.conll2012 import pronoun
from headscope.errors import InputError
from headscope.measures.dataset import describe, description
from headscope.measures.tidy import papers
from headscope.statistics.jackknife import ENDS, ends
from headscope.statistics.resample import HitRatios, Resampling

Candidates = Literal["preceding_mentions", "other_mentions", "any_word"]
"""Among what a head chooses: mentions before this one, all other mentions of the window, or all other words."""

CANDIDATES: tuple[Candidates, ...] = get_args(Candidates)
RULES = ("nearest", "head_match", "head_match_else_nearest", "sieve")
"""Baselines: the preceding mention whose head word is closest; the closest with the same head word (none: wrong); that,
else the closest; and four sieves: same full string, same head word, agreement in number, gender and person, any."""

TYPES = ("all", "pronoun", "proper", "nominal", "other")
COLUMNS = ("system", "candidates", "layer", "head", "paper", "type", "accuracy", "ci_low", "ci_high", "n")
_SPLIT = ("split", "split_low", "split_high", "difference", "difference_low", "difference_high", "p")
_CHOSEN = (*_SPLIT, "times", "choices", "rule")
CHOSEN = (*_CHOSEN, "effective", "clusters")
"""Columns of `table` beside `COLUMNS`: what choosing gives (of best heads over all mentions); the last two of all."""

_TYPE = {"PRON": "pronoun", "PROPN": "proper", "NOUN": "nominal"}


@dataclass(frozen=True)
class Mentioned:
    """A mention in a window of text.

    Attributes:
        head: place of its head word among the window's words.
        text: its words, in lower case.
        word: its head word, in lower case.
        cluster: what it refers to.
        type: by the head word's part of speech: pronoun, proper, nominal or other.
        features: of its head word: Number, Gender, Person.
    """

    head: int
    text: str
    word: str
    cluster: str
    type: str
    features: Mapping[str, str]


@dataclass(frozen=True)
class Item:
    """A mention that is evaluated.

    Attributes:
        mention: the mention.
        right: places of the head words of the earlier mentions of its cluster.
        before: the preceding mentions with other head words, in the order of their head words.
    """

    mention: Mentioned
    right: frozenset[int]
    before: tuple[Mentioned, ...]


def annotated(example: Example) -> tuple[list[Mentioned], list[Item]]:
    """The mentions of a window, and those that are evaluated. Nouns are third person."""
    words, tags = example.words or (), example.tags
    mentions: list[Mentioned] = []
    for start, end, cluster in example.mentions or ():
        head = mention_head(start, end, words, example.heads, tags)
        features = (example.features or {head: {}})[head] if tags is not None else pronoun(words[head]) or {}
        tag = tags[head] if tags is not None else "PRON" if features else "X"
        person = {"Person": "3"} if tag in ("NOUN", "PROPN") else {}
        text = " ".join(words[start:end]).lower()
        kind = _TYPE.get(tag, "other")
        mentions.append(Mentioned(head, text, words[head].lower(), cluster, kind, {**features, **person}))
    return mentions, items(mentions)


def items(mentions: Sequence[Mentioned]) -> list[Item]:
    """The mentions of a window that have an earlier mention of their cluster."""
    evaluated: list[Item] = []
    for mention in mentions:
        before = [other for other in mentions if other.head < mention.head]
        right = frozenset(other.head for other in before if other.cluster == mention.cluster)
        if right:
            evaluated.append(Item(mention, right, tuple(sorted(before, key=lambda other: other.head))))
    return evaluated


def by_rules(item: Item) -> dict[str, int | None]:
    """The head word that each of `RULES` predicts; None for no prediction."""
    mention, nearest = item.mention, item.before[-1].head
    match = _last(item, lambda other: other.word == mention.word)
    string = _last(item, lambda other: other.text == mention.text)
    agrees = _last(item, lambda other: _agree(mention.features, other.features))
    sieves = (string, match, agrees, nearest)
    return {
        "nearest": nearest,
        "head_match": match,
        "head_match_else_nearest": nearest if match is None else match,
        "sieve": next(place for place in sieves if place is not None),
    }


def _last(item: Item, holds: Callable[[Mentioned], bool]) -> int | None:
    return next((other.head for other in reversed(item.before) if holds(other)), None)


def _agree(first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    """Whether number, gender and person agree; what is not given agrees with all."""
    return all(
        name not in first or name not in second or first[name] == second[name]
        for name in ("Number", "Gender", "Person")
    )


def nothing(windows: int) -> InputError:
    """The error of so many windows in which no mention has an antecedent."""
    return InputError(
        f"corpus: expected a mention with an antecedent in its window, found none in {windows} windows"
    )


def dataset(mentions: LinkSums, *, seed: int = 0, meta: AnyMapping | None = None) -> xr.Dataset:
    """Accuracies over ``(candidates, type, layer, head)`` and of rules over ``(rule, type)``.

    Each has ``_low`` and ``_high``: 95 % intervals over documents, of that head or rule (given the choice where it is
    the best). ``n`` and ``effective`` documents are over ``type``. Over ``candidates`` there is the ``best`` head (its
    index among layer × head, chosen on all mentions), and what choosing and scoring on different documents gives, the
    choice included: ``split``, ``split_low``, ``split_high`` (`headscope.statistics.resample.HeldOut`), ``times`` that
    the best head was the choice, of ``choices``; ``difference`` of ``split`` to the best rule on the same mentions,
    with ``difference_low``, ``difference_high``, and the two-sided ``p`` that neither finds more: the choice of heads
    is held against every rule, and that of rules, made alike, against every head.
    ``best_rule`` (its index) is the one that is best on all mentions. Intervals and tests are NaN with too few
    effective documents.

    Raises `InputError` when no mention has an antecedent in its window.
    """
    if not len(mentions.answers):
        raise nothing(mentions.count)
    resampling = Resampling(mentions.answers, seed=seed)
    count = math.prod(mentions.shape)
    rows: list[AnyDict] = []
    for mask in masks(mentions.answers, TYPES).values():
        scores = resampling.of(mask)
        both = ends("accuracy", scores.value, scores.interval())
        row = {name: values[:count].reshape(mentions.shape) for name, values in both.items()}
        row |= {name.replace("accuracy", "rules"): values[count:] for name, values in both.items()}
        rows.append(row | {"n": int(scores.n[0]), "effective": scores.documents[0]})
    axes = {"accuracy": ("candidates", "layer", "head"), "rules": ("rule",), "n": (), "effective": ()}
    variables: AnyDict = {
        name: (("type", *axes[name.split("_")[0]]), values) for name, values in stacked(rows).items()
    }
    best = _best(resampling.of(np.ones(len(mentions.answers), np.bool_)), mentions)
    variables |= {name: (("candidates",), values) for name, values in best.items()}
    described = {**(meta or {}), "windows": mentions.count, "seed": seed}
    described |= {"clusters": "documents", "clusters_count": mentions.answers.clusters_count}
    coords: AnyDict = {
        "candidates": list(CANDIDATES),
        "type": list(TYPES),
        "layer": list(mentions.layers),
        "head": np.arange(mentions.heads),
        "rule": list(RULES),
    }
    result = xr.Dataset(variables, coords, describe(described))
    return result.transpose("candidates", "rule", "type", "layer", "head")


def _best(scores: HitRatios, mentions: LinkSums) -> dict[str, np.ndarray]:
    """The best head of each definition of candidates, beside the best rule."""
    heads = len(mentions.layers) * mentions.heads
    rules = slice(heads * len(CANDIDATES), None)
    rule = scores.best(rules)
    rows: list[AnyDict] = []
    for place in range(len(CANDIDATES)):
        block = slice(place * heads, (place + 1) * heads)
        row = scores.chosen(block, rules) | {"best_rule": rule.place}
        above = np.minimum(row["p"], scores.gain(rule, block)[1])
        rows.append(row | {"p": np.minimum(1.0, 2 * above)})
    return stacked(rows)


def best_head(result: xr.Dataset, candidates: str) -> Head:
    """The head that is right most often among these candidates."""
    best = dict(zip(result["candidates"].values, result["best"].values, strict=True))[candidates]
    layer, head = divmod(int(best), result.sizes["head"])
    return Head(int(result["layer"].values[layer]), int(result["head"].values[head]))


def table(result: xr.Dataset) -> pd.DataFrame:
    """The rules, and the best head for each definition of candidates, by type, with `COLUMNS` and `CHOSEN`.

    ``ci_low`` and ``ci_high`` are given the choice; ``split_low`` and ``split_high`` include it.
    """
    rules: Any = _rows(result, "rules", ["rule", "type"])
    rules = rules.assign(system=rules["rule"], candidates="preceding_mentions")
    names = result["candidates"].values
    best = [
        _of_heads(result.sel(candidates=[name], layer=[head.layer], head=[head.head]), "best_head")
        for name, head in ((name, best_head(result, name)) for name in names)
    ]
    rows: Any = _typed(pd.concat([rules, *best]))
    chosen: Any = result[[*_SPLIT, "times", "choices"]].to_dataframe().reset_index()
    rule = [RULES[int(place)] for place in result["best_rule"].values]
    chosen = chosen.assign(rule=rule, system="best_head", type="all")
    effective: Any = result["effective"].to_dataframe().reset_index()
    rows = rows.merge(chosen, "left", on=["system", "candidates", "type"]).merge(effective, "left", on="type")
    rows = rows.assign(clusters=description(result)["clusters"])
    return rows[[*COLUMNS, *CHOSEN]].astype({"times": "Int64", "choices": "Int64"})


def every_head(result: xr.Dataset) -> pd.DataFrame:
    """Every head for each definition of candidates, by type, with `COLUMNS`."""
    return _typed(_of_heads(result, "head"))


def _of_heads(result: xr.Dataset, system: str) -> pd.DataFrame:
    rows: Any = _rows(result, "accuracy", ["candidates", "layer", "head", "type"])
    return rows.assign(system=system, paper=papers(rows["layer"], rows["head"]))


def _rows(result: xr.Dataset, name: str, axes: Sequence[str]) -> pd.DataFrame:
    """A row for each accuracy of the types that there are."""
    columns = {f"{name}{end}": column for end, column in zip(ENDS, COLUMNS[6:9], strict=True)}
    rows: Any = result[["n", *columns]].to_dataframe(axes).reset_index().rename(columns=columns)
    return rows[rows["n"] > 0]


def _typed(rows: Any) -> pd.DataFrame:
    rows = rows.reset_index(drop=True).reindex(columns=COLUMNS)
    return rows.astype({"layer": "Int64", "head": "Int64"})
