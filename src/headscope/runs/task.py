"""What is measured of which model: a batch of inputs becomes sums over rows, a block of batches sums that merge.

Passes over a batch that reduce a matrix a layer to sums over rows: weights, gradients or norms.

- weights: the model runs its own fused attention, and each call's statistics are computed beside it;
- gradient: the size of ``∂L/∂α``, where L is an objective's number for each input
  (`headscope.attention.objective`); Clark et al. 2019, section 3.2 and figure 3. A batch runs in parts whose
  weights number at most `GRADIENT_WEIGHTS`;
- norm: ``‖α f(x)‖``, what each key's transformed vector contributes, as a share of its row's sum, with
  ``f(x) = (x W_V + b_V) W_O`` (Kobayashi et al. 2020, section 2.2, equation 6). One layer at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import get_args

import torch
from torch import Tensor

from headscope.attention.implicit import through_mixers
from headscope.attention.neurons import Projections
from headscope.attention.objective import Objective, Prepared, objective
from headscope.attention.recompute import layers_again
from headscope.attention.record import AttentionRecord, leaf_of
from headscope.attention.recording import recording
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.errors import InputError, RefusedError
from headscope.measures.measure import Matrix, Measure
from headscope.measures.sums import FOLDS, By, Documents, Sums
from headscope.measures.surface import SMOOTHING, Preset, prepared
from headscope.models import Model
from headscope.models.weights import LARGE, expect_finite, not_finite, size_of
from headscope.runs.batches import tokens_of, worked
from headscope.runs.forward import foreign, forward, hand_back, seen_within
from headscope.runs.rows import Found, RowSums, by_matrix, side_by_side

GRADIENT_WEIGHTS = 1 << 25
"""Most weights, of all layers, whose gradients are computed together; an input that has more runs alone."""


Make = Callable[[Sequence[Tokens]], RowSums]
"""Begins the sums of some inputs."""

Keep = Callable[[AttentionRecord], None]
"""Is shown the attention of a pass whose weights are measured."""


def weights(
    model: Model,
    inputs: Sequence[Tokens],
    make: Make,
    *,
    token_types: bool = True,
    keep: Keep | None = None,
    implicit: bool = False,
) -> Found:
    """Reduce the weights of each layer as the model runs. `keep` is shown each call that is reduced.

    With `implicit` they are those of implicit maps, in place of attention.
    """
    rows = make(inputs)

    def reduce(record: AttentionRecord) -> None:
        if keep is not None and not foreign(record, inputs):
            keep(record)
        rows.reduce(record)

    watch = through_mixers if implicit else partial(recording, fused=True)
    with torch.no_grad(), watch(model.backbone, reduce):
        forward(model, inputs, token_types=token_types)
    return rows.close()


def gradient(
    objective: Objective, inputs: Sequence[Tokens], make: Make, *, token_types: bool = True
) -> Found:
    """Reduce ``|∂L/∂α|`` of each layer, where L is the sum of the inputs' numbers."""
    sums: list[Found] = []
    for part in parts(objective.model, inputs):
        batch = inputs[part]
        rows = make(batch)
        _, records, slopes = slopes_of(objective.prepare(batch, token_types=token_types))
        for record, slope in zip(records, slopes, strict=True):
            rows.reduce_matrix(record, slope.abs(), "gradient")
        sums.append(rows.close())
    return side_by_side(sums)


def slopes_of(batch: Prepared) -> tuple[Tensor, list[AttentionRecord], list[Tensor]]:
    """Each input's number, the self-attention calls of the pass, and ``∂ number / ∂ α`` of each.

    A slope ``[batch head query key]`` is 0 where the number does not depend on the weights, and where a key is
    hidden: from padding, and from what stands before it in a causal model.
    """
    records: list[AttentionRecord] = []

    def keep(record: AttentionRecord) -> Tensor | None:
        if foreign(record, batch.tokens):
            return None
        records.append(record)
        return leaf_of(record)

    module = batch.objective.module
    hand_back(module)
    recomputing = layers_again(module, keep) if size_of(module) > LARGE else nullcontext(keep)
    with torch.enable_grad(), recomputing as hook, recording(module, hook):
        numbers = batch.run()
        given = [record.given for record in records if record.given is not None]
        if not numbers.requires_grad:
            slopes: Sequence[Tensor] = [torch.zeros_like(weights) for weights in given]
        else:
            slopes = torch.autograd.grad(numbers.sum(), given, allow_unused=True, materialize_grads=True)
    hidden = [
        slope * seen_within(record, [*map(len, batch.tokens)])
        for slope, record in zip(slopes, records, strict=True)
    ]
    return (
        numbers.detach(),
        [*map(_light, records)],
        hidden,
    )


def norm(model: Model, inputs: Sequence[Tokens], make: Make, *, token_types: bool = True) -> Found:
    """Reduce the shares of ``‖α f(x)‖`` of each layer. Raises `RefusedError` where W_O cannot be told."""
    module, rows = model.backbone, make(inputs)
    projections = Projections(module)

    def settle() -> None:
        for record in projections.records:
            norms = projections.norms(record)
            if norms is None:
                expect_finite(model.name, model.module)  # of NaN no projection can be told
                raise RefusedError(
                    f"{record.module}: its output projection could not be told, so no norms of what keys contribute"
                )
            rows.reduce_matrix(record, _shares(norms), "norm")
        projections.forget()

    def keep(record: AttentionRecord) -> None:
        if not foreign(record, inputs):
            settle()
            projections.expect(record)

    with torch.no_grad(), projections.watching(), recording(module, keep):
        forward(model, inputs, token_types=token_types)
        settle()
    return rows.close()


def parts(model: Model, inputs: Sequence[Tokens], most: int = 0) -> list[slice]:
    """Runs of inputs whose weights of all layers number at most `most` (by default `GRADIENT_WEIGHTS`).

    Of a model larger than `LARGE` each input is a run: what every layer keeps for the way back is more than its maps.
    """
    if size_of(model.module) > LARGE:
        return [slice(place, place + 1) for place in range(len(inputs))]
    config = model.text_config
    heads = int(getattr(config, "num_attention_heads", 0) or 12) * int(
        getattr(config, "num_hidden_layers", 0) or 12
    )
    runs: list[slice] = []
    start = 0
    while start < len(inputs):
        stop, width = start, 0
        while stop < len(inputs):
            width = max(width, len(inputs[stop]))
            if stop > start and (stop + 1 - start) * heads * width**2 > (most or GRADIENT_WEIGHTS):
                break
            stop += 1
        runs.append(slice(start, stop))
        start = stop
    return runs


def _light(record: AttentionRecord) -> AttentionRecord:
    """A record without the graph of its pass."""
    q, k = record.q.detach(), record.k.detach()
    mask = None if record.mask is None else record.mask.detach()
    given = None if record.given is None else record.given.detach()
    return replace(record, q=q, k=k, v=None, mask=mask, bias=None, sinks=None, given=given)


def _shares(norms: Tensor) -> Tensor:
    """Norms as shares of their row; a row of zeros stays one."""
    total = norms.sum(-1, keepdim=True)
    return norms / torch.where(total > 0, total, 1.0)


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
        folds = FOLDS * any(measure.stays for measure in self.measures)
        documents = Documents([measure.name for measure in self.measures], self.by, folds)
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

    def measured(self, batch: Sequence[Example], keep: Keep | None = None) -> Found:
        """The sums over rows of one batch. Raises `RunError` for an input whose attention is not finite.

        `keep` is shown the attention whose weights are measured.
        """
        rows = self.run([tokens_of(example) for example in batch], keep)
        for example, finite in zip(batch, rows.finite, strict=True):
            if not finite:
                raise not_finite(self.model.name, self.model.module, f"{example.place}: attention")
        return rows

    def run(self, inputs: Sequence[Tokens], keep: Keep | None = None) -> Found:
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
                results[matrix] = weights(
                    self.model, tokens, changed, token_types=types, keep=keep, implicit=self.implicit
                )
            elif matrix == "norm":
                results[matrix] = norm(self.model, tokens, make, token_types=types)
            else:
                if self.objective is None:
                    self.objective = objective(self.model)
                results[matrix] = gradient(self.objective, tokens, make, token_types=types)
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


def route(counts: Mapping[str, int]) -> str:
    """How attention calls were reduced, of counts of sums.

    ``blocks of rows``, ``a fused kernel``, ``whole maps (…)`` or ``mixed (…)``.
    """
    calls = Counter({name.removeprefix(_ROUTE): n for name, n in counts.items() if name.startswith(_ROUTE)})
    if len(calls) == 1:
        return next(iter(calls))
    return f"mixed ({', '.join(f'{name}: {count} calls' for name, count in calls.most_common())})"
