"""Two models with different tokenizers, compared on words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from headscope.analyses.compare.models import statistics
from headscope.core.arrays import Bools, Floats
from headscope.core.tokens import Tokens
from headscope.corpora import Corpus, Example
from headscope.corpora.corpus import leave_out, plain
from headscope.errors import InputError
from headscope.measures.choose import row_statistic
from headscope.measures.measure import Measure, selection
from headscope.models import Model
from headscope.runs.forward import word_maps


def counterparts(a: Model, b: Model) -> str | None:
    """Why heads of two models have no counterparts, as far as their configurations say; None where they have."""
    if a.causal != b.causal:
        causal, other = (a, b) if a.causal else (b, a)
        return f"{causal.name} is causal and {other.name} is not: heads have no counterparts"
    shapes = [
        tuple(getattr(model.text_config, name, None) for name in ("num_hidden_layers", "num_attention_heads"))
        for model in (a, b)
    ]
    return None if shapes[0] == shapes[1] else _differ((a, b), shapes)


def check_shapes(models: Sequence[Model], shapes: Sequence[Mapping[int, int]]) -> None:
    """Raise `InputError` where two models do not have the same layers and heads (``{layer: heads}``)."""
    if shapes[0] != shapes[1]:
        counts = [(len(shape), "/".join(map(str, sorted(set(shape.values()))))) for shape in shapes]
        raise InputError(f"models: {_differ(models, counts)}; compare them by role")


def _differ(models: Sequence[Model], shapes: Sequence[tuple[object, ...]]) -> str:
    counts = [
        f"{model.name} has {layers} layers × {heads} heads"
        for model, (layers, heads) in zip(models, shapes, strict=True)
    ]
    return f"{', '.join(counts)}: heads have no counterparts"


MOST = 64
"""Words of an input; a line that is longer gives several."""

_WORD = re.compile(r"\w+|[^\w\s]")


def lines(model: Model, corpus: Corpus | Iterable[Example]) -> Iterator[Example]:
    """The lines (or sentences) of a corpus as words, with the first model's tokens; at most `MOST` words each."""
    for example in plain(corpus):
        if example.pair is not None or example.pair_words is not None or example.pieces is not None:
            raise example.error(
                "expected single texts for models with different tokenizers, found a pair or tokens"
            )
        words = list(example.words) if example.words is not None else _WORD.findall(example.text or "")
        for start in range(0, len(words), MOST):
            part = words[start : start + MOST]
            try:
                tokens = model.from_words(part)
            except InputError as error:
                leave_out(corpus, example.error(error))
                continue
            yield Example(words=part, tokens=tokens, document=example.document, source=example.source)


class Words:
    """Compares two models on the same words. Raises `InputError` where their layers or heads differ in number."""

    def __init__(self, a: Model, b: Model, measures: Sequence[Measure]) -> None:
        self._models, self._measures = (a, b), measures

    def run(self, batch: Sequence[Example]) -> statistics.Compared:
        """What both give for each input of a batch, and how many pieces of the second are unknown, and there."""
        a, b = self._models
        tokens = [b.from_words(list(example.words or ())) for example in batch]
        of_b = [replace(example, tokens=of) for example, of in zip(batch, tokens, strict=True)]
        unknown, pieces = (sum(counts) for counts in zip(*map(b.unknown, tokens), strict=True))
        (of_a, seen_a), (of_b_, seen_b) = _maps(a, batch), _maps(b, of_b)
        maps = [of_a, of_b_]
        check_shapes(self._models, [{layer: part.shape[1] for layer, part in of.items()} for of in maps])
        gathered = [
            self._gathered(
                example.words or (),
                [{layer: part[place] for layer, part in of.items()} for of in maps],
                {layer: seen[place] & seen_b[layer][place] for layer, seen in seen_a.items()},
            )
            for place, example in enumerate(batch)
        ]
        return gathered, (unknown, pieces)

    def _gathered(
        self, words: Sequence[str], maps: Sequence[Mapping[int, Floats]], sights: Mapping[int, Bools]
    ) -> statistics.Gathered:
        """What one input gives, of its maps in both models ``[head word word]``, and what both see, by layer."""
        causal, count, layers = self._models[0].causal, len(words), sorted(maps[0])
        axis = statistics.word_axis(words)
        heads = max(map(len, maps[0].values()))
        sums = np.full((2, len(self._measures), len(layers), heads), np.nan)
        chance, divisors = np.zeros((2, *sums.shape[1:]))
        moved = np.full((2, len(layers), heads), np.nan)
        for index, layer in enumerate(layers):
            weights = [of[layer][:, :count, :count] for of in maps]
            sight, queries = sights[layer][:, :count, :count], slice(len(weights[0]))
            rows, of = selection(self._measures, axis, sight)
            sums[:, :, index, queries] = [self._sums(shares, axis, rows, sight) for shares in weights]
            even = sight / np.maximum(sight.sum(-1, keepdims=True), 1)
            chance[:, index, queries] = self._sums(even, axis, rows, sight)
            divisors[:, index, queries] = of
            seen = (statistics.with_rest(shares[:, int(causal) :]) for shares in weights)
            moved[:, index, queries] = statistics.drift(*seen)
        gathered = statistics.stacked(sums[0], sums[1], chance, divisors, moved, count - int(causal))
        return (axis, layers, *gathered)

    def _sums(self, weights: Floats, axis: Tokens, rows: Floats, sight: Bools) -> Floats:
        """Sums over the rows that count, ``[measure head]``."""
        weights = weights.astype(np.float64)
        pairs = zip(self._measures, rows, strict=True)
        return np.array(
            [(row_statistic(one, weights, axis, sight=sight) * counted).sum(-1) for one, counted in pairs]
        )


def _maps(model: Model, batch: Sequence[Example]) -> tuple[dict[int, Floats], dict[int, Bools]]:
    """The maps of each layer, ``[input head word word]``, and which words each word can see, alike."""
    maps: dict[int, Floats] = {}
    sights: dict[int, Bools] = {}
    word_maps(model, batch, maps.__setitem__, sight=sights.__setitem__)
    return maps, sights
