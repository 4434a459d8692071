"""What of a model has no attention map is found from its modules, and said."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from torch import nn

import headscope as hs
from headscope.attention.check import check
from headscope.models import Model
from tests.helpers.hybrids import HYBRIDS, KNOWN, hybrid
from tests.helpers.small_models import sizes

SMALL: dict[str, Any] = {"vocab_size": 60, **sizes(layers=3, inner=48), "pad_token_id": 0}
ROPE = {"rope_type": "default", "rope_theta": 1e4}
TEXT = {"input_ids": torch.arange(3, 15)[None], "attention_mask": torch.ones(1, 12, dtype=torch.long)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KNOWN)
def test_layers_without_a_map_are_named(kind: str) -> None:
    assert hs.load(hybrid(kind)).unseen == HYBRIDS[kind][2]


class Skipping(nn.Module):
    """Layers of torch's own, of which one passes on what it gets."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(60, 16)
        layers = [nn.TransformerEncoderLayer(16, 4, 32, batch_first=True) for _ in range(3)]
        self.layers = nn.ModuleList([layers[0], nn.Identity(), layers[2]])

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        states = self.embedding(input_ids)
        for layer in self.layers:
            states = layer(states)
        return states


def test_a_layer_that_was_taken_out_is_named() -> None:
    found = check(Model(Skipping().eval()), {"input_ids": torch.arange(3, 15)[None]})
    assert found.unseen == "Layer 1 of 3 has no attention map: nothing that mixes tokens (Identity)."


def test_layers_that_a_text_alone_does_not_run_are_named() -> None:
    config = transformers.AutoConfig.for_model(
        "mllama_text_model",
        **SMALL,
        num_key_value_heads=2,
        cross_attention_layers=[1, 2],
        rope_parameters=ROPE,
    )
    found = check(Model(transformers.MllamaForCausalLM(config).eval()), TEXT)
    told = "not run on the input of the check (MllamaCrossAttentionDecoderLayer)"
    assert found.unseen == f"Layers 1, 2 of 3 have no attention map: {told}."


def test_a_convolution_beside_attention_is_named() -> None:
    convolution = {
        "conv_dim": [16, 16],
        "conv_stride": [5, 2],
        "conv_kernel": [10, 3],
        "num_feat_extract_layers": 2,
    }
    config = transformers.Wav2Vec2ConformerConfig(
        **SMALL, **convolution, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4
    )
    found = check(
        Model(transformers.Wav2Vec2ConformerModel(config).eval()), {"input_values": torch.randn(1, 800)}
    )
    told = "convolution (Wav2Vec2ConformerConvolutionModule)"
    assert found.unseen == f"All 3 layers mix tokens beside attention, without a map: {told}."


def test_the_check_leaves_a_model_without_hooks() -> None:
    module = hybrid("zamba2")
    hs.load(module)
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in module.modules())
