"""The residual stream of one pass: who wrote it, and the terms of any number that is linear in it by who wrote them.

Scores (`headscope.attention.reading`), logits (`residual`), circuits and the graph of edges are told from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.linear import (
    PLACED,
    TOKEN,
    HeadWriter,
    LinearCall,
    Pass,
    Site,
    Writer,
    block_of,
    layers_of,
)
from headscope.attention.neurons import projected
from headscope.attention.one import output_of, running
from headscope.attention.parts import group
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import Enough, Hooks, recording
from headscope.core.arrays import Floats
from headscope.errors import RefusedError
from headscope.models.model import Model, expect_exact, uncached
from headscope.models.within import modules_of

CLOSE = 1e-4
"""How far the terms may be from their score, as a share of the largest of them (or of 1)."""

FEW = 8
"""Tokens on which a model's attention is found."""

TEXT = {"input_ids", "attention_mask", "token_type_ids"}
"""What a module is given of a text."""

AT_A_TIME = 1 << 24
"""Numbers of slopes that are held at a time."""


class Who(NamedTuple):
    """A writer by its name: the parts of a `Writer` that are one, such as a head of its layer; -1 for none."""

    kind: str
    part: str = ""
    layer: int = -1
    head: int = -1


class Reader:
    """Reads who wrote what the heads of a model read.

    Args:
        model: with weights in float32 or float64.
        ready: an input to find its attention on.

    Raises `RefusedError` for weights of half precision, and for a model whose layers have no numbers.
    """

    def __init__(self, model: Model, ready: Mapping[str, Tensor]) -> None:
        expect_exact(model)
        self.model = model
        if ready.keys() <= TEXT:  # a few tokens tell as much
            ready = {name: value[:, :FEW] for name, value in ready.items()}
        projections = projected(model, ready)
        records = projections.records
        modules = modules_of(model.module)
        parts = {id(record): part for part, calls in group(records).items() for record in calls}
        self.sites: dict[str, Site] = {}
        for record in records:
            place = block_of(record.module)
            if place is None:
                raise RefusedError(
                    f"{model.name}: expected layers with numbers, found none around {record.module or 'its attention'}"
                )
            self.sites[record.module] = Site(
                parts[id(record)],
                place[0],
                record.layer,
                record.shape[1],
                record.groups,
                modules[record.module],
                projections.module(record),
            )
        self.mixers = {modules[name]: kind for name, kind in model.mixing.items()}
        self.calls, self._few = len(records), ready

    @cached_property
    def layers(self) -> list[tuple[nn.Module, str, int]]:
        """The layers, those that do not attend among them, each with its pile and its number."""
        return layers_of(self.model.module, {site.pile for site in self.sites.values()})

    @cached_property
    def placed(self) -> list[str]:
        """The piles whose first layer is given something that hangs on where a token stands, told by a pass over few
        tokens that are all the same; all of an input that is no text alone."""
        first = {layer: pile for pile, layer in {pile: one for one, pile, _ in reversed(self.layers)}.items()}
        if not self._few.keys() <= {*TEXT, "decoder_input_ids", "decoder_attention_mask"}:
            return [*first.values()]
        same = {
            name: value[:1, :FEW] if name.endswith("mask") else value[:1, :1].expand_as(value[:1, :FEW])
            for name, value in self._few.items()
        }
        hang = dict.fromkeys(first.values(), True)

        def look(pile: str, x: Tensor) -> None:
            hang[pile] = not torch.allclose(x, x[:, :1].expand_as(x), rtol=1e-5, atol=1e-6)

        with Hooks() as hooks:
            for layer, pile in first.items():
                hooks.on_entry(layer, partial(look, pile))
            with torch.no_grad():
                output_of(self.model, same)
        return [pile for pile, hangs in hang.items() if hangs]

    def read(
        self,
        ready: Mapping[str, Tensor],
        until: tuple[str, int] | None = None,
        unembeds: nn.Module | None = None,
    ) -> Read:
        """One forward pass, as far as the attention of this part and layer, or to the logits that a map gives."""
        run = Pass(self.model.module, self.sites, until, self.mixers, self.placed, unembeds)
        with (
            torch.no_grad(),
            run.watching(),
            recording(self.model.module, run.attends, fused=True),
            running(self.model, ready),
            suppress(Enough),
            run,
        ):
            run.output = self.model.module(**ready, **uncached(self.model.module))
        return Read(self.model, run.writers, run.calls, run)

    def without(
        self, ready: Mapping[str, Tensor], who: Who, until: tuple[str, int]
    ) -> AttentionRecord | None:
        """The attention call of a part and layer where a head gives, at each token, its mean over the input's tokens.

        None where the head's W_O is not known, or is that of other layers as well.
        """
        sites = [site for site in self.sites.values() if (site.part, site.layer) == (who.part, who.layer)]
        modules = [site.projection for site in self.sites.values()]
        if len(sites) != 1 or sites[0].projection is None or modules.count(sites[0].projection) > 1:
            return None
        records: list[AttentionRecord] = []

        def mean(z: Tensor) -> Tensor:
            z = z.clone()
            z[:, :, who.head] = z[:, :, who.head].mean(1, keepdim=True)
            return z

        def keep(record: AttentionRecord) -> None:
            if (self.sites[record.module].part, record.layer) == until:
                records.append(record)
                raise Enough

        with Hooks() as hooks, torch.no_grad(), suppress(Enough):
            sites[0].change(hooks, len(next(iter(ready.values()))), mean)
            output_of(self.model, ready, keep)
        return records[0]


@dataclass(eq=False)
class Read:
    """What one pass gave.

    Attributes:
        model: that ran.
        writers: all that was added, in order.
        calls: the attention calls.
        run: the pass, in which calls can be made again.
    """

    model: Model
    writers: Sequence[Writer]
    calls: Sequence[LinearCall]
    run: Pass

    @property
    def logits(self) -> Tensor:
        """What the unembedding gave ``[query id]``, linear in the stream."""
        return self.run.blocks[-1].ran[-1][2][0]

    def unturned(self, call: LinearCall) -> AttentionRecord | None:
        """A call again, with queries and keys as they are before positions turn them (RoPE); None where none do, or in
        a model that does so in a way of its own. What attention itself adds to them is a further writer of `writers`.
        """
        turns = call.kwargs.get("position_embeddings")
        still = _still(turns)
        if still is None:
            return None
        records: list[AttentionRecord] = []
        self.run.open = 1
        with torch.no_grad(), recording(self.model.module, records.append, fused=True), self.run:
            call.attention(*call.args, **{**call.kwargs, "position_embeddings": still})
        return records[0]

    def terms(self, numbers: Tensor) -> list[Tensor | None]:
        """Of each writer its terms of numbers ``[number]`` that are linear in the stream, as `Writer.terms` gives them.

        None for a writer that comes later. Raises `RefusedError` where they do not sum to the numbers.
        """
        leaves = [writer.leaf for writer in self.writers]
        if not numbers.requires_grad:
            raise _no_sum(self.model, "queries or keys that no writer of its stream has a part in")
        slopes = self.slopes(numbers, leaves)
        terms = [
            None if slope is None else writer.terms(slope).to(numbers.device)
            for writer, slope in zip(self.writers, slopes, strict=True)
        ]
        there = [term for term in terms if term is not None]
        self._expect_all(terms)
        total = torch.stack([term.sum(0) for term in there]).sum(0)
        largest = torch.stack([term.abs().amax(0) for term in there]).amax(0).clamp(min=1.0)
        if ((total - numbers.detach()).abs() > CLOSE * largest).any():
            raise _no_sum(self.model, "scores that are not")
        return terms

    def composed(self, numbers: Tensor) -> tuple[Floats, Floats]:
        """What each head of `heads` adds to numbers ``[number]``, ``[number head]``, 0 for those that come later; and
        how much it would, either way, were what it writes turned at random: the root of the mean square of that.
        """
        leaves = [writer.leaf for writer, _, _ in self.heads]
        size, width = leaves[0].numel(), leaves[0].shape[-1]
        terms = [np.zeros((len(numbers), len(written))) for _, written, _ in self.heads]
        turned = [np.zeros_like(term) for term in terms]
        for few in range(0, len(numbers), max(1, AT_A_TIME // size)):
            some = slice(few, few + max(1, AT_A_TIME // size))
            slopes = self.slopes(numbers[some], leaves)
            last: tuple[Tensor, Tensor] | None = None
            for place, (slope, (_, written, squares)) in enumerate(zip(slopes, self.heads, strict=True)):
                if slope is None:
                    continue
                flat = slope.reshape(len(slope), -1, width)
                if last is None or not _same(last[0], flat):  # most models pass one slope on to all
                    last = flat, flat @ flat.transpose(-1, -2)
                square = (last[1].flatten(1) @ squares.flatten(1).T).clamp(min=0) / width
                terms[place][some] = (flat.flatten(1) @ written.flatten(1).T).double().cpu().numpy()
                turned[place][some] = square.double().sqrt().cpu().numpy()
        return np.concatenate(terms, 1), np.concatenate(turned, 1)

    @cached_property
    def heads(self) -> list[tuple[Writer, Tensor, Tensor]]:
        """The writers that are heads, what each head wrote ``[head token stream]``, and its products ``[head token
        token]``."""
        heads: list[tuple[Writer, Tensor, Tensor]] = []
        for writer in self.writers:
            if isinstance(writer, HeadWriter):
                written = torch.einsum("thd,hde->hte", writer.outputs, writer.matrix)
                heads.append((writer, written, written @ written.transpose(-1, -2)))
        return heads

    def slopes(self, numbers: Tensor, leaves: Sequence[Tensor]) -> Sequence[Tensor | None]:
        """The slopes of numbers, ``[number ...]``; None for a leaf that comes later."""
        if len(numbers) == 1:
            slopes: Any = torch.autograd.grad(numbers.sum(), leaves, allow_unused=True, retain_graph=True)
            return [None if slope is None else slope[None] for slope in slopes]
        ways = torch.eye(len(numbers), dtype=numbers.dtype, device=numbers.device)
        return torch.autograd.grad(
            numbers, leaves, ways, is_grads_batched=True, allow_unused=True, retain_graph=True
        )

    def by_name(self, numbers: Tensor) -> dict[Who, Floats]:
        """The `terms` of numbers ``[number]`` by the name of who has them, all biases as one."""
        terms: dict[Who, Floats] = {}
        for writer, term in zip(self.writers, self.terms(numbers), strict=True):
            if term is None:
                continue
            shared = writer.kind in ("bias", "position")
            name = Who(writer.kind) if shared else Who(writer.kind, writer.part, writer.layer)
            heads = [name._replace(head=head) for head in range(len(term) - 1)]
            for who, values in zip([*heads, Who("bias") if heads else name], term.cpu().numpy(), strict=True):
                terms[who] = terms.get(who, 0.0) + values
        return terms

    def _expect_all(self, terms: Sequence[Tensor | None]) -> None:
        """Refuse what reads a stream but not all that was written to it before: it was changed on the way."""
        stream = [
            (writer.pile, term is not None)
            for writer, term in zip(self.writers, terms, strict=True)
            if writer.kind in (TOKEN, PLACED, "head", "attention")
        ]
        for pile in {pile for pile, there in stream if there}:
            reached = [there for name, there in stream if name == pile]
            if not all(reached[: sum(reached)]):
                raise _no_sum(self.model, "layers that do not pass on all that was written before them")


def _same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same numbers in memory."""
    return (a.data_ptr(), a.shape, a.stride()) == (b.data_ptr(), b.shape, b.stride())


def _still(turns: Any) -> Any:
    """Rotations by nothing in the place of these, of their size: a cosine and a sine, or a complex number."""
    if isinstance(turns, Tensor):
        return turns.abs().to(turns.dtype) if turns.is_complex() else None
    if not isinstance(turns, tuple) or len(cast("tuple[Any, ...]", turns)) != 2:
        return None
    cos, sin = cast("tuple[Tensor, Tensor]", turns)
    return torch.sqrt(cos.square() + sin.square()), torch.zeros_like(sin)


def _no_sum(model: Model, reason: str) -> RefusedError:
    return RefusedError(
        f"{model.name}: expected scores that are sums over who wrote the residual stream, norms frozen; found {reason}"
    )
