"""Words to hide needles among, and a tokenizer of them in the vocabulary of the planted circuit."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import headscope as hs
from headscope.models import Model
from tests.helpers.planted_induction import WORDS
from tests.helpers.small_models import sizes

HAY = "a cat sat and the dog ran over hills by night to find its home"


def reader() -> Any:
    """A tokenizer of the needle's words, of single digits and of some words of the text, in the circuit's vocabulary."""
    words = ["[UNK]", "[PAD]", *"0123456789", *["The", "secret", "code", "of", "is", "."], *HAY.split()[:12]]
    made = Tokenizer(models.WordLevel({word: id for id, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Digits(True)]
    )
    assert len(words) <= WORDS
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]")


def writer(seed: int = 0, kind: str = "Llama", length: int = 128, **options: Any) -> Model:
    """A causal model of random weights that reads these words; two heads share their keys."""
    torch.manual_seed(seed)
    settings = {
        **sizes(inner=32, keys=2, length=length),
        "initializer_range": 0.3,
        "bos_token_id": 0,
        **options,
    }
    config = getattr(transformers, f"{kind}Config")(vocab_size=WORDS, eos_token_id=0, **settings)
    return hs.load((getattr(transformers, f"{kind}ForCausalLM")(config), reader()))
