"""What each head of a model does, from a corpus and from repeated random tokens."""

from __future__ import annotations

from copy import copy
from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.measure.run import measure
from headscope.analyses.roles import statistics as definitions
from headscope.analyses.roles.synthetic import repeated_tokens
from headscope.corpora import Corpus
from headscope.measures.dataset import description
from headscope.measures.patterns import SINK_TOKENS
from headscope.models import Model
from headscope.stream.rare import with_rarest

_MEASURES = tuple(role.measure for role in definitions.ROLES if not role.causal)
_WINDOW = (
    2 * SINK_TOKENS
)  # lines are packed into so many tokens to look for sinks: most inputs then have SINK_TOKENS


def roles(
    model: Model,
    corpus: Corpus,
    *,
    level: float = 0.05,
    batch_size: int = 32,
    limit: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> pd.DataFrame:
    """The roles of every head, with scores, confidence intervals, thresholds and q.

    The corpus is read twice: for the frequencies of tokens, and to be measured. For a causal model it is read a third
    time, in inputs of up to 256 tokens where lines are packed, to look for sinks (inputs of at least 128 tokens), and
    induction and duplicate-token heads are told from 64 sequences of repeated random tokens.

    Args:
        model: from `headscope.load`.
        corpus: of at least two documents.
        level: the expected share of wrong roles among those named.
        batch_size, limit, progress: as in `headscope.measure`.
        seed: of the random tokens.

    Returns:
        One row a role, with `headscope.analyses.roles.statistics.COLUMNS`; ``attrs["meta"]`` says what made it (under
        ``sinks`` the share of heads, of all and by layer, whose first token is a sink), ``attrs["roles"]`` where
        thresholds come from, and ``attrs["untested"]`` which roles were not tested, and why.

    >>> table = hs.roles(model, hs.corpora.builtin(), limit=20)
    >>> table[(table["layer"] == 0) & (table["head"] == 2)]["role"].tolist()
    ['previous token']
    """
    text = with_rarest(model, corpus, limit=limit)
    options: dict[str, Any] = {"batch_size": batch_size, "limit": limit}
    datasets = [measure(model, text, measures=_MEASURES, progress=progress, **options)]
    meta = description(datasets[0])
    meta["corpus"]["name"] = corpus.name
    if model.causal:
        long = measure(model, _long(model, corpus), measures=["sink", "first"], **options)
        if "sink" in long:
            share = definitions.sinks(long)
            meta["sinks"] = {"all": share.attrs["all"], "by_layer": share.values.tolist()}
            datasets.append(long)
        repeated = repeated_tokens(model, seed=seed)
        datasets.append(measure(model, repeated, measures=["induction", "duplicate"], batch_size=batch_size))
        meta["repeated_tokens"] = {"sequences": len(repeated), "seed": seed}
    table = definitions.roles(*datasets, level=level)
    meta |= {"level": level, "tests": table.attrs["tests"], "untested": table.attrs["untested"]}
    table.attrs["meta"] = meta
    return table


def _long(model: Model, corpus: Corpus) -> Corpus:
    """The corpus in inputs that are long enough for sinks, where lines are packed."""
    long = copy(corpus)
    if corpus.pack is not None:
        long.pack = max(corpus.pack, min(_WINDOW, model.max_length or _WINDOW))
    return long
