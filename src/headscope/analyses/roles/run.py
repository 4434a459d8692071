"""What each head of a model does, from a corpus and from repeated random tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.measure.run import measure
from headscope.analyses.roles import statistics as definitions
from headscope.analyses.roles.off_sink import measured_off
from headscope.analyses.roles.offsets import offset_scores
from headscope.analyses.roles.synthetic import repeated_tokens
from headscope.corpora import Corpus, Example
from headscope.doors import Count, Level, Seed, validated
from headscope.measures.dataset import description
from headscope.measures.patterns import SINK_TOKENS
from headscope.models import Model, expect_model
from headscope.stream.inputs import unwatched
from headscope.stream.rare import with_rarest

_MEASURES = tuple(role.measure for role in definitions.ROLES if not role.causal)
SEQUENCES = 64
"""Of repeated random tokens."""

_WINDOW = (
    2 * SINK_TOKENS
)  # lines are packed into so many tokens to look for sinks: most inputs then have SINK_TOKENS


@validated
def roles(
    model: Model,
    corpus: Corpus,
    *,
    level: Level = 0.05,
    batch_size: Count = 32,
    limit: Count | None = None,
    seed: Seed = 0,
    progress: bool = False,
) -> pd.DataFrame:
    """The roles of every head, with scores, confidence intervals, thresholds and q.

    The corpus is read twice: for the frequencies of tokens, and to be measured. For a causal model it is read a third
    time, in inputs of up to 256 tokens where lines are packed, to look for sinks (inputs of at least 128 tokens), and
    induction and duplicate-token heads are told from 64 sequences of repeated random tokens. Where heads have a sink,
    corpus and random tokens are read once more, to tell what these heads do off it: roles whose name ends so are of the
    attention with the first token taken out, put to sum to 1 again.

    Args:
        model: from `headscope.load`.
        corpus: of at least five documents.
        level: the expected share of wrong roles among those named.
        batch_size, limit, progress: as in `headscope.measure`.
        seed: of the random tokens.

    Returns:
        One row a role, with `headscope.analyses.roles.statistics.COLUMNS`, and one row with the nearest role of each
        head that has none; ``attrs["meta"]`` says what made it (under
        ``sinks`` the share of heads, of all and by layer, whose first token is a sink), ``attrs["roles"]`` where
        thresholds come from, and ``attrs["untested"]`` which roles were not tested, and why.

    >>> table = hs.roles(model, hs.corpora.builtin(), limit=20)
    >>> table[(table["layer"] == 0) & (table["head"] == 2)]["role"].tolist()
    ['previous token']
    """
    every = every_role(model, corpus, batch_size=batch_size, limit=limit, seed=seed, progress=progress)
    table = definitions.named(every, level)
    told = {"level": level, "tests": len(every), "not_found": table.attrs["not_found"]}
    table.attrs["meta"] = every.attrs["meta"] | told
    return table


def every_role(
    model: Model,
    corpus: Corpus,
    *,
    batch_size: int = 32,
    limit: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> pd.DataFrame:
    """Every head against every role, a row each, whether it has it or not; the rest as in `roles`."""
    expect_model(model)
    datasets: list[xr.Dataset] = []
    read: list[tuple[Corpus | Iterable[Example], Sequence[str]]] = []
    for place, (inputs, measures) in enumerate(readings(model, corpus, limit=limit, seed=seed)):
        inputs = inputs if isinstance(inputs, Corpus) else list(inputs)
        shown = progress and not place
        with unwatched():  # unknown pieces of the corpus are told where tokens are counted
            dataset = measure(
                model, inputs, measures=measures, batch_size=batch_size, limit=limit, progress=shown
            )
            datasets += with_offsets([dataset], model, inputs, batch_size=batch_size, limit=limit)
        read.append((inputs, measures))
    if model.causal and "sink" in datasets[1] and definitions.sinks(datasets[1]).attrs["all"] > 0:
        of_tokens = definitions.offset_measures()
        for inputs, measures in read:
            if names := definitions.off_measures(measures):
                tokens = [each for each in names if each in of_tokens]
                with unwatched():
                    off = measured_off(model, inputs, names, tokens, batch_size=batch_size, limit=limit)
                datasets.append(off)
    table = definitions.every(*datasets)
    meta = description(datasets[0])
    meta["corpus"]["name"] = corpus.name
    if model.causal:
        if "sink" in datasets[1]:
            share = definitions.sinks(datasets[1])
            meta["sinks"] = {"all": share.attrs["all"], "by_layer": share.values.tolist()}
        meta["repeated_tokens"] = {"sequences": SEQUENCES, "seed": seed}
    table.attrs["meta"] = meta | {"untested": table.attrs["untested"]}
    return table


def with_offsets(
    datasets: Sequence[xr.Dataset],
    model: Model,
    inputs: Corpus | Iterable[Example],
    *,
    batch_size: int = 32,
    limit: int | None = None,
) -> list[xr.Dataset]:
    """Datasets of the same inputs with what the heads' own offsets score, ``m_offsets``, where a role names tokens."""
    names = [name for name in definitions.offset_measures() if any(name in each for each in datasets)]
    if not names:
        return list(datasets)
    scores = offset_scores(model, inputs, names, batch_size=batch_size, limit=limit)
    return [
        each.assign({f"{name}_offsets": (("layer", "head"), scores[name]) for name in names if name in each})
        for each in datasets
    ]


def readings(
    model: Model, corpus: Corpus, *, limit: int | None = None, seed: int = 0
) -> Iterator[tuple[Corpus | Iterable[Example], Sequence[str]]]:
    """The inputs on which roles are told, and what is measured on each: the corpus, and more for a causal model."""
    yield with_rarest(model, corpus, limit=limit), _MEASURES
    if model.causal:
        yield _long(model, corpus), ("sink", "first")
        yield repeated_tokens(model, sequences=SEQUENCES, seed=seed), ("induction", "duplicate")


def _long(model: Model, corpus: Corpus) -> Corpus:
    """The corpus in inputs that are long enough for sinks, where lines are packed."""
    long = copy(corpus)
    if corpus.pack is not None:
        long.pack = max(corpus.pack, min(_WINDOW, model.max_length or _WINDOW))
    return long
