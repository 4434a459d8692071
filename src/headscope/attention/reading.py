"""Why a head looks from one token at another: the terms of the score, by who wrote the query's and the key's side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from headscope.attention.linear import KINDS, PLACED, TOKEN, LinearCall
from headscope.attention.mixers import MIXER
from headscope.attention.neurons import added
from headscope.attention.parts import sides
from headscope.attention.record import AttentionRecord
from headscope.attention.stream import Read, Reader, Who
from headscope.core.arrays import Bools, Floats
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.terms import SHOWN, SIDES
from headscope.core.tokens import Tokens
from headscope.errors import InputError, RefusedError
from headscope.models import Model

Foil = int | Literal["mean", "none"]
PAIR = Who("pair")
"""Who stands for what the positions of a pair add by themselves."""


@dataclass(frozen=True, eq=False)
class AskedKeys:
    """A head, and the keys that are compared for each of its queries.

    Attributes:
        head: its number in its layer.
        contrast: what each key counts, ``[query key]``; rows of 0 for queries that are not asked.
    """

    head: int
    contrast: Tensor

    def numbers(self, record: AttentionRecord, side: str) -> Tensor:
        """The contrasts of all queries, summed, ``[1]``, linear in one side, the other as it is."""
        query = record.q[0, self.head]
        difference = self.contrast.to(query) @ record.k[0, self.head // record.groups]
        pair = (query.detach(), difference) if side == "key" else (query, difference.detach())
        return (pair[0] * pair[1]).sum()[None] * record.scaling + self.placed(record, side)

    def of_pairs(self, record: AttentionRecord, side: str) -> float:
        """What positions add without this side: ALiBi, relative biases, and the other side's scores for positions."""
        bias = added(record)
        if bias is None:
            return 0.0
        every = float((bias.detach().expand(record.shape)[0, self.head] * self.contrast.to(bias)).sum())
        return every - float(self.placed(record, side).detach())

    def placed(self, record: AttentionRecord, side: str) -> Tensor:
        """What of the bias is linear in one side ``[1]``."""
        contrast = torch.zeros(record.shape[1:], device=record.q.device, dtype=record.q.dtype)
        contrast[self.head] = self.contrast.to(contrast)
        return placed_scores(record, contrast, side)[self.head][None]


def placed_scores(record: AttentionRecord, contrast: Tensor, side: str) -> Tensor:
    """What each head scores positions with one side's content ``[head]``, summed by a contrast ``[head query key]``.

    DeBERTa's queries are also multiplied with positions, and so are its keys: these terms stand in the bias, and are
    linear in the stream that queries, or keys, read. Raises `RefusedError` where it cannot be told in which.
    """
    if record.bias is None or not record.bias.requires_grad:
        return contrast.new_zeros(len(contrast))
    every = (record.bias.expand(record.shape)[0] * contrast).sum((1, 2))
    sides = (record.q, record.k) if side == "query" else (record.k, record.q)
    (of_this, part), (of_other, others) = (_made_of(every.sum(), x) for x in sides)
    if of_this:
        return part
    if not of_other:
        raise RefusedError(
            f"{record.module}: expected scores for positions that queries or keys give, found others"
        )
    return every - others


def _made_of(number: Tensor, x: Tensor) -> tuple[bool, Tensor]:
    """Whether a number was made of queries or keys ``[1 head token dim]``, and what is linear in them ``[head]``."""
    made = x if x._base is None else x._base  # x is seen as the record has it, and was something else before
    (slope,) = torch.autograd.grad(number, made, retain_graph=True, allow_unused=True, materialize_grads=True)
    if made is not x:
        start = x.storage_offset() - made.storage_offset()
        slope = torch.empty_like(made).copy_(slope).as_strided(x.shape, x.stride(), start)
    return bool(slope.any()), (slope.detach() * x)[0].sum((1, 2))


def ask(
    model: Model, record: AttentionRecord, head: int, keys: Tokens, row: int, key: int | None, foil: Foil
) -> tuple[int, AskedKeys]:
    """The key that one query is asked about, by default the one with the largest weight, and the contrast."""
    weights = record.weights(slice(row, row + 1))[0, head, 0].detach()
    seen = visible(record, head)[row]
    others = compared(keys, seen, causal=record.kind == "self" and model.causal)
    column = _key(key, keys, seen, weights, others)
    asked = AskedKeys(head, torch.zeros(record.shape[2:], device=weights.device))
    asked.contrast[row, column] = 1.0
    if foil == "mean":
        others[column] = False
        if not others.any():
            raise InputError(f"foil: expected another key than {column} whose mean can be taken, found none")
        asked.contrast[row] -= torch.as_tensor(others / others.sum()).to(asked.contrast)
    elif foil != "none":
        other = _seen("foil", foil, keys, seen)
        if other == column:
            raise InputError(f"foil: expected another key than the one asked about, found {foil}")
        asked.contrast[row, other] -= 1.0
    return column, asked


def terms_of(
    read: Read, record: AttentionRecord, asked: Sequence[AskedKeys]
) -> list[dict[str, dict[Who, float]]]:
    """Of contrasts of one call the terms of each side by who wrote them; either side sums to the contrast."""
    terms = [{side: {PAIR: one.of_pairs(record, side)} for side in SIDES} for one in asked]
    for side in SIDES:
        named = read.by_name(torch.cat([one.numbers(record, side) for one in asked]))
        for at, of in enumerate(terms):
            of[side] |= {who: float(values[at]) for who, values in named.items()}
    return terms


def part_of(reader: Reader, part: str | None) -> str:
    """The part of a model that is meant."""
    parts = list(dict.fromkeys(site.part for site in reader.sites.values()))
    if part is None and len(parts) == 1:
        return parts[0]
    if part not in parts:
        other = "none" if part is None else repr(part)
        raise InputError(f"attention: expected {' or '.join(parts)}, found {other}")
    return part


def call_of(read: Read, part: str, head: Head) -> LinearCall:
    """The call of a head's layer. Raises `InputError` where there is no such head, `RefusedError` for windows."""
    site = part, head.layer
    call = next((call for call in read.calls if (call.part, call.record.layer) == site), None)
    if call is None or head.head >= call.record.shape[1]:
        raise InputError(f"head: expected a head of {read.model.name}, found {head}")
    if (windows := call.record.shape[0]) != 1:
        raise RefusedError(
            f"{read.model.name}: expected attention over the whole input, found {windows} windows"
        )
    return call


def visible(record: AttentionRecord, head: int) -> Bools:
    """Which keys each query of a head sees, ``[query key]``."""
    return record.sight().expand(record.shape)[0, head].cpu().numpy()


def compared(keys: Tokens, seen: Bools, *, causal: bool) -> Bools:
    """Which of the keys that are seen may be compared, like `seen`: none that is special, nor the first of a causal
    model, to which heads give what they have no use for."""
    left = seen.copy()
    if keys.special_mask is not None:
        left[..., keys.special_mask] = False
    if causal:
        left[..., 0] = False
    return left


def place(name: str, position: int | None, tokens: Tokens) -> int:
    """A position in an input, from the end where it is negative; by default the last token that is not special."""
    count = len(tokens)
    if position is None:
        plain = np.flatnonzero(~tokens.special)
        return int(plain[-1]) if len(plain) else count - 1
    index = position + count if position < 0 else position
    if not 0 <= index < count:
        raise InputError(
            f"{name}: expected a place in an input of {plural(count, 'token')}, found {position}"
        )
    return index


def _key(position: int | None, keys: Tokens, seen: Bools, weights: Tensor, others: Bools) -> int:
    """The key that is asked about; by default the one with the largest weight among those that may be compared."""
    if position is not None:
        return _seen("key", position, keys, seen)
    among = others if others.any() else seen
    return int(np.where(among, weights.cpu().numpy(), -1.0).argmax())


def _seen(name: str, position: int, keys: Tokens, seen: Bools) -> int:
    index = place(name, position, keys)
    if not seen[index]:
        raise InputError(
            f"{name}: expected a key that the query sees, found {position} ({keys.pieces[index]!r})"
        )
    return index


def single(terms: Mapping[Who, Floats]) -> dict[Who, float]:
    """The terms of one number."""
    return {who: float(values[0]) for who, values in terms.items()}


def looks(
    model: Model,
    read: Read,
    writers: Iterable[Who],
    row: int,
    ready: Mapping[str, Tensor],
    axes: Mapping[str, Tokens],
) -> dict[Who, tuple[int, str]]:
    """The key at which each head that writes looks most, from the position at which it wrote."""
    first: dict[Who, tuple[int, str]] = {}
    heads = [who for who in writers if who.kind == "head"]
    for call in read.calls:
        some = [who for who in heads if (who.part, who.layer) == (call.part, call.record.layer)]
        if some and row < call.record.shape[2]:
            (_, (keys, _)) = sides(model, call.part, [call.record], 0, ready, axes)
            weights = call.record.weights(slice(row, row + 1))[0, :, 0]
            most = {who: int(weights[who.head].argmax()) for who in some}
            first |= {who: (key, keys.pieces[key]) for who, key in most.items()}
    return first


def order(who: Who) -> tuple[Any, ...]:
    """Writers by part and layer, what is of no layer last."""
    return who.kind in ("position", "bias", "pair"), who.part, who.layer, _place(who), who.head


def _place(who: Who) -> int:
    """Where in a layer it writes."""
    return KINDS.index(who.kind if who.kind in KINDS else MIXER)


def names(writers: Sequence[Who]) -> dict[Who, str]:
    """What writers are called."""
    several = len({who.part for who in writers if who.part}) > 1
    called: dict[Who, str] = {}
    for who in writers:
        where = f"{who.part} " if several and who.part else ""
        called[who] = where + {
            TOKEN: TOKEN,
            PLACED: PLACED,
            "head": str(Head(max(who.layer, 0), max(who.head, 0))),
            "mlp": f"mlp {who.layer}" if who.layer >= 0 else "before the layers",
            "position": "positions",
            "bias": "biases",
            "pair": "position bias",
        }.get(who.kind, f"{who.kind} {who.layer}")
    return called


def of_the_token(
    writers: Sequence[Who], terms: Mapping[str, Mapping[Who, float]], contrast: float
) -> dict[Who, str]:
    """The first MLP, which stands for the token where what is embedded has next to no term itself, and nothing but
    attention mixed tokens before it."""
    embedded = [abs(side[who]) for side in terms.values() for who in side if who.kind in (TOKEN, PLACED)]
    first = [who for who in writers if who.kind == "mlp" and who.layer == 0]
    mixed = any(_place(who) == KINDS.index(MIXER) and who.layer == 0 for who in writers)
    if mixed or len(first) != 1 or max(embedded, default=0.0) >= SHOWN * abs(contrast):
        return {}
    return {first[0]: "mlp 0 (the token)"}
