"""What each part of a model hands to each other part by the residual stream, between two runs: the edges of a graph.

Writers are the embedding, each head, each MLP and what else mixes tokens; readers are each head (its queries, keys and
values), each MLP, what else mixes tokens, and the logits. An edge's score is the difference of what its writer gives in
two runs, times the gradient at the stream where its reader reads, a mean of gradients along the straight line between
the two embeddings: edge attribution patching with integrated gradients (Hanna et al. 2024, "Have Faith in
Faithfulness", section 3). A pass is cut at each layer's input and at its heads' outputs, so that the gradient at each
reader is one of its own layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from headscope.attention.linear import PLACED, TOKEN, Site, block_of
from headscope.attention.one import output_of
from headscope.attention.recording import Enough, Hooks, afresh, entered, entering, evaluating, first
from headscope.attention.residual import Outputs, no_stream
from headscope.core.heads import Head
from headscope.core.types import AnyDict
from headscope.models.model import Model

LOGITS = "logits"

CLOSE = 1e-4
"""How far a gradient may be from the one that W_O hands on, as a share of the largest."""

AT_ONCE = 1 << 26
"""Numbers that all writers write, of the inputs that run at once."""

Objective = Callable[[Tensor], Tensor]
"""A number of each row of a batch, of the logits ``[batch query id]``."""


Key = tuple[int, int]
"""A layer, and which of its parts that mix tokens."""


@dataclass(eq=False)
class _MixerPart:
    """What mixes tokens in a layer: its heads, or a module that is no attention, as one head whose W_O is 1.

    Attributes:
        names: of its heads.
        w: W_O, times what the layer multiplies it with, ``[head dim stream]``.
        of: where the heads' outputs enter W_O, or the module.
    """

    names: Sequence[str]
    w: Tensor
    of: Site | nn.Module

    def change(self, hooks: Hooks, rows: int, change: Callable[[Tensor], Tensor]) -> None:
        """Let `change` see and change the outputs ``[batch query head dim]``, in batches of so many rows."""
        if isinstance(self.of, Site):
            self.of.change(hooks, rows, change)
        else:
            hooks.on_exit(self.of, lambda output: change(output[:, :, None])[:, :, 0])

    def added(self, z: Tensor) -> Tensor:
        """What each head adds to the stream ``[head batch query stream]``, of outputs ``[batch query head dim]``."""
        return torch.einsum("bqhd,hde->hbqe", z, self.w)

    def back(self, slope: Tensor) -> Tensor:
        """The gradient at its heads' outputs of one at what they add."""
        return torch.einsum("bqe,hde->bqhd", slope, self.w)


@dataclass(eq=False)
class _Layers:
    """One pass: of each layer the stream before it, the outputs of its parts and the stream after it; the logits.

    Attributes:
        given: what else each layer is given to run again.
        leaves: of a pass that is cut, where the outputs of the parts of each layer go on.
        last: the stream behind the last layer, where it goes on.
    """

    before: list[Tensor] = field(default_factory=list[Tensor])
    z: dict[Key, Tensor] = field(default_factory=dict[Key, Tensor])
    after: list[Tensor] = field(default_factory=list[Tensor])
    given: list[tuple[tuple[Any, ...], AnyDict]] = field(default_factory=list[Any])
    leaves: dict[Key, Tensor] = field(default_factory=dict[Key, Tensor])
    last: Tensor = field(default_factory=lambda: torch.empty(0))
    logits: Tensor = field(default_factory=lambda: torch.empty(0))


class Graph:
    """The parts of a causal language model, and what they hand on.

    Args:
        model: with weights in float32 or float64.
        outputs: where its heads' outputs enter W_O.
        ready: an input to find its layers on.

    Attributes:
        writers, readers: their names; of a layer its heads, what else mixes tokens, then its MLP.
        embedding: the name of what enters the first layer.
        edges: which writers a reader can read, bool ``[writer reader]``.

    Raises `RefusedError` for layers that do not add to one stream what W_O makes of their heads' outputs.
    """

    def __init__(self, model: Model, outputs: Outputs, ready: Mapping[str, Tensor]) -> None:
        self._model = model
        ready = {name: value[:1] for name, value in ready.items()}
        reader = outputs.reader
        sites = {block_of(name): site for name, site in reader.sites.items()}
        self._blocks = [block for block, _, _ in reader.layers]
        self._parts: list[list[_MixerPart]] = []
        weight = outputs.sites[0].matrix.to(model.device)
        self._width = weight.shape[-1]
        one = torch.eye(self._width).to(weight)[None]
        every: list[list[str]] = []
        for block, pile, number in reader.layers:
            parts: list[_MixerPart] = []
            if (site := sites.get((pile, number))) is not None:
                labels = [str(Head(site.layer, head)) for head in range(site.heads)]
                w = site.matrix.to(model.device).reshape(site.heads, -1, self._width)
                parts.append(_MixerPart(labels, w, site))
            mixing = {part: reader.mixers[part] for part in block.modules() if part in reader.mixers}
            parts += [
                _MixerPart([f"{kind} {number}"], one, part)
                for part, kind in mixing.items()
                if part is not block
            ]
            self._parts.append(parts)
            every.append(
                [*(name for part in parts for name in part.names), f"{mixing.get(block, 'mlp')} {number}"]
            )
        flat = [name for layer in every for name in layer]
        self.embedding = PLACED if reader.placed else TOKEN
        self.writers, self.readers = [self.embedding, *flat], [*flat, LOGITS]
        place = torch.tensor([-1, *(at for at, layer in enumerate(every) for _ in layer)])
        self._ends = [*accumulate(map(len, every))]  # of each layer, behind its MLP among the readers
        self.edges = place[:, None] < torch.cat([place[1:], torch.tensor([len(every)])])
        # Finds what MLPs read, and what a layer multiplies its parts with.
        self._slopes(ready, lambda logits: logits.square().sum((1, 2)), fit=True)

    def at_once(self, tokens: int) -> int:
        """Of how many inputs of so many tokens scores are computed at once."""
        return max(1, AT_ONCE // (len(self.writers) * tokens * self._width))

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

        for some in (shares[at : at + size] for at in range(0, len(shares), size)):
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
        for place, parts in enumerate(self._parts):
            for which, part in enumerate(parts):
                for head in range(len(part.w)):
                    if keep[:, at].any():  # else it reads what it read in the corrupted run
                        z = self._rerun(run, place, run.before[place] + read(at), which)
                        change[at + 1] = z[:, :, head] @ part.w[head] - theirs[at + 1]
                    at += 1
            if keep[:, at].any():
                before = run.before[place] + read(at)
                added = run.after[place] - run.before[place]
                change[at + 1] = self._rerun(run, place, before) - before - added
            at += 1
        return self._pass(ready, last=run.after[-1] + read(at)).logits

    def _writes(self, run: _Layers) -> Tensor:
        """What each writer gave to the stream ``[writer batch query stream]``, biases with the MLPs."""
        writes = [run.before[0][None]]
        for place, (before, after) in enumerate(zip(run.before, run.after, strict=True)):
            parts = [part.added(run.z[place, which]) for which, part in enumerate(self._parts[place])]
            mixed = sum((part.sum(0) for part in parts), torch.zeros_like(before))
            writes += [*parts, (after - before - mixed)[None]]
        return torch.cat(writes)

    def _slopes(
        self,
        ready: Mapping[str, Tensor],
        objective: Objective,
        embedding: Tensor | None = None,
        *,
        fit: bool = False,
    ) -> Tensor:
        """The gradient of the objective at the stream that each reader reads, ``[reader batch query stream]``."""
        with torch.enable_grad():
            run = self._pass(ready, embedding, cut=True)
            (slope,) = torch.autograd.grad(objective(run.logits).sum(), run.last)
        gradients = [slope[None]]
        for place in reversed(range(len(self._blocks))):
            before, parts = run.before[place], self._parts[place]
            leaves = [run.leaves[place, which] for which in range(len(parts))]
            past, *at_parts = torch.autograd.grad(
                run.after[place], [before, *leaves], slope, retain_graph=True, materialize_grads=True
            )
            read: list[Tensor] = []
            for which, (part, at_part) in enumerate(zip(parts, at_parts, strict=True)):
                self._expect_added(place, which, at_part, past, slope, fit=fit)
                z, heads = run.z[place, which], len(part.names)
                others = [leaf for leaf in leaves if leaf is not leaves[which]]
                ways = at_part[None]
                if heads > 1:
                    ways = torch.zeros(heads, *z.shape, dtype=z.dtype, device=z.device)
                    ways[range(heads), :, :, range(heads)] = at_part.permute(2, 0, 1, 3)
                slope_of, *between = torch.autograd.grad(
                    z,
                    [before, *others],
                    ways if heads > 1 else ways[0],
                    is_grads_batched=heads > 1,
                    retain_graph=True,
                    materialize_grads=True,
                )
                if any(one.any() for one in between):
                    raise no_stream(
                        self._model, f"a layer {place} whose {part.names[0]} reads what another part wrote"
                    )
                read.append(slope_of if heads > 1 else slope_of[None])
            gradients[:0] = [torch.cat([*read, (past - slope)[None]])]
            slope = past + sum(one.sum(0) for one in read)
        return torch.cat(gradients)

    def _expect_added(
        self, place: int, which: int, at_part: Tensor, past: Tensor, slope: Tensor, *, fit: bool
    ) -> None:
        """Tell whether a layer's MLP reads what a part wrote, and to `fit` what the layer multiplies that with; refuse
        a layer that does otherwise with it."""
        part, allowed = self._parts[place][which], CLOSE * at_part.abs().max()
        for behind, one in ((True, past), (False, slope)):
            back = part.back(one)
            factor = (back * at_part).sum() / back.square().sum() if fit and back.any() else back.new_ones(())
            if ((factor * back - at_part).abs() <= allowed).all():
                part.w = factor * part.w
                if behind:
                    mlp = self._ends[place] - 1
                    start = mlp + 1 - sum(len(one.names) for one in self._parts[place][which:])
                    self.edges[start : start + len(part.names), mlp] = True
                return
        name = "W_O" if isinstance(part.of, Site) else part.names[0]
        raise no_stream(self._model, f"a layer {place} that changes what {name} gives before it adds it")

    def _rerun(self, run: _Layers, place: int, before: Tensor, which: int | None = None) -> Tensor:
        """The stream after a layer, from another before it and the outputs of its parts as they were; or what one of
        these gives, and no more of the layer is run."""
        seen: list[Tensor] = []

        def change(key: Key, given: Tensor) -> Tensor:
            if key == (place, which):
                seen.append(given)
                raise Enough
            return run.z[key] if which is None else given

        args, kwargs = entering(before, *run.given[place])
        with suppress(Enough), evaluating(self._model.module), self._changing(change, len(before)):
            return first(self._blocks[place](*args, **kwargs))
        return seen[0]

    def _changing(self, change: Callable[[Key, Tensor], Tensor], rows: int) -> Hooks:
        """Within it `change` sees and changes the outputs of all parts ``[batch query head dim]``."""
        hooks = Hooks()
        for place, parts in enumerate(self._parts):
            for which, part in enumerate(parts):
                part.change(hooks, rows, partial(change, (place, which)))
        return hooks

    def _pass(
        self,
        ready: Mapping[str, Tensor],
        embedding: Tensor | None = None,
        *,
        last: Tensor | None = None,
        cut: bool = False,
    ) -> _Layers:
        run = _Layers()

        def leaf(x: Tensor) -> Tensor:
            return x.detach().requires_grad_() if cut else x

        def enter(_: nn.Module, args: tuple[Any, ...], kwargs: AnyDict) -> Any:
            stream = entered(args, kwargs)
            if not isinstance(stream, Tensor) or stream.ndim != 3:
                raise no_stream(self._model, "a layer that is not given one stream")
            if run.after and not torch.equal(stream, run.after[-1]):
                raise no_stream(self._model, "a layer that does not get what the one before it gave")
            if embedding is not None and not run.before:
                stream = embedding
            run.given.append(afresh(args, kwargs))
            run.before.append(leaf(stream))
            return entering(run.before[-1], args, kwargs)

        def leave(stream: Tensor) -> Tensor | None:
            run.after.append(stream)
            if len(run.after) < len(self._blocks):
                return None
            run.last = leaf(stream if last is None else last)
            return run.last

        def change(key: Key, z: Tensor) -> Tensor:
            run.z[key], run.leaves[key] = z, leaf(z)
            return run.leaves[key]

        with self._changing(change, len(next(iter(ready.values())))) as hooks:
            for block in self._blocks:
                hooks.before(block, enter)
                hooks.on_exit(block, leave)
            run.logits = output_of(self._model, ready).logits
        return run


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
