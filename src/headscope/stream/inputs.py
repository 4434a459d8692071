"""Figures that each input gives for every head, averaged over the inputs of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from headscope.corpora import Corpus, Example, blocks
from headscope.errors import HeadscopeError, InputError, RunError
from headscope.measures.measure import Measure
from headscope.measures.sums import Documents, Floats, Sums
from headscope.models import Model
from headscope.stream.long import examples
from headscope.stream.progress import bar
from headscope.stream.task import TOKENS_PER_INPUT, named, tokens_of
from headscope.tokens import Tokens


class Figures(NamedTuple):
    """What the inputs of a batch give.

    Attributes:
        layers: the model's index of each layer.
        values: ``[input figure layer head]``, NaN for heads not there.
        there: 1 where an input has the figure and 0 where not ``[input figure]``; by default it has all.
    """

    layers: Sequence[int]
    values: Floats
    there: Floats | None = None


def over_inputs(
    model: Model,
    corpus: Corpus | Iterable[Example],
    names: Sequence[str],
    figures: Callable[[Sequence[Tokens]], Figures],
    *,
    batch_size: int,
    limit: int | None,
    progress: bool,
    title: str,
) -> Sums:
    """The sums over a corpus of what each input gives; a figure is then a mean over inputs.

    Raises `InputError` for a corpus without inputs, and `RunError` that names the input at which the model failed.
    """
    for name, value in (("batch_size", batch_size), ("limit", limit)):
        if value is not None and value < 1:
            raise InputError(f"{name}: expected at least 1, found {value}")
    total: Sums | None = None
    most = batch_size * TOKENS_PER_INPUT
    with bar(corpus, limit, progress, title) as done:
        for block in blocks(examples(model, corpus, limit), batch_size=batch_size, tokens_per_batch=most):
            gathered = Documents(names, "segment")
            for batch in block:
                tokens = [tokens_of(example) for example in batch]
                found = _figures(figures, batch, tokens)
                there = np.ones(found.values.shape[:2]) if found.there is None else found.there
                for example, each, values, count in zip(batch, tokens, found.values, there, strict=True):
                    if np.isinf(values).any() or np.isnan(values).all():
                        raise RunError(f"{example.source}: expected finite figures, found others")
                    chance = np.full(values.shape[:2], np.nan)
                    gathered.add(example.document, each, found.layers, values, chance, count)
                done(len(batch))
            sums = gathered.close()
            total = sums if total is None else total + sums
    if total is None:
        raise InputError("corpus: expected at least one input, found none")
    return total


def figure(name: str, title: str, description: str, units: str, source: str) -> Measure:
    """What a figure of each input is called; it is not computed from rows."""
    return Measure(name, title, description, units, source, "rows")


def _figures(
    figures: Callable[[Sequence[Tokens]], Figures], batch: Sequence[Example], tokens: Sequence[Tokens]
) -> Figures:
    try:
        return figures(tokens)
    except HeadscopeError:
        raise
    except Exception as error:
        raise named(error, batch, figures) from error
