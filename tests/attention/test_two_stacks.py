"""Pairs of encoder and decoder of any make: each part's maps are those that the model itself gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import nn

import headscope as hs
from headscope.attention.parts import group
from headscope.attention.recording import recording
from headscope.errors import RefusedError
from headscope.models import Model
from tests.helpers import small_tokenizers
from tests.helpers.small_models import sizes

SIZE: dict[str, Any] = sizes(inner=37)
TEXT = SIZE | {"vocab_size": 99, "max_position_embeddings": 64, "pad_token_id": 0}
GPT = {"vocab_size": 99, "n_positions": 64, "n_embd": 32, "n_layer": 3, "n_head": 4}
SPEECH = SIZE | {
    "conv_dim": (16, 16), "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2, "num_feat_extract_layers": 2, "mask_time_prob": 0.0,
}  # fmt: skip
ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "BERT": ("Bert", TEXT),
    "RoBERTa": ("Roberta", TEXT),
    "ELECTRA": ("Electra", TEXT | {"embedding_size": 32}),
    "BertGeneration": ("BertGeneration", TEXT),
    "ViT": ("ViT", SIZE | {"image_size": 16, "patch_size": 8}),
    "Wav2Vec2": ("Wav2Vec2", SPEECH),
}
DECODERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "BERT": ("Bert", "BertLMHeadModel", TEXT),
    "RoBERTa": ("Roberta", "RobertaForCausalLM", TEXT),
    "ELECTRA": ("Electra", "ElectraForCausalLM", TEXT | {"embedding_size": 32}),
    "BertGeneration": ("BertGeneration", "BertGenerationDecoder", TEXT),
    "GPT-2": ("GPT2", "GPT2LMHeadModel", GPT),
}
COMBINATIONS = [
    ("BERT", "BERT"), ("RoBERTa", "RoBERTa"), ("ELECTRA", "ELECTRA"),
    ("BertGeneration", "BertGeneration"), ("BERT", "GPT-2"), ("RoBERTa", "BERT"), ("ELECTRA", "BertGeneration"),
    ("ViT", "BERT"), ("ViT", "GPT-2"), ("Wav2Vec2", "BERT"),
]  # fmt: skip


def pair(encoder: str, decoder: str, **more: Any) -> Any:
    torch.manual_seed(0)
    kind, sizes = ENCODERS[encoder]
    first = getattr(transformers, f"{kind}{'Encoder' if kind == 'BertGeneration' else 'Model'}")(
        getattr(transformers, f"{kind}Config")(**sizes | more)
    )
    kind, name, sizes = DECODERS[decoder]
    config = getattr(transformers, f"{kind}Config")(**sizes | more, is_decoder=True, add_cross_attention=True)
    whole = {"ViT": "Vision", "Wav2Vec2": "Speech"}.get(encoder, "")
    made = getattr(transformers, f"{whole}EncoderDecoderModel")(
        encoder=first, decoder=getattr(transformers, name)(config)
    )
    made.config.decoder_start_token_id, made.config.pad_token_id = 1, 0
    written = made.generation_config
    written.decoder_start_token_id, written.pad_token_id, written.eos_token_id = 1, 0, None
    return made.eval()


def inputs(encoder: str, source: int, target: int) -> dict[str, torch.Tensor]:
    given = {
        "ViT": lambda: {"pixel_values": torch.randn(1, 3, 16, 16)},
        "Wav2Vec2": lambda: {"input_values": torch.randn(1, 10 * source + 40)},
    }.get(encoder, lambda: {"input_ids": torch.randint(3, 90, (1, source))})()
    return {**given, "decoder_input_ids": torch.randint(3, 90, (1, target))}


def own(module: Any, given: dict[str, Any]) -> dict[str, list[Any]]:
    """What the model's own eager attention gives, by part. Layers of an encoder have a configuration of their own."""
    for part in module.modules():
        if hasattr(part, "config"):
            part.config._attn_implementation = "eager"
    with torch.no_grad():
        out = module(**given, output_attentions=True)
    names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    return {part: [layer[0].numpy() for layer in out[name]] for part, name in names.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("encoder", "decoder"), COMBINATIONS, ids=lambda name: name)
def test_each_part_is_the_models_own(encoder: str, decoder: str) -> None:
    module = pair(encoder, decoder)
    model = hs.load(module)
    for target in (6, 4):  # as many as the source has, and fewer
        given = inputs(encoder, 6, target)
        parts: Any = hs.capture(model, inputs=given)
        assert set(parts) == {"encoder", "decoder", "cross"}
        for name, layers in own(module, given).items():
            assert len(parts[name].layers) == len(layers)
            for found, expected in zip(parts[name].layers, layers, strict=True):
                # float32 rows of at most 25 keys that sum to 1: a few units of rounding
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
        kinds = [(part.kind, part.causal) for part in parts.values()]
        assert kinds == [("encoder", False), ("self", True), ("cross", False)]
        assert parts.cross.query.pieces == parts.decoder.query.pieces
        assert parts.cross.key.pieces == parts.encoder.query.pieces


@pytest.mark.parametrize(("encoder", "decoder"), COMBINATIONS[:5:4], ids=lambda name: name)
def test_each_step_of_what_it_writes_is_the_models_own(encoder: str, decoder: str) -> None:
    tokenizer = small_tokenizers.demo()
    module = pair(encoder, decoder, vocab_size=len(tokenizer))
    model = hs.load((module, tokenizer))
    parts: Any = hs.generate(model, "Two stacks of layers.", max_new_tokens=3)
    given = {**model.inputs([model.encode("Two stacks of layers.")])}
    given["decoder_input_ids"] = torch.tensor(np.array(parts["decoder"].query.ids))[None]
    assert given["decoder_input_ids"].shape == (1, 3)
    for name, layers in own(module, given).items():
        for found, expected in zip(parts[name].layers, layers, strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


class Wrapped(nn.Module):
    """A pair in a module of one's own, under a name that says something else."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.cross_encoder = inner

    def forward(self, input_ids: torch.Tensor, decoder_input_ids: torch.Tensor) -> Any:
        return self.cross_encoder(input_ids=input_ids, decoder_input_ids=decoder_input_ids)


def test_a_name_above_a_stack_says_nothing_of_it() -> None:
    module = pair("BERT", "BERT")
    given = inputs("BERT", 6, 6)
    expected: Any = hs.capture(hs.load(module), inputs=given)
    found: Any = hs.capture(Model(Wrapped(module)), inputs=given)
    assert set(found) == {"encoder", "decoder", "cross"}
    for name in expected:
        np.testing.assert_array_equal(found[name].weights, expected[name].weights)


def test_two_stacks_of_one_part_are_refused(demo: Model) -> None:
    records: list[Any] = []
    with torch.no_grad(), recording(demo.module, records.append):
        demo.module(**demo.inputs([demo.encode("Two stacks.")]))
    two = [replace(records[0], kind="cross", stack=stack) for stack in ("one.layer.*", "another.layer.*")]
    with pytest.raises(RefusedError, match="two stacks of this model cannot be told apart"):
        group(two)
