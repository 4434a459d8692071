"""Small models of each family that a page can carry, and what their pages read first."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import transformers

import headscope as hs
from headscope.models import Model
from tests.helpers.small_models import sharpen
from tests.helpers.small_tokenizers import byte_level, demo, roberta

TEXT, PAIR = "The cat sat on the mat because it was tired.", "It slept."

SIZE: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
LONG: dict[str, Any] = {"intermediate_size": 64, "max_position_embeddings": 64}


def bert(kind: Any = transformers.BertModel, **more: Any) -> Model:
    torch.manual_seed(0)
    tokenizer = demo()
    config = transformers.BertConfig(vocab_size=len(tokenizer), **SIZE, **LONG, **more)
    return hs.load((sharpen(kind(config).eval()), tokenizer))


def decoder(kind: str) -> Model:
    torch.manual_seed(0)
    tokenizer = byte_level()
    size = {"vocab_size": len(tokenizer), **SIZE}
    if kind == "gpt2":
        config: Any = transformers.GPT2Config(
            vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=64
        )
    elif kind == "llama":
        config = transformers.LlamaConfig(**size, **LONG, num_key_value_heads=2)
    else:
        config = transformers.Gemma3TextConfig(
            **size,
            **LONG,
            num_key_value_heads=2,
            head_dim=8,
            sliding_window=4,
            layer_types=["sliding_attention", "full_attention"],
        )
    return hs.load((sharpen(transformers.AutoModelForCausalLM.from_config(config).eval()), tokenizer))


def roberta_model() -> Model:
    torch.manual_seed(0)
    tokenizer = roberta()
    special = {"pad_token_id": tokenizer.pad_token_id, "type_vocab_size": 1}
    config = transformers.RobertaConfig(vocab_size=len(tokenizer), **SIZE, **LONG, **special)
    return hs.load((sharpen(transformers.RobertaForMaskedLM(config).eval()), tokenizer))


FAMILIES: dict[str, Callable[[], Model]] = {
    "BERT": bert,
    "BERT that classifies": lambda: bert(transformers.BertForSequenceClassification, num_labels=3),
    "BERT that tags": lambda: bert(transformers.BertForTokenClassification, num_labels=3),
    "RoBERTa that fills masks": roberta_model,
    "GPT-2": lambda: decoder("gpt2"),
    "Llama": lambda: decoder("llama"),
    "Gemma 3": lambda: decoder("gemma3"),
}
MARKUP = "</script><img src=x onerror=alert(1)> <!-- [SEP]"
READ_FIRST: dict[str, dict[str, str]] = {
    "BERT that classifies": {"text": TEXT, "pair": PAIR},
    "BERT that tags": {"text": MARKUP},
}
"""What a page was written with, where it is not `TEXT`."""


@cache
def model_of(family: str) -> Model:
    return FAMILIES[family]()
