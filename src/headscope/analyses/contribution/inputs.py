"""Figures that each input gives for every head, averaged over the inputs of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from headscope.core.arrays import Floats
from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping
from headscope.corpora import Corpus, Example
from headscope.measures.dataset import dataset
from headscope.measures.measure import Measure
from headscope.measures.sums import Documents, Sums
from headscope.models import Model
from headscope.models.weights import not_finite
from headscope.runs.batches import examples, over_blocks, tokens_of
from headscope.runs.long import described
from headscope.runs.options import RunOptions


class Figures(NamedTuple):
    """What the inputs of a batch give.

    Attributes:
        layers: the model's index of each layer.
        values: ``[input figure layer head]``, NaN for heads that a layer does not have.
        there: 1 where an input has the figure and 0 where not ``[input figure]``; by default it has all.
    """

    layers: Sequence[int]
    values: Floats
    there: Floats | None = None


def over_inputs(
    model: Model,
    corpus: Corpus | Iterable[Example],
    definitions: Sequence[Measure],
    figures: Callable[[Sequence[Tokens]], Figures],
    *,
    title: str,
    options: RunOptions,
    asked: AnyMapping,
    meta: Callable[[], AnyMapping],
    seen: Callable[[Example, Floats, Floats], None] | None = None,
) -> xr.Dataset:
    """The mean over inputs of what each of them gives, with errors by document.

    Args:
        model, corpus: as in `headscope.measure`.
        definitions: what the figures of `figures` are, in their order.
        figures: of the inputs of a batch.
        title: of the bar of progress.
        options: how it goes through the corpus.
        asked: what else was asked for, for the record.
        meta: more for the record, asked for at the end.
        seen: is shown each input, its figures ``[figure layer head]``, and 1 for each that it has.

    Raises `InputError` for a corpus without inputs, and `RunError` that names the input at which the model failed.
    """
    names = [definition.name for definition in definitions]
    inputs = examples(model, corpus, options.limit)
    over = over_blocks(
        model,
        corpus,
        lambda batch: figures([tokens_of(example) for example in batch]),
        options,
        inputs=inputs,
        title=title,
    )
    total: Sums | None = None
    for block in over:
        documents = Documents(names, "segment")
        for batch, (layers, values, there) in block:
            there = np.ones(values.shape[:2]) if there is None else there
            for example, value, count in zip(batch, values, there, strict=True):
                if np.isinf(value).any() or np.isnan(value).all():
                    raise not_finite(model.name, model.module, f"{example.place}: {title}")
                chance = np.full(value.shape[:2], np.nan)
                documents.add(example.document, tokens_of(example), layers, value, chance, count)
                if seen is not None:
                    seen(example, value, np.broadcast_to(count[:, None, None], value.shape))
        total = documents.close() if total is None else total + documents.close()
    assert total is not None
    record = {**described(model, corpus, inputs), **meta()}
    given = {**asked, "batch_size": options.batch_size, "limit": options.limit}
    record["options"] = {name: value for name, value in given.items() if value is not None}
    return dataset(total, definitions, by="segment", causal=model.causal, meta=record)
