"""What one attention call did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from headscope.core.maps import Kind
from headscope.errors import RefusedError

Route = Literal["interface", "trace"]

IMPLICIT = "implicit"
"""What the part of implicit maps is called."""


class GridCells(NamedTuple):
    """The grid of a picture that an axis is, row by row.

    Attributes:
        rows, columns: how many cells it has.
        side: of a cell, in pixels of what the model takes.
        moved: by how many of these the cells stand further down and across.
        of: how many of these the picture has, down and across.
        before: how many tokens stand before the cells.
    """

    rows: int
    columns: int
    side: tuple[float, float]
    moved: tuple[float, float]
    of: tuple[int, int]
    before: int = 0


@dataclass(eq=False)
class AttentionRecord:
    """One attention call: what softmax was taken of, and what it gave.

    ``weights = softmax(softcap(scaling · q kᵀ + bias) + mask)``, over the keys and, where there are sinks, the sinks.

    Attributes:
        module: dotted name of the attention module in the model.
        stack: the pile of layers it belongs to, such as ``encoder.layer.*``.
        layer: index of the layer in that pile, as the model counts.
        kind: ``self``, ``cross`` (decoder to encoder) or ``encoder`` (of an encoder-decoder).
        q: queries ``[batch head query dim]``, positions (RoPE) applied.
        k: keys ``[batch key_head key dim]`` before GQA expansion.
        v: values ``[batch key_head key value_dim]``; None where no product with values was seen.
        scaling: factor of q kᵀ.
        mask: added to the scores (float; −inf or a large negative number hides), or the visible keys (bool);
            broadcasts to ``[batch head query key]``; None: nothing is hidden but by `is_causal`.
        is_causal: hide the keys after each query (used with `mask` None, by fused attention).
        bias: what is added to the scores before the mask (ALiBi, T5's relative positions, DeBERTa's terms).
        softcap: c of ``c · tanh(scores / c)``; None for none.
        sinks: one logit a head ``[head]`` that takes part in softmax and is no key.
        key_offset: position of the first key among all keys of the input (above 0 where a sliding cache was cropped).
        route: which mechanism saw it.
        step: 0 for the prompt; 1, 2, … for the steps of `generate`.
        given: the weights that the model itself computed ``[batch head query key]``, part of its graph; None when
            it ran a fused kernel.
        followed: False where the trace met an operation on the scores that it cannot express; `bias` is then what is
            left of the model's own scores besides scaling · q kᵀ, so that recomputing proves nothing.
        output: what the values give by the weights, ``[batch head query value_dim]``, where a hook computed it beside
            what it wanted of a fused call: the model takes it in place of running its kernel.
        area: what the axis is of, where a part of the model has several, such as ``stage 1`` or ``tile 2``; `IMPLICIT`
            for a mixer that is no attention (`headscope.attention.implicit`).
        signed: its implicit map M ``[batch head query key]``; `given` are the shares of each row's Σ \\|M\\|, and q and
            k are empty.
        moved: by how many pixels of a picture queries and keys, down and across, stand off the middles of equal cells
            (`headscope.attention.convolutions`).
        cells: the grids that queries and keys are; None for other axes.
    """

    module: str
    stack: str
    layer: int
    kind: Kind
    q: Tensor
    k: Tensor
    v: Tensor | None
    scaling: float
    mask: Tensor | None = None
    is_causal: bool = False
    bias: Tensor | None = None
    softcap: float | None = None
    sinks: Tensor | None = None
    key_offset: int = 0
    route: Route = "interface"
    step: int = 0
    given: Tensor | None = None
    followed: bool = True
    output: Tensor | None = None
    area: str = ""
    signed: Tensor | None = None
    moved: tuple[tuple[float, float], tuple[float, float]] = ((0.0, 0.0), (0.0, 0.0))
    cells: tuple[GridCells, GridCells] | None = None

    @property
    def called(self) -> Sequence[AttentionRecord]:
        """The calls of the model that this is; several where `headscope.attention.windows` tells them as one."""
        return (self,)

    @property
    def leaks(self) -> bool:
        """Whether rows give part of their mass to what is no key."""
        return self.sinks is not None

    def joined(self, weights: Sequence[Tensor]) -> Tensor:
        """What each call of `called` has for its pairs, as ``[batch head query key]``."""
        return weights[0]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(batch, heads, queries, keys)."""
        return (self.q.shape[0], self.q.shape[1], self.q.shape[2], self.k.shape[2])

    @property
    def groups(self) -> int:
        """How many query heads share one key head (1 without GQA)."""
        return self.q.shape[1] // self.k.shape[1]

    @property
    def keys(self) -> Tensor:
        """Keys after GQA expansion, ``[batch head key dim]``; key head ``h // groups`` serves query head h."""
        return self.k if self.groups == 1 else self.k.repeat_interleave(self.groups, 1)

    @property
    def values(self) -> Tensor:
        """Values after GQA expansion, ``[batch head key value_dim]``."""
        if self.v is None:
            raise RefusedError(f"{self.module}: the product of weights and values was not seen")
        heads = self.q.shape[1]
        return self.v if self.v.shape[1] == heads else self.v.repeat_interleave(heads // self.v.shape[1], 1)

    def at(self, device: torch.device) -> AttentionRecord:
        """The call with all its tensors on a device: itself where they are there."""
        if self.q.device == device:
            return self
        tensors = ("q", "k", "v", "mask", "bias", "sinks", "given")
        there = {name: value.to(device) for name in tensors if (value := getattr(self, name)) is not None}
        return replace(self, **there)

    def visible(self, rows: slice = slice(None)) -> Tensor | None:
        """Which keys each query may see, bool, broadcasting to ``[batch head query key]``; None: all of them."""
        seen = None
        if self.mask is not None:
            part = self.mask if self.mask.shape[-2] == 1 else self.mask[..., rows, :]
            seen = shown_by(part)
        if self.is_causal:
            _, _, queries, keys = self.shape
            query = torch.arange(queries, device=self.q.device)[rows, None] + keys - queries
            lower = torch.arange(keys, device=self.q.device) <= query
            seen = lower if seen is None else seen & lower
        return seen

    def sight(self, rows: slice = slice(None)) -> Tensor:
        """The same with all four axes, each of size 1 where it does not matter, and where all of them are seen."""
        seen = self.visible(rows)
        seen = torch.ones((), dtype=torch.bool, device=self.q.device) if seen is None else seen
        return seen[(None,) * (4 - seen.ndim)]

    def scores(self, rows: slice = slice(None)) -> Tensor:
        """What softmax is taken of, ``[batch head query key]``; hidden keys have −inf or the model's own number."""
        scores = (self.q[..., rows, :] @ self.keys.transpose(-1, -2)) * self.scaling
        if self.bias is not None:
            scores = scores + (self.bias if self.bias.shape[-2] == 1 else self.bias[..., rows, :])
        if self.softcap is not None:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        if self.mask is not None and self.mask.dtype != torch.bool:
            return scores + (self.mask if self.mask.shape[-2] == 1 else self.mask[..., rows, :])
        if (seen := self.visible(rows)) is not None:
            scores = scores.masked_fill(~seen, -torch.inf)
        return scores

    def recompute(self, rows: slice = slice(None)) -> Tensor:
        """The weights again, from q, k and the rest. A row that sees nothing is all zeros; NaN stays NaN."""
        return self.softmax(self.scores(rows))

    def softmax(self, scores: Tensor) -> Tensor:
        """The weights that scores give, as this call takes them: beside its sinks."""
        if self.sinks is not None:
            sink = (
                self.sinks.to(scores.dtype)
                .reshape(1, -1, 1, 1)
                .expand(scores.shape[0], -1, scores.shape[2], 1)
            )
            every = torch.cat([scores, sink], -1)
            every = every - every.amax(-1, keepdim=True)  # as gpt-oss does, which counts in half precision
            weights = every.softmax(-1)[..., :-1]
        else:
            weights = scores.softmax(-1)
        if self.mask is None:
            return weights
        return weights.masked_fill(scores.amax(-1, keepdim=True) == -torch.inf, 0.0)

    def weights(self, rows: slice = slice(None)) -> Tensor:
        """The attention weights ``[batch head query key]``, all queries or some: the model's own where it made them."""
        return self.recompute(rows) if self.given is None else self.given[..., rows, :]

    def blocks(self, elements: int = 1 << 22) -> Iterator[tuple[slice, Tensor]]:
        """The weights by blocks of queries: memory linear in length."""
        return ((rows, self.weights(rows)) for rows in self.rows(elements))

    def rows(self, elements: int = 1 << 22) -> Iterator[slice]:
        """Blocks of queries, each of at most about `elements` weights."""
        batch, heads, queries, keys = self.shape
        step = max(1, min(queries, elements // max(1, batch * heads * keys)))
        return (slice(start, min(start + step, queries)) for start in range(0, queries, step))

    def seeing(self, seen: Tensor) -> AttentionRecord:
        """The same call where queries see, of the keys that they saw, those alone that `seen` says.

        Args:
            seen: bool, broadcasts to ``[batch head query key]``. A query that sees no key gives no weight.

        Of a call that cannot be recomputed (`followed`), the model's own weights are put to sum to 1 again.
        """
        mask, seen = self.mask, seen & self.sight()
        # A mask of floats may hold more than what is hidden; a row of which all is hidden by a large number is even.
        mask = seen if mask is None or mask.dtype == torch.bool else torch.where(seen, mask, -torch.inf)
        given = None
        if self.given is not None and not self.followed:
            given = self.given * seen
            total = given.sum(-1, keepdim=True)
            given = given / torch.where(total > 0, total, 1.0)
        return replace(self, mask=mask, is_causal=False, given=given)


Hook = Callable[[AttentionRecord], Tensor | None]
"""Is shown each attention call; a tensor ``[batch head query key]`` that it returns takes the place of the weights."""


def shown_by(mask: Tensor) -> Tensor:
    """Where a mask shows a key: true, or a number that is added and does not hide it."""
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 4


def shaped(answer: Tensor, record: AttentionRecord) -> Tensor:
    """What a hook answered to a call. Raises `RefusedError` where it has another shape than the weights."""
    if tuple(answer.shape) != record.shape:
        raise RefusedError(
            f"{record.module}: an edit returned weights {tuple(answer.shape)}, "
            f"expected [batch head query key] {record.shape}"
        )
    return answer


def answered(
    hook: Hook, record: AttentionRecord, home: torch.device
) -> tuple[AttentionRecord, Tensor | None]:
    """A call as a hook is shown it, at home, and the weights that the hook puts in the place of the model's own."""
    seen = record.at(home)
    answer = hook(seen)
    if answer is None and seen is not record:
        answer = seen.given  # so that it stays a part of the model's graph
    return seen, None if answer is None else shaped(answer, record).to(record.q.device)


def leaf_of(record: AttentionRecord) -> Tensor | None:
    """What has the weights of a call carry a gradient where the model's own, of weights that are frozen, carry none.

    `given` is what carries it. Raises `RefusedError` for a call whose weights are in no graph.
    """
    if record.given is None:
        raise RefusedError(
            f"{record.module}: runs a fused kernel, so no weights are in its graph; load it with eager attention"
        )
    if record.given.requires_grad:
        return None
    record.given = record.given.detach().requires_grad_()
    return record.given


def silenced(record: AttentionRecord, heads: Sequence[int] | int) -> Tensor:
    """The weights of a call with those of some heads at 0."""
    weights = record.weights().clone()
    weights[:, heads] = 0.0
    return weights
