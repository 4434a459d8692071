"""What heads do off the sink: the same measures where the first token is no key.

A head that parks its attention on the first token scores little anywhere else. With that key hidden, the softmax over
the others is the head's own attention with the sink's mass taken out, put to sum to 1 again. The first row keeps the
only key it has; a learned sink that is no key (gpt-oss) is left out as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
import xarray as xr

from headscope.analyses.roles.offsets import Look
from headscope.attention.record import AttentionRecord
from headscope.measures.choose import choose
from headscope.measures.dataset import dataset
from headscope.models import Model

OFF = "_off"
"""What stands behind the name of a measure that was taken off the sink."""


def off_sink(record: AttentionRecord) -> AttentionRecord:
    """The same call with the first key hidden from all queries but the first."""
    _, _, queries, keys = record.shape
    seen = torch.ones(queries, keys, dtype=torch.bool, device=record.q.device)
    seen[1:, 0] = False
    return replace(record.seeing(seen), sinks=None)


def look_off(model: Model, measures: Sequence[str], of_tokens: Sequence[str]) -> Look:
    """What looks at a causal model off the sink: `measures`, and of those `of_tokens` what own offsets score there."""
    return Look(
        model, [name for name in measures if name in of_tokens], change=off_sink, measures=choose(measures)
    )


def measured_off(model: Model, measures: Sequence[str], seen: Look) -> xr.Dataset:
    """What was seen off the sink, as `headscope.measure` gives it, each measure named with `OFF`."""
    measured = dataset(seen.sums(), choose(measures), causal=model.causal)
    scores = {name: score for name, score in seen.scores().items() if name in measured}
    measured = measured.assign(
        {f"{name}_offsets": (("layer", "head"), score) for name, score in scores.items()}
    )
    of = {
        str(name): next(measure for measure in measures if _part_of(str(name), measure))
        for name in measured.data_vars
    }
    return measured.rename({name: f"{of[name]}{OFF}{name.removeprefix(of[name])}" for name in of})


def _part_of(variable: str, measure: str) -> bool:
    rest = variable.removeprefix(measure)
    return rest == "" or (
        rest != variable and rest in ("_se", "_n", "_chance", "_documents", "_skewness", "_offsets")
    )
