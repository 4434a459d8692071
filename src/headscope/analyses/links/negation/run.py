"""Negation scope in every head of a model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.analyses.links.engine import Engine, run
from headscope.analyses.links.negation.statistics import OUTSIDE, RULES, SCOPE, of_sums, rules
from headscope.analyses.links.questions import Asked, Way, by_chance
from headscope.analyses.links.sums import LinkSums
from headscope.analyses.result import returns_result
from headscope.core.arrays import Floats
from headscope.core.link import Link, Span
from headscope.core.tokens import BoolArray
from headscope.core.validation import Count, Seed, validated
from headscope.corpora import Corpus, Example
from headscope.models import Model
from headscope.runs.estimate import CLUSTERS, ahead, line
from headscope.runs.long import Kind, without_figures


@returns_result
@validated
def negation(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    seed: Seed = 0,
    limit: Count | None = None,
    batch_size: Count = 32,
    resume: str | os.PathLike[str] | None = None,
    shard: str | None = None,
    part: str | os.PathLike[str] | None = None,
    skip_failures: bool = False,
    engine: Any = None,
    progress: bool = False,
) -> xr.Dataset:
    """How well each head tells the scope of a negation: the words that look at its cue (Zhao & Bethard 2020).

    >>> corpus = hs.corpora.negations("scopes.jsonl")
    >>> before, after = (hs.negation(each, corpus) for each in (model, hs.load(untrained=0)))
    >>> headscope.analyses.links.negation.statistics.difference(before, after).shape  # 72 heads × 3 scores
    (216, 10)

    Args:
        model: from `headscope.load`.
        corpus: `headscope.corpora.negations`.
        seed: of the divisions into parts, to choose heads on some and to score them on others.
        limit: use at most this many sentences.
        batch_size: sentences in a batch, at most.
        resume, shard, part, skip_failures, engine: as in `headscope.measure` (docs/streams.md).
        progress: show progress on stderr.

    Returns:
        See `headscope.analyses.links.negation.statistics.dataset`.
    """
    return run(
        KIND,
        _Scopes(model),
        corpus,
        options={},
        about={"seed": seed},
        batch_size=batch_size,
        limit=limit,
        resume=resume,
        shard=shard,
        part=part,
        skip_failures=skip_failures,
        engine=engine,
        progress=progress,
    )


class _Scopes(Engine):
    """The words outside of a negation's cue, and whether they look at it."""

    chance = True

    def __init__(self, model: Model) -> None:
        super().__init__(model, [Way("row", "row", "any")], RULES)

    def links(self, example: Example) -> Sequence[Link]:
        """From each word that is not in the cue to those that are."""
        if example.words is None or example.cue is None or example.scope is None:
            raise example.error("expected words with the cue and the scope of a negation, found none")
        cue = tuple(Span(word, word + 1) for word in example.cue)
        scope = set(example.scope)
        return [
            Link(Span(word, word + 1), cue, SCOPE if word in scope else OUTSIDE) for word in _others(example)
        ]

    def guesses(self, asked: Asked) -> BoolArray:
        """Whether the rules put a word into the scope."""
        cue = np.isin(np.arange(len(asked.words or ())), asked.cue or ())
        return rules(cue)[:, _others(asked)]

    def shares(self, asked: Asked) -> Floats:
        """How likely a word looks at the cue by chance."""
        return by_chance(asked.question, self.ways)[None]


def _others(example: Example) -> list[int]:
    return [word for word in range(len(example.words or ())) if word not in (example.cue or ())]


def _figures(sums: LinkSums, meta: dict[str, Any], about: Mapping[str, Any]) -> xr.Dataset:
    if "shard" in meta and not sums.count:
        return without_figures(meta)
    return of_sums(sums, seed=about["seed"], meta=meta)


KIND = Kind("negation", LinkSums.from_arrays, _figures)


def merge(parts: Sequence[str | os.PathLike[str]]) -> xr.Dataset:
    """The figures of a whole corpus from the parts of all its shards; see `headscope.merge`."""
    return KIND.merge(parts)


def estimate(
    model: Model, corpus: Corpus, *, limit: int | None = None, batch_size: int = 32, engine: Any = None
) -> str:
    """One line that says what `headscope.negation` will take with these options."""

    def work(sample: Sequence[Example]) -> object:
        return negation(model, sample, batch_size=batch_size)

    return line(
        model, ahead(corpus, corpus.encoded(model), limit), work, "sentence", CLUSTERS[0], engine=engine
    )
