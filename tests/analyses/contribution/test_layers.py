"""Value zeroing and the logit lens, against the same written out by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose

import headscope as hs
from headscope.contribution import logit_lens, value_zeroing
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.small_models import sharpen, small

IDS = torch.tensor([[3, 1, 4, 1, 5]])


@pytest.fixture(scope="module")
def gpt2() -> Model:
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=20, n_embd=16, n_layer=3, n_head=4, n_positions=8)
    return hs.load(sharpen(transformers.GPT2LMHeadModel(config)))


def test_a_tokens_values_are_0_in_a_layer(gpt2: Model) -> None:
    found = value_zeroing(gpt2, inputs={"input_ids": IDS})
    body: Any = gpt2.module.transformer
    assert found.shape == (3, 5, 5)
    assert_allclose(found.sum(-1), 1, rtol=1e-6)
    assert np.triu(found[1], 1).max() < 1e-6
    layer = 1

    def silence(key: int, _: Any, __: Any, output: torch.Tensor) -> torch.Tensor:
        output = output.clone()
        output[:, key, 32:] = 0.0
        return output

    with torch.no_grad():
        whole = body(IDS, output_hidden_states=True).hidden_states[layer + 1]
        distances = []
        for key in range(5):
            hook = body.h[layer].attn.c_attn.register_forward_hook(partial(silence, key))
            less = body(IDS, output_hidden_states=True).hidden_states[layer + 1]
            hook.remove()
            distances.append((1 - torch.cosine_similarity(less.double(), whole.double(), -1))[0])
    expected = torch.stack(distances, 1).clamp(min=0).numpy()
    assert_allclose(found[layer], expected / expected.sum(-1, keepdims=True), atol=1e-5)


def test_one_that_attends_to_both_sides() -> None:
    bert = small("bert")
    found = value_zeroing(bert, inputs={"input_ids": IDS, "token_type_ids": IDS * 0})
    assert found.shape == (3, 5, 5)
    assert np.triu(found[0], 1).max() > 0.01
    with pytest.raises(InputError, match="expected a model of one part"):
        value_zeroing(small("t5"), inputs={"input_ids": IDS, "decoder_input_ids": IDS})


def test_the_last_layer_says_what_the_model_says(gpt2: Model) -> None:
    text = hs.Tokens([str(one) for one in IDS[0].tolist()], ids=IDS[0].numpy())
    table = logit_lens(gpt2, text, 7, position=3)
    module: Any = gpt2.module
    with torch.no_grad():
        states = module(IDS, output_hidden_states=True)
        early = module.lm_head(module.transformer.ln_f(states.hidden_states[1][0, 3]))
    assert table["logit"].iloc[-1] == pytest.approx(float(states.logits[0, 3, 7]), abs=1e-5)
    assert table["logit"].iloc[0] == pytest.approx(float(early[7]), abs=1e-5)
    assert table["rank"].iloc[0] == 1 + int((early > early[7]).sum())
    best = logit_lens(gpt2, text)
    assert best["rank"].iloc[-1] == 1
    with pytest.raises(InputError, match="expected one of 5 tokens, found 5"):
        logit_lens(gpt2, text, position=5)
