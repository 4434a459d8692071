"""Attention scores as an expression: the q and k that they are a product of, and all that was done to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor

HIDES = -9999.0
"""A score, or a number added to it, at or below this hides a key: its weight is zero in every float type."""


class Layout(NamedTuple):
    """How the dimensions of a tensor stand to ``[*lead, query, key]``.

    Attributes:
        lead: sizes of the dimensions before query and key (batch, head, or both in one).
        order: dimension i of the tensor is dimension ``order[i]`` of ``[*lead, query, key]``.
    """

    lead: tuple[int, ...]
    order: tuple[int, ...]

    @classmethod
    def plain(cls, lead: Sequence[int]) -> Layout:
        """The layout ``[*lead, query, key]`` itself."""
        return cls(tuple(lead), tuple(range(len(lead) + 2)))

    @property
    def query(self) -> int:
        """Which dimension of the tensor is the queries."""
        return self.order.index(len(self.lead))

    @property
    def key(self) -> int:
        """Which dimension of the tensor is the keys."""
        return self.order.index(len(self.lead) + 1)

    def canonical(self, tensor: Tensor) -> Tensor:
        """`tensor`, which broadcasts with the one laid out so, as ``[*lead, query, key]``."""
        tensor = tensor[(None,) * (len(self.order) - tensor.ndim)]
        return tensor.permute([self.order.index(i) for i in range(len(self.order))])

    def restore(self, tensor: Tensor) -> Tensor:
        """The way back: ``[*lead, query, key]`` in the tensor's own order."""
        return tensor.permute(self.order)

    def permuted(self, dims: Sequence[int]) -> Layout:
        """The layout after ``tensor.permute(dims)``."""
        return Layout(self.lead, tuple(self.order[d] for d in dims))

    def swapped(self) -> Layout:
        """The layout with the parts of query and key exchanged."""
        n = len(self.lead)
        return Layout(self.lead, tuple({n: n + 1, n + 1: n}.get(i, i) for i in self.order))

    def reshaped(self, old: Sequence[int], new: Sequence[int]) -> Layout | None:
        """The layout after a view from shape `old` to `new`; None where queries or keys do not stay dimensions."""
        n = len(self.lead)
        if tuple(old) == tuple(new):
            return self
        if [i for i in self.order if i < n] != list(range(n)):
            return None
        after: dict[int, int] = {}  # dimension of `new` -> n (query) or n + 1 (key)
        ones = [j for j, size in enumerate(new) if size == 1]
        for label, dim in ((n + 1, self.key), (n, self.query)):
            if old[dim] == 1:
                if not ones:
                    return None
                after[ones.pop()] = label
            elif (j := _same_dimension(dim, old, new)) is not None:
                after[j] = label
            else:
                return None
        lead = [j for j in range(len(new)) if j not in after]
        rank = {n: len(lead), n + 1: len(lead) + 1}
        order = tuple(rank[after[j]] if j in after else lead.index(j) for j in range(len(new)))
        return Layout(tuple(new[j] for j in lead), order)


def _same_dimension(dim: int, old: Sequence[int], new: Sequence[int]) -> int | None:
    """The dimension of `new` that is dimension `dim` (of size above 1) of `old`, neither split nor merged."""
    before = prod(old[:dim])
    for j, size in enumerate(new):
        if size == old[dim] and prod(new[:j]) == before:
            return j
    return None


class HeadAxis(NamedTuple):
    """How many heads there are, and which lead dimension they are; None: the last, or a part of it."""

    heads: int
    at: int | None = None

    def size(self, lead: Sequence[int]) -> tuple[int, int]:
        """(batch, heads)."""
        return prod(lead) // self.heads, self.heads


def normal(tensor: Tensor, lead: tuple[int, ...], heads: HeadAxis) -> Tensor:
    """``[*lead, a, b]``, or what broadcasts to it, as ``[batch head a b]``."""
    size = heads.size(lead)
    if heads.at is None and lead == size:
        return tensor
    if all(n == 1 for n in tensor.shape[:-2]):
        return tensor.reshape(1, 1, *tensor.shape[-2:])
    full = tensor.expand(*lead, *tensor.shape[-2:])
    if heads.at is not None:
        full = full.movedim(heads.at, -3)
    return full.reshape(*size, *tensor.shape[-2:])


def restored(tensor: Tensor, lead: Sequence[int], heads: HeadAxis) -> Tensor:
    """``[batch head a b]`` as ``[*lead, a, b]``: the way back from `normal`."""
    if heads.at is None:
        return tensor.reshape(*lead, *tensor.shape[-2:])
    others = [*lead[: heads.at], *lead[heads.at + 1 :]]
    return tensor.reshape(*others, heads.heads, *tensor.shape[-2:]).movedim(-3, heads.at)


def hides(value: object) -> bool:
    """Whether a number (or all of a tensor) hides the keys that it fills."""
    if isinstance(value, Tensor):
        return bool((value <= HIDES).all())
    return isinstance(value, (int, float)) and value <= HIDES


def unchanged(before: Tensor, after: Tensor) -> bool:
    """Whether a clamp (or the like) left the scores as they were, but for those of hidden keys."""
    return bool(((before == after) | ((before <= HIDES) & (after <= HIDES))).all())


class Fields(NamedTuple):
    """The parts of `AttentionRecord` that an expression gives."""

    q: Tensor
    k: Tensor
    scaling: float
    mask: Tensor | None
    bias: Tensor | None
    softcap: float | None
    sinks: Tensor | None
    followed: bool


@dataclass(frozen=True, eq=False)
class ScoreExpression:
    """``cap · tanh(scale · q kᵀ + Σ terms) + Σ after``, some keys hidden; without a cap there is no tanh.

    All tensors broadcast to ``[*lead, query, key]`` of `layout`, which says how the tensor itself lies.

    Attributes:
        q: ``[*lead, query, dim]``.
        k: ``[*lead, key, dim]``.
        scale: factor of the product.
        terms: what was added, each with its factor.
        cap: factor of the tanh.
        after: what was added to the tanh.
        hidden: bool; keys that are hidden.
        zeroed: bool; scores that were multiplied by 0, which must be hidden in the end.
        sinks: logits ``[*lead, query, 1]`` that stand after the keys.
        followed: False once something was done that the expression does not say.
    """

    q: Tensor
    k: Tensor
    layout: Layout
    scale: float = 1.0
    terms: tuple[tuple[Tensor, float], ...] = ()
    cap: float | None = None
    after: tuple[tuple[Tensor, float], ...] = ()
    hidden: tuple[Tensor, ...] = ()
    zeroed: tuple[Tensor, ...] = ()
    sinks: Tensor | None = None
    followed: bool = True

    @property
    def certain(self) -> bool:
        """Whether `fields` will not need the logits: nothing is left to find out from the numbers."""
        return self.followed and self.cap is None and not self.zeroed and self.sinks is None

    def lost(self) -> ScoreExpression:
        """The scores after something that this expression cannot say."""
        return replace(self, followed=False)

    def _mapped(self, change: Callable[[Tensor], Tensor], **others: Any) -> ScoreExpression:
        """The scores with all that broadcasts to them (not q and k) changed."""
        return replace(
            self,
            terms=tuple((change(t), c) for t, c in self.terms),
            after=tuple((change(t), c) for t, c in self.after),
            hidden=tuple(map(change, self.hidden)),
            zeroed=tuple(map(change, self.zeroed)),
            sinks=None if self.sinks is None else change(self.sinks),
            **others,
        )

    def swapped(self) -> ScoreExpression:
        """The same product with queries and keys exchanged."""
        followed = self.followed and self.sinks is None
        layout = self.layout.swapped()
        return self._mapped(
            lambda t: t.transpose(-1, -2), q=self.k, k=self.q, layout=layout, followed=followed
        )

    def in_order(self) -> ScoreExpression:
        """The same with the lead dimensions in the order in which the tensor has them."""
        n = len(self.layout.lead)
        have = [i for i in self.layout.order if i < n]
        if have == sorted(have):
            return self

        def arrange(t: Tensor) -> Tensor:
            return t.permute(*have, n, n + 1)

        lead = tuple(self.layout.lead[i] for i in have)
        order = tuple(have.index(i) if i < n else i for i in self.layout.order)
        return self._mapped(arrange, q=arrange(self.q), k=arrange(self.k), layout=Layout(lead, order))

    def grown(self, shape: Sequence[int]) -> ScoreExpression | None:
        """The scores after broadcasting to `shape` (batch or heads may grow); None where queries or keys would."""
        if len(shape) != len(self.layout.order):
            return None
        sizes = [shape[self.layout.order.index(i)] for i in range(len(shape))]
        keys = self.k.shape[-2] + (self.sinks is not None)
        if sizes[-2:] != [self.q.shape[-2], keys]:
            return None
        return replace(self, layout=Layout(tuple(sizes[:-2]), self.layout.order))

    def permuted(self, dims: Sequence[int]) -> ScoreExpression:
        """The scores after ``scores.permute(dims)``."""
        return replace(self, layout=self.layout.permuted(dims))

    def reshaped(self, old: Sequence[int], new: Sequence[int]) -> ScoreExpression | None:
        """The scores after a view from shape `old` to `new`; None where queries or keys do not stay dimensions."""
        layout = self.layout.reshaped(old, new)
        if layout is None:
            return None

        def regroup(t: Tensor) -> Tensor:
            if layout.lead == self.layout.lead:
                return t
            return t.expand(*self.layout.lead, *t.shape[-2:]).reshape(*layout.lead, *t.shape[-2:])

        return self._mapped(regroup, q=regroup(self.q), k=regroup(self.k), layout=layout)

    def plus(self, term: Tensor | float, factor: float = 1.0) -> ScoreExpression:
        """The scores after ``scores + factor · term``."""
        tensor = self.layout.canonical(term if isinstance(term, Tensor) else self.q.new_tensor(term))
        if self.sinks is not None:  # what is the same for all keys and the sink does not change softmax
            return self if tensor.shape[-1] == 1 else self.lost()
        if self.cap is not None:
            return replace(self, after=(*self.after, (tensor, factor)))
        return replace(self, terms=(*self.terms, (tensor, factor)))

    def times(self, factor: Tensor | float) -> ScoreExpression:
        """The scores after ``scores · factor``."""
        if isinstance(factor, Tensor) and factor.numel() > 1:
            return self._times_tensor(self.layout.canonical(factor))
        number = float(factor)
        if number <= 0 or self.sinks is not None:
            return self.lost()
        after = tuple((t, c * number) for t, c in self.after)
        if self.cap is not None:
            return replace(self, cap=self.cap * number, after=after)
        return replace(self, scale=self.scale * number, terms=tuple((t, c * number) for t, c in self.terms))

    def _times_tensor(self, factor: Tensor) -> ScoreExpression:
        if self.cap is not None or self.sinks is not None:
            return self.lost()
        if self.hidden and not bool((factor > 0).all()):
            return self.lost()
        terms = tuple((t * factor, c) for t, c in self.terms)
        if factor.shape[-1] == 1:
            return replace(self, q=self.q * factor, terms=terms)
        if factor.shape[-2] == 1:
            return replace(self, k=self.k * factor.transpose(-1, -2), terms=terms)
        if bool(((factor == 0) | (factor == 1)).all()):
            return replace(self, zeroed=(*self.zeroed, factor == 0))
        return self.lost()

    def hide(self, where: Tensor) -> ScoreExpression:
        """The scores after hiding the keys at which `where` (bool, laid out as the scores) is true."""
        if self.sinks is not None:
            return self.lost()
        return replace(self, hidden=(*self.hidden, self.layout.canonical(where)))

    def tanh(self) -> ScoreExpression:
        """The scores after ``tanh(scores)``."""
        if self.cap is not None or self.sinks is not None or self.hidden or self.zeroed:
            return self.lost()
        return replace(self, cap=1.0)

    def with_sinks(self, sinks: Tensor) -> ScoreExpression:
        """The scores after putting `sinks` (laid out as the scores, one key) behind the last key."""
        return replace(self, sinks=self.layout.canonical(sinks)) if self.sinks is None else self.lost()

    def fields(self, heads: HeadAxis, logits: Tensor) -> Fields:
        """What the record says, with these heads.

        `logits` is what softmax was taken of; it may be empty where the expression is `certain`. Where it was
        not `followed`, the bias is what is left of the logits besides the product.
        """
        lead = self.layout.lead
        size = heads.size(lead)
        lowest = torch.finfo(logits.dtype).min
        q = normal(self.q, lead, heads).expand(*size, -1, -1)
        k = normal(self.k, lead, heads)
        k = k.expand(size[0], -1, -1, -1)
        scaling = self.scale * (self.cap or 1.0)
        hidden = [normal(where, lead, heads) for where in self.hidden]
        bias, after, exact = list[Tensor](), list[Tensor](), True
        matters = self.cap is not None or self.sinks is not None  # what all keys share still counts
        for term, factor in self.terms:
            value, hides = _split(normal(term, lead, heads), factor)
            if hides is not None:
                hidden.append(hides)
                exact = exact and self.cap is None
            if value is not None and (matters or value.shape[-1] == k.shape[-2]):
                bias.append(value * (self.cap or 1.0))
        for term, factor in self.after:
            value, hides = _split(normal(term, lead, heads), factor)
            hidden += [] if hides is None else [hides]
            after += [] if value is None else [value]
        unseen = reduce(torch.logical_or, hidden) if hidden else None
        mask = reduce(torch.add, after) if after else None
        for where in self.zeroed:
            zeroed = normal(where, lead, heads)
            exact = exact and unseen is not None and not bool((zeroed & ~unseen).any())
        sinks, one_per_head = None, True
        if self.sinks is not None:
            given = normal(self.sinks, lead, heads).expand(*size, -1, 1)
            sinks = given[0, :, 0, 0]
            one_per_head = bool((given == sinks[:, None, None]).all())
        if not self.followed or not exact or not one_per_head:
            seen = normal(self.layout.canonical(logits), lead, heads)[..., : k.shape[-2]]
            unseen = seen <= HIDES
            rest = seen - scaling * (q @ k.transpose(-1, -2))
            mask = torch.zeros_like(seen).masked_fill(unseen, lowest) if bool(unseen.any()) else None
            return Fields(q, k, scaling, mask, rest.masked_fill(unseen, 0.0), None, sinks, False)
        if unseen is not None:
            mask = torch.where(unseen, lowest, logits.new_zeros(()) if mask is None else mask)
        return Fields(q, k, scaling, mask, reduce(torch.add, bias) if bias else None, self.cap, sinks, True)


def _split(term: Tensor, factor: float) -> tuple[Tensor | None, Tensor | None]:
    """``factor · term`` as (what is added to visible keys, which keys it hides); None for nothing.

    A term of zeros and one number below −50 (Swin's −100) is a mask, too.
    """
    value = term if factor == 1.0 else term * factor
    if value.dtype == torch.bool:
        value = value.to(torch.get_default_dtype())
    least, most = torch.aminmax(value)
    if least > -50.0:
        return (None if least == most == 0 else value), None
    low = value <= -50.0
    hidden = low if bool((low | (value == 0)).all()) else value <= HIDES
    if not bool(hidden.any()):
        return value, None
    value = value.masked_fill(hidden, 0.0)
    return (value if bool((value != 0).any()) else None), hidden
