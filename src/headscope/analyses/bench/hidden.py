"""Word alignment by hidden states: the words of two sentences that are nearest to each other, each way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from headscope.core.arrays import Floats
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.statistics import jackknife
from headscope.statistics.resample import share_interval


class Aligned(NamedTuple):
    """The error of alignments by hidden states.

    Attributes:
        aer: in per cent, with a 95 % interval by sentence, given the layers.
        layers: those that each half of the sentences chose.
        n: sentences.
    """

    aer: float
    low: float
    high: float
    layers: list[int]
    n: int


def by_hidden_states(model: Model, corpus: Corpus | Iterable[Example], *, seed: int = 0) -> Aligned:
    """The alignment error rate of hidden states, layers chosen on one half and scored on the other, both ways.

    Each sentence is read by itself; a word is the mean of its pieces, and two are aligned where each is the other's
    nearest by cosine (Jalili Sabet et al. 2020, "SimAlign", Argmax). Raises `InputError` for fewer than two sentences.
    """
    counts = [of_sentence(model, example) for example in corpus]
    if len(counts) < 2:
        raise InputError(f"corpus: expected at least 2 sentences with alignments, found {len(counts)}")
    right, total = (np.stack([count[side] for count in counts]) for side in (0, 1))  # [sentence layer]
    half = np.zeros(len(counts), np.bool_)
    half[np.random.default_rng(seed).permutation(len(counts))[: len(counts) // 2]] = True
    s, n = np.zeros((2, len(counts)))
    layers: list[int] = []
    for one in (half, ~half):
        layers.append(int((right[one].sum(0) / np.maximum(total[one].sum(0), 1)).argmax()))
        s[~one], n[~one] = right[~one, layers[-1]], total[~one, layers[-1]]
    share = s.sum() / n.sum()
    size = jackknife.effective(n)
    low, high = share_interval(share, jackknife.error(s, n), size, n.sum())
    return Aligned(*(100 * (1 - float(value)) for value in (share, high, low)), layers, len(counts))


def of_sentence(model: Model, example: Example) -> tuple[Floats, Floats]:
    """|A ∩ S| + |A ∩ P| and |A| + |S| of each layer (Och & Ney 2003): 1 less their share is the error."""
    if example.words is None or example.pair_words is None:
        raise example.error("expected words of two texts, found one text")
    sure: set[tuple[int, int]] = set()
    possible: set[tuple[int, int]] = set()
    for link in example.links or ():
        ends = [("b" if span.text == "b" else "a", span) for span in link.spans]
        (side, source), *_ = ends
        for targets, into in ((link.targets, sure), (link.possible, possible)):
            pairs = [(source.start, span.start) for span in targets]  # type: ignore[union-attr]
            into |= {(a, b) if side == "a" else (b, a) for a, b in pairs}
    states = [_words(model, words) for words in (example.words, example.pair_words)]
    right, total = np.zeros((2, len(states[0])))
    for layer, (a, b) in enumerate(zip(*states, strict=True)):
        near = a @ b.T
        chosen = near.argmax(1)
        back = near.argmax(0)
        found = {(word, int(other)) for word, other in enumerate(chosen) if back[other] == word}
        right[layer] = len(found & sure) + len(found & (sure | possible))
        total[layer] = len(found) + len(sure)
    return right, total


def _words(model: Model, words: Sequence[str]) -> list[Floats]:
    """Unit vectors of words after each layer, the embedding's first, ``[word dim]``."""
    tokens = model.from_words(words)
    with torch.no_grad():
        states = model.backbone(**model.inputs([tokens]), output_hidden_states=True).hidden_states
    of = np.asarray(tokens.word_ids)
    mean = np.stack([(of == word) / max((of == word).sum(), 1) for word in range(len(words))])
    vectors = [mean @ state[0].double().cpu().numpy() for state in states]
    return [vector / np.maximum(np.linalg.norm(vector, axis=1, keepdims=True), 1e-12) for vector in vectors]
