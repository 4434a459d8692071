"""The measures of each input by itself, in every head."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from headscope.core.arrays import Ints, Singles
from headscope.core.tokens import Tokens
from headscope.corpora import Corpus, Example
from headscope.measures.choose import choose
from headscope.measures.measure import Measure, without
from headscope.models import Model
from headscope.runs.batches import Numbered, examples, over_blocks, tokens_of
from headscope.runs.options import RunOptions
from headscope.runs.task import Task

IN_MEMORY = 1 << 28
"""Values of up to so many bytes are held in memory; more stay in a temporary file."""


@dataclass(frozen=True, eq=False)
class Values:
    """The mean of each input, measure by measure, head by head.

    Attributes:
        values: ``[input measure layer head]``; NaN where an input has no row that counts, or a layer no such head.
        measures: the definitions; those that no input has are left out.
        layers: the model's index of each layer.
        inputs: in the order of the corpus.
        absent: which measures no input has, and why.
    """

    values: Singles
    measures: Sequence[Measure]
    layers: Sequence[int]
    inputs: Sequence[Example]
    absent: dict[str, str]

    @property
    def labels(self) -> list[str | None]:
        """What the corpus says of each input; None for nothing."""
        return [None if one.label is None else str(one.label) for one in self.inputs]

    @property
    def documents(self) -> Ints:
        """The number of each input's document."""
        return np.array([one.document for one in self.inputs], np.int64)

    @property
    def tokens(self) -> list[Tokens]:
        """Of each input, special ones included."""
        return [tokens_of(one) for one in self.inputs]


def values(
    model: Model,
    corpus: Corpus | Iterable[Example],
    measures: Sequence[str | Measure],
    options: RunOptions | None = None,
) -> Values:
    """Measure each input of a corpus by itself.

    Args:
        model: from `headscope.load`.
        corpus: from `headscope.corpora`, or examples that have their tokens.
        measures: names or definitions.
        options: how it goes through the corpus.

    Raises:
        InputError: no input, or no measure that any input has.
        RunError: the model failed on an input, which the message names.
    """
    options = options or RunOptions()
    definitions = choose(measures)
    task = Task(model, definitions, "segment")
    inputs = Numbered(examples(model, corpus, options.limit))
    counts: Counter[str] = Counter()
    order: list[int] = []
    layers: Sequence[int] = ()
    shape: tuple[int, ...] = ()
    over = over_blocks(model, corpus, task.measured, options, inputs=inputs)
    with tempfile.TemporaryFile() as file:
        for batch, sums in chain.from_iterable(over):
            by = sums.divisors
            means = np.where(by > 0, sums.sums / np.where(by > 0, by, 1.0), np.nan).astype(np.float32)
            layers, shape = sums.layers, means.shape[1:]
            file.write(means.tobytes())
            for example in batch:
                order.append(inputs.number(example))
                counts += _classes(tokens_of(example))
        means = _sorted(file, np.argsort(order), (len(order), *shape))
    there = [bool(np.isfinite(means[:, row]).any()) for row in range(len(definitions))]
    absent = without(definitions, model.causal, counts, there)
    kept = [row for row, measure in enumerate(definitions) if measure.name not in absent]
    means = means if len(kept) == len(definitions) else means[:, kept]
    return Values(means, [definitions[row] for row in kept], layers, inputs.seen, absent)


def _classes(tokens: Tokens) -> Counter[str]:
    counts = Counter({name: int(mask.sum()) for name, mask in tokens.classes.items()})
    if tokens.special_mask is not None:
        counts["special"] = int(tokens.special_mask.sum())
    return counts


def _sorted(file: Any, order: Ints, shape: tuple[int, ...]) -> Singles:
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
