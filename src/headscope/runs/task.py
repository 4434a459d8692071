"""What is measured of which model: a batch of inputs becomes sums over rows, a block of batches sums that merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import get_args

from headscope.attention.objective import Objective, objective
from headscope.attention.record import AttentionRecord
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.measures.measure import Matrix, Measure
from headscope.measures.sums import By, Documents, Sums
from headscope.measures.surface import SMOOTHING, Preset, prepared
from headscope.models import Model
from headscope.models.weights import not_finite
from headscope.runs import passes
from headscope.runs.batches import tokens_of, worked
from headscope.runs.rows import Found, RowSums, by_matrix

_MATRICES: tuple[Matrix, ...] = get_args(Matrix)
_ROUTE, _OBJECTIVE = "route ", "objective "


@dataclass
class Task:
    """What is measured of which model.

    Attributes:
        model: the model.
        measures: the definitions.
        by: what figures are means over.
        preset: whose code is followed.
        objective: what gradients are of; by default the model's natural one.
        routes: how many attention calls were reduced in which way.
        change: makes of each call of attention the one whose weights are measured in its place.
        implicit: measure the implicit maps of layers that do not attend in place of attention.
    """

    model: Model
    measures: Sequence[Measure]
    by: By = "token"
    preset: Preset | None = None
    objective: Objective | None = None
    routes: Counter[str] = field(default_factory=Counter[str])
    change: Callable[[AttentionRecord], AttentionRecord] | None = None
    implicit: bool = False

    def block(
        self,
        block: Iterable[Sequence[Example]],
        done: Callable[[int], None] | None = None,
        open: Collection[int] = (),
    ) -> Sums:
        """The sums of one block, given as batches.

        `route` tells from their counts how calls were reduced, and `objective_of` what gradients are of.

        `done` is told how many inputs were read. `open` are the documents that have inputs in other blocks as well;
        looked at when all batches have been read.
        """
        before = self.routes.copy()
        documents = Documents([measure.name for measure in self.measures], self.by)
        for batch, rows in worked(block, self.measured, done):
            for place, example in enumerate(batch):
                documents.add(
                    example.document,
                    rows.tokens[place],
                    rows.layers,
                    rows.sums[place],
                    rows.chance[place],
                    rows.divisors[place],
                )
        sums = documents.close(open)
        counts = {f"{_ROUTE}{name}": count for name, count in (self.routes - before).items()}
        if self.objective is not None:
            counts |= {f"{_OBJECTIVE}{name}": sums.counts["examples"] for name in self.objective.names}
        return replace(sums, counts=sums.counts + Counter(counts))

    def measured(self, batch: Sequence[Example], keep: passes.Keep | None = None) -> Found:
        """The sums over rows of one batch. Raises `RunError` for an input whose attention is not finite.

        `keep` is shown the attention whose weights are measured.
        """
        rows = self.run([tokens_of(example) for example in batch], keep)
        for example, finite in zip(batch, rows.finite, strict=True):
            if not finite:
                raise not_finite(self.model.name, self.model.module, f"{example.place}: attention")
        return rows

    def run(self, inputs: Sequence[Tokens], keep: passes.Keep | None = None) -> Found:
        """The sums over rows of one batch of inputs: one pass for the measures of each matrix."""
        tokens = [prepared(item, self.preset) for item in inputs]
        types = self.preset is None
        results: dict[Matrix, Found] = {}
        for matrix in _MATRICES:
            measures = [measure for measure in self.measures if measure.matrix == matrix]
            if not measures:
                continue
            make = partial(
                RowSums, self.model, measures, smoothing=SMOOTHING[self.preset], routes=self.routes
            )
            if matrix == "weights":
                changed = partial(make, change=self.change)
                results[matrix] = passes.weights(
                    self.model, tokens, changed, token_types=types, keep=keep, implicit=self.implicit
                )
            elif matrix == "norm":
                results[matrix] = passes.norm(self.model, tokens, make, token_types=types)
            else:
                if self.objective is None:
                    self.objective = objective(self.model)
                results[matrix] = passes.gradient(self.objective, tokens, make, token_types=types)
        return by_matrix(results, self.measures)


def objective_of(counts: Mapping[str, int]) -> str | None:
    """What gradients are of, of the counts of sums; None where there is no gradient.

    Raises `InputError` where inputs differ in it.
    """
    names = [name.removeprefix(_OBJECTIVE) for name in counts if name.startswith(_OBJECTIVE)]
    if len(names) > 1:
        raise InputError(
            f"objective: expected the same of all inputs, found {' and '.join(names)}: name one that all inputs have"
        )
    return names[0] if names else None


def route(counts: Mapping[str, int], prefix: str = _ROUTE) -> str:
    """How attention calls were reduced, of counts of sums.

    ``blocks of rows``, ``a fused kernel``, ``whole maps (…)`` or ``mixed (…)``.
    """
    calls = Counter({name.removeprefix(prefix): n for name, n in counts.items() if name.startswith(prefix)})
    if len(calls) == 1:
        return next(iter(calls))
    return f"mixed ({', '.join(f'{name}: {count} calls' for name, count in calls.most_common())})"
