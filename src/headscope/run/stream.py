"""Reduce a stream of inputs, layer by layer as the model runs, to sums that merge."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.attention.fused import RowStatistics, Wanted, row_statistics, why_blocks
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import recording
from headscope.corpora import Example, blocks
from headscope.errors import HeadscopeError, RefusedError, RunError
from headscope.measures import measure as definitions
from headscope.measures.measure import Measure
from headscope.measures.sums import By, Documents, Floats, Sums
from headscope.measures.surface import SMOOTHING, Preset, prepared
from headscope.models import Model
from headscope.run.extras import extras
from headscope.tokens import Tokens

TOKENS_PER_INPUT = 128
"""A batch has at most `batch_size` times this many tokens, padding included: longer inputs come in fewer."""


@dataclass
class Task:
    """What is measured of which model.

    Attributes:
        model: the model.
        measures: the definitions.
        by: what figures are means over.
        preset: whose code is followed.
        routes: how many attention calls were reduced in which way, and why.
    """

    model: Model
    measures: Sequence[Measure]
    by: By = "token"
    preset: Preset | None = None
    routes: Counter[str] = field(default_factory=Counter[str])

    @property
    def wanted(self) -> Wanted:
        """The statistics of rows that the measures need."""
        statistics = {measure.statistic for measure in self.measures}
        return Wanted(
            definitions.offsets(self.measures),
            "entropy" in statistics,
            "largest" in statistics,
            SMOOTHING[self.preset],
        )

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

    def block(self, block: Iterable[Sequence[Example]], done: Callable[[int], None] | None = None) -> Sums:
        """The sums of one block of whole documents, given as batches; `done` is told how many were read."""
        documents = Documents([measure.name for measure in self.measures], self.by)
        for batch in block:
            self._add(documents, batch)
            if done is not None:
                done(len(batch))
        return documents.close()

    def _add(self, documents: Documents, batch: Sequence[Example]) -> None:
        try:
            found = self.run([_tokens(example) for example in batch])
        except HeadscopeError:
            raise
        except Exception as error:
            raise self._named(error, batch) from error
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

    def run(self, inputs: Sequence[Tokens]) -> Batch:
        """The sums over rows of one batch of inputs."""
        batch = Batch(self, [prepared(tokens, self.preset) for tokens in inputs])
        ready: dict[str, Any] = dict(self.model.inputs(inputs, token_types=self.preset is None))
        module = self.model.backbone
        if "use_cache" in inspect.signature(module.forward).parameters:
            ready["use_cache"] = False
        with torch.no_grad(), recording(module, batch.reduce, fused=True):
            module(**ready)
        batch.close()
        return batch

    def _named(self, error: Exception, batch: Sequence[Example]) -> RunError:
        """The error of a batch as that of the input that causes it."""
        culprit = batch[0]
        if len(batch) > 1:
            for example in batch:
                try:
                    self.run([_tokens(example)])
                except Exception as own:
                    culprit, error = example, own
                    break
        lines = str(error).strip().splitlines()
        which = culprit.source or f"document {culprit.document}"
        return RunError(
            f"{which}: the model failed ({type(error).__name__}: {lines[0] if lines else 'no message'})"
        )


class Batch:
    """Reduces the attention calls of one forward pass to sums over rows.

    Attributes:
        tokens: the inputs.
        layers: the model's index of each layer.
        sums: over the rows that count ``[input measure layer head]``; NaN for heads not there.
        chance: the same of uniform attention over the visible keys ``[input measure layer]``.
        divisors: what makes means of them ``[input measure]``.
        finite: whether all weights were finite numbers ``[input]``.
    """

    def __init__(self, task: Task, tokens: Sequence[Tokens]) -> None:
        self.tokens = tokens
        self._task = task
        self._classes = definitions.classes(task.measures)
        width = max(map(len, tokens))
        rows = np.zeros((len(tokens), len(task.measures), width))
        columns = np.zeros((len(tokens), width, len(self._classes)))
        self.divisors: Floats = np.zeros((len(tokens), len(task.measures)))
        for place, each in enumerate(tokens):
            rows[place, :, : len(each)], self.divisors[place] = definitions.selection(
                task.measures, each, task.model.causal
            )
            for column, name in enumerate(self._classes):
                columns[place, : len(each), column] = definitions.mask(each, name)
        device = task.model.device
        self._wanted = replace(task.wanted, extras=extras(task.measures, tokens, width, device))
        self._rows = torch.as_tensor(rows, device=device)
        self._columns = torch.as_tensor(columns, dtype=torch.float32, device=device)
        self._lengths = torch.tensor([len(each) for each in tokens], device=device)
        self._found: dict[int, tuple[Floats, Floats]] = {}
        self._uniform: dict[object, tuple[Tensor | None, Floats]] = {}

    def reduce(self, record: AttentionRecord) -> None:
        """Take in one attention call."""
        if record.kind == "cross":
            return
        expected, found = (len(self.tokens), self._rows.shape[2]), (record.shape[0], *record.shape[2:])
        if found != (expected[0], expected[1], expected[1]):
            raise RefusedError(
                f"{record.module}: expected attention of {expected[0]} inputs over {expected[1]} tokens, found "
                f"{found[0]} from {found[1]} to {found[2]}; layers that look at other axes are not measured"
            )
        if record.layer in self._found:
            raise RefusedError(
                f"{record.module}: expected one self-attention a layer, found layer {record.layer} again"
            )
        reason = why_blocks(record, self._wanted)
        self._task.routes["fused" if reason is None else f"blocks ({reason})"] += 1
        statistics = row_statistics(record, self._columns, self._wanted)
        self._found[record.layer] = (self._sum(statistics), self._chance(record))

    def close(self) -> None:
        """Say that the forward pass is over."""
        if not self._found:
            raise RefusedError("no self-attention was seen in the forward pass")
        self.layers = sorted(self._found)
        heads = max(found.shape[2] for found, _ in self._found.values())
        inputs, measures = self.divisors.shape
        self.sums = np.full((inputs, measures, len(self.layers), heads), np.nan)
        self.chance = np.zeros((inputs, measures, len(self.layers)))
        self.finite = np.ones(inputs, np.bool_)
        for place, layer in enumerate(self.layers):
            found, chance = self._found[layer]
            self.sums[:, :, place, : found.shape[2]] = found
            self.chance[:, :, place] = chance
            self.finite &= np.isfinite(found).all((1, 2))

    def _sum(self, statistics: RowStatistics) -> Floats:
        """Sums over the rows that count, ``[input measure head]``."""
        found: list[Tensor] = []
        own = iter(statistics.extras)
        for place, measure in enumerate(self._task.measures):
            if measure.statistic in ("pairs", "rows"):
                row = next(own)
            elif measure.statistic == "offset":
                row = statistics.offsets[measure.offset]
            elif measure.statistic == "mass":
                row = statistics.mass[..., self._classes.index(measure.of)]
            else:
                row = statistics.entropy if measure.statistic == "entropy" else statistics.largest
            assert row is not None
            found.append((row.double() @ self._rows[:, place, :, None])[..., 0])
        return torch.stack(found, 1).cpu().numpy()

    def _chance(self, record: AttentionRecord) -> Floats:
        """Sums of uniform attention over the visible keys, ``[input measure]``."""
        mask = record.mask
        causal = record.is_causal or (mask is None and self._task.model.causal)
        key = None if mask is None else (mask.data_ptr(), mask.shape, mask.stride())
        if (key, causal) not in self._uniform:
            if mask is None and not self._wanted.extras:
                rows = self._evenly(causal)
            else:
                rows = self._blank(record, mask, causal)
            self._uniform[key, causal] = (mask, self._sum(rows)[:, :, 0])  # a kept mask keeps its address
        return self._uniform[key, causal][1]

    def _evenly(self, causal: bool) -> RowStatistics:
        """Uniform attention over all tokens of an input, or in a causal model over those so far."""
        columns = self._columns.double()
        place = torch.arange(columns.shape[1], device=columns.device)
        keys = (place + 1 if causal else self._lengths[:, None]).expand(columns.shape[:2]).double()
        mass = columns.cumsum(1) if causal else columns.sum(1, keepdim=True)
        weight = 1.0 / keys[:, None]
        offsets = {offset: weight * (not causal or offset <= 0) for offset in self._wanted.offsets}
        return RowStatistics((mass / keys[..., None])[:, None], offsets, -weight.log(), weight)

    def _blank(self, record: AttentionRecord, mask: Tensor | None, causal: bool) -> RowStatistics:
        """Uniform attention over the keys that are seen: that of a head whose queries are 0."""
        inputs, _, tokens, _ = record.shape
        zeros = torch.zeros(inputs, 1, tokens, 1, dtype=torch.float64, device=record.q.device)
        if mask is None:
            mask = (torch.arange(tokens, device=zeros.device) < self._lengths[:, None])[:, None, None]
        head = mask[..., :1, :, :] if mask.ndim > 2 else mask
        even = replace(record, q=zeros, k=zeros, v=None, mask=head, is_causal=causal)
        even = replace(even, bias=None, softcap=None, sinks=None, given=None)
        return row_statistics(even, self._columns, replace(self._wanted, smoothing=0.0))


def _tokens(example: Example) -> Tokens:
    if example.tokens is None:
        raise example.error("expected an example with tokens: give corpus.encoded(model)")
    return example.tokens
