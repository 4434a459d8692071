"""What a list of heads is made of, document by document, and whether two halves of them agree on its top."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headscope.analyses.contribution.importance import gates
from headscope.analyses.roles.retrieval.needles import hidden, words_of
from headscope.analyses.roles.retrieval.run import looked_at
from headscope.analyses.roles.run import NEEDLE_TEXT, NEEDLES
from headscope.attention.objective import Objective
from headscope.core.arrays import Floats
from headscope.corpora import Corpus, Example
from headscope.corpora.readers import builtin
from headscope.measures.choose import choose
from headscope.models import Model
from headscope.runs.batches import examples, over_blocks, tokens_of
from headscope.runs.options import RunOptions
from headscope.runs.task import Task
from headscope.statistics.overlap import Overlap, overlap

Work = Callable[[Sequence[Example]], tuple[Floats, Floats]]
"""Sums and counts ``[input list layer head]`` of a batch."""


@dataclass(frozen=True)
class Read:
    """What was read of a corpus, and the overlap of each list.

    Attributes:
        name: of the corpus.
        sha256: of the pieces of all inputs, in their order.
        documents, inputs, tokens: how many.
        overlaps: by list; None with too few documents.
    """

    name: str
    sha256: str
    documents: int
    inputs: int
    tokens: int
    overlaps: dict[str, Overlap | None]


def of_measures(
    model: Model, corpus: Corpus | Iterable[Example], measures: Sequence[str], options: RunOptions, seed: int
) -> Read:
    """What is read where these measures are taken."""
    task = Task(model, choose(measures))

    def work(batch: Sequence[Example]) -> tuple[Floats, Floats]:
        measured = task.measured(batch)
        return measured.sums, measured.divisors

    return _read(model, corpus, [one.name for one in task.measures], work, options, seed)


def of_importance(
    objective: Objective, corpus: Corpus | Iterable[Example], options: RunOptions, seed: int
) -> Read:
    """What is read where importance is taken."""

    def work(batch: Sequence[Example]) -> tuple[Floats, Floats]:
        values = gates(objective, [tokens_of(example) for example in batch]).values
        return values, np.ones_like(values)

    return _read(objective.model, corpus, ["importance"], work, options, seed)


def of_needles(model: Model, seed: int) -> Overlap | None:
    """The overlap of retrieval's list over two halves of the needles that roles are tested with."""
    length = min(NEEDLE_TEXT, model.max_length or NEEDLE_TEXT)
    made = hidden(model, words_of(builtin(pack=None)), NEEDLES, (length,), seed)
    rows = [looked_at(model, needle, lambda _: None) for needle in made]
    s = np.stack([np.asarray(row["hits"], np.float64).ravel() for row in rows])
    n = np.array([float(row["produced"]) for row in rows])
    return overlap(s, np.repeat(n[:, None], s.shape[1], 1), seed=seed)


def _read(
    model: Model,
    corpus: Corpus | Iterable[Example],
    names: Sequence[str],
    work: Work,
    options: RunOptions,
    seed: int,
) -> Read:
    digest, inputs, tokens = hashlib.sha256(), 0, 0
    sums: dict[int, tuple[Floats, Floats]] = {}
    read = examples(model, corpus, options.limit)
    for block in over_blocks(model, corpus, work, options, inputs=read, title="halves"):
        for batch, (s, n) in block:
            for example, *values in zip(batch, s, n, strict=True):
                pieces = tokens_of(example).pieces
                digest.update("\n".join([*pieces, ""]).encode())
                inputs, tokens = inputs + 1, tokens + len(pieces)
                before = sums.get(example.document, (0.0, 0.0))
                sums[example.document] = (before[0] + values[0], before[1] + values[1])
    both = [np.stack([sums[document][side] for document in sorted(sums)]) for side in (0, 1)]
    flat = [array.reshape(len(sums), len(names), -1) for array in both]
    overlaps = {
        name: overlap(flat[0][:, place], flat[1][:, place], seed=seed) for place, name in enumerate(names)
    }
    name = corpus.name if isinstance(corpus, Corpus) else "repeated random tokens"
    return Read(name, digest.hexdigest(), len(sums), inputs, tokens, overlaps)
