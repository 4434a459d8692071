"""Maps over the words of each input of a batch, layer by layer as the model runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from headscope.attention.record import AttentionRecord
from headscope.attention.recording import recording
from headscope.core.arrays import Bools, Ints
from headscope.core.words import Rows
from headscope.corpora import Example
from headscope.models import Model
from headscope.models.finite import not_finite
from headscope.runs.forward import expect_square, forward

_BATCH = 32

Layer = Callable[[int, np.ndarray], None]
"""Is given each layer's index and its maps over words, ``[input head word word]``; 0 beyond an input's words.

Further columns, where some were asked for, stand after those of the batch's widest input."""


def word_maps(
    model: Model,
    batch: Sequence[Example],
    on_layer: Layer,
    *,
    rows: Rows = "mean",
    token_types: bool = True,
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
    width = max(len(example.words or ()) for example in batch)
    length = max(map(len, inputs))
    more = len(columns[0]) if columns else 0
    give = np.zeros((len(batch), width, length), np.float32)
    get = np.zeros((len(batch), length, width + more), np.float32)
    for place, (example, tokens) in enumerate(zip(batch, inputs, strict=True)):
        if tokens.word_ids is None:
            raise example.error("expected a tokenizer that tells words from pieces, found none")
        pieces = np.flatnonzero(tokens.word_ids >= 0)
        words = tokens.word_ids[pieces]
        get[place, pieces, words] = 1.0
        for number, token in enumerate(columns[place] if columns else ()):
            get[place, token, width + number] = token >= 0
        if rows == "mean":
            give[place, words, pieces] = 1.0
            give[place] /= give[place].sum(-1, keepdims=True).clip(1.0)
        else:
            first = np.unique(words, return_index=True)[1]
            give[place, words[first], pieces[first]] = 1.0
    device = model.device
    left, right = (torch.as_tensor(array, device=device) for array in (give, get))

    def reduce(record: AttentionRecord) -> None:
        if record.kind == "cross":
            return
        expect_square(record, len(batch), length)
        weights = record.weights()
        weights = weights.to(torch.promote_types(weights.dtype, torch.float32))
        if not torch.isfinite(weights.sum()):
            sources = batch[0].source if len(batch) == 1 else f"{batch[0].source} to {batch[-1].source}"
            raise not_finite(model.name, model.module, f"{sources}: attention of layer {record.layer}")
        heads = weights.shape[1]
        got = (weights.flatten(1, 2) @ right.to(weights)).view(len(batch), heads, length, -1)
        maps = left.to(weights) @ got.transpose(1, 2).flatten(2)
        maps = maps.view(len(batch), width, heads, -1).transpose(1, 2)
        on_layer(record.layer, maps.cpu().numpy())
        if sight is not None:
            seen = record.visible()
            seen = (
                torch.ones_like(weights[:, :1]) if seen is None else seen[(None,) * (4 - seen.ndim)].float()
            )
            seen = seen.expand(len(batch), -1, length, length)
            sight(record.layer, (left[:, None] @ seen @ right[:, None, :, :width] > 0).cpu().numpy())

    with torch.no_grad(), recording(model.backbone, reduce):
        forward(model, inputs, token_types=token_types)


def gold(example: Example) -> tuple[Sequence[str], Ints, Sequence[str]]:
    """Words, heads and relations. Raises `CorpusError` for an example without a tree."""
    if example.words is None or example.heads is None or example.relations is None:
        raise example.error("expected a sentence with words, heads and relations, found none")
    return example.words, np.array(example.heads, np.int64), example.relations
