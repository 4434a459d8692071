"""Which tokens of each input are rare, told by a first pass over the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from headscope.core.tokens import Tokens
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs.batches import examples

COMMON = 500
"""Inputs whose rarest token is among the so many most frequent ones of the corpus say nothing about rare words."""


def with_rarest(
    model: Model, corpus: Corpus, *, common: int = COMMON, limit: int | None = None
) -> Iterator[Example]:
    """The inputs of a corpus with the classes ``rarest`` and ``rarest_two``, for ``rare_word`` and ``rare_word_two``.

    Source: Voita et al. 2019, §5.3, who look at sentences whose rarest token is not among the 500 most frequent, with
    frequencies of the training data. Here frequencies are those of the corpus itself, counted in a first pass (the
    vocabulary's size in memory), and an input stands for a sentence. Tokens that are as rare are marked alike;
    special ones never are.

    Args:
        model: whose tokens.
        corpus: read twice.
        common: leave inputs unmarked whose rarest token is among so many most frequent ones.
        limit: at most so many inputs.
    """
    if common < 0:
        raise InputError(f"common: expected 0 or more, found {common}")
    counts: Counter[int] = Counter()
    for example in examples(model, corpus, limit):
        assert example.tokens is not None
        counts.update(_plain(example.tokens))
    ranked = [count for _, count in counts.most_common(common)]
    least = ranked[-1] if len(ranked) == common and common else None
    for example in islice(corpus.encoded(model), limit):
        assert example.tokens is not None
        yield replace(example, tokens=_marked(example.tokens, counts, least))


def _plain(tokens: Tokens) -> list[int]:
    """Ids of the tokens that are not special."""
    assert tokens.ids is not None
    return [int(number) for number in tokens.ids[~tokens.special]]


def _marked(tokens: Tokens, counts: Counter[int], least: int | None) -> Tokens:
    """Tokens with their rarest marked, unless the rarest is as frequent as the last of the common ones."""
    assert tokens.ids is not None
    rates = sorted(counts[number] for number in set(_plain(tokens)))
    rarest = two = np.zeros(len(tokens), np.bool_)
    if rates and (least is None or rates[0] < least):
        frequencies = np.array([counts[int(number)] for number in tokens.ids])
        plain = ~tokens.special
        rarest, two = (
            plain & (frequencies == rates[0]),
            plain & (frequencies <= rates[min(1, len(rates) - 1)]),
        )
    return tokens.with_classes(rarest=rarest, rarest_two=two)
