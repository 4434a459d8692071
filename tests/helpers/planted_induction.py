"""A model with an induction circuit written into its weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transformers

import headscope as hs
from headscope.models import Model

WORDS, PLACES = 40, 64
WIDTH = 3 * WORDS + PLACES


def circuit(sign: float = 1.0, shift: int = 0) -> Model:
    """GPT-2 of two layers with the induction circuit of Elhage et al. 2021 written into its weights.

    The residual stream has four parts: the token, its position, the token before, and what comes next. L0H0 looks one
    place back and copies the token there into the third part; L1H0 looks where that part is the present token,
    and copies the token there (or the one `shift` ids before it), `sign` times, into the fourth part, which the output
    reads. The second head of each layer is blank.
    """
    config = transformers.GPT2Config(
        vocab_size=WORDS,
        n_positions=PLACES,
        n_embd=WIDTH,
        n_layer=2,
        n_head=2,
        n_inner=1,
        tie_word_embeddings=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    module = transformers.GPT2LMHeadModel(config).eval()
    size, scale = WIDTH // 2, 60.0
    token, place, before, after = np.split(np.arange(WIDTH), [WORDS, WORDS + PLACES, 2 * WORDS + PLACES])

    def joined(source: np.ndarray, target: np.ndarray, weight: float) -> tuple[Any, Any, float]:
        return torch.as_tensor(source), torch.as_tensor(target), weight

    def put(matrix: torch.Tensor, source: Any, target: Any, weight: float) -> None:
        matrix[source, target] = weight

    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
        for layer in module.transformer.h:
            layer.ln_1.weight.fill_(1.0)
            layer.ln_2.weight.fill_(1.0)
        module.transformer.ln_f.weight.fill_(1.0)
        put(module.transformer.wte.weight, *joined(np.arange(WORDS), token, 1.0))
        put(module.transformer.wpe.weight, *joined(np.arange(PLACES), place, 1.0))
        first, second = (layer.attn for layer in module.transformer.h)
        query, key, value = 0, WIDTH, 2 * WIDTH  # where c_attn writes the first head's
        put(first.c_attn.weight, *joined(place[1:], query + np.arange(PLACES - 1), 1.0))
        put(first.c_attn.weight, *joined(place[:-1], key + np.arange(PLACES - 1), scale / 8))
        put(first.c_attn.weight, *joined(token, value + np.arange(WORDS), 1.0))
        put(first.c_proj.weight, *joined(np.arange(WORDS), before, 0.1))
        put(second.c_attn.weight, *joined(token, query + np.arange(WORDS), 1.0))
        put(second.c_attn.weight, *joined(before, key + np.arange(WORDS), scale / 8))
        put(second.c_attn.weight, *joined(token, value + np.arange(WORDS), 1.0))
        put(second.c_proj.weight, *joined(np.arange(WORDS), np.roll(after, shift), sign))
        put(module.lm_head.weight, *joined(np.arange(WORDS), after, 10.0))
    assert size >= PLACES
    return hs.load(module)
