"""Two models with different tokenizers, compared on words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from headscope.analyses.compare_models import statistics
from headscope.analyses.compare_models.batch import Batch, check_shapes
from headscope.corpora import Corpus, Example
from headscope.measures.measure import Measure, selection
from headscope.measures.single import row_statistic
from headscope.measures.sums import Floats
from headscope.models import Model
from headscope.stream.words import word_maps
from headscope.tokens import Tokens, is_punctuation

MOST = 64
"""Words of an input; a line that is longer gives several."""

_WORD = re.compile(r"\w+|[^\w\s]")


def lines(model: Model, corpus: Corpus | Iterable[Example]) -> Iterator[Example]:
    """The lines (or sentences) of a corpus as words, with the first model's tokens; at most `MOST` words each."""
    for example in corpus:
        if example.pair is not None or example.pair_words is not None or example.pieces is not None:
            raise example.error(
                "expected single texts for models with different tokenizers, found a pair or tokens"
            )
        words = list(example.words) if example.words is not None else _WORD.findall(example.text or "")
        for start in range(0, len(words), MOST):
            part = words[start : start + MOST]
            yield Example(
                words=part, tokens=model.from_words(part), document=example.document, source=example.source
            )


class Words:
    """Compares two models on the same words. Raises `InputError` where their layers or heads differ in number."""

    def __init__(self, a: Model, b: Model, measures: Sequence[Measure]) -> None:
        self._models, self._measures = (a, b), measures

    def run(self, batch: Sequence[Example]) -> Batch:
        """What both give for the inputs of a batch."""
        a, b = self._models
        maps = [self._maps(a, batch), self._maps(b, [_of(b, example) for example in batch])]
        check_shapes(self._models, [{layer: own.shape[1] for layer, own in found.items()} for found in maps])
        layers = sorted(maps[0])
        axes = [_axis(example.words or ()) for example in batch]
        heads = max(own.shape[1] for own in maps[0].values())
        shape = (len(batch), len(self._measures), len(layers), heads)
        sums = np.full((2, *shape), np.nan)
        chance = np.zeros(shape[:3])
        moved = np.full((len(batch), 2, len(layers), heads), np.nan)
        divisors = np.zeros(shape[:2])
        first = 1 if a.causal else 0
        for place, axis in enumerate(axes):
            count = len(axis)
            rows, divisors[place] = selection(self._measures, axis, a.causal)
            chance[place] = self._sums(_uniform(count, a.causal), axis, rows)  # the same in every layer
            for number, layer in enumerate(layers):
                own = [found[layer][place, :, :count, :count] for found in maps]
                width = own[0].shape[0]
                for which, weights in enumerate(own):
                    sums[which, place, :, number, :width] = self._sums(weights, axis, rows)
                moved[place, :, number, :width] = statistics.drift(
                    *(statistics.with_rest(each[:, first:]) for each in own)
                )
        return Batch(
            axes, layers, sums[0], sums[1], chance, divisors, moved, [len(axis) - first for axis in axes]
        )

    def _sums(self, weights: Floats, axis: Tokens, rows: Floats) -> Floats:
        """Sums over the rows that count, ``[measure head]``."""
        weights = weights.astype(np.float64)
        pairs = zip(self._measures, rows, strict=True)
        return np.array([row_statistic(measure, weights, axis) @ counted for measure, counted in pairs])

    def _maps(self, model: Model, batch: Sequence[Example]) -> dict[int, Floats]:
        found: dict[int, Floats] = {}
        word_maps(model, batch, found.__setitem__)
        return found


def _of(model: Model, example: Example) -> Example:
    return replace(example, tokens=model.from_words(list(example.words or ())))


def _axis(words: Sequence[str]) -> Tokens:
    return statistics.word_axis(words, np.array([is_punctuation(word) for word in words], np.bool_))


def _uniform(count: int, causal: bool) -> Floats:
    sight = np.tril(np.ones((count, count))) if causal else np.ones((count, count))
    return (sight / sight.sum(-1, keepdims=True))[None]
