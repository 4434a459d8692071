"""One forward pass over a batch, and the self-attention calls in it."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.record import AttentionRecord, Hook
from headscope.attention.recording import recording
from headscope.core.arrays import Bools, Ints
from headscope.core.tokens import Tokens
from headscope.core.words import Rows
from headscope.corpora import Example
from headscope.errors import RefusedError
from headscope.models import Model
from headscope.models.model import expect_text_alone, uncached
from headscope.models.perceive import of_tower
from headscope.models.weights import LARGE, not_finite, size_of

EVERY = 0.5
"""Seconds between two times, at least."""

_trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
_last = 0.0


def hand_back(module: nn.Module) -> None:
    """Hand back what was freed beside the weights of a large model, as glibc keeps it in pieces that fit little.

    It takes some 10 ms; nothing is done for other models, and elsewhere than under Linux with glibc.
    """
    global _last
    if _trim is not None and time.monotonic() - _last > EVERY and size_of(module) > LARGE:
        _trim(0)
        _last = time.monotonic()


def forward(model: Model, inputs: Sequence[Tokens], *, token_types: bool = True, **options: Any) -> Any:
    """Run a batch through the model's backbone, without a cache of keys and values."""
    expect_text_alone(model)
    hand_back(model.module)
    ready = {**model.inputs(inputs, token_types=token_types), **uncached(model.backbone), **options}
    return model.backbone(**ready)


def foreign(record: AttentionRecord, inputs: Sequence[Tokens]) -> bool:
    """Whether a call looks along other axes than the inputs': at an encoder, or at the picture that a text holds."""
    holds = inputs[0].ids is not None and inputs[0].boxes is not None
    return record.kind == "cross" or (holds and of_tower(record.module))


def seen_within(record: AttentionRecord, lengths: Sequence[int]) -> Tensor:
    """Which keys each query sees, padding left out, ``[input head|1 query key]``."""
    _, _, queries, keys = record.shape
    device = record.q.device
    there = torch.arange(keys, device=device) < torch.tensor(lengths, device=device)[:, None]
    counted = there[:, None, None] & record.sight()
    return counted & there[:, None, :, None] if queries == keys else counted


def expect_square(
    record: AttentionRecord, inputs: int, tokens: int, layers: Container[int | None] = ()
) -> None:
    """Raise `RefusedError` for attention over other axes than the tokens of a batch, and for a layer seen before."""
    items, _, queries, keys = record.shape
    if (items, queries, keys) != (inputs, tokens, tokens):
        if items == 1 < inputs:
            raise RefusedError(
                f"{record.module or 'the model'}: expected a call of attention for each of {inputs} inputs, found "
                f"several inputs in one call ({keys} positions); batch_size=1 (--batch-size 1) reads them one by one"
            )
        raise RefusedError(
            f"{record.module}: expected attention of {inputs} inputs over {tokens} tokens, found {items} from "
            f"{queries} to {keys}; layers that look at other axes cannot be measured"
        )
    if record.layer in layers:
        raise RefusedError(
            f"{record.module}: expected one self-attention a layer, found layer {record.layer} again"
        )


def self_attention(
    model: Model, inputs: Sequence[Tokens], *, token_types: bool = True, fused: bool = True
) -> list[AttentionRecord]:
    """The self-attention of one forward pass, by layer, without values.

    Raises `RefusedError` for a model without self-attention over the tokens.
    """
    records: dict[int, AttentionRecord] = {}
    longest = max(map(len, inputs))

    def keep(record: AttentionRecord) -> None:
        if not foreign(record, inputs):
            expect_square(record, len(inputs), longest, records)
            records[record.layer] = replace(record, v=None)

    with torch.no_grad(), recording(model.backbone, keep, fused=fused):
        forward(model, inputs, token_types=token_types)
    if not records:
        raise RefusedError("no self-attention was seen in the forward pass")
    return [records[layer] for layer in sorted(records)]


class RunPasses:
    """The forward passes of one run, of which only the attention is wanted.

    The first runs to its end and tells how many calls of attention a pass has; each later one ends with the last of
    them, as what a model computes after it changes no map.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._calls: int | None = None
        self._to_the_end = any(
            hasattr(part, "_hf_hook") for part in module.modules()
        )  # accelerate moves weights back

    @contextmanager
    def recording(self, hook: Hook, *, fused: bool = False) -> Generator[None]:
        """One pass, which is to be run within it without gradients; see `headscope.attention.recording.recording`."""
        seen = 0

        def call(record: AttentionRecord) -> Any:
            nonlocal seen
            seen += 1
            answer = hook(record)
            if seen == self._calls:
                raise _EnoughError
            return answer

        try:
            with torch.no_grad(), recording(self.module, call, fused=fused):
                yield
        except _EnoughError:
            return
        if not self._to_the_end:
            self._calls = seen


class _EnoughError(Exception):
    """All attention of a pass was seen."""


Layer = Callable[[int, np.ndarray], None]
"""Is given each layer's index and its maps over words, ``[input head word word]``; 0 beyond an input's words.

Further columns, where some were asked for, follow those of an input's words."""


class Units:
    """From tokens to units of some: attention to a unit is the sum over its tokens, from it their mean.

    Args:
        groups: the tokens of each unit, of each input.
        tokens: of the longest input.
        rows: attention from a unit is the ``mean`` over its tokens, or that of the ``first``.
        device: where maps are.
    """

    def __init__(
        self, groups: Sequence[Sequence[Ints]], tokens: int, rows: Rows, device: torch.device
    ) -> None:
        self.count, self.tokens = max(map(len, groups)), tokens
        self._plain = all([[number] for number in range(len(of))] == [*map(list, of)] for of in groups)
        if self._plain:
            return
        give = np.zeros((len(groups), self.count, tokens), np.float32)
        get = np.zeros((len(groups), tokens, self.count), np.float32)
        for place, of in enumerate(groups):
            sizes = np.array([len(group) for group in of])
            units = np.repeat(np.arange(len(sizes)), sizes)
            every = np.concatenate(of) if len(units) else units
            get[place, every, units] = 1.0
            if rows == "mean":
                give[place, units, every] = 1.0
                give[place] /= give[place].sum(-1, keepdims=True).clip(1.0)
            else:
                starts = np.cumsum([0, *sizes[:-1]])[sizes > 0]
                give[place, units[starts], every[starts]] = 1.0
        self._give, self._get = (torch.as_tensor(array, device=device) for array in (give, get))

    def received(self, weights: Tensor) -> Tensor:
        """Sums over the tokens of each key unit, ``[input head query key] -> [input head query unit]``."""
        if self._plain:
            return weights[..., : self.count]  # of speech, the silence after it
        inputs, heads, queries, _ = weights.shape
        return (weights.flatten(1, 2) @ self._get.to(weights)).view(inputs, heads, queries, -1)

    def given(self, maps: Tensor) -> Tensor:
        """Means over the tokens of each query unit, ``[input head query key] -> [input head unit key]``."""
        if self._plain:
            return maps
        inputs, heads, _, keys = maps.shape
        mean = self._give.to(maps) @ maps.transpose(1, 2).flatten(2)
        return mean.view(inputs, self.count, heads, keys).transpose(1, 2)


def weights_of(record: AttentionRecord, model: Model, batch: Sequence[Example]) -> Tensor:
    """The weights of a call in float32 at least. Raises `RunError` that names the inputs where some are not finite."""
    weights = record.weights()
    weights = weights.to(torch.promote_types(weights.dtype, torch.float32))
    if not torch.isfinite(weights.sum()):
        places = dict.fromkeys(example.place for example in (batch[0], batch[-1]))
        raise not_finite(
            model.name, model.module, f"{' to '.join(places)}: attention of layer {record.layer}"
        )
    return weights


def word_maps(
    model: Model,
    batch: Sequence[Example],
    on_layer: Layer,
    *,
    rows: Rows = "mean",
    columns: Sequence[Sequence[int]] | None = None,
    sight: Callable[[int, Bools], None] | None = None,
) -> None:
    """Run a batch of examples that are given as words, and give `on_layer` the maps of every layer over them.

    Attention to a word is the sum over its pieces, attention from it the mean (or that of the first piece);
    special tokens are left out and nothing is renormalised (Clark et al. 2019, section 4.1). A word without any
    piece gives and gets nothing. The sums are in float32 (a float64 model's in float64). `columns` names, for each
    input, tokens whose attention from the words is wanted in further columns (−1: none, a column of 0). `sight` is told
    which words each word can see, ``[input head word word]``, or ``[input 1 word word]`` where heads agree: a word sees
    another where one of its pieces can see one of the other's.

    Raises `RefusedError` for layers that look at other axes than the tokens.
    """
    for example in batch:
        if example.words is None or example.tokens is None:
            raise example.error("expected an input that is given as words, found a text")
    inputs = [example.tokens for example in batch if example.tokens is not None]
    groups: list[list[Ints]] = []
    for place, (example, tokens) in enumerate(zip(batch, inputs, strict=True)):
        if tokens.word_ids is None:
            raise example.error("expected a tokenizer that tells words from pieces, found none")
        words = [np.flatnonzero(tokens.word_ids == word) for word in range(len(example.words or ()))]
        more = [np.array([token][: token >= 0], np.int64) for token in (columns[place] if columns else ())]
        groups.append([*words, *more])
    units = Units(groups, max(map(len, inputs)), rows, model.device)
    width = max(len(example.words or ()) for example in batch)

    def reduce(record: AttentionRecord) -> None:
        if record.kind == "cross":
            return
        expect_square(record, len(batch), units.tokens)
        weights = weights_of(record, model, batch)
        on_layer(record.layer, units.given(units.received(weights))[:, :, :width].cpu().numpy())
        if sight is not None:
            seen = record.sight().float()
            seen = units.given(units.received(seen.expand(len(batch), -1, *weights.shape[2:]))) > 0
            sight(record.layer, seen[:, :, :width, :width].cpu().numpy())

    with torch.no_grad(), recording(model.backbone, reduce):
        forward(model, inputs)


def gold(example: Example) -> tuple[Sequence[str], Ints, Sequence[str]]:
    """Words, heads and relations. Raises `CorpusError` for an example without a tree."""
    if example.words is None or example.heads is None or example.relations is None:
        raise example.error("expected a sentence with words, heads and relations, found none")
    return example.words, np.array(example.heads, np.int64), example.relations
