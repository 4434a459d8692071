"""Word alignment: the words of two sentences that choose each other, by hidden states, by a head, by heads together.

All that is chosen, a layer or heads, is chosen on one half of the sentences and scored on the other, both ways. The
error rate is 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|) of the pairs A that are found, the sure S and the possible P (Och &
Ney 2003), of the sums over sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headscope.attention.one import capture
from headscope.core.arrays import AnyFloats, Bools, Floats
from headscope.core.heads import Head
from headscope.core.link import Span
from headscope.core.maps import AttentionMaps
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.statistics import jackknife
from headscope.statistics.jackknife import share_interval

MOST = 20
"""Heads that are added up, at most."""


@dataclass(frozen=True)
class Aligned:
    """The error of alignments.

    Attributes:
        aer: in per cent.
        low, high: its 95 % interval by sentence, given what was chosen.
        chosen: what each half of the sentences chose.
        n: sentences.
    """

    aer: float
    low: float
    high: float
    chosen: tuple[tuple[int, ...], tuple[int, ...]]
    n: int


@dataclass(frozen=True, eq=False)
class Sentence:
    """Two sentences: scores of their words ``[what a b]``, and which pairs are sure, or at least possible ``[a b]``."""

    scores: Floats
    sure: Bools
    both: Bools

    def counts(self, scores: Floats) -> Floats:
        """|A ∩ S| + |A ∩ P| and |A| + |S| where words choose each other, ``[... a b] -> [2 ...]``."""
        pairs = (scores == scores.max(-1, keepdims=True)) & (scores == scores.max(-2, keepdims=True))
        right = (pairs & self.sure).sum((-2, -1)) + (pairs & self.both).sum((-2, -1))
        return np.stack([right, pairs.sum((-2, -1)) + self.sure.sum()]).astype(np.float64)


def by_hidden_states(model: Model, corpus: Corpus | Iterable[Example], *, seed: int = 0) -> Aligned:
    """The error of hidden states: each sentence is read by itself, a word is the mean of its pieces, near by cosine.

    Source: Jalili Sabet et al. 2020, "SimAlign", Argmax. What is chosen is the layer; 0 is the embedding.
    """
    return by_halves(sentences(corpus, lambda example: _near(model, example)), 1, seed)


def by_heads(
    model: Model, corpus: Corpus | Iterable[Example], *, seed: int = 0
) -> tuple[Aligned, Aligned, list[Head]]:
    """The error of the best head, and of heads added up; and the heads, in the order of what was chosen.

    Both sentences are one input. A head's score is what it gives from A to B and from B to A, each row put to sum to 1
    over the other sentence. Heads are added one by one, on the half that chooses, for as long as that lowers the error.
    """
    heads: list[Head] = []

    def scores(example: Example) -> Floats:
        assert example.words is not None
        maps = capture(model, model.from_words(example.words, example.pair_words))
        if not isinstance(maps, AttentionMaps):
            raise InputError(
                f"{model.name}: expected a model that reads two sentences as one input, found one of parts"
            )
        heads[:] = maps.heads
        words = maps.words()
        to, back = words.between(0, 1), words.between(1, 0)
        return np.concatenate([
            _even(there) + _even(here).swapaxes(1, 2) for there, here in zip(to, back, strict=True)
        ])  # fmt: skip

    read = sentences(corpus, scores)
    return by_halves(read, 1, seed), by_halves(read, MOST, seed), heads


def sentences(corpus: Corpus | Iterable[Example], scores: Callable[[Example], Floats]) -> list[Sentence]:
    """Each pair of sentences with its scores and its gold pairs. Raises `InputError` for fewer than two."""
    read: list[Sentence] = []
    for example in corpus:
        if example.words is None or example.pair_words is None:
            raise example.error("expected words of two texts, found one text")
        sure, both = np.zeros((2, len(example.words), len(example.pair_words)), np.bool_)
        for link in example.links or ():
            for targets, masks in ((link.targets, (sure, both)), (link.possible, (both,))):
                for target in targets:
                    if not isinstance(target, Span) or not isinstance(link.source, Span):
                        raise example.error("expected links between words, found others")
                    a, b = (link.source, target) if link.source.text == "a" else (target, link.source)
                    for mask in masks:
                        mask[a.start : a.end, b.start : b.end] = True
        read.append(Sentence(scores(example), sure, both))
    if read and not any(one.both.any() for one in read):
        raise InputError("corpus: expected pairs of words that are aligned, found none")
    if len(read) < 2:
        raise InputError(f"corpus: expected at least 2 sentences with alignments, found {len(read)}")
    return read


def _near(model: Model, example: Example) -> Floats:
    """How near words are after each layer, ``[layer a b]``."""
    sides = [_words(model, words) for words in (example.words, example.pair_words) if words is not None]
    return sides[0] @ sides[1].swapaxes(1, 2)


def _words(model: Model, words: Sequence[str]) -> Floats:
    """Unit vectors of words after each layer, the embedding's first, ``[layer word dim]``."""
    tokens = model.from_words(words)
    with torch.no_grad():
        states = model.backbone(**model.inputs([tokens]), output_hidden_states=True).hidden_states
    of = np.asarray(tokens.word_ids)
    mean = np.stack([(of == word) / max((of == word).sum(), 1) for word in range(len(words))])
    vectors = np.stack([mean @ state[0].double().cpu().numpy() for state in states])
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def _even(weights: AnyFloats) -> Floats:
    """Rows put to sum to 1."""
    rows = weights.astype(np.float64)
    return rows / np.maximum(rows.sum(-1, keepdims=True), 1e-12)


def _halves(count: int, seed: int) -> tuple[Bools, Bools]:
    half = np.zeros(count, np.bool_)
    half[np.random.default_rng(seed).permutation(count)[: count // 2]] = True
    return half, ~half


def by_halves(read: Sequence[Sentence], most: int, seed: int) -> Aligned:
    """The error of the scores that each half chooses, one by one and at most so many, added up."""
    chosen: list[tuple[int, ...]] = []
    scored = np.zeros((len(read), 2))
    for half in _halves(len(read), seed):
        mine = [one for one, here in zip(read, half, strict=True) if here]
        sums = [np.zeros_like(one.scores[0]) for one in mine]
        heads: list[int] = []
        best = -1.0
        while len(heads) < most:
            tried = [one.counts(total + one.scores) for one, total in zip(mine, sums, strict=True)]
            right, total = np.sum(tried, 0)
            share = right / np.maximum(total, 1)
            if share.max() <= best:
                break
            best = float(share.max())
            heads.append(int(share.argmax()))
            sums = [total + one.scores[heads[-1]] for one, total in zip(mine, sums, strict=True)]
        for place, (one, here) in enumerate(zip(read, half, strict=True)):
            if not here:
                scored[place] = one.counts(one.scores[heads].sum(0))
        chosen.append(tuple(heads))
    s, n = scored.T
    share = s.sum() / n.sum()
    low, high = share_interval(share, jackknife.error(s, n), jackknife.effective(n), n.sum())
    aer, first, last = (100 * (1 - float(value)) for value in (share, high, low))
    return Aligned(aer, first, last, (chosen[0], chosen[1]), len(scored))
