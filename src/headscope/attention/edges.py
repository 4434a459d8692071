"""What each part of a model hands to each other part by the residual stream, between two runs: the edges of a graph.

Writers are the embedding, each head and each MLP; readers are each head (its queries, keys and values), each MLP and
the logits. An edge's score is the difference of what its writer gives in two runs, times the gradient at the stream
where its reader reads, a mean of gradients along the straight line between the two embeddings: edge attribution
patching with integrated gradients (Hanna et al. 2024, "Have Faith in Faithfulness", section 3). A pass is cut at each
layer's input and at its heads' outputs, so that the gradient at each reader is one of its own layer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn

from headscope.attention.outputs import Outputs
from headscope.attention.recording import afresh, evaluating
from headscope.attention.residual import attention_calls, layer_and_attention, no_stream
from headscope.core.heads import Head
from headscope.models.model import Model

EMBEDDING, LOGITS = "token and position", "logits"

CLOSE = 1e-4
"""How far a gradient may be from the one that W_O hands on, as a share of the largest."""

AT_ONCE = 1 << 26
"""Numbers that all writers write, of the inputs that run at once."""

Objective = Callable[[Tensor], Tensor]
"""A number of each row of a batch, of the logits ``[batch query id]``."""


@dataclass(eq=False)
class _Layers:
    """One pass: of each layer the stream before it, its heads' outputs and the stream after it; the logits.

    Attributes:
        given: what else each layer is given to run again.
        leaves: of a pass that is cut, where the outputs of the heads of each layer go on.
        last: the stream behind the last layer, where it goes on.
    """

    before: list[Tensor] = field(default_factory=list[Tensor])
    z: list[Tensor] = field(default_factory=list[Tensor])
    after: list[Tensor] = field(default_factory=list[Tensor])
    given: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list[Any])
    leaves: list[Tensor] = field(default_factory=list[Tensor])
    last: Tensor = field(default_factory=lambda: torch.empty(0))
    logits: Tensor = field(default_factory=lambda: torch.empty(0))


class Graph:
    """The parts of a causal language model, and what they hand on.

    Args:
        model: with weights in float32 or float64.
        outputs: where its heads' outputs enter W_O.
        ready: an input to find its layers on.

    Attributes:
        writers, readers: their names; of a layer its heads, then its MLP.
        edges: which writers a reader can read, bool ``[writer reader]``.

    Raises `RefusedError` for layers that do not add to one stream what W_O makes of their heads' outputs.
    """

    def __init__(self, model: Model, outputs: Outputs, ready: Mapping[str, Tensor]) -> None:
        self._model, self._outputs = model, outputs
        calls = attention_calls(model, {name: value[:1] for name, value in ready.items()}, slice(0, 1))
        parts: Any = model.module
        modules: dict[str, nn.Module] = dict(parts.named_modules())
        self._blocks = [modules[layer_and_attention(model, call.module)[0]] for call in calls]
        self._w = [
            call.matrix.reshape(heads, -1, call.matrix.shape[-1])
            for call, heads in zip(calls, outputs.heads, strict=True)
        ]
        names = [
            [*(str(Head(layer, head)) for head in range(heads)), f"mlp {layer}"]
            for layer, heads in zip(outputs.layers, outputs.heads, strict=True)
        ]
        every = [name for layer in names for name in layer]
        self.writers, self.readers = [EMBEDDING, *every], [*every, LOGITS]
        place = torch.tensor([-1, *(at for at, layer in enumerate(names) for _ in layer)])
        self.edges = place[:, None] < torch.cat([place[1:], torch.tensor([len(names)])])
        self._slopes(ready, lambda logits: logits.square().sum((1, 2)))  # which finds what MLPs read

    def at_once(self, tokens: int) -> int:
        """Of how many inputs of so many tokens scores are computed at once."""
        return max(1, AT_ONCE // (len(self.writers) * tokens * self._w[0].shape[-1]))

    def scores(
        self,
        base: Mapping[str, Tensor],
        source: Mapping[str, Tensor],
        objective: Objective,
        steps: int,
        queries: slice = slice(None),
    ) -> Tensor:
        """What each edge changes of the objective from one run to another, ``[batch writer reader]``, estimated.

        Args:
            base, source: the inputs of the two runs.
            objective: what is changed.
            steps: at how many places between the two embeddings gradients are taken, in one pass where there is
                room; 0: at the base alone.
            queries: at which tokens writers give what they do in the other run.
        """
        with torch.no_grad():
            one, other = self._pass(base), self._pass(source)
            change = self._writes(other) - self._writes(one)
        change[:, :, : queries.start or 0] = 0.0
        start, end = one.before[0], other.before[0]
        shares = [0.0] if steps == 0 else [(step + 0.5) / steps for step in range(steps)]
        size = max(1, self.at_once(start.shape[1]) // len(start))
        total = torch.zeros(0)

        def at_each_step(logits: Tensor) -> Tensor:
            return torch.cat([objective(step) for step in logits.chunk(len(logits) // len(start))])

        for some in (shares[first : first + size] for first in range(0, len(shares), size)):
            ready = {name: torch.cat([value] * len(some)) for name, value in base.items()}
            slopes = self._slopes(
                ready, at_each_step, torch.cat([start + share * (end - start) for share in some])
            )
            slopes = slopes.reshape(len(slopes), len(some), *start.shape).sum(1)
            total = slopes if not len(total) else total + slopes
        products = torch.einsum("wbqe,rbqe->bwr", change, total / len(shares))
        return products * self.edges.to(products.device)

    def circuits(
        self,
        clean: Mapping[str, Tensor],
        corrupted: Mapping[str, Tensor],
        objective: Objective,
        keep: Sequence[Tensor],
    ) -> Tensor:
        """The objective of circuits ``[batch circuit]``: their edges hand on what writers give, all others what they
        give in the corrupted run.

        Args:
            keep: of each circuit its edges, bool ``[writer reader]``.
        """
        with torch.no_grad():
            run = self._pass(corrupted)
            theirs, start = self._writes(run), self._pass(clean).before[0]
            return torch.stack(
                [objective(self._circuit(corrupted, run, theirs, start, one)) for one in keep], 1
            )

    def _circuit(
        self, ready: Mapping[str, Tensor], run: _Layers, theirs: Tensor, start: Tensor, keep: Tensor
    ) -> Tensor:
        """The logits of one circuit."""
        keep = live(keep & self.edges)
        change = torch.zeros_like(theirs)  # of what each writer gives
        change[0] = start - theirs[0]

        def read(reader: int) -> Tensor:
            return change[keep[:, reader]].sum(0)

        at = 0
        for place, heads in enumerate(self._outputs.heads):
            for head in range(heads):
                if keep[:, at].any():  # else it reads what it read in the corrupted run
                    z = self._rerun(run, place, run.before[place] + read(at))
                    change[at + 1] = z[:, :, head] @ self._w[place][head] - theirs[at + 1]
                at += 1
            if keep[:, at].any():
                before = run.before[place] + read(at)
                after = self._rerun(run, place, before, run.z[place])
                change[at + 1] = after - before - self._mixed(run.z[place], place) - theirs[at + 1]
            at += 1
        return self._pass(ready, last=run.after[-1] + read(at)).logits

    def _writes(self, run: _Layers) -> Tensor:
        """What each writer gave to the stream ``[writer batch query stream]``, biases with the MLPs."""
        writes = [run.before[0][None]]
        for place, (before, z, after) in enumerate(zip(run.before, run.z, run.after, strict=True)):
            writes.append(torch.einsum("bqhd,hde->hbqe", z, self._w[place]))
            writes.append((after - before - self._mixed(z, place))[None])
        return torch.cat(writes)

    def _mixed(self, z: Tensor, place: int) -> Tensor:
        return torch.einsum("bqhd,hde->bqe", z, self._w[place])

    def _slopes(
        self, ready: Mapping[str, Tensor], objective: Objective, embedding: Tensor | None = None
    ) -> Tensor:
        """The gradient of the objective at the stream that each reader reads, ``[reader batch query stream]``."""
        with torch.enable_grad():
            run = self._pass(ready, embedding, cut=True)
            (slope,) = torch.autograd.grad(objective(run.logits).sum(), run.last)
        gradients = [slope[None]]
        for place in reversed(range(len(run.z))):
            before, leaf, z = run.before[place], run.leaves[place], run.z[place]
            past, at_heads = torch.autograd.grad(run.after[place], [before, leaf], slope, retain_graph=True)
            self._expect_added(place, at_heads, past, slope)
            heads = z.shape[2]
            ways = torch.zeros(heads, *z.shape, dtype=z.dtype, device=z.device)
            ways[range(heads), :, :, range(heads)] = at_heads.permute(2, 0, 1, 3)
            (slope_of,) = torch.autograd.grad(z, before, ways, is_grads_batched=True)
            gradients[:0] = [torch.cat([slope_of, (past - slope)[None]])]
            slope = past + slope_of.sum(0)
        return torch.cat(gradients)

    def _expect_added(self, place: int, at_heads: Tensor, past: Tensor, slope: Tensor) -> None:
        """Tell whether a layer's MLP reads what its heads wrote; refuse a layer that does otherwise with that."""
        allowed = CLOSE * at_heads.abs().max()
        behind, others = (
            bool(((torch.einsum("bqe,hde->bqhd", one, self._w[place]) - at_heads).abs() <= allowed).all())
            for one in (past, slope)
        )
        if not behind and not others:
            raise no_stream(self._model, f"a layer {place} that changes what W_O gives before it adds it")
        if behind:
            heads = self._outputs.heads[place]
            mlp = sum(many + 1 for many in self._outputs.heads[: place + 1]) - 1
            self.edges[mlp + 1 - heads : mlp + 1, mlp] = True

    def _rerun(self, run: _Layers, place: int, before: Tensor, z: Tensor | None = None) -> Tensor:
        """The stream after a layer, from another before it and these outputs of its heads; without them what its heads
        give, and no more of the layer is run."""
        seen: list[Tensor] = []

        def change(_: int, given: Tensor) -> Tensor:
            if z is None:
                seen.append(given)
                raise _EnoughError
            return z

        args, kwargs = _with(before, *run.given[place])
        with (
            suppress(_EnoughError),
            evaluating(self._model.module),
            self._outputs.changing(change, len(before)),
        ):
            return _first(self._blocks[place](*args, **kwargs))
        return seen[0]

    def _pass(
        self,
        ready: Mapping[str, Tensor],
        embedding: Tensor | None = None,
        *,
        last: Tensor | None = None,
        cut: bool = False,
    ) -> _Layers:
        run, thread = _Layers(), threading.get_ident()

        def leaf(x: Tensor) -> Tensor:
            return x.detach().requires_grad_() if cut else x

        def enter(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if threading.get_ident() != thread:
                return None
            stream: Tensor = args[0] if args else kwargs["hidden_states"]
            if run.after and not torch.equal(stream, run.after[-1]):
                raise no_stream(self._model, "a layer that does not get what the one before it gave")
            if embedding is not None and not run.before:
                stream = embedding
            run.given.append(afresh(args, kwargs))
            run.before.append(leaf(stream))
            return _with(run.before[-1], args, kwargs)

        def leave(_: nn.Module, args: Any, output: Any) -> Any:
            if threading.get_ident() != thread:
                return None
            stream = _first(output)
            run.after.append(stream)
            if len(run.after) < len(self._blocks):
                return None
            run.last = leaf(stream if last is None else last)
            return (run.last, *output[1:]) if isinstance(output, tuple) else run.last

        def change(_: int, z: Tensor) -> Tensor:
            run.z.append(z)
            run.leaves.append(leaf(z))
            return run.leaves[-1]

        with ExitStack() as hooks:
            for block in self._blocks:
                hooks.callback(block.register_forward_pre_hook(enter, with_kwargs=True).remove)
                hooks.callback(block.register_forward_hook(leave).remove)
            run.logits = self._outputs.run(ready, change)
        return run


class _EnoughError(Exception):
    """The heads of a layer were seen."""


def live(keep: Tensor) -> Tensor:
    """The edges of a circuit that are on a way from the embedding to the logits, bool ``[writer reader]``.

    >>> live(torch.tensor([[True, False], [False, False]]))
    tensor([[False, False],
            [False, False]])
    """
    reached, leads = keep.new_zeros(len(keep)), keep.new_zeros(keep.shape[1])
    reached[0] = leads[-1] = True
    for reader in range(keep.shape[1] - 1):  # a reader is the next writer, and earlier than all that read it
        reached[reader + 1] = (keep[:, reader] & reached).any()
    for reader in reversed(range(keep.shape[1] - 1)):
        leads[reader] = (keep[reader + 1] & leads).any()
    return keep & reached[:, None] & leads


def _with(stream: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """What a layer is given, with another stream."""
    return ((stream, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": stream})


def _first(output: Any) -> Tensor:
    return cast("Tensor", output[0] if isinstance(output, tuple) else output)
