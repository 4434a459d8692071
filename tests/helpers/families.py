"""Families of models, each built small from its configuration with random weights.

Every family has padding of different lengths in its batch of two where it reads text, and every parameter is drawn
anew, so that biases, sinks and norms count.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

from headscope.core.tokens import Tokens
from headscope.corpora import Example
from tests.helpers.hybrids import LINEAR
from tests.helpers.small_models import sizes

LENGTH, SHORT, TARGET, VOCABULARY = 12, 9, 7, 120


@dataclass(frozen=True, eq=False)
class Family:
    """One family.

    Attributes:
        name: as people call it.
        cls: its class in transformers.
        model_type: transformers' name of its configuration.
        config: arguments of the configuration.
        heads: heads of each attention call, in the order of the calls.
        reads: `text`, `target` (text in and out), `pixels`, `both` (text and pixels), `sound` or `frames`.
        interface: whether it takes its attention function from transformers' interface.
        refused: whether its attention has no maps over the whole input.
        repeat: how often the text stands in the input (for models that need a long one).
        extra: attention calls besides, which the model does not return: of a pooling head, or the same maps again.
    """

    name: str
    cls: str
    model_type: str
    config: Mapping[str, Any] = field(repr=False)
    heads: tuple[int, ...] = (4, 4, 4)
    reads: str = "text"
    interface: bool = True
    refused: bool = False
    repeat: int = 1
    extra: int = 0

    @property
    def layers(self) -> int:
        """How many attention calls it makes."""
        return len(self.heads)

    @property
    def inputs(self) -> dict[str, Tensor]:
        """An input: a batch of two, whose second text ends in padding."""
        draw = torch.Generator().manual_seed(0)
        ids = torch.randint(3, VOCABULARY, (2, LENGTH), generator=draw)
        mask = torch.ones_like(ids)
        mask[1, SHORT:] = 0
        text = {"input_ids": ids.repeat(1, self.repeat), "attention_mask": mask.repeat(1, self.repeat)}
        pixels = {"pixel_values": torch.randn(2, 3, 32, 32, generator=draw)}
        target = {"decoder_input_ids": ids[:, :TARGET]}
        return {
            "text": text,
            "target": text | target,
            "pixels": pixels,
            "both": text | pixels,
            "sound": {"input_values": torch.randn(2, 400, generator=draw)},
            "frames": {"input_features": torch.randn(2, 8, 40, generator=draw)} | target,
        }[self.reads]

    def __str__(self) -> str:
        return self.name


def build(family: Family, implementation: str = "eager", seed: int = 0) -> nn.Module:
    """The family's model in evaluation mode; `implementation` is its attention."""
    config = transformers.AutoConfig.for_model(family.model_type, **family.config)
    with warnings.catch_warnings(action="ignore"):
        model = getattr(transformers, family.cls)._from_config(config, attn_implementation=implementation)
    torch.manual_seed(seed)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.15 if parameter.ndim > 1 else 0.3)
    return model.eval()


def corpus_of(tokens: Sequence[Tokens]) -> list[Example]:
    """Inputs, each a document of its own."""
    return [Example(tokens=each, document=place, source=f"a:{place}") for place, each in enumerate(tokens)]


def half_square(output: Any) -> Tensor:
    """A number that every position of the output has a part in."""
    found = output.logits if getattr(output, "logits", None) is not None else output.last_hidden_state
    return found.double().square().sum() / found.shape[-1]


def run(model: nn.Module, inputs: Mapping[str, Tensor], **options: Any) -> Any:
    """The model's output, without gradients."""
    with torch.no_grad():
        return model(**inputs, **options)


def logits(output: Any) -> Tensor:
    """The main tensor of an output."""
    for key in ("logits", "last_hidden_state", "logits_per_image"):
        if getattr(output, key, None) is not None:
            return output[key]
    return output[0]


def reference(model: nn.Module, inputs: Mapping[str, Tensor]) -> list[Tensor]:
    """The maps that an eager model returns itself, ``[batch head query key]``: encoder, decoder, cross."""
    return _maps(run(model, inputs, output_attentions=True))


def _maps(output: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for key in output:
        if "attention" in key:
            found += _flat(output[key])
        elif key in ("text_model_output", "vision_model_output"):
            found += _maps(output[key])
    return found


def _flat(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [tensor for part in value or () for tensor in _flat(part)]


def real(weights: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
    """Weights ``[batch head query key]`` with the rows of queries that are padding set to 0."""
    mask = inputs.get("attention_mask")
    if mask is None or weights.shape[2] != mask.shape[1]:
        return weights
    return weights * mask[:, None, :, None]


def _bert(**more: Any) -> dict[str, Any]:
    return {"vocab_size": VOCABULARY, **sizes(layers=3, inner=48, length=64)} | more


def _llama(**more: Any) -> dict[str, Any]:
    return _bert(num_key_value_heads=2, head_dim=8, pad_token_id=0, bos_token_id=1, eos_token_id=2) | more


def _deepseek() -> dict[str, Any]:
    config = _llama(
        num_key_value_heads=4, kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=4
    )
    del config["head_dim"]
    experts = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1}
    return config | experts | {"v_head_dim": 8, "moe_intermediate_size": 16, "first_k_dense_replace": 1}


def _sparse() -> dict[str, Any]:
    """Each query sees the four keys that an indexer chose."""
    return _deepseek() | {"index_topk": 4, "index_n_heads": 16, "index_head_dim": 8}


def _gpt(**more: Any) -> dict[str, Any]:
    return {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64} | more


def _falcon(**more: Any) -> dict[str, Any]:
    off = dict.fromkeys(("bias", "alibi", "new_decoder_architecture", "multi_query"), False)
    return {"vocab_size": VOCABULARY, **sizes(layers=3), **off} | more


def _bart(**more: Any) -> dict[str, Any]:
    ends = {f"{end}_{name}": n for end in ("encoder", "decoder") for name, n in _ENDS}
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 0}
    return {"vocab_size": VOCABULARY, "d_model": 32, "max_position_embeddings": 64} | ends | special | more


_ENDS = (("layers", 2), ("attention_heads", 4), ("ffn_dim", 48))


def _t5(**more: Any) -> dict[str, Any]:
    size = {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    return size | {"decoder_start_token_id": 0, "pad_token_id": 0} | more


def _sound(**more: Any) -> dict[str, Any]:
    convolutions = {"conv_dim": (8, 8), "conv_stride": (5, 2), "conv_kernel": (10, 3)}
    layers = {"num_feat_extract_layers": 2}
    groups = {"num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}
    return sizes(inner=48) | convolutions | layers | groups | more


def _vision(**more: Any) -> dict[str, Any]:
    return sizes(layers=3, inner=48) | {"image_size": 32, "patch_size": 8} | more


def _swin() -> dict[str, Any]:
    size = {"embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4]}
    return size | {"image_size": 32, "patch_size": 2, "window_size": 4}


_EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
_RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
_LONG = {"cls_token_id": 1, "sep_token_id": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_LINEAR = {**LINEAR, "layer_types": ["linear_attention", "full_attention", "linear_attention"]}
_SPARSE = {
    "attention_type": "block_sparse",
    "block_size": 2,
    "num_random_blocks": 1,
    "max_position_embeddings": 128,
}
_TWO, _SIX = (4, 4), (4,) * 6

ENCODERS = [
    Family("BERT", "BertModel", "bert", _bert()),
    Family("RoBERTa", "RobertaModel", "roberta", _bert()),
    Family("DistilBERT", "DistilBertModel", "distilbert",
           {"vocab_size": VOCABULARY, "dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48}),
    Family("ALBERT", "AlbertModel", "albert", _bert(embedding_size=16)),
    Family("ELECTRA", "ElectraModel", "electra", _bert(embedding_size=16)),
    Family("XLM-R", "XLMRobertaModel", "xlm-roberta", _bert()),
    Family("ModernBERT", "ModernBertModel", "modernbert",
           _bert(**_LONG, local_attention=6, global_attn_every_n_layers=3)),
    Family("ESM", "EsmModel", "esm", _bert(pad_token_id=0, mask_token_id=1)),
]  # fmt: skip

DECODERS = [
    Family("GPT-2", "GPT2LMHeadModel", "gpt2", _gpt()),
    Family("GPT-NeoX", "GPTNeoXForCausalLM", "gpt_neox", _bert()),
    Family("OPT", "OPTForCausalLM", "opt",
           {"vocab_size": VOCABULARY, "hidden_size": 32, "word_embed_proj_dim": 32, "num_hidden_layers": 3,
            "num_attention_heads": 4, "ffn_dim": 48, "max_position_embeddings": 64}),
    Family("Llama", "LlamaForCausalLM", "llama", _llama()),
    Family("Mistral", "MistralForCausalLM", "mistral", _llama(sliding_window=4)),
    Family("Mixtral", "MixtralForCausalLM", "mixtral", _llama(**_EXPERTS)),
    Family("Qwen2", "Qwen2ForCausalLM", "qwen2", _llama()),
    Family("Qwen3", "Qwen3ForCausalLM", "qwen3", _llama()),
    Family("Gemma", "GemmaForCausalLM", "gemma", _llama()),
    Family("Gemma 2", "Gemma2ForCausalLM", "gemma2",
           _llama(sliding_window=4, query_pre_attn_scalar=8, attn_logit_softcapping=5.0)),
    Family("Gemma 3", "Gemma3ForCausalLM", "gemma3_text", _llama(sliding_window=4, query_pre_attn_scalar=8)),
    Family("Gemma 3n", "Gemma3nForCausalLM", "gemma3n_text",
           _llama(sliding_window=4, vocab_size_per_layer_input=VOCABULARY, hidden_size_per_layer_input=4,
                  num_kv_shared_layers=1, laurel_rank=4,
                  layer_types=["sliding_attention", "full_attention", "full_attention"])),
    Family("gpt-oss", "GptOssForCausalLM", "gpt_oss",
           _llama(**_EXPERTS, sliding_window=4,
                  layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
    Family("Phi", "PhiForCausalLM", "phi", _bert(pad_token_id=0)),
    Family("Phi-3", "Phi3ForCausalLM", "phi3", _llama()),
    Family("OLMo", "OlmoForCausalLM", "olmo", _llama()),
    Family("OLMo 2", "Olmo2ForCausalLM", "olmo2", _llama()),
    Family("Cohere", "CohereForCausalLM", "cohere", _llama()),
    Family("StableLM", "StableLmForCausalLM", "stablelm", _llama()),
    Family("Granite", "GraniteForCausalLM", "granite", _llama(attention_multiplier=0.3)),
    Family("Doge", "DogeForCausalLM", "doge", _llama()),
    Family("Llama 4", "Llama4ForCausalLM", "llama4_text",
           _llama(num_local_experts=2, intermediate_size_mlp=32, interleave_moe_layer_step=2, attention_chunk_size=6,
                  no_rope_layers=[1, 1, 0],
                  layer_types=["chunked_attention", "chunked_attention", "full_attention"])),
    Family("DeepSeek-V2", "DeepseekV2ForCausalLM", "deepseek_v2", _deepseek()),
    Family("DeepSeek-V3", "DeepseekV3ForCausalLM", "deepseek_v3", _deepseek()),
    Family("DeepSeek-V3.2", "DeepseekV32ForCausalLM", "deepseek_v32", _sparse()),
    Family("DiffLlama", "DiffLlamaForCausalLM", "diffllama", _llama(), extra=3),
    Family("Qwen3-Next", "Qwen3NextForCausalLM", "qwen3_next",
           _llama(**_LINEAR, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16,
                  shared_expert_intermediate_size=16), heads=(4,)),
    Family("CTRL", "CTRLModel", "ctrl", _gpt(dff=48)),
]  # fmt: skip

ENCODER_DECODERS = [
    Family("T5", "T5ForConditionalGeneration", "t5", _t5(), _SIX, "target"),
    Family("mT5", "MT5ForConditionalGeneration", "mt5", _t5(), _SIX, "target"),
    Family("BART", "BartForConditionalGeneration", "bart", _bart(), _SIX, "target"),
    Family("mBART", "MBartForConditionalGeneration", "mbart", _bart(), _SIX, "target"),
    Family("Marian", "MarianMTModel", "marian", _bart(), _SIX, "target"),
    Family("Pegasus", "PegasusForConditionalGeneration", "pegasus", _bart(), _SIX, "target"),
    Family("Whisper", "WhisperForConditionalGeneration", "whisper",
           _bart(num_mel_bins=8, max_source_positions=20, max_target_positions=30, suppress_tokens=None,
                 begin_suppress_tokens=None), _SIX, "frames"),
]  # fmt: skip

OTHERS = [
    Family("Wav2Vec2", "Wav2Vec2Model", "wav2vec2", _sound(), _TWO, "sound"),
    Family("HuBERT", "HubertModel", "hubert", _sound(), _TWO, "sound"),
    Family("ViT", "ViTModel", "vit", _vision(), reads="pixels"),
    Family("DINOv2", "Dinov2Model", "dinov2", _vision(), reads="pixels"),
    Family("Swin", "SwinModel", "swin", _swin(), (2, 2, 4, 4), "pixels"),
    Family("CLIP", "CLIPModel", "clip",
           {"text_config": _bert(), "vision_config": _vision(num_hidden_layers=2), "projection_dim": 16},
           (4,) * 5, "both"),
    Family("SigLIP", "SiglipModel", "siglip",
           {"text_config": _bert(bos_token_id=1, eos_token_id=2), "vision_config": _vision(num_hidden_layers=2)},
           (4,) * 5, "both", extra=1),
]  # fmt: skip

OFF_INTERFACE = [
    Family("DeBERTa", "DebertaModel", "deberta", _bert(**_RELATIVE), interface=False),
    Family("DeBERTa-v2", "DebertaV2Model", "deberta-v2",
           _bert(**_RELATIVE, position_buckets=8, max_relative_positions=-1, norm_rel_ebd="layer_norm",
                 share_att_key=True), interface=False),
    Family("MPNet", "MPNetModel", "mpnet", _bert(), interface=False),
    Family("XLNet", "XLNetModel", "xlnet",
           {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": 3, "n_head": 4, "d_inner": 48}, interface=False),
    Family("XLM", "XLMModel", "xlm",
           {"vocab_size": VOCABULARY, "emb_dim": 32, "n_layers": 3, "n_heads": 4}, interface=False),
    Family("RoFormer", "RoFormerModel", "roformer", _bert(), interface=False),
    Family("RemBERT", "RemBertModel", "rembert", _bert(input_embedding_size=16), interface=False),
    Family("ConvBERT", "ConvBertModel", "convbert", _bert(embedding_size=32, head_ratio=2), (2, 2, 2), interface=False),
    Family("LayoutLMv3", "LayoutLMv3Model", "layoutlmv3",
           _bert(visual_embed=False, coordinate_size=6, shape_size=4, has_relative_attention_bias=True,
                 has_spatial_attention_bias=True), interface=False),
    Family("Funnel", "FunnelModel", "funnel",
           {"vocab_size": VOCABULARY, "block_sizes": [1, 1, 1], "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 48,
            "num_decoder_layers": 1}, (4,) * 4, interface=False),
    Family("Funnel factorized", "FunnelModel", "funnel",
           {"vocab_size": VOCABULARY, "block_sizes": [1, 1], "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 48,
            "num_decoder_layers": 1, "attention_type": "factorized"}, interface=False),
    Family("BigBird", "BigBirdModel", "big_bird", _bert(attention_type="original_full"), interface=False),
    Family("OpenAI GPT", "OpenAIGPTModel", "openai-gpt", _gpt(), interface=False),
    Family("GPT-J", "GPTJForCausalLM", "gptj", _gpt(rotary_dim=4), interface=False),
    Family("CodeGen", "CodeGenForCausalLM", "codegen", _gpt(rotary_dim=4), interface=False),
    Family("GPT-Neo", "GPTNeoForCausalLM", "gpt_neo",
           {"vocab_size": VOCABULARY, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": 4,
            "attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64}, _TWO, interface=False),
    Family("BLOOM", "BloomForCausalLM", "bloom",
           {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 3, "n_head": 4}, interface=False),
    Family("Falcon", "FalconForCausalLM", "falcon",
           _falcon(new_decoder_architecture=True, num_kv_heads=2), interface=False),
    Family("Falcon multi-query", "FalconForCausalLM", "falcon", _falcon(multi_query=True), interface=False),
    Family("Falcon ALiBi", "FalconForCausalLM", "falcon", _falcon(alibi=True), interface=False),
    Family("MPT", "MptForCausalLM", "mpt",
           {"vocab_size": VOCABULARY, "d_model": 32, "n_layers": 3, "n_heads": 4, "max_seq_len": 64}, interface=False),
    Family("XGLM", "XGLMForCausalLM", "xglm",
           {"vocab_size": VOCABULARY, "d_model": 32, "num_layers": 3, "attention_heads": 4, "ffn_dim": 48,
            "max_position_embeddings": 64}, interface=False),
    Family("FSMT", "FSMTModel", "fsmt",
           _bart(langs=["a", "b"], src_vocab_size=VOCABULARY, tgt_vocab_size=VOCABULARY), _SIX, "target", False),
    Family("Swin v2", "Swinv2Model", "swinv2", _swin(), (2, 2, 4, 4), "pixels", False),
]  # fmt: skip

REFUSED = [
    Family("Longformer", "LongformerModel", "longformer", _bert(attention_window=4, pad_token_id=0),
           interface=False, refused=True),
    Family("LED", "LEDForConditionalGeneration", "led",
           _bart(attention_window=4, max_encoder_position_embeddings=64, max_decoder_position_embeddings=64),
           _SIX, "target", False, True),
    Family("BigBird block-sparse", "BigBirdModel", "big_bird", _bert(**_SPARSE),
           interface=False, refused=True, repeat=4),
    Family("Pegasus-X", "PegasusXForConditionalGeneration", "pegasus_x", _bart(block_size=4, num_global_tokens=2),
           _SIX, "target", refused=True),
    Family("LongT5", "LongT5Model", "longt5", _t5(local_radius=3), _SIX, "target", refused=True),
]  # fmt: skip

FAMILIES = [*ENCODERS, *DECODERS, *ENCODER_DECODERS, *OTHERS, *OFF_INTERFACE, *REFUSED]
"""All families, by what they are."""

CAPTURED = [family for family in FAMILIES if not family.refused]
"""Those whose attention headscope captures."""


def family(name: str) -> Family:
    """The family of that name."""
    return next(each for each in FAMILIES if each.name == name)


QUICK = {"BERT", "GPT-2", "Llama", "Gemma 3", "T5", "BLOOM", "DeBERTa-v2", "Whisper"}
"""The families of `make check`: one of each way of attention. The others are slow."""


def each(families: Sequence[Family]) -> list[Any]:
    """The families as parameters of a test."""
    return [
        pytest.param(family, id=str(family), marks=() if str(family) in QUICK else pytest.mark.slow)
        for family in families
    ]
