"""Negation scope in every head of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Unpack

import numpy as np
import xarray as xr

from headscope.analyses.links.engine import LinkEngine
from headscope.analyses.links.negation.statistics import OUTSIDE, RULES, SCOPE, counts, dataset, rules
from headscope.analyses.links.questions import AskedExample, Way
from headscope.analyses.links.sums import LinkSums
from headscope.analyses.long_runs import long_run
from headscope.analyses.options import BlockOptions
from headscope.core.arrays import Bools
from headscope.core.link import Link, Span
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Seed
from headscope.corpora import Example
from headscope.corpora.given import AnnotatedCorpus
from headscope.models import Model
from headscope.runs.estimate import CLUSTERS
from headscope.runs.long import Kind, Run
from headscope.runs.options import RunOptions


def _figures(sums: LinkSums, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    described = {**meta, "sentences": sums.count}
    return dataset(counts(sums), sums.layers, kind=sums.clusters.kind, seed=about["seed"], meta=described)


KIND = Kind("negation", LinkSums.from_arrays, _figures, noun="sentence", grows=CLUSTERS)


@long_run(KIND)
def negation(
    model: Model,
    corpus: AnnotatedCorpus | Iterable[Example],
    *,
    seed: Seed = 0,
    **options: Unpack[BlockOptions],
) -> Run[LinkSums]:
    """How well each head tells the scope of a negation: the words that look at its cue (Zhao & Bethard 2020).

    >>> corpus = hs.corpora.negations("scopes.jsonl")
    >>> before, after = (hs.negation(each, corpus) for each in (model, hs.load(untrained=0)))
    >>> headscope.analyses.links.negation.statistics.difference(before, after).shape  # 72 heads × 3 scores
    (216, 10)

    Args:
        model: from `headscope.load`.
        corpus: `headscope.corpora.negations`.
        seed: of the divisions into parts, to choose heads on some and to score them on others.
        batch_size: sentences in a batch, at most; long ones come in fewer.
        limit: use at most this many sentences.

    Returns:
        See `headscope.analyses.links.negation.statistics.dataset`.
    """
    return _Scopes(model).over(KIND, corpus, RunOptions(**options), about={"seed": seed})


class _Scopes(LinkEngine):
    """The words outside of a negation's cue, and whether they look at it."""

    chance = True

    def __init__(self, model: Model) -> None:
        super().__init__(model, [Way("row", "row", "any")], RULES)

    def links(self, example: Example) -> Sequence[Link]:
        """The links from each word that is not in the cue to those that are."""
        if example.words is None or example.cue is None or example.scope is None:
            raise example.error("expected words with the cue and the scope of a negation, found none")
        cue = tuple(Span(word, word + 1) for word in example.cue)
        scope = set(example.scope)
        return [
            Link(Span(word, word + 1), cue, SCOPE if word in scope else OUTSIDE) for word in _others(example)
        ]

    def guesses(self, asked: AskedExample) -> Bools:
        """Whether the rules put a word into the scope."""
        cue = np.isin(np.arange(len(asked.words or ())), asked.cue or ())
        return rules(cue)[:, _others(asked)]


def _others(example: Example) -> list[int]:
    return [word for word in range(len(example.words or ())) if word not in (example.cue or ())]
