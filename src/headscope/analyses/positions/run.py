"""Shares of every head's attention by distance and by position, over a corpus."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from headscope.analyses.measure.run import measure
from headscope.core.validation import Count, validated
from headscope.corpora import Corpus
from headscope.measures import positions as definitions
from headscope.measures.dataset import measure_of
from headscope.models import Model

UNBOUNDED = 1 << 17
"""Up to so many tokens back is looked where a model sets no limit."""


@validated
def positions(
    model: Model,
    corpus: Corpus,
    *,
    known: xr.Dataset | None = None,
    limit: Count | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """The measures of `headscope.measures.positions` that say something of a corpus, as `headscope.measure` has them.

    Args:
        model: from `headscope.load`.
        corpus: from `headscope.corpora`.
        known: figures of the same corpus that need not be taken again.
        limit, progress: as in `headscope.measure`.
    """
    names = wanted(model)
    have = [name for name in names if known is not None and name in known]
    result = measure(
        model, corpus, measures=[name for name in names if name not in have], limit=limit, progress=progress
    )
    if known is not None:
        kept = [str(name) for name in known.data_vars if measure_of(known, str(name)) in have]
        result = result.assign({name: known[name] for name in kept})
    order = [name for name in names if name in result]
    return result[sorted(map(str, result.data_vars), key=lambda name: order.index(measure_of(result, name)))]


def wanted(model: Model) -> Sequence[str]:
    """The measures by position and by distance up to a model's longest input, as they stand on a page."""
    most = model.max_length or UNBOUNDED
    return [*definitions.positions(), *definitions.distances(most, causal=model.causal)]
