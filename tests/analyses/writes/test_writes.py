"""What heads write: planted circuits, explicit matrices, chance."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

import headscope as hs
from headscope.models import Model
from tests.helpers.families import build, family
from tests.helpers.hybrids import hybrid

NAMES = ("GPT-2", "Llama", "Gemma 2", "Qwen3", "OPT", "GPT-NeoX", "Mistral", "gpt-oss")


def llama(seed: int = 0, **options: Any) -> Model:
    torch.manual_seed(seed)
    settings: dict[str, Any] = {
        "vocab_size": 100,
        "hidden_size": 32,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "tie_word_embeddings": False,
        "pad_token_id": None,
    }
    return hs.load(transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**settings, **options})))


@pytest.fixture(scope="module")
def planted() -> Model:
    """Eight tokens, a dimension each. Head 0 copies what it looks at, head 1 suppresses it, the others write nothing."""
    model = llama(
        vocab_size=8, hidden_size=8, num_attention_heads=4, num_key_value_heads=4, attention_bias=True
    )
    module: Any = model.module
    attention = module.model.layers[0].self_attn
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.zero_()
        module.model.embed_tokens.weight.copy_(0.1 * torch.eye(8))
        module.lm_head.weight.copy_(torch.eye(8))
        for head, sign in ((0, 1.0), (1, -1.0)):
            attention.v_proj.weight[8 * head : 8 * head + 8] = torch.eye(8)
            attention.o_proj.weight[:, 8 * head : 8 * head + 8] = sign * torch.eye(8)
        attention.q_proj.weight[0, 2] = 1.0  # head 0 looks from 2 to 5
        attention.k_proj.weight[0, 5] = 1.0
        along = torch.ones(
            8
        )  # head 1 looks at the token before: its key is its query, turned by one position
        turn = 1.0 / 10000.0 ** (torch.arange(4) / 4)
        attention.q_proj.bias[8:16] = along
        attention.k_proj.bias[8:12] = along[:4] * turn.cos() - along[4:] * turn.sin()
        attention.k_proj.bias[12:16] = along[4:] * turn.cos() + along[:4] * turn.sin()
    return model


def test_a_copying_head_scores_1_and_an_anti_copying_head_minus_1(planted: Model) -> None:
    found = hs.writes(planted, tokens=[2, 6], k=1, sample=8)
    np.testing.assert_allclose(found["copying"][0], [1, -1, np.nan, np.nan], atol=1e-6)
    np.testing.assert_allclose(found["positive"][0], [1, 0, np.nan, np.nan], atol=1e-6)
    np.testing.assert_array_equal(found["itself"][0], [1, 0, 0, 0])
    assert float(found["itself_chance"]) == 1 / 8
    assert found["promoted"][0, 0, :, 0].values.tolist() == ["2", "6"]
    low, high = found["itself_low"][0], found["itself_high"][0]
    assert float(low[0]) > 1 / 8
    assert float(high[0]) == 1
    assert float(high[1]) > 0


def test_the_key_that_a_query_prefers_and_the_offset_it_looks_at(planted: Model) -> None:
    found = hs.writes(planted, tokens=[2], k=1, sample=8)
    assert str(found["preferred"][0, 0, 0, 0].item()) == "5"
    # each row has unit size, so an embedding of one dimension of eight is √8 there: √8 · √8 / √8
    assert float(found["score"][0, 0, 0, 0]) == pytest.approx(math.sqrt(8), rel=1e-4)
    offsets = found["offset_score"][0, 1].values
    turn = 1.0 / 10000.0 ** (np.arange(4) / 4)
    expected = 2 * np.cos(turn * (np.arange(64)[:, None] - 1)).sum(-1) / math.sqrt(8)
    np.testing.assert_allclose(offsets, expected - expected.mean(), atol=1e-4)
    rows = found.table()
    assert rows["offset"].tolist()[1:] == [1, pd.NA, pd.NA]


@pytest.mark.slow
def test_random_weights_score_0_within_chance() -> None:
    scores: list[Any] = []
    for seed in range(20):
        found = hs.writes(llama(seed), k=5, sample=100)
        scores.append([found[name].values[0] for name in ("copying", "copying_chance", "positive", "positive_chance", "itself")])  # fmt: skip
    copying, chance, positive, half, itself = np.moveaxis(np.array(scores), 1, 0)
    assert abs(copying.mean()) < 4 * copying.std() / math.sqrt(copying.size)
    # of 80 scores 4 are expected outside of 95 %; up to 10 happen in all but 0.2 % of experiments
    assert (np.abs(copying) > chance).sum() <= 10
    assert (np.abs(positive - 0.5) > half).sum() <= 10
    assert chance.mean() < 0.8
    assert itself.mean() == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / itself.size / 100))


@pytest.mark.parametrize("name", ["Llama", "GPT-2"])
def test_it_is_what_explicit_matrices_say(name: str) -> None:
    module: Any = build(family(name)).double()
    model = hs.load(module)
    ids = [3, 50, 7]
    found = hs.writes(model, tokens=ids, k=4, sample=60, seed=1)
    if name == "Llama":
        embed, final = module.model.embed_tokens.weight, module.model.norm.weight
    else:
        embed, final = module.transformer.wte.weight, module.transformer.ln_f.weight
    unembed = module.get_output_embeddings().weight * final
    if name == "GPT-2":
        embed, unembed = embed - embed.mean(-1, keepdim=True), unembed - unembed.mean(-1, keepdim=True)
    unit = embed / embed.square().mean(-1, keepdim=True).sqrt()
    for layer in range(3):
        for head in range(4):
            if name == "Llama":
                block = module.model.layers[layer]
                attention, gain = block.self_attn, block.input_layernorm.weight
                group = head // (4 // (attention.k_proj.weight.shape[0] // 8))
                value = attention.v_proj.weight[group * 8 : group * 8 + 8]
                key = attention.k_proj.weight[group * 8 : group * 8 + 8]
                query = attention.q_proj.weight[head * 8 : head * 8 + 8]
                out = attention.o_proj.weight[:, head * 8 : head * 8 + 8]
                read = unit * gain
                asks, keys = read @ query.T, read @ key.T
            else:
                block = module.transformer.h[layer]
                gain, shift = block.ln_1.weight, block.ln_1.bias
                weights = block.attn.c_attn.weight.split(32, 1)
                query, key, value = (each[:, head * 8 : head * 8 + 8].T for each in weights)
                bias = [each[head * 8 : head * 8 + 8] for each in block.attn.c_attn.bias.split(32)]
                out = block.attn.c_proj.weight[head * 8 : head * 8 + 8].T
                read = unit * gain
                asks, keys = (read + shift) @ query.T + bias[0], (read + shift) @ key.T + bias[1]
            logits = unembed @ out @ value @ read.T  # [logit, token]
            logits = (logits - logits.mean(0)).detach().numpy()
            values = np.linalg.eigvals(logits)
            assert float(found["copying"][layer, head]) == pytest.approx(
                values.sum().real / np.abs(values).sum(), abs=1e-6
            )
            promoted = found["promoted"][layer, head].values
            for row, number in enumerate(ids):
                order = np.argsort(-logits[:, number])[:4]
                assert promoted[row].tolist() == [str(each) for each in order]
                np.testing.assert_allclose(found["logit"][layer, head, row], logits[order, number], rtol=1e-6)
                scores = (asks[number] @ keys.T / math.sqrt(8)).detach().numpy()
                preferred = found["preferred"][layer, head, row].values.astype(int)
                np.testing.assert_allclose(found["score"][layer, head, row], scores[preferred], atol=1e-6)
    assert bool(np.isnan(found["offset_score"]).all()) == (name == "GPT-2")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_families(name: str) -> None:
    found = hs.writes(hs.load(build(family(name))), k=3, sample=30)
    assert found["copying"].shape == (3, 4)
    assert (np.abs(found["copying"]) <= 1).all()
    assert (found["logit"].diff("rank") <= 0).all()
    learned = name in ("GPT-2", "OPT")
    assert bool(found["offset_score"].isnull().all()) == learned


@pytest.mark.slow
def test_a_constant_between_the_norm_and_attention_is_as_if_in_its_weights() -> None:
    module, same = (hybrid("falcon_h1", attention_in_multiplier=constant) for constant in (0.5, 1.0))
    same.load_state_dict(module.state_dict())
    with torch.no_grad():
        for name, weight in same.named_parameters():
            if re.search("[qkv]_proj", name):
                weight *= 0.5
    one, other = (hs.writes(hs.load(model), k=3, sample=20) for model in (module, same))
    assert one["promoted"].values.tolist() == other["promoted"].values.tolist()
    for figure in ("copying", "positive", "logit", "score"):
        np.testing.assert_allclose(one[figure], other[figure], rtol=1e-4, atol=1e-7)


def test_one_head_has_the_figures_it_has_among_all(planted: Model) -> None:
    whole, one = hs.writes(planted, k=2), hs.writes(planted, "L0H1", k=2)
    assert one["head"].values.tolist() == [1]
    pd.testing.assert_frame_equal(
        one.table(), whole.table().query("head == 1").reset_index(drop=True), check_exact=False
    )


@pytest.mark.slow
def test_heads_of_a_language_model(smollm: Model) -> None:
    """The figures of docs/importance.md."""
    copies = hs.writes(smollm, "L29H1", tokens=[" Austin", " Paris"], k=5)
    assert copies["promoted"][0, 0, :, 0].values.tolist() == ["ĠAustin", "ĠParis"]
    figures = [copies[name].item() for name in ("copying", "positive", "itself")]
    np.testing.assert_allclose(figures, [0.997, 1, 0.605], atol=6e-3)
    induces = hs.writes(smollm, "L18H6", k=5)
    figures = [induces[name].item() for name in ("copying", "copying_chance", "itself")]
    np.testing.assert_allclose(figures, [0.633, 0.097, 1 / 256], atol=6e-3)
