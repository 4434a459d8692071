"""Negation scope in every head of a model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np
import xarray as xr

from headscope.analyses.negation.statistics import by_baselines, counts, dataset
from headscope.analyses.over_words import description, over_word_maps
from headscope.analyses.result import returns_result
from headscope.corpora import Corpus, Example
from headscope.deprecated import unused
from headscope.doors import Count, Seed, validated
from headscope.measures.measure import Floats
from headscope.measures.resample import Clusters
from headscope.models import Model
from headscope.stream.batches import examples
from headscope.stream.estimate import CLUSTERS, ahead, line


@unused("replicates")
@returns_result
@validated
def negation(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    seed: Seed = 0,
    limit: Count | None = None,
    batch_size: Count = 32,
    progress: bool = False,
) -> xr.Dataset:
    """How well each head tells the scope of a negation: the words that look at its cue (Zhao & Bethard 2020).

    >>> corpus = hs.corpora.negations("scopes.jsonl")
    >>> before, after = (hs.negation(each, corpus) for each in (model, hs.load(untrained=0)))
    >>> headscope.analyses.negation.statistics.difference(before, after).shape  # 72 heads × 3 scores
    (216, 10)

    Args:
        model: from `headscope.load`.
        corpus: `headscope.corpora.negations`.
        seed: of the divisions into parts, to choose heads on some and to score them on others.
        limit: use at most this many sentences.
        batch_size: sentences in a batch, at most.
        progress: show progress on stderr.

    Returns:
        See `headscope.analyses.negation.statistics.dataset`.
    """
    started = time.monotonic()
    sums: list[Floats] = []
    rules: list[Floats] = []
    numbers: list[int] = []
    layers: list[int] = []
    clusters = Clusters()
    inputs = examples(model, corpus, limit)
    for block in over_word_maps(
        model,
        corpus,
        _Negation,
        lambda negation, maps: counts(maps, negation.cue, negation.scope),
        inputs=inputs,
        batch_size=batch_size,
        limit=limit,
        progress=progress,
    ):
        for each in sorted(block, key=lambda each: each.number):
            layers, negated = list(each.layers), each.annotation
            sums.append(np.stack(list(each.layers.values())))
            rules.append(by_baselines(negated.cue, negated.scope))
            numbers.append(clusters.number(negated.document, negated.document_known))
    options = {"limit": limit, "batch_size": batch_size}
    meta = description(model, corpus, inputs, options, started)
    return dataset(sums, layers, rules, clusters=numbers, kind=clusters.kind, seed=seed, meta=meta)


class _Negation:
    """Which words of a sentence are in the cue and which in the scope, and its document."""

    def __init__(self, example: Example) -> None:
        if example.words is None or example.cue is None or example.scope is None:
            raise example.error("expected words with the cue and the scope of a negation, found none")
        words = np.arange(len(example.words))
        self.cue, self.scope = np.isin(words, example.cue), np.isin(words, example.scope)
        self.document, self.document_known = example.document, example.document_known


def estimate(model: Model, corpus: Corpus, *, limit: int | None = None, batch_size: int = 32) -> str:
    """One line that says what `headscope.negation` will take with these options."""

    def work(sample: Sequence[Example]) -> object:
        return negation(model, sample, batch_size=batch_size)

    return line(model, ahead(corpus, corpus.encoded(model), limit), work, "sentence", CLUSTERS[0])
