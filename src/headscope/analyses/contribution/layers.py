"""What a layer takes from each token, and what the model would say after each layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import torch
from torch import Tensor, nn

from headscope.attention.linear import block_of
from headscope.attention.one import Text, expect_one_row, output_of, prepare
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import Hooks
from headscope.attention.residual import token_id, unembedding
from headscope.attention.stream import Reader
from headscope.attention.whatif import edit
from headscope.core.arrays import AnyFloats
from headscope.core.types import AnyMapping
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.pieces import shown_piece

AT_ONCE = 32
"""Tokens whose values are zeroed at once, each in a row of its own."""


def _streams(model: Model, ready: Mapping[str, Tensor], blocks: Mapping[Any, nn.Module]) -> dict[Any, Tensor]:
    """What layers give ``[row query stream]``."""
    given: dict[Any, Tensor] = {}
    with torch.no_grad(), Hooks() as hooks:
        for key, block in blocks.items():
            hooks.on_exit(block, lambda stream, key=key: given.update({key: stream}))
        output_of(model, ready)
    return given


@validated
def value_zeroing(
    model: Model, text: Text | None = None, *, pair: str | None = None, inputs: AnyMapping | None = None
) -> AnyFloats:
    """How much each token's row changes in a layer where another token's values are 0 in all of its heads.

    Source: Mohebbi et al. 2023, "Quantifying Context Mixing in Transformers": the cosine distance of the layer's
    output to that of the layer as it is, of which each row sums to 1. Norms, residuals and MLPs of the layer count.

    Args:
        model: from `headscope.load`, of one part, with weights in float32 or float64.
        text, pair, inputs: as in `headscope.capture`; one row.

    Returns:
        ``[layer query key]``, of the layers that attend.

    Raises:
        InputError: the input does not go with the model; several rows; an encoder-decoder.
        RefusedError: weights of half precision.

    >>> value_zeroing(headscope.load(), "The cat sat.").shape
    (6, 6, 6)
    """
    _, ready = prepare(model, text, pair, None, inputs)
    expect_one_row(ready, "value zeroing is")
    reader = Reader(model, ready)
    if len(piles := {pile for _, pile, _ in reader.layers}) > 1:
        raise InputError(f"{model.name}: expected a model of one part, found {', '.join(sorted(piles))}")
    numbers = {block_of(name): site.layer for name, site in reader.sites.items()}
    blocks = {
        numbers[pile, number]: block for block, pile, number in reader.layers if (pile, number) in numbers
    }
    unchanged = _streams(model, ready, blocks)
    count = next(iter(unchanged.values())).shape[1]
    shares = np.zeros((len(blocks), count, count))
    for place, layer in enumerate(sorted(blocks)):
        for start in range(0, count, AT_ONCE):
            keys = range(start, min(start + AT_ONCE, count))

            def zeroed(record: AttentionRecord, layer: int = layer, keys: range = keys) -> Tensor | None:
                if record.layer != layer:
                    return None
                weights = record.weights().clone()
                weights[range(len(keys)), :, :, [*keys]] = 0.0
                return weights

            rows = {name: value.repeat(len(keys), *[1] * (value.ndim - 1)) for name, value in ready.items()}
            with edit(model, zeroed):
                stream = _streams(model, rows, {layer: blocks[layer]})[layer].double()
            near = torch.cosine_similarity(stream, unchanged[layer].double(), -1)
            shares[place][:, [*keys]] = (1 - near).clamp(min=0).T.cpu().numpy()
    total = shares.sum(-1, keepdims=True)
    return shares / np.where(total > 0, total, 1.0)


@validated
def logit_lens(
    model: Model, text: Text | None = None, token: str | int | None = None, *, position: int = -1
) -> pd.DataFrame:
    """What the model would say after each layer, were it the last: the logit lens (nostalgebraist 2020).

    The stream behind each layer goes through the model's own end: the final norm, the unembedding and what follows it.

    Args:
        model: a causal language model from `headscope.load`.
        text: as in `headscope.capture`.
        token: the token that is followed, a text or an id; by default the one that the model says.
        position: after which token.

    Returns:
        One row a layer: ``layer, token, logit, probability, rank`` (1: the likeliest), and the likeliest, ``top``.

    Raises:
        InputError: a text of several tokens, or no such position.
        RefusedError: a model without an unembedding.

    >>> import transformers
    >>> config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=2, n_head=2, n_positions=8)
    >>> small = headscope.load(transformers.GPT2LMHeadModel(config))
    >>> logit_lens(small, headscope.Tokens(["a", "b"], ids=[3, 4]), 5)["layer"].tolist()
    [0, 1]
    """
    unembedding(model)
    axes, ready = prepare(model, text)
    count = len(axes["self"])
    if not -count <= position < count:
        raise InputError(f"position: expected one of {count} tokens, found {position}")
    layers = Reader(model, ready).layers
    streams = _streams(model, ready, {number: block for block, _, number in layers})
    rows = {name: value.repeat(len(layers), *[1] * (value.ndim - 1)) for name, value in ready.items()}
    with torch.no_grad(), Hooks() as hooks:
        hooks.on_exit(layers[-1][0], lambda _: torch.cat([streams[number] for _, _, number in layers]))
        logits = output_of(model, rows).logits[:, position].double().cpu()
    number = int(logits[-1].argmax()) if token is None else token_id(model, token)
    chosen = logits[:, number]
    return pd.DataFrame({
        "layer": [number for _, _, number in layers],
        "token": shown_piece(model.tokenizer, number),
        "logit": chosen.numpy(),
        "probability": logits.softmax(-1)[:, number].numpy(),
        "rank": 1 + (logits > chosen[:, None]).sum(-1).numpy(),
        "top": [shown_piece(model.tokenizer, int(one)) for one in logits.argmax(-1)],
    })  # fmt: skip
