"""Small random models of several families, far from uniform attention."""

from __future__ import annotations

import copy
from typing import Any

import torch
import transformers

import headscope as hs
from headscope.models import Model
from tests.helpers.small_tokenizers import byte_level, roberta, whisper


def sizes(
    hidden: int = 32, layers: int = 2, heads: int = 4, *, inner: int = 0, keys: int = 0, length: int = 0
) -> dict[str, int]:
    """Sizes of a configuration by transformers' names; those that are 0 are left to it."""
    some = {"intermediate_size": inner, "num_key_value_heads": keys, "max_position_embeddings": length}
    every = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads}
    return every | {name: size for name, size in some.items() if size}


SMALL: dict[str, Any] = {"vocab_size": 60, **sizes(layers=3, inner=48, length=64)}


FAMILIES: dict[str, dict[str, Any]] = {
    "bert": {},
    "llama": {"num_key_value_heads": 2},
    "gpt2": {"n_layer": 3, "n_head": 4, "n_embd": 32},
    "mistral": {"num_key_value_heads": 2, "sliding_window": 4},
    "gpt_oss": {
        "num_key_value_heads": 2,
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
        "head_dim": 8,
        "sliding_window": 4,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    },
    "t5": {"d_model": 32, "num_layers": 3, "num_heads": 4, "d_kv": 8, "d_ff": 48},
    "gptj": {"n_layer": 3, "n_head": 4, "n_embd": 32, "rotary_dim": 4, "n_positions": 64},
    "bloom": {"n_layer": 3, "n_head": 4},
}
"""Kinds of attention as `small` makes them: what their configurations have beside."""


def sharpen(module: Any) -> Any:
    """A module, for inference, with weights so large that its heads tell tokens apart."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.ndim == 2 and "embed" not in name:
                parameter.mul_(8.0)
    return module.eval()


def small(kind: str, **config: Any) -> Model:
    """A model of a family, such as ``bert``, that reads ids below 60."""
    torch.manual_seed(0)
    settings = transformers.AutoConfig.for_model(kind, **{**SMALL, **config}, pad_token_id=0)
    architecture = getattr(transformers, type(settings).__name__.removesuffix("Config") + "Model")
    return hs.load(sharpen(architecture(settings)))


def small_roberta(layers: int = 2, heads: int = 4, seed: int = 0, *, cls: Any = None, **config: Any) -> Model:
    """A model with another tokenizer than the demo model's; `cls` is a class with another end than RobertaModel's."""
    torch.manual_seed(seed)
    tokenizer = roberta()
    size = sizes(layers=layers, heads=heads, inner=48, length=200)
    settings = transformers.RobertaConfig(vocab_size=len(tokenizer), **size, pad_token_id=1, **config)
    return hs.load((sharpen((cls or transformers.RobertaModel)(settings)), tokenizer))


def small_bert(tokenizer: Any, **options: Any) -> Model:
    """A model that reads with this tokenizer; `options` are of `headscope.load`."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        **{**SMALL, "vocab_size": len(tokenizer), "max_position_embeddings": 512}
    )
    return hs.load((sharpen(transformers.BertModel(config)), tokenizer), **options)


def translator() -> Model:
    """An encoder-decoder with a tokenizer."""
    torch.manual_seed(0)
    tokenizer = roberta()
    config = transformers.BartConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_position_embeddings=64,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
    )
    return hs.load((sharpen(transformers.BartForConditionalGeneration(config)), tokenizer))


def save_bert(folder: Any, tokenizer: Any, **config: Any) -> None:
    """Write a model and a tokenizer to a folder, whether they go together or not."""
    torch.manual_seed(0)
    settings = {**SMALL, "max_position_embeddings": 512, **config}
    transformers.BertModel(transformers.BertConfig(**settings)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def save_gpt2(folder: Any, **config: Any) -> None:
    """Write a causal model with its tokenizer to a folder, for want of a large one."""
    tokenizer = byte_level()
    torch.manual_seed(0)
    size = {"vocab_size": len(tokenizer), "n_embd": 32, "n_layer": 2, "n_head": 4}
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**{**size, **config})).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def save_llama(folder: Any, **config: Any) -> Any:
    """Write a causal model that shares keys, with its tokenizer, to a folder, which is given back."""
    tokenizer = byte_level()
    torch.manual_seed(0)
    size = {"vocab_size": len(tokenizer), "max_position_embeddings": 128, **config}
    settings = transformers.LlamaConfig(**size, num_attention_heads=4, num_key_value_heads=2)
    sharpen(transformers.LlamaForCausalLM(settings)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


BORDER = 24
"""Of `scaled` models the tokens of an input above which its rotary frequencies hang on how many there are."""

LONG: dict[str, Any] = {"original_max_position_embeddings": BORDER, "short_factor": [1.0] * 4}
LONG |= {"rope_type": "longrope", "rope_theta": 10000.0, "long_factor": [1.0, 2.0, 4.0, 8.0]}

SCALED: dict[str, dict[str, Any]] = {
    "llama": {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}},
    "phi3": {
        "rope_parameters": LONG,
        "original_max_position_embeddings": BORDER,
        "max_position_embeddings": 96,
    },
    "minicpm3": {
        "rope_parameters": LONG,
        "max_position_embeddings": 96,
        "num_key_value_heads": 4,
        **dict.fromkeys(("q_lora_rank", "kv_lora_rank"), 16),
        **dict.fromkeys(("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"), 8),
    },
}
"""Kinds of attention whose frequencies do: what their configurations have beside."""


def scaled(kind: str, dtype: torch.dtype = torch.float64, tokens: int = 60) -> Any:
    """A module of one of these kinds that writes and has read nothing."""
    torch.manual_seed(0)
    none = dict.fromkeys(("bos_token_id", "eos_token_id"))
    size = {"vocab_size": tokens, **sizes(inner=48, keys=2, length=BORDER), "pad_token_id": 0}
    settings = transformers.AutoConfig.for_model(kind, **{**size, **none, **SCALED[kind]})
    module = transformers.AutoModelForCausalLM.from_config(settings).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 0.3)
    return module.to(dtype)


def whisper_parts(seconds: int = 2, **config: Any) -> tuple[Any, Any, Any]:
    """A random model of speech of 2 × 4 heads that hears so many seconds, its tokenizer and its feature extractor."""
    tokenizer = whisper()
    start, end = (
        tokenizer.convert_tokens_to_ids(name) for name in ("<|startoftranscript|>", "<|endoftext|>")
    )
    size = {
        "d_model": 32,
        "num_mel_bins": 8,
        "max_source_positions": 50 * seconds,
        "max_target_positions": 40,
    }
    each = {"layers": 2, "attention_heads": 4, "ffn_dim": 48}
    sides = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in each.items()}
    ids = {"pad_token_id": end, "bos_token_id": end, "eos_token_id": end, "decoder_start_token_id": start}
    quiet = {"suppress_tokens": None, "begin_suppress_tokens": None}
    torch.manual_seed(0)
    settings = transformers.WhisperConfig(
        **{"vocab_size": len(tokenizer), **size, **sides, **ids, **quiet, **config}
    )
    module = sharpen(transformers.WhisperForConditionalGeneration(settings))
    return module, tokenizer, transformers.WhisperFeatureExtractor(feature_size=8, chunk_length=seconds)


def save_whisper(folder: Any, seconds: int = 2) -> None:
    """Write such a model to a folder, with its tokenizer and feature extractor."""
    for part in whisper_parts(seconds):
        part.save_pretrained(folder)


def llava_parts() -> tuple[Any, Any]:
    """A random model of texts and pictures, 2 × 4 heads each, 4 × 4 patches a picture, and its processor."""
    torch.manual_seed(0)
    tokenizer = copy.deepcopy(byte_level())
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    each: dict[str, Any] = sizes(inner=64)
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**each, image_size=56, patch_size=14),
        text_config=transformers.LlamaConfig(**each, vocab_size=len(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=16,
    )
    looks = transformers.CLIPImageProcessor(size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56})
    processor = transformers.LlavaProcessor(
        image_processor=looks,
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )
    return sharpen(transformers.LlavaForConditionalGeneration(config)), processor


def seeing(kind: str = "vit", side: int = 64) -> Model:
    """A small random model of pictures that it makes `side` pixels wide and high, in 4 × 4 patches."""
    torch.manual_seed(0)
    more: dict[str, Any] = {"num_register_tokens": 2} if "registers" in kind else {}
    size: dict[str, Any] = sizes(inner=48)
    settings = transformers.AutoConfig.for_model(kind, **size, image_size=side, patch_size=side // 4, **more)
    module = getattr(transformers, type(settings).__name__.removesuffix("Config") + "Model")(settings)
    processor = transformers.ViTImageProcessor(size={"height": side, "width": side})
    return hs.load((sharpen(module), processor))
