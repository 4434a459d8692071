"""The measures of each input by itself, in every head."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headscope.attention.objective import Objective
from headscope.attention.objective import objective as make_objective
from headscope.corpora import Corpus, Example
from headscope.measures.choose import choose
from headscope.measures.measure import Measure, without
from headscope.models import Model, expect_model
from headscope.stream.batches import Numbered, examples, over_batches, tokens_of
from headscope.stream.task import Task
from headscope.tokens import Tokens

Singles = npt.NDArray[np.float32]

IN_MEMORY = 1 << 28
"""Values of up to so many bytes are held in memory; more stay in a temporary file."""


@dataclass(frozen=True, eq=False)
class Values:
    """The mean of each input, measure by measure, head by head.

    Attributes:
        values: ``[input measure layer head]``; NaN where an input has no row that counts, or a layer no such head.
        measures: the definitions; those that no input has are left out.
        layers: the model's index of each layer.
        labels: what the corpus says of each input, as a string; None for nothing.
        documents: the number of each input's document.
        lengths: tokens of each input, special ones included.
        sources: where each input begins.
        tokens: of each input.
        absent: which measures no input has, and why.
    """

    values: Singles
    measures: Sequence[Measure]
    layers: Sequence[int]
    labels: Sequence[str | None]
    documents: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    sources: Sequence[str]
    tokens: Sequence[Tokens]
    absent: dict[str, str]


def values(
    model: Model,
    corpus: Corpus | Iterable[Example],
    measures: Sequence[str | Measure],
    *,
    objective: str | Objective | None = None,
    batch_size: int = 32,
    limit: int | None = None,
    progress: bool = False,
) -> Values:
    """Measure each input of a corpus by itself.

    Args:
        model: from `headscope.load`.
        corpus: from `headscope.corpora`, or examples that have their tokens.
        measures: names or definitions.
        objective: of measures ``gradient_…``, as in `headscope.measure`.
        batch_size, limit, progress: as in `headscope.measure`.

    Raises:
        InputError: no input, or no measure that any input has.
        RunError: the model failed on an input, which the message names.
    """
    expect_model(model)
    chosen = choose(measures)
    of = make_objective(model, objective) if any(one.matrix == "gradient" for one in chosen) else None
    task = Task(model, chosen, "segment", None, of)
    inputs = Numbered(examples(model, corpus, limit))
    counts: Counter[str] = Counter()
    places: list[int] = []
    layers: Sequence[int] = ()
    shape: tuple[int, ...] = ()
    over = over_batches(
        model,
        corpus,
        task.measured,
        inputs=inputs,
        batch_size=batch_size,
        limit=limit,
        progress=progress,
    )
    with tempfile.TemporaryFile() as file:
        for batch, sums in over:
            by = sums.divisors[:, :, None, None]
            means = np.where(by > 0, sums.sums / np.where(by > 0, by, 1.0), np.nan).astype(np.float32)
            layers, shape = sums.layers, means.shape[1:]
            file.write(means.tobytes())
            for example in batch:
                places.append(inputs.number(example))
                counts += _classes(tokens_of(example))
        means = _sorted(file, np.argsort(places), (len(places), *shape))
    there = [bool(np.isfinite(means[:, place]).any()) for place in range(len(chosen))]
    absent = without(chosen, model.causal, counts, there)
    kept = [place for place, measure in enumerate(chosen) if measure.name not in absent]
    seen = inputs.seen
    return Values(
        means if len(kept) == len(chosen) else means[:, kept],
        [chosen[place] for place in kept],
        layers,
        [None if one.label is None else str(one.label) for one in seen],
        np.array([one.document for one in seen], np.int64),
        np.array([len(tokens_of(one)) for one in seen], np.int64),
        [one.source for one in seen],
        [tokens_of(one) for one in seen],
        absent,
    )


def _classes(tokens: Tokens) -> Counter[str]:
    counts = Counter({name: int(mask.sum()) for name, mask in tokens.classes.items()})
    if tokens.special_mask is not None:
        counts["special"] = int(tokens.special_mask.sum())
    return counts


def _sorted(file: Any, order: npt.NDArray[np.int64], shape: tuple[int, ...]) -> Singles:
    """What was written, in the order of the corpus: in memory, or large ones in a file that goes when it is closed."""
    file.flush()
    written = np.memmap(file, np.float32, "r", shape=shape)
    if written.nbytes <= IN_MEMORY:
        return np.array(written[order])
    kept = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the array)
    ordered = np.memmap(kept, np.float32, "w+", shape=shape)
    for start in range(0, len(order), 256):
        ordered[start : start + 256] = written[order[start : start + 256]]
    return ordered
