"""Reduce a stream of inputs, layer by layer as the model runs, to sums that merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import get_args

from headscope.attention.objective import Objective, objective
from headscope.corpora import Example, blocks
from headscope.errors import HeadscopeError, RunError
from headscope.measures.measure import Matrix, Measure
from headscope.measures.sums import By, Documents, Sums
from headscope.measures.surface import SMOOTHING, Preset, prepared
from headscope.models import Model
from headscope.stream import passes
from headscope.stream.rows import Found, Rows, by_matrix
from headscope.tokens import Tokens

TOKENS_PER_INPUT = 128
"""A batch has at most `batch_size` times this many tokens, padding included: longer inputs come in fewer."""

_MATRICES: tuple[Matrix, ...] = get_args(Matrix)


@dataclass
class Task:
    """What is measured of which model.

    Attributes:
        model: the model.
        measures: the definitions.
        by: what figures are means over.
        preset: whose code is followed.
        objective: what gradients are of; by default the model's natural one.
        routes: how many attention calls were reduced in which way, and why.
    """

    model: Model
    measures: Sequence[Measure]
    by: By = "token"
    preset: Preset | None = None
    objective: Objective | None = None
    routes: Counter[str] = field(default_factory=Counter[str])

    @property
    def route(self) -> str:
        """How attention calls were reduced: ``fused``, ``blocks (why)`` or ``mixed (…)``."""
        if len(self.routes) == 1:
            return next(iter(self.routes))
        return f"mixed ({', '.join(f'{route}: {count} calls' for route, count in self.routes.most_common())})"

    def sums(
        self, examples: Iterable[Example], batch_size: int = 32, done: Callable[[int], None] | None = None
    ) -> Iterator[Sums]:
        """The sums of each block of whole documents, in order; `done` is told how many inputs were read."""
        most = batch_size * TOKENS_PER_INPUT
        for block in blocks(examples, batch_size=batch_size, tokens_per_batch=most):
            yield self.block(block, done)

    def block(
        self,
        block: Iterable[Sequence[Example]],
        done: Callable[[int], None] | None = None,
        open: Collection[int] = (),
    ) -> Sums:
        """The sums of one block, given as batches.

        `done` is told how many inputs were read. `open` are the documents that have inputs in other blocks as well;
        looked at when all batches have been read.
        """
        documents = Documents([measure.name for measure in self.measures], self.by)
        for batch in block:
            self._add(documents, batch)
            if done is not None:
                done(len(batch))
        return documents.close(open)

    def _add(self, documents: Documents, batch: Sequence[Example]) -> None:
        try:
            found = self.run([tokens_of(example) for example in batch])
        except HeadscopeError:
            raise
        except Exception as error:
            raise named(error, batch, self.run) from error
        for place, example in enumerate(batch):
            if not found.finite[place]:
                raise RunError(f"{example.source}: expected finite attention weights, found others")
            documents.add(
                example.document,
                found.tokens[place],
                found.layers,
                found.sums[place],
                found.chance[place],
                found.divisors[place],
            )

    def run(self, inputs: Sequence[Tokens]) -> Found:
        """The sums over rows of one batch of inputs: one pass for the measures of each matrix."""
        tokens = [prepared(each, self.preset) for each in inputs]
        types = self.preset is None
        found: dict[Matrix, Found] = {}
        for matrix in _MATRICES:
            own = [measure for measure in self.measures if measure.matrix == matrix]
            if not own:
                continue
            make = partial(Rows, self.model, own, smoothing=SMOOTHING[self.preset], routes=self.routes)
            if matrix == "weights":
                found[matrix] = passes.weights(self.model, tokens, make, token_types=types)
            elif matrix == "norm":
                found[matrix] = passes.norm(self.model, tokens, make, token_types=types)
            else:
                if self.objective is None:
                    self.objective = objective(self.model)
                found[matrix] = passes.gradient(self.objective, tokens, make, token_types=types)
        return by_matrix(found, self.measures)


def named(error: Exception, batch: Sequence[Example], run: Callable[[Sequence[Tokens]], object]) -> RunError:
    """The error of a batch as that of the input that causes it, found by running the inputs one by one."""
    culprit = batch[0]
    if len(batch) > 1:
        for example in batch:
            try:
                run([tokens_of(example)])
            except Exception as own:
                culprit, error = example, own
                break
    lines = str(error).strip().splitlines()
    which = culprit.source or f"document {culprit.document}"
    return RunError(
        f"{which}: the model failed ({type(error).__name__}: {lines[0] if lines else 'no message'})"
    )


def tokens_of(example: Example) -> Tokens:
    """The tokens of an example. Raises `CorpusError` where it has none."""
    if example.tokens is None:
        raise example.error("expected an example with tokens: give corpus.encoded(model)")
    return example.tokens
