"""What heads do off the sink: the same measures where the first token is no key.

A head that parks its attention on the first token scores little anywhere else. With that key hidden, the softmax over
the others is the head's own attention with the sink's mass taken out, put to sum to 1 again. The first row keeps the
only key it has; a learned sink that is no key (gpt-oss) is left out as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import torch
import xarray as xr

from headscope.analyses.roles.offsets import offset_scores
from headscope.attention.record import AttentionRecord
from headscope.corpora import Corpus, Example
from headscope.measures.choose import choose
from headscope.measures.dataset import dataset
from headscope.models import Model
from headscope.stream.batches import cut, examples
from headscope.stream.task import Task

OFF = "_off"
"""What stands behind the name of a measure that was taken off the sink."""


def off_sink(record: AttentionRecord) -> AttentionRecord:
    """The same call with the first key hidden from all queries but the first."""
    _, _, queries, keys = record.shape
    seen = record.visible()
    if seen is None:
        seen = torch.ones(queries, keys, dtype=torch.bool, device=record.q.device)
    seen = seen.expand(*seen.shape[:-2], queries, keys).clone()
    seen[..., 1:, 0] = False
    mask = seen
    if record.mask is not None and record.mask.dtype != torch.bool:  # it may hold more than what is hidden
        mask = record.mask.expand(*record.mask.shape[:-2], queries, keys).clone()
        mask[..., 1:, 0] = -torch.inf
    given = None
    if record.given is not None:
        given = record.given * seen
        total = given.sum(-1, keepdim=True)
        given = given / torch.where(total > 0, total, 1.0)
    return replace(record, mask=mask, is_causal=False, sinks=None, given=given)


def measured_off(
    model: Model,
    corpus: Corpus | Iterable[Example],
    measures: Sequence[str],
    of_tokens: Sequence[str],
    *,
    batch_size: int = 32,
    limit: int | None = None,
) -> xr.Dataset:
    """Measures of every head off the sink, as `headscope.measure` gives them, each named with `OFF`.

    Args:
        model: from `headscope.load`, causal.
        corpus, batch_size, limit: as in `headscope.measure`.
        measures: names.
        of_tokens: those of them that get what the head's own offsets score off the sink, too.
    """
    chosen = choose(measures)
    task = Task(model, chosen, change=off_sink)
    batches = cut(examples(model, corpus, limit), batch_size, model)
    sums = task.block(chain.from_iterable(batches))
    found = dataset(sums, chosen, causal=model.causal)
    there = [name for name in of_tokens if name in found]
    if there:
        scores = offset_scores(model, corpus, there, batch_size=batch_size, limit=limit, change=off_sink)
        found = found.assign({f"{name}_offsets": (("layer", "head"), scores[name]) for name in there})
    of = {str(name): next(each for each in measures if _part_of(str(name), each)) for name in found.data_vars}
    return found.rename({name: f"{of[name]}{OFF}{name.removeprefix(of[name])}" for name in of})


def _part_of(variable: str, measure: str) -> bool:
    rest = variable.removeprefix(measure)
    return rest == "" or (
        rest != variable and rest in ("_se", "_n", "_chance", "_documents", "_skewness", "_offsets")
    )
