"""Coreference in every head of a model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope.analyses.coref.statistics import (
    CANDIDATES,
    RULES,
    Item,
    Mentioned,
    Mentions,
    by_rules,
    candidates,
    dataset,
    mentioned,
)
from headscope.analyses.coref.statistics import items as evaluated
from headscope.corpora import Corpus, Example, Mention, blocks
from headscope.errors import InputError
from headscope.models import Model, expect_model
from headscope.stream.estimate import BOOTSTRAP, ahead, line
from headscope.stream.long import described
from headscope.stream.progress import bar
from headscope.stream.provenance import COMMAND
from headscope.stream.task import TOKENS_PER_INPUT
from headscope.stream.words import word_maps
from headscope.words import Rows


def coreference(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    window: int = 128,
    rows: Rows = "mean",
    seed: int = 0,
    replicates: int = 1000,
    limit: int | None = None,
    batch_size: int = 32,
    progress: bool = False,
) -> xr.Dataset:
    """How often each head's attention finds an antecedent (Clark et al. 2019, section 4.3 and table 2), with baselines.

    Args:
        model: from `headscope.load`. Of an encoder-decoder the encoder is asked.
        corpus: `headscope.corpora.conllu` of files with ``Entity=`` brackets, or examples with words, trees, tags and
            mentions.
        window: tokens of an input, special ones included: a document is cut into runs of whole sentences. An antecedent
            in another window is not looked for, as a head cannot see it.
        rows: attention from a word is the ``mean`` over its pieces, or that of its ``first`` piece.
        seed, replicates: of the bootstrap over documents.
        limit: at most so many sentences.
        batch_size: windows in a batch, at most.
        progress: show progress on stderr.

    Returns:
        See `headscope.analyses.coref.statistics.dataset`; `headscope.table` makes a table of it.

    Raises:
        CorpusError: a broken corpus, one without coreference, or a sentence that is longer than a window.
    """
    expect_model(model)
    if rows not in ("mean", "first"):
        raise InputError(f"rows: expected mean or first, found {rows!r}")
    size = window if model.max_length is None else min(window, model.max_length)
    started, mentions = time.monotonic(), None
    with bar(corpus, limit, progress) as done:
        stream = windows(model, islice(corpus, limit), size)
        for block in blocks(stream, batch_size=batch_size, tokens_per_batch=batch_size * TOKENS_PER_INPUT):
            found: list[_Window] = []
            for batch in block:
                found += [_Window(example) for example in batch]
                now = found[-len(batch) :]

                def look(layer: int, maps: npt.NDArray[Any], now: Sequence[_Window] = now) -> None:
                    for own, each in zip(now, maps, strict=True):
                        own.look(layer, each)

                word_maps(model, batch, look, rows=rows)
                done(len(batch))
            for own in sorted(found, key=lambda each: each.example.document):
                layers = sorted(own.right)
                mentions = mentions or Mentions(layers, max(each.shape[1] for each in own.right.values()))
                own.add(mentions)
    if mentions is None:
        raise InputError("corpus: expected at least one sentence, found none")
    meta = described(model, corpus)
    meta["options"] = {"rows": rows, "window": size, "limit": limit, "batch_size": batch_size}
    meta |= {"command": COMMAND.get(), "seconds": round(time.monotonic() - started, 3)}
    if isinstance(corpus, Corpus):
        meta["broken"] = [str(error) for error in corpus.broken]
    return dataset(mentions, seed=seed, replicates=replicates, meta=meta)


class _Window:
    """A window's mentions and what heads predict for them."""

    def __init__(self, example: Example) -> None:
        assert example.words is not None
        assert example.heads is not None
        self.example = example
        self._mentions: list[Mentioned] = mentioned(
            example.mentions or (), example.words, example.heads, example.tags or (), example.features or ()
        )
        self._items: list[Item] = evaluated(self._mentions)
        self._among = [
            [candidates(kind, item, self._mentions, len(example.words)) for item in self._items]
            for kind in CANDIDATES
        ]
        self.right: dict[int, npt.NDArray[np.bool_]] = {}

    def look(self, layer: int, maps: npt.NDArray[Any]) -> None:
        """Predictions of one layer, from its maps ``[head word word]``."""
        found = np.zeros((len(CANDIDATES), len(maps), len(self._items)), np.bool_)
        for kind, among in enumerate(self._among):
            for place, (item, words) in enumerate(zip(self._items, among, strict=True)):
                best = words[maps[:, item.mention.head][:, words].argmax(-1)]
                found[kind, :, place] = np.isin(best, list(item.right))
        self.right[layer] = found

    def add(self, mentions: Mentions) -> None:
        """Count them."""
        count = len(self._items)
        right = np.zeros((len(CANDIDATES), len(mentions.layers), mentions.heads, count), np.bool_)
        for layer, number in enumerate(mentions.layers):
            own = self.right[number]
            right[:, layer, : own.shape[1]] = own
        predicted = [by_rules(item) for item in self._items]
        rules = np.array(
            [
                [one[rule] in item.right for one, item in zip(predicted, self._items, strict=True)]
                for rule in RULES
            ],
            np.bool_,
        ).reshape(len(RULES), count)
        mentions.add([item.mention.type for item in self._items], right, rules, self.example.document)


def windows(model: Model, examples: Iterable[Example], window: int) -> Iterator[Example]:
    """Runs of whole sentences of a document that fit into a window, encoded."""
    around = len(model.encode("A")) - sum(model.count(["A"]))
    for _, document in groupby(examples, key=lambda example: example.document):
        run: list[Example] = []
        room = window - around
        for example in document:
            if example.words is None or example.heads is None or example.tags is None:
                raise example.error("expected a sentence with words, a tree and tags, found none")
            if example.mentions is None:
                raise example.error("expected coreference (# global.Entity and Entity= in MISC), found none")
            pieces = sum(model.count([" ".join(example.words)]))
            if pieces > window - around:
                raise example.error(
                    f"expected at most {window} tokens in a sentence, found {pieces + around}; give a larger window"
                )
            if pieces > room:
                yield _joined(model, run)
                run, room = [], window - around
            run.append(example)
            room -= pieces
        if run:
            yield _joined(model, run)


def _joined(model: Model, run: Sequence[Example]) -> Example:
    """Some sentences as one input."""
    words: list[str] = []
    heads: list[int] = []
    tags: list[str] = []
    features: list[Any] = []
    spans: list[Mention] = []
    spaces: list[bool] = []
    for example in run:
        assert example.words is not None
        offset = len(words)
        words += example.words
        heads += [head if head < 0 else head + offset for head in example.heads or ()]
        tags += example.tags or ()
        spaces += example.spaces or ()
        features += example.features or [{}] * len(example.words)
        spans += [
            Mention(start + offset, end + offset, cluster) for start, end, cluster in example.mentions or ()
        ]
    first = run[0]
    return replace(
        first,
        words=words,
        heads=heads,
        relations=None,
        tags=tags,
        features=features,
        mentions=spans,
        spaces=spaces if len(spaces) == len(words) else None,
        tokens=model.from_words(words),
    )


def estimate(
    model: Model, corpus: Corpus, *, limit: int | None = None, batch_size: int = 32, **options: Any
) -> str:
    """One line that says what `headscope.coreference` will take with these options."""

    def work(sample: Sequence[Example]) -> object:
        return coreference(model, sample, batch_size=batch_size, **options)

    told = ahead(corpus, corpus.encoded(model), limit)
    return line(model, told, work, "sentence", *BOOTSTRAP, together=True)
