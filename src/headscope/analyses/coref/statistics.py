"""Coreference in single heads: does a mention's head word look at the head word of an antecedent?

Source: Clark et al. 2019, section 4.3 and table 2; their code for it was never released. A mention is evaluated where
its window has an earlier mention of its cluster. Among the candidates, the one whose head word gets most attention
from the mention's is the prediction; it is right where it is the head word of an earlier mention of the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.errors import InputError
from headscope.heads import Head
from headscope.measures.resample import Answers, Resampling
from headscope.tokens import BoolArray

Candidates = Literal["preceding_mentions", "other_mentions", "any_word"]
"""Among what a head chooses: mentions before this one, all other mentions of the window, or all other words."""

CANDIDATES: tuple[Candidates, ...] = get_args(Candidates)
RULES = ("nearest", "head_match", "head_match_else_nearest", "sieve")
"""Baselines: the preceding mention whose head word is closest; the closest with the same head word (none: wrong); that,
else the closest; and four sieves: same full string, same head word, agreement in number, gender and person, any."""

TYPES = ("all", "pronoun", "proper", "nominal", "other")
COLUMNS = ("system", "candidates", "layer", "head", "paper", "type", "accuracy", "ci_low", "ci_high", "n")
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


def mention_head(start: int, end: int, heads: Sequence[int], tags: Sequence[str]) -> int:
    """The leftmost word of a span that is no punctuation and whose head is outside of it; its first word if none."""
    words = range(start, end)
    for word in words:
        if tags[word] != "PUNCT" and not start <= heads[word] < end:
            return word
    return start


def mentioned(
    spans: Sequence[tuple[int, int, str]],
    words: Sequence[str],
    heads: Sequence[int],
    tags: Sequence[str],
    features: Sequence[Mapping[str, str]],
) -> list[Mentioned]:
    """The mentions of a window. Nouns are third person."""
    found: list[Mentioned] = []
    for start, end, cluster in spans:
        head = mention_head(start, end, heads, tags)
        own = {**features[head], **({"Person": "3"} if tags[head] in ("NOUN", "PROPN") else {})}
        text = " ".join(words[start:end]).lower()
        kind = _TYPE.get(tags[head], "other")
        found.append(Mentioned(head, text, words[head].lower(), cluster, kind, own))
    return found


def items(mentions: Sequence[Mentioned]) -> list[Item]:
    """The mentions of a window that have an earlier mention of their cluster."""
    found: list[Item] = []
    for mention in mentions:
        before = [other for other in mentions if other.head < mention.head]
        right = frozenset(other.head for other in before if other.cluster == mention.cluster)
        if right:
            found.append(Item(mention, right, tuple(sorted(before, key=lambda other: other.head))))
    return found


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


def _agree(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether number, gender and person agree; what is not given agrees with all."""
    return all(
        name not in one or name not in other or one[name] == other[name]
        for name in ("Number", "Gender", "Person")
    )


def candidates(
    kind: Candidates, item: Item, mentions: Sequence[Mentioned], words: int
) -> npt.NDArray[np.int64]:
    """Places of the words among which a head chooses, in order."""
    if kind == "any_word":
        found = set(range(words))
    else:
        among = item.before if kind == "preceding_mentions" else mentions
        found = {mention.head for mention in among}
    return np.array(sorted(found - {item.mention.head}), np.int64)


class Mentions:
    """Which predictions were right for each evaluated mention.

    Args:
        layers, heads: of the model; a head that a layer does not have is never right.
    """

    def __init__(self, layers: Sequence[int], heads: int) -> None:
        self.layers, self.heads = tuple(layers), heads
        self.windows = 0
        self.answers = Answers(len(CANDIDATES) * len(self.layers) * heads + len(RULES))

    def add(self, types: Sequence[str], right: BoolArray, rules: BoolArray, document: int) -> None:
        """The evaluated mentions of a window.

        Args:
            types: of each.
            right: ``[candidates layer head mention]``.
            rules: ``[rule mention]``.
            document: its number; documents come in order.
        """
        self.windows += 1
        if types:
            self.answers.add(types, np.concatenate([right.reshape(-1, len(types)), rules]), document)


def dataset(
    mentions: Mentions, *, seed: int = 0, replicates: int = 1000, meta: Mapping[str, Any] | None = None
) -> xr.Dataset:
    """Accuracies over ``(candidates, type, layer, head)`` and of rules over ``(rule, type)``.

    Each has ``_low`` and ``_high``: 95 % intervals of a Poisson bootstrap over documents. ``n`` is over ``type``.
    Over ``candidates`` there is the ``best`` head (its place among layer × head, chosen on all mentions), and what
    choosing and scoring on different documents gives: ``split``, ``split_low``, ``split_high``
    (`headscope.measures.resample.Chosen`; NaN with one document).

    Raises `InputError` when no mention has an antecedent in its window.
    """
    if not len(mentions.answers):
        raise InputError(
            f"corpus: expected a mention with an antecedent in its window, found none in {mentions.windows} windows"
        )
    resampling = Resampling(mentions.answers, seed=seed, replicates=replicates)
    numbers, labels = mentions.answers.numbers(), mentions.answers.labels
    heads = len(mentions.layers) * mentions.heads
    shape = (len(CANDIDATES), len(mentions.layers), mentions.heads)
    parts: dict[str, list[Any]] = {}
    best: dict[str, list[Any]] = {name: [] for name in ("best", "split", "split_low", "split_high")}
    for kind in TYPES:
        own = resampling.of(
            np.ones(len(numbers), np.bool_) if kind == "all" else numbers == labels.get(kind, -1)
        )
        parts.setdefault("n", []).append(own.n)
        for end, value in zip(("", "_low", "_high"), (own.value, *own.interval()), strict=True):
            parts.setdefault(f"accuracy{end}", []).append(value[: len(CANDIDATES) * heads].reshape(shape))
            parts.setdefault(f"rules{end}", []).append(value[len(CANDIDATES) * heads :])
        if kind == "all":
            for place in range(len(CANDIDATES)):
                one = own.chosen(slice(place * heads, (place + 1) * heads))
                for name, value in zip(best, (one.place, one.split, one.low, one.high), strict=True):
                    best[name].append(value)
    variables: dict[str, Any] = {"n": (("type",), np.array(parts["n"]))}
    for end in ("", "_low", "_high"):
        stacked = np.stack(parts[f"accuracy{end}"], 1)
        variables[f"accuracy{end}"] = (("candidates", "type", "layer", "head"), stacked)
        variables[f"rules{end}"] = (("rule", "type"), np.stack(parts[f"rules{end}"], 1))
    variables |= {name: (("candidates",), np.array(values)) for name, values in best.items()}
    described = {**dict(meta or {}), "windows": mentions.windows, "seed": seed, "replicates": replicates}
    return xr.Dataset(
        variables,
        coords={
            "candidates": list(CANDIDATES),
            "type": list(TYPES),
            "layer": list(mentions.layers),
            "head": np.arange(mentions.heads),
            "rule": list(RULES),
        },
        attrs={"meta": json.dumps(described, ensure_ascii=False)},
    )


def table(found: xr.Dataset) -> pd.DataFrame:
    """The rules, and the best head for each definition of candidates, by type, with `COLUMNS`."""
    rows: list[dict[str, Any]] = []
    for rule in found["rule"].values:
        one = found.sel(rule=rule)
        rows += _rows(found, {"system": str(rule), "candidates": "preceding_mentions"}, one, "rules")
    for name in found["candidates"].values:
        one = found.sel(candidates=name)
        layer, head = divmod(int(one["best"]), found.sizes["head"])
        rows += _of_head(found, "best_head", str(name), layer, head)
    return _typed(rows)


def every_head(found: xr.Dataset) -> pd.DataFrame:
    """Every head for each definition of candidates, by type, with `COLUMNS`."""
    rows: list[dict[str, Any]] = []
    for name in found["candidates"].values:
        for layer, head in np.ndindex(found.sizes["layer"], found.sizes["head"]):
            rows += _of_head(found, "head", str(name), layer, head)
    return _typed(rows)


def _of_head(found: xr.Dataset, system: str, name: str, layer: int, head: int) -> list[dict[str, Any]]:
    which = Head(int(found["layer"].values[layer]), int(found["head"].values[head]))
    shared = {
        "system": system,
        "candidates": name,
        "layer": which.layer,
        "head": which.head,
        "paper": which.paper,
    }
    return _rows(found, shared, found.sel(candidates=name).isel(layer=layer, head=head), "accuracy")


def _rows(found: xr.Dataset, shared: Mapping[str, Any], one: xr.Dataset, name: str) -> list[dict[str, Any]]:
    values, low, high = (one[f"{name}{end}"].values for end in ("", "_low", "_high"))
    counts = found["n"].values
    return [
        {
            **shared,
            "type": kind,
            "accuracy": float(values[place]),
            "ci_low": float(low[place]),
            "ci_high": float(high[place]),
            "n": int(counts[place]),
        }
        for place, kind in enumerate(TYPES)
        if counts[place]
    ]


def _typed(rows: list[dict[str, Any]]) -> pd.DataFrame:
    made: Any = pd.DataFrame(rows, columns=list(COLUMNS))
    return made.astype({"layer": "Int64", "head": "Int64"})
