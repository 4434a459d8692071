"""Negation scope in every head of a model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope.analyses.negation.statistics import counts, dataset
from headscope.corpora import Corpus, Example, blocks
from headscope.measures.measure import Floats
from headscope.models import Model
from headscope.stream.estimate import BOOTSTRAP, ahead, line
from headscope.stream.long import described, examples
from headscope.stream.progress import bar
from headscope.stream.provenance import COMMAND
from headscope.stream.task import TOKENS_PER_INPUT
from headscope.stream.words import word_maps


def negation(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    seed: int = 0,
    replicates: int = 1000,
    limit: int | None = None,
    batch_size: int = 32,
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
        seed, replicates: of the bootstrap over sentences.
        limit: at most so many sentences.
        batch_size: sentences in a batch, at most.
        progress: show progress on stderr.

    Returns:
        See `headscope.analyses.negation.statistics.dataset`.
    """
    sums: dict[int, Floats] = {}
    order: dict[int, int] = {}  # of the examples that are being worked on, by identity
    layers: list[int] = []
    started = time.monotonic()

    def numbered() -> Iterator[Example]:
        for number, example in enumerate(examples(model, corpus, limit)):
            order[id(example)] = number
            yield example

    with bar(corpus, limit, progress) as done:
        for block in blocks(
            numbered(), batch_size=batch_size, tokens_per_batch=batch_size * TOKENS_PER_INPUT
        ):
            for batch in block:
                found: dict[int, npt.NDArray[Any]] = {}
                word_maps(model, batch, lambda layer, maps, found=found: found.update({layer: maps}))
                layers = sorted(found)
                for place, example in enumerate(batch):
                    cue, scope = _masks(example)
                    own = [found[layer][place][:, : len(cue), : len(cue)] for layer in layers]
                    sums[order.pop(id(example))] = np.stack([counts(each, cue, scope) for each in own])
                done(len(batch))
    meta = described(model, corpus)
    meta["options"] = {"limit": limit, "batch_size": batch_size}
    meta |= {"command": COMMAND.get(), "seconds": round(time.monotonic() - started, 3)}
    if isinstance(corpus, Corpus):
        meta["broken"] = [str(error) for error in corpus.broken]
    ordered = [sums[number] for number in sorted(sums)]
    return dataset(ordered, layers, seed=seed, replicates=replicates, meta=meta)


def _masks(example: Example) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    if example.words is None or example.cue is None or example.scope is None:
        raise example.error("expected words with the cue and the scope of a negation, found none")
    place = np.arange(len(example.words))
    return np.isin(place, example.cue), np.isin(place, example.scope)


def estimate(model: Model, corpus: Corpus, *, limit: int | None = None, batch_size: int = 32) -> str:
    """One line that says what `headscope.negation` will take with these options."""

    def work(sample: Sequence[Example]) -> object:
        return negation(model, sample, batch_size=batch_size)

    return line(model, ahead(corpus, corpus.encoded(model), limit), work, "sentence", BOOTSTRAP[0])
