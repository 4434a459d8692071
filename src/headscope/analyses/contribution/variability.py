"""How much a head's attention differs between inputs: content against position (Vig & Belinkov 2019)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import xarray as xr

from headscope.analyses.result import returns_result
from headscope.attention.parts import doubles
from headscope.core.arrays import Floats, quiet
from headscope.core.validation import Count, validated
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.measures.sums import Gathering, Ratios
from headscope.models import Model
from headscope.models.weights import not_finite
from headscope.runs.batches import cut, examples, tokens_of
from headscope.runs.forward import self_attention


@returns_result
@validated
def variability(
    model: Model, corpus: Corpus, *, tokens: int = 10, batch_size: Count = 32, limit: Count | None = None
) -> xr.Dataset:
    """Attention variability of every head: 0 where it depends on position alone, up to 1 where on the input alone.

    ``Σₓ Σᵢ Σⱼ |αᵢⱼ(x) − ᾱᵢⱼ| / (2 Σₓ Σᵢ Σⱼ αᵢⱼ(x))``, where ᾱ is the mean over inputs x, and i and j are among the
    first `tokens` tokens (10 in the paper) of inputs that have as many. Source: Vig & Belinkov 2019, attention
    variability.

    Example: one row gives (1, 0) in one input and (0, 1) in another: ᾱ = (½, ½), and (½ + ½ + ½ + ½) / (2 · 2) = 0.5.
    With ever more places for it to go, it tends to 1; uniform attention in inputs of one length has 0.

    The corpus is read twice, for ᾱ and for the differences; memory does not depend on its length. Of a causal model
    only the first tokens are run.

    Args:
        model: from `headscope.load`.
        corpus: read twice.
        tokens: how many first tokens.
        batch_size, limit: as in `headscope.measure`.

    Returns:
        A dataset over ``(layer, head)`` with ``variability``, ``_se`` (of the ratio, a jackknife by document, with ᾱ
        taken as known), ``_n`` (inputs) and ``_chance`` (uniform attention, which differs with the inputs' lengths).

    Raises `InputError` where fewer than two inputs have so many tokens.

    >>> result = variability(headscope.load(), headscope.corpora.builtin(), limit=4)
    >>> bool((result.variability >= 0).all() and (result.variability <= 1).all())
    True
    """
    if tokens < 2:
        raise InputError(f"tokens: expected at least 2, found {tokens}")
    layers: list[int] = []
    mean, inputs = np.zeros(()), 0
    for block in _corners(model, corpus, tokens, batch_size, limit, layers):
        for _, weights in block:
            mean = mean + weights
            inputs += 1
    if inputs < 2:
        raise InputError(f"corpus: expected at least two inputs of {tokens} tokens, found {inputs}")
    mean /= inputs
    total: Ratios | None = None
    for block in _corners(model, corpus, tokens, batch_size, limit, layers):
        gathering = Gathering(Ratios)
        for document, weights in block:
            differences = np.abs(weights - mean).sum((2, 3)) / 2
            gathering.gather(document, (differences, weights.sum((2, 3))), Counter())
        total = gathering.close() if total is None else total + gathering.close()
    assert total is not None
    documents = total.counts["documents"]
    with quiet():
        value: Floats = total.s / total.n
        squares = np.maximum(total.ss - 2 * value * total.sn + value**2 * total.nn, 0.0)
        error: Floats = np.sqrt(documents / max(1, documents - 1) * squares) / total.n
    if documents < 2:
        error = np.full_like(value, np.nan)
    attrs = {
        "title": "attention variability",
        "description": f"How far the attention among the first {tokens} tokens is from its mean over inputs.",
        "units": "share",
        "by": "token",
        "over": "pieces",
        "source": "Vig & Belinkov 2019, attention variability",
        "keys": "vig2019structure",
        "documents": documents,
    }
    axes = ("layer", "head")
    there = np.isfinite(value[:, :-1])
    return xr.Dataset(
        {
            "variability": (axes, value[:, :-1], attrs),
            "variability_se": (axes, error[:, :-1]),
            "variability_n": (axes, np.where(there, float(inputs), np.nan), {"units": "inputs"}),
            "variability_chance": (axes[:1], value[:, -1]),
        },
        coords={"layer": layers, "head": np.arange(value.shape[1] - 1)},
    )


def _corners(
    model: Model, corpus: Corpus, tokens: int, batch_size: int, limit: int | None, layers: list[int]
) -> Iterator[Iterator[tuple[int, Floats]]]:
    """By block, in which all of a document is, the document of each input that has as many tokens, and its first rows
    and columns ``[layer head query key]``; the last head is uniform attention over the visible keys."""
    inputs = examples(model, corpus, limit)
    long = (_cut(model, example, tokens) for example in inputs if len(example.tokens or ()) >= tokens)
    for block in cut(long, batch_size):
        yield (
            (example.document, weights)
            for batch in block
            for example, weights in zip(batch, _run(model, batch, tokens, layers), strict=True)
        )


def _cut(model: Model, example: Example, tokens: int) -> Example:
    """The first tokens of an input, where those that follow do not matter."""
    if not model.causal or example.tokens is None:
        return example
    return replace(example, tokens=example.tokens.take(slice(0, tokens)))


def _run(model: Model, batch: list[Example], tokens: int, layers: list[int]) -> Floats:
    """``[input layer head query key]``; NaN for heads that a layer does not have; the last one is uniform."""
    records = self_attention(model, [tokens_of(example) for example in batch])
    layers[:] = [record.layer for record in records]
    heads, rows = max(record.shape[1] for record in records), slice(0, tokens)
    result = np.full((len(batch), len(records), heads + 1, tokens, tokens), np.nan)
    for index, record in enumerate(records):
        corner = doubles(record.weights(rows)[..., :tokens])
        if not np.isfinite(corner).all():
            raise not_finite(
                model.name, model.module, f"{batch[0].source}: attention of layer {record.layer}"
            )
        seen = record.sight(rows).expand(-1, -1, tokens, record.shape[3])
        uniform = doubles((seen.double() / seen.sum(-1, keepdim=True)).mean(1))
        result[:, index, : record.shape[1]], result[:, index, -1] = corner, uniform[..., :tokens]
    return result
