"""How sure a model is of its answer when spans are masked, and how that changes with each head's attention to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from inspect import signature
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from headscope.analyses.why.asked import AskedPrompt
from headscope.analyses.why.spans import Source
from headscope.attention.one import running
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import edits, evaluating, recording, route
from headscope.core.arrays import Floats, of_layers
from headscope.core.heads import Head
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import RefusedError
from headscope.models.perceive import of_tower
from headscope.models.rotary import unscaled
from headscope.models.weights import not_finite

TOKENS = 4096
"""Queries of the rows of a batch, about."""

LOGITS = 1 << 26
"""Logits of the rows of a batch."""

KEPT = 3
"""Passes with one span masked whose keys and values are kept: of those that the answer loses most by."""

CHUNK = 512
"""Tokens of a row that go on at once: its kernel reads the keys of none behind them."""

FIRST = 16
"""Of so many tokens it is tried whether they can go on behind kept ones."""

BLOCK = 1 << 20
"""Weights that are made at once, as fit a processor's cache."""

Place = tuple[str, int]
"""A part of the model, and the index of a layer in it."""


class Masked(NamedTuple):
    """Spans that later tokens do not see, in all heads or in some of one part's."""

    spans: tuple[int, ...]
    heads: frozenset[tuple[str, Head]] | None = None


class Kept(NamedTuple):
    """Keys and values of a pass, by layer, of the tokens that were not hidden."""

    hidden: Tensor
    layers: Sequence[tuple[Tensor, Tensor]]
    sure: float = -torch.inf


@dataclass(eq=False)
class Slopes:
    """What a bias on the attention to each span's keys would change, by layer and head.

    Attributes:
        heads: of each place, in the order of the model, ``[statement head span]``.
        attention: of each place ``[head span]``: how much the rows that give the answer look at the span, on average.
        scores: the logits with all of the prompt, ``[token choice]``.
        log_p: of each of the answer's tokens.
    """

    heads: dict[Place, Tensor] = field(default_factory=dict[Place, Tensor])
    attention: dict[Place, Tensor] = field(default_factory=dict[Place, Tensor])
    scores: Tensor = field(default_factory=lambda: torch.empty(0))
    log_p: Tensor = field(default_factory=lambda: torch.empty(0))

    @property
    def places(self) -> list[Place]:
        """Part and layer of each."""
        return list(self.heads)


class Passes:
    """Passes of a model over one prompt and its answer.

    Args:
        asked: the prompt and its answer.
        spans: of the prompt.
        batch_size: prompts that run at once, at most.
    """

    def __init__(self, asked: AskedPrompt, spans: Sequence[Source], batch_size: int = 8) -> None:
        self.asked, self._size = asked, batch_size
        self.module, self.model = asked.model.module, asked.model
        device = self.model.device
        members = np.zeros((len(spans), asked.length), np.bool_)
        for place, span in enumerate(spans):
            members[place, : len(span.tokens)] = span.tokens
        self.members = torch.as_tensor(members, device=device)
        self.rows = torch.as_tensor(asked.rows, device=device)
        self.runs = 0.0
        self._kept: list[Kept] = []
        self._drops = False  # whether rows run alone, without the tokens that no other sees
        # Where frequencies hang on the last position that runs, all of a row runs at once.
        self._scaled = 0 < unscaled(self.model.text_config) < asked.length

    def concerns(self, record: AttentionRecord, *, grows: bool = False) -> bool:
        """Whether a call is attention to the prompt; where it `grows`, with any tokens written after it."""
        if record.kind == "cross" or self.asked.axis == "encoder":
            wanted = record.kind in ("cross", "encoder") and self.asked.axis == "encoder"
        else:
            wanted = record.kind == "self" and not (
                "input_ids" in self.asked.ready and of_tower(record.module)
            )
        keys, prompt = record.shape[3] + record.key_offset, len(self.asked.prompt.tokens)
        return wanted and (keys == self.asked.length or (grows and keys >= prompt))

    def run(self, ready: AnyMapping, asked: AskedPrompt | None = None) -> tuple[Tensor, Any]:
        """The logits of the answer, ``[row token choice]``, where `asked` has it, and all that the module returns."""
        asked = self.asked if asked is None else asked
        with running(self.model, ready):
            output = self.module(**ready, **asked.kept)
        scores = asked.scores(output)
        if not scores.isfinite().any(-1).all():
            raise not_finite(self.model.name, self.module, "logits")
        return scores, output

    @property
    def _caches(self) -> dict[str, bool]:
        """What tells a module to keep keys and values, where it reads nothing but a text that it goes on writing."""
        plain = {"input_ids", "attention_mask", "use_cache"}
        there = self.asked.written and "use_cache" in self.asked.ready and not {*self.asked.ready} - plain
        return {"use_cache": True} if there else {}

    def _keep(self, cache: Any) -> None:
        """Keep the keys and values of a pass, where all layers have them of all tokens."""
        from transformers.cache_utils import DynamicCache, DynamicLayer

        if type(cache) is not DynamicCache:
            return
        layers: list[Any] = list(cache.layers)
        there = all(type(layer) is DynamicLayer and layer.keys is not None for layer in layers)
        if there and all(layer.keys.shape[-2] == self.asked.length for layer in layers):
            both = [(layer.keys.detach(), layer.values.detach()) for layer in layers]
            self._kept = [Kept(torch.zeros_like(self.rows), both)]

    def masked(self, every: Sequence[Masked], receive: Callable[[Sequence[int], Tensor], None]) -> None:
        """Run the model with spans masked, each row by itself.

        Args:
            every: of each row what is masked.
            receive: is given the places of some rows and their logits ``[row token choice]``.
        """
        first = [self._first(one) for one in every]
        order = sorted(range(len(every)), key=first.__getitem__)
        if self._drops:
            alone = [
                place for place in order if every[place].heads is None and self._ends(every[place].spans)
            ]
            for place in alone:
                receive([place], self._dropped(every[place].spans))
            order = [place for place in order if place not in alone]
        while order:
            begin = first[order[0]] if self._kept else 0
            count = self._at_once(self.asked.length - begin)
            some, order = order[:count], order[count:]
            receive(some, self._run([every[place] for place in some], begin))

    def _ends(self, spans: Sequence[int]) -> bool:
        """Whether a row without the tokens of spans runs to its end at once, where it has to."""
        last = self.asked.length - len(self.asked.targets)
        return not (self._scaled and last + 1 < self.asked.length and self.members[list(spans), last].any())

    def _dropped(self, spans: Sequence[int]) -> Tensor:
        """The logits of a row without the tokens that no other sees: what masking them gives, of fewer tokens."""
        length = self.asked.length
        last = length - len(self.asked.targets)
        hidden = self.members[list(spans)].any(0)
        within = bool(hidden[last]) and last + 1 < length
        hidden &= ~self.rows
        same = [functional.pad(one.hidden ^ hidden, (0, 1), value=True).int().argmax() for one in self._kept]
        begin, kept = max(
            ((min(int(at), last), one) for at, one in zip(same, self._kept, strict=True)), key=itemgetter(0)
        )
        cache = self._cache(kept, int((~kept.hidden[:begin]).sum()), 1)
        places = torch.arange(begin, length, device=hidden.device)[~hidden[begin:]]
        parts: list[Tensor] = []
        # The prompt's last token may lie in a span: it gives the answer, but what is written does not see it.
        for half in (places[places <= last], places[places > last]) if within else (places,):
            if parts:
                cache.crop(-1)
            for here in torch.split(half, length if self._scaled else CHUNK):
                scores = self._behind(cache, here)
                if answers := int((here >= last).sum()):
                    parts.append(scores[:, -answers:])
        made = torch.cat(parts, 1)
        if len(spans) == 1:  # two of these are masked together later
            sure = float(self.asked.log_p(made)[0, torch.as_tensor(self.asked.part)].sum())
            layers = [(layer.keys, layer.values) for layer in cache.layers]
            rest = sorted([*self._kept[1:], Kept(hidden, layers, sure)], key=lambda one: one.sure)
            self._kept = [self._kept[0], *rest[:KEPT]]
        return made

    def _behind(self, cache: Any, places: Tensor) -> Tensor:
        """The logits of tokens behind those of a cache, which they go into."""
        taken = {"input_ids": self.asked.ready["input_ids"][:, places], "position_ids": places[None]}
        taken |= {"past_key_values": cache, "use_cache": True}
        with torch.no_grad(), recording(self.module, _nothing, fused=True):
            scores, _ = self.run(taken)
        self.runs += len(places) / self.asked.length
        return scores

    def _goes_on(self, scores: Tensor) -> bool:
        """Whether tokens behind kept ones are what they are in a pass over all, which gave these logits.

        They are not where a module counts its positions otherwise, or does by the last one what it does to all.
        """
        pairs = [(self._dropped([])[0], scores)]
        if not self._scaled:
            places = torch.arange(1, min(FIRST, self.asked.length), device=self.rows.device)
            cache = self._cache(self._kept[0], 1, 1)
            self._behind(cache, places)
            for layer, kept in zip(cache.layers, self._kept[0].layers, strict=True):
                pairs += [
                    (part[:, :, 1:], all_of[:, :, 1:FIRST])
                    for part, all_of in zip((layer.keys, layer.values), kept, strict=True)
                ]
        close = torch.finfo(self.model.dtype).eps ** 0.5
        return all(bool((one - other).abs().max() <= close * other.abs().max()) for one, other in pairs)

    def _at_once(self, queries: int) -> int:
        choices = self.model.embedding_rows or 1
        fits = min(TOKENS // max(queries, 1), LOGITS // max(1, choices * len(self.asked.targets)))
        alone = "input_ids" in self.asked.ready and not self.asked.plain
        return 1 if alone else max(1, min(self._size, fits))

    def _first(self, one: Masked) -> int:
        """The first query that a mask changes."""
        if not self.asked.written:
            return 0
        ends = [int(self.members[span].nonzero().max()) + 1 for span in one.spans]
        last = self.asked.length - len(self.asked.targets)
        return min([*ends, last])

    def _run(self, every: Sequence[Masked], begin: int) -> Tensor:
        hide = Hide(self, every)
        ready = {
            name: value.expand(len(every), *value.shape[1:])
            if isinstance(value, Tensor) and value.ndim and len(value) == 1
            else value
            for name, value in self.asked.ready.items()
        }
        if self._kept:
            cache = self._cache(self._kept[0], begin, len(every))
            ready |= {"input_ids": ready["input_ids"][:, begin:], "past_key_values": cache, "use_cache": True}
        with torch.no_grad(), recording(self.module, hide, fused=True):
            scores, _ = self.run(ready)
        self.runs += len(every) * (self.asked.length - begin) / self.asked.length
        if not hide.met:
            raise self._unseen()
        return scores

    def _unseen(self) -> RefusedError:
        tokens = len(self.asked.prompt.tokens)
        return RefusedError(
            f"{self.model.name}: expected attention along the {tokens} tokens of the prompt, found none on such an axis"
        )

    @staticmethod
    def _cache(kept: Kept, count: int, rows: int) -> Any:
        """The first keys and values of a pass, which a module goes on behind."""
        from transformers.cache_utils import DynamicCache

        cache: Any = DynamicCache()
        for layer, both in enumerate(kept.layers if count else ()):
            keys, values = (part[:, :, :count].expand(rows, -1, -1, -1) for part in both)
            cache.update(keys, values, layer)
        return cache

    def deleted(self, spans: Sequence[int]) -> Tensor:
        """The log-probability of the answer's tokens where spans are not in the prompt, ``[token]``."""
        shorter = self.asked.without([self.members[span].cpu().numpy() for span in spans])
        with torch.no_grad(), evaluating(self.module):
            scores, _ = self.run(shorter.ready, shorter)
        self.runs += 1
        return shorter.log_p(scores)[0]

    def slopes(self, statements: Tensor, *, looks: bool = True) -> Slopes:
        """The derivatives of the log-probability of each statement by a bias on the attention to each span.

        Keys and values are kept for `masked`, where they can be.

        Args:
            statements: how much each of the answer's tokens counts, ``[statement token]``.
            looks: also how much the rows that give the answer look at each span, where that takes time.
        """
        made = Slopes()
        self._kept, self._drops = [], False
        watch = _Watch(self, made, len(statements), looks)
        fixed = _Fixed() if route(self.module) == "interface" else nullcontext()
        with torch.enable_grad(), recording(self.module, watch, fused=True):
            with fixed:
                scores, output = self.run({**self.asked.ready, **self._caches})
            log_p = self.asked.log_p(scores)[0]
            if not made.heads:
                raise self._unseen()
            for number, weights in enumerate(statements):
                watch.statement = number
                last = number == len(statements) - 1
                goal = (log_p * weights.to(log_p)).sum()
                torch.autograd.grad(goal, [watch.zero], retain_graph=not last, allow_unused=True)
        self.runs += 1 + 2 * len(statements)
        made.scores, made.log_p = scores[0].detach(), log_p.detach()
        if self._caches:
            self._keep(getattr(output, "past_key_values", None))
        alone = self._at_once(self.asked.length) < max(self._size, 2)
        takes = alone and "position_ids" in signature(self.module.forward).parameters
        if takes and self._kept and watch.causal and not edits.now():
            self._drops = self._goes_on(made.scores)
        return made

    def _sized(self, keys: int) -> tuple[Tensor, Tensor]:
        """Which keys each span has, ``[span key]``, and which rows give the answer, where there are so many keys."""
        more = keys - self.members.shape[1]
        if more <= 0:
            return self.members[:, :keys], self.rows[:keys]
        return functional.pad(self.members, (0, more)), functional.pad(self.rows, (0, more), value=True)

    def outside(self, queries: int, keys: int, cross: bool) -> Tensor:
        """Which of the last queries, of so many keys, do not lie in each span, or give the answer, ``[query span]``."""
        members, rows = self._sized(keys)
        if cross:
            return torch.ones(queries, len(members), dtype=torch.bool, device=members.device)
        return (~members[:, keys - queries :] | rows[keys - queries :]).T

    def hidden(self, spans: Sequence[int], queries: int, keys: int, cross: bool, first: int = 0) -> Tensor:
        """Which pairs are masked where some spans are, ``[query key]``, of the keys from the `first` on."""
        members = self._sized(first + keys)[0][:, first:]
        outside = self.outside(queries, first + keys, cross)
        hidden = torch.zeros(queries, keys, dtype=torch.bool, device=members.device)
        for span in spans:
            hidden |= outside[:, span, None] & members[span]
        if not cross:  # each token sees itself
            hidden &= ~torch.eye(keys, dtype=torch.bool, device=hidden.device)[keys - queries :]
        return hidden


def _nothing(_: AttentionRecord) -> None:
    """Change no weights: the model runs its fused kernel."""


class Hide:
    """Masks spans, of each row of a batch those that are asked for: a `headscope.attention.record.Hook`.

    Attributes:
        met: whether there was attention to the prompt.
    """

    def __init__(self, passes: Passes, every: Sequence[Masked], *, grows: bool = False) -> None:
        self._passes, self._every, self._grows = passes, every, grows
        self._made: dict[tuple[int, int, bool, int], Tensor] = {}
        self.met = False

    def __call__(self, record: AttentionRecord) -> Tensor | None:
        """The weights without what is masked; of a fused call what the values give by them."""
        if not self._passes.concerns(record, grows=self._grows):
            return None
        self.met = True
        shape = *record.shape[2:], record.kind == "cross", record.key_offset
        if shape not in self._made:
            rows = [self._passes.hidden(one.spans, *shape) for one in self._every]
            self._made[shape] = torch.stack(rows)[:, None]
        hidden = self._made[shape].to(record.q.device)
        if any(one.heads is not None for one in self._every):
            chosen = [
                [
                    one.heads is None or (record.kind, Head(record.layer, head)) in one.heads
                    for head in range(record.shape[1])
                ]
                for one in self._every
            ]
            hidden = hidden & torch.tensor(chosen, device=hidden.device)[:, :, None, None]
        return unseen(record, hidden)


def unseen(record: AttentionRecord, hidden: Tensor) -> Tensor | None:
    """The weights of a call without what is hidden; of a fused call its output is set to what the values give."""
    changed = record.seeing(~hidden)
    if record.route == "trace" or record.given is not None:
        return changed.weights()
    record.output = torch.cat([weights @ record.values for _, weights in changed.blocks()], 2)
    return None


class _Watch:
    """Sees how the answer would change with the attention to spans: a `headscope.attention.record.Hook`."""

    def __init__(self, passes: Passes, made: Slopes, statements: int, looks: bool) -> None:
        self._passes, self._made, self._statements, self._looks = passes, made, statements, looks
        self.zero = torch.zeros((), device=passes.model.device, dtype=passes.model.dtype, requires_grad=True)
        self.statement = 0
        self.causal = True
        self._members = passes.members.T

    def __call__(self, record: AttentionRecord) -> Tensor | None:
        """The weights, part of the graph; of a fused call what the values give by them."""
        if not self._passes.concerns(record):
            return None
        place = record.kind, record.layer
        _, heads, queries, keys = record.shape
        cross, device, spans = record.kind == "cross", record.q.device, len(self._passes.members)
        sums = torch.zeros(self._statements, heads, spans, dtype=torch.float64)
        shares = torch.zeros(heads, spans, dtype=torch.float64)
        self._made.heads[place], self._made.attention[place] = sums, shares
        self.causal &= record.is_causal and record.mask is None and record.bias is None
        members = self._members.to(record.q)
        by_key = torch.zeros(
            heads, keys, device=device, dtype=torch.promote_types(members.dtype, torch.float32)
        )
        inside = ~self._passes.outside(queries, keys, cross).to(device)
        read = self._read(queries, cross).to(device) & self._looks

        def add_attention(rows: slice, weights: Tensor) -> None:
            shares.add_(
                (weights.detach()[0][:, read[rows]].sum(1) @ members).double().cpu() / int(read.sum())
            )

        def add_slopes(rows: slice, slopes: Tensor) -> None:
            seen = slopes.shape[-1]
            by_key[:, :seen] += slopes[0].sum(1, dtype=by_key.dtype)
            here = inside[rows].any(0)
            if here.any():  # what tokens of a span see of it
                of_them = members[:seen, here]
                theirs = of_them.any(1)
                within = (slopes[0][:, :, theirs] @ of_them[theirs]) * inside[rows][:, here]
                sums[self.statement][:, here.cpu()] -= within.sum(1).double().cpu()
            if not cross:  # no token is hidden from itself
                at = torch.arange(queries, device=device)[rows]
                at = at[self._passes.rows.to(device)[at]]
                to_itself = slopes[0][:, at - rows.start, at]
                sums[self.statement] -= (to_itself @ members[at]).double().cpu()
            if rows.stop == queries:
                sums[self.statement] += (by_key.to(members) @ members).double().cpu()
                by_key.zero_()

        if record.route == "interface" and record.given is None:
            attend: Any = _Attend
            record.output = attend.apply(
                record.q, record.k, record.v, self.zero, record, read, add_attention, add_slopes
            )
            return None
        weights: Any = record.weights() + self.zero
        now = weights.detach()
        add_attention(slice(0, queries), now)

        def slopes(gradient: Tensor) -> None:
            add_slopes(slice(0, queries), now * (gradient - (gradient * now).sum(-1, keepdim=True)))

        weights.register_hook(slopes)
        return weights

    def _read(self, queries: int, cross: bool) -> Tensor:
        """The queries from which the answer is read."""
        rows = self._passes.rows
        if cross or not rows.any():  # of a class any token may be
            rows = torch.ones(queries, dtype=torch.bool, device=rows.device)
        return rows[-queries:]


class _Fixed(TorchFunctionMode):
    """Within it weights are no part of the graph: what their gradients would need is not kept."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def fixed(value: Any) -> Any:
            return value.detach() if isinstance(value, nn.Parameter) and value.requires_grad else value

        named: AnyDict = kwargs or {}
        return func(*map(fixed, args), **{name: fixed(value) for name, value in named.items()})


class _Attend(torch.autograd.Function):
    """Attention by blocks of queries, whose scores' gradients are shown: memory is linear in length."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        zero: Tensor,
        record: AttentionRecord,
        read: Tensor,
        add_attention: Any,
        add_slopes: Any,
    ) -> Tensor:
        """What the values give by the weights."""
        ctx.save_for_backward(q, k, v)
        ctx.record, ctx.add_slopes, ctx.plain = _light(record), add_slopes, _plain(record)
        parts: list[Tensor] = []
        for rows in record.rows():
            if not ctx.plain or read[rows].any():
                weights = record.weights(rows)
                add_attention(rows, weights)
                if not ctx.plain:
                    parts.append(weights @ record.values)
        if not ctx.plain:
            return torch.cat(parts, 2)
        return functional.scaled_dot_product_attention(
            q, record.keys, record.values, is_causal=record.is_causal, scale=record.scaling
        )

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        """The gradients of queries, keys and values."""
        (gradient,) = gradients
        made = replace(ctx.record, **dict(zip("qkv", ctx.saved_tensors, strict=True)))
        sums = (_gradients if ctx.plain else _followed)(made, gradient, ctx.add_slopes)
        return (*sums, gradient.new_zeros(()), None, None, None, None)


def _plain(record: AttentionRecord) -> bool:
    """Whether a call is nothing but the softmax of scaled products, of all keys or those before each query."""
    added = (record.mask, record.bias, record.softcap, record.sinks)
    square = not record.is_causal or record.shape[2] == record.shape[3]
    alike = record.v is not None and record.v.shape == record.k.shape
    return all(part is None for part in added) and square and alike


def _gradients(record: AttentionRecord, gradient: Tensor, add_slopes: Any) -> Sequence[Tensor]:
    """Those of a plain call's queries, keys and values, of keys after a query nothing."""
    batch, heads, _, keys = record.shape
    q, k, v = record.q * record.scaling, record.k, record.v
    assert v is not None
    of_q, of_k, of_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for rows in record.rows(BLOCK):
        count, seen = rows.stop - rows.start, rows.stop if record.is_causal else keys
        # Heads that share keys are rows of one product.
        queries, given = (
            part[:, :, rows].reshape(batch, k.shape[1], -1, k.shape[3]) for part in (q, gradient)
        )
        weights = queries @ k[:, :, :seen].mT
        if record.is_causal:
            after = torch.ones(count, count, dtype=torch.bool, device=q.device).triu(1)
            weights.view(batch, heads, count, seen)[..., rows].masked_fill_(after, -torch.inf)
        weights = weights.softmax(-1)
        of_v[:, :, :seen] += weights.mT @ given
        slopes = (given @ v[:, :, :seen].mT).mul_(weights)
        slopes.addcmul_(weights, slopes.sum(-1, keepdim=True), value=-1)
        of_q[:, :, rows] = (slopes @ k[:, :, :seen]).view(batch, heads, count, -1) * record.scaling
        of_k[:, :, :seen] += slopes.mT @ queries
        add_slopes(rows, slopes.view(batch, heads, count, seen))
    return of_q, of_k, of_v


def _followed(record: AttentionRecord, gradient: Tensor, add_slopes: Any) -> Sequence[Tensor]:
    """Those of any call, by torch."""
    given: Any = record.q, record.k, record.v
    q, k, v = leaves = [part.detach().requires_grad_() for part in given]
    made = replace(record, q=q, k=k, v=v)
    sums = [torch.zeros_like(part) for part in leaves]
    for rows in made.rows():
        with torch.enable_grad():
            scores = made.scores(rows)
            output = made.softmax(scores) @ made.values
        *parts, slopes = torch.autograd.grad(output, [*leaves, scores], gradient[:, :, rows])
        for total, part in zip(sums, parts, strict=True):
            total += part
        add_slopes(rows, slopes)
    return sums


def _light(record: AttentionRecord) -> AttentionRecord:
    """A call without the tensors that are kept elsewhere."""
    none = torch.empty(0)
    return replace(record, q=none, k=none, v=none)


def by_head(slopes: Slopes, statement: int | None = None) -> Floats:
    """The derivatives by place, head and span, of one statement or of all; NaN where a place has fewer heads."""
    return of_layers(
        [
            (values.sum(0) if statement is None else values[statement]).numpy()
            for values in slopes.heads.values()
        ]
    )
